//  test_ready - argos_ready: what is told of by descriptors, what by flags.
//
//  Invariant: pairs of libzmq over inproc, both ends in this thread.

#include "argos_ready.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>
#include <zmq.h>

#include <cmocka.h>

enum { EMPTY, OURS, PLAIN }; //  Places; the first is never taken

typedef struct {
    void *context;       //  Of both
    void *ours, *theirs; //  The pair
    argos_ready_t ready; //  With ours in it
} fixture_t;

static int
s_setup (void **state)
{
    static fixture_t self;
    self = (fixture_t){ .context = zmq_ctx_new () };
    self.ours = zmq_socket (self.context, ZMQ_PAIR);
    self.theirs = zmq_socket (self.context, ZMQ_PAIR);
    assert_int_equal (zmq_bind (self.ours, "inproc://ready"), 0);
    assert_int_equal (zmq_connect (self.theirs, "inproc://ready"), 0);
    argos_ready_socket (&self.ready, OURS, self.ours);
    *state = &self;
    return 0;
}

static int
s_teardown (void **state)
{
    fixture_t *self = *state;
    zmq_close (self->ours);
    zmq_close (self->theirs);
    zmq_ctx_term (self->context);
    return 0;
}

static void
s_say (fixture_t *self)
{
    assert_int_equal (zmq_send (self->theirs, "x", 1, 0), 1);
}

//  Reads one; whether there was one. Says so when there was none.

static bool
s_read (fixture_t *self)
{
    char byte;
    if (zmq_recv (self->ours, &byte, 1, ZMQ_DONTWAIT) == 1)
        return true;
    argos_ready_set (&self->ready, OURS, false);
    return false;
}

static bool
s_told (fixture_t *self)
{
    assert_int_equal (argos_ready_wait (&self->ready, 0), 0);
    return argos_ready_maybe (&self->ready, OURS);
}

static void
test_a_new_socket_may_have_something (void **state)
{
    fixture_t *self = *state;
    assert_true (s_told (self));
    assert_false (s_read (self));
    assert_false (s_told (self));
    assert_false (argos_ready_maybe (&self->ready, EMPTY));
}

static void
test_the_descriptor_tells_of_a_message (void **state)
{
    fixture_t *self = *state;
    assert_false (s_read (self));
    s_say (self);
    assert_int_equal (argos_ready_wait (&self->ready, -1), 0);
    assert_true (argos_ready_maybe (&self->ready, OURS));
    assert_true (s_read (self));
}

static void
test_what_is_left_needs_no_descriptor (void **state)
{
    fixture_t *self = *state;
    assert_false (s_read (self));
    for (int i = 0; i < 3; i++)
        s_say (self);
    assert_true (s_told (self));
    assert_true (s_read (self));
    //  The descriptor has told already
    assert_int_equal (argos_ready_wait (&self->ready, -1), 0);
    assert_true (s_read (self));
    assert_true (s_read (self));
    assert_false (s_read (self));
    assert_false (s_told (self));
}

//  Any use of a socket reads the commands that its descriptor would have told of: who doesn't say
//  so sleeps beside a message.

static void
test_a_use_that_is_said_is_not_slept_over (void **state)
{
    fixture_t *self = *state;
    int events;
    size_t size = sizeof events;
    assert_false (s_read (self));
    s_say (self);
    assert_int_equal (zmq_getsockopt (self->ours, ZMQ_EVENTS, &events, &size), 0);
    assert_false (s_told (self));
    argos_ready_set (&self->ready, OURS, true);
    assert_int_equal (argos_ready_wait (&self->ready, -1), 0);
    assert_true (s_read (self));
}

static void
test_a_plain_descriptor_tells_while_it_is_readable (void **state)
{
    fixture_t *self = *state;
    int ends[2];
    assert_false (s_read (self));
    assert_int_equal (pipe (ends), 0);
    argos_ready_fd (&self->ready, PLAIN, ends[0]);
    assert_int_equal (argos_ready_wait (&self->ready, 0), 0);
    assert_false (argos_ready_maybe (&self->ready, PLAIN));
    assert_int_equal (write (ends[1], "x", 1), 1);
    for (int i = 0; i < 2; i++) {
        assert_int_equal (argos_ready_wait (&self->ready, -1), 0);
        assert_true (argos_ready_maybe (&self->ready, PLAIN));
        argos_ready_set (&self->ready, PLAIN, false);
    }
    argos_ready_fd (&self->ready, PLAIN, -1);
    assert_int_equal (argos_ready_wait (&self->ready, 0), 0);
    assert_false (argos_ready_maybe (&self->ready, PLAIN));
    close (ends[0]);
    close (ends[1]);
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown (test_a_new_socket_may_have_something, s_setup, s_teardown),
        cmocka_unit_test_setup_teardown (
            test_the_descriptor_tells_of_a_message, s_setup, s_teardown),
        cmocka_unit_test_setup_teardown (
            test_what_is_left_needs_no_descriptor, s_setup, s_teardown),
        cmocka_unit_test_setup_teardown (
            test_a_use_that_is_said_is_not_slept_over, s_setup, s_teardown),
        cmocka_unit_test_setup_teardown (
            test_a_plain_descriptor_tells_while_it_is_readable, s_setup, s_teardown),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
