//  argos_links - the connections of a ROUTER: which descriptor each has, and when it is lost.
//
//  Invariant: a link is in the table from its first message until the monitor says that its
//  descriptor is closed. The number of a descriptor is its next owner's at once: libzmq tells the
//  monitor before it closes one, so all that was told when the first message of a connection is
//  read is about others, and is read before the link is made. What is read later is about it.
//  Limits: one link a descriptor.

#include "argos_links.h"

#include "argos_meter.h"
#include "argos_zframe.h"

#include <assert.h>
#include <czmq.h>
#include <uthash.h>

#define UNHEARD_MAX                                                                                \
    1024 //  A peer may have sent four windows before it knows that its session is over

//  A connection that has sent something

typedef struct {
    uint64_t conn;        //  The owner's name for it
    int fd;               //  Its descriptor
    uint32_t life;        //  Of the descriptor (argos_meter_life)
    int unheard;          //  Messages in a row that no session took
    UT_hash_handle hh;    //  By conn
    UT_hash_handle hh_fd; //  By descriptor
} link_t;

struct argos_links {
    void *router;                 //  Whose connections
    void *monitor;                //  PAIR with its events
    link_t *links;                //  By conn
    link_t *by_fd;                //  By descriptor
    argos_links_gone_fn *gone_fn; //  Told of each that is lost
    void *arg;                    //  Its argument
};

static void
s_drop (argos_links_t *self, link_t *link)
{
    HASH_DELETE (hh, self->links, link);
    HASH_DELETE (hh_fd, self->by_fd, link);
    free (link);
}

argos_links_t *
argos_links_new (void *router, const char *name, argos_links_gone_fn *gone_fn, void *arg)
{
    char endpoint[64];
    argos_links_t *self = calloc (1, sizeof *self);
    assert (self);
    void *context = NULL;
    snprintf (endpoint, sizeof endpoint, "inproc://argos.links.%s", name);
    self->router = router;
    self->gone_fn = gone_fn;
    self->arg = arg;
    if (zmq_socket_monitor (router, endpoint,
            ZMQ_EVENT_ACCEPT_FAILED | ZMQ_EVENT_CLOSED | ZMQ_EVENT_DISCONNECTED) == 0)
        context = zsys_init ();
    self->monitor = context ? zmq_socket (context, ZMQ_PAIR) : NULL;
    if (!self->monitor || zmq_connect (self->monitor, endpoint) != 0)
        argos_links_destroy (&self);
    return self;
}

void
argos_links_destroy (argos_links_t **self_p)
{
    if (!self_p || !*self_p)
        return;
    argos_links_t *self = *self_p;
    link_t *link, *next;
    HASH_ITER (hh, self->links, link, next)
        s_drop (self, link);
    zmq_socket_monitor (self->router, NULL, 0);
    if (self->monitor)
        zmq_close (self->monitor);
    free (self);
    *self_p = NULL;
}

void *
argos_links_socket (argos_links_t *self)
{
    return self->monitor;
}

//  One event of the monitor: a 16-bit event, a 32-bit value, then a frame with an address. Returns
//  false when there is none.

static bool
s_event (argos_links_t *self, uint16_t *ret_event, int *ret_fd)
{
    unsigned char data[6], address[8];
    int size = zmq_recv (self->monitor, data, sizeof data, ZMQ_DONTWAIT);
    if (size < 0)
        return false;
    zmq_recv (self->monitor, address, sizeof address, 0);
    assert (size == (int) sizeof data);
    uint32_t value;
    memcpy (ret_event, data, sizeof *ret_event);
    memcpy (&value, data + 2, sizeof value);
    *ret_fd = (int) value;
    return true;
}

//  The owner of a descriptor, if it is known, has lost it.

static void
s_lose (argos_links_t *self, int fd)
{
    link_t *link;
    HASH_FIND (hh_fd, self->by_fd, &fd, sizeof fd, link);
    if (!link)
        return;
    uint64_t conn = link->conn;
    s_drop (self, link);
    self->gone_fn (self->arg, conn);
}

void
argos_links_turn (argos_links_t *self)
{
    uint16_t event;
    int fd;
    while (s_event (self, &event, &fd))
        if (event != ZMQ_EVENT_ACCEPT_FAILED) //  Woke us, so that argos_meter_refused is looked at
            s_lose (self, fd);
}

static link_t *
s_link (argos_links_t *self, uint64_t conn)
{
    link_t *link;
    HASH_FIND (hh, self->links, &conn, sizeof conn, link);
    return link;
}

void
argos_links_close (argos_links_t *self, uint64_t conn)
{
    const link_t *link = s_link (self, conn);
    if (link)
        argos_meter_cut (link->fd, link->life); //  libzmq closes it, and the monitor says so
}

//  A connection has sent its first message. NULL when its descriptor is not known.

static link_t *
s_add (argos_links_t *self, uint64_t conn, const argos_frame_t *first)
{
    int fd = argos_zframe_fd (first);
    if (fd < 0)
        return NULL;
    argos_links_turn (self);
    s_lose (self, fd); //  One that ended without an event
    link_t *link = calloc (1, sizeof *link);
    assert (link);
    link->conn = conn;
    link->fd = fd;
    link->life = argos_meter_life (fd);
    HASH_ADD (hh, self->links, conn, sizeof link->conn, link);
    HASH_ADD (hh_fd, self->by_fd, fd, sizeof link->fd, link);
    return link;
}

void
argos_links_given (argos_links_t *self, uint64_t conn, const argos_frame_t *first, int64_t cost)
{
    link_t *link = s_link (self, conn);
    if (!link)
        link = s_add (self, conn, first);
    if (link)
        argos_meter_given (link->fd, link->life, cost);
}

bool
argos_links_heard (argos_links_t *self, uint64_t conn, bool heard)
{
    link_t *link = s_link (self, conn);
    if (!link)
        return false;
    link->unheard = heard ? 0 : link->unheard + 1;
    return link->unheard == UNHEARD_MAX;
}
