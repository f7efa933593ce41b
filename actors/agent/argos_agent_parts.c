//  argos_agent_parts - what the agent commits: the parts of each kind of commit.
//
//  Pure: reads the turn, builds messages. Limits: 64 parts; texts are bounded where they come in,
//  so that the largest done stays below 2 MiB.

#include "argos_agent_priv.h"
#include "argos_reply.h"

#include <stdio.h>
#include <string.h>

#define HINT_MAX 256   //  Bytes of what people can do about it
#define ERROR_MAX 4096 //  Bytes of the sentence of a failed run

//  What of a task's own words is called `name`; absent when the turn is no task
const char *
parts_words (const json_t *request, const char *name, const char *absent)
{
    const char *text =
        json_string_value (json_object_get (json_object_get (request, "task"), name));
    return text ? text : absent;
}

//  The agent of a task is gone with its last commit: nothing of it lives on
static void
s_closed (parts_t *self, const json_t *request, const char *run_id)
{
    const char *task = parts_words (request, "id", NULL);
    if (task)
        parts_entry (self, run_id, "agent.closed", false, json_pack ("{s:s}", "task", task));
}

//  An answer to the chat that the request came from, when it has one; `before` and text together
void
parts_deliver (parts_t *self, const json_t *request, const char *run_id, const char *kind,
    const char *before, const char *text)
{
    char id[64];
    snprintf (id, sizeof id, "%s.%s", run_id, kind);
    bool told = parts_chat (self, request, id,
        json_pack ("{s:s, s:s+, s:s}", "kind", kind, "text", before, text, "run_id", run_id));
    parts_over (self, request, run_id, told ? id : NULL);
}

static json_t *
s_user_row (const turn_t *turn)
{
    return json_pack ("{s:s, s:O, s:s, s:O*}", "role", "user", "content", turn->user, "run_id",
        turn->run_id, "attachments", json_object_get (turn->body, "attachments"));
}

static void
s_append (parts_t *self, const turn_t *turn, json_t *rows)
{
    if (json_array_size (rows))
        parts_store (self, "session.append",
            json_pack ("{s:s, s:O}", "session_id", turn->session, "messages", rows));
    json_decref (rows);
}

//  Rows of this commit: the user's message first, when it is not stored yet
static json_t *
s_rows (const turn_t *turn)
{
    json_t *rows = json_array ();
    if (!turn->user_stored && *turn->run_id)
        json_array_append_new (rows, s_user_row (turn));
    return rows;
}

static json_t *
s_usage (const turn_t *turn)
{
    return json_pack ("{s:I, s:I, s:I}", "input_tokens", (json_int_t) turn->input_tokens,
        "output_tokens", (json_int_t) turn->output_tokens, "total_tokens",
        (json_int_t) turn->input_tokens + turn->output_tokens);
}

//  What the turn has used, to the account of the session; of the input what no cache had a part in
static void
s_account (parts_t *self, const turn_t *turn)
{
    static const char *const kinds[] = { "openai", "anthropic", "rehearsal" };
    const argos_provider_settings_t *provider = &turn->agent->backs[turn->back].settings;
    const char *kind = kinds[provider->kind];
    const char *model = json_string_value (json_object_get (turn->body, "model"));
    int64_t cached = turn->cache_read + turn->cache_write;
    if (turn->iterations == 0)
        return;
    if (!model || !*model || provider->kind == ARGOS_PROVIDER_REHEARSAL || turn->back)
        model = *provider->model ? provider->model : kind;
    json_t *body = json_pack ("{s:s, s:s, s:s, s:i, s:I, s:I, s:I, s:I, s:I}", "session_id",
        turn->session, "model", model, "provider", kind, "calls", turn->iterations, "input_tokens",
        (json_int_t) (turn->input_tokens > cached ? turn->input_tokens - cached : 0),
        "output_tokens", (json_int_t) turn->output_tokens, "cache_read_tokens",
        (json_int_t) turn->cache_read, "cache_write_tokens", (json_int_t) turn->cache_write,
        "reasoning_tokens", (json_int_t) turn->reasoning_tokens);
    if (turn->usd > 0 && !turn->unpriced) {
        json_object_set_new (body, "estimated_usd", json_real (turn->usd));
        json_object_set_new (body, "cost_status", json_string ("estimated"));
        json_object_set_new (body, "cost_source", json_string ("prices"));
    }
    parts_store (self, "usage.add", body);
}

