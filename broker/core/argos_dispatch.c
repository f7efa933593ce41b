//  argos_dispatch - the broker's entrance: takes messages, and hands them to the part that knows.
//
//  Invariant: nothing a peer sends can abort: each message ends as an effect or as a refusal that
//  names its id. Limits: those of argos_header.h, checked here before anything else looks at a
//  message; 64 messages of a session beyond its window; what counts in none is charged
//  (argos_penalty).

#include "argos_core_priv.h"

#include <string.h>

#define BEYOND_MAX 64 //  Messages of a session beyond its window

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
    return argos_commit_new (session, header, frames, count);
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
        return argos_commit_new (session, header, frames, 4);
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
        if (argos_penalty_charge (session, COST_WORD))
            words[word].handle (session, header, frames, count);
        return;
    }
    int64_t bytes = argos_core_bytes (frames, count);
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

//  Not a message. Refusing it is not for nothing either: who sends little else is put out.

static void
s_fault (argos_core_t *self, uint64_t conn, const char *id, argos_err_t code, const char *reason)
{
    session_t *session = argos_core_session (self, conn);
    argos_core_refuse (self, conn, id, code, reason, -1, false);
    if (session && session->open)
        argos_penalty_charge (session, COST_NONE);
}

bool
argos_core_message (
    argos_core_t *self, uint64_t conn, const argos_who_t *who, argos_frame_t **frames, size_t count)
{
    argos_header_t header;
    const char *reason = NULL;
    session_t *session = argos_core_session (self, conn);
    bool heard = false;

    if (count < 1 || frames[0]->size != 3 || memcmp (frames[0]->data, "AR1", 3) != 0) {
        argos_core_refuse (self, conn, "", ARGOS_INVALID,
            "the first frame is AR1, or the only one a packed message", -1, false);
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
    argos_core_count_in (self, session, argos_core_bytes (frames, count));
    if (session && session->open)
        argos_session_heard (session);
    if (code != ARGOS_OK)
        s_fault (self, conn, header.id, code, reason);
    else if (strcmp (header.type, "hello") == 0)
        argos_hello (self, conn, who, &header, frames[3]);
    else if (!session || !session->open)
        argos_core_refuse (self, conn, header.id, ARGOS_NO_SESSION, NULL, -1, false);
    else {
        heard = true;
        s_dispatch (session, &header, frames, count);
        session = argos_core_session (self, conn);
        if (session && session->open && session->quiet && !session->slow)
            argos_slow_over (session);
    }
    argos_intake_pump (self);
    return heard;
}
