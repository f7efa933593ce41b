//  The supervisor: order, one for one, intensity, signals.

#include "argos_actor.h"
#include "argos_supervisor.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/signalfd.h>

#include <cmocka.h>

//  What an actor of the test does, and what it has done

typedef struct {
    char letter;       //  Its letter in the journal
    int fail_starts;   //  It can't start after this many good starts; 0 = it always can
    const char *why;   //  What it says then
    int fail_runs;     //  So many times it fails as soon as it runs
    bool leave;        //  It fails by leaving without a word
    int end_with;      //  Signal for the process once it has failed so often
    atomic_int starts; //  How often it was started
} actor_config_t;

static char s_journal[256];        //  Letters of starts (A) and stops (a)
static atomic_size_t s_journal_at; //  Used

static void
s_note (char letter)
{
    size_t at = atomic_fetch_add (&s_journal_at, 1);
    assert_true (at < sizeof s_journal - 1);
    s_journal[at] = letter;
}

static void
s_actor (zsock_t *pipe, void *args)
{
    actor_config_t *config = args;
    int starts = ++config->starts;
    if (config->fail_starts && starts > config->fail_starts) {
        if (config->why)
            argos_actor_fail (pipe, config->why);
        else
            argos_actor_ready (pipe, false);
        return;
    }
    s_note (config->letter);
    argos_actor_ready (pipe, true);
    if (starts <= config->fail_runs) {
        if (config->leave)
            return;
        argos_actor_fail (pipe, "as asked");
    }
    else if (config->end_with)
        kill (getpid (), config->end_with);
    char *word = zstr_recv (pipe);
    assert_string_equal (word, "$TERM");
    zstr_free (&word);
    s_note ((char) (config->letter + 'a' - 'A'));
}

static int
s_started (zactor_t *actor, void *args)
{
    const actor_config_t *config = args;
    assert_true (zactor_is (actor));
    assert_int_equal (config->starts, 1);
    s_note ('!');
    return 0;
}

