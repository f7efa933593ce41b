//  bench_store_rows - what is read from a large store, and what it costs to keep it: transcripts,
//  lists, search over a million messages, the indexer behind the writers, bytes of a message,
//  memory.
//
//  Invariant: the store is called directly, in this thread; its reads are compared with a prepared
//  statement of the same connection, whose rows are copied into one text. A million messages are
//  written once, by commits of 256 as an agent writes them; they are the ground of search, size and
//  memory. Limits: takes about three minutes and 1 GB of disk.

#include "bench.h"

#include "argos_store.h"
#include "argos_store_priv.h"

#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MESSAGES 1000000   //  Of the large store
#define SESSIONS 20000     //  That it has
#define COMMIT 256         //  Messages of one commit
#define LARGE 2097152      //  Bytes of a transcript, at most
#define ROUND_NS 250000000 //  Length of a round
#define BODY 262144        //  Bytes of one, at most
#define HOLDER "agent/1"
#define VOCABULARY 20000 //  Words of the texts; the n-th is as frequent as 1/n
#define WORDS 40         //  Of a message
#define QUERIES 400      //  Searches
#define LAG_S 10         //  Seconds of the sustained load
#define LAG_RATE 2000    //  Messages per second of it

typedef struct {
    argos_store_t *store;     //  Under measurement
    argos_storage_ans_t *ans; //  Of the last request
    char path[4200];          //  The database
    int64_t now;              //  Wall clock, msec
    int64_t raw;              //  Bytes of the texts
    unsigned number;          //  Of requests so far
    char *body;               //  Of the request at hand
    char *large;              //  For a transcript
} rows_t;

//  ------------------------------------------------------------------------------------------------
//  Words

static unsigned s_seed = 1;

static double
s_chance (void)
{
    return (double) rand_r (&s_seed) / ((double) RAND_MAX + 1);
}

//  The n-th word, of 3 to 8 letters.

static size_t
s_word (unsigned n, char *target)
{
    static const char *const syllables[] = { "ba", "ko", "ri", "tu", "me", "sol", "nar", "den",
        "pi", "ga", "lu", "fen", "zo", "har", "ti", "we", "mon", "sa", "qui", "ver" };
    size_t size = 0;
    for (int i = 0; i < 3 || n > 0; i++, n /= 20) {
        const char *syllable = syllables[n % 20];
        size_t bytes = strlen (syllable);
        memcpy (target + size, syllable, bytes);
        size += bytes;
    }
    target[size] = 0;
    return size;
}

static unsigned
s_any_word (void)
{
    return (unsigned) pow (VOCABULARY, s_chance ()) - 1;
}

//  A word that one would look for: not one of the 20 that are in nearly every text.

static unsigned
s_telling_word (void)
{
    return 20 + (unsigned) pow (VOCABULARY - 20, s_chance ()) - 1;
}

static size_t
s_text (char *target)
{
    size_t size = 0;
    for (int i = 0; i < WORDS; i++) {
        size += s_word (s_any_word (), target + size);
        target[size++] = i % 11 == 10 ? '.' : ' ';
    }
    return size;
}

//  ------------------------------------------------------------------------------------------------
//  The store

static argos_storage_ans_t *
s_do (rows_t *self, argos_storage_req_t *req)
{
    char reason[256];
    argos_storage_ans_destroy (&self->ans);
    req->now = self->now;
    if (argos_store_batch (self->store, &req, &self->ans, 1, reason) != 0 ||
        self->ans->code != ARGOS_OK) {
        fprintf (stderr, "bench: store: %s%s\n", reason, self->ans ? self->ans->reason : "");
        exit (1);
    }
    argos_storage_req_destroy (&req);
    return self->ans;
}

static void
s_part (argos_storage_req_t *req, const char *type, const char *body)
{
    char header[128];
    snprintf (header, sizeof header,
        "{\"type\":\"%s\",\"id\":\"r\",\"to\":\"store\",\"durable\":true}", type);
    req->parts[0].header = argos_frame_new (header, strlen (header));
    req->parts[0].body = argos_frame_new (body, strlen (body));
}

