//  argos_broker_actor - the broker's thread: sockets, clock and store around argos_core.
//
//  Invariant: this thread alone touches the core and its sockets; it never waits but in its one
//  poll. After a poll each source is drained in turns of at most 64 messages, so that none starves
//  another. Limits: see the header. A message of more frames than a commit can have is read to its
//  end and refused.

#include "argos_broker_actor.h"

#include "argos_links.h"
#include "argos_meter.h"
#include "argos_order.h"
#include "argos_storage_wire.h"
#include "argos_zap.h"
#include "argos_zframe.h"

#include <assert.h>
#include <stdio.h>
#include <sys/stat.h>

#define FRAMES_MAX (4 + 2 * ARGOS_PARTS_MAX) //  Frames of a message behind the routing id
#define ID_MAX 255                           //  Bytes of a routing id
#define TURN_MAX 64                          //  Messages of one source in a turn
#define HWM 4096                             //  Messages of a connection in the socket
#define STORE_HWM 0                          //  The core bounds what it has outstanding
#define HANDSHAKE_MS 5000                    //  A connection that doesn't speak ZMTP
#define INDEX_WAIT_MS 60000                  //  For a page of the index

#define LISTENERS_MAX (1 + ARGOS_BIND_MAX) //  inproc is the first
#define AUTH_WAIT_MS 1000                  //  For the first table of keys, each time …
#define AUTH_TRIES 10                      //  … it is asked for
#define HEARTBEAT_MS 10000                 //  ZMTP pings over tcp
#define HEARTBEAT_LATE_MS 30000            //  A connection without an answer is gone

//  A socket that is listened on

typedef struct {
    void *socket;         //  ROUTER
    argos_links_t *links; //  Its connections; NULL = not followed (inproc)
    argos_via_t via;      //  What it is
} listener_t;

