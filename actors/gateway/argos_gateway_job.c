//  argos_gateway_job - see argos_gateway_job.h.
//
//  Invariant: a job is freed once its lease is gone and nothing that was asked for it is
//  unanswered.
//  Limits: five decisions per message, then it is refused visibly.

#include "argos_gateway_job.h"

#include "argos_expire.h"
#include "argos_gate.h"
#include "argos_gateway_events.h"
#include "argos_gateway_part.h"
#include "argos_header.h"
#include "argos_hook_event.h"
#include "argos_incoming.h"
#include "argos_log.h"

#include <sodium.h>
#include <string.h>

#define NAME "gateway"
#define TRIES_MAX 5   //  Decisions on facts that were old when they reached the store
#define RETRY_MS 1000 //  Pause before a message is tried again when something is not available

typedef struct job job_t;

//  A question that is under way

typedef struct {
    job_t *job;        //  For which
    argos_fact_t fact; //  What
} question_t;

//  One message in hand

struct job {
    argos_gateway_settings_t *settings; //  That it began with
    argos_gateway_desk_t *desk;         //  Whose
    argos_lease_t *lease;               //  NULL once it is lost
    json_t *body;                       //  Of the message
    json_t *read[ARGOS_FACTS];          //  The facts of `facts`, our references
    json_t *parts;                      //  Of the done that is under way
    char *from, *id;                    //  Of the message
    question_t questions[ARGOS_FACTS];  //  By fact
    unsigned unanswered;                //  Questions, or the done
    int tries;                          //  Decisions so far
    bool dead;                          //  It is a message.dead
    bool refusing;                      //  The parts refuse the message
    bool failed;                        //  Something could not be read
    argos_gateway_case_t facts;         //  What the decision is made on
};

static void s_job_go (job_t *self);

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
    if (self->lease && !self->desk->stopping)
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
    argos_peer_publish (argos_shell_peer (self->desk->shell), NULL, &part);
}

//  Tell who looks on, in passing.

static void
s_job_tell (job_t *self)
{
    size_t index;
    json_t *event;
    const json_t *route = json_object_get (self->facts.fact[ARGOS_FACT_ROUTE], "route");
    json_t *events = argos_gateway_events (
        &self->facts, json_string_value (json_object_get (route, "session_id")), self->parts);
    json_array_foreach (events, index, event) {
        argos_peer_part_t part = {
            .type = ARGOS_HOOK_EVENT, .to = ARGOS_HOOK_TOPIC, .body = json_incref (event)
        };
        argos_peer_publish (argos_shell_peer (self->desk->shell), NULL, &part);
        s_job_tell_ended (self, event);
    }
    json_decref (events);
}

static void
s_on_done (void *arg, const argos_peer_answer_t *answer)
{
    job_t *self = arg;
    self->unanswered--;
    if (self->desk->stopping)
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
    self->unanswered += code == ARGOS_OK;
    return code;
}

//  ---------------------------------------------------------------------------------------------
//  Reading

static void
s_take (job_t *self, argos_fact_t fact, const argos_peer_answer_t *answer)
{
    const argos_fact_row_t *row = argos_fact_row (fact);
    bool more = false;
    if (answer->code == ARGOS_OK) {
        json_t *before = self->read[fact];
        self->facts.fact[fact] = self->read[fact] =
            argos_fact_join (fact, before, answer->body, &more);
        json_decref (before);
    }
    else if (!row->optional) {
        argos_log (ARGOS_LOG_WARN, NAME, "read failed", "type=%s code=%s reason=\"%s\"", row->type,
            argos_err_name (answer->code), answer->reason);
        self->failed = true;
    }
    if (!more)
        self->facts.have |= ARGOS_FACT_BIT (fact);
}

//  Goes on when all that was asked has been answered.