static argos_storage_req_t *
s_free_unit (rows_t *self)
{
    argos_storage_req_t *req = argos_storage_req_new (ARGOS_ST_COMMIT, 1);
    snprintf (req->from, sizeof req->from, "bench");
    snprintf (req->id, sizeof req->id, "u%u", ++self->number);
    return req;
}

static void
s_write (rows_t *self, const char *type, const char *body)
{
    argos_storage_req_t *req = s_free_unit (self);
    s_part (req, type, body);
    s_do (self, req);
}

static int64_t
s_processor (void)
{
    struct timespec now;
    clock_gettime (CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t) now.tv_sec * 1000000000 + now.tv_nsec;
}

static void
s_read (rows_t *self, const char *type, const char *body)
{
    argos_storage_req_t *req = argos_storage_req_new (ARGOS_ST_READ, 1);
    snprintf (req->from, sizeof req->from, "bench");
    s_part (req, type, body);
    s_do (self, req);
}

//  How much processor time a read takes, nsec: its pages are in memory, and what else goes on in
//  the machine does not count.

static int64_t
s_timed (rows_t *self, const char *type, const char *body)
{
    int64_t began = s_processor ();
    s_read (self, type, body);
    return s_processor () - began;
}

static int64_t
s_lease (rows_t *self, const char *session, int64_t *ret_lease)
{
    char header[160];
    argos_storage_req_t *req = s_free_unit (self);
    snprintf (header, sizeof header,
        "{\"type\":\"turn.bench\",\"to\":\"service:turn\",\"key\":\"%s\",\"durable\":true}",
        session);
    req->parts[0].header = argos_frame_new (header, strlen (header));
    int64_t seq = s_do (self, req)->seq;
    req = argos_storage_req_new (ARGOS_ST_LEASE, 0);
    req->seq = seq;
    snprintf (req->holder, sizeof req->holder, HOLDER);
    *ret_lease = s_do (self, req)->lease;
    return seq;
}

//  Appends count messages to a session, in one turn.

static void
s_append (rows_t *self, const char *session, int count)
{
    int64_t lease, seq = s_lease (self, session, &lease), n = 0;
    while (count > 0) {
        size_t at =
            (size_t) snprintf (self->body, BODY, "{\"session_id\":\"%s\",\"messages\":[", session);
        for (int i = 0; i < COMMIT && count > 0; i++, count--) {
            at += (size_t) snprintf (self->body + at, BODY - at,
                "%s{\"role\":\"%s\",\"content\":\"", i ? "," : "", i % 2 ? "assistant" : "user");
            size_t size = s_text (self->body + at);
            self->raw += (int64_t) size;
            at += size;
            memcpy (self->body + at, "\"}", 3);
            at += 2;
        }
        memcpy (self->body + at, "]}", 3);
        argos_storage_req_t *req = argos_storage_req_new (ARGOS_ST_COMMIT, 1);
        snprintf (req->holder, sizeof req->holder, HOLDER);
        snprintf (req->from, sizeof req->from, "agent");
        req->seq = seq;
        req->lease = lease;
        req->n = ++n;
        s_part (req, "session.append", self->body);
        s_do (self, req);
    }
    argos_storage_req_t *req = argos_storage_req_new (ARGOS_ST_COMMIT, 0);
    snprintf (req->holder, sizeof req->holder, HOLDER);
    snprintf (req->from, sizeof req->from, "agent");
    req->seq = req->seen = seq;
    req->lease = lease;
    req->n = n + 1;
    req->done = true;
    s_do (self, req);
}

static void
s_create (rows_t *self, const char *id, int owner)
{
    char body[128];
    snprintf (body, sizeof body, "{\"id\":\"%s\",\"owner\":\"owner-%d\"}", id, owner);
    s_write (self, "session.create", body);
}

