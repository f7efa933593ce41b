//  argos_handoff_actor - the shell of argos_handoff_job: leases, the scan, the timer.
//
//  Invariant: every leased message is one job. The scan is a safety net only: it looks for requests
//  whose message was not sent, and ends what nobody looks after.

#include "argos_handoff_actor.h"

#include "argos_actor.h"
#include "argos_handoff_priv.h"
#include "argos_log.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#define NAME "handoff"
#define SLOTS 32           //  Handoffs at a time
#define SCAN_MS 30000      //  Between two scans
#define STORE_TTL_MS 10000 //  Patience with the store
#define SCAN_MAX 100       //  Requests that one scan finds

static void s_scan (handoff_t *self, bool own);
static void s_list (handoff_t *self);

//  ------------------------------------------------------------------------------------------------
//  The timer

static void
s_handle_timer (void *arg)
{
    handoff_t *self = arg;
    int64_t now = argos_shell_now ();
    job_t *job, *next;
    DL_FOREACH_SAFE (self->jobs, job, next)
        if (job->retry_ms >= 0 && job->retry_ms <= now && !job->waiting && job->lease)
            job_retry (job);
    if (self->scan_ms >= 0 && self->scan_ms <= now) {
        self->scan_ms = now + SCAN_MS;
        if (self->jobs)
            s_scan (self, false);
        else
            s_list (self); //  A read, and no more: there is nothing that could be over
    }
    handoff_arm (self);
}

void
handoff_arm (handoff_t *self)
{
    int64_t due_ms = self->scan_ms;
    job_t *job;
    DL_FOREACH (self->jobs, job)
        if (job->retry_ms >= 0 && (due_ms < 0 || job->retry_ms < due_ms))
            due_ms = job->retry_ms;
    argos_shell_timer (self->shell, due_ms, s_handle_timer, self);
}

//  ------------------------------------------------------------------------------------------------
//  The scan

static void
s_on_waiting (void *arg, const argos_peer_answer_t *answer)
{
    handoff_t *self = arg;
    size_t index;
    json_t *row;
    if (self->stopping)
        return;
    const json_t *rows = json_object_get (answer->body, "handoffs");
    json_array_foreach (rows, index, row) {
        char id[96];
        const char *session = json_string_value (json_object_get (row, "session_id"));
        snprintf (id, sizeof id, "begin.%" PRId64 ".%" PRId64,
            (int64_t) json_integer_value (json_object_get (row, "id")),
            (int64_t) json_integer_value (json_object_get (row, "epoch")));
        argos_peer_part_t part = { .type = "handoff.begin",
            .to = "service:handoff",
            .id = id,
            .key = session,
            .durable = true,
            .body = json_pack ("{s:s}", "session_id", session) };
        argos_peer_send (argos_shell_peer (self->shell), &part, NULL, NULL);
    }
}

static void
s_list (handoff_t *self)
{
    argos_peer_part_t part = { .type = "handoff.list",
        .to = "store",
        .ttl_ms = STORE_TTL_MS,
        .body = json_pack ("{s:s, s:i}", "state", "pending", "limit", SCAN_MAX) };
    argos_peer_send (argos_shell_peer (self->shell), &part, s_on_waiting, self);
}

static void
s_on_expired (void *arg, const argos_peer_answer_t *answer)
{
    handoff_t *self = arg;
    if (self->stopping)
        return;
    if (answer->code != ARGOS_OK)
        argos_log (
            ARGOS_LOG_WARN, self->name, "scan failed", "code=%s", argos_err_name (answer->code));
    s_list (self);
}

//  own: what we had claimed is nobody's: we have just started.

static void
s_scan (handoff_t *self, bool own)
{
    argos_peer_part_t part = { .type = "handoff.expire",
        .to = "store",
        .durable = true,
        .body = json_pack ("{s:b}", "own", own) };
    argos_peer_send (argos_shell_peer (self->shell), &part, s_on_expired, self);
}

//  ------------------------------------------------------------------------------------------------
//  Handlers of the peer

static void
s_on_lease (void *ctx, const argos_peer_msg_t *msg)
{
    handoff_t *self = ctx;
    job_t *job = calloc (1, sizeof *job);
    if (!job)
        abort ();
    job->handoff = self;
    job->lease = msg->lease;
    job->body = json_incref (msg->body);
    job->at = msg->at;
    job->retry_ms = -1;
    job->step = strcmp (msg->type, "handoff.check") == 0 ? STEP_RUN : STEP_ROW;
    argos_lease_set_data (msg->lease, job);
    DL_APPEND (self->jobs, job);
    self->job_count++;
    job_go (job);
}

static void
s_on_lost (void *ctx, argos_lease_t *lease)
{
    job_t *job = argos_lease_data (lease);
    (void) ctx;
    if (!job)
        return;
    argos_lease_set_data (lease, NULL);
    job->lease = NULL;
    job->retry_ms = -1;
    if (!job->waiting)
        job_free (&job);
}

static void
s_on_welcome (void *ctx, bool new_store)
{
    static const char *const types[] = { "handoff.begin", "handoff.check", NULL };
    handoff_t *self = ctx;
    (void) new_store;
    if (self->ready)
        return;
    s_scan (self, true);
    self->scan_ms = argos_shell_now () + SCAN_MS;
    handoff_arm (self);
    argos_peer_serve (argos_shell_peer (self->shell), NAME, SLOTS, types);
    argos_actor_ready (self->pipe, true);
    self->ready = true;
}

static void
s_on_final (void *ctx, argos_err_t code, const char *reason)
{
    handoff_t *self = ctx;
    (void) code;
    argos_actor_fail (self->pipe, reason);
    argos_shell_stop (self->shell);
}

//  ------------------------------------------------------------------------------------------------

//  settings is stolen.

static void
s_set (handoff_t *self, json_t *settings)
{
    argos_gateway_policy_t policy;
    argos_gateway_policy_read (&policy, settings);
    self->policy = policy.route;
    json_decref (self->settings);
    self->settings = settings;
}

static void
s_on_command (void *arg, zmsg_t *msg)
{
    json_t *settings = argos_actor_settings (msg);
    if (settings)
        s_set (arg, settings);
}

void
argos_handoff_actor (zsock_t *pipe, void *config)
{
    const argos_handoff_config_t *given = config;
    handoff_t self = { .pipe = pipe, .scan_ms = -1 };
    argos_peer_config_t peer = { .handlers = { .ctx = &self,
                                     .on_welcome = s_on_welcome,
                                     .on_lease = s_on_lease,
                                     .on_lost = s_on_lost,
                                     .on_final = s_on_final } };
    s_set (&self, json_deep_copy (given->settings));
    argos_link_apply (&given->link, NAME, &peer, self.name);
    self.shell = argos_shell_new (pipe, &peer);
    if (self.shell) {
        argos_shell_on_command (self.shell, s_on_command, &self);
        argos_shell_run (self.shell);
    }
    if (!self.ready)
        argos_actor_ready (pipe, false);
    self.stopping = true;
    argos_shell_destroy (&self.shell);
    while (self.jobs) {
        job_t *job = self.jobs;
        job_free (&job);
    }
    json_decref (self.settings);
}
