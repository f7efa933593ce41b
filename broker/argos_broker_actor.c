//  argos_broker_actor - the broker's thread: sockets, clock and store around argos_core.
//
//  Invariant: this thread alone touches the core and its sockets; it never waits but in its one
//  poll. After a poll each source that may have something is drained in turns of at most 64
//  messages, so that none starves another; who sends on a socket says so to `ready`. Limits: see
//  the header.

#include "argos_broker_actor.h"

#include "argos_broker_load.h"
#include "argos_listener.h"
#include "argos_meter.h"
#include "argos_order.h"
#include "argos_ready.h"
#include "argos_storage_wire.h"
#include "argos_zframe.h"

#include <stdio.h>

#define TURN_MAX 64         //  Messages of one source in a turn
#define STORE_HWM 0         //  The core bounds what it has outstanding
#define INDEX_WAIT_MS 60000 //  For a page of the index

#define LISTENERS_MAX (1 + ARGOS_BIND_MAX) //  inproc is the first
#define AUTH_WAIT_MS 1000                  //  For the first table of keys, each time …
#define AUTH_TRIES 10                      //  … it is asked for
#define REFUSED_MS 10000                   //  Between two notes of refused connections

//  Places in `ready`; each listener has two, for its socket and for its links

enum { PIPE, STORE, AUTH, LISTENER };

static size_t
s_place (size_t listener)
{
    return LISTENER + 2 * listener;
}

static size_t
s_links_place (size_t listener)
{
    return s_place (listener) + 1;
}

typedef struct {
    zsock_t *pipe;                             //  To the owner
    argos_core_t *core;                        //  The broker itself
    void *store;                               //  PAIR to the store
    void *auth;                                //  PAIR to the auth actor; NULL = none
    argos_listener_t listeners[LISTENERS_MAX]; //  What is listened on
    size_t count;                              //  How many
    argos_ready_t ready;                       //  Which of the sockets may have something
    argos_broker_cut_fn *on_cut;               //  Told of peers that are put out, or NULL
    int connections;                           //  At a time
    int64_t refused[ARGOS_METER_REASONS];      //  Connections, as far as they were noted
    int64_t refused_at;                        //  When they were, mono msec; 0 = never
    bool terminated;                           //  Set by $TERM
    bool failed;                               //  The store is gone
    argos_listener_msg_t msg;                  //  The message being read
    char reason[ARGOS_LISTENER_REASON];        //  Why an endpoint is not bound
} broker_t;

