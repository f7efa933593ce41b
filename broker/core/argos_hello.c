//  argos_hello - how a session begins: what a hello says, who may come in and as what, the welcome.
//
//  Invariant: a session is open once the store has settled the leases of its name; until then
//  nothing is handed out to it. A newer instance of a name ends the older one. Limits: 4,096
//  sessions, 4,096 leases in a hello.

#include "argos_core_priv.h"
#include "argos_pack.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define SESSIONS_MAX 4096
#define PROTOCOL_OLDEST 1     //  Versions of the protocol that we speak
#define PROTOCOL_NEWEST 2     //  .
#define HELLO_LEASES_MAX 4096 //  Leases that a hello may list

//  What a hello says

typedef struct {
    const char *name;    //  Borrowed from the body
    const char *build;   //  The same; "" when it does not say
    json_int_t instance; //  Start of the process
    int protocol;        //  Version that both speak
    json_t *leases;      //  Borrowed; may be NULL
} hello_t;

//  The newest version of the protocol that both speak. Returns NULL, or a sentence with both
//  ranges, in text.

static const char *
s_read_protocol (const json_t *body, int *ret_protocol, char *text, size_t size)
{
    const json_t *range = json_object_get (body, "protocols");
    json_int_t newest = json_integer_value (json_object_get (body, "protocol")), oldest = newest;
    argos_writer_t sentence = { .size = 0 };
    if (range) {
        oldest = json_integer_value (json_array_get (range, 0));
        newest = json_integer_value (json_array_get (range, 1));
    }
    *ret_protocol = newest < PROTOCOL_NEWEST ? (int) newest : PROTOCOL_NEWEST;
    if (oldest <= newest && oldest <= PROTOCOL_NEWEST && newest >= PROTOCOL_OLDEST)
        return NULL;
    argos_writer_raw (&sentence, "no common protocol: " ARGOS_BUILD " speaks ");
    argos_writer_int (&sentence, PROTOCOL_OLDEST);
    argos_writer_raw (&sentence, " to ");
    argos_writer_int (&sentence, PROTOCOL_NEWEST);
    argos_writer_raw (&sentence, ", hello says ");
    argos_writer_int (&sentence, oldest);
    argos_writer_raw (&sentence, " to ");
    argos_writer_int (&sentence, newest);
    if (sentence.size >= size)
        return "no common protocol";
    memcpy (text, sentence.data, sentence.size);
    text[sentence.size] = 0;
    return text;
}

//  Returns NULL, or what is wrong with the body; that may be in text.

static const char *
s_read_hello (json_t *body, hello_t *ret_hello, char *text, size_t size)
{
    const char *name = json_string_value (json_object_get (body, "name"));
    json_t *instance = json_object_get (body, "instance");
    json_t *leases = json_object_get (body, "leases");
    int protocol;
    const char *wrong = s_read_protocol (body, &protocol, text, size);
    if (wrong)
        return wrong;
    if (!name || !argos_name_valid (name))
        return "hello needs a name of 1 to 64 of a-z 0-9 . _ - @";
    if (!json_is_integer (instance) || json_integer_value (instance) < 1)
        return "hello needs an instance, a number that grows with each start";
    if (leases && (!json_is_array (leases) || json_array_size (leases) > HELLO_LEASES_MAX))
        return "leases is a list of at most 4096";
    const char *build = json_string_value (json_object_get (body, "build"));
    *ret_hello =
        (hello_t){ name, build ? build : "", json_integer_value (instance), protocol, leases };
    return NULL;
}

//  ------------------------------------------------------------------------------------------------
//  Who may come in, and as what

//  The key that was shown: by the connection itself over tcp, by a token over ipc; none is NULL.
//  Returns NULL, or why it is not taken.

static const char *
s_shown (const argos_core_t *self, const argos_who_t *who, const json_t *body,
    const argos_keyring_key_t **ret_key)
{
    const char *token = json_string_value (json_object_get (body, "token"));
    *ret_key = NULL;
    if (who->via == ARGOS_VIA_TCP && !(*ret_key = argos_keyring_named (self->keyring, who->key)))
        return "that key is not known any more";
    if (who->via == ARGOS_VIA_IPC && token &&
        !(*ret_key = argos_keyring_of_token (self->keyring, token)))
        return "that token is not known";
    return NULL;
}

//  What a peer with that key may do, under the name that it says. Returns NULL, or why it may not
//  come in.

static const char *
s_admit (const argos_core_t *self, const argos_who_t *who, const argos_keyring_key_t *key,
    const char *name, const argos_role_t **ret_role)
{
    char base[ARGOS_NAME_MAX + 1];
    *ret_role = argos_access_core (self->access);
    if (who->via == ARGOS_VIA_INPROC)
        return NULL;
    *ret_role = key ? argos_access_role (self->access, key->role) : argos_access_ipc (self->access);
    if (!*ret_role)
        return "the role of that key is not known here";
    argos_name_base (name, base);
    if (!argos_role_all (*ret_role) && argos_access_reserved (base))
        return "that name belongs to an actor of the core";
    if (!argos_keyring_may_bear (self->keyring, key, name))
        return key ? "the key doesn't allow that name" : "that name belongs to a key";
    return NULL;
}

