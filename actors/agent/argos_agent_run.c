//  argos_agent_run - the tool calls of the newest answer: sent, answered, cancelled.
//
//  Invariant: each call of an answer gets exactly one result: the tool's, or ours that says why
//  there is none. A tool is called only after the commit that records the call.

#include "argos_agent_priv.h"
#include "argos_tool_name.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GRACE_MS 30000      //  A tool may be late by so much before the call is given up
#define TIMEOUT_S 180       //  Of a call that states none
#define TIMEOUT_MAX_S 86000 //  Longest that is waited for

static const char s_no_broker[] = "The broker does not answer at present. It was not run.";

typedef struct {
    turn_t *turn;   //  Holds a reference
    unsigned epoch; //  Of the turn when it was sent
    size_t index;   //  Which call
} s_ticket_t;

void
turn_clear_tools (turn_t *self)
{
    for (size_t i = 0; i < self->tool_count; i++) {
        json_decref (self->tools[i].arguments);
        json_decref (self->tools[i].result);
        json_decref (self->tools[i].question);
        json_decref (self->tools[i].batch);
        json_decref (self->tools[i].verdict);
        self->tools[i] = (tool_t){ 0 };
    }
    self->tool_count = 0;
    self->calls_stored = false;
    self->homeless = ARGOS_OK; //  It may be there now
}

tool_t *
turn_next_tool (turn_t *self)
{
    if (!self->tools) //  Most turns call none
        self->tools = (tool_t *) calloc (ARGOS_ANSWER_CALLS, sizeof *self->tools);
    if (!self->tools)
        abort ();
    return &self->tools[self->tool_count];
}

void
turn_take_calls (turn_t *self, const argos_answer_t *answer)
{
    bool known = false;
    turn_clear_tools (self);
    for (size_t i = 0; i < answer->call_count; i++) {
        const argos_answer_call_t *call = &answer->calls[i];
        tool_t *tool = turn_next_tool (self);
        self->tool_count++;
        snprintf (tool->id, sizeof tool->id, "%s", call->id);
        const char *meant = NULL;
        if (!agent_tool_known (self->agent, call->name))
            meant = argos_tool_name_repair (call->name, json_object_get (self->prompt, "tools"));
        snprintf (tool->name, sizeof tool->name, "%s", meant ? meant : call->name);
        tool->arguments = json_loads (argos_text_str (&call->args), 0, NULL);
        if (!tool->arguments)
            tool->arguments = json_object ();
        tool->broken = call->broken;
        tool->known = agent_tool_known (self->agent, tool->name);
        if (tool->known && !tool->broken)
            turn_check_tool (self, tool);
        known = known || tool->known;
    }
    self->strikes = known ? 0 : self->strikes + 1;
}

json_t *
tool_result (const char *status, const char *error)
{
    return json_pack ("{s:s, s:s, s:s}", "output", "", "error", error, "status", status);
}

void
tool_set_result (tool_t *tool, json_t *result)
{
    tool->result = result;
    if (tool->started_ms)
        tool->seconds = (double) (argos_shell_now () - tool->started_ms) / 1000.0;
}

//  What is a row of its own of a result
static json_t *
s_content (json_t *result)
{
    json_t *own = json_object_get (result, "result");
    return json_is_object (own) ? own : result;
}

//  A call that leads nowhere, again: the model is told so beside its result
static void
s_warn (turn_t *self, const tool_t *tool)
{
    char words[200];
    json_t *content = s_content (tool->result);
    argos_repeats_call_t call = turn_repeats (self, tool);
    argos_repeats_t seen = argos_repeats_with (&call, content);
    if (!json_object_get (content, "warning") &&
        argos_repeats_warning (&seen, tool->name, words, sizeof words))
        json_object_set_new (content, "warning", json_string (words));
}

static void
s_on_result (void *arg, const argos_peer_answer_t *answer)
{
    s_ticket_t *ticket = (s_ticket_t *) arg;
    turn_t *turn = ticket->turn;
    bool current = ticket->epoch == turn->epoch && turn->state != ARGOS_TURN_OVER;
    tool_t *tool = &turn->tools[ticket->index];
    free (ticket);
    if (current && !tool->result) {
        bool good = answer->code == ARGOS_OK && json_is_object (answer->body);
        tool_set_result (tool,
            good ? json_deep_copy (answer->body) : turn_tool_refused (turn, tool->name, answer));
        s_warn (turn, tool);
        if (turn->state == ARGOS_TURN_TOOLING)
            turn_check_results (turn);
    }
    turn_unref (turn);
}

//  How long the call may take in all
static int64_t
s_ttl_ms (const tool_t *tool)
{
    json_int_t timeout_s = json_integer_value (json_object_get (tool->arguments, "timeout"));
    if (timeout_s < 1)
        timeout_s = TIMEOUT_S;
    if (timeout_s > TIMEOUT_MAX_S)
        timeout_s = TIMEOUT_MAX_S;
    return timeout_s * 1000 + GRACE_MS;
}

