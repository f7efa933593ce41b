//  argos_core - the broker's entrance: takes messages, answers of the store and the time, and hands
//  them to the part that knows.
//
//  Invariant: nothing here waits, and nothing a peer sends can abort: each message ends as an
//  effect or as a refusal that names its id. Limits: those of argos_header.h, checked here before
//  anything else looks at a message.

#include "argos_core_priv.h"
#include "argos_schema.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define TIMERS_PER_TICK 256 //  So that a burst of deadlines doesn't hold up messages
#define CLOCK_SET_MS 1000   //  The wall clock has been set when the clocks differ by so much
#define BEYOND_MAX 64       //  Messages of a session beyond its window

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
        .linger_ms = 300000,
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
}

static int
s_send_nothing (void *ctx, uint64_t conn, argos_frame_t **frames, size_t count)
{
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
    argos_timers_term (&self->timers);
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

static int64_t
s_bytes (argos_frame_t **frames, size_t count)
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

static void
s_count_in (argos_core_t *self, session_t *session, int64_t bytes)
{
    const traffic_t one = { .in_messages = 1, .in_bytes = bytes };
    s_add_traffic (&self->traffic, &one);
    if (session)
        s_add_traffic (&session->traffic, &one);
}

static void
s_count_out (argos_core_t *self, uint64_t conn, int64_t bytes)
{
    const traffic_t one = { .out_messages = 1, .out_bytes = bytes };
    session_t *session;
    HASH_FIND (hh, self->sessions, &conn, sizeof conn, session);
    s_add_traffic (&self->traffic, &one);
    if (session)
        s_add_traffic (&session->traffic, &one);
}

//  The session behind a connection, NULL = none.

static session_t *
s_session (argos_core_t *self, uint64_t conn)
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
    int rc = self->io.send (self->io.ctx, conn, frames, 4);
    if (rc == 0)
        s_count_out (self, conn, s_bytes (frames, 4));
    argos_frame_unref (&meta_frame);
    //  Looked up only when there is something to be changed
    session_t *session = rc != 0 || self->slow_sessions ? s_session (self, conn) : NULL;
    if (session && rc != 0)
        argos_slow_begin (session, false);
    else if (session)
        argos_slow_end (session);
    return rc;
}

//  An answer did not reach the session, and nobody will send it again: all but what is told
//  anyway.

static void
s_owe (argos_core_t *self, uint64_t conn, const char *type)
{
    session_t *session = s_session (self, conn);
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
    argos_lane_clock_set (self);
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
    session_t *session = s_session (self, conn);
    if (session)
        session->quiet = true;
}

void
argos_core_keys (argos_core_t *self, const char *text, size_t size)
{
    if (argos_keyring_fill (self->keyring, text, size) == 0)
        argos_session_recheck (self);
    argos_intake_pump (self);
}

void
argos_core_load (argos_core_t *self, const argos_storage_row_t *row)
{
    service_t *service = argos_service_declare (self, row->service, true);
    if (!row->seq) {
        service->paused = row->paused;
        return;
    }
    entry_t *entry = argos_lane_insert (service, row->key, row);
    if (row->lease && entry->lane)
        argos_lane_leased (entry->lane, row->seq, row->lease, 0);
    else if (entry->lane)
        argos_lane_settle (entry->lane);
}

//  ------------------------------------------------------------------------------------------------
//  Messages

static bool
s_ping (session_t *session, const argos_header_t *header, argos_frame_t **frames, size_t count)
{
    (void) frames;
    (void) count;
    argos_core_word (session->core, session->conn, "pong", header->id, "{}");
    return false;
}

static bool
s_bye (session_t *session, const argos_header_t *header, argos_frame_t **frames, size_t count)
{
    (void) header;
    (void) frames;
    (void) count;
    argos_session_end (&session, 0);
    return false;
}

