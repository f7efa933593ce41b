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

typedef enum { LISTEN_INPROC, LISTEN_IPC, LISTEN_COUNT } listener_t;

typedef struct {
    zsock_t *pipe;                      //  To the owner
    argos_core_t *core;                 //  The broker itself
    void *store;                        //  PAIR to the store
    void *listeners[LISTEN_COUNT];      //  ROUTERs; NULL = none
    argos_links_t *links[LISTEN_COUNT]; //  Their connections; NULL = not followed (inproc)
    bool terminated;                    //  Set by $TERM
    bool failed;                        //  The store is gone
    argos_frame_t *frames[FRAMES_MAX];  //  The message being read
    argos_header_t header;              //  Of one that is refused here
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
    void *socket = self->listeners[conn >> 32];
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
s_conn (listener_t listener, const unsigned char *id)
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

//  One message of a connection. Frames beyond the most that a message can have are let go and make
//  it invalid.

static bool
s_take_message (broker_t *self, listener_t listener)
{
    void *socket = self->listeners[listener];
    unsigned char id[ID_MAX];
    size_t count = 0;
    int size = s_recv_id (socket, id);
    if (size < 0)
        return false;
    if (size != 5 || id[0] != 0) {
        s_refuse_id (self, socket, id, size);
        return true;
    }
    uint64_t conn = s_conn (listener, id);
    bool over = false;
    int64_t cost = 0;
    while (s_more (socket)) {
        argos_frame_t *frame = argos_zframe_recv (socket, 0);
        if (!frame)
            break;
        cost += (int64_t) frame->size + ARGOS_METER_FRAME;
        if (count < FRAMES_MAX)
            self->frames[count++] = frame;
        else {
            argos_frame_unref (&frame);
            over = true;
        }
    }
    if (self->links[listener] && count > 0)
        argos_links_given (self->links[listener], conn, self->frames[0], cost);
    argos_who_t who = { listener == LISTEN_INPROC ? ARGOS_VIA_INPROC : ARGOS_VIA_IPC, "" };
    //  One frame too few makes the pairs odd, which the core refuses by the sender's id
    argos_core_message (self->core, conn, &who, self->frames, over ? count - 1 : count);
    for (size_t i = 0; i < count; i++)
        argos_frame_unref (&self->frames[i]);
    return true;
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
        for (listener_t listener = 0; listener < LISTEN_COUNT; listener++)
            for (int i = 0; i < TURN_MAX && self->listeners[listener]; i++) {
                if (!s_take_message (self, listener))
                    break;
                busy = true;
            }
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
    zmq_pollitem_t items[2 + 2 * LISTEN_COUNT] = { { zsock_resolve (self->pipe), 0, ZMQ_POLLIN, 0 },
        { self->store, 0, ZMQ_POLLIN, 0 } };
    int count = 2;
    for (listener_t listener = 0; listener < LISTEN_COUNT; listener++) {
        if (self->listeners[listener])
            items[count++] = (zmq_pollitem_t){ self->listeners[listener], 0, ZMQ_POLLIN, 0 };
        if (self->links[listener])
            items[count++] =
                (zmq_pollitem_t){ argos_links_socket (self->links[listener]), 0, ZMQ_POLLIN, 0 };
    }
    while (!self->terminated && !self->failed) {
        if (zmq_poll (items, count, s_timeout (self)) < 0 && errno != EINTR)
            break;
        if (items[0].revents)
            s_take_command (self);
        for (listener_t listener = 0; listener < LISTEN_COUNT; listener++)
            if (self->links[listener])
                argos_links_turn (self->links[listener], s_gone, self);
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

//  A bound ROUTER, whose connections are followed when ret_links is given. NULL when it can't be
//  bound.

static void *
s_router (const char *endpoint, const char *name, argos_links_t **ret_links)
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
    if (ret_links)
        *ret_links = argos_links_new (socket, name);
    if ((ret_links && !*ret_links) || zmq_bind (socket, endpoint) != 0) {
        if (ret_links)
            argos_links_destroy (ret_links);
        zmq_close (socket);
        return NULL;
    }
    return socket;
}

static void *
s_pair (void)
{
    void *socket = zmq_socket (zsys_init (), ZMQ_PAIR);
    if (!socket)
        return NULL;
    s_set_int (socket, ZMQ_LINGER, 0);
    s_set_int (socket, ZMQ_SNDHWM, STORE_HWM);
    s_set_int (socket, ZMQ_RCVHWM, STORE_HWM);
    s_set_int (socket, ZMQ_RCVTIMEO, INDEX_WAIT_MS);
    s_set_int (socket, ZMQ_SNDTIMEO, 0); //  Only a store that is gone can't take a request
    if (zmq_connect (socket, ARGOS_STORE_INPROC) != 0) {
        zmq_close (socket);
        return NULL;
    }
    return socket;
}

//  Asks the store and waits: only before the first message. NULL when it doesn't answer.

static argos_storage_ans_t *
s_ask (broker_t *self, argos_storage_op_t op, int64_t seq, const char *name)
{
    argos_storage_req_t *req = argos_storage_req_new (op, 0);
    req->now = s_wall ();
    req->seq = seq;
    snprintf (req->name, sizeof req->name, "%s", name);
    int rc = argos_storage_req_send (self->store, req);
    argos_storage_req_destroy (&req);
    argos_storage_ans_t *ans = rc == 0 ? argos_storage_ans_recv (self->store, 0) : NULL;
    if (ans && ans->code != ARGOS_OK)
        argos_storage_ans_destroy (&ans);
    return ans;
}

//  Makes the core and fills its index from the store, page by page. Returns 0, or -1 when the store
//  doesn't answer.

static int
s_load (broker_t *self, const argos_core_config_t *limits)
{
    int64_t after = 0;
    bool more = true;
    while (more) {
        argos_storage_ans_t *page = s_ask (self, ARGOS_ST_INDEX, after, "");
        if (!page)
            return -1;
        if (!self->core) {
            argos_core_config_t config = *limits;
            argos_core_io_t io = { self, s_send, s_store };
            config.store_id = page->owner;
            config.boot = page->boot;
            self->core = argos_core_new (&config, &io, s_mono (), s_wall ());
        }
        for (size_t i = 0; i < page->row_count; i++) {
            argos_core_load (self->core, &page->rows[i]);
            if (page->rows[i].seq > after)
                after = page->rows[i].seq;
        }
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
        argos_storage_ans_t *ans = s_ask (self, ARGOS_ST_SERVICE, 0, *name);
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
    if (self->listeners[LISTEN_INPROC])
        zmq_unbind (self->listeners[LISTEN_INPROC], ARGOS_BROKER_INPROC);
    for (listener_t listener = 0; listener < LISTEN_COUNT; listener++) {
        argos_links_destroy (&self->links[listener]);
        if (self->listeners[listener])
            zmq_close (self->listeners[listener]);
    }
    if (self->store)
        zmq_close (self->store);
    argos_core_destroy (&self->core);
}

//  Opens everything; returns NULL, or why not.

static const char *
s_start (broker_t *self, const argos_broker_config_t *config)
{
    self->store = s_pair ();
    static const char *const always[] = { "gateway", "turn", NULL };
    if (!self->store || s_load (self, &config->core) != 0 || s_declare (self, always) != 0 ||
        s_declare (self, config->services) != 0)
        return "the store does not answer";
    self->listeners[LISTEN_INPROC] = s_router (ARGOS_BROKER_INPROC, "inproc", NULL);
    if (!self->listeners[LISTEN_INPROC])
        return "the inproc endpoint is taken";
    if (config->ipc) {
        argos_meter_limit (2 * config->core.window_bytes);
        mode_t old = umask (0077);
        self->listeners[LISTEN_IPC] = s_router (config->ipc, "ipc", &self->links[LISTEN_IPC]);
        umask (old);
        if (!self->listeners[LISTEN_IPC])
            return "the ipc endpoint can't be bound";
    }
    return NULL;
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