static void
s_open (rows_t *self, const char *name)
{
    char reason[256];
    *self = (rows_t){ .now = 1700000000000, .body = malloc (BODY), .large = malloc (LARGE) };
    snprintf (self->path, sizeof self->path, "%s/%s.db", bench_folder (), name);
    self->store = argos_store_new (self->path, self->now, reason);
    if (!self->store || !self->body || !self->large) {
        fprintf (stderr, "bench: %s\n", reason);
        exit (1);
    }
    argos_storage_req_t *req = argos_storage_req_new (ARGOS_ST_SERVICE, 0);
    snprintf (req->name, sizeof req->name, "turn");
    s_do (self, req);
}

static void
s_close (rows_t *self)
{
    argos_storage_ans_destroy (&self->ans);
    argos_store_destroy (&self->store);
    free (self->body);
    free (self->large);
    unlink (self->path);
}

static int64_t
s_number (rows_t *self, const char *sql)
{
    sqlite3_stmt *stmt = NULL;
    sqlite3_prepare_v2 (self->store->db, sql, -1, &stmt, NULL);
    int64_t number = sqlite3_step (stmt) == SQLITE_ROW ? sqlite3_column_int64 (stmt, 0) : -1;
    sqlite3_finalize (stmt);
    return number;
}

//  ------------------------------------------------------------------------------------------------
//  Transcripts

//  The rows by hand, copied into one text. Returns its size.

static size_t
s_bare_load (sqlite3_stmt *stmt, const char *session, char *target)
{
    size_t size = 0;
    sqlite3_bind_text (stmt, 1, session, -1, SQLITE_STATIC);
    sqlite3_bind_int64 (stmt, 2, 0);
    while (sqlite3_step (stmt) == SQLITE_ROW) {
        size += (size_t) snprintf (
            target + size, 24, "%lld", (long long) sqlite3_column_int64 (stmt, 0));
        for (int column = 1; column < 4; column++) {
            const void *text = sqlite3_column_text (stmt, column);
            size_t bytes = (size_t) sqlite3_column_bytes (stmt, column);
            if (text)
                memcpy (target + size, text, bytes);
            size += bytes;
        }
    }
    sqlite3_reset (stmt);
    return size;
}

//  Where the next page of a transcript begins, 0 = this was the last one. A program in another
//  language reads the whole; here its end is enough.

static int64_t
s_next_page (const argos_frame_t *page)
{
    static const char more[] = "\"more\":true}", id[] = "\"id\":";
    const char *text = (const char *) page->data;
    size_t at = page->size;
    if (at < sizeof more || memcmp (text + at - (sizeof more - 1), more, sizeof more - 1) != 0)
        return 0;
    while (at > 0 && memcmp (text + at - 1, id, sizeof id - 1) != 0)
        at--;
    return strtoll (text + at - 1 + sizeof id - 1, NULL, 10);
}

static double
s_loads (rows_t *self, const char *session)
{
    char body[96];
    int64_t start = bench_now (), loads = 0;
    while (bench_now () - start < ROUND_NS) {
        int64_t after = 0;
        do {
            snprintf (
                body, sizeof body, "{\"id\":\"%s\",\"after\":%lld}", session, (long long) after);
            s_read (self, "session.load", body);
            after = s_next_page (self->ans->parts[0].body);
        } while (after);
        loads++;
    }
    return (double) loads * 1e9 / (double) (bench_now () - start);
}

static double
s_bare_loads (rows_t *self, sqlite3_stmt *stmt, const char *session)
{
    int64_t start = bench_now (), loads = 0;
    while (bench_now () - start < ROUND_NS) {
        s_bare_load (stmt, session, self->large);
        loads++;
    }
    return (double) loads * 1e9 / (double) (bench_now () - start);
}

