//  argos_chat_show - what is seen of an answer: streamed as it comes, completed by what is
//  delivered.
//
//  Invariant: `shown` of a run is exactly what the screen has of the present segment, so that the
//  durable text (turn.text, deliver.request) only adds what is missing.

#include "argos_chat.h"
#include "argos_cli_asked.h"

#include <stdio.h>
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
    if (run->size > 0)
        argos_term_break (run->chat->term); //  A text of its own
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
    else if (strcmp (msg->type, "tool.started") == 0) {
        argos_term_line (
            term, "[%s] %s", argos_cli_text (body, "tool"), argos_chat_text (body, "preview"));
        argos_chat_working (run->chat, argos_cli_text (body, "tool"));
    }
    else if (strcmp (msg->type, "tool.completed") == 0) {
        if (json_is_true (json_object_get (body, "error")))
            argos_term_line (term, "[%s] failed", argos_cli_text (body, "tool"));
        argos_chat_working (run->chat, NULL);
    }
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
        argos_term_say (self->term, text);
}

bool
argos_chat_is_open (const argos_loop_msg_t *msg)
{
    return strcmp (msg->type, "question.asked") == 0 &&
           json_array_size (json_object_get (msg->body, "options")) == 0;
}

bool
argos_chat_options (chat_t *self, const json_t *body)
{
    const json_t *options = json_object_get (body, "options");
    const char *id = argos_chat_text (json_array_get (options, 0), "id");
    const char *word = strchr (id, ':') ? strchr (id, ':') + 1 : id;
    bool approval = *word && strspn (word, "0123456789") != strlen (word);
    size_t index;
    json_t *option;
    if (!self->cli->json && !approval) //  The event has them
        json_array_foreach (options, index, option)
            argos_term_line (self->term, "  - %s", argos_chat_text (option, "label"));
    return approval;
}

void
argos_chat_asked (chat_t *self)
{
    char key[96], topic[CHAT_RUN_ID_SIZE + 8];
    json_t *reply = NULL;
    snprintf (key, sizeof key, "agent:main:local:dm:%s", self->name);
    argos_cli_ask (self->cli, "store", "route.get", json_pack ("{s:s}", "key", key), &reply);
    const char *session =
        json_string_value (json_object_get (json_object_get (reply, "route"), "session_id"));
    json_t *asked = session ? argos_cli_asked (self->cli, session) : NULL;
    const char *run_id = argos_chat_text (asked, "run_id");
    if (*run_id && strlen (run_id) < CHAT_RUN_ID_SIZE) {
        chat_run_t *run = argos_chat_run_new (self, run_id);
        run->asks = true;
        snprintf (topic, sizeof topic, "run.%s", run_id);
        if (self->cli->json)
            argos_chat_event (self, "question.open", run_id, json_incref (asked));
        else
            argos_term_line (
                self->term, "[this is still to be answered]\n%s", argos_chat_text (asked, "text"));
        run->approval = argos_chat_options (self, asked);
        argos_loop_subscribe (self->cli->loop, topic, 0);
    }
    json_decref (asked);
    json_decref (reply);
}

bool
argos_chat_replies (chat_t *self, chat_run_t *own, const char *text)
{
    bool replies = false, command = *text == '/', approval = false;
    bool decides = strncmp (text, "/approve", 8) == 0 || strncmp (text, "/deny", 5) == 0;
    chat_run_t *run;
    if (command && !decides)
        return false;
    LL_FOREACH (self->runs, run) {
        run->maybe = false;
        approval = approval || (run->asks && run->approval);
        if (!run->asks || run->approval != decides)
            continue;
        replies = true;
        run->asks = false;
    }
    own->maybe = approval && !decides && !replies;
    return replies;
}

void
argos_chat_closed (chat_run_t *run)
{
    chat_t *self = run->chat;
    chat_run_t *typed, *next;
    run->asks = false;
    LL_FOREACH_SAFE (self->runs, typed, next)
        if (typed->maybe)
            argos_chat_run_over (typed);
    if (!argos_term_is_interactive (self->term))
        argos_term_hide (self->term); //  The next line waits for what goes on
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
