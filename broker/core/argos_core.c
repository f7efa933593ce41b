//  argos_core - the broker's frame: its start and end, what it says, answers of the store and the
//  time. Messages come in by argos_dispatch.c.
//
//  Invariant: nothing here waits. Limits: 256 timers a tick.

#include "argos_core_priv.h"
#include "argos_schema.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define TIMERS_PER_TICK 256 //  So that a burst of deadlines doesn't hold up messages
#define CLOCK_SET_MS 1000   //  The wall clock has been set when the clocks differ by so much

//  The interned names of message types: a row of the index keeps a pointer

struct intern {
    UT_hash_handle hh;             //  By name
    int64_t rows;                  //  How many rows point to it
    char name[ARGOS_TYPE_MAX + 1]; //  The name
};

void
argos_core_config_init (argos_core_config_t *config)
{
    *config = (argos_core_config_t){ .store_id = "",
        .boot = 1,
        .lease_ms = 15000,
        .quiet_ms = 6000,
        .ping_ms = 2000,
        .window_messages = 256,
        .window_bytes = 4 << 20,
        .service = { 2000000, (int64_t) 8 << 30 },
        .lane = { 100000, (int64_t) 1 << 30 },
        .peer = { 1500000, (int64_t) 4 << 30 },
        .ring_bytes = 64 << 20,
        .ring_entries = 4096,
        .linger_ms = 15000,
        .trace_entries = 65536,
        .slow_ms = 30000 };
}

//  The configuration has been checked with the same function.

static argos_access_t *
s_access (const argos_core_config_t *config)
{
    char reason[ARGOS_REASON_MAX];
    json_t *roles = config->roles ? json_loads (config->roles, 0, NULL) : NULL;
    argos_access_t *access = argos_access_new (roles, config->ipc_roles, reason);
    assert (access);
    json_decref (roles);
    return access;
}

argos_core_t *
argos_core_new (
    const argos_core_config_t *config, const argos_core_io_t *io, int64_t mono, int64_t wall)
{
    argos_core_t *self = calloc (1, sizeof *self);
    assert (self);
    self->config = *config;
    assert (strlen (config->store_id) < sizeof self->store_id);
    memcpy (self->store_id, config->store_id, strlen (config->store_id) + 1);
    self->io = *io;
    self->mono = self->started = mono;
    self->wall = wall;
    self->offset = wall - mono;
    self->magic = argos_frame_new ("AR1", 3);
    self->empty = argos_frame_new ("", 0);
    self->access = s_access (config);
    self->keyring = argos_keyring_new (config->tokens);
    self->patterns = argos_trie_new ();
    self->trace = argos_trace_new (config->trace_entries);
    self->self = argos_session_new (self, 0, "broker");
    self->self->role = argos_access_core (self->access);
    if (config->snapshot)
        argos_core_snapshot (self, config->snapshot);
    return self;
}

static void
s_free_entries (entry_t *entries)
{
    entry_t *entry, *next;
    DL_FOREACH_SAFE (entries, entry, next) {
        argos_limit_remove (entry);
        free (entry->deadline);
        free (entry->key);
        free (entry);
    }
}

static void
s_free_services (argos_core_t *self)
{
    service_t *service, *next;
    //  NOLINTBEGIN(clang-analyzer-unix.Malloc): what is freed is taken out of its table before
    HASH_ITER (hh, self->services, service, next) {
        lane_t *lane, *next_lane;
        s_free_entries (service->later);
        HASH_ITER (hh, service->lanes, lane, next_lane) {
            s_free_entries (lane->entries);
            HASH_DEL (service->lanes, lane);
            free (lane->key);
            free (lane);
        }
        HASH_DEL (self->services, service);
        free (service);
    }
    //  NOLINTEND(clang-analyzer-unix.Malloc)
}