void
bench_load_rows (void)
{
    static const int lengths[] = { 20, 2000 };
    rows_t self;
    sqlite3_stmt *stmt = NULL;
    s_open (&self, "load");
    sqlite3_prepare_v2 (self.store->db,
        "SELECT id, role, content, extra FROM messages"
        " WHERE session_id = ?1 AND id > ?2 AND active = 1 ORDER BY id",
        -1, &stmt, NULL);
    for (int i = 0; i < 2; i++) {
        char session[32], name[64];
        double base[BENCH_ROUNDS], ours[BENCH_ROUNDS];
        snprintf (session, sizeof session, "long-%d", lengths[i]);
        s_create (&self, session, 0);
        s_append (&self, session, lengths[i]);
        for (int round = 0; round < BENCH_ROUNDS; round++) {
            ours[round] = s_loads (&self, session);
            base[round] = s_bare_loads (&self, stmt, session);
        }
        snprintf (name, sizeof name, "load of %d messages of 250 B", lengths[i]);
        bench_print (&(bench_row_t){ .name = name,
            .unit = "1/s",
            .base = bench_median (base),
            .ours = bench_median (ours),
            .target = 0.7 });
    }
    sqlite3_finalize (stmt);
    s_close (&self);
}

//  ------------------------------------------------------------------------------------------------
//  A large store

static void
s_print_ms (const char *name, bench_samples_t *samples, double p, double target)
{
    bench_print (&(bench_row_t){ .name = name,
        .unit = "ms",
        .ours = bench_percentile (samples, p),
        .target = target,
        .at_most = true });
}

static double
s_rss_mib (void)
{
    long pages = 0, ignored;
    FILE *file = fopen ("/proc/self/statm", "r");
    if (file && fscanf (file, "%ld %ld", &ignored, &pages) != 2)
        pages = 0;
    if (file)
        fclose (file);
    return (double) pages * (double) sysconf (_SC_PAGESIZE) / 1048576.0;
}

static void
s_chores (rows_t *self, bench_samples_t *steps)
{
    for (bool more = true; more;) {
        int64_t began = s_processor ();
        more = argos_store_chore (self->store, self->now);
        bench_sample (steps, s_processor () - began);
    }
}

//  A million messages in sessions of 50. They are not synced: how fast they come in is measured by
//  `append`.

static void
s_fill (rows_t *self)
{
    double early = 0;
    bench_samples_t steps = { 0 };
    sqlite3_exec (self->store->db, "PRAGMA synchronous = OFF", NULL, NULL, NULL);
    for (int i = 0; i < SESSIONS; i++) {
        char id[32];
        snprintf (id, sizeof id, "session-%d", i);
        self->now += 60000;
        s_create (self, id, i % 100);
        s_append (self, id, MESSAGES / SESSIONS);
        if (i == SESSIONS / 10)
            early = s_rss_mib ();
    }
    bench_print (
        &(bench_row_t){ .name = "RSS more at the 1,000,000th message than at the 100,000th",
            .unit = "MiB",
            .ours = s_rss_mib () - early,
            .target = 2,
            .at_most = true });
    s_chores (self, &steps);
    s_print_ms ("p99 of a slice of the indexer", &steps, 0.99, 0);
    s_print_ms ("  longest slice", &steps, 1, 0);
    int64_t file = s_number (self, "PRAGMA page_count") * s_number (self, "PRAGMA page_size");
    bench_print (&(bench_row_t){ .name = "file with the indexes, per byte of text",
        .unit = "B",
        .ours = (double) file / (double) self->raw,
        .target = 2,
        .at_most = true });
    bench_samples_clear (&steps);
}

