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
            i == 1 ? s_started : NULL };
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
    argos_supervised_t table[] = { { "good", s_actor, &good, ARGOS_RESTART_ALONE, 2000, NULL },
        { "bad", s_actor, &bad, ARGOS_RESTART_ALONE, 2000, NULL } };
    int signal_fd = s_signal_fd ();
    argos_supervisor_t *supervisor = argos_supervisor_new (table, 2);
    assert_int_equal (argos_supervisor_start (supervisor, signal_fd), -1);
    assert_string_equal (argos_supervisor_reason (supervisor), "bad can't start");
    assert_string_equal (s_journal, "Aa");
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
    argos_supervised_t table[] = { { "good", s_actor, &good, ARGOS_RESTART_ALONE, 2000, NULL },
        { "waiting", s_waiting_actor, NULL, ARGOS_RESTART_ALONE, 2000, NULL } };
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
    argos_supervised_t table[] = { { "other", s_actor, &other, ARGOS_RESTART_ALONE, 2000, NULL },
        { "failing", s_actor, &failing, ARGOS_RESTART_ALONE, 2000, NULL } };
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
    argos_supervised_t table[] = { { "failing", s_actor, &failing, ARGOS_RESTART_ALONE, 2000,
        NULL } };
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
    argos_supervised_t table[] = { { "failing", s_actor, &failing, ARGOS_RESTART_ALONE, 2000,
        NULL } };
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
    argos_supervised_t table[] = { { "store", s_actor, &failing, ARGOS_RESTART_NEVER, 2000,
        NULL } };
    int signal_fd = s_signal_fd ();
    argos_supervisor_t *supervisor = argos_supervisor_new (table, 1);
    assert_int_equal (argos_supervisor_start (supervisor, signal_fd), 0);
    assert_int_equal (argos_supervisor_run (supervisor), -1);
    assert_int_equal (failing.starts, 1);
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
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
