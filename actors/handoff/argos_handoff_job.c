//  argos_handoff_job - one handoff, step by step.
//
//  Invariant: at most one answer is outstanding; a job ends in exactly one of done, release or
//  on_lost, and is freed once nothing that was asked for it is unanswered. What follows from an
//  answer is in the table; everything that decides is in argos_handoff.

#include "argos_handoff_priv.h"
#include "argos_json_get.h"
#include "argos_log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#define STORE_TTL_MS 10000  //  Patience with the store
#define STATUS_TTL_MS 2000  //  with the broker
#define CHAT_TTL_MS 5000    //  with an adapter that is asked for a chat
#define THREAD_TTL_MS 20000 //  that makes a thread
#define AWAY_MS 2000        //  Pause while the adapter is not here
#define BUSY_MS 1000        //  while somebody speaks
#define AGAIN_MS 5000       //  while another one has it, or the store does not answer
#define TRIES_MAX 600       //  Of the last commit
#define GIVE_UP_MS 86400000 //  A check that has learnt nothing

argos_handoff_case_t
job_case (const job_t *self)
{
    return (argos_handoff_case_t){ .row = json_object_get (self->facts[STEP_ROW], "row"),
        .session = json_object_get (self->facts[STEP_SESSION], "session"),
        .settings = self->handoff->settings,
        .home = json_object_get (self->facts[STEP_HOME], "record"),
        .status = self->facts[STEP_STATUS],
        .chat = self->facts[STEP_CHAT],
        .thread = self->facts[STEP_THREAD],
        .no_thread = self->reason,
        .route = self->facts[STEP_ROUTE],
        .routes = self->facts[STEP_ROUTES],
        .setting = json_object_get (self->facts[STEP_SETTING], "record"),
        .there = json_object_get (self->facts[STEP_THERE], "record"),
        .policy = &self->handoff->policy };
}

json_t *
job_row (const job_t *self)
{
    return json_object_get (self->facts[STEP_ROW], "row");
}

//  ------------------------------------------------------------------------------------------------
//  The end of a job

void
job_free (job_t **self_p)
{
    job_t *self = *self_p;
    if (!self)
        return;
    DL_DELETE (self->handoff->jobs, self);
    self->handoff->job_count--;
    for (size_t i = 0; i < STEPS; i++)
        json_decref (self->facts[i]);
    json_decref (self->body);
    json_decref (self->place);
    json_decref (self->source);
    free (self);
    *self_p = NULL;
}

//  Give the message back for a while; it is not in our hands then.

static void
s_park (job_t *self, int64_t delay_ms)
{
    if (self->lease) {
        argos_lease_set_data (self->lease, NULL);
        argos_lease_release (&self->lease, delay_ms, true, NULL);
    }
    job_free (&self);
}

//  Tell who waits for it, in passing.

static void
s_tell (const job_t *self, const char *state, const char *error)
{
    json_t *body = json_pack ("{s:s, s:s, s:s}", "session_id",
        argos_json_text (self->body, "session_id"), "state", state, "error", error);
    argos_peer_part_t part = {
        .type = "handoff.changed", .to = "topic:handoff.events", .body = body
    };
    argos_peer_publish (argos_shell_peer (self->handoff->shell), NULL, &part);
}

//  A part as the peer wants it. The strings stay with the JSON.

static argos_peer_part_t
s_part (const json_t *json)
{
    return (argos_peer_part_t){ .type = json_string_value (json_object_get (json, "type")),
        .to = json_string_value (json_object_get (json, "to")),
        .id = json_string_value (json_object_get (json, "id")),
        .key = json_string_value (json_object_get (json, "key")),
        .durable = json_is_true (json_object_get (json, "durable")),
        .side = json_is_true (json_object_get (json, "side")),
        .urgent = json_is_true (json_object_get (json, "urgent")),
        .body = json_incref (json_object_get (json, "body")) };
}

static void s_on_done (void *arg, const argos_peer_answer_t *answer);
static void s_on_answer (void *arg, const argos_peer_answer_t *answer);