static void
s_lists (rows_t *self)
{
    bench_samples_t all = { 0 }, owned = { 0 };
    char body[64];
    for (int i = 0; i < QUERIES; i++) {
        bench_sample (&all, s_timed (self, "session.list", "{}"));
        snprintf (body, sizeof body, "{\"owner\":\"owner-%d\"}", i % 100);
        bench_sample (&owned, s_timed (self, "session.list", body));
    }
    s_print_ms ("list of 20 of 20,000 sessions, p95", &all, 0.95, 1);
    s_print_ms ("  of one owner, p95", &owned, 0.95, 1);
    bench_samples_clear (&all);
    bench_samples_clear (&owned);
}

//  Queries as people type them: a word, two, a phrase, a beginning, with a filter.

static void
s_query (char *body, size_t size, int kind)
{
    char one[64], two[64];
    unsigned n = kind == 6 ? s_any_word () % 20 : s_telling_word ();
    size_t length = s_word (n, one);
    s_word (s_telling_word (), two);
    if (kind == 0 || kind == 6)
        snprintf (body, size, "{\"text\":\"%s\"}", one);
    else if (kind == 1)
        snprintf (body, size, "{\"text\":\"%s %s\"}", one, two);
    else if (kind == 2)
        snprintf (body, size, "{\"text\":\"\\\"%s %s\\\"\"}", one, two);
    else if (kind == 3)
        snprintf (body, size, "{\"text\":\"%.*s*\"}", (int) length - 1, one);
    else if (kind == 4)
        snprintf (body, size, "{\"text\":\"%s\",\"owner\":\"owner-%u\"}", one, n % 100);
    else
        snprintf (body, size, "{\"text\":\"%s\",\"session_id\":\"session-%u\"}", one, n);
}

static void
s_searches (rows_t *self)
{
    static const char *const names[] = { "  a word, p95", "  two words, p95", "  a phrase, p95",
        "  a beginning, p95", "  a word of one owner, p95", "  a word in one session, p95",
        "  one of the 20 commonest words, p95" };
    bench_samples_t all = { 0 };
    char body[256];
    bench_samples_t kinds[7] = { { .values = NULL } };
    for (int i = 0; i < QUERIES; i++) {
        s_query (body, sizeof body, i % 7);
        int64_t nsec = s_timed (self, "session.search", body);
        bench_sample (&all, nsec);
        bench_sample (&kinds[i % 7], nsec);
    }
    s_print_ms ("search in 1,000,000 messages, p95", &all, 0.95, 30);
    s_print_ms ("  p50", &all, 0.5, 0);
    s_print_ms ("  longest", &all, 1, 0);
    for (int i = 0; i < 7; i++) {
        s_print_ms (names[i], &kinds[i], 0.95, 0);
        bench_samples_clear (&kinds[i]);
    }
    bench_samples_clear (&all);
}

//  Writers that don't rest: how far the indexer falls behind.

static void
s_lag (rows_t *self)
{
    int64_t start = bench_now (), sent = 0, worst = 0, late = 0;
    sqlite3_exec (self->store->db, "PRAGMA synchronous = FULL", NULL, NULL, NULL);
    s_create (self, "lag", 0);
    while (bench_now () - start < LAG_S * INT64_C (1000000000)) {
        int64_t due = (bench_now () - start) * LAG_RATE / INT64_C (1000000000);
        if (due - sent >= 20) {
            s_append (self, "lag", 20);
            sent += 20;
        }
        else if (!argos_store_chore (self->store, self->now))
            bench_pause (1);
        int64_t lag = self->store->messages_behind;
        worst = lag > worst ? lag : worst;
        late = due - sent > late ? due - sent : late;
    }
    bench_print (&(bench_row_t){ .name = "not indexed at 2,000 messages/s, at most",
        .unit = "msg",
        .ours = (double) worst,
        .target = 5000,
        .at_most = true });
    bench_print (&(bench_row_t){
        .name = "  not yet written of them, at most", .unit = "msg", .ours = (double) late });
}

void
bench_rows (void)
{
    rows_t self;
    s_open (&self, "rows");
    s_fill (&self);
    s_lists (&self);
    s_searches (&self);
    s_lag (&self);
    s_close (&self);
}
