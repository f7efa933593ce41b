//  argos_sim_net - core and store without threads, sockets and clocks.
//
//  Invariant: the core is entered only from here, never from within its own calls (requests wait in
//  an array, messages in a list). A database in memory lives on argos_sim_disk, of which there is
//  one: so does one such net at a time.

#include "argos_sim_net.h"

#include "argos_schema.h"
#include "argos_sim_disk.h"
#include "argos_store_priv.h"

#include <assert.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <utlist.h>

#define BATCH_MAX 64       //  Requests of one transaction
#define SETTLE_MAX 100000  //  Batches before it is said that it never settles
#define FRAMES_MAX 140     //  Frames of one message
#define WALL 1750000000000 //  A day in 2025, msec

static json_t *
s_parse (const argos_frame_t *frame)
{
    json_t *json =
        frame->size ? json_loadb (frame->data, frame->size, JSON_DECODE_ANY, NULL) : json_object ();
    assert (json); //  The core sends nothing else
    return json;
}

static int
s_send (void *ctx, uint64_t conn, bool packs, argos_frame_t **frames, size_t count)
{
    (void) packs;
    argos_sim_net_t *self = ctx;
    assert (count == 4);
    if (self->deaf && self->deaf (self->arg, conn))
        return -1;
    argos_sim_msg_t *msg = calloc (1, sizeof *msg);
    assert (msg);
    msg->conn = conn;
    msg->header = s_parse (frames[1]);
    msg->meta = s_parse (frames[2]);
    msg->body = s_parse (frames[3]);
    DL_APPEND (self->sent, msg);
    return 0;
}

static void
s_store (void *ctx, argos_storage_req_t *req)
{
    argos_sim_net_t *self = ctx;
    if (self->count == self->room) {
        self->room = self->room ? self->room * 2 : 64;
        self->requests = realloc (self->requests, self->room * sizeof (argos_storage_req_t *));
        assert (self->requests);
    }
    self->requests[self->count++] = req;
}

static void
s_load (void *arg, const argos_storage_row_t *row)
{
    argos_sim_net_t *self = arg;
    argos_core_load (self->core, row);
}

static void
s_start (argos_sim_net_t *self)
{
    char reason[256];
    self->store = argos_store_new (self->path, self->wall, reason);
    if (!self->store) {
        fprintf (stderr, "%s\n", reason);
        abort ();
    }
    const argos_store_info_t *info = argos_store_info (self->store);
    argos_core_io_t io = { .ctx = self, .send = s_send, .store = s_store };
    self->config.store_id = info->store_id;
    self->config.boot = info->boot;
    self->core = argos_core_new (&self->config, &io, self->mono, self->wall);
    int rc = argos_store_index (self->store, s_load, self);
    assert (rc == 0);
}

static void
s_stop (argos_sim_net_t *self)
{
    argos_sim_msg_t *msg, *next;
    argos_core_destroy (&self->core);
    for (size_t i = 0; i < ARGOS_SIM_QUERIES; i++)
        sqlite3_finalize (self->queries[i].stmt);
    memset (self->queries, 0, sizeof self->queries);
    argos_store_destroy (&self->store);
    for (size_t i = 0; i < self->count; i++)
        argos_storage_req_destroy (&self->requests[i]);
    self->count = 0;
    DL_FOREACH_SAFE (self->sent, msg, next) {
        DL_DELETE (self->sent, msg);
        argos_sim_msg_destroy (&msg);
    }
}

//  The oldest requests, at most max of them. Returns how many.

static size_t
s_take (argos_sim_net_t *self, argos_storage_req_t **requests, size_t max)
{
    size_t count = self->count < max ? self->count : max;
    assert (count <= BATCH_MAX);
    if (count)
        memcpy (requests, self->requests, count * sizeof (argos_storage_req_t *));
    self->count -= count;
    if (self->count)
        memmove (
            self->requests, self->requests + count, self->count * sizeof (argos_storage_req_t *));
    return count;
}

static void
s_execute (argos_sim_net_t *self, argos_storage_req_t **requests, argos_storage_ans_t **answers,
    size_t count)
{
    int rc = argos_store_batch (self->store, requests, answers, count, self->reason);
    if (rc != 0) {
        fprintf (stderr, "%s\n", self->reason);
        abort ();
    }
}

//  What a killed process leaves on the disk: the database and its log, as they are now. The store
//  is closed on another copy, since closing tidies up.

