//  argos_gateway_actor - the shell around argos_gateway: leases, reads, decides, commits.
//
//  Invariant: every leased message ends in exactly one of done, release or on_lost, and its job is
//  freed once nothing that was asked for it is unanswered. Limits: 64 messages at a time; five
//  decisions per message, then it is refused visibly.

#include "argos_gateway_actor.h"

#include "argos_actor.h"
#include "argos_allow.h"
#include "argos_approval.h"
#include "argos_expire.h"
#include "argos_gate.h"
#include "argos_gateway_ask.h"
#include "argos_gateway_events.h"
#include "argos_gateway_part.h"
#include "argos_gateway_settings.h"
#include "argos_header.h"
#include "argos_hook_event.h"
#include "argos_incoming.h"
#include "argos_log.h"
#include "argos_shell.h"

#include <sodium.h>
#include <string.h>

#define NAME "gateway"
#define SLOTS 64          //  Messages in hand
#define TRIES_MAX 5       //  Decisions on facts that were old when they reached the store
#define RETRY_MS 1000     //  Pause before a message is tried again when something is not available
#define READ_TTL_MS 10000 //  Patience with the store
#define READY_MS 10000    //  The broker has to welcome us within this

typedef struct gateway gateway_t;

//  One message in hand

typedef struct {
    argos_gateway_settings_t *settings; //  That it began with
    gateway_t *gateway;                 //  Whose
    argos_lease_t *lease;               //  NULL once it is lost
    json_t *body;                       //  Of the message
    json_t *read[ARGOS_FACTS];          //  The facts of `facts`, our references
    json_t *parts;                      //  Of the done that is under way
    char *from, *id;                    //  Of the message
    argos_fact_t asked;                 //  Which one is being read
    int tries;                          //  Decisions so far
    bool dead;                          //  It is a message.dead
    bool refusing;                      //  The parts refuse the message
    bool waiting;                       //  An answer is outstanding
    argos_gateway_case_t facts;         //  What the decision is made on
} job_t;

struct gateway {
    zsock_t *pipe;                      //  Command pipe to our owner
    argos_shell_t *shell;               //  The loop
    argos_gateway_settings_t *settings; //  The newest
    argos_approval_policy_t *approval;  //  Rules for calls of tools, NULL = none
    char *profile;                      //  Own copy
    bool ready;                         //  READY has been said
    bool stopping;                      //  The peer is going away: send nothing more
};

static void s_job_go (job_t *self);

//  The settings from now on; config is stolen and may be NULL.

static void
s_set_settings (gateway_t *self, const argos_gateway_policy_t *policy, json_t *config)
{
    argos_gateway_settings_unref (&self->settings);
    self->settings = argos_gateway_settings_new (policy, config, self->profile, self->approval);
}

static void
s_on_command (void *arg, zmsg_t *msg)
{
    argos_gateway_policy_t policy;
    json_t *config = argos_actor_settings (msg);
    if (!config)
        return;
    argos_gateway_policy_read (&policy, config);
    s_set_settings (arg, &policy, config);
}

static void
s_job_destroy (job_t **self_p)
{
    job_t *self = *self_p;
    if (!self)
        return;
    json_decref (self->body);
    argos_gateway_settings_unref (&self->settings);
    json_decref (self->parts);
    for (size_t i = 0; i < ARGOS_FACTS; i++)
        json_decref (self->read[i]);
    free (self->from);
    free (self->id);
    free (self);
    *self_p = NULL;
}

//  Give the message back, or away (reject), and be done with it.

static void
s_job_release (job_t *self, const char *reject)
{
    if (self->lease && !self->gateway->stopping)
        argos_lease_release (&self->lease, reject ? 0 : RETRY_MS, !reject, reject);
    s_job_destroy (&self);
}

//  ---------------------------------------------------------------------------------------------
//  Committing

//  Refuse the message visibly; when even that was refused, it goes to the dead letters. Returns
//  whether the job goes on (with the parts that refuse); else it is gone.

static bool
s_job_refuse (job_t *self, argos_err_t code, const char *reason)
{
    if (argos_expire_is (&self->facts)) {
        s_job_release (self, NULL); //  Nobody waits for it
        return false;
    }
    if (self->refusing || self->dead) {
        s_job_release (self, argos_err_name (code));
        return false;
    }
    self->refusing = true;
    json_t *refused = self->parts; //  The reason may be part of it
    self->parts = argos_gateway_refuse (&self->facts, reason);
    json_decref (refused);
    return true;
}

//  Forget what has been read and decided.