typedef struct {
    zsock_t *pipe;                       //  To the owner
    argos_core_t *core;                  //  The broker itself
    void *store;                         //  PAIR to the store
    void *auth;                          //  PAIR to the auth actor; NULL = none
    listener_t listeners[LISTENERS_MAX]; //  What is listened on
    size_t count;                        //  How many
    argos_broker_cut_fn *on_cut;         //  Told of peers that are put out, or NULL
    bool terminated;                     //  Set by $TERM
    bool failed;                         //  The store is gone
    argos_frame_t *frames[FRAMES_MAX];   //  The message being read
    char reason[512];                    //  Why an endpoint is not bound
    argos_header_t header;               //  Of one that is refused here
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

//  A connection is the listener's number and the routing id that the ROUTER has made: a zero and
//  four bytes.

static int
s_send (void *ctx, uint64_t conn, argos_frame_t **frames, size_t count)
{
    broker_t *self = ctx;
    void *socket = self->listeners[conn >> 32].socket;
    unsigned char id[5] = { 0, (unsigned char) (conn >> 24), (unsigned char) (conn >> 16),
        (unsigned char) (conn >> 8), (unsigned char) conn };
    if (zmq_send (socket, id, sizeof id, ZMQ_SNDMORE | ZMQ_DONTWAIT) < 0)
        return -1; //  EHOSTUNREACH: gone. EAGAIN: takes nothing
    for (size_t i = 0; i < count; i++)
        argos_zframe_send (frames[i], socket, i + 1 < count ? ZMQ_SNDMORE : 0);
    return 0;
}

static void
s_store (void *ctx, argos_storage_req_t *req)
{
    broker_t *self = ctx;
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

//  Reads the routing id; its size, -1 when there is no message.

static int
s_recv_id (void *socket, unsigned char *id)
{
    int size = zmq_recv (socket, id, ID_MAX, ZMQ_DONTWAIT);
    assert (size <= ID_MAX); //  ZMTP has one byte for its length
    return size;
}

//  The number of a connection whose id was made by the ROUTER.

static uint64_t
s_conn (size_t listener, const unsigned char *id)
{
    return (uint64_t) listener << 32 | (uint64_t) id[1] << 24 | (uint64_t) id[2] << 16 |
           (uint64_t) id[3] << 8 | id[4];
}

static bool
s_more (void *socket)
{
    int more = 0;
    size_t size = sizeof more;
    return zmq_getsockopt (socket, ZMQ_RCVMORE, &more, &size) == 0 && more;
}

//  A peer that has set a routing id of its own can't be served: another could take it over. It is
//  told so, with the id of what it has sent, and the message is let go.

static void
s_refuse_id (broker_t *self, void *socket, const unsigned char *id, int size)
{
    static const char body[] = "{\"code\":\"invalid\",\"reason\":\"leave the routing id unset\"}";
    char head[sizeof self->header.id + 40];
    self->header.id[0] = '\0';
    for (int i = 0; s_more (socket); i++) {
        argos_frame_t *frame = argos_zframe_recv (socket, 0);
        if (frame && i == 1)
            argos_header_read (frame->data, frame->size, &self->header, NULL);
        argos_frame_unref (&frame);
    }
    if (*self->header.id)
        snprintf (head, sizeof head, "{\"type\":\"refused\",\"re\":\"%s\"}", self->header.id);
    else
        snprintf (head, sizeof head, "{\"type\":\"refused\"}");
    if (zmq_send (socket, id, (size_t) size, ZMQ_SNDMORE | ZMQ_DONTWAIT) < 0)
        return;
    zmq_send (socket, "AR1", 3, ZMQ_SNDMORE);
    zmq_send (socket, head, strlen (head), ZMQ_SNDMORE);
    zmq_send (socket, "", 0, ZMQ_SNDMORE);
    zmq_send (socket, body, sizeof body - 1, 0);
}

static size_t
s_recv_rest (void *socket, int64_t *cost)
{
    while (s_more (socket)) {
        argos_frame_t *frame = argos_zframe_recv (socket, 0);
        if (!frame)
            break;
        *cost += (int64_t) frame->size + ARGOS_METER_FRAME;
        argos_frame_unref (&frame);
    }
    return FRAMES_MAX + 1;
}

//  Reads the frames behind a routing id. Frames beyond the most that a message can have are let go.
//  Returns how many it should have had: one more than there is room for when it had too many.

static size_t
s_recv_frames (broker_t *self, void *socket, int64_t *ret_cost)
{
    size_t count = 0;
    *ret_cost = 0;
    while (s_more (socket)) {
        argos_frame_t *frame = argos_zframe_recv (socket, 0);
        if (!frame)
            break;
        *ret_cost += (int64_t) frame->size + ARGOS_METER_FRAME;
        if (count < FRAMES_MAX)
            self->frames[count++] = frame;
        else {
            argos_frame_unref (&frame);
            return s_recv_rest (socket, ret_cost);
        }
    }
    return count;
}

//  One message of a connection. Over tcp one that the auth actor has not let in by a key goes no
//  further: without that actor libzmq lets in whoever encrypts.

static bool
s_take_message (broker_t *self, size_t place)
{
    listener_t *listener = &self->listeners[place];
    unsigned char id[ID_MAX];
    int64_t cost;
    int size = s_recv_id (listener->socket, id);
    if (size < 0)
        return false;
    if (size != 5 || id[0] != 0) {
        s_refuse_id (self, listener->socket, id, size);
        return true;
    }
    uint64_t conn = s_conn (place, id);
    size_t count = s_recv_frames (self, listener->socket, &cost);
    size_t there = count < FRAMES_MAX ? count : FRAMES_MAX;
    argos_who_t who = { listener->via, "" };
    if (listener->links && count > 0)
        argos_links_given (listener->links, conn, self->frames[0], cost);
    if (who.via == ARGOS_VIA_TCP && count > 0)
        who.key = argos_zframe_user (self->frames[0]);
    //  One frame too few makes the pairs odd, which the core refuses by the sender's id
    bool heard = who.via != ARGOS_VIA_TCP || *who.key;
    if (!heard)
        s_close (self, conn);
    else
        heard = argos_core_message (
            self->core, conn, &who, self->frames, count > there ? there - 1 : there);
    if (listener->links && argos_links_heard (listener->links, conn, heard)) {
        s_close (self, conn);
        s_put_out (self, "", "disconnected: 1024 messages in a row without a session");
    }
    for (size_t i = 0; i < there; i++)
        argos_frame_unref (&self->frames[i]);
    return true;
}

//  The keys have changed.

static void
s_take_keys (broker_t *self)
{
    for (argos_frame_t *text;
         self->auth && (text = argos_zframe_recv (self->auth, ZMQ_DONTWAIT));) {
        argos_core_clock (self->core, s_mono (), s_wall ());
        argos_core_keys (self->core, (const char *) text->data, text->size);
        argos_frame_unref (&text);
    }
}

static bool
s_take_answer (broker_t *self)
{
    argos_storage_ans_t *ans = argos_storage_ans_recv (self->store, ZMQ_DONTWAIT);
    if (!ans)
        return false;
    argos_core_stored (self->core, ans);
    argos_storage_ans_destroy (&ans);
    return true;
}

static void
s_take_command (broker_t *self)
{
    zmsg_t *msg = zmsg_recv_nowait (self->pipe);
    if (!msg)
        return;
    char *command = zmsg_popstr (msg);
    if (!command || streq (command, "$TERM"))
        self->terminated = true;
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

//  Drain everything in turns, answers first: they free what messages wait for.

static void
s_drain (broker_t *self)
{
    bool busy = true;
    for (int turn = 0; busy && turn < 4; turn++) {
        busy = false;
        argos_core_clock (self->core, s_mono (), s_wall ());
        for (int i = 0; i < 2 * TURN_MAX && s_take_answer (self); i++)
            busy = true;
        for (size_t place = 0; place < self->count; place++)
            for (int i = 0; i < TURN_MAX && s_take_message (self, place); i++)
                busy = true;
    }
}

static long
s_timeout (broker_t *self)
{
    int64_t due = argos_core_due (self->core);
    if (due == INT64_MAX)
        return -1;
    int64_t wait = due - s_mono ();
    return wait < 0 ? 0 : wait > 3600000 ? 3600000 : (long) wait;
}

static void
s_run (broker_t *self)
{
    zmq_pollitem_t items[3 + 2 * LISTENERS_MAX] = {
        { zsock_resolve (self->pipe), 0, ZMQ_POLLIN, 0 }, { self->store, 0, ZMQ_POLLIN, 0 }
    };
    int count = 2;
    if (self->auth)
        items[count++] = (zmq_pollitem_t){ self->auth, 0, ZMQ_POLLIN, 0 };
    for (size_t place = 0; place < self->count; place++) {
        listener_t *listener = &self->listeners[place];
        items[count++] = (zmq_pollitem_t){ listener->socket, 0, ZMQ_POLLIN, 0 };
        if (listener->links)
            items[count++] =
                (zmq_pollitem_t){ argos_links_socket (listener->links), 0, ZMQ_POLLIN, 0 };
    }
    while (!self->terminated && !self->failed) {
        if (zmq_poll (items, count, s_timeout (self)) < 0 && errno != EINTR)
            break;
        if (items[0].revents)
            s_take_command (self);
        for (size_t place = 0; place < self->count; place++)
            if (self->listeners[place].links)
                argos_links_turn (self->listeners[place].links, s_gone, self);
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

static void
s_set_int (void *socket, int option, int value)
{
    int rc = zmq_setsockopt (socket, option, &value, sizeof value);
    assert (rc == 0);
}

//  A ROUTER that is not bound yet.

static void *
s_router (void)
{
    void *socket = zmq_socket (zsys_init (), ZMQ_ROUTER);
    int64_t max = ARGOS_PART_MAX;
    if (!socket)
        return NULL;
    s_set_int (socket, ZMQ_ROUTER_MANDATORY, 1);
    s_set_int (socket, ZMQ_SNDTIMEO, 0);
    s_set_int (socket, ZMQ_LINGER, 100);
    s_set_int (socket, ZMQ_SNDHWM, HWM);
    s_set_int (socket, ZMQ_RCVHWM, HWM);
    s_set_int (socket, ZMQ_BACKLOG, 256);
    s_set_int (socket, ZMQ_HANDSHAKE_IVL, HANDSHAKE_MS);
    zmq_setsockopt (socket, ZMQ_MAXMSGSIZE, &max, sizeof max);
    return socket;
}

//  What a tcp socket needs beside: our key, and the domain that makes libzmq ask the auth actor.

static void
s_set_curve (void *socket, const argos_key_t *server)
{
    int rc =
        zmq_setsockopt (socket, ZMQ_CURVE_SECRETKEY, server->secret_key, sizeof server->secret_key);
    assert (rc == 0); //  argos_key_read lets only good keys through
    rc = zmq_setsockopt (socket, ZMQ_ZAP_DOMAIN, ARGOS_ZAP_DOMAIN, strlen (ARGOS_ZAP_DOMAIN));
    assert (rc == 0);
    s_set_int (socket, ZMQ_CURVE_SERVER, 1);
    s_set_int (socket, ZMQ_HEARTBEAT_IVL, HEARTBEAT_MS);
    s_set_int (socket, ZMQ_HEARTBEAT_TIMEOUT, HEARTBEAT_LATE_MS);
    s_set_int (socket, ZMQ_HEARTBEAT_TTL, HEARTBEAT_LATE_MS);
    s_set_int (socket, ZMQ_IPV6, 1);
}

//  The socket's file is the group's too; the folder above says who gets there.

static int
s_open_to_group (const char *endpoint, gid_t group)
{
    const char *path = endpoint + strlen ("ipc://");
    return chown (path, (uid_t) -1, group) == 0 && chmod (path, 0660) == 0 ? 0 : -1;
}

//  Binds one more listener, whose connections are followed but for those of our own process.
//  Returns NULL, or why it is not bound.

static const char *
s_listen (broker_t *self, const char *endpoint, const argos_broker_config_t *config)
{
    char name[16];
    if (self->count == LISTENERS_MAX)
        return "too many endpoints to bind";
    listener_t *listener = &self->listeners[self->count];
    listener->via = ARGOS_VIA_INPROC;
    if (strncmp (endpoint, "ipc://", 6) == 0)
        listener->via = ARGOS_VIA_IPC;
    else if (strncmp (endpoint, "tcp://", 6) == 0)
        listener->via = ARGOS_VIA_TCP;
    else if (strcmp (endpoint, ARGOS_BROKER_INPROC) != 0)
        return "an endpoint to bind is ipc:// or tcp://";
    listener->socket = s_router ();
    if (!listener->socket)
        return "no socket is left";
    self->count++;
    snprintf (name, sizeof name, "%zu", self->count);
    if (listener->via == ARGOS_VIA_TCP)
        s_set_curve (listener->socket, config->server);
    if (listener->via != ARGOS_VIA_INPROC &&
        !(listener->links = argos_links_new (listener->socket, name)))
        return "connections can't be followed";
    mode_t old = umask (0077);
    int rc = zmq_bind (listener->socket, endpoint);
    umask (old);
    if (rc == 0 && listener->via == ARGOS_VIA_IPC && config->group)
        rc = s_open_to_group (endpoint, config->group);
    if (rc == 0)
        return NULL;
    snprintf (
        self->reason, sizeof self->reason, "%s can't be bound: %s", endpoint, zmq_strerror (errno));
    return self->reason;
}

static void *
s_pair (const char *endpoint, int wait_ms)
{
    void *socket = zmq_socket (zsys_init (), ZMQ_PAIR);
    if (!socket)
        return NULL;
    s_set_int (socket, ZMQ_LINGER, 0);
    s_set_int (socket, ZMQ_SNDHWM, STORE_HWM);
    s_set_int (socket, ZMQ_RCVHWM, STORE_HWM);
    s_set_int (socket, ZMQ_RCVTIMEO, wait_ms);
    s_set_int (socket, ZMQ_SNDTIMEO, 0); //  Only a store that is gone can't take a request
    if (zmq_connect (socket, endpoint) != 0) {
        zmq_close (socket);
        return NULL;
    }
    return socket;
}

//  Asks the store before the first message. Returns 0, or -1 when it takes nothing.

static int
s_ask (broker_t *self, argos_storage_op_t op, int64_t seq, const char *name)
{
    argos_storage_req_t *req = argos_storage_req_new (op, 0);
    req->now = s_wall ();
    req->seq = seq;
    snprintf (req->name, sizeof req->name, "%s", name);
    int rc = argos_storage_req_send (self->store, req);
    argos_storage_req_destroy (&req);
    return rc;
}

//  Waits for what was asked. NULL when it doesn't come.

static argos_storage_ans_t *
s_await (broker_t *self)
{
    argos_storage_ans_t *ans = argos_storage_ans_recv (self->store, 0);
    if (ans && ans->code != ARGOS_OK)
        argos_storage_ans_destroy (&ans);
    return ans;
}

//  Asks for the page behind this one, if there is one. Returns 0 or -1 as above.

static int
s_ask_next (broker_t *self, const argos_storage_ans_t *page)
{
    int64_t after = 0;
    for (size_t i = 0; i < page->row_count; i++)
        if (page->rows[i].seq > after)
            after = page->rows[i].seq;
    return page->more ? s_ask (self, ARGOS_ST_INDEX, after, "") : 0;
}

//  Makes the core and fills its index from the store, page by page; the store reads the next one
//  meanwhile. Returns 0, or -1 when it doesn't answer.

static int
s_load (broker_t *self, const argos_core_config_t *limits)
{
    bool more = true;
    int rc = s_ask (self, ARGOS_ST_INDEX, 0, "");
    while (more) {
        argos_storage_ans_t *page = rc == 0 ? s_await (self) : NULL;
        if (!page)
            return -1;
        rc = s_ask_next (self, page);
        if (!self->core) {
            argos_core_config_t config = *limits;
            argos_core_io_t io = { self, s_send, s_store, s_close, s_put_out };
            config.store_id = page->owner;
            config.boot = page->boot;
            self->core = argos_core_new (&config, &io, s_mono (), s_wall ());
        }
        for (size_t i = 0; i < page->row_count; i++)
            argos_core_load (self->core, &page->rows[i]);
        more = page->more;
        argos_storage_ans_destroy (&page);
    }
    return 0;
}

//  Services that are there whether or not someone has ever served them. Returns 0 or -1 as above.

static int
s_declare (broker_t *self, const char *const *services)
{
    for (const char *const *name = services; name && *name; name++) {
        argos_storage_row_t row = { 0 };
        int rc = s_ask (self, ARGOS_ST_SERVICE, 0, *name);
        argos_storage_ans_t *ans = rc == 0 ? s_await (self) : NULL;
        if (!ans)
            return -1;
        argos_storage_ans_destroy (&ans);
        snprintf (row.service, sizeof row.service, "%s", *name);
        argos_core_load (self->core, &row);
    }
    return 0;
}

static void
s_destroy (broker_t *self)
{
    //  A close alone frees the address some time later, and the next broker may be there before
    if (self->count > 0)
        zmq_unbind (self->listeners[0].socket, ARGOS_BROKER_INPROC);
    for (size_t place = 0; place < self->count; place++) {
        argos_links_destroy (&self->listeners[place].links);
        zmq_close (self->listeners[place].socket);
    }
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
    static const char *const always[] = { "gateway", "turn", NULL };
    if (!self->store || s_load (self, &config->core) != 0 || s_declare (self, always) != 0 ||
        s_declare (self, config->services) != 0)
        return "the store does not answer";
    if (config->auth && s_ask_keys (self, config->auth) != 0)
        return "the auth actor does not answer";
    argos_meter_limit (2 * config->core.window_bytes);
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
    zsock_signal (pipe, 0);
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