static void
s_text_entry (parts_t *self, const turn_t *turn)
{
    if (turn->text && *turn->text)
        parts_entry (self, turn->run_id, "turn.text", false,
            json_pack ("{s:I, s:s}", "segment", (json_int_t) turn->segment, "text", turn->text));
}

static void
s_open (parts_t *self, const turn_t *turn)
{
    json_t *rows = json_array ();
    if (!turn->user_stored && json_string_length (turn->user) > AGENT_USER_MAX)
        json_array_append_new (rows, s_user_row (turn));
    json_array_extend (rows, turn->unknown);
    s_append (self, turn, rows);
    if (turn->resumed || turn->shown)
        parts_entry (self, turn->run_id, "turn.restarted", false,
            json_pack ("{s:I}", "attempt", (json_int_t) turn->attempt));
    size_t i;
    json_t *row;
    json_array_foreach (turn->unknown, i, row)
        parts_entry (self, turn->run_id, "tool.completed", false,
            json_pack ("{s:O, s:O, s:f, s:b}", "tool", json_object_get (row, "tool_name"),
                "tool_call_id", json_object_get (row, "tool_call_id"), "duration", 0.0, "error",
                1));
}

void
parts_preview (const tool_t *tool, char *target, size_t size)
{
    char clean[4096];
    const char *command = json_string_value (json_object_get (tool->arguments, "command"));
    char *dump = command ? NULL : json_dumps (tool->arguments, JSON_COMPACT);
    argos_log_redact (command ? command : dump ? dump : "", clean, sizeof clean);
    free (dump);
    argos_text_t valid; //  The redaction may have cut a sequence at its own limit
    argos_text_init (&valid, size - 1);
    argos_utf8_add (&valid, clean, argos_utf8_cut (clean, strlen (clean), size - 1));
    snprintf (target, size, "%s", argos_text_str (&valid));
    argos_text_clear (&valid);
}

//  It begins, for who looks on
void
parts_started (parts_t *self, const turn_t *turn, const tool_t *tool)
{
    char preview[201];
    if (!tool->known || tool->broken)
        return;
    parts_preview (tool, preview, sizeof preview);
    parts_entry (self, turn->run_id, "tool.started", false,
        json_pack ("{s:s, s:s, s:s, s:o*}", "tool", tool->name, "tool_call_id", tool->id, "preview",
            preview, "arguments", parts_short_arguments (tool->arguments)));
}

static json_t *
s_calls_row (const turn_t *turn)
{
    json_t *calls = json_array ();
    for (size_t i = 0; i < turn->tool_count; i++) {
        const tool_t *tool = &turn->tools[i];
        char *arguments = json_dumps (tool->arguments, JSON_COMPACT | JSON_SORT_KEYS);
        json_array_append_new (
            calls, json_pack ("{s:s, s:s, s:{s:s, s:s}}", "id", tool->id, "type", "function",
                       "function", "name", tool->name, "arguments", arguments ? arguments : "{}"));
        free (arguments);
    }
    return json_pack ("{s:s, s:s, s:o, s:s, s:s}", "role", "assistant", "content",
        turn->text ? turn->text : "", "tool_calls", calls, "run_id", turn->run_id, "finish_reason",
        "tool_calls");
}

static void
s_calls (parts_t *self, const turn_t *turn)
{
    json_t *rows = s_rows (turn);
    json_array_append_new (rows, s_calls_row (turn));
    s_append (self, turn, rows);
    s_text_entry (self, turn);
    for (size_t i = 0; i < turn->tool_count; i++)
        if (!turn->tools[i].question && !turn->tools[i].result && !turn->tools[i].batch)
            parts_started (self, turn, &turn->tools[i]);
    parts_ask (self, turn);
    parts_delegate (self, turn);
}