static int
s_signal_fd (void)
{
    sigset_t set;
    sigemptyset (&set);
    sigaddset (&set, SIGTERM);
    sigaddset (&set, SIGHUP);
    sigaddset (&set, SIGUSR1);
    pthread_sigmask (SIG_BLOCK, &set, NULL);
    return signalfd (-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

static int
s_begin (void **state)
{
    (void) state;
    memset (s_journal, 0, sizeof s_journal);
    s_journal_at = 0;
    return 0;
}

static void
start_is_in_order_and_stop_in_reverse (void **state)
{
    (void) state;
    actor_config_t configs[] = { { .letter = 'A' }, { .letter = 'B' },
        { .letter = 'C', .end_with = SIGTERM } };
    argos_supervised_t table[3];
    int signal_fd = s_signal_fd ();
    for (int i = 0; i < 3; i++)
        table[i] = (argos_supervised_t){ "x", s_actor, &configs[i], ARGOS_RESTART_ALONE, 2000,
            i == 1 ? s_started : NULL, false, false };
    argos_supervisor_t *supervisor = argos_supervisor_new (table, 3);
    assert_int_equal (argos_supervisor_start (supervisor, signal_fd), 0);
    kill (getpid (), SIGHUP); //  Has no effect
    assert_int_equal (argos_supervisor_run (supervisor), SIGTERM);
    assert_int_equal (argos_supervisor_stop (supervisor), 0);
    assert_string_equal (s_journal, "AB!Ccba");
    argos_supervisor_destroy (&supervisor);
    argos_supervisor_destroy (&supervisor);
    close (signal_fd);
}

static void
who_can_not_start_takes_those_before_down (void **state)
{
    (void) state;
    actor_config_t good = { .letter = 'A' }, bad = { .letter = 'B', .fail_starts = 1, .starts = 1 };
    argos_supervised_t table[] = { { "good", s_actor, &good, ARGOS_RESTART_ALONE, 2000, NULL, false,
                                       false },
        { "bad", s_actor, &bad, ARGOS_RESTART_ALONE, 2000, NULL, false, false } };
    int signal_fd = s_signal_fd ();
    argos_supervisor_t *supervisor = argos_supervisor_new (table, 2);
    assert_int_equal (argos_supervisor_start (supervisor, signal_fd), -1);
    assert_string_equal (argos_supervisor_reason (supervisor), "bad can't start");
    assert_string_equal (s_journal, "Aa");
    bad.why = "the address is taken";
    assert_int_equal (argos_supervisor_start (supervisor, signal_fd), -1);
    assert_string_equal (
        argos_supervisor_reason (supervisor), "bad can't start: the address is taken");
    argos_supervisor_destroy (&supervisor);
    close (signal_fd);
}

//  An actor that waits for a broker that is not there: never ready, but it hears $TERM.

static void
s_waiting_actor (zsock_t *pipe, void *config)
{
    (void) config;
    kill (getpid (), SIGHUP); //  Has no effect
    kill (getpid (), SIGTERM);
    char *command = zstr_recv (pipe);
    assert_string_equal (command, "$TERM");
    zstr_free (&command);
}

static void
a_signal_ends_the_wait_for_one_that_is_not_ready (void **state)
{
    (void) state;
    actor_config_t good = { .letter = 'A' };
    argos_supervised_t table[] = { { "good", s_actor, &good, ARGOS_RESTART_ALONE, 2000, NULL, false,
                                       false },
        { "waiting", s_waiting_actor, NULL, ARGOS_RESTART_ALONE, 2000, NULL, false, false } };
    int signal_fd = s_signal_fd ();
    argos_supervisor_t *supervisor = argos_supervisor_new (table, 2);
    assert_int_equal (argos_supervisor_start (supervisor, signal_fd), SIGTERM);
    assert_string_equal (s_journal, "Aa");
    argos_supervisor_destroy (&supervisor);
    close (signal_fd);
}

static void
s_restart (bool leave)
{
    actor_config_t other = { .letter = 'A' };
    actor_config_t failing = { .letter = 'B', .fail_runs = 2, .leave = leave, .end_with = SIGUSR1 };
    argos_supervised_t table[] = { { "other", s_actor, &other, ARGOS_RESTART_ALONE, 2000, NULL,
                                       false, false },
        { "failing", s_actor, &failing, ARGOS_RESTART_ALONE, 2000, NULL, false, false } };
    int signal_fd = s_signal_fd ();
    argos_supervisor_t *supervisor = argos_supervisor_new (table, 2);
    assert_int_equal (argos_supervisor_start (supervisor, signal_fd), 0);
    int64_t begun = zclock_mono ();
    assert_int_equal (argos_supervisor_run (supervisor), SIGUSR1);
    assert_true (zclock_mono () - begun >= 300); //  100 and 200 ms
    assert_int_equal (failing.starts, 3);
    assert_int_equal (other.starts, 1);
    argos_supervisor_destroy (&supervisor);
    close (signal_fd);
}

static void
who_says_failed_is_restarted_alone (void **state)
{
    (void) state;
    s_restart (false);
    assert_string_equal (s_journal, "ABbBbBba");
}

static void
who_leaves_is_restarted_alone (void **state)
{
    (void) state;
    s_restart (true);
    assert_string_equal (s_journal, "ABBBba");
}

static void
too_many_failures_end_it (void **state)
{
    (void) state;
    actor_config_t failing = { .letter = 'B', .fail_runs = 100 };
    argos_supervised_t table[] = { { "failing", s_actor, &failing, ARGOS_RESTART_ALONE, 2000, NULL,
        false, false } };
    int signal_fd = s_signal_fd ();
    argos_supervisor_t *supervisor = argos_supervisor_new (table, 1);
    assert_int_equal (argos_supervisor_start (supervisor, signal_fd), 0);
    assert_int_equal (argos_supervisor_run (supervisor), -1);
    assert_int_equal (failing.starts, 4);
    assert_string_equal (argos_supervisor_reason (supervisor), "failing failed: as asked");
    argos_supervisor_destroy (&supervisor);
    close (signal_fd);
}

static void
who_can_not_start_again_counts_as_failed (void **state)
{
    (void) state;
    actor_config_t failing = { .letter = 'B', .fail_runs = 100, .fail_starts = 1 };
    argos_supervised_t table[] = { { "failing", s_actor, &failing, ARGOS_RESTART_ALONE, 2000, NULL,
        false, false } };
    int signal_fd = s_signal_fd ();
    argos_supervisor_t *supervisor = argos_supervisor_new (table, 1);
    assert_int_equal (argos_supervisor_start (supervisor, signal_fd), 0);
    assert_int_equal (argos_supervisor_run (supervisor), -1);
    assert_int_equal (failing.starts, 4);
    argos_supervisor_destroy (&supervisor);
    close (signal_fd);
}

static void
a_failure_of_the_core_ends_it_at_once (void **state)
{
    (void) state;
    actor_config_t failing = { .letter = 'B', .fail_runs = 1 };
    argos_supervised_t table[] = { { "store", s_actor, &failing, ARGOS_RESTART_NEVER, 2000, NULL,
        false, false } };
    int signal_fd = s_signal_fd ();
    argos_supervisor_t *supervisor = argos_supervisor_new (table, 1);
    assert_int_equal (argos_supervisor_start (supervisor, signal_fd), 0);
    assert_int_equal (argos_supervisor_run (supervisor), -1);
    assert_int_equal (failing.starts, 1);
    argos_supervisor_destroy (&supervisor);
    close (signal_fd);
}

//  Repeats what it hears, so that the owner can see it; ends the process when it hears "end".

static void
s_echo_actor (zsock_t *pipe, void *config)
{
    const int *fail = config;
    argos_actor_ready (pipe, true);
    for (;;) {
        zmsg_t *msg = zmsg_recv (pipe);
        json_t *settings = argos_actor_settings (msg);
        char *word = zmsg_popstr (msg);
        bool over = streq (word, "$TERM");
        if (settings)
            zsock_send (
                pipe, "si", "HEARD", (int) json_integer_value (json_object_get (settings, "x")));
        else if (!over)
            argos_actor_fail (pipe, *fail ? "as asked" : word);
        json_decref (settings);
        zstr_free (&word);
        zmsg_destroy (&msg);
        if (over)
            return;
    }
}

typedef struct {
    argos_supervisor_t *supervisor; //  Ours
    int hangups, heard;             //  So far
} owner_t;

static void
s_on_hangup (void *arg)
{
    owner_t *self = arg;
    self->hangups++;
    argos_supervisor_settings (self->supervisor, "{\"x\":7}");
}

//  Three times: from the one that listens, then from it again after its restart, then the end.

static void
s_on_word (void *arg, const char *name, zmsg_t *msg)
{
    owner_t *self = arg;
    char *word = zmsg_popstr (msg), *number = zmsg_popstr (msg);
    assert_string_equal (name, "listens");
    assert_string_equal (word, "HEARD");
    assert_string_equal (number, "7");
    zstr_free (&word);
    zstr_free (&number);
    if (++self->heard == 2) {
        kill (getpid (), SIGTERM);
        return;
    }
    zmsg_t *order = zmsg_new ();
    zmsg_addstr (order, "fail");
    argos_supervisor_tell (self->supervisor, "listens", &order);
    assert_null (order);
}

static void
settings_go_to_who_wants_them_and_again_after_a_restart (void **state)
{
    (void) state;
    int fail = 1;
    argos_supervised_t table[] = { { "listens", s_echo_actor, &fail, ARGOS_RESTART_ALONE, 2000,
                                       NULL, true, false },
        { "deaf", s_echo_actor, &fail, ARGOS_RESTART_ALONE, 2000, NULL, false, false } };
    int signal_fd = s_signal_fd ();
    owner_t owner = { argos_supervisor_new (table, 2), 0, 0 };
    argos_supervisor_on (
        owner.supervisor, &(argos_supervisor_handlers_t){
                              .arg = &owner, .on_hangup = s_on_hangup, .on_word = s_on_word });
    assert_int_equal (argos_supervisor_start (owner.supervisor, signal_fd), 0);
    kill (getpid (), SIGHUP);
    assert_int_equal (argos_supervisor_run (owner.supervisor), SIGTERM);
    assert_int_equal (owner.hangups, 1);
    assert_int_equal (owner.heard, 2);
    argos_supervisor_destroy (&owner.supervisor);
    close (signal_fd);
}

//  Says DRAINED when it is told to, unless it is stubborn; tells on its own.

static void
s_draining_actor (zsock_t *pipe, void *config)
{
    const bool *stubborn = config;
    argos_actor_ready (pipe, true);
    for (bool over = false; !over;) {
        char *word = zstr_recv (pipe);
        if (streq (word, "DRAIN")) {
            char *run = zstr_recv (pipe);
            assert_string_equal (run, "run_x");
            zstr_free (&run);
            if (!*stubborn)
                zstr_send (pipe, "DRAINED");
        }
        over = streq (word, "$TERM");
        zstr_free (&word);
    }
}

static void
a_drain_waits_for_those_that_drain_and_not_for_ever (void **state)
{
    (void) state;
    bool quick = false, stubborn = true;
    argos_supervised_t table[] = { { "quick", s_draining_actor, &quick, ARGOS_RESTART_ALONE, 2000,
                                       NULL, false, true },
        { "stubborn", s_draining_actor, &stubborn, ARGOS_RESTART_ALONE, 2000, NULL, false, true } };
    int signal_fd = s_signal_fd ();
    argos_supervisor_t *supervisor = argos_supervisor_new (table, 1);
    assert_int_equal (argos_supervisor_start (supervisor, signal_fd), 0);
    assert_true (argos_supervisor_drain (supervisor, 60000, "run_x"));
    argos_supervisor_destroy (&supervisor);
    supervisor = argos_supervisor_new (table, 2);
    assert_int_equal (argos_supervisor_start (supervisor, signal_fd), 0);
    assert_false (argos_supervisor_drain (supervisor, 100, "run_x"));
    kill (getpid (), SIGTERM); //  Asked again
    assert_false (argos_supervisor_drain (supervisor, 60000, "run_x"));
    argos_supervisor_destroy (&supervisor);
    close (signal_fd);
}

int
main (void)
{
    zsys_handler_set (NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup (start_is_in_order_and_stop_in_reverse, s_begin),
        cmocka_unit_test_setup (who_can_not_start_takes_those_before_down, s_begin),
        cmocka_unit_test_setup (a_signal_ends_the_wait_for_one_that_is_not_ready, s_begin),
        cmocka_unit_test_setup (who_says_failed_is_restarted_alone, s_begin),
        cmocka_unit_test_setup (who_leaves_is_restarted_alone, s_begin),
        cmocka_unit_test_setup (too_many_failures_end_it, s_begin),
        cmocka_unit_test_setup (who_can_not_start_again_counts_as_failed, s_begin),
        cmocka_unit_test_setup (a_failure_of_the_core_ends_it_at_once, s_begin),
        cmocka_unit_test_setup (settings_go_to_who_wants_them_and_again_after_a_restart, s_begin),
        cmocka_unit_test_setup (a_drain_waits_for_those_that_drain_and_not_for_ever, s_begin),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
