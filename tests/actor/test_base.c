//  test_base - argos_actor and argos_shell with real threads and pipes.

#include "argos_actor.h"
#include "argos_shell.h"

#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void
s_good_actor (zsock_t *pipe, void *config)
{
    char name[16] = "";
    pthread_getname_np (pthread_self (), name, sizeof name);
    argos_actor_ready (pipe, streq (name, "good-actor-with") && *(int *) config == 7);
    zsock_set_rcvtimeo (pipe, -1);
    bool stopped = false;
    while (!stopped) {
        char *word = zstr_recv (pipe);
        stopped = word && streq (word, "$TERM");
        freen (word);
    }
}

static void
s_bad_actor (zsock_t *pipe, void *config)
{
    (void) config;
    argos_actor_ready (pipe, false);
}

static void
s_silent_actor (zsock_t *pipe, void *config)
{
    (void) config;
    (void) pipe;
}

static void
s_deaf_actor (zsock_t *pipe, void *config)
{
    int fd = *(int *) config;
    argos_actor_ready (pipe, true);
    uint64_t value;
    ssize_t size = read (fd, &value, sizeof value); //  Deaf until the test lets it go
    assert (size == sizeof value);
}

static void
test_an_actor_is_named_started_and_stopped (void **state)
{
    (void) state;
    int config = 7;
    zactor_t *actor = argos_actor_start ("good-actor-with-a-long-name", s_good_actor, &config);
    assert_non_null (actor);
    assert_int_equal (argos_actor_stop (&actor, 5000), 0);
    assert_null (actor);
    assert_int_equal (argos_actor_stop (&actor, 5000), 0);
}

static void
test_a_full_pipe_does_not_lose_the_stop (void **state)
{
    (void) state;
    int config = 7;
    zactor_t *actor = argos_actor_start ("good-actor-with", s_good_actor, &config);
    assert_non_null (actor);
    zsock_set_sndtimeo (zactor_sock (actor), 0);
    for (int i = 0; i < 5000; i++)
        zstr_send (zactor_sock (actor), "NOISE");
    assert_int_equal (argos_actor_stop (&actor, 5000), 0);
}

static void
test_an_actor_that_fails_is_not_there (void **state)
{
    (void) state;
    int config = 7;
    assert_null (argos_actor_start ("bad", s_bad_actor, NULL));
    assert_null (argos_actor_start ("silent", s_silent_actor, NULL));
    assert_null (argos_actor_start ("wrong-name", s_good_actor, &config));
}

static void
test_an_actor_that_does_not_stop_is_told (void **state)
{
    (void) state;
    int fd = eventfd (0, 0);
    zactor_t *actor = argos_actor_start ("deaf", s_deaf_actor, &fd);
    assert_non_null (actor);
    assert_int_equal (argos_actor_stop (&actor, 120), -1);
    uint64_t one = 1;
    assert_int_equal (write (fd, &one, sizeof one), sizeof one);
    close (fd);
}

//  ------------------------------------------------------------------------------------------------
//  The shell, as an actor

typedef struct {
    argos_shell_t *shell; //  Ours
    zsock_t *pipe;        //  To the test
    int fd;               //  Counts down
} loop_t;

static void
s_on_fd (void *arg)
{
    loop_t *self = (loop_t *) arg;
    uint64_t value;
    if (read (self->fd, &value, sizeof value) == sizeof value)
        zstr_send (self->pipe, "FD");
    argos_shell_fd (self->shell, self->fd, NULL, NULL); //  Once is enough
}

static void
s_on_timer (void *arg)
{
    zstr_send (((loop_t *) arg)->pipe, "TIMER");
}

static void
s_on_command (void *arg, zmsg_t *msg)
{
    loop_t *self = (loop_t *) arg;
    zframe_t *word = zmsg_first (msg);
    if (zframe_streq (word, "TIMER"))
        argos_shell_timer (self->shell, argos_shell_now () + 20, s_on_timer, self);
    else if (zframe_streq (word, "STOP"))
        argos_shell_stop (self->shell);
    else
        zstr_send (self->pipe, "ECHO");
}

static void
s_loop_actor (zsock_t *pipe, void *config)
{
    loop_t self = { .pipe = pipe, .fd = *(int *) config };
    argos_peer_config_t peer = { .name = "loop", .endpoint = "inproc://test.base.nobody" };
    self.shell = argos_shell_new (pipe, &peer);
    argos_actor_ready (pipe, self.shell != NULL);
    if (!self.shell)
        return;
    assert (argos_shell_peer (self.shell));
    argos_shell_on_command (self.shell, s_on_command, &self);
    argos_shell_fd (self.shell, self.fd, s_on_fd, &self);
    argos_shell_run (self.shell);
    argos_shell_destroy (&self.shell);
    argos_shell_destroy (&self.shell);
}

static void
s_expect (zactor_t *actor, const char *expected)
{
    zsock_set_rcvtimeo (zactor_sock (actor), 5000);
    char *word = zstr_recv (actor);
    assert_non_null (word);
    assert_string_equal (word, expected);
    freen (word);
}

static void
test_a_shell_serves_pipe_timer_and_descriptor (void **state)
{
    (void) state;
    int fd = eventfd (0, 0);
    zactor_t *actor = argos_actor_start ("loop", s_loop_actor, &fd);
    assert_non_null (actor);
    zstr_send (actor, "WORD");
    s_expect (actor, "ECHO");
    int64_t before = argos_shell_now ();
    zstr_send (actor, "TIMER");
    s_expect (actor, "TIMER");
    assert_in_range (argos_shell_now () - before, 20, 2000);
    uint64_t one = 1;
    assert_int_equal (write (fd, &one, sizeof one), sizeof one);
    s_expect (actor, "FD");
    assert_int_equal (argos_actor_stop (&actor, 5000), 0);
    close (fd);
}

static void
test_a_shell_can_leave_by_itself (void **state)
{
    (void) state;
    int fd = eventfd (0, 0);
    zactor_t *actor = argos_actor_start ("loop", s_loop_actor, &fd);
    assert_non_null (actor);
    zstr_send (actor, "STOP");
    zmsg_t *msg = zmsg_recv (actor);
    assert_int_equal (zmsg_signal (msg), 0);
    zmsg_destroy (&msg);
    zsock_set_rcvtimeo (zactor_sock (actor), 0);
    zactor_destroy (&actor);
    close (fd);
}

static void
test_the_clocks_tell_msec (void **state)
{
    (void) state;
    assert_in_range (argos_shell_wall (), 1700000000000, 4000000000000);
    assert_true (argos_shell_now () > 0);
}

int
main (void)
{
    zsys_handler_set (NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_an_actor_is_named_started_and_stopped),
        cmocka_unit_test (test_a_full_pipe_does_not_lose_the_stop),
        cmocka_unit_test (test_an_actor_that_fails_is_not_there),
        cmocka_unit_test (test_an_actor_that_does_not_stop_is_told),
        cmocka_unit_test (test_a_shell_serves_pipe_timer_and_descriptor),
        cmocka_unit_test (test_a_shell_can_leave_by_itself),
        cmocka_unit_test (test_the_clocks_tell_msec),
    };
    return cmocka_run_group_tests_name ("base", tests, NULL, NULL);
}
