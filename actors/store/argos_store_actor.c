//  argos_store_actor - takes what is there, commits it, answers.
//
//  Invariant: answers leave in the order of the requests, and none before the commit. Nothing is
//  waited for while requests are there; idle means asleep. Chores are done in pauses: whoever has
//  just been answered asks again soon, and would wait for them. After a failure that the database
//  can't survive nothing more is answered. Limits: BATCH_MAX requests of one commit; it ends behind
//  the one that brings BATCH_BYTES, so that pieces of files don't hold up the rest.

#include "argos_store_actor.h"

#include "argos_actor.h"
#include "argos_log.h"
#include "argos_ready.h"
#include "argos_storage_wire.h"
#include "argos_store_engine.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define BATCH_MAX 64       //  Requests of one commit
#define BATCH_BYTES 327680 //  Bodies of one commit: less than a whole piece of a file has
#define REASON_SIZE 256    //  Bytes of a reason
#define SLEEP_MS 3600000   //  Longest sleep: chores count the uptime by the hour
#define PAUSE_MS 20        //  Quiet before chores …
#define LATE_MS 1000       //  … but a slice of them so often, in any quiet moment

enum { PIPE, PAIR }; //  Places in `ready`

typedef struct {
    zsock_t *pipe;                            //  To the owner
    void *pair;                               //  To the broker
    argos_ready_t ready;                      //  Which of the two may have something
    argos_store_t *store;                     //  The database
    argos_storage_req_t *requests[BATCH_MAX]; //  The batch at hand
    argos_storage_ans_t *answers[BATCH_MAX];  //  Its answers
    bool terminated;                          //  Set by $TERM
    bool failed;                              //  The database is past use
    char reason[REASON_SIZE];                 //  Why
} self_t;

static int64_t
s_wall (void)
{
    struct timespec now;
    clock_gettime (CLOCK_REALTIME, &now);
    return (int64_t) now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void *
s_bind (const char *endpoint)
{
    const int zero = 0;
    void *pair = zmq_socket (zsys_init (), ZMQ_PAIR);
    if (!pair)
        return NULL;
    zmq_setsockopt (pair, ZMQ_LINGER, &zero, sizeof zero);
    zmq_setsockopt (pair, ZMQ_SNDHWM, &zero, sizeof zero);
    zmq_setsockopt (pair, ZMQ_RCVHWM, &zero, sizeof zero);
    //  Only a broker that is gone can't take an answer: waiting for it would outlast $TERM
    zmq_setsockopt (pair, ZMQ_SNDTIMEO, &zero, sizeof zero);
    if (zmq_bind (pair, endpoint) == 0)
        return pair;
    zmq_close (pair);
    return NULL;
}

static void
s_handle_pipe (self_t *self)
{
    zmsg_t *msg = zmsg_recv_nowait (self->pipe);
    argos_ready_set (&self->ready, PIPE, msg != NULL);
    if (!msg)
        return;
    char *command = zmsg_popstr (msg);
    if (!command || streq (command, "$TERM"))
        self->terminated = true;
    zstr_free (&command);
    zmsg_destroy (&msg);
}

static size_t
s_bytes (const argos_storage_req_t *req)
{
    size_t bytes = 0;
    for (size_t i = 0; i < req->part_count; i++)
        bytes += req->parts[i].body ? req->parts[i].body->size : 0;
    return bytes;
}

//  One batch of what is there. Returns how many requests it had.

static size_t
s_handle_requests (self_t *self)
{
    size_t count = 0, bytes = 0;
    while (count < BATCH_MAX && bytes < BATCH_BYTES) {
        self->requests[count] = argos_storage_req_recv (self->pair, ZMQ_DONTWAIT);
        if (!self->requests[count]) {
            argos_ready_set (&self->ready, PAIR, false);
            break;
        }
        bytes += s_bytes (self->requests[count++]);
    }
    if (count == 0)
        return 0;
    self->failed =
        argos_store_batch (self->store, self->requests, self->answers, count, self->reason) != 0;
    //  Large frames are shared with the broker: let go of before it may let go of them
    for (size_t i = 0; i < count; i++)
        argos_storage_req_destroy (&self->requests[i]);
    argos_ready_set (&self->ready, PAIR, true);
    for (size_t i = 0; i < count; i++) {
        if (!self->failed && argos_storage_ans_send (self->pair, self->answers[i]) != 0) {
            self->failed = true;
            snprintf (self->reason, sizeof self->reason, "the broker takes no answer");
        }
        argos_storage_ans_destroy (&self->answers[i]);
    }
    return count;
}

static void
s_run (self_t *self)
{
    argos_ready_socket (&self->ready, PIPE, zsock_resolve (self->pipe));
    argos_ready_socket (&self->ready, PAIR, self->pair);
    int64_t rested = s_wall (); //  When the last pause ended
    while (!self->terminated && !self->failed) {
        if (argos_ready_maybe (&self->ready, PIPE))
            s_handle_pipe (self);
        bool pause = !argos_ready_maybe (&self->ready, PAIR);
        bool quiet = pause || s_handle_requests (self) == 0;
        bool chores = pause || (quiet && llabs (s_wall () - rested) >= LATE_MS);
        int wait_ms = PAUSE_MS;
        if (chores)
            wait_ms = argos_store_chore (self->store, s_wall ()) ? 0 : SLEEP_MS;
        if (!self->terminated)
            argos_ready_wait (&self->ready, wait_ms);
        if (chores)
            rested = s_wall ();
    }
}

static bool
s_start (self_t *self, const argos_store_actor_config_t *config)
{
    self->store = argos_store_new (config->path, s_wall (), self->reason);
    if (!self->store)
        return false;
    if (config->blobs)
        argos_store_set_blobs (self->store, config->blobs);
    if (config->keeps)
        argos_store_set_keeps (self->store, config->keeps, config->keep_count);
    if (config->runs_owner)
        argos_store_set_runs (self->store, config->runs_owner, config->runs_keep_ms);
    self->pair = s_bind (config->endpoint);
    if (!self->pair) {
        snprintf (self->reason, sizeof self->reason, "can't bind %.200s", config->endpoint);
        return false;
    }
    const argos_store_info_t *info = argos_store_info (self->store);
    argos_log (ARGOS_LOG_INFO, "store", "open", "sqlite=%s boot=%" PRId64 " commit_us=%" PRId64,
        argos_store_library (), info->boot, info->commit_us);
    if (*info->repaired)
        argos_log (ARGOS_LOG_WARN, "store", "repaired", "what=\"%s\"", info->repaired);
    if (config->info)
        *config->info = *info;
    return true;
}

void
argos_store_actor (zsock_t *pipe, void *config)
{
    const argos_store_actor_config_t *settings = config;
    self_t *self = calloc (1, sizeof *self);
    if (!self)
        abort ();
    self->pipe = pipe;
    bool started = s_start (self, settings);
    if (!started && settings->reason)
        memcpy (settings->reason, self->reason, sizeof self->reason);
    argos_actor_ready (pipe, started);
    if (started)
        s_run (self);
    if (self->failed)
        argos_actor_fail (pipe, self->reason);
    if (self->pair) {
        //  A close alone frees the address some time later, and the next store may be there before
        char endpoint[128];
        size_t size = sizeof endpoint;
        if (zmq_getsockopt (self->pair, ZMQ_LAST_ENDPOINT, endpoint, &size) == 0)
            zmq_unbind (self->pair, endpoint);
        zmq_close (self->pair);
    }
    argos_store_destroy (&self->store);
    free (self);
}