//  The last commit. parts are stolen; NULL = none.

static void
s_done (job_t *self, step_t step, json_t *parts)
{
    argos_peer_part_t list[ARGOS_HANDOFF_PARTS_MAX];
    size_t count = json_array_size (parts);
    for (size_t i = 0; i < count && i < ARGOS_HANDOFF_PARTS_MAX; i++)
        list[i] = s_part (json_array_get (parts, i));
    self->step = step;
    self->waiting = true;
    argos_err_t code = argos_lease_done (self->lease, list, count, NULL, 0, s_on_done, self);
    json_decref (parts);
    self->waiting = code == ARGOS_OK;
    if (code != ARGOS_OK)
        s_park (self, AGAIN_MS);
}

//  It has failed for good.

static void
s_fail (job_t *self, const char *reason)
{
    const argos_handoff_case_t facts = job_case (self);
    argos_log (ARGOS_LOG_WARN, self->handoff->name, "handoff failed", "session=%s reason=\"%s\"",
        argos_json_text (self->body, "session_id"), reason);
    if (reason != self->reason)
        snprintf (self->reason, sizeof self->reason, "%s", reason);
    self->last = true;
    s_done (self, STEP_UNDO, argos_handoff_failed (&facts, self->claimed, self->reason));
}

static void
s_ended (job_t *self)
{
    bool check = json_object_get (self->body, "run_id") != NULL;
    if (self->step == STEP_DONE)
        s_tell (self, "completed", "");
    else if (self->step == STEP_UNDO && self->last)
        s_tell (self, "failed", self->reason);
    argos_log (ARGOS_LOG_INFO, self->handoff->name, check ? "handoff checked" : "handoff",
        "session=%s state=%s", argos_json_text (self->body, "session_id"),
        self->step == STEP_DONE ? "completed"
        : self->last            ? "failed"
                                : "over");
    if (self->lease)
        argos_lease_set_data (self->lease, NULL);
    job_free (&self);
}

//  Somebody speaks at one of the ends, or went on: look again, and try again.

static void
s_again (job_t *self)
{
    if (++self->tries >= TRIES_MAX) {
        s_fail (self, "somebody speaks at the destination all the time");
        return;
    }
    self->retry_ms = argos_shell_now () + BUSY_MS;
    handoff_arm (self->handoff);
}

static void
s_on_done (void *arg, const argos_peer_answer_t *answer)
{
    job_t *self = arg;
    self->waiting = false;
    bool stopping = self->handoff->stopping; //  The peer has let its leases go already
    if (stopping || !self->lease || answer->code == ARGOS_FENCED || answer->code == ARGOS_GONE) {
        if (self->lease && !stopping)
            argos_lease_set_data (self->lease, NULL);
        job_free (&self);
    }
    else if (answer->code == ARGOS_OK)
        s_ended (self);
    else if (answer->code == ARGOS_MAIL)
        s_park (self, BUSY_MS);
    else if (answer->code == ARGOS_CONFLICT && self->step == STEP_DONE)
        s_again (self);
    else if (answer->code == ARGOS_CONFLICT || answer->code == ARGOS_NOT_FOUND) {
        self->last = false; //  Somebody else has ended it
        s_done (self, STEP_UNDO, NULL);
    }
    else if (self->step == STEP_DONE && answer->part >= 0)
        s_fail (self, answer->reason);
    else
        s_park (self, AGAIN_MS);
}

//  ------------------------------------------------------------------------------------------------
//  What an answer leads to

static void
s_next (job_t *self, step_t step)
{
    self->step = step;
    job_go (self);
}

static void
s_took_row (job_t *self)
{
    const char *state = argos_json_text (job_row (self), "state");
    if (strcmp (state, "running") == 0)
        s_park (self, AGAIN_MS); //  Another one has it, or had it
    else if (strcmp (state, "pending") == 0)
        s_next (self, STEP_SESSION);
    else
        s_done (self, STEP_UNDO, NULL);
}