static void
s_job_forget (job_t *self)
{
    json_decref (self->parts);
    self->parts = NULL;
    const unsigned kept = ARGOS_FACT_BIT (ARGOS_FACT_EXEC); //  What has run is not run again
    for (size_t i = 0; i < ARGOS_FACTS; i++) {
        if (kept & ARGOS_FACT_BIT (i))
            continue;
        json_decref (self->read[i]);
        self->facts.fact[i] = self->read[i] = NULL;
    }
    self->facts.have &= kept;
}

//  A done was refused because the facts have changed: read and decide again, or say what is in the
//  way. Returns as above.

static bool
s_job_conflict (job_t *self, int part)
{
    const char *full = argos_gateway_full (self->parts, part);
    if (full)
        return s_job_refuse (self, ARGOS_BUSY, full);
    if (++self->tries >= TRIES_MAX)
        return s_job_refuse (
            self, ARGOS_CONFLICT, "its id is in use, or the session changes all the time");
    s_job_forget (self);
    return true;
}

//  A part that is refused is left out: of what tells about a dead letter as much is told as can be.

static void
s_job_leave_out (job_t *self, const argos_peer_answer_t *answer)
{
    argos_log (ARGOS_LOG_WARN, NAME, "part left out", "code=%s part=%d reason=\"%s\"",
        argos_err_name (answer->code), answer->part, answer->reason);
    json_array_remove (self->parts, (size_t) answer->part);
}

static bool
s_again_later (argos_err_t code)
{
    return code == ARGOS_BUSY || code == ARGOS_NO_SPACE || code == ARGOS_INTERNAL ||
           code == ARGOS_EXPIRED || code == ARGOS_CREDIT;
}

//  What people read when this part is refused, NULL = whatever the reason was.

static const char *
s_refusal (const job_t *self, int part)
{
    return json_string_value (
        json_object_get (json_array_get (self->parts, (size_t) part), "refusal"));
}

//  What to do about a refusal. Returns whether the job goes on; else it is gone.

static bool
s_job_refused (job_t *self, const argos_peer_answer_t *answer)
{
    bool part = answer->part >= 0 && (size_t) answer->part < json_array_size (self->parts);
    argos_log (ARGOS_LOG_DEBUG, NAME, "done refused", "code=%s part=%d reason=\"%s\"",
        argos_err_name (answer->code), answer->part, answer->reason);
    if (answer->code == ARGOS_MAIL)
        return true; //  The peer knows what has been seen by now
    if (s_again_later (answer->code)) {
        s_job_release (self, NULL);
        return false;
    }
    if (part && (self->dead || self->refusing)) {
        s_job_leave_out (self, answer);
        return true;
    }
    if (part && s_refusal (self, answer->part))
        return s_job_refuse (self, answer->code, s_refusal (self, answer->part));
    if (answer->code == ARGOS_CONFLICT && !self->dead && !self->refusing)
        return s_job_conflict (self, answer->part);
    return s_job_refuse (self, answer->code, answer->reason);
}

//  Tell the caches that a session is over, so that the tools close what they hold for it.

static void
s_job_tell_ended (job_t *self, const json_t *event)
{
    const char *name = json_string_value (json_object_get (event, "event"));
    json_t *session = json_object_get (event, "session_id");
    if (!name || strcmp (name, "session:end") != 0 || !session)
        return;
    argos_peer_part_t part = { .type = "session.ended",
        .to = "topic:agent.sessions",
        .body = json_pack ("{s:O}", "session_id", session) };
    argos_peer_publish (argos_shell_peer (self->gateway->shell), NULL, &part);
}

//  Tell who looks on, in passing.

static void
s_job_tell (job_t *self)
{
    size_t index;
    json_t *event;
    const json_t *route = json_object_get (self->facts.fact[ARGOS_FACT_ROUTE], "route");
    json_t *events = argos_gateway_events (json_object_get (self->body, "source"),
        json_string_value (json_object_get (route, "session_id")), self->parts);
    json_array_foreach (events, index, event) {
        argos_peer_part_t part = {
            .type = ARGOS_HOOK_EVENT, .to = ARGOS_HOOK_TOPIC, .body = json_incref (event)
        };
        argos_peer_publish (argos_shell_peer (self->gateway->shell), NULL, &part);
        s_job_tell_ended (self, event);
    }
    json_decref (events);
}

static void
s_on_done (void *arg, const argos_peer_answer_t *answer)
{
    job_t *self = arg;
    self->waiting = false;
    if (self->gateway->stopping)
        s_job_destroy (&self);
    else if (answer->code == ARGOS_OK || !self->lease || answer->code == ARGOS_FENCED ||
             answer->code == ARGOS_GONE) {
        if (answer->code == ARGOS_OK)
            s_job_tell (self);
        if (self->lease)
            argos_lease_set_data (self->lease, NULL); //  on_lost may follow
        s_job_destroy (&self);
    }
    else if (s_job_refused (self, answer))
        s_job_go (self);
}