static void
s_send (turn_t *self, size_t index)
{
    tool_t *tool = &self->tools[index];
    argos_peer_answer_t answer = { .code = self->homeless };
    if (!turn_tool_address (self, tool->name, tool->to, sizeof tool->to)) {
        tool_set_result (tool, turn_tool_refused (self, tool->name, &answer));
        return;
    }
    snprintf (tool->request_id, sizeof tool->request_id, "%s.%lld.%d.%zu", self->run_id,
        (long long) self->attempt, self->iterations, index);
    s_ticket_t *ticket = (s_ticket_t *) malloc (sizeof *ticket);
    if (!ticket)
        abort ();
    *ticket = (s_ticket_t){ self, self->epoch, index };
    argos_peer_part_t part = { .type = "tool.call",
        .to = tool->to,
        .id = tool->request_id,
        .ttl_ms = s_ttl_ms (tool),
        .body = json_pack ("{s:s, s:s, s:s, s:s, s:O}", "run_id", self->run_id, "session_id",
            self->session, "call_id", tool->id, "name", tool->name, "arguments", tool->arguments) };
    json_object_set (part.body, "source", json_object_get (self->body, "source"));
    if (json_object_get (self->body, "reply_to"))
        json_object_set (part.body, "reply_to", json_object_get (self->body, "reply_to"));
    tool->started_ms = argos_shell_now ();
    answer.code = argos_peer_send (self->agent->peer, &part, s_on_result, ticket);
    if (answer.code == ARGOS_OK) {
        self->refs++;
        self->effects = tool->sent = true;
        return;
    }
    free (ticket);
    tool_set_result (tool, turn_tool_refused (self, tool->name, &answer));
}

//  Whether this call waits for nothing but its turn
static bool
s_is_due (const tool_t *tool)
{
    return tool->known && !tool->broken && !tool->sent && !tool->result && !tool->batch &&
           (!tool->question || (tool->allowed && tool->settled));
}

//  All of them at once when each says that it may, else one after the other
static void
s_run_next (turn_t *self)
{
    bool together = true, busy = false, live = argos_peer_live (self->agent->peer);
    for (size_t i = 0; i < self->tool_count; i++) {
        const tool_t *tool = &self->tools[i];
        together = together && (!(tool->sent || s_is_due (tool)) ||
                                   agent_tool_flag (self->agent, tool->name, "parallel"));
        busy = busy || (tool->sent && !tool->result);
    }
    for (size_t i = 0; i < self->tool_count; i++) {
        tool_t *tool = &self->tools[i];
        if (!s_is_due (tool) || (busy && !together))
            continue;
        if (!live)
            tool_set_result (tool, tool_result ("error", s_no_broker));
        else if (turn_needs_home (self, tool->name))
            return; //  All of them are looked at again then
        else
            s_send (self, i);
        busy = busy || !tool->result;
    }
}

void
turn_run_tools (turn_t *self)
{
    for (size_t i = 0; i < self->tool_count; i++) {
        tool_t *tool = &self->tools[i];
        char error[1024];
        if (tool->result)
            continue;
        if (!tool->known) {
            snprintf (error, sizeof error, "There is no tool of that name. Tools: %s.",
                agent_tool_names (self->agent));
            tool_set_result (tool, tool_result ("error", error));
        }
        else if (tool->broken)
            tool_set_result (
                tool, tool_result ("error", "The arguments were not valid JSON. It was not run."));
    }
    turn_check_results (self);
}

//  Results are stored in the order of the calls; only who waits for people is not waited for
bool
tool_in_order (const turn_t *self, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (!self->tools[i].stored && !self->tools[i].result && !tool_waits (&self->tools[i]))
            return false;
    return true;
}

//  Raises what the results that are here allow
void
turn_check_results (turn_t *self)
{
    bool all = true, some = false, waits = false, busy = false;
    turn_match_replies (self);
    turn_expire (self);
    s_run_next (self);
    for (size_t i = 0; i < self->tool_count; i++) {
        const tool_t *tool = &self->tools[i];
        all = all && tool->stored;
        some = some || (tool->result && !tool->stored && tool_in_order (self, i)) ||
               ((tool->verdict || tool->moved) && !tool->settled);
        waits = waits || tool_waits (tool);
        busy = busy || (!tool->stored && !tool_waits (tool));
    }
    if (some)
        turn_event (self, ARGOS_TURN_RESULT);
    else if (all && turn_is_long (self)) {
        self->preflight = true;
        self->compressions = 1;
        turn_event (self, ARGOS_TURN_COMPRESS);
    }
    else if (all)
        turn_event (self, ARGOS_TURN_STORED_ALL);
    else if (waits && !busy)
        turn_wait (self);
}

//  Words to the tools that are still at work, and results of ours in place of theirs
void
turn_cancel_tools (turn_t *self, const char *why)
{
    for (size_t i = 0; i < self->tool_count; i++) {
        tool_t *tool = &self->tools[i];
        if (tool->result || !tool->sent)
            continue; //  The latter were not run, as their rows say
        argos_peer_part_t part = {
            .type = "tool.cancel", .to = tool->to, .re = tool->request_id, .body = NULL
        };
        argos_peer_send (self->agent->peer, &part, NULL, NULL);
        tool_set_result (tool, tool_result ("interrupted", why));
    }
}

//  The row of a result. Without one: it was cancelled.
json_t *
tool_row (const turn_t *self, const tool_t *tool)
{
    json_t *result = tool->result ? json_copy (tool->result)
                                  : tool_result ("interrupted", "Cancelled. It was not run.");
    const char *output = json_string_value (json_object_get (result, "output"));
    size_t size = output ? strlen (output) : 0;
    if (size > AGENT_OUTPUT_MAX)
        json_object_set_new (result, "output",
            json_sprintf ("%.*s\n[%zu bytes left out]",
                (int) argos_utf8_cut (output, size, AGENT_OUTPUT_MAX), output,
                size - AGENT_OUTPUT_MAX));
    char *content = json_dumps (s_content (result), JSON_COMPACT);
    json_t *row =
        json_pack ("{s:s, s:s, s:s, s:s, s:s}", "role", "tool", "content", content ? content : "{}",
            "tool_call_id", tool->id, "tool_name", tool->name, "run_id", self->run_id);
    free (content);
    json_decref (result);
    return row;
}