//  What a session keeps of the key that was shown.

static void
s_keep_key (session_t *session, const argos_who_t *who, const argos_keyring_key_t *key)
{
    if (!key)
        return;
    const char *proof = who->via == ARGOS_VIA_TCP ? key->public_key : key->token_sha256;
    memcpy (session->key, key->name, strlen (key->name) + 1);
    memcpy (session->proof, proof, strlen (proof) + 1);
    memcpy (session->platform, key->platform, strlen (key->platform) + 1);
    memcpy (session->account, key->account, strlen (key->account) + 1);
}

static bool
s_still_good (const session_t *session)
{
    const argos_core_t *self = session->core;
    if (!session->key[0])
        return true;
    const argos_keyring_key_t *key = argos_keyring_named (self->keyring, session->key);
    return key &&
           strcmp (session->via == ARGOS_VIA_TCP ? key->public_key : key->token_sha256,
               session->proof) == 0 &&
           argos_access_role (self->access, key->role) == session->role &&
           strcmp (key->platform, session->platform) == 0 &&
           strcmp (key->account, session->account) == 0;
}

//  The keys have changed: who has come in by one that is gone, or means something else now, is
//  thrown out at once. Its messages have done nothing wrong: no strike for them.

void
argos_hello_recheck (argos_core_t *self)
{
    session_t *session, *next;
    HASH_ITER (hh_number, self->numbers, session, next) {
        if (s_still_good (session))
            continue;
        uint64_t conn = session->conn;
        argos_core_refuse (
            self, conn, "", ARGOS_DENIED, "the key has been revoked or changed", -1, false);
        argos_session_end (&session, 0);
        argos_session_close_soon (self, conn);
    }
}

//  ------------------------------------------------------------------------------------------------
//  The session of a hello

//  name/instance, and /boot for a session in our own process, which can't outlive it.

static void
s_set_holder (session_t *session)
{
    argos_writer_t text = { .size = 0 };
    argos_writer_raw (&text, session->name);
    argos_writer_raw (&text, "/");
    argos_writer_int (&text, session->instance);
    if (session->via == ARGOS_VIA_INPROC) {
        argos_writer_raw (&text, "/");
        argos_writer_int (&text, session->core->config.boot);
    }
    assert (text.size < sizeof session->holder);
    memcpy (session->holder, text.data, text.size);
    session->holder[text.size] = 0;
}

//  The declared leases become pairs of the store's request. Returns NULL when one is not of the
//  form.

static item_t *
s_hello_item (session_t *session, const char *id, json_t *leases)
{
    size_t count = json_array_size (leases), i;
    json_t *lease;
    item_t *item = argos_intake_item (session->core, ARGOS_ST_HELLO, 0);
    memcpy (item->id, id, strlen (id) + 1);
    memcpy (item->req->name, session->name, sizeof session->name);
    memcpy (item->req->holder, session->holder, sizeof session->holder);
    if (count == 0)
        return item;
    item->req->pairs = calloc (count, sizeof item->req->pairs[0]);
    assert (item->req->pairs);
    item->req->pair_count = count;
    json_array_foreach (leases, i, lease) {
        item->req->pairs[i].seq = json_integer_value (json_object_get (lease, "seq"));
        item->req->pairs[i].lease = json_integer_value (json_object_get (lease, "lease"));
    }
    return item;
}

//  Make room for the new session: a connection or a name can have one only. Returns false when the
//  newcomer is the older.

static bool
s_displace (argos_core_t *self, uint64_t conn, const hello_t *hello)
{
    session_t *old;
    HASH_FIND (hh_name, self->names, hello->name, strlen (hello->name), old);
    if (old && old->instance > hello->instance)
        return false;
    if (old) {
        if (old->instance < hello->instance && old->conn != conn)
            argos_core_refuse (self, old->conn, "", ARGOS_SUPERSEDED, NULL, -1, false);
        argos_session_end (&old, -2);
    }
    HASH_FIND (hh, self->sessions, &conn, sizeof conn, old);
    if (old)
        argos_session_end (&old, -1);
    return true;
}

static void
s_begin (argos_core_t *self, const argos_who_t *who, session_t *session,
    const argos_header_t *header, const hello_t *hello)
{
    session->instance = hello->instance;
    session->protocol = hello->protocol;
    session->via = who->via;
    memcpy (session->build, hello->build, strlen (hello->build) + 1); //  Bounded by its schema
    s_set_holder (session);
    HASH_ADD (hh, self->sessions, conn, sizeof session->conn, session);
    HASH_ADD (hh_name, self->names, name, (unsigned) strlen (session->name), session);
    if (who->via != ARGOS_VIA_INPROC)
        argos_session_watch (session);
    argos_intake_queue (session, s_hello_item (session, header->id, hello->leases));
}

