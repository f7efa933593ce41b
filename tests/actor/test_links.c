//  test_links - a descriptor's number is its next owner's at once: what is told of the one before
//  is not taken for the next one's, nor is what was meant for it done to the next one.
//
//  Invariant: the clients are plain sockets that speak ZMTP by hand and are made before they are
//  needed, so that the only descriptor that is free is the one of the connection that ended.

#include "argos_listener.h"
#include "argos_meter.h"
#include "argos_zframe.h"

#include <czmq.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#define WAIT_MS 20000 //  For what happens in another thread
#define FILL_MAX 64   //  Descriptors that may be free below the one that ended

typedef struct {
    argos_listener_t listener; //  Ours
    argos_listener_msg_t msg;  //  What came in last
    uint64_t gone[8];          //  Connections that were told to be lost
    size_t gone_count;         //  How many
    char folder[32];           //  Of the socket
    char path[64];             //  The socket
    int fill[FILL_MAX];        //  Descriptors that are in use so that they are not free
    size_t fill_count;         //  How many
} fixture_t;

static void
s_on_gone (void *arg, uint64_t conn)
{
    fixture_t *self = arg;
    assert_true (self->gone_count < 8);
    self->gone[self->gone_count++] = conn;
}

static int
s_setup (void **state)
{
    static fixture_t self;
    char endpoint[80], reason[ARGOS_LISTENER_REASON];
    self = (fixture_t){ .folder = "/tmp/argos-links-XXXXXX",
        .listener = { .via = ARGOS_VIA_IPC, .gone_fn = s_on_gone, .gone_arg = &self } };
    assert_non_null (mkdtemp (self.folder));
    snprintf (self.path, sizeof self.path, "%s/sock", self.folder);
    snprintf (endpoint, sizeof endpoint, "ipc://%s", self.path);
    assert_null (argos_listener_open (&self.listener, endpoint, NULL, 0, 16, reason));
    *state = &self;
    return 0;
}

static int
s_teardown (void **state)
{
    fixture_t *self = *state;
    while (self->fill_count > 0)
        close (self->fill[--self->fill_count]);
    argos_listener_close (&self->listener);
    zsys_shutdown ();
    unlink (self->path);
    return rmdir (self->folder);
}

static int
s_client (void)
{
    int fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true (fd >= 0);
    return fd;
}

//  A greeting of ZMTP 3.0 without security, the command READY of a DEALER, a message of one byte.

static void
s_speak (const fixture_t *self, int client)
{
    static const unsigned char greeting[64] = { 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0x7f, 3, 0, 'N', 'U',
        'L', 'L' };
    static const unsigned char ready[] = "\x04\x1c\x05READY\x0bSocket-Type\0\0\0\x06"
                                         "DEALER";
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    snprintf (address.sun_path, sizeof address.sun_path, "%s", self->path);
    assert_int_equal (connect (client, (struct sockaddr *) &address, sizeof address), 0);
    assert_int_equal (send (client, greeting, sizeof greeting, 0), sizeof greeting);
    assert_int_equal (send (client, ready, sizeof ready - 1, 0), sizeof ready - 1);
    unsigned char theirs[66 + 255]; //  Their greeting and their command: a message may follow these
    assert_int_equal (recv (client, theirs, 66, MSG_WAITALL), 66);
    assert_int_equal (recv (client, theirs + 66, theirs[65], MSG_WAITALL), theirs[65]);
    assert_int_equal (send (client, "\0\1x", 3, 0), 3);
}

static void
s_wait (void *socket)
{
    zmq_pollitem_t item = { .socket = socket, .events = ZMQ_POLLIN };
    assert_int_equal (zmq_poll (&item, 1, WAIT_MS), 1);
}

//  The first message of a client. Returns the descriptor of its connection.

static int
s_hear (fixture_t *self)
{
    s_wait (self->listener.socket);
    assert_int_equal (argos_listener_recv (&self->listener, &self->msg), 1);
    int fd = argos_zframe_fd (self->msg.frames[0]);
    argos_listener_done (&self->msg);
    assert_true (fd >= 0);
    return fd;
}

//  Waits until another thread has closed it, then takes all that are free below it.

static void
s_leave_free (fixture_t *self, int fd)
{
    int64_t end = zclock_mono () + WAIT_MS;
    while (fcntl (fd, F_GETFD) >= 0) {
        assert_true (zclock_mono () < end);
        sched_yield (); //  Nothing tells of it
    }
    int other = open ("/dev/null", O_RDONLY | O_CLOEXEC);
    for (; other >= 0 && other < fd; other = open ("/dev/null", O_RDONLY | O_CLOEXEC)) {
        assert_true (self->fill_count < FILL_MAX);
        self->fill[self->fill_count++] = other;
    }
    assert_int_equal (other, fd);
    close (other);
}

static bool
s_has_ended (int client, int wait_ms)
{
    struct pollfd item = { .fd = client, .events = POLLRDHUP };
    return poll (&item, 1, wait_ms) == 1;
}

static void
test_a_descriptor_is_the_next_ones_at_once (void **state)
{
    fixture_t *self = *state;
    int first = s_client (), second = s_client ();
    s_speak (self, first);
    int fd = s_hear (self);
    uint64_t conn = self->msg.conn;
    uint32_t life = argos_meter_life (fd);

    shutdown (first, SHUT_RDWR); //  Its own descriptor stays in use
    s_wait (argos_links_socket (self->listener.links));
    s_leave_free (self, fd);
    s_speak (self, second);
    assert_int_equal (s_hear (self), fd); //  Before the end of the first one was looked at
    assert_int_equal (self->gone_count, 1);
    assert_true (self->gone[0] == conn && self->msg.conn != conn);
    argos_links_turn (self->listener.links);
    assert_int_equal (self->gone_count, 1);

    assert_true (argos_meter_life (fd) != life);
    argos_meter_cut (fd, life);
    assert_false (s_has_ended (second, 0));
    argos_links_close (self->listener.links, self->msg.conn);
    assert_true (s_has_ended (second, WAIT_MS));
    s_wait (argos_links_socket (self->listener.links));
    argos_links_turn (self->listener.links);
    assert_int_equal (self->gone_count, 2);
    assert_true (self->gone[1] == self->msg.conn);
    close (first);
    close (second);
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown (
            test_a_descriptor_is_the_next_ones_at_once, s_setup, s_teardown),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