static void
s_copy (const char *from, const char *to, const char *suffix)
{
    char source[300], target[300], buffer[65536];
    snprintf (source, sizeof source, "%s%s", from, suffix);
    snprintf (target, sizeof target, "%s%s", to, suffix);
    FILE *in = fopen (source, "rb");
    unlink (target);
    if (!in)
        return;
    FILE *out = fopen (target, "wb");
    assert (out);
    for (size_t size; (size = fread (buffer, 1, sizeof buffer, in)) > 0;)
        fwrite (buffer, 1, size, out);
    fclose (in);
    fclose (out);
}

static void
s_remove (const char *path)
{
    static const char *const suffixes[] = { "", "-wal", "-journal", "-ballast", NULL };
    for (const char *const *suffix = suffixes; *suffix; suffix++) {
        char name[300];
        snprintf (name, sizeof name, "%s%s", path, *suffix);
        unlink (name);
    }
}

//  An empty database that was closed, made once for the process: most of the time of a seed would
//  be that of the migrations.

static void
s_fresh (argos_sim_net_t *self)
{
    snprintf (self->path, sizeof self->path, "file:/sim.db?vfs=simdisk");
    if (argos_sim_disk_fresh ())
        return;
    argos_store_t *store = argos_store_new (self->path, self->wall, self->reason);
    if (!store) {
        fprintf (stderr, "%s\n", self->reason);
        abort ();
    }
    argos_store_destroy (&store);
    argos_sim_disk_keep ();
}

argos_sim_net_t *
argos_sim_net_new (const char *path)
{
    static bool ready;
    static const char *const ipc_roles[] = { "adapter", "worker", "tool", "operator", NULL };
    argos_sim_net_t *self = calloc (1, sizeof *self);
    assert (self);
    if (!ready) {
        //  Names of databases in memory are URIs; the store's own paths are none
        sqlite3_config (SQLITE_CONFIG_URI, 1);
        argos_sim_disk_init ();
        if (argos_schema_init (self->reason) != 0) {
            fprintf (stderr, "%s\n", self->reason);
            abort ();
        }
        ready = true;
    }
    argos_core_config_init (&self->config);
    self->config.ipc_roles = ipc_roles;
    self->config.trace_entries = 1024; //  A new ring at each start is most of its time otherwise
    self->mono = 1000;
    self->wall = WALL;
    self->memory = strcmp (path, "memory") == 0;
    if (self->memory)
        s_fresh (self);
    else {
        snprintf (self->path, sizeof self->path, "%s", path);
        s_remove (self->path);
    }
    s_start (self);
    return self;
}

void
argos_sim_net_destroy (argos_sim_net_t **self_p)
{
    if (!self_p || !*self_p)
        return;
    argos_sim_net_t *self = *self_p;
    *self_p = NULL;
    s_stop (self);
    if (self->memory)
        argos_sim_disk_clear ();
    else
        s_remove (self->path);
    free (self->requests);
    free (self);
}

//  The process is gone at this instant; the disk keeps all that it has written.

void
argos_sim_net_crash (argos_sim_net_t *self)
{
    char killed[sizeof self->path + 8];
    if (self->memory) {
        argos_sim_disk_arm (-1, NULL, NULL);
        argos_sim_disk_picture (NULL, NULL);
        s_stop (self);
        argos_sim_disk_restore ();
        s_start (self);
        return;
    }
    snprintf (killed, sizeof killed, "%s.killed", self->path);
    s_copy (self->path, killed, "");
    s_copy (self->path, killed, "-wal");
    s_stop (self);
    s_remove (self->path);
    s_copy (killed, self->path, "");
    s_copy (killed, self->path, "-wal");
    s_remove (killed);
    s_start (self);
}

//  A request whose row in `seen` tells whether the transaction that it was in is on the disk.

static argos_storage_req_t *
s_mark (argos_sim_net_t *self)
{
    static const char header[] = "{\"type\":\"cursor.put\",\"to\":\"store\"}";
    static const char body[] = "{\"name\":\"mark\",\"value\":1}";
    argos_storage_req_t *req = argos_storage_req_new (ARGOS_ST_COMMIT, 1);
    req->now = self->wall;
    snprintf (req->from, sizeof req->from, "mark");
    snprintf (req->id, sizeof req->id, "mark-%d", ++self->marks);
    req->parts[0].header = argos_frame_new (header, sizeof header - 1);
    req->parts[0].body = argos_frame_new (body, sizeof body - 1);
    return req;
}

