//  argos_listener - see argos_listener.h.
//
//  Invariant: nothing here waits. A message of more frames than a commit can have is read to its
//  end.

#include "argos_listener.h"

#include "argos_meter.h"
#include "argos_order.h"
#include "argos_zap.h"
#include "argos_zframe.h"

#include <assert.h>
#include <czmq.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ID_MAX 255              //  Bytes of a routing id
#define HWM 4096                //  Messages of a connection in the socket
#define HANDSHAKE_MS 5000       //  A connection that doesn't speak ZMTP
#define HEARTBEAT_MS 10000      //  ZMTP pings over tcp
#define HEARTBEAT_LATE_MS 30000 //  A connection without an answer is gone

//  ------------------------------------------------------------------------------------------------
//  Making

void
argos_listener_set (void *socket, int option, int value)
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
    argos_listener_set (socket, ZMQ_ROUTER_MANDATORY, 1);
    argos_listener_set (socket, ZMQ_SNDTIMEO, 0);
    argos_listener_set (socket, ZMQ_LINGER, 100);
    argos_listener_set (socket, ZMQ_SNDHWM, HWM);
    argos_listener_set (socket, ZMQ_RCVHWM, HWM);
    argos_listener_set (socket, ZMQ_BACKLOG, 256);
    argos_listener_set (socket, ZMQ_HANDSHAKE_IVL, HANDSHAKE_MS);
    zmq_setsockopt (socket, ZMQ_MAXMSGSIZE, &max, sizeof max);
    return socket;
}

//  Handshakes with strangers take time of the thread that does them: when there is a second one,
//  tcp is in that, and the peers of this host don't wait for it.

static void
s_set_thread (void *socket, bool tcp)
{
    uint64_t threads = tcp ? 2 : 1; //  Bits
    if (zmq_ctx_get (zsys_init (), ZMQ_IO_THREADS) >= 2)
        zmq_setsockopt (socket, ZMQ_AFFINITY, &threads, sizeof threads);
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
    argos_listener_set (socket, ZMQ_CURVE_SERVER, 1);
    argos_listener_set (socket, ZMQ_HEARTBEAT_IVL, HEARTBEAT_MS);
    argos_listener_set (socket, ZMQ_HEARTBEAT_TIMEOUT, HEARTBEAT_LATE_MS);
    argos_listener_set (socket, ZMQ_HEARTBEAT_TTL, HEARTBEAT_LATE_MS);
    argos_listener_set (socket, ZMQ_IPV6, 1);
}

//  The socket's file is the group's too; the folder above says who gets there.

static int
s_open_to_group (const char *endpoint, gid_t group)
{
    const char *path = endpoint + strlen ("ipc://");
    return chown (path, (uid_t) -1, group) == 0 && chmod (path, 0660) == 0 ? 0 : -1;
}

const char *
argos_listener_open (argos_listener_t *self, const char *endpoint, const argos_key_t *server,
    gid_t group, int connections, char reason[static ARGOS_LISTENER_REASON])
{
    char name[16];
    self->socket = s_router ();
    if (!self->socket)
        return "no socket is left";
    snprintf (name, sizeof name, "%zu", self->place + 1);
    s_set_thread (self->socket, self->via == ARGOS_VIA_TCP);
    if (self->via == ARGOS_VIA_TCP)
        s_set_curve (self->socket, server);
    if (self->via != ARGOS_VIA_INPROC)
        self->links = argos_links_new (self->socket, name, self->gone_fn, self->gone_arg);
    if (self->via != ARGOS_VIA_INPROC && !self->links)
        return "connections can't be followed";
    mode_t old = umask (0077);
    argos_meter_listen (self->via == ARGOS_VIA_TCP ? (3 * connections + 3) / 4 : connections);
    int rc = zmq_bind (self->socket, endpoint);
    argos_meter_listen (0);
    umask (old);
    if (rc == 0 && self->via == ARGOS_VIA_IPC && group)
        rc = s_open_to_group (endpoint, group);
    if (rc == 0)
        return NULL;
    snprintf (
        reason, ARGOS_LISTENER_REASON, "%s can't be bound: %s", endpoint, zmq_strerror (errno));
    return reason;
}

void
argos_listener_close (argos_listener_t *self)
{
    argos_links_destroy (&self->links);
    if (self->socket)
        zmq_close (self->socket);
    self->socket = NULL;
}

//  ------------------------------------------------------------------------------------------------
//  Messages

//  The routing id. Returns 0 or -1.

static int
s_send_id (void *socket, uint64_t conn)
{
    unsigned char id[5] = { 0, (unsigned char) (conn >> 24), (unsigned char) (conn >> 16),
        (unsigned char) (conn >> 8), (unsigned char) conn };
    //  EHOSTUNREACH: gone. EAGAIN: takes nothing
    return zmq_send (socket, id, sizeof id, ZMQ_SNDMORE | ZMQ_DONTWAIT) < 0 ? -1 : 0;
}