static int
s_send_nothing (void *ctx, uint64_t conn, bool packs, argos_frame_t **frames, size_t count)
{
    (void) packs;
    (void) ctx;
    (void) conn;
    (void) frames;
    (void) count;
    return -1;
}

//  From here on nothing is sent and nothing is handed out: the sessions end one after the other.

static void
s_free_sessions (argos_core_t *self)
{
    service_t *service, *next_service;
    session_t *session, *next;
    self->io.send = s_send_nothing;
    HASH_ITER (hh, self->services, service, next_service)
        service->dispatching = true;
    HASH_ITER (hh_number, self->numbers, session, next)
        if (session != self->self)
            argos_session_free (session);
    argos_session_free (self->self);
}

void
argos_core_destroy (argos_core_t **self_p)
{
    if (!self_p || !*self_p)
        return;
    argos_core_t *self = *self_p;
    s_free_sessions (self);
    item_t *item, *next_item;
    HASH_ITER (hh, self->outstanding, item, next_item) {
        HASH_DEL (self->outstanding, item);
        argos_intake_free (item);
    }
    request_t *request, *next_request;
    HASH_ITER (hh, self->requests, request, next_request)
        argos_request_free (request);
    topic_t *topic, *next_topic;
    HASH_ITER (hh, self->topics, topic, next_topic)
        argos_topic_free (topic);
    argos_trie_destroy (&self->patterns);
    argos_trace_destroy (&self->trace);
    HASH_CLEAR (hh_head, self->heads);
    s_free_services (self);
    argos_drain_free (self);
    struct intern *name, *next_name;
    HASH_ITER (hh, self->types, name, next_name) {
        HASH_DEL (self->types, name); //  NOLINT(clang-analyzer-unix.Malloc): each is freed once
        free (name);
    }
    while (self->closings)
        argos_session_closing_free (self, self->closings);
    argos_timers_term (&self->timers);
    json_decref (self->snapshot);
    argos_access_destroy (&self->access);
    argos_keyring_destroy (&self->keyring);
    argos_frame_unref (&self->magic);
    argos_frame_unref (&self->empty);
    free (self);
    *self_p = NULL;
}

const char *
argos_core_intern (argos_core_t *self, const char *type)
{
    struct intern *found;
    HASH_FIND_STR (self->types, type, found);
    if (!found) {
        found = calloc (1, sizeof *found);
        assert (found);
        memcpy (found->name, type, strlen (type) + 1);
        HASH_ADD_STR (self->types, name, found);
    }
    found->rows++;
    return found->name;
}

//  A row less of that type; the last one takes the name with it, since peers choose types freely.

void
argos_core_forget_type (argos_core_t *self, const char *type)
{
    struct intern *found;
    HASH_FIND_STR (self->types, type, found);
    assert (found);
    if (--found->rows == 0) {
        HASH_DEL (self->types, found);
        free (found);
    }
}

//  Bytes that the window counts: all but the magic and the empty meta.

int64_t
argos_core_bytes (argos_frame_t **frames, size_t count)
{
    int64_t bytes = 0;
    for (size_t i = 1; i < count; i++)
        bytes += (int64_t) frames[i]->size;
    return bytes;
}

static void
s_add_traffic (traffic_t *traffic, const traffic_t *more)
{
    traffic->in_messages += more->in_messages;
    traffic->in_bytes += more->in_bytes;
    traffic->out_messages += more->out_messages;
    traffic->out_bytes += more->out_bytes;
}

void
argos_core_count_in (argos_core_t *self, session_t *session, int64_t bytes)
{
    const traffic_t one = { .in_messages = 1, .in_bytes = bytes };
    s_add_traffic (&self->traffic, &one);
    if (session)
        s_add_traffic (&session->traffic, &one);
}

static void
s_count_out (argos_core_t *self, session_t *session, int64_t bytes)
{
    const traffic_t one = { .out_messages = 1, .out_bytes = bytes };
    s_add_traffic (&self->traffic, &one);
    if (session)
        s_add_traffic (&session->traffic, &one);
}

