//  bench_sqlite - the same rows by hand.
//
//  Invariant: any error of SQLite ends the program: a base that fails measures nothing.

#include "bench_sqlite.h"

#include "argos_embedded.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define HEADER 160 //  Bytes of a header
#define BODY_MAX 16384

struct bench_sqlite {
    sqlite3 *db;                   //  Its own database
    sqlite3_stmt *begin, *commit;  //  Of a batch
    sqlite3_stmt *queue, *seen;    //  An accepted message
    sqlite3_stmt *message, *count; //  An append
    sqlite3_stmt *lease;           //  Its commit
    int sessions;                  //  To which it goes in turn
    int64_t number;                //  Rows so far
    char text[BODY_MAX];           //  What is stored
    int (*row) (bench_sqlite_t *); //  Writes one operation
    size_t size;                   //  Bytes of a body
};

static void
s_check (bench_sqlite_t *self, int rc)
{
    if (rc == SQLITE_OK || rc == SQLITE_DONE || rc == SQLITE_ROW)
        return;
    fprintf (stderr, "bench: sqlite: %s\n", sqlite3_errmsg (self->db));
    exit (1);
}

static sqlite3_stmt *
s_prepare (bench_sqlite_t *self, const char *sql)
{
    sqlite3_stmt *stmt = NULL;
    s_check (self, sqlite3_prepare_v3 (self->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &stmt, NULL));
    return stmt;
}

static void
s_step (bench_sqlite_t *self, sqlite3_stmt *stmt)
{
    s_check (self, sqlite3_step (stmt));
    sqlite3_reset (stmt);
}

static void
s_exec (bench_sqlite_t *self, const char *sql)
{
    s_check (self, sqlite3_exec (self->db, sql, NULL, NULL, NULL));
}

static void
s_text (sqlite3_stmt *stmt, int column, const char *text)
{
    sqlite3_bind_text (stmt, column, text, -1, SQLITE_TRANSIENT);
}

static int
s_accept (bench_sqlite_t *self)
{
    char id[64];
    self->number++;
    snprintf (id, sizeof id, "bench-%lld", (long long) self->number);
    s_text (self->queue, 1, id);
    s_text (self->queue, 2, id);
    sqlite3_bind_blob (self->queue, 3, self->text, HEADER, SQLITE_STATIC);
    sqlite3_bind_blob (self->queue, 4, self->text, (int) self->size, SQLITE_STATIC);
    s_step (self, self->queue);
    s_text (self->seen, 1, id);
    sqlite3_bind_int64 (self->seen, 2, sqlite3_last_insert_rowid (self->db));
    sqlite3_bind_blob (self->seen, 3, self->text, 16, SQLITE_STATIC);
    s_step (self, self->seen);
    return 0;
}

static int
s_append (bench_sqlite_t *self)
{
    char id[64];
    int session = (int) (self->number++ % self->sessions);
    struct timespec now;
    clock_gettime (CLOCK_REALTIME, &now);
    int64_t msec = (int64_t) now.tv_sec * 1000 + now.tv_nsec / 1000000;
    snprintf (id, sizeof id, "session-%d", session);
    s_text (self->message, 1, id);
    sqlite3_bind_text (self->message, 2, self->text, (int) self->size, SQLITE_STATIC);
    sqlite3_bind_int64 (self->message, 3, msec);
    s_step (self, self->message);
    s_text (self->count, 1, id);
    sqlite3_bind_int64 (self->count, 2, msec);
    s_step (self, self->count);
    sqlite3_bind_int64 (self->lease, 1, session + 1);
    s_step (self, self->lease);
    return 0;
}

static double
s_run (bench_sqlite_t *self, int64_t nsec, int batch, bench_samples_t *samples)
{
    int64_t start = bench_now (), done = 0;
    while (bench_now () - start < nsec) {
        int64_t began = bench_now ();
        s_step (self, self->begin);
        for (int i = 0; i < batch; i++)
            self->row (self);
        s_step (self, self->commit);
        if (samples)
            bench_sample (samples, bench_now () - began);
        done += batch;
    }
    return (double) done * 1e9 / (double) (bench_now () - start);
}

double
bench_sqlite_accepts (
    bench_sqlite_t *self, int64_t nsec, int batch, size_t size, bench_samples_t *samples)
{
    self->row = s_accept;
    self->size = size;
    return s_run (self, nsec, batch, samples);
}