static void
s_took_session (job_t *self)
{
    if (job_case (self).session)
        s_next (self, STEP_HOME);
    else
        s_done (self, STEP_UNDO, NULL);
}

static void
s_took_home (job_t *self)
{
    const argos_handoff_case_t facts = job_case (self);
    self->place = argos_handoff_place (&facts, self->reason);
    if (self->place)
        s_next (self, STEP_STATUS);
    else
        s_fail (self, self->reason);
}

static void
s_took_status (job_t *self)
{
    const argos_handoff_case_t facts = job_case (self);
    char account[ARGOS_NAME_MAX + 1], reason[ARGOS_HANDOFF_TEXT_SIZE];
    const char *platform = argos_json_text (facts.row, "platform");
    if (argos_handoff_account (&facts, self->place, account)) {
        json_object_set_new (self->place, "account", json_string (account));
        snprintf (self->to, sizeof self->to, "service:deliver.%.32s.%.60s", platform, account);
        s_next (self, STEP_LANE);
    }
    else if (argos_shell_wall () >
             json_integer_value (json_object_get (facts.row, "claim_until"))) {
        snprintf (reason, sizeof reason, "the platform %s is not active here", platform);
        s_fail (self, reason);
    }
    else
        s_park (self, AWAY_MS);
}

static void
s_took_lane (job_t *self)
{
    if (json_array_size (json_object_get (self->facts[STEP_LANE], "messages")))
        s_park (self, BUSY_MS);
    else
        s_next (self, STEP_CLAIM);
}

static void
s_took_claim (job_t *self)
{
    json_t *row = job_row (self);
    self->claimed = true;
    json_object_set_new (
        row, "epoch", json_integer (json_integer_value (json_object_get (row, "epoch")) + 1));
    s_tell (self, "running", "");
    s_next (self, *argos_json_text (self->place, "chat_type") ? STEP_SENT : STEP_CHAT);
}

static void
s_took_thread (job_t *self)
{
    char reason[ARGOS_HANDOFF_TEXT_SIZE];
    const argos_handoff_case_t facts = job_case (self);
    self->source = argos_handoff_source (&facts, self->place);
    if (argos_handoff_reachable (&facts, self->source, reason))
        s_next (self, STEP_ROUTE);
    else
        s_fail (self, reason);
}

static void
s_took_there (job_t *self)
{
    const argos_handoff_case_t facts = job_case (self);
    s_done (self, STEP_DONE, argos_handoff_parts (&facts, self->source));
}

static void
s_took_delivery (job_t *self)
{
    int64_t age_ms = argos_shell_wall () - self->at;
    argos_handoff_verdict_t verdict =
        argos_handoff_outcome (json_object_get (self->facts[STEP_RUN], "run"),
            json_object_get (self->facts[STEP_DELIVERY], "delivery"), self->reason);
    if (verdict == ARGOS_HANDOFF_WAIT && age_ms < GIVE_UP_MS)
        s_park (self, argos_handoff_patience (age_ms));
    else if (verdict == ARGOS_HANDOFF_BAD) {
        self->last = true;
        s_done (self, STEP_UNDO, argos_handoff_undo (self->body, self->reason));
    }
    else
        s_done (self, STEP_UNDO, NULL);
}

//  ------------------------------------------------------------------------------------------------
//  The steps

