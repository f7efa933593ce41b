//  test_store_kill - kill -9 of a process in the middle of its batches: what it was told is there,
//  nothing is there in part, SQLite finds nothing wrong.
//
//  This program starts itself as the writer, reads from its pipe what was answered, and kills it
//  after so many answers; then it opens the database as the next start would. ARGOS_KILLS says how
//  often (./dev storekill: 500), ARGOS_SEED from where.

#include "store_kit.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define KILLS 15       //  In the test run
#define BATCH 12       //  Requests of a batch
#define TOLD_MAX 20000 //  Answers of one life
#define AFTER 160      //  Answers before a kill, at most
#define LIVES 25       //  Of one database
#define HOLDER "agent/1"
#define WRITE_ARGUMENT "--write" //  This program as the writer

extern char **environ;

//  ------------------------------------------------------------------------------------------------
//  The writer. A unit is a message, a session with a title and a route; every third one an append
//  of three messages under a lease instead.

typedef struct {
    kit_t kit;          //  Store and time
    int life;           //  Number of this process
    int64_t seq, lease; //  Of the transcript
    int64_t n;          //  Its commits
} writer_t;

static argos_storage_req_t *
s_unit (const char *id)
{
    char header[200], body[400];
    argos_storage_req_t *req = argos_storage_req_new (ARGOS_ST_COMMIT, 3);
    snprintf (req->from, sizeof req->from, "cli");
    snprintf (req->id, sizeof req->id, "%.31s", id);
    snprintf (header, sizeof header,
        "{\"type\":\"t.x\",\"to\":\"service:turn\",\"key\":\"%.31s\",\"durable\":true}", id);
    snprintf (body, sizeof body, "{\"pad\":\"%0300d\"}", 0);
    kit_part (req, 0, header, body);
    snprintf (body, sizeof body, "{\"id\":\"%.31s\",\"title\":\"%.31s\"}", id, id);
    kit_part (req, 1, "{\"type\":\"session.create\",\"to\":\"store\",\"durable\":true}", body);
    snprintf (body, sizeof body, "{\"key\":\"%.31s\",\"session_id\":\"%.31s\"}", id, id);
    kit_part (req, 2, "{\"type\":\"route.bind\",\"to\":\"store\",\"durable\":true}", body);
    return req;
}

static argos_storage_req_t *
s_append (writer_t *self, const char *id)
{
    char body[2048];
    argos_storage_req_t *req =
        kit_commit (&self->kit, HOLDER, self->seq, self->lease, ++self->n, false, 1);
    size_t at = (size_t) snprintf (body, sizeof body, "{\"session_id\":\"log\",\"messages\":[");
    for (int i = 0; i < 3; i++)
        at += (size_t) snprintf (body + at, sizeof body - at,
            "%s{\"role\":\"user\",\"content\":\"%.31s %0200d\",\"client_id\":\"%.31s-%d\"}",
            i ? "," : "", id, i, id, i);
    snprintf (body + at, sizeof body - at, "]}");
    kit_part (req, 0, "{\"type\":\"session.append\",\"to\":\"store\",\"durable\":true}", body);
    return req;
}

//  One batch; what was answered goes into the pipe in one write, which a kill can't halve.

static void
s_batch (writer_t *self, int number)
{
    argos_storage_req_t *requests[BATCH];
    argos_storage_ans_t *answers[BATCH];
    char id[BATCH][32], told[BATCH * 32], reason[256];
    size_t size = 0, count = 1 + (size_t) number % BATCH;
    for (size_t i = 0; i < count; i++) {
        snprintf (
            id[i], sizeof id[i], "%c%d.%d.%zu", i % 3 == 2 ? 'a' : 'u', self->life, number, i);
        requests[i] = i % 3 == 2 ? s_append (self, id[i]) : s_unit (id[i]);
        requests[i]->now = self->kit.now;
    }
    if (argos_store_batch (self->kit.store, requests, answers, count, reason) != 0)
        exit (3);
    for (size_t i = 0; i < count; i++) {
        if (answers[i]->code != ARGOS_OK)
            exit (4);
        size += (size_t) snprintf (told + size, sizeof told - size, "%s\n", id[i]);
        argos_storage_req_destroy (&requests[i]);
        argos_storage_ans_destroy (&answers[i]);
    }
    if (write (STDOUT_FILENO, told, size) != (ssize_t) size)
        exit (5);
}

static int
s_write (const char *path, int life)
{
    char reason[256], id[32];
    writer_t self = { .life = life, .kit = { .now = 1700000000000 + life } };
    if (argos_schema_init (reason) != 0)
        return 2;
    self.kit.store = argos_store_new (path, self.kit.now, reason);
    if (!self.kit.store) {
        fprintf (stderr, "writer: %s\n", reason);
        return 2;
    }
    //  A transcript is written under the lease of its lane: each life has a message of its own
    //  there
    snprintf (id, sizeof id, "log-%d", life);
    self.seq = kit_send (&self.kit, id, "turn", "log", NULL, NULL);
    self.lease = kit_lease (&self.kit, self.seq, HOLDER);
    for (int i = 0; self.lease; i++) {
        s_batch (&self, i);
        for (int k = 0; k < i % 4; k++)
            argos_store_chore (self.kit.store, self.kit.now);
    }
    return 6;
}

//  ------------------------------------------------------------------------------------------------
//  The killer

static char s_told[TOLD_MAX][24]; //  What was answered in the lives of this database
static size_t s_told_count;