static bool
s_is_error (const tool_t *tool)
{
    const char *status = json_string_value (json_object_get (tool->result, "status"));
    const json_t *error = json_object_get (tool->result, "error");
    return json_is_string (error) || (status && strcmp (status, "ok") != 0);
}

static void
s_completed_entry (parts_t *self, const turn_t *turn, const tool_t *tool)
{
    if (tool->known && !tool->broken &&
        (tool->question ? tool->allowed && tool->settled : !tool->denied))
        parts_entry (self, turn->run_id, "tool.completed", false,
            json_pack ("{s:s, s:s, s:f, s:b, s:o*}", "tool", tool->name, "tool_call_id", tool->id,
                "duration", tool->seconds, "error", s_is_error (tool), "output",
                parts_short_text (json_string_value (json_object_get (tool->result, "output")))));
}

//  The run of a steer is over: what it asks for is part of the turn that goes on
static void
s_steered (parts_t *self, const steer_t *steer)
{
    const char *run_id = json_string_value (json_object_get (steer->body, "run_id"));
    parts_store (self, "run.finish",
        json_pack ("{s:s, s:s, s:s}", "run_id", run_id, "state", "completed", "output", ""));
    parts_entry (self, run_id, "run.completed", true,
        json_pack ("{s:s, s:{s:i, s:i, s:i}}", "output", "", "usage", "input_tokens", 0,
            "output_tokens", 0, "total_tokens", 0));
    parts_over (self, steer->body, run_id, NULL);
}

static void
s_results (parts_t *self, const turn_t *turn, bool storing)
{
    json_t *rows = json_array ();
    for (size_t i = 0; i < turn->tool_count; i++)
        if (!turn->tools[i].stored && turn->tools[i].storing == storing)
            json_array_append_new (rows, tool_row (turn, &turn->tools[i]));
    for (size_t i = 0; i < turn->steer_count; i++)
        if (storing && turn->steers[i].storing)
            json_array_append_new (rows, steer_row (turn, &turn->steers[i]));
    s_append (self, turn, rows);
    if (storing)
        parts_settle (self, turn);
    else
        parts_drop_questions (self, turn);
    for (size_t i = 0; i < turn->tool_count; i++)
        if (!turn->tools[i].stored && turn->tools[i].storing == storing)
            s_completed_entry (self, turn, &turn->tools[i]);
    for (size_t i = 0; i < turn->steer_count; i++)
        if (storing && turn->steers[i].storing)
            s_steered (self, &turn->steers[i]);
}

static void
s_failed (parts_t *self, const turn_t *turn)
{
    char error[ERROR_MAX];
    size_t size = argos_utf8_cut (turn->error, strlen (turn->error), sizeof error - 1);
    memcpy (error, turn->error, size);
    error[size] = 0;
    if (turn->calls_stored && turn->tool_count)
        s_results (self, turn, false);
    parts_store (self, "run.finish",
        json_pack ("{s:s, s:s, s:s, s:o}", "run_id", turn->run_id, "state", "failed", "error",
            error, "usage", s_usage (turn)));
    s_account (self, turn);
    parts_records (self, turn->body);
    s_closed (self, turn->body, turn->run_id);
    parts_entry (self, turn->run_id, "run.failed", true, json_pack ("{s:s}", "error", error));
    parts_child_over (self, turn, "failed", error);
    char told[ERROR_MAX + HINT_MAX];
    const char *hint = argos_reply_hint (error);
    snprintf (told, sizeof told, "%s%s%s", error, *hint ? "\n" : "", hint);
    parts_deliver (
        self, turn->body, turn->run_id, "error", parts_words (turn->body, "failed", ""), told);
}