static const struct {
    const char *type;               //  Of the request; NULL = a last commit
    const char *to;                 //  NULL = the adapter; "" = a commit under the lease
    int64_t ttl_ms;                 //  Patience
    json_t *(*ask) (const job_t *); //  Body, new
    void (*took) (job_t *);         //  NULL = the step `next`
    step_t next;                    //  See there
    bool optional;                  //  Goes on without an answer
} s_steps[STEPS] = {
    [STEP_ROW] = { "handoff.state", "store", STORE_TTL_MS, job_ask_row, s_took_row, 0, false },
    [STEP_SESSION] = { "session.get", "store", STORE_TTL_MS, job_ask_session, s_took_session, 0,
        false },
    [STEP_HOME] = { "record.get", "store", STORE_TTL_MS, job_ask_home, s_took_home, 0, false },
    [STEP_STATUS] = { "broker.status", "actor:broker", STATUS_TTL_MS, job_ask_nothing,
        s_took_status, 0, false },
    [STEP_LANE] = { "lane.list", "store", STORE_TTL_MS, job_ask_lane, s_took_lane, 0, false },
    [STEP_CLAIM] = { "handoff.claim", "", 0, job_ask_claim, s_took_claim, 0, false },
    [STEP_CHAT] = { "chat.info", NULL, CHAT_TTL_MS, job_ask_chat, NULL, STEP_SENT, true },
    [STEP_SENT] = { "handoff.heartbeat", "", 0, job_ask_sent, NULL, STEP_THREAD, false },
    [STEP_THREAD] = { "thread.create", NULL, THREAD_TTL_MS, job_ask_thread, s_took_thread, 0,
        true },
    [STEP_ROUTE] = { "route.get", "store", STORE_TTL_MS, job_ask_route, NULL, STEP_ROUTES, false },
    [STEP_ROUTES] = { "route.list", "store", STORE_TTL_MS, job_ask_routes, NULL, STEP_SETTING,
        false },
    [STEP_SETTING] = { "record.get", "store", STORE_TTL_MS, job_ask_setting, NULL, STEP_THERE,
        false },
    [STEP_THERE] = { "record.get", "store", STORE_TTL_MS, job_ask_there, s_took_there, 0, false },
    [STEP_BEAT] = { "handoff.heartbeat", "", 0, job_ask_claim, NULL, STEP_ROUTE, false },
    [STEP_RUN] = { "run.get", "store", STORE_TTL_MS, job_ask_run, NULL, STEP_DELIVERY, false },
    [STEP_DELIVERY] = { "delivery.show", "store", STORE_TTL_MS, job_ask_delivery, s_took_delivery,
        0, false },
};

static void
s_refused (job_t *self, const argos_peer_answer_t *answer)
{
    if (answer->code == ARGOS_CONFLICT || answer->code == ARGOS_NOT_FOUND)
        s_done (self, STEP_UNDO, NULL); //  Another one has it, or it was called off
    else
        s_park (self, AGAIN_MS);
}

static void
s_on_answer (void *arg, const argos_peer_answer_t *answer)
{
    job_t *self = arg;
    self->waiting = false;
    if (!self->lease || self->handoff->stopping) {
        job_free (&self);
        return;
    }
    json_decref (self->facts[self->step]);
    self->facts[self->step] = answer->code == ARGOS_OK ? json_incref (answer->body) : NULL;
    if (answer->code != ARGOS_OK && !s_steps[self->step].optional) {
        s_refused (self, answer);
        return;
    }
    if (self->step == STEP_THREAD && answer->code != ARGOS_OK)
        snprintf (self->reason, sizeof self->reason, "%s",
            *answer->reason ? answer->reason : argos_err_text (answer->code));
    if (s_steps[self->step].took)
        s_steps[self->step].took (self);
    else
        s_next (self, s_steps[self->step].next);
}

void
job_go (job_t *self)
{
    const char *to = s_steps[self->step].to;
    bool commit = to && !*to;
    argos_peer_part_t part = { .type = s_steps[self->step].type,
        .to = commit ? "store"
              : to   ? to
                     : self->to,
        .ttl_ms = s_steps[self->step].ttl_ms,
        .body = s_steps[self->step].ask (self) };
    self->waiting = true;
    argos_err_t code =
        commit
            ? argos_lease_commit (self->lease, &part, 1, NULL, 0, s_on_answer, self)
            : argos_peer_send (argos_shell_peer (self->handoff->shell), &part, s_on_answer, self);
    self->waiting = code == ARGOS_OK;
    if (code != ARGOS_OK)
        s_park (self, AGAIN_MS);
}

void
job_retry (job_t *self)
{
    self->retry_ms = -1;
    s_next (self, STEP_BEAT);
}
