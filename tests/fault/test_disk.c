//  test_disk - the disk fails under the real broker and the real store: no `accepted` leaves.
//
//  fsync and fdatasync of this program do what the kernel's do, until they are told to fail; SQLite
//  finds them here because the dynamic linker asks the program first. Nothing sleeps: each step
//  waits for an event with a deadline.

#include "argos_actor.h"
#include "argos_broker_actor.h"
#include "argos_peer.h"
#include "argos_schema.h"
#include "argos_store_actor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/syscall.h>

#include <cmocka.h>

#define DEADLINE_MS 10000

static atomic_bool s_broken; //  Syncs fail
static atomic_int s_failed;  //  How many have

static int
s_sync (long number, int fd)
{
    if (!atomic_load (&s_broken))
        return (int) syscall (number, fd);
    atomic_fetch_add (&s_failed, 1);
    errno = EIO;
    return -1;
}

int
fsync (int fd)
{
    return s_sync (SYS_fsync, fd);
}

int
fdatasync (int fd)
{
    return s_sync (SYS_fdatasync, fd);
}

typedef struct {
    char dir[64];          //  Holds the database
    char path[96];         //  The database
    zactor_t *store;       //  Real
    zactor_t *broker;      //  Real
    argos_peer_t *peer;    //  Who sends
    int accepted, refused; //  Answers of the broker; not the end of the peer
    int64_t seq;           //  Of the last one accepted
} world_t;

static void
s_answer (void *arg, const argos_peer_answer_t *answer)
{
    world_t *self = arg;
    self->seq = answer->seq;
    if (answer->code == ARGOS_OK)
        self->accepted++;
    else if (answer->code != ARGOS_GONE)
        self->refused++;
}

static void
s_start (world_t *self)
{
    argos_store_actor_config_t store = { .path = self->path, .endpoint = ARGOS_STORE_INPROC };
    argos_broker_config_t broker = { .bind = NULL };
    argos_peer_config_t peer = { .name = "disk.test", .endpoint = ARGOS_BROKER_INPROC };
    argos_core_config_init (&broker.core);
    self->store = argos_actor_start ("store", argos_store_actor, &store);
    assert_non_null (self->store);
    self->broker = argos_actor_start ("broker", argos_broker_actor, &broker);
    assert_non_null (self->broker);
    self->peer = argos_peer_new (&peer);
    assert_non_null (self->peer);
}

static void
s_stop (world_t *self)
{
    argos_peer_destroy (&self->peer);
    assert_int_equal (argos_actor_stop (&self->broker, DEADLINE_MS), 0);
    assert_int_equal (argos_actor_stop (&self->store, DEADLINE_MS), 0);
}

static int
s_set_up (void **state)
{
    char reason[256];
    world_t *self = calloc (1, sizeof *self);
    zsys_handler_set (NULL);
    zsys_init ();
    assert_int_equal (argos_schema_init (reason), 0);
    snprintf (self->dir, sizeof self->dir, "/tmp/argos-disk-XXXXXX");
    assert_non_null (mkdtemp (self->dir));
    snprintf (self->path, sizeof self->path, "%s/argos.db", self->dir);
    s_start (self);
    *state = self;
    return 0;
}

static int
s_tear_down (void **state)
{
    static const char *const suffixes[] = { "", "-wal", "-ballast", "-shm" };
    char path[128];
    world_t *self = *state;
    atomic_store (&s_broken, false);
    s_stop (self);
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        snprintf (path, sizeof path, "%s%s", self->path, suffixes[i]);
        unlink (path);
    }
    rmdir (self->dir);
    free (self);
    argos_schema_term ();
    return 0;
}

static void
s_send (world_t *self, const char *id)
{
    argos_peer_part_t part = {
        .type = "t.x", .to = "service:turn", .id = id, .key = "k", .durable = true
    };
    assert_int_equal (argos_peer_send (self->peer, &part, s_answer, self), ARGOS_OK);
}

//  Turns the peer until *counter is `wanted`, or the store has said a word; returns that word, NULL
//  otherwise.

static char *
s_until (world_t *self, const int *counter, int wanted)
{
    int64_t deadline = zclock_mono () + DEADLINE_MS;
    for (;;) {
        int64_t left = deadline - zclock_mono ();
        int64_t wait = argos_peer_turn (self->peer);
        if (counter && *counter >= wanted)
            return NULL;
        assert_true (left > 0);
        zmq_pollitem_t items[] = { { argos_peer_socket (self->peer), 0, ZMQ_POLLIN, 0 },
            { zsock_resolve (zactor_sock (self->store)), 0, ZMQ_POLLIN, 0 } };
        zmq_poll (items, 2, (long) (wait < 0 || wait > left ? left : wait));
        if (items[1].revents)
            return zstr_recv (zactor_sock (self->store));
    }
}

static void
no_accepted_leaves_when_the_sync_fails (void **state)
{
    world_t *self = *state;
    s_send (self, "before");
    assert_null (s_until (self, &self->accepted, 1));
    atomic_store (&s_broken, true);
    for (int i = 0; i < 64; i++) {
        char id[32];
        snprintf (id, sizeof id, "after-%d", i);
        s_send (self, id);
    }
    char *word = s_until (self, NULL, 0); //  Fails at the deadline when the store goes on
    assert_string_equal (word, "FAILED");
    zstr_free (&word);
    assert_true (atomic_load (&s_failed) > 0);
    argos_peer_turn (self->peer); //  Whatever had been sent has arrived by now
    assert_int_equal (self->accepted, 1);
    assert_int_equal (self->refused, 0);
}

static void
what_was_accepted_is_there_after_a_failed_sync (void **state)
{
    world_t *self = *state;
    s_send (self, "one");
    assert_null (s_until (self, &self->accepted, 1));
    int64_t seq = self->seq;
    atomic_store (&s_broken, true);
    s_send (self, "two");
    char *word = s_until (self, NULL, 0);
    assert_string_equal (word, "FAILED");
    zstr_free (&word);
    s_stop (self);
    atomic_store (&s_broken, false);
    s_start (self);
    s_send (self, "one");
    assert_null (s_until (self, &self->accepted, 2));
    assert_int_equal (self->seq, seq);
    s_send (self, "two");
    assert_null (s_until (self, &self->accepted, 3));
    assert_true (self->seq > seq);
    assert_int_equal (self->refused, 0);
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown (
            no_accepted_leaves_when_the_sync_fails, s_set_up, s_tear_down),
        cmocka_unit_test_setup_teardown (
            what_was_accepted_is_there_after_a_failed_sync, s_set_up, s_tear_down),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