static bool
s_marked (argos_sim_net_t *self)
{
    char sql[96];
    snprintf (sql, sizeof sql,
        "SELECT count (*) FROM seen WHERE sender = 'mark' AND id = 'mark-%d'", self->marks);
    return argos_sim_net_number (self, sql) == 1;
}

//  A batch with a mark is one transaction, so it is on the disk as a whole or not at all; the mark
//  tells which.

bool
argos_sim_net_power (
    argos_sim_net_t *self, size_t max, int after, int (*random) (void *arg, int limit), void *arg)
{
    argos_storage_req_t *requests[BATCH_MAX];
    argos_storage_ans_t *answers[BATCH_MAX];
    if (!self->memory) {
        argos_sim_net_crash (self);
        return true;
    }
    size_t count = s_take (self, requests, max < BATCH_MAX ? max : BATCH_MAX - 1);
    requests[count++] = s_mark (self);
    argos_sim_disk_full (false);
    argos_sim_disk_arm (after, random, arg);
    s_execute (self, requests, answers, count);
    argos_sim_disk_picture (random, arg);
    s_stop (self);
    argos_sim_disk_restore ();
    s_start (self);
    bool kept = s_marked (self);
    for (size_t i = 0; i < count; i++) {
        if (kept && self->executed)
            self->executed (self->arg, requests[i], answers[i]);
        argos_storage_ans_destroy (&answers[i]);
        argos_storage_req_destroy (&requests[i]);
    }
    return kept;
}

//  ------------------------------------------------------------------------------------------------
//  Messages

void
argos_sim_net_frames (argos_sim_net_t *self, uint64_t conn, argos_sim_role_t role,
    const char *const *frames, const size_t *sizes, size_t count)
{
    argos_frame_t *list[FRAMES_MAX];
    assert (count <= FRAMES_MAX);
    for (size_t i = 0; i < count; i++)
        list[i] = argos_frame_new (frames[i], sizes[i]);
    argos_core_clock (self->core, self->mono, self->wall);
    argos_who_t who = { role == ARGOS_ROLE_CORE ? ARGOS_VIA_INPROC : ARGOS_VIA_IPC, "" };
    argos_core_message (self->core, conn, &who, list, count);
    for (size_t i = 0; i < count; i++)
        argos_frame_unref (&list[i]);
}

void
argos_sim_net_commit (argos_sim_net_t *self, uint64_t conn, argos_sim_role_t role,
    const char *header, const argos_sim_part_t *parts, size_t count)
{
    const char *frames[FRAMES_MAX] = { "AR1", header, "", "" };
    size_t sizes[FRAMES_MAX] = { 3, strlen (header), 0, 0 };
    for (size_t i = 0; i < count; i++) {
        frames[4 + 2 * i] = parts[i].header;
        sizes[4 + 2 * i] = strlen (parts[i].header);
        frames[5 + 2 * i] = parts[i].body ? parts[i].body : "";
        sizes[5 + 2 * i] = strlen (frames[5 + 2 * i]);
    }
    argos_sim_net_frames (self, conn, role, frames, sizes, 4 + 2 * count);
}

void
argos_sim_net_send (argos_sim_net_t *self, uint64_t conn, argos_sim_role_t role, const char *header,
    const char *body)
{
    const char *frames[4] = { "AR1", header, "", body ? body : "" };
    size_t sizes[4] = { 3, strlen (header), 0, body ? strlen (body) : 0 };
    argos_sim_net_frames (self, conn, role, frames, sizes, 4);
}

argos_sim_msg_t *
argos_sim_net_recv (argos_sim_net_t *self, uint64_t conn)
{
    argos_sim_msg_t *msg;
    DL_FOREACH (self->sent, msg)
        if (msg->conn == conn) {
            DL_DELETE (self->sent, msg);
            return msg;
        }
    return NULL;
}

void
argos_sim_msg_destroy (argos_sim_msg_t **self_p)
{
    if (!self_p || !*self_p)
        return;
    json_decref ((*self_p)->header);
    json_decref ((*self_p)->meta);
    json_decref ((*self_p)->body);
    free (*self_p);
    *self_p = NULL;
}

void
argos_sim_net_cut (argos_sim_net_t *self, uint64_t conn)
{
    argos_sim_msg_t *msg;
    while ((msg = argos_sim_net_recv (self, conn)))
        argos_sim_msg_destroy (&msg);
}

//  ------------------------------------------------------------------------------------------------
//  The store

