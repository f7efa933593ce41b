//  argos_gateway_ask - see argos_gateway_ask.h.
//
//  Invariant: every request is answered once, after what it changes has been written. Limits: 24
//  questions to the store for one request, ten attempts at what others change at the same time;
//  how many there are at a time is bounded by the broker (their senders have windows and
//  deadlines).

#include "argos_gateway_ask.h"

#include "argos_ask.h"
#include "argos_gateway_part.h"
#include "argos_shell.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#define TRIES_MAX 10      //  Attempts at what others change at the same time
#define READ_TTL_MS 10000 //  Patience with the store
#define WRITES_MAX 64     //  Parts of a commit

//  One request in hand

typedef struct {
    argos_peer_t *peer;            //  To answer with
    const argos_ask_row_t *row;    //  What it is
    argos_ask_t ask;               //  What is decided on
    json_t *body;                  //  Of the request
    json_t *read[ARGOS_ASK_READS]; //  What has been read
    json_t *writes;                //  What is being written
    json_t *missing;               //  Of ask
    json_t *reply;                 //  To be told once it is written
    size_t asked;                  //  Questions so far
    int tries;                     //  Attempts so far
    argos_err_t code;              //  Of the answer
    char reason[ARGOS_ASK_REASON]; //  Of the answer
    char *from, *id;               //  Of the request
    argos_gateway_policy_t policy; //  Settings that it began with
    json_t *config;                //  Those of the policy, own copy
} job_t;

static void s_job_go (job_t *self);

static void
s_job_forget (job_t *self)
{
    for (size_t i = 0; i < ARGOS_ASK_READS; i++) {
        json_decref (self->read[i]);
        self->ask.read[i] = self->read[i] = NULL;
    }
    json_decref (self->reply);
    json_decref (self->writes);
    self->reply = self->writes = NULL;
    self->asked = 0;
}

static void
s_job_destroy (job_t **self_p)
{
    job_t *self = *self_p;
    s_job_forget (self);
    json_decref (self->body);
    json_decref (self->config);
    json_decref (self->missing);
    free (self->from);
    free (self->id);
    free (self);
    *self_p = NULL;
}

//  Tell the answer, and be done with it.

static void
s_job_end (job_t *self)
{
    json_t *body = self->code == ARGOS_OK
                       ? json_incref (self->reply)
                       : json_pack ("{s:s, s:s}", "code", argos_err_name (self->code), "reason",
                             *self->reason ? self->reason : argos_err_text (self->code));
    argos_peer_reply_to (self->peer, self->from, self->id,
        self->code == ARGOS_OK ? self->row->result : "error", body);
    s_job_destroy (&self);
}

static void
s_job_fail (job_t *self, argos_err_t code)
{
    self->code = code;
    *self->reason = 0;
    s_job_end (self);
}

//  Whether a part goes where nobody is: it is to be decided again without.

static bool
s_is_missing (job_t *self, const argos_peer_answer_t *answer)
{
    if (answer->code != ARGOS_NO_SERVICE || answer->part < 0 || !self->row->parts)
        return false;
    json_array_append (self->missing,
        json_object_get (json_array_get (self->writes, (size_t) answer->part), "to"));
    return true;
}

static void
s_on_written (void *arg, const argos_peer_answer_t *answer)
{
    job_t *self = arg;
    if (answer->code == ARGOS_GONE)
        s_job_destroy (&self); //  The peer is going away
    else if ((s_is_missing (self, answer) || answer->code == ARGOS_CONFLICT) &&
             ++self->tries < TRIES_MAX) {
        s_job_forget (self);
        s_job_go (self);
    }
    else if (answer->code != ARGOS_OK)
        s_job_fail (self, answer->code);
    else
        s_job_end (self);
}

//  A write as the peer wants it; the strings stay with the JSON.

static argos_peer_part_t
s_part (const job_t *self, json_t *write)
{
    if (self->row->parts)
        return argos_gateway_part (write);
    return (argos_peer_part_t){ .type = "record.put", .to = "store", .body = json_incref (write) };
}

//  Decide; what is written is written as one.

static void
s_job_answer (job_t *self)
{
    argos_peer_part_t parts[WRITES_MAX];
    self->writes = json_array ();
    self->code = self->row->answer (&self->ask, &self->reply, self->writes, self->reason);
    size_t count = self->row->parts && self->code != ARGOS_OK ? 0 : json_array_size (self->writes);
    assert (count <= WRITES_MAX); //  The rows make fewer
    for (size_t i = 0; i < count; i++)
        parts[i] = s_part (self, json_array_get (self->writes, i));
    argos_err_t code =
        count ? argos_peer_commit (self->peer, NULL, parts, count, s_on_written, self) : ARGOS_OK;
    if (code != ARGOS_OK)
        s_job_fail (self, code);
    else if (!count)
        s_job_end (self);
}

static void
s_on_read (void *arg, const argos_peer_answer_t *answer)
{
    job_t *self = arg;
    if (answer->code == ARGOS_GONE)
        s_job_destroy (&self);
    else if (answer->code != ARGOS_OK)
        s_job_fail (self, answer->code);
    else {
        self->ask.read[self->asked] = self->read[self->asked] = json_incref (answer->body);
        self->asked++;
        s_job_go (self);
    }
}

//  Ask the next question, else decide.

static void
s_job_go (job_t *self)
{
    json_t *body = NULL;
    const char *type =
        self->asked < ARGOS_ASK_READS ? self->row->question (&self->ask, self->asked, &body) : NULL;
    if (!type) {
        s_job_answer (self);
        return;
    }
    argos_peer_part_t part = { .type = type, .to = "store", .ttl_ms = READ_TTL_MS, .body = body };
    argos_err_t code = argos_peer_send (self->peer, &part, s_on_read, self);
    if (code != ARGOS_OK)
        s_job_fail (self, code);
}

void
argos_gateway_ask (
    argos_peer_t *peer, const argos_gateway_policy_t *policy, const argos_peer_msg_t *request)
{
    if (!*request->id || *request->re)
        return;
    const argos_ask_row_t *row = argos_ask_find (request->type);
    if (!row) {
        argos_peer_reply (peer, request, "error",
            json_pack ("{s:s, s:s}", "code", argos_err_name (ARGOS_UNKNOWN_TYPE), "reason",
                argos_err_text (ARGOS_UNKNOWN_TYPE)));
        return;
    }
    job_t *self = calloc (1, sizeof *self);
    if (!self)
        abort ();
    self->peer = peer;
    self->row = row;
    self->body = json_incref (request->body);
    self->from = strdup (request->from);
    self->id = strdup (request->id);
    self->missing = json_array ();
    self->policy = *policy;
    self->policy.config = self->config = json_deep_copy (policy->config);
    self->ask = (argos_ask_t){ .policy = &self->policy,
        .id = self->id,
        .from = self->from,
        .body = self->body,
        .missing = self->missing,
        .wall = argos_shell_wall () };
    randombytes_buf (&self->ask.entropy, sizeof self->ask.entropy);
    s_job_go (self);
}