//  The size of a message when it is packed; 0 when it stays in frames.

static size_t
s_packed_size (argos_frame_t **frames, size_t count)
{
    size_t bytes = 0;
    for (size_t i = 1; i < count && bytes <= ARGOS_PACK_MAX; i++)
        bytes += frames[i]->size;
    return argos_pack_size (count - 1, bytes);
}

static int
s_send_packed (void *socket, uint64_t conn, argos_frame_t **frames, size_t count, size_t size)
{
    argos_piece_t pieces[ARGOS_PACK_PIECES];
    zmq_msg_t msg;
    if (zmq_msg_init_size (&msg, size) != 0)
        return -1;
    for (size_t i = 1; i < count; i++)
        pieces[i - 1] = (argos_piece_t){ frames[i]->data, frames[i]->size };
    argos_pack_write (zmq_msg_data (&msg), pieces, count - 1);
    ARGOS_GIVE ();
    if (s_send_id (socket, conn) == 0 && zmq_msg_send (&msg, socket, 0) >= 0)
        return 0;
    zmq_msg_close (&msg);
    return -1;
}

int
argos_listener_send (
    argos_listener_t *self, uint64_t conn, bool packs, argos_frame_t **frames, size_t count)
{
    size_t size = packs ? s_packed_size (frames, count) : 0;
    if (size > 0)
        return s_send_packed (self->socket, conn, frames, count, size);
    if (s_send_id (self->socket, conn) != 0)
        return -1;
    for (size_t i = 0; i < count; i++)
        argos_zframe_send (frames[i], self->socket, i + 1 < count ? ZMQ_SNDMORE : 0);
    return 0;
}

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
s_refuse_id (void *socket, const unsigned char *id, int size)
{
    static const char body[] = "{\"code\":\"invalid\",\"reason\":\"leave the routing id unset\"}";
    argos_header_t header;
    char head[sizeof header.id + 40];
    header.id[0] = '\0';
    for (int i = 0; s_more (socket); i++) {
        argos_frame_t *frame = argos_zframe_recv (socket, 0);
        if (frame && i == 1)
            argos_header_read (frame->data, frame->size, &header, NULL);
        argos_frame_unref (&frame);
    }
    if (*header.id)
        snprintf (head, sizeof head, "{\"type\":\"refused\",\"re\":\"%s\"}", header.id);
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
    return ARGOS_LISTENER_FRAMES + 1;
}

//  Takes a packed message apart, if it is one. Returns how many frames there are now.

static size_t
s_unpack (argos_frame_t **frames)
{
    argos_frame_t *whole = frames[0];
    size_t count = argos_zframe_unpack (whole, frames, ARGOS_LISTENER_FRAMES);
    return count > 0 ? count : 1;
}

//  Reads the frames behind a routing id. Frames beyond the most that a message can have are let go.
//  Returns how many it should have had: one more than there is room for when it had too many.

static size_t
s_recv_frames (void *socket, argos_frame_t **frames, int64_t *ret_cost)
{
    size_t count = 0;
    *ret_cost = 0;
    while (s_more (socket)) {
        argos_frame_t *frame = argos_zframe_recv (socket, 0);
        if (!frame)
            break;
        *ret_cost += (int64_t) frame->size + ARGOS_METER_FRAME;
        if (count < ARGOS_LISTENER_FRAMES)
            frames[count++] = frame;
        else {
            argos_frame_unref (&frame);
            return s_recv_rest (socket, ret_cost);
        }
    }
    return count == 1 ? s_unpack (frames) : count;
}

int
argos_listener_recv (argos_listener_t *self, argos_listener_msg_t *msg)
{
    unsigned char id[ID_MAX];
    int64_t cost;
    int size = s_recv_id (self->socket, id);
    if (size < 0)
        return 0;
    if (size != 5 || id[0] != 0) {
        s_refuse_id (self->socket, id, size);
        return -1;
    }
    msg->conn = s_conn (self->place, id);
    size_t count = s_recv_frames (self->socket, msg->frames, &cost);
    msg->there = count < ARGOS_LISTENER_FRAMES ? count : ARGOS_LISTENER_FRAMES;
    //  One frame too few makes the pairs odd, which the core refuses by the sender's id
    msg->count = count > msg->there ? msg->there - 1 : msg->there;
    if (self->links && count > 0)
        argos_links_given (self->links, msg->conn, msg->frames[0], cost);
    return 1;
}

void
argos_listener_done (argos_listener_msg_t *msg)
{
    for (size_t i = 0; i < msg->there; i++)
        argos_frame_unref (&msg->frames[i]);
    msg->there = msg->count = 0;
}
