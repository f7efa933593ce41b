//  fuzz_core - peers that say anything to the real broker core with the real store in memory.
//
//  Input: lines. `0` to `3` and frames separated by tabs: that connection says header, meta, body
//  and what follows (0 and 1 are actors of the process, 2 and 3 peers of the host). `t` and a
//  number: time goes on by so many msec. `g` and a connection: it is lost. `s`: the store answers
//  what it has been asked. Holds: all that goes out is a message that our own scanner takes, with a
//  meta that is JSON, and the store never fails. Opening a store is slow, so one serves for some
//  inputs and is emptied in between; only the names of services stay.

#include "argos_core.h"
#include "argos_schema.h"
#include "argos_store_priv.h"
#include "fuzz.h"

#include <jansson.h>
#include <sqlite3.h>
#include <string.h>

#define LINES_MAX 200
#define FRAMES_MAX 40
#define WAITING_MAX 4096
#define BATCH_MAX 64
#define INPUTS_MAX 64 //  Inputs for one store
#define T0 1700000000000

typedef struct {
    argos_core_t *core;                        //  Under test
    argos_store_t *store;                      //  Real, in memory
    argos_storage_req_t *waiting[WAITING_MAX]; //  Asked and not answered
    size_t count;                              //  How many
    int64_t time;                              //  Msec since the start
} world_t;

static int
s_send (void *ctx, uint64_t conn, bool packs, argos_frame_t **frames, size_t count)
{
    (void) packs;
    static argos_header_t header;
    world_t *self = ctx;
    FUZZ_CHECK (self->store != NULL);
    FUZZ_CHECK (count >= 4 && count <= 4 + 2 * ARGOS_PARTS_MAX);
    FUZZ_CHECK (frames[0]->size == 3 && memcmp (frames[0]->data, "AR1", 3) == 0);
    FUZZ_CHECK (argos_header_read (frames[1]->data, frames[1]->size, &header, NULL) == ARGOS_OK);
    if (frames[2] && frames[2]->size) {
        json_t *meta = json_loadb (frames[2]->data, frames[2]->size, 0, NULL);
        FUZZ_CHECK (json_is_object (meta));
        json_decref (meta);
    }
    return conn == 3 ? -1 : 0; //  One peer never reads
}

static void
s_store (void *ctx, argos_storage_req_t *req)
{
    world_t *self = ctx;
    FUZZ_CHECK (self->count < WAITING_MAX);
    self->waiting[self->count++] = req;
}

static void
s_answer_batch (world_t *self)
{
    argos_storage_ans_t *answers[BATCH_MAX] = { NULL };
    argos_storage_req_t *batch[BATCH_MAX];
    char reason[256];
    size_t count = self->count < BATCH_MAX ? self->count : BATCH_MAX;
    memcpy (batch, self->waiting, count * sizeof *batch);
    self->count -= count;
    memmove (self->waiting, self->waiting + count, self->count * sizeof *self->waiting);
    FUZZ_CHECK (argos_store_batch (self->store, batch, answers, count, reason) == 0);
    for (size_t i = 0; i < count; i++) {
        argos_core_stored (self->core, answers[i]);
        argos_storage_ans_destroy (&answers[i]);
        argos_storage_req_destroy (&batch[i]);
    }
}

static void
s_message (world_t *self, uint64_t conn, const char *line, size_t size)
{
    argos_frame_t *frames[FRAMES_MAX] = { argos_frame_new ("AR1", 3) };
    size_t count = 1;
    const char *end = line + size;
    while (count < FRAMES_MAX) {
        const char *tab = size ? memchr (line, '\t', (size_t) (end - line)) : NULL;
        size_t length = (size_t) ((tab ? tab : end) - line);
        frames[count++] = argos_frame_new (line, length);
        if (!tab)
            break;
        line = tab + 1;
    }
    argos_who_t who = { conn < 2 ? ARGOS_VIA_INPROC : ARGOS_VIA_IPC, "" };
    argos_core_message (self->core, conn, &who, frames, count);
    for (size_t i = 0; i < count; i++)
        argos_frame_unref (&frames[i]);
}