static int64_t
s_mono (void)
{
    struct timespec now;
    clock_gettime (CLOCK_MONOTONIC, &now);
    return (int64_t) now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int64_t
s_wall (void)
{
    struct timespec now;
    clock_gettime (CLOCK_REALTIME, &now);
    return (int64_t) now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

//  ------------------------------------------------------------------------------------------------
//  What the core asks for

static int
s_send (void *ctx, uint64_t conn, bool packs, argos_frame_t **frames, size_t count)
{
    broker_t *self = ctx;
    argos_ready_set (&self->ready, s_place (conn >> 32), true);
    return argos_listener_send (&self->listeners[conn >> 32], conn, packs, frames, count);
}

static void
s_store (void *ctx, argos_storage_req_t *req)
{
    broker_t *self = ctx;
    argos_ready_set (&self->ready, STORE, true);
    if (argos_storage_req_send (self->store, req) != 0)
        self->failed = true;
    argos_storage_req_destroy (&req);
}

static void
s_close (void *ctx, uint64_t conn)
{
    broker_t *self = ctx;
    argos_links_t *links = self->listeners[conn >> 32].links;
    if (links)
        argos_links_close (links, conn);
}

//  A peer has been put out.

static void
s_put_out (void *ctx, const char *name, const char *reason)
{
    broker_t *self = ctx;
    if (self->on_cut)
        self->on_cut (name, reason);
}

//  ------------------------------------------------------------------------------------------------
//  What comes in

//  The keys have changed.

static void
s_take_keys (broker_t *self)
{
    for (argos_frame_t *text; (text = argos_zframe_recv (self->auth, ZMQ_DONTWAIT));) {
        argos_core_clock (self->core, s_mono (), s_wall ());
        argos_core_keys (self->core, (const char *) text->data, text->size);
        argos_frame_unref (&text);
    }
    argos_ready_set (&self->ready, AUTH, false);
}

//  One message of a connection. Over tcp one that the auth actor has not let in by a key goes no
//  further: without that actor libzmq lets in whoever encrypts.

static bool
s_take_message (broker_t *self, size_t place)
{
    argos_listener_t *listener = &self->listeners[place];
    argos_listener_msg_t *msg = &self->msg;
    int rc = argos_listener_recv (listener, msg);
    if (rc == 0)
        argos_ready_set (&self->ready, s_place (place), false);
    if (rc <= 0)
        return rc < 0;
    argos_who_t who = { listener->via, "" };
    if (who.via == ARGOS_VIA_TCP && msg->there > 0)
        who.key = argos_zframe_user (msg->frames[0]);
    if (*who.key && !argos_core_knows (self->core, who.key))
        s_take_keys (self); //  The auth actor has told it before it let this one in
    bool heard = who.via != ARGOS_VIA_TCP || *who.key;
    if (!heard)
        s_close (self, msg->conn);
    else
        heard = argos_core_message (self->core, msg->conn, &who, msg->frames, msg->count);
    if (listener->links && argos_links_heard (listener->links, msg->conn, heard)) {
        s_close (self, msg->conn);
        s_put_out (self, "", "disconnected: 1024 messages in a row without a session");
    }
    argos_listener_done (msg);
    return true;
}

static bool
s_take_answer (broker_t *self)
{
    argos_storage_ans_t *ans = argos_storage_ans_recv (self->store, ZMQ_DONTWAIT);
    argos_ready_set (&self->ready, STORE, ans != NULL);
    if (!ans)
        return false;
    argos_core_stored (self->core, ans);
    argos_storage_ans_destroy (&ans);
    return true;
}

static void
s_take_snapshot (broker_t *self, zmsg_t *msg)
{
    char *text = zmsg_popstr (msg);
    argos_core_clock (self->core, s_mono (), s_wall ());
    if (text)
        argos_core_snapshot (self->core, text);
    zstr_free (&text);
}

static void
s_take_command (broker_t *self)
{
    zmsg_t *msg = zmsg_recv_nowait (self->pipe);
    argos_ready_set (&self->ready, PIPE, msg != NULL);
    if (!msg)
        return;
    char *command = zmsg_popstr (msg);
    if (!command || streq (command, "$TERM"))
        self->terminated = true;
    else if (streq (command, "SNAPSHOT"))
        s_take_snapshot (self, msg);
    zstr_free (&command);
    zmsg_destroy (&msg);
}

//  A connection is lost: a hint for the core.

static void
s_gone (void *arg, uint64_t conn)
{
    broker_t *self = arg;
    argos_core_gone (self->core, conn);
}

//  Connections that were refused, once in a while: there may be thousands a second.

static void
s_note_refused (broker_t *self)
{
    long long news[ARGOS_METER_REASONS];
    bool any = false;
    char text[160];
    for (argos_meter_reason_t reason = 0; reason < ARGOS_METER_REASONS; reason++) {
        news[reason] = argos_meter_refused (reason) - self->refused[reason];
        any = any || news[reason] > 0;
    }
    if (!any || (self->refused_at && s_mono () - self->refused_at < REFUSED_MS))
        return;
    self->refused_at = s_mono ();
    for (argos_meter_reason_t reason = 0; reason < ARGOS_METER_REASONS; reason++)
        self->refused[reason] += news[reason];
    snprintf (text, sizeof text,
        "connections refused: %lld at the limit of %d, %lld beyond %d a second, %lld for want of "
        "descriptors",
        news[ARGOS_METER_FULL], self->connections, news[ARGOS_METER_FAST], ARGOS_METER_RATE,
        news[ARGOS_METER_SHORT]);
    s_put_out (self, "", text);
}

//  Drain everything in turns, answers first: they free what messages wait for.

static void
s_drain (broker_t *self)
{
    bool busy = true;
    for (int turn = 0; busy && turn < 4; turn++) {
        busy = false;
        argos_core_clock (self->core, s_mono (), s_wall ());
        for (int i = 0; i < 2 * TURN_MAX && argos_ready_maybe (&self->ready, STORE); i++)
            busy = s_take_answer (self) || busy;
        for (size_t place = 0; place < self->count; place++)
            for (int i = 0; i < TURN_MAX && argos_ready_maybe (&self->ready, s_place (place)); i++)
                busy = s_take_message (self, place) || busy;
    }
}

//  Links that are lost, before what else their connections have sent

static void
s_take_links (broker_t *self)
{
    for (size_t place = 0; place < self->count; place++) {
        if (!argos_ready_maybe (&self->ready, s_links_place (place)))
            continue;
        argos_links_turn (self->listeners[place].links);
        argos_ready_set (&self->ready, s_links_place (place), false);
    }
}

static int
s_timeout (broker_t *self)
{
    int64_t due = argos_core_due (self->core);
    if (due == INT64_MAX)
        return -1;
    int64_t wait = due - s_mono ();
    return wait < 0 ? 0 : wait > 3600000 ? 3600000 : (int) wait;
}

static void
s_watch (broker_t *self)
{
    argos_ready_socket (&self->ready, PIPE, zsock_resolve (self->pipe));
    argos_ready_socket (&self->ready, STORE, self->store);
    if (self->auth)
        argos_ready_socket (&self->ready, AUTH, self->auth);
    for (size_t place = 0; place < self->count; place++) {
        argos_listener_t *listener = &self->listeners[place];
        argos_ready_socket (&self->ready, s_place (place), listener->socket);
        if (listener->links)
            argos_ready_socket (
                &self->ready, s_links_place (place), argos_links_socket (listener->links));
    }
}

static void
s_run (broker_t *self)
{
    s_watch (self);
    while (!self->terminated && !self->failed) {
        if (argos_ready_wait (&self->ready, s_timeout (self)) != 0)
            break;
        if (argos_ready_maybe (&self->ready, PIPE))
            s_take_command (self);
        s_take_links (self);
        s_note_refused (self);
        if (argos_ready_maybe (&self->ready, AUTH))
            s_take_keys (self);
        s_drain (self);
        if (argos_core_due (self->core) <= s_mono ()) {
            argos_core_clock (self->core, s_mono (), s_wall ());
            argos_core_tick (self->core);
        }
    }
}

//  ------------------------------------------------------------------------------------------------
//  Start and end

//  Binds one more listener. Returns NULL, or why it is not bound.

static const char *
s_listen (broker_t *self, const char *endpoint, const argos_broker_config_t *config)
{
    argos_via_t via = ARGOS_VIA_INPROC;
    if (self->count == LISTENERS_MAX)
        return "too many endpoints to bind";
    if (strncmp (endpoint, "ipc://", 6) == 0)
        via = ARGOS_VIA_IPC;
    else if (strncmp (endpoint, "tcp://", 6) == 0)
        via = ARGOS_VIA_TCP;
    else if (strcmp (endpoint, ARGOS_BROKER_INPROC) != 0)
        return "an endpoint to bind is ipc:// or tcp://";
    argos_listener_t *listener = &self->listeners[self->count];
    *listener = (argos_listener_t){
        .via = via, .place = self->count++, .gone_fn = s_gone, .gone_arg = self
    };
    return argos_listener_open (
        listener, endpoint, config->server, config->group, self->connections, self->reason);
}

static void *
s_pair (const char *endpoint, int wait_ms)
{
    void *socket = zmq_socket (zsys_init (), ZMQ_PAIR);
    if (!socket)
        return NULL;
    argos_listener_set (socket, ZMQ_LINGER, 0);
    argos_listener_set (socket, ZMQ_SNDHWM, STORE_HWM);
    argos_listener_set (socket, ZMQ_RCVHWM, STORE_HWM);
    argos_listener_set (socket, ZMQ_RCVTIMEO, wait_ms);
    argos_listener_set (socket, ZMQ_SNDTIMEO, 0); //  Only a store that is gone can't take a request
    if (zmq_connect (socket, endpoint) != 0) {
        zmq_close (socket);
        return NULL;
    }
    return socket;
}

//  Makes the core of what the store has. Returns 0, or -1 when it doesn't answer.

static int
s_load (broker_t *self, const argos_broker_config_t *config)
{
    //  Services that are there whether or not someone has ever served them
    static const char *const always[] = { "gateway", "turn", NULL };
    argos_core_io_t io = { self, s_send, s_store, s_close, s_put_out };
    self->core = argos_broker_load (self->store, &config->core, &io, s_mono (), s_wall ());
    return self->core && argos_broker_declare (self->store, self->core, always, s_wall ()) == 0
               ? argos_broker_declare (self->store, self->core, config->services, s_wall ())
               : -1;
}

static void
s_destroy (broker_t *self)
{
    //  A close alone frees the address some time later, and the next broker may be there before
    if (self->count > 0)
        zmq_unbind (self->listeners[0].socket, ARGOS_BROKER_INPROC);
    for (size_t place = 0; place < self->count; place++)
        argos_listener_close (&self->listeners[place]);
    if (self->auth)
        zmq_close (self->auth);
    if (self->store)
        zmq_close (self->store);
    argos_core_destroy (&self->core);
}

//  The keys, before anyone can connect: what a key allows or keeps for itself counts from the first
//  hello. Returns 0, or -1 when the auth actor does not answer.

static int
s_ask_keys (broker_t *self, const char *endpoint)
{
    argos_frame_t *text = NULL;
    //  A pair takes one at a time, and the end of the one before may not have come there yet
    for (int i = 0; i < AUTH_TRIES && !text; i++) {
        if (self->auth)
            zmq_close (self->auth);
        self->auth = s_pair (endpoint, AUTH_WAIT_MS);
        if (!self->auth)
            return -1;
        zmq_send (self->auth, "KEYS", 4, 0); //  When it was not taken, no answer comes
        text = argos_zframe_recv (self->auth, 0);
    }
    if (!text)
        return -1;
    argos_core_keys (self->core, (const char *) text->data, text->size);
    argos_frame_unref (&text);
    return 0;
}

//  Whether an endpoint would be bound without the one who says who may connect.

static bool
s_is_open_tcp (const argos_broker_config_t *config)
{
    for (const char *const *endpoint = config->bind; endpoint && *endpoint; endpoint++)
        if (strncmp (*endpoint, "tcp://", 6) == 0 && (!config->auth || !config->server))
            return true;
    return false;
}

//  Opens everything; returns NULL, or why not.

static const char *
s_start (broker_t *self, const argos_broker_config_t *config)
{
    if (s_is_open_tcp (config))
        return "tcp needs the auth actor and a server key";
    self->on_cut = config->on_cut;
    self->store = s_pair (ARGOS_STORE_INPROC, INDEX_WAIT_MS);
    if (!self->store || s_load (self, config) != 0)
        return "the store does not answer";
    if (config->auth && s_ask_keys (self, config->auth) != 0)
        return "the auth actor does not answer";
    argos_meter_limit (2 * config->core.window_bytes);
    self->connections = argos_meter_admit (config->connections);
    for (int reason = 0; reason < ARGOS_METER_REASONS; reason++)
        self->refused[reason] =
            argos_meter_refused ((argos_meter_reason_t) reason); //  By a broker before this one
    const char *wrong = s_listen (self, ARGOS_BROKER_INPROC, config);
    for (const char *const *endpoint = config->bind; !wrong && endpoint && *endpoint; endpoint++)
        wrong = s_listen (self, *endpoint, config);
    return wrong;
}

void
argos_broker_actor (zsock_t *pipe, void *config)
{
    ARGOS_TAKE ();
    broker_t self = { .pipe = pipe };
    const char *wrong = s_start (&self, config);
    ARGOS_GIVE ();
    zsock_set_sndtimeo (pipe, 0);
    if (wrong)
        zstr_sendx (pipe, "FAILED", wrong, NULL);
    else {
        zstr_sendx (pipe, "READY", NULL);
        s_run (&self);
        if (self.failed)
            zstr_sendx (pipe, "FAILED", "the store takes nothing", NULL);
    }
    s_destroy (&self);
}