double
bench_sqlite_appends (bench_sqlite_t *self, int64_t nsec, int batch, size_t size, int sessions,
    bench_samples_t *samples)
{
    self->row = s_append;
    self->sessions = sessions;
    self->size = size;
    return s_run (self, nsec, batch, samples);
}

double
bench_sqlite_commit_ms (bench_sqlite_t *self, int count, bench_samples_t *samples)
{
    bench_samples_t own = { 0 };
    self->row = s_append;
    self->sessions = 32;
    self->size = 200;
    for (int i = 0; i < count; i++) {
        s_step (self, self->begin);
        s_append (self);
        int64_t began = bench_now ();
        s_step (self, self->commit);
        bench_sample (&own, bench_now () - began);
        if (samples)
            bench_sample (samples, bench_now () - began);
    }
    double p50 = bench_percentile (&own, 0.5);
    bench_samples_clear (&own);
    return p50;
}

static void
s_prepare_all (bench_sqlite_t *self)
{
    char sql[400];
    self->begin = s_prepare (self, "BEGIN IMMEDIATE");
    self->commit = s_prepare (self, "COMMIT");
    self->queue = s_prepare (self,
        "INSERT INTO queue (service, key, sender, id, type, side, urgent, at, until, not_before,"
        " delay_until, hops, cause, attempt, strikes, n, header, body) VALUES ('bench', ?1,"
        " 'bench.client', ?2, 'bench.store', 0, 0, 1, 0, 0, 0, 0, '', 0, 0, 0, ?3, ?4)");
    self->seen = s_prepare (self, "INSERT INTO seen (sender, id, seq, last, hash, at)"
                                  " VALUES ('bench.client', ?1, ?2, ?2, ?3, 1)");
    self->message = s_prepare (self, "INSERT INTO messages (session_id, role, at, content)"
                                     " VALUES (?1, 'user', ?3, ?2)");
    self->count = s_prepare (self, "UPDATE sessions SET message_count = message_count + 1,"
                                   " last_activity_at = max (last_activity_at, ?2),"
                                   " version = version + 1 WHERE id = ?1");
    self->lease = s_prepare (self, "UPDATE queue SET n = n + 1 WHERE seq = ?1");
    s_exec (self, "BEGIN");
    for (int i = 0; i < BENCH_SQLITE_SESSIONS; i++) {
        snprintf (sql, sizeof sql,
            "INSERT INTO sessions (id, started_at, message_count, version, owner)"
            " VALUES ('session-%d', 1, 0, 0, 'o')",
            i);
        s_exec (self, sql);
        snprintf (sql, sizeof sql,
            "INSERT INTO queue VALUES (%d, 'turn', 'session-%d', 'bench', 'r', 'turn.bench', 0, 0,"
            " 1, 0, 0, 0, 0, '', NULL, 1, 0, %d, 'bench.agent/1', 0, x'00', x'00')",
            i + 1, i, i + 1);
        s_exec (self, sql);
    }
    s_exec (self, "COMMIT");
}

//  All migrations, in their order.

static void
s_make_tables (bench_sqlite_t *self)
{
    bool more = true;
    for (long number = 1; more; number++) {
        more = false;
        for (const argos_embedded_t *file = argos_embedded_files; file->name; file++)
            if (strncmp (file->name, "sql/", 4) == 0 &&
                strtol (file->name + 4, NULL, 10) == number) {
                s_exec (self, file->data);
                more = true;
            }
    }
}

bench_sqlite_t *
bench_sqlite_new (void)
{
    static int number;
    char path[4200];
    bench_sqlite_t *self = calloc (1, sizeof *self);
    if (!self)
        abort ();
    for (size_t i = 0; i < sizeof self->text; i++)
        self->text[i] = "etaoin shrdlu"[i % 13];
    snprintf (path, sizeof path, "%s/bare-%d.db", bench_folder (), ++number);
    s_check (self, sqlite3_open (path, &self->db));
    s_exec (self, "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL;"
                  "PRAGMA synchronous = FULL; PRAGMA cache_size = -2048;");
    s_make_tables (self);
    s_prepare_all (self);
    return self;
}

void
bench_sqlite_destroy (bench_sqlite_t **self_p)
{
    bench_sqlite_t *self = *self_p;
    if (!self)
        return;
    sqlite3_finalize (self->begin);
    sqlite3_finalize (self->commit);
    sqlite3_finalize (self->queue);
    sqlite3_finalize (self->seen);
    sqlite3_finalize (self->message);
    sqlite3_finalize (self->count);
    sqlite3_finalize (self->lease);
    sqlite3_close (self->db);
    free (self);
    *self_p = NULL;
}
