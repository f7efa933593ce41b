//  argos_agent_question - what a turn asks of people: the permission to run a call, or a clarify.
//
//  A question is put in the commit that records its call. While nothing else is left to do the turn
//  parks: its lease is given back until the deadline, and the answer, a side message, ends that
//  wait. Invariant: an answer is taken by the commit that uses it, whose record says so; a record
//  that is used without a result of its call means that the outcome is unknown.

#include "argos_agent_priv.h"
#include "argos_question.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SETTLED_MAX 4 //  Settled by one commit, likewise

static const char s_denied[] = "BLOCKED: The user has denied this. It was not run. Do not try it "
                               "again, and do not try the same by other words.";
static const char s_expired[] =
    "BLOCKED: Nobody has allowed this in time. It was not run. Do not try it again, and do not try "
    "the same by other words; say what you wanted to do.";
static const char s_silence[] = "Nobody has answered in time. Decide yourself.";

typedef struct {
    turn_t *turn;   //  Holds a reference
    unsigned epoch; //  Of the turn when it was asked
    json_t *call;   //  The open call, of the transcript
} s_ticket_t;

//  ------------------------------------------------------------------------------------------------
//  The questions of an earlier lease

static bool
s_is_delegate (const json_t *call)
{
    const char *name =
        json_string_value (json_object_get (json_object_get (call, "function"), "name"));
    return name && strcmp (name, "delegate_task") == 0;
}

static bool
s_restore_question (tool_t *tool, const json_t *record)
{
    argos_question_t question;
    json_t *value = json_object_get (record, "value");
    if (!argos_question_read (&question, value) || strcmp (question.call_id, tool->id) != 0 ||
        json_object_get (value, "used"))
        return false;
    tool->taken = strcmp (question.state, "answered") == 0;
    if (!tool->taken && strcmp (question.state, "open") != 0)
        return false;
    tool->question = json_incref (value);
    tool->version = json_integer_value (json_object_get (record, "version"));
    return true;
}

//  A call of the transcript as it was made
static void
s_recall (turn_t *self, const json_t *call)
{
    tool_t *tool = turn_next_tool (self);
    self->tool_count++;
    const json_t *function = json_object_get (call, "function");
    const char *arguments = json_string_value (json_object_get (function, "arguments"));
    snprintf (tool->id, sizeof tool->id, "%s", json_string_value (json_object_get (call, "id")));
    snprintf (tool->name, sizeof tool->name, "%s",
        json_string_value (json_object_get (function, "name")));
    tool->arguments = json_loads (arguments ? arguments : "{}", 0, NULL);
    if (!tool->arguments)
        tool->arguments = json_object ();
    tool->known = true;
    self->calls_stored = true;
}

bool
turn_runs_again (turn_t *self, const json_t *call)
{
    const char *name =
        json_string_value (json_object_get (json_object_get (call, "function"), "name"));
    if (!name || self->tool_count == ARGOS_ANSWER_CALLS ||
        !agent_tool_flag (self->agent, name, "idempotent"))
        return false;
    s_recall (self, call);
    return true;
}

//  The call waits as before, unless its answer has been used
static void
s_restore (turn_t *self, const json_t *call, const json_t *record)
{
    if (self->tool_count == ARGOS_ANSWER_CALLS)
        return;
    tool_t *tool = turn_next_tool (self);
    snprintf (tool->id, sizeof tool->id, "%s", json_string_value (json_object_get (call, "id")));
    if (!(s_is_delegate (call) ? delegate_restore (tool, record)
                               : s_restore_question (tool, record))) {
        *tool = (tool_t){ 0 };
        return;
    }
    s_recall (self, call);
    tool->denied = tool->batch != NULL;
}

static void
s_on_record (void *arg, const argos_peer_answer_t *answer)
{
    s_ticket_t *ticket = (s_ticket_t *) arg;
    turn_t *turn = ticket->turn;
    bool current = ticket->epoch == turn->epoch && turn->state != ARGOS_TURN_OVER;
    if (current) {
        const json_t *record =
            answer->code == ARGOS_OK ? json_object_get (answer->body, "record") : NULL;
        turn->find_failed = turn->find_failed || answer->code != ARGOS_OK;
        if (json_is_object (record))
            s_restore (turn, ticket->call, record);
        turn->finding--;
    }
    json_decref (ticket->call);
    free (ticket);
    if (current && turn->finding == 0) {
        if (turn->find_failed)
            turn_event (turn, ARGOS_TURN_REFUSED);
        else
            turn_found (turn);
    }
    turn_unref (turn);
}

