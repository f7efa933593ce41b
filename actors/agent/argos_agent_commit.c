//  argos_agent_commit - commits of a turn, one at a time.
//
//  A job is only named when it is wanted; its parts are built when it is sent, from what is true
//  then. Invariant: at most one commit is in flight; its answer changes what the turn knows (stored
//  rows), and moves the turn only when the epoch is still the same.

#include "argos_agent_priv.h"

#include <stdlib.h>
#include <string.h>

static void s_on_answer (void *arg, const argos_peer_answer_t *answer);
static void s_settle (turn_t *self, const argos_peer_answer_t *answer);

void
turn_want (turn_t *self, job_t job)
{
    self->want = job;
    turn_pump (self);
}

//  The results that go into the next commit
static void
s_mark_results (turn_t *self)
{
    size_t count = 0;
    for (size_t i = 0; i < self->tool_count && count < AGENT_RESULT_MAX; i++) {
        tool_t *tool = &self->tools[i];
        tool->storing = tool->result && !tool->stored && tool_in_order (self, i);
        count += tool->storing;
    }
    turn_mark_steers (self);
    turn_mark_replies (self);
}

static argos_err_t
s_send (turn_t *self, job_t job)
{
    parts_t *parts = (parts_t *) malloc (sizeof *parts);
    if (!parts)
        abort ();
    int64_t takes[64];
    if (job == JOB_RESULTS)
        s_mark_results (self);
    parts_of_job (self, job, parts);
    self->flying_rows = turn_rows_of (parts, self->stored_rows);
    size_t take_count = turn_takes (self, job, takes);
    self->flying = job;
    self->mails_told = self->mail_count;
    self->steers_told = self->steers_seen;
    self->flying_epoch = self->epoch;
    self->refs++;
    bool done = job == JOB_FINISH || job == JOB_STOP;
    argos_err_t code = (done ? argos_lease_done : argos_lease_commit) (
        self->lease, parts->parts, parts->count, takes, take_count, s_on_answer, self);
    free (parts);
    return code;
}

//  Sends what is wanted. What can't even be sent is the same as refused, and may want another.
void
turn_pump (turn_t *self)
{
    self->refs++;
    while (self->flying == JOB_NONE && self->lease && self->state != ARGOS_TURN_OVER) {
        job_t job = self->side_ready ? JOB_SIDE : self->want;
        if (job == JOB_NONE)
            break;
        if (job == JOB_SIDE)
            self->side_ready = false;
        else
            self->want = JOB_NONE;
        argos_err_t code = s_send (self, job);
        if (code == ARGOS_OK)
            break;
        argos_peer_answer_t answer = {
            .code = code, .reason = argos_err_text (code), .part = -1, .type = ""
        };
        s_settle (self, &answer);
        turn_unref (self);
    }
    turn_unref (self);
}

//  What an accepted commit has made true
static void
s_apply (turn_t *self, job_t job)
{
    if (job == JOB_OPEN) {
        if (json_string_length (self->user) > AGENT_USER_MAX)
            self->user_stored = true;
        json_array_clear (self->unknown);
        self->resumed = self->shown = false;
        argos_delta_init (&self->delta); //  Whoever reads has dropped what was there
    }
    else if (job == JOB_COMPACT)
        turn_compacted (self);
    else if (job == JOB_CALLS) {
        self->user_stored = self->calls_stored = true;
        json_t *calls = json_array ();
        for (size_t i = 0; i < self->tool_count; i++)
            json_array_append_new (
                calls, json_pack ("{s:s, s:{s:s, s:O}}", "id", self->tools[i].id, "function",
                           "name", self->tools[i].name, "arguments", self->tools[i].arguments));
        json_t *row = json_pack ("{s:s, s:s, s:o, s:s}", "role", "assistant", "content",
            self->text ? self->text : "", "tool_calls", calls, "run_id", self->run_id);
        json_object_update (row, self->thought);
        json_array_append_new (self->rows, row);
        if (self->text && *self->text)
            self->segment++;
        turn_look_step (self);
    }
    else if (job == JOB_RESULTS)
        for (size_t i = 0; i < self->tool_count; i++)
            if (self->tools[i].storing) {
                self->tools[i].stored = true;
                json_array_append_new (self->rows, tool_row (self, &self->tools[i]));
            }
}

static bool
s_can_wait (argos_err_t code)
{
    return code == ARGOS_NO_SPACE || code == ARGOS_BUSY || code == ARGOS_EXPIRED ||
           code == ARGOS_CREDIT || code == ARGOS_INTERNAL;
}

static void
s_refused (turn_t *self, job_t job, const argos_peer_answer_t *answer)
{
    argos_log_level_t level = answer->code == ARGOS_MAIL ? ARGOS_LOG_DEBUG : ARGOS_LOG_WARN;
    argos_log (level, self->agent->name, "commit refused", "job=%d code=%s part=%d reason=\"%s\"",
        (int) job, argos_err_name (answer->code), answer->part, answer->reason);
    if (job == JOB_SIDE)
        turn_side_settled (self, false);
    else if (answer->code == ARGOS_MAIL)
        turn_event (self, ARGOS_TURN_MAIL);
    else if (s_can_wait (answer->code))
        turn_event (self, ARGOS_TURN_PAUSE);
    else
        turn_event (self, self->refusals++ ? ARGOS_TURN_REFUSED_AGAIN : ARGOS_TURN_REFUSED);
}

static void
s_accepted (turn_t *self, job_t job)
{
    if (job == JOB_FINISH || job == JOB_STOP) {
        self->lease = NULL; //  The peer frees it after this call
        self->flying_last = job;
        turn_look (self, "agent:end");
        if (self->compact && job == JOB_FINISH && !self->error)
            turn_look_smaller (self);
    }
    if (job == JOB_FINISH && *self->run_id)
        agent_title (self);
    turn_event (self,
        job == JOB_OPEN && self->tool_count ? ARGOS_TURN_ACCEPTED_TOOLS : ARGOS_TURN_ACCEPTED);
}

static void
s_settle (turn_t *self, const argos_peer_answer_t *answer)
{
    job_t job = self->flying;
    bool current = self->flying_epoch == self->epoch;
    self->flying = JOB_NONE;
    if (self->state == ARGOS_TURN_OVER)
        return;
    if (answer->code == ARGOS_OK) {
        self->stored_rows = self->flying_rows;
        s_apply (self, job);
    }
    for (size_t i = 0; i < self->tool_count; i++)
        self->tools[i].storing = false;
    turn_steers_settled (self, answer->code == ARGOS_OK && job == JOB_RESULTS);
    turn_replies_settled (self, answer->code == ARGOS_OK && job == JOB_RESULTS);
    if (answer->code == ARGOS_FENCED || answer->code == ARGOS_GONE)
        turn_lost (self);
    else if (answer->code != ARGOS_OK) {
        if (current || job == JOB_SIDE)
            s_refused (self, job, answer);
    }
    else if (job == JOB_SIDE)
        turn_side_settled (self, true);
    else if (current)
        s_accepted (self, job);
}

static void
s_on_answer (void *arg, const argos_peer_answer_t *answer)
{
    turn_t *self = (turn_t *) arg;
    s_settle (self, answer);
    turn_pump (self);
    turn_unref (self);
}