size_t
argos_sim_net_batch (argos_sim_net_t *self, size_t max, bool answer)
{
    argos_storage_req_t *requests[BATCH_MAX];
    argos_storage_ans_t *answers[BATCH_MAX];
    size_t count = s_take (self, requests, max);
    if (count == 0)
        return 0;
    s_execute (self, requests, answers, count);
    for (size_t i = 0; self->executed && i < count; i++)
        self->executed (self->arg, requests[i], answers[i]);
    argos_core_clock (self->core, self->mono, self->wall);
    for (size_t i = 0; i < count; i++) {
        if (answer)
            argos_core_stored (self->core, answers[i]);
        argos_storage_ans_destroy (&answers[i]);
        argos_storage_req_destroy (&requests[i]);
    }
    return count;
}

void
argos_sim_net_chore (argos_sim_net_t *self)
{
    argos_store_chore (self->store, self->wall);
}

void
argos_sim_net_settle (argos_sim_net_t *self)
{
    int turns = 0;
    while (argos_sim_net_batch (self, BATCH_MAX, true) > 0)
        assert (++turns < SETTLE_MAX);
}

void
argos_sim_net_sleep (argos_sim_net_t *self, int64_t ms)
{
    int64_t end = self->mono + ms;
    for (;;) {
        argos_sim_net_settle (self);
        int64_t due = argos_core_due (self->core);
        int64_t step = (due < end ? due : end) - self->mono;
        if (step > 0) {
            self->mono += step;
            self->wall += step;
        }
        argos_core_clock (self->core, self->mono, self->wall);
        argos_core_tick (self->core);
        if (due > end)
            break;
    }
    argos_sim_net_settle (self);
}

//  ------------------------------------------------------------------------------------------------
//  Looking into the database

int64_t
argos_sim_net_number (argos_sim_net_t *self, const char *sql)
{
    sqlite3_stmt *stmt = NULL;
    int64_t value = -1;
    int rc = sqlite3_prepare_v2 (self->store->db, sql, -1, &stmt, NULL);
    if (rc != SQLITE_OK)
        fprintf (stderr, "%s: %s\n", sql, sqlite3_errmsg (self->store->db));
    assert (rc == SQLITE_OK);
    if (sqlite3_step (stmt) == SQLITE_ROW)
        value = sqlite3_column_int64 (stmt, 0);
    sqlite3_finalize (stmt);
    return value;
}

//  The statement of a query that is asked again and again, kept while the store is open

static sqlite3_stmt *
s_query (argos_sim_net_t *self, const char *sql)
{
    size_t i = 0;
    while (i < ARGOS_SIM_QUERIES && self->queries[i].stmt && self->queries[i].sql != sql)
        i++;
    assert (i < ARGOS_SIM_QUERIES);
    if (!self->queries[i].stmt) {
        self->queries[i].sql = sql;
        int rc = sqlite3_prepare_v2 (self->store->db, sql, -1, &self->queries[i].stmt, NULL);
        if (rc != SQLITE_OK)
            fprintf (stderr, "%s: %s\n", sql, sqlite3_errmsg (self->store->db));
        assert (rc == SQLITE_OK);
    }
    return self->queries[i].stmt;
}

void
argos_sim_net_query (argos_sim_net_t *self, const char *sql,
    void (*fn) (void *arg, int columns, char **values), void *arg)
{
    char *values[ARGOS_SIM_COLUMNS];
    sqlite3_stmt *stmt = s_query (self, sql);
    int columns = sqlite3_column_count (stmt), rc;
    assert (columns <= ARGOS_SIM_COLUMNS);
    if (sqlite3_bind_parameter_count (stmt))
        sqlite3_bind_int64 (stmt, 1, self->wall);
    while ((rc = sqlite3_step (stmt)) == SQLITE_ROW) {
        for (int i = 0; i < columns; i++) {
            const unsigned char *text = sqlite3_column_text (stmt, i);
            memcpy (&values[i], &text, sizeof text);
        }
        fn (arg, columns, values);
    }
    assert (rc == SQLITE_DONE);
    sqlite3_reset (stmt);
}

const char *
argos_sim_text (const json_t *object, const char *name)
{
    const char *text = json_string_value (json_object_get (object, name));
    return text ? text : "";
}

int64_t
argos_sim_int (const json_t *object, const char *name)
{
    const json_t *value = json_object_get (object, name);
    return json_is_integer (value) ? json_integer_value (value) : -1;
}