static bool
s_serve (session_t *session, const argos_header_t *header, argos_frame_t **frames, size_t count)
{
    (void) count;
    argos_service_serve (session, header, frames[3]);
    return false;
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

//  Credit must not go backwards: a late grant is harmless, a smaller one is a fault.

static bool
s_credit (session_t *session, const argos_header_t *header, argos_frame_t **frames, size_t count)
{
    (void) count;
    json_t *body = argos_core_body (session->core, session->conn, header, frames[3]);
    if (!body)
        return false;
    json_int_t messages = json_integer_value (json_object_get (body, "messages"));
    json_int_t bytes = json_integer_value (json_object_get (body, "bytes"));
    if (messages < session->credit_messages || bytes < session->credit_bytes)
        argos_core_refuse (session->core, session->conn, header->id, ARGOS_CREDIT,
            "credit is an absolute total and can't go back", -1, false);
    else {
        session->credit_messages = messages;
        session->credit_bytes = bytes;
        argos_reader_credit (session);
    }
    json_decref (body);
    return false;
}

static bool
s_commit (session_t *session, const argos_header_t *header, argos_frame_t **frames, size_t count)
{
    return argos_intake_commit (session, header, frames, count);
}

static bool
s_release (session_t *session, const argos_header_t *header, argos_frame_t **frames, size_t count)
{
    (void) count;
    argos_lease_given_back (session, header, frames[3]);
    return false;
}

static bool
s_subscribe (session_t *session, const argos_header_t *header, argos_frame_t **frames, size_t count)
{
    (void) count;
    argos_subscribe_begin (session, header, frames[3]);
    return false;
}

static bool
s_unsubscribe (
    session_t *session, const argos_header_t *header, argos_frame_t **frames, size_t count)
{
    (void) frames;
    (void) count;
    argos_subscribe_end (session, header);
    return false;
}

//  The broker's words, and whether they count in the send window. A handler returns whether the
//  message waits for the store: it is then settled in the window with the answer, else at once.

static const struct {
    const char *type; //  Word
    bool counted;     //  In the window
    bool parts;       //  May have parts
    bool (*handle) (
        session_t *, const argos_header_t *, argos_frame_t **, size_t); //  NULL: ours to send
} words[] = {
    { "ping", false, false, s_ping },
    { "commit", true, true, s_commit },
    { "done", true, true, s_commit },
    { "release", false, false, s_release },
    { "credit", false, false, s_credit },
    { "serve", false, false, s_serve },
    { "subscribe", false, false, s_subscribe },
    { "unsubscribe", false, false, s_unsubscribe },
    { "bye", false, false, s_bye },
    { "welcome", false, false, NULL },
    { "pong", false, false, NULL },
    { "accepted", false, false, NULL },
    { "refused", false, false, NULL },
    { "end", false, false, NULL },
    { "cancel", false, false, NULL },
};

//  An application message, by its address. Returns whether it waits for the store.

static bool
s_application (session_t *session, const argos_header_t *header, argos_frame_t **frames)
{
    argos_core_t *self = session->core;
    argos_err_t code = ARGOS_OK;
    const char *reason = NULL;

    if (header->seq && (header->to != ARGOS_TO_TOPIC || header->durable)) {
        code = ARGOS_INVALID;
        reason = "seq and lease belong to commit, done, release, and a passing entry of a topic";
    }
    else if (header->to == ARGOS_TO_NONE) {
        code = ARGOS_INVALID;
        reason = "an application message needs an address (to)";
    }
    else if (!argos_session_may_send (session, header->to, header->name, header))
        code = ARGOS_DENIED;
    else if (header->durable && !header->id[0]) {
        code = ARGOS_INVALID;
        reason = "a durable message needs an id";
    }
    if (code != ARGOS_OK) {
        argos_core_refuse (self, session->conn, header->id, code, reason, -1, false);
        return false;
    }
    if (header->durable)
        return argos_intake_commit (session, header, frames, 4);
    if (header->to == ARGOS_TO_STORE)
        return argos_intake_read (session, header, frames);
    if (header->to == ARGOS_TO_TOPIC)
        argos_topic_publish (session, header, frames);
    else if (header->re[0])
        argos_request_reply (session, header, frames);
    else if (header->to == ARGOS_TO_ACTOR && strcmp (header->name, "broker") == 0)
        argos_admin_request (session, header, frames[3]);
    else
        argos_request_new (session, header, frames);
    return false;
}

//  Count a message against the window; who does not keep to it is put out. What is not a durable
//  commit or a read is settled at once by its handler's end. Returns false when it is refused.

static bool
s_count (session_t *session, const argos_header_t *header, int64_t bytes)
{
    session->got_messages++;
    session->got_bytes += bytes;
    if (session->got_messages <= session->granted_messages &&
        session->got_bytes <= session->granted_bytes)
        return true;
    argos_core_refuse (session->core, session->conn, header->id, ARGOS_CREDIT, NULL, -1, false);
    if (++session->beyond >= BEYOND_MAX)
        argos_session_cut (session, CUT_CREDIT, -1);
    else
        argos_session_settle (session, bytes);
    return false;
}

static void
s_dispatch (session_t *session, const argos_header_t *header, argos_frame_t **frames, size_t count)
{
    argos_core_t *self = session->core;
    uint64_t number = session->number;
    size_t word = 0;
    while (word < sizeof words / sizeof words[0] && strcmp (words[word].type, header->type) != 0)
        word++;
    bool known = word < sizeof words / sizeof words[0];
    if (count > 4 && !(known && words[word].parts)) {
        argos_core_refuse (self, session->conn, header->id, ARGOS_INVALID,
            "only commit and done have parts", -1, false);
        return;
    }
    if (known && !words[word].handle) {
        argos_core_refuse (
            self, session->conn, header->id, ARGOS_INVALID, "that word is the broker's", -1, false);
        return;
    }
    if (known && !words[word].counted) {
        words[word].handle (session, header, frames, count);
        return;
    }
    int64_t bytes = s_bytes (frames, count);
    if (!s_count (session, header, bytes))
        return;
    bool waits = known ? words[word].handle (session, header, frames, count)
                       : s_application (session, header, frames);
    session = argos_session_find (self, number);
    if (session && !waits)
        argos_session_settle (session, bytes);
}

//  The form of a message, before anyone looks at what it says. Returns NULL, or a sentence.

static const char *
s_form (argos_frame_t **frames, size_t count)
{
    size_t bytes = 0;
    if (count < 4)
        return "a message has the frames AR1, header, meta and body";
    if (frames[2]->size != 0)
        return "the meta frame is the broker's; leave it empty";
    if (count > 4 && (count % 2 != 0 || (count - 4) / 2 > ARGOS_PARTS_MAX))
        return "parts are pairs of header and body, at most 64";
    if (count > 4 && frames[3]->size != 0)
        return "a commit with parts has an empty body";
    for (size_t i = 3; i < count; i++) {
        if (frames[i]->size > ARGOS_PART_MAX)
            return "a part is larger than 1 MiB";
        bytes += frames[i]->size;
    }
    if (bytes > ARGOS_COMMIT_MAX)
        return "a commit is larger than 2 MiB";
    return NULL;
}

bool
argos_core_message (
    argos_core_t *self, uint64_t conn, const argos_who_t *who, argos_frame_t **frames, size_t count)
{
    argos_header_t header;
    const char *reason = NULL;
    session_t *session = s_session (self, conn);
    bool heard = false;

    if (count < 1 || frames[0]->size != 3 || memcmp (frames[0]->data, "AR1", 3) != 0) {
        argos_core_refuse (self, conn, "", ARGOS_INVALID, "the first frame is AR1", -1, false);
        return false;
    }
    header.id[0] = 0;
    argos_err_t code = count < 2
                           ? ARGOS_INVALID
                           : argos_header_read (frames[1]->data, frames[1]->size, &header, &reason);
    if (code == ARGOS_OK) {
        reason = s_form (frames, count);
        code = reason ? ARGOS_INVALID : ARGOS_OK;
    }
    s_count_in (self, session, s_bytes (frames, count));
    if (session && session->open)
        argos_session_heard (session);
    if (code != ARGOS_OK)
        argos_core_refuse (self, conn, header.id, code, reason, -1, false);
    else if (strcmp (header.type, "hello") == 0)
        argos_session_hello (self, conn, who, &header, frames[3]);
    else if (!session || !session->open)
        argos_core_refuse (self, conn, header.id, ARGOS_NO_SESSION, NULL, -1, false);
    else {
        heard = true;
        s_dispatch (session, &header, frames, count);
        session = s_session (self, conn);
        if (session && session->open && session->quiet && !session->slow)
            argos_slow_over (session);
    }
    argos_intake_pump (self);
    return heard;
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
        argos_session_greeted (self, item, ans);
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