//  Send the done with the parts.

static argos_err_t
s_job_done (job_t *self)
{
    argos_peer_part_t parts[ARGOS_PARTS_MAX];
    size_t count = json_array_size (self->parts);
    assert (count <= ARGOS_PARTS_MAX); //  We make at most eight
    for (size_t i = 0; i < count; i++)
        parts[i] = argos_gateway_part (json_array_get (self->parts, i));
    argos_err_t code = argos_lease_done (self->lease, parts, count, NULL, 0, s_on_done, self);
    self->waiting = code == ARGOS_OK;
    return code;
}

//  ---------------------------------------------------------------------------------------------
//  Reading

static void
s_on_read (void *arg, const argos_peer_answer_t *answer)
{
    job_t *self = arg;
    self->waiting = false;
    if (!self->lease || self->gateway->stopping) {
        s_job_destroy (&self);
        return;
    }
    const argos_fact_row_t *row = argos_fact_row (self->asked);
    if (answer->code != ARGOS_OK && !row->optional) {
        argos_log (ARGOS_LOG_WARN, NAME, "read failed", "type=%s code=%s reason=\"%s\"", row->type,
            argos_err_name (answer->code), answer->reason);
        s_job_release (self, NULL);
        return;
    }
    if (answer->code == ARGOS_OK)
        self->facts.fact[self->asked] = self->read[self->asked] = json_incref (answer->body);
    self->facts.have |= ARGOS_FACT_BIT (self->asked);
    s_job_go (self);
}

//  Ask for the next fact that is needed. Returns false when there is none; *ret_failed = it can't
//  be asked now.

static bool
s_job_read (job_t *self, bool *ret_failed)
{
    json_t *body;
    *ret_failed = false;
    self->asked = argos_fact_next (&self->facts, argos_gateway_needs (&self->facts), &body);
    if (self->asked == ARGOS_FACTS)
        return false;
    const argos_fact_row_t *row = argos_fact_row (self->asked);
    argos_peer_part_t part = {
        .type = row->type, .to = row->to, .ttl_ms = row->ttl_ms, .body = body
    };
    argos_peer_t *peer = argos_shell_peer (self->gateway->shell);
    self->waiting = argos_peer_send (peer, &part, s_on_read, self) == ARGOS_OK;
    *ret_failed = !self->waiting;
    return true;
}

//  Read what is still needed, else decide, else commit; goes on when the answer comes.

static void
s_job_go (job_t *self)
{
    bool failed;
    if (!self->parts && s_job_read (self, &failed)) {
        if (failed)
            s_job_release (self, NULL);
        return;
    }
    if (!self->parts)
        self->parts = argos_gateway_decide (&self->facts);
    argos_err_t code = self->parts ? s_job_done (self) : ARGOS_OK;
    if (!self->parts)
        s_job_release (self, argos_err_name (ARGOS_INVALID));
    else if (code == ARGOS_BUSY)
        s_job_release (self, NULL);
    else if (code != ARGOS_OK && s_job_refuse (self, code, argos_err_text (code)) &&
             (code = s_job_done (self)) != ARGOS_OK) //  Too big: the refusal is not
        s_job_release (self, argos_err_name (code));
}

//  ---------------------------------------------------------------------------------------------
//  Handlers of the peer

static void
s_on_lease (void *ctx, const argos_peer_msg_t *msg)
{
    gateway_t *self = ctx;
    job_t *job = calloc (1, sizeof *job);
    if (!job)
        abort ();
    job->gateway = self;
    job->lease = msg->lease;
    job->dead = streq (msg->type, "message.dead");
    job->body = job->dead ? json_incref (msg->body) : argos_incoming_event (msg->body);
    job->from = strdup (msg->from);
    job->id = strdup (msg->id);
    randombytes_buf (job->facts.random, sizeof job->facts.random);
    randombytes_buf (&job->facts.entropy, sizeof job->facts.entropy);
    job->settings = argos_gateway_settings_ref (self->settings);
    job->facts.policy = argos_gateway_settings_policy (job->settings);
    job->facts.from = job->from;
    job->facts.id = job->id;
    job->facts.body = job->dead ? json_object_get (job->body, "body") : job->body;
    job->facts.notice = job->dead ? job->body : NULL;
    job->facts.type = streq (msg->type, ARGOS_EXPIRE_TYPE) ? ARGOS_EXPIRE_TYPE : NULL;
    job->facts.attempt = msg->attempt;
    job->facts.wall = argos_shell_wall ();
    argos_lease_set_data (msg->lease, job);
    if (job->dead) {
        const char *type = json_string_value (json_object_get (job->body, "type"));
        const char *code = json_string_value (json_object_get (job->body, "code"));
        argos_log (ARGOS_LOG_WARN, NAME, "dead letter",
            "seq=%" JSON_INTEGER_FORMAT " type=%s code=%s",
            json_integer_value (json_object_get (job->body, "seq")), type ? type : "?",
            code ? code : "?");
    }
    else if (!argos_gate_trusts (&job->facts)) {
        argos_log (ARGOS_LOG_WARN, NAME, "message denied", "from=%s", job->from);
        s_job_release (job, argos_err_name (ARGOS_DENIED));
        return;
    }
    s_job_go (job);
}

