//  argos_chat_show - what is seen of an answer: streamed as it comes, completed by what is
//  delivered.
//
//  Invariant: `shown` of a run is exactly what the screen has of the present segment, so that the
//  durable text (turn.text, deliver.request) only adds what is missing.

#include "argos_chat.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#define WARNING "\xe2\x9a\xa0" //  A text that begins with the sign says it all

static void
s_keep (chat_run_t *run, const char *text, size_t size)
{
    if (run->size + size > run->room) {
        size_t room = (run->size + size) * 2 + 256;
        char *shown = realloc (run->shown, room);
        if (!shown)
            abort ();
        run->shown = shown;
        run->room = room;
    }
    if (size > 0)
        memcpy (run->shown + run->size, text, size);
    run->size += size;
}

static void
s_show (chat_run_t *run, const char *text, size_t size)
{
    s_keep (run, text, size);
    argos_term_text (run->chat->term, text, size);
}

//  The segment's text so far is `text`: show what the screen does not have. When the screen has
//  something else, begin again on a line of its own.

static void
s_catch_up (chat_run_t *run, const char *text)
{
    size_t size = strlen (text);
    if (size >= run->size && (run->size == 0 || memcmp (text, run->shown, run->size) == 0)) {
        s_show (run, text + run->size, size - run->size);
        return;
    }
    if (run->size > size && memcmp (text, run->shown, size) == 0)
        return;
    argos_term_break (run->chat->term);
    run->size = 0;
    s_show (run, text, size);
}

static void
s_segment (chat_run_t *run, const json_t *body)
{
    int64_t segment = json_integer_value (json_object_get (body, "segment"));
    if (segment == run->segment)
        return;
    run->segment = segment;
    run->size = 0;
}

const char *
argos_chat_text (const json_t *body, const char *name)
{
    const char *text = json_string_value (json_object_get (body, name));
    return text ? text : "";
}

static void
s_ending (chat_run_t *run, const char *text, bool failed)
{
    free (run->ending);
    run->ending = strdup (text);
    run->failed = failed;
}

//  What one kind of entry shows

static void
s_show_entry (chat_run_t *run, const argos_loop_msg_t *msg)
{
    argos_term_t *term = run->chat->term;
    const json_t *body = msg->body;
    if (strcmp (msg->type, "turn.delta") == 0) {
        const char *so_far = argos_chat_text (body, "text"),
                   *delta = argos_chat_text (body, "delta");
        s_segment (run, body);
        if (msg->keyframe)
            s_catch_up (run, so_far);
        else
            s_show (run, delta, strlen (delta));
    }
    else if (strcmp (msg->type, "turn.text") == 0) {
        s_segment (run, body);
        s_catch_up (run, argos_chat_text (body, "text"));
    }
    else if (strcmp (msg->type, "turn.restarted") == 0) {
        argos_term_line (term, "[restarted, attempt %s]", argos_cli_text (body, "attempt"));
        run->size = 0;
    }
    else if (strcmp (msg->type, "tool.started") == 0)
        argos_term_line (
            term, "[%s] %s", argos_cli_text (body, "tool"), argos_chat_text (body, "preview"));
    else if (strcmp (msg->type, "tool.completed") == 0 &&
             json_is_true (json_object_get (body, "error")))
        argos_term_line (term, "[%s] failed", argos_cli_text (body, "tool"));
}

void
argos_chat_entry (chat_run_t *run, const argos_loop_msg_t *msg)
{
    if (run->chat->cli->json)
        argos_chat_event (run->chat, msg->type, run->run_id, json_incref (msg->body));
    else
        s_show_entry (run, msg);
    if (strcmp (msg->type, "run.completed") == 0)
        s_ending (run, argos_chat_text (msg->body, "output"), false);
    else if (strcmp (msg->type, "run.failed") == 0)
        s_ending (run, argos_chat_text (msg->body, "error"), true);
    else if (strcmp (msg->type, "run.cancelled") == 0)
        s_ending (run, "Stopped.", false);
}

void
argos_chat_answer (chat_t *self, chat_run_t *run, const char *kind, const char *text, bool again)
{
    if (self->cli->json)
        return; //  The event has it all
    if (again)
        argos_term_line (self->term, "[perhaps shown before]");
    if (strcmp (kind, "error") == 0)
        argos_term_line (
            self->term, "%s%s", strncmp (text, WARNING, 3) == 0 ? "" : "failed: ", text);
    else if (strcmp (kind, "answer") == 0 && run) {
        s_catch_up (run, text);
        argos_term_break (self->term);
    }
    else
        argos_term_line (self->term, "%s", text);
}

bool
argos_chat_is_open (const argos_loop_msg_t *msg)
{
    return strcmp (msg->type, "question.asked") == 0 &&
           json_array_size (json_object_get (msg->body, "options")) == 0;
}

void
argos_chat_options (chat_t *self, const json_t *body)
{
    size_t index;
    json_t *option;
    if (self->cli->json)
        return; //  The event has them
    json_array_foreach (json_object_get (body, "options"), index, option)
        argos_term_line (self->term, "  - %s", argos_chat_text (option, "label"));
}

bool
argos_chat_replies (chat_t *self, const char *text)
{
    bool replies = false;
    chat_run_t *run;
    if (*text == '/' && strncmp (text, "/approve", 8) != 0 && strncmp (text, "/deny", 5) != 0)
        return false;
    LL_FOREACH (self->runs, run) {
        replies = replies || run->asks;
        run->asks = false;
    }
    return replies;
}

void
argos_chat_event (chat_t *self, const char *type, const char *run_id, json_t *body)
{
    (void) self;
    json_t *event = json_pack ("{s:s}", "type", type);
    if (run_id && *run_id)
        json_object_set_new (event, "run_id", json_string (run_id));
    json_object_set_new (event, "body", body ? body : json_object ());
    argos_cli_print (event);
}

void
argos_chat_introduce (chat_t *self)
{
    json_t *agent = NULL;
    argos_err_t code = argos_cli_ask (self->cli, "actor:agent", "agent.status", NULL, &agent);
    if (self->cli->json)
        argos_chat_event (self, "agent.status.result", NULL, json_incref (agent));
    else if (code != ARGOS_OK)
        argos_term_line (
            self->term, "chat %s · no agent is connected: %s", self->name, self->cli->reason);
    else if (json_is_true (json_object_get (agent, "rehearsal")))
        argos_term_line (self->term,
            "chat %s · rehearsal provider: no model is configured, answers are scripted",
            self->name);
    else
        argos_term_line (self->term, "chat %s · %s, model %s", self->name,
            argos_cli_text (agent, "kind"), argos_cli_text (agent, "model"));
    if (!self->cli->json && json_is_string (json_object_get (agent, "problem")))
        argos_term_line (self->term, "problem: %s", argos_cli_text (agent, "problem"));
    json_decref (agent);
}