static void
s_find (turn_t *self, json_t *call)
{
    char id[ARGOS_QUESTION_ID], key[ARGOS_QUESTION_KEY];
    s_ticket_t *ticket = (s_ticket_t *) malloc (sizeof *ticket);
    if (!ticket)
        abort ();
    *ticket = (s_ticket_t){ self, self->epoch, json_incref (call) };
    argos_question_id (self->run_id, json_string_value (json_object_get (call, "id")), id);
    argos_question_key (self->session, id, key);
    argos_peer_part_t part = { .type = "record.get",
        .to = "store",
        .body = json_pack ("{s:s, s:s}", "space",
            s_is_delegate (call) ? "delegate" : ARGOS_QUESTION_SPACE, "key", key) };
    self->refs++;
    self->finding++;
    if (argos_peer_send (self->agent->peer, &part, s_on_record, ticket) == ARGOS_OK)
        return;
    self->refs--;
    self->finding--;
    self->find_failed = true;
    json_decref (ticket->call);
    free (ticket);
}

void
turn_find_questions (turn_t *self)
{
    const char *id;
    json_t *call;
    turn_clear_tools (self);
    self->finding = 0;
    self->find_failed = false;
    json_object_foreach (self->open, id, call)
        s_find (self, call);
    if (self->finding == 0 && self->find_failed)
        turn_event (self, ARGOS_TURN_REFUSED);
    else if (self->finding == 0)
        turn_found (self);
}

//  ------------------------------------------------------------------------------------------------
//  Answers

bool
tool_waits (const tool_t *tool)
{
    return (tool->question || tool->batch) && !tool->verdict;
}

void
turn_reply (turn_t *self, const argos_peer_msg_t *msg)
{
    for (size_t i = 0; i < self->reply_count; i++)
        if (self->replies[i].seq == msg->seq)
            return; //  Told twice
    self->steers_seen++;
    self->sides++;
    if (self->reply_count < AGENT_ANSWERS_MAX)
        self->replies[self->reply_count++] =
            (reply_t){ .seq = msg->seq, .body = json_incref (msg->body) };
    if (self->state == ARGOS_TURN_TOOLING)
        turn_check_results (self);
}

//  What the model gets to read of an answer to its question
static json_t *
s_said_new (const tool_t *tool, const argos_question_t *verdict)
{
    size_t i;
    json_t *option, *labels = json_array ();
    const char *said = verdict->answer;
    json_array_foreach (verdict->options, i, option) {
        json_t *label = json_object_get (option, "label");
        json_array_append (labels, label);
        const char *id = json_string_value (json_object_get (option, "id"));
        if (verdict->choice && strcmp (id, verdict->choice) == 0)
            said = json_string_value (label);
    }
    json_t *output = json_pack ("{s:s, s:o, s:s}", "question", verdict->text, "choices_offered",
        labels, "user_response", said ? said : "");
    char *text = json_dumps (output, JSON_COMPACT);
    json_t *result = json_pack ("{s:s, s:s}", "output", text ? text : "", "status", "ok");
    free (text);
    json_decref (output);
    (void) tool;
    return result;
}

//  The question of this call is settled; nothing of it is true before the commit that says so
static void
s_settle (tool_t *tool, json_t *verdict)
{
    argos_question_t read;
    tool->verdict = verdict;
    if (!argos_question_read (&read, verdict)) {
        tool_set_result (tool, tool_result ("blocked", s_denied));
        return;
    }
    bool clarify = strcmp (read.kind, "clarify") == 0;
    bool answered = strcmp (read.state, "answered") == 0;
    if (clarify && answered)
        tool_set_result (tool, s_said_new (tool, &read));
    else if (clarify)
        tool_set_result (tool, tool_result ("timeout", s_silence));
    else if (!answered)
        tool_set_result (tool, tool_result ("blocked", s_expired));
    else if (!read.choice || strcmp (read.choice, "deny") == 0)
        tool_set_result (tool, tool_result ("blocked", s_denied));
    else
        tool->allowed = true;
}

static void
s_use (tool_t *tool, const json_t *body)
{
    const char *choice = json_string_value (json_object_get (body, "choice"));
    const char *text = json_string_value (json_object_get (body, "text"));
    const char *by = json_string_value (json_object_get (body, "by"));
    argos_question_t question;
    argos_question_read (&question, tool->question);
    //  The record was checked by who has written it; what is no option is no permission
    if (choice && argos_question_check (&question, by, choice, 0) == ARGOS_QUESTION_NO_CHOICE)
        choice = strcmp (question.kind, "approval") == 0 ? "deny" : NULL;
    json_t *verdict = argos_question_settle (tool->question, "answered", choice, text, by);
    if (!verdict)
        verdict = argos_question_settle (tool->question, "answered", choice, "", by);
    json_object_set_new (verdict, "used", json_true ());
    s_settle (tool, verdict);
}

static tool_t *
s_tool_of (turn_t *self, const json_t *body)
{
    const char *id = json_string_value (json_object_get (body, "question_id"));
    for (size_t i = 0; i < self->tool_count; i++) {
        const json_t *asked = self->tools[i].batch ? self->tools[i].batch : self->tools[i].question;
        const char *own = json_string_value (json_object_get (asked, "id"));
        if (id && own && strcmp (id, own) == 0)
            return &self->tools[i];
    }
    return NULL;
}