static void
s_on_request (void *ctx, const argos_peer_msg_t *msg)
{
    gateway_t *self = ctx;
    argos_gateway_ask (
        argos_shell_peer (self->shell), argos_gateway_settings_policy (self->settings), msg);
}

static void
s_on_lost (void *ctx, argos_lease_t *lease)
{
    (void) ctx;
    job_t *job = argos_lease_data (lease);
    if (!job)
        return;
    job->lease = NULL;
    if (!job->waiting)
        s_job_destroy (&job);
}

//  The store answers in order, so that the service is declared when this has been answered.

static void
s_on_declared (void *arg, const argos_peer_answer_t *answer)
{
    gateway_t *self = arg;
    if (self->stopping || self->ready)
        return;
    self->ready = answer->code == ARGOS_OK;
    argos_shell_timer (self->shell, -1, NULL, NULL);
    argos_actor_ready (self->pipe, self->ready);
    if (!self->ready)
        argos_shell_stop (self->shell);
}

static void
s_on_welcome (void *ctx, bool new_store)
{
    (void) new_store;
    gateway_t *self = ctx;
    argos_peer_part_t part = { .type = "status.get", .to = "store", .ttl_ms = READ_TTL_MS };
    if (!self->ready)
        argos_peer_send (argos_shell_peer (self->shell), &part, s_on_declared, self);
}

static void
s_on_late (void *arg)
{
    gateway_t *self = arg;
    argos_actor_ready (self->pipe, false);
    argos_shell_stop (self->shell);
}

static void
s_on_final (void *ctx, argos_err_t code, const char *reason)
{
    (void) code;
    gateway_t *self = ctx;
    if (self->ready)
        argos_actor_fail (self->pipe, reason);
    else
        argos_actor_ready (self->pipe, false);
    argos_shell_stop (self->shell);
}

//  ---------------------------------------------------------------------------------------------
//  Lifecycle

void
argos_gateway_actor (zsock_t *pipe, void *config)
{
    static const char *const types[] = { "message.inbound", "message.dead", ARGOS_EXPIRE_TYPE,
        NULL };
    const argos_gateway_config_t *settings = config;
    gateway_t self = { .pipe = pipe };
    char name[ARGOS_NAME_MAX + 1];
    argos_peer_config_t peer = { .handlers = { .ctx = &self,
                                     .on_welcome = s_on_welcome,
                                     .on_lease = s_on_lease,
                                     .on_lost = s_on_lost,
                                     .on_request = s_on_request,
                                     .on_final = s_on_final } };
    argos_link_apply (&settings->link, NAME, &peer, name);
    if (settings->policy.route.profile)
        self.profile = strdup (settings->policy.route.profile);
    self.approval = argos_gateway_rules ();
    s_set_settings (&self, &settings->policy, json_deep_copy (settings->policy.config));
    if (argos_allow_is_unset (argos_gateway_settings_policy (self.settings)->config))
        argos_log (ARGOS_LOG_WARN, NAME, "nobody is let in",
            "hint=\"platforms.<name>.allowed_users, or argos pairing approve\"");
    self.shell = argos_shell_new (pipe, &peer);
    if (self.shell) {
        argos_peer_serve (argos_shell_peer (self.shell), NAME, SLOTS, types);
        argos_shell_on_command (self.shell, s_on_command, &self);
        argos_shell_timer (self.shell, argos_shell_now () + READY_MS, s_on_late, &self);
        argos_shell_run (self.shell);
    }
    else
        argos_actor_ready (pipe, false);
    self.stopping =
        true; //  Jobs that wait for an answer are freed by the peer's last words to them
    argos_shell_destroy (&self.shell);
    argos_gateway_settings_unref (&self.settings);
    argos_approval_policy_destroy (&self.approval);
    free (self.profile);
}