static void
s_completed (parts_t *self, const turn_t *turn)
{
    json_t *rows = s_rows (turn);
    const char *text = turn->text ? turn->text : "";
    if (*text)
        json_array_append_new (
            rows, json_pack ("{s:s, s:s, s:s, s:s}", "role", "assistant", "content", text, "run_id",
                      turn->run_id, "finish_reason", turn->finish));
    s_append (self, turn, rows);
    parts_store (self, "run.finish",
        json_pack ("{s:s, s:s, s:s, s:o}", "run_id", turn->run_id, "state", "completed", "output",
            text, "usage", s_usage (turn)));
    s_account (self, turn);
    parts_records (self, turn->body);
    s_text_entry (self, turn);
    s_closed (self, turn->body, turn->run_id);
    parts_entry (self, turn->run_id, "run.completed", true,
        json_pack ("{s:s, s:o, s:s*}", "output", text, "usage", s_usage (turn), "finish_reason",
            strcmp (turn->finish, "length") == 0 ? turn->finish : NULL));
    parts_answer (self, turn, text);
    parts_child_over (self, turn, "completed", text);
}

static void
s_cancelled (parts_t *self, const json_t *request, const char *run_id, const mail_t *mail)
{
    const char *reason = mail ? mail->reason : "";
    parts_store (
        self, "run.finish", json_pack ("{s:s, s:s}", "run_id", run_id, "state", "cancelled"));
    s_closed (self, request, run_id);
    parts_entry (self, run_id, "run.cancelled", true,
        *reason ? json_pack ("{s:s}", "reason", reason) : json_object ());
    const char *failed = parts_words (request, "failed", NULL);
    if (mail && mail->quiet)
        parts_over (self, request, run_id, NULL);
    else if (failed)
        parts_deliver (self, request, run_id, "notice", failed, *reason ? reason : "stopped");
    else
        parts_deliver (self, request, run_id, "notice", "", "Stopped.");
}

static void
s_clear (parts_t *self, const turn_t *turn)
{
    size_t i;
    json_t *message;
    json_array_foreach (turn->queued, i, message)
        s_cancelled (self, json_object_get (message, "body"),
            json_string_value (json_object_get (message, "id")), turn_own_mail (turn));
}

//  A stopped turn keeps what it has said and what it has done
static void
s_stopped (parts_t *self, const turn_t *turn)
{
    if (turn->calls_stored)
        s_results (self, turn, false);
    else { //  What the user has said stands, also when nobody has answered yet
        json_t *rows = s_rows (turn);
        if (turn->text && *turn->text)
            json_array_append_new (
                rows, json_pack ("{s:s, s:s, s:s, s:s}", "role", "assistant", "content", turn->text,
                          "run_id", turn->run_id, "finish_reason", "interrupted"));
        s_append (self, turn, rows);
        s_text_entry (self, turn);
    }
    if (*turn->run_id) {
        s_account (self, turn);
        parts_records (self, turn->body);
        s_cancelled (self, turn->body, turn->run_id, turn_own_mail (turn));
        parts_child_over (self, turn, "interrupted", turn->text ? turn->text : "");
    }
    for (size_t i = 0; i < turn->mail_count; i++)
        if (turn->mails[i].end) {
            parts_store (self, "session.close",
                json_pack ("{s:s, s:s}", "id", turn->session, "reason", turn->mails[i].reason));
            break;
        }
}

void
parts_of_job (const turn_t *self, job_t job, parts_t *parts)
{
    parts->count = 0;
    if (job == JOB_OPEN)
        s_open (parts, self);
    else if (job == JOB_CALLS)
        s_calls (parts, self);
    else if (job == JOB_RESULTS)
        s_results (parts, self, true);
    else if (job == JOB_COMPACT)
        parts_compact (parts, self);
    else if (job == JOB_FINISH && self->compact)
        parts_compacted (parts, self);
    else if (job == JOB_FINISH && self->error)
        s_failed (parts, self);
    else if (job == JOB_FINISH)
        s_completed (parts, self);
    else if (job == JOB_CLEAR || job == JOB_SIDE)
        s_clear (parts, self);
    else if (job == JOB_STOP)
        s_stopped (parts, self);
}