//  The session behind a connection, NULL = none.

session_t *
argos_core_session (argos_core_t *self, uint64_t conn)
{
    session_t *session;
    HASH_FIND (hh, self->sessions, &conn, sizeof conn, session);
    return session;
}

//  Send one message with the given frames; meta is made into a frame. Returns 0, or -1 when the
//  connection takes nothing.

int
argos_core_put (argos_core_t *self, uint64_t conn, argos_frame_t *header, const char *meta,
    size_t meta_size, argos_frame_t *body)
{
    argos_frame_t *meta_frame = argos_frame_new (meta, meta_size);
    argos_frame_t *frames[4] = { self->magic, header, meta_frame, body ? body : self->empty };
    session_t *session = argos_core_session (self, conn);
    int rc = self->io.send (self->io.ctx, conn, session && session->packs, frames, 4);
    if (rc == 0)
        s_count_out (self, session, argos_core_bytes (frames, 4));
    argos_frame_unref (&meta_frame);
    if (session && rc != 0)
        argos_slow_begin (session, false);
    else if (session && self->slow_sessions)
        argos_slow_end (session);
    return rc;
}

//  An answer did not reach the session, and nobody will send it again: all but what is told
//  anyway.

static void
s_owe (argos_core_t *self, uint64_t conn, const char *type)
{
    session_t *session = argos_core_session (self, conn);
    if (session && strcmp (type, "pong") != 0 && strcmp (type, "credit") != 0)
        argos_slow_begin (session, true);
}

//  Send one of the broker's own words.

void
argos_core_word (
    argos_core_t *self, uint64_t conn, const char *type, const char *re, const char *body)
{
    argos_core_word_on (self, conn, type, re, 0, 0, body);
}

//  The same about a lease, when seq is not 0.

void
argos_core_word_on (argos_core_t *self, uint64_t conn, const char *type, const char *re,
    int64_t seq, int64_t lease, const char *body)
{
    argos_writer_t *text = &self->text;
    argos_writer_clear (text);
    argos_writer_raw (text, "{");
    argos_writer_member_string (text, "type", type);
    if (*re)
        argos_writer_member_string (text, "re", re);
    if (seq) {
        argos_writer_member_int (text, "seq", seq);
        argos_writer_member_int (text, "lease", lease);
    }
    argos_writer_raw (text, "}");
    argos_frame_t *header = argos_frame_new (text->data, text->size);
    argos_frame_t *content = argos_frame_new (body, strlen (body));
    if (argos_core_put (self, conn, header, "{}", 2, content) != 0)
        s_owe (self, conn, type);
    argos_frame_unref (&header);
    argos_frame_unref (&content);
}

static void
s_note_refusal (argos_core_t *self, uint64_t conn, const char *re, argos_err_t code)
{
    session_t *session;
    HASH_FIND (hh, self->sessions, &conn, sizeof conn, session);
    if (*re)
        argos_stats_note (self, (argos_trace_note_t){ .event = ARGOS_TRACE_REFUSED,
                                    .id = re,
                                    .peer = session ? session->name : "",
                                    .code = (int) code });
}

void
argos_core_refuse (argos_core_t *self, uint64_t conn, const char *re, argos_err_t code,
    const char *reason, int part, bool sent)
{
    argos_writer_t body = { .size = 0 };
    self->refused[code]++;
    s_note_refusal (self, conn, re, code);
    argos_writer_raw (&body, "{");
    argos_writer_member_string (&body, "code", argos_err_name (code));
    argos_writer_member_string (
        &body, "reason", reason && *reason ? reason : argos_err_text (code));
    if (part >= 0)
        argos_writer_member_int (&body, "part", part);
    argos_writer_raw (&body, sent ? ",\"sent\":true}" : ",\"sent\":false}");
    body.data[body.size] = 0;
    argos_core_word (self, conn, "refused", re, body.data);
}