static void
s_on_read (void *arg, const argos_peer_answer_t *answer)
{
    const question_t *question = arg;
    job_t *self = question->job;
    bool lost = !self->lease || self->desk->stopping;
    if (!lost)
        s_take (self, question->fact, answer);
    if (--self->unanswered)
        return;
    if (lost)
        s_job_destroy (&self);
    else if (self->failed)
        s_job_release (self, NULL);
    else
        s_job_go (self);
}

//  Ask for all that is needed and can be asked now. Returns whether there was something.

static bool
s_job_read (job_t *self)
{
    argos_peer_t *peer = argos_shell_peer (self->desk->shell);
    unsigned asked = 0;
    for (;;) {
        json_t *body;
        argos_fact_t fact =
            argos_fact_next (&self->facts, argos_gateway_needs (&self->facts), asked, &body);
        if (fact == ARGOS_FACTS)
            return asked != 0;
        const argos_fact_row_t *row = argos_fact_row (fact);
        argos_peer_part_t part = {
            .type = row->type, .to = row->to, .ttl_ms = row->ttl_ms, .body = body
        };
        asked |= ARGOS_FACT_BIT (fact);
        self->questions[fact] = (question_t){ self, fact };
        if (argos_peer_send (peer, &part, s_on_read, &self->questions[fact]) == ARGOS_OK)
            self->unanswered++;
        else
            self->failed = true;
    }
}

//  Read what is still needed, else decide, else commit; goes on when the answer comes.

static void
s_job_go (job_t *self)
{
    if (!self->parts && s_job_read (self)) {
        if (!self->unanswered) //  Nothing can be asked now
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
//  Begin and loss

static job_t *
s_job_new (argos_gateway_desk_t *desk, const argos_peer_msg_t *msg)
{
    job_t *self = calloc (1, sizeof *self);
    if (!self)
        abort ();
    self->desk = desk;
    self->lease = msg->lease;
    self->dead = streq (msg->type, "message.dead");
    self->body = self->dead ? json_incref (msg->body) : argos_incoming_event (msg->body);
    self->from = strdup (msg->from);
    self->id = strdup (msg->id);
    if (!self->from || !self->id)
        abort ();
    self->settings = argos_gateway_settings_ref (desk->settings);
    self->facts = (argos_gateway_case_t){ .policy = argos_gateway_settings_policy (self->settings),
        .from = self->from,
        .id = self->id,
        .body = self->dead ? json_object_get (self->body, "body") : self->body,
        .notice = self->dead ? self->body : NULL,
        .type = streq (msg->type, ARGOS_EXPIRE_TYPE) ? ARGOS_EXPIRE_TYPE : NULL,
        .attempt = msg->attempt,
        .wall = argos_shell_wall () };
    randombytes_buf (self->facts.random, sizeof self->facts.random);
    randombytes_buf (&self->facts.entropy, sizeof self->facts.entropy);
    return self;
}

static void
s_log_dead (const json_t *notice)
{
    const char *type = json_string_value (json_object_get (notice, "type"));
    const char *code = json_string_value (json_object_get (notice, "code"));
    argos_log (ARGOS_LOG_WARN, NAME, "dead letter", "seq=%" JSON_INTEGER_FORMAT " type=%s code=%s",
        json_integer_value (json_object_get (notice, "seq")), type ? type : "?", code ? code : "?");
}

void
argos_gateway_job_begin (argos_gateway_desk_t *desk, const argos_peer_msg_t *msg)
{
    job_t *self = s_job_new (desk, msg);
    argos_lease_set_data (msg->lease, self);
    if (self->dead)
        s_log_dead (self->body);
    else if (!argos_gate_trusts (&self->facts)) {
        argos_log (ARGOS_LOG_WARN, NAME, "message denied", "from=%s", self->from);
        s_job_release (self, argos_err_name (ARGOS_DENIED));
        return;
    }
    s_job_go (self);
}

void
argos_gateway_job_lost (argos_lease_t *lease)
{
    job_t *self = argos_lease_data (lease);
    if (!self)
        return;
    self->lease = NULL;
    if (!self->unanswered)
        s_job_destroy (&self);
}