void
argos_hello (argos_core_t *self, uint64_t conn, const argos_who_t *who,
    const argos_header_t *header, argos_frame_t *frame)
{
    hello_t hello;
    char text[160];
    const argos_keyring_key_t *key = NULL;
    const argos_role_t *role = NULL;
    const noise_t noise = argos_penalty_of (self, conn);
    argos_err_t code = ARGOS_INVALID;
    json_t *body = argos_core_body (self, conn, header, frame);
    if (!body)
        return;
    const char *wrong = s_read_hello (body, &hello, text, sizeof text);
    if (!wrong) {
        code = ARGOS_DENIED;
        wrong = s_shown (self, who, body, &key);
    }
    if (!wrong)
        wrong = s_admit (self, who, key, hello.name, &role);
    if (wrong)
        argos_core_refuse (self, conn, header->id, code, wrong, -1, false);
    else if (HASH_CNT (hh_number, self->numbers) > SESSIONS_MAX)
        argos_core_refuse (self, conn, header->id, ARGOS_BUSY, "too many sessions", -1, false);
    else if (argos_penalty_holds (self, hello.name))
        argos_core_refuse (self, conn, header->id, ARGOS_BUSY,
            "you were put out a moment ago; come again in 5 s", -1, false);
    else if (!s_displace (self, conn, &hello))
        argos_core_refuse (self, conn, header->id, ARGOS_SUPERSEDED, NULL, -1, false);
    else {
        session_t *session = argos_session_new (self, conn, hello.name);
        session->role = role;
        s_keep_key (session, who, key);
        session->drained = argos_drain_holds (self, session->name);
        session->noise = noise;
        s_begin (self, who, session, header, &hello);
        argos_penalty_charge (session, COST_HELLO);
    }
    json_decref (body);
}

//  The verdicts on the declared leases: valid ones are the session's now.

static json_t *
s_verdicts (session_t *session, const argos_storage_ans_t *ans)
{
    json_t *list = json_array ();
    for (size_t i = 0; i < ans->pair_count; i++) {
        const argos_storage_pair_t *pair = &ans->pairs[i];
        lane_t *lane = argos_lane_of_head (session->core, pair->seq);
        const char *state = pair->verdict == 'v' ? "valid" : pair->verdict == 'd' ? "done" : "lost";
        if (pair->verdict == 'v' && lane)
            argos_lane_adopt (lane, session->number);
        json_array_append_new (list, json_pack ("{s:I,s:I,s:s}", "seq", (json_int_t) pair->seq,
                                         "lease", (json_int_t) pair->lease, "state", state));
    }
    return list;
}

//  The session is open: say so, and show it what it holds.

static void
s_welcome (session_t *session, const char *id, const argos_storage_ans_t *ans)
{
    argos_core_t *self = session->core;
    session->open = true;
    json_t *leases = s_verdicts (session, ans);
    session->granted_messages = self->config.window_messages;
    session->granted_bytes = self->config.window_bytes;
    json_t *body = json_pack ("{s:s,s:I,s:i,s:s,s:I,s:I,s:{s:I,s:I},s:o}", "store", self->store_id,
        "boot", (json_int_t) self->config.boot, "protocol", session->protocol, "build", ARGOS_BUILD,
        "lease_ms", (json_int_t) self->config.lease_ms, "ping_ms",
        (json_int_t) (session->via == ARGOS_VIA_INPROC ? 0 : self->config.ping_ms), "window",
        "messages", (json_int_t) session->granted_messages, "bytes",
        (json_int_t) session->granted_bytes, "leases", leases);
    char *text = json_dumps (body, JSON_COMPACT);
    assert (text);
    argos_core_word (self, session->conn, "welcome", id, text);
    session->packs = session->protocol >= ARGOS_PACK_PROTOCOL;
    free (text);
    json_decref (body);
    for (size_t i = 0; i < ans->pair_count; i++) {
        lane_t *lane = argos_lane_of_head (self, ans->pairs[i].seq);
        if (lane && ans->pairs[i].verdict == 'v')
            argos_lane_show (lane);
    }
}

void
argos_hello_stored (argos_core_t *self, item_t *item, argos_storage_ans_t *ans)
{
    session_t *session = argos_session_find (self, item->session);
    if (ans->code != ARGOS_OK) {
        if (session) {
            argos_core_refuse (self, session->conn, item->id, ans->code, ans->reason, -1, false);
            argos_session_end (&session, -2);
        }
        return;
    }
    for (size_t i = 0; i < ans->freed_count; i++) {
        lane_t *lane = argos_lane_of_head (self, ans->freed[i].seq);
        argos_stats_note (self, (argos_trace_note_t){ .event = ARGOS_TRACE_RELEASED,
                                    .seq = ans->freed[i].seq,
                                    .peer = session ? session->name : "" });
        if (lane)
            argos_lane_freed (lane, ans->freed[i].strikes);
    }
    for (size_t i = 0; i < ans->gone_count; i++) {
        lane_t *lane = argos_lane_of_head (self, ans->gone[i]);
        argos_stats_note (self, (argos_trace_note_t){ .event = ARGOS_TRACE_DEAD,
                                    .seq = ans->gone[i],
                                    .peer = session ? session->name : "" });
        if (lane)
            argos_lane_consume (lane, &ans->gone[i], 1);
    }
    if (session)
        s_welcome (session, item->id, ans);
    argos_entry_rows (self, ans);
}