static void
s_line (world_t *self, const char *line, size_t size)
{
    char number[12] = "";
    if (size == 0)
        return;
    memcpy (number, line + 1, size - 1 < 9 ? size - 1 : 9);
    switch (line[0]) {
    case 't':
        self->time += strtol (number, NULL, 10) & 0xfffff;
        argos_core_clock (self->core, self->time, T0 + self->time);
        if (argos_core_due (self->core) <= self->time)
            argos_core_tick (self->core);
        break;
    case 'g':
        argos_core_gone (self->core, (uint64_t) (number[0] & 3));
        break;
    case 's':
        if (self->count)
            s_answer_batch (self);
        break;
    default:
        s_message (self, (uint64_t) (line[0] & 3), line + 1, size - 1);
    }
}

static void
s_load (void *arg, const argos_storage_row_t *row)
{
    world_t *self = arg;
    argos_core_load (self->core, row);
}

static void
s_declare (world_t *self, const char *name)
{
    argos_storage_req_t *req = argos_storage_req_new (ARGOS_ST_SERVICE, 0);
    argos_storage_ans_t *ans = NULL;
    char reason[256];
    snprintf (req->name, sizeof req->name, "%s", name);
    FUZZ_CHECK (argos_store_batch (self->store, &req, &ans, 1, reason) == 0);
    argos_storage_ans_destroy (&ans);
    argos_storage_req_destroy (&req);
}

//  An empty store.

static argos_store_t *
s_store_for_one (void)
{
    static argos_store_t *store;
    static int inputs;
    char reason[256] = "";
    if (store && ++inputs % INPUTS_MAX == 0)
        argos_store_destroy (&store);
    if (!store) {
        store = argos_store_new (":memory:", T0, reason);
        FUZZ_CHECK (store != NULL);
        return store;
    }
    int rc = sqlite3_exec (store->db,
        "DELETE FROM queue; DELETE FROM finished; DELETE FROM seen; DELETE FROM dead;"
        "DELETE FROM topics; DELETE FROM journal; DELETE FROM sessions; DELETE FROM messages;"
        "DELETE FROM routes; DELETE FROM runs; DELETE FROM receipts; DELETE FROM cursors;"
        "DELETE FROM sqlite_sequence; DELETE FROM meta WHERE name = 'lease'",
        NULL, NULL, NULL);
    FUZZ_CHECK (rc == SQLITE_OK);
    store->last_seq = store->last_lease = store->stored_lease = 0;
    return store;
}

static void
s_begin (world_t *self)
{
    static int ready;
    static const char *const ipc_roles[] = { "adapter", "worker", "operator", NULL };
    argos_core_io_t io = { .ctx = self, .send = s_send, .store = s_store };
    argos_core_config_t config;
    char reason[256] = "";
    if (!ready)
        FUZZ_CHECK (argos_schema_init (reason) == 0);
    ready = 1;
    self->store = s_store_for_one ();
    s_declare (self, "gateway");
    s_declare (self, "turn");
    argos_core_config_init (&config);
    config.ipc_roles = ipc_roles;
    config.store_id = argos_store_info (self->store)->store_id;
    config.boot = argos_store_info (self->store)->boot;
    config.ring_bytes = 1 << 20;
    self->core = argos_core_new (&config, &io, self->time, T0);
    argos_store_index (self->store, s_load, self);
    argos_core_clock (self->core, self->time, T0);
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    static world_t world;
    const char *text = (const char *) data, *end = text + size;
    memset (&world, 0, sizeof world);
    s_begin (&world);
    for (int i = 0; i < LINES_MAX && text < end; i++) {
        const char *newline = memchr (text, '\n', (size_t) (end - text));
        const char *stop = newline ? newline : end;
        s_line (&world, text, (size_t) (stop - text));
        text = stop + 1;
    }
    for (int i = 0; i < LINES_MAX && world.count; i++)
        s_answer_batch (&world);
    argos_core_destroy (&world.core);
    for (size_t i = 0; i < world.count; i++)
        argos_storage_req_destroy (&world.waiting[i]);
    return 0;
}