void
turn_match_replies (turn_t *self)
{
    for (size_t i = 0; i < self->reply_count; i++) {
        tool_t *tool = s_tool_of (self, self->replies[i].body);
        if (tool && tool->batch)
            self->replies[i].used =
                delegate_use (tool, self->replies[i].body) || self->replies[i].used;
        else if (tool && tool_waits (tool))
            s_use (tool, self->replies[i].body);
    }
}

//  One whose call waits no more is of no use, and goes with the first commit
void
turn_mark_replies (turn_t *self)
{
    size_t count = 0;
    for (size_t i = 0; i < self->tool_count; i++) {
        tool_t *tool = &self->tools[i];
        tool->settling = !tool->settled && (tool->verdict || tool->moved) &&
                         (tool->allowed || tool->storing || tool->stored || tool->moved);
        if (tool->settling && tool->verdict && tool->batch && !tool->storing)
            tool->settling = false; //  With its result, which waits for those before it
        tool->settling = tool->settling && count < SETTLED_MAX;
        count += tool->settling;
    }
    for (size_t i = 0; i < self->reply_count; i++) {
        const tool_t *tool = s_tool_of (self, self->replies[i].body);
        self->replies[i].taking = !tool || tool->settling || tool->settled ||
                                  (tool->batch && !tool_waits (tool) && !self->replies[i].used);
    }
}

size_t
turn_takes_replies (const turn_t *self, bool all, int64_t *takes)
{
    size_t count = 0;
    for (size_t i = 0; i < self->reply_count; i++)
        if (all || self->replies[i].taking)
            takes[count++] = self->replies[i].seq;
    return count;
}

void
turn_replies_settled (turn_t *self, bool stored)
{
    size_t kept = 0;
    for (size_t i = 0; i < self->reply_count; i++) {
        reply_t *reply = &self->replies[i];
        if (reply->taking && stored) {
            json_decref (reply->body);
            self->sides--;
            continue;
        }
        reply->taking = false;
        self->replies[kept++] = *reply;
    }
    self->reply_count = kept;
    for (size_t i = 0; i < self->tool_count; i++) {
        tool_t *tool = &self->tools[i];
        tool->settled = tool->settled || (tool->settling && stored && !tool_waits (tool));
        if (tool->settling && stored)
            tool->moved = false;
        if (tool->settling && stored && tool->allowed) { //  It may have been more than this once
            json_decref (self->grants);
            self->grants = NULL;
        }
        tool->settling = false;
    }
}

void
turn_clear_replies (turn_t *self)
{
    for (size_t i = 0; i < self->reply_count; i++)
        json_decref (self->replies[i].body);
    self->reply_count = 0;
}

//  ------------------------------------------------------------------------------------------------
//  Waiting

//  The first deadline, msec since 1970; 0 = nothing waits
static int64_t
s_first_deadline (const turn_t *self)
{
    int64_t first = 0;
    for (size_t i = 0; i < self->tool_count; i++) {
        const tool_t *tool = &self->tools[i];
        int64_t deadline = json_integer_value (
            json_object_get (tool->batch ? tool->batch : tool->question, "deadline"));
        if (tool_waits (tool) && (!first || deadline < first))
            first = deadline;
    }
    return first;
}

//  What is in the lane and not taken would end the delay at once: then the turn waits here
void
turn_wait (turn_t *self)
{
    bool taken = false;
    for (size_t i = 0; i < self->tool_count; i++)
        taken = taken || (tool_waits (&self->tools[i]) && self->tools[i].taken);
    if (!taken && !self->sides && !self->mail_count) {
        turn_event (self, ARGOS_TURN_PARK);
        return;
    }
    int64_t left_ms = s_first_deadline (self) - argos_shell_wall ();
    turn_tell (self, "waiting");
    if (!taken || left_ms > 0)
        argos_due_set (
            &self->agent->due, &self->due, argos_shell_now () + (left_ms > 0 ? left_ms : 1));
    agent_arm (self->agent);
}

//  What has run out, by records that were read under this lease: who answers at this moment wins
void
turn_expire (turn_t *self)
{
    int64_t now = argos_shell_wall ();
    for (size_t i = 0; i < self->tool_count; i++) {
        tool_t *tool = &self->tools[i];
        delegate_expire (tool, now);
        if (tool->question && tool_waits (tool) && tool->version && !tool->taken &&
            json_integer_value (json_object_get (tool->question, "deadline")) <= now)
            s_settle (tool, argos_question_settle (tool->question, "expired", NULL, NULL, NULL));
    }
}

//  A question of this lease has no version yet: its record is read with the next one
void
turn_wait_over (turn_t *self)
{
    for (size_t i = 0; i < self->tool_count; i++)
        if (self->tools[i].question && tool_waits (&self->tools[i]) && !self->tools[i].version) {
            turn_event (self, ARGOS_TURN_PARK);
            return;
        }
    turn_check_results (self);
}

void
turn_park (turn_t *self)
{
    int64_t left_ms = s_first_deadline (self) - argos_shell_wall ();
    turn_tell (self, "waiting");
    argos_lease_set_data (self->lease, NULL);
    argos_lease_release (&self->lease, left_ms > 1 ? left_ms : 1, true, NULL);
}