void
argos_core_clock (argos_core_t *self, int64_t mono, int64_t wall)
{
    int64_t drift = wall - mono - self->offset;
    self->mono = mono;
    self->wall = wall;
    if (drift < CLOCK_SET_MS && drift > -CLOCK_SET_MS)
        return;
    self->offset = wall - mono;
    argos_entry_clock_set (self);
}

int64_t
argos_core_due (argos_core_t *self)
{
    return argos_timers_next (&self->timers);
}

void
argos_core_tick (argos_core_t *self)
{
    argos_timers_run (&self->timers, self->mono, TIMERS_PER_TICK);
    argos_intake_pump (self);
}

size_t
argos_core_outstanding (const argos_core_t *self)
{
    return self->outstanding_count;
}

void
argos_core_gone (argos_core_t *self, uint64_t conn)
{
    session_t *session = argos_core_session (self, conn);
    if (session)
        session->quiet = true;
}

void
argos_core_keys (argos_core_t *self, const char *text, size_t size)
{
    if (argos_keyring_fill (self->keyring, text, size) == 0)
        argos_hello_recheck (self);
    argos_intake_pump (self);
}

bool
argos_core_knows (const argos_core_t *self, const char *key)
{
    return argos_keyring_named (self->keyring, key) != NULL;
}

void
argos_core_declare (argos_core_t *self, const char *service)
{
    char name[ARGOS_NAME_MAX + 1] = "";
    memcpy (name, service, strnlen (service, ARGOS_NAME_MAX));
    argos_service_declare (self, name, true);
}

void
argos_core_load (argos_core_t *self, const argos_storage_row_t *row)
{
    service_t *service = argos_service_declare (self, row->service, true);
    if (!row->seq) {
        service->paused = row->paused;
        return;
    }
    entry_t *entry = argos_entry_insert (service, row->key, row);
    if (row->lease && entry->lane)
        argos_lane_leased (entry->lane, row->seq, row->lease, 0);
    else if (entry->lane)
        argos_lane_settle (entry->lane);
}

json_t *
argos_core_body (
    argos_core_t *self, uint64_t conn, const argos_header_t *header, const argos_frame_t *frame)
{
    char reason[256];
    json_t *body = NULL;
    argos_err_t code =
        argos_schema_parse (header->type, frame->data, frame->size, &body, reason, sizeof reason);
    if (code == ARGOS_OK)
        return body;
    argos_core_refuse (self, conn, header->id, code, reason, -1, false);
    return NULL;
}

void
argos_core_stored (argos_core_t *self, argos_storage_ans_t *ans)
{
    item_t *item;
    HASH_FIND (hh, self->outstanding, &ans->tag, sizeof ans->tag, item);
    assert (item); //  The store answers each request once
    HASH_DEL (self->outstanding, item);
    self->outstanding_count--;
    self->stored++;
    argos_intake_back (self, item);
    switch (item->op) {
    case ARGOS_ST_COMMIT:
    case ARGOS_ST_READ:
        argos_intake_answered (self, item, ans);
        break;
    case ARGOS_ST_SERVICE:
        argos_service_changed (self, item, ans);
        break;
    case ARGOS_ST_LEASE:
        argos_lease_answered (self, item, ans);
        break;
    case ARGOS_ST_RELEASE:
        argos_lease_released (self, item, ans);
        break;
    case ARGOS_ST_HELLO:
        argos_hello_stored (self, item, ans);
        break;
    case ARGOS_ST_MAIL:
        argos_lease_mailed (self, item, ans);
        break;
    case ARGOS_ST_TOPIC:
        argos_topic_answered (self, item, ans);
        break;
    case ARGOS_ST_JOURNAL:
        argos_reader_paged (self, item, ans);
        break;
    case ARGOS_ST_INDEX:
        break; //  Asked before the core is made
    }
    argos_intake_free (item);
    argos_intake_pump (self);
}