static pid_t
s_start (const char *path, int life, int *ret_fd)
{
    char program[] = "/proc/self/exe", argument[] = WRITE_ARGUMENT, number[16], place[128];
    char *arguments[] = { program, argument, place, number, NULL };
    posix_spawn_file_actions_t actions;
    int ends[2];
    pid_t pid;
    snprintf (number, sizeof number, "%d", life);
    snprintf (place, sizeof place, "%s", path);
    assert_int_equal (pipe2 (ends, O_CLOEXEC), 0);
    posix_spawn_file_actions_init (&actions);
    posix_spawn_file_actions_adddup2 (&actions, ends[1], STDOUT_FILENO);
    assert_int_equal (posix_spawn (&pid, program, &actions, NULL, arguments, environ), 0);
    posix_spawn_file_actions_destroy (&actions);
    close (ends[1]);
    *ret_fd = ends[0];
    return pid;
}

//  Reads the answers, kills after so many, reads the rest.

static void
s_live_and_die (const char *path, int life, int answers)
{
    int fd, status, count = 0;
    pid_t pid = s_start (path, life, &fd);
    FILE *told = fdopen (fd, "r");
    char line[64];
    assert_non_null (told);
    if (answers == 0)
        kill (pid, SIGKILL);
    while (fgets (line, sizeof line, told)) {
        line[strcspn (line, "\n")] = 0;
        assert_true (s_told_count < TOLD_MAX);
        snprintf (s_told[s_told_count], sizeof s_told[0], "%.23s", line);
        s_told_count++;
        if (++count == answers)
            kill (pid, SIGKILL);
    }
    fclose (told);
    assert_int_equal (waitpid (pid, &status, 0), pid);
    if (!WIFSIGNALED (status) || WTERMSIG (status) != SIGKILL)
        fail_msg ("the writer has ended by itself: %d", status);
}

//  Whether a unit, or the last message of an append, is there.

static bool
s_is_there (kit_t *kit, const char *id)
{
    char sql[160];
    if (*id == 'u')
        snprintf (sql, sizeof sql, "SELECT count (*) FROM sessions WHERE id = '%.24s'", id);
    else
        snprintf (sql, sizeof sql,
            "SELECT count (*) FROM messages WHERE session_id = 'log' AND client_id = '%.24s-2'",
            id);
    return kit_number (kit, sql) == 1;
}

static void
s_verify (kit_t *kit)
{
    for (size_t i = 0; i < s_told_count; i++)
        if (!s_is_there (kit, s_told[i]))
            fail_msg ("%s was answered and is not there", s_told[i]);
    //  Whole or not at all
    assert_int_equal (
        kit_number (kit,
            "SELECT count (*) FROM sessions s WHERE id <> 'log' AND (title <> id"
            " OR NOT EXISTS (SELECT 1 FROM routes WHERE key = s.id)"
            " OR NOT EXISTS (SELECT 1 FROM queue WHERE service = 'turn' AND key = s.id)"
            " OR NOT EXISTS (SELECT 1 FROM seen WHERE sender = 'cli' AND id = s.id))"),
        0);
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM routes"),
        kit_number (kit, "SELECT count (*) FROM sessions WHERE id <> 'log'"));
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM messages") % 3, 0);
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM messages"),
        kit_number (kit, "SELECT message_count FROM sessions WHERE id = 'log'"));
    sqlite3_stmt *stmt = NULL;
    sqlite3_prepare_v2 (kit->store->db, "PRAGMA integrity_check", -1, &stmt, NULL);
    assert_int_equal (sqlite3_step (stmt), SQLITE_ROW);
    assert_string_equal ((const char *) sqlite3_column_text (stmt, 0), "ok");
    sqlite3_finalize (stmt);
}

//  What the writer that died held is free for the next one, and its message out of the way.

static void
s_clear_lane (kit_t *kit)
{
    int64_t seq = kit_number (
        kit, "SELECT ifnull (min (seq), 0) FROM queue WHERE service = 'turn' AND key = 'log'");
    if (!seq)
        return;
    argos_storage_req_t *req = argos_storage_req_new (ARGOS_ST_HELLO, 0);
    snprintf (req->holder, sizeof req->holder, "agent/2");
    snprintf (req->name, sizeof req->name, "agent");
    kit_do (kit, req);
    int64_t lease = kit_lease (kit, seq, "agent/2");
    assert_int_equal (kit_done (kit, "agent/2", seq, lease, 1, seq), ARGOS_OK);
}

static kit_t *
s_database (void)
{
    kit_t *kit = kit_new (true);
    assert_int_equal (kit_write (kit, "g", "session.create", "{\"id\":\"log\"}"), ARGOS_OK);
    argos_store_destroy (&kit->store);
    s_told_count = 0;
    return kit;
}

static int
s_setting (const char *name, int otherwise)
{
    const char *value = getenv (name);
    return value ? atoi (value) : otherwise;
}

static void
a_writer_is_killed (void **state)
{
    (void) state;
    int kills = s_setting ("ARGOS_KILLS", KILLS);
    unsigned seed = (unsigned) s_setting ("ARGOS_SEED", 1);
    size_t answers = 0;
    kit_t *kit = NULL;
    for (int life = 0; life < kills; life++) {
        if (life % LIVES == 0) {
            if (kit)
                kit_free (kit);
            answers += s_told_count;
            kit = s_database ();
        }
        s_live_and_die (kit->path, life, rand_r (&seed) % AFTER);
        kit_reopen (kit);
        s_verify (kit);
        s_clear_lane (kit);
        argos_store_destroy (&kit->store);
    }
    if (kit)
        kit_free (kit);
    if (kills > KILLS)
        printf ("%d kills, %zu answers\n", kills, answers + s_told_count);
}

int
main (int argc, char **argv)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test (a_writer_is_killed) };
    if (argc == 4 && strcmp (argv[1], WRITE_ARGUMENT) == 0)
        return s_write (argv[2], atoi (argv[3]));
    return cmocka_run_group_tests (tests, NULL, NULL);
}
