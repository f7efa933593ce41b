//  argos_store_handoff - rows of handoffs: a session goes on at another platform.
//
//  Invariant: one row for a session; pending -> running -> completed or failed, each step a
//  compare-and-set on (id, state, epoch). A claim counts the epoch up, and so does the end of one
//  that was lost: who had it changes nothing any more. What is bound at the end is bound in the
//  same transaction, and what it was bound to is kept. Nothing is tried again once something was
//  sent, or a second time. Limits: ERROR_CHARS of an error; 100 rows of a list.

#include "argos_store_priv.h"

#include <string.h>

#define ERROR_CHARS 500 //  Characters of an error
#define PLATFORM_MAX 33 //  Bytes of a platform, terminated
#define CLAIM_MS 300000 //  A request waits so long
#define LEASE_MS 30000  //  A claim holds so long
#define LIST_DEFAULT 20 //  Rows of a list

static bool
s_moved_on (argos_store_unit_t *unit)
{
    return argos_store_refuse (
        unit->ans, ARGOS_CONFLICT, "the handoff is in another state, or another one has it");
}

//  Bytes of the first ERROR_CHARS characters of text, which is UTF-8.

static size_t
s_cut (const char *text)
{
    size_t size = 0, chars = 0;
    for (; text[size]; size++) {
        chars += ((unsigned char) text[size] & 0xc0) != 0x80;
        if (chars > ERROR_CHARS)
            break;
    }
    return size;
}

//  A platform as it is stored. False when it is the name of none.

static bool
s_platform (const char *given, char target[static PLATFORM_MAX])
{
    size_t size = 0;
    given += strspn (given, " \t\r\n");
    size_t length = strcspn (given, " \t\r\n");
    if (given[length + strspn (given + length, " \t\r\n")] || length < 2 || length >= PLATFORM_MAX)
        return false;
    for (; size < length; size++) {
        char letter = given[size];
        if (letter >= 'A' && letter <= 'Z')
            letter = (char) (letter + 'a' - 'A');
        bool word = letter >= 'a' && letter <= 'z';
        if (!word && (size == 0 || ((letter < '0' || letter > '9') && letter != '_')))
            return false;
        target[size] = letter;
    }
    target[size] = 0;
    return true;
}

bool
argos_store_handoff_request (argos_store_t *self, argos_store_unit_t *unit)
{
    const json_t *body = unit->body;
    const char *id = argos_store_member (body, "session_id");
    argos_store_session_t session;
    char platform[PLATFORM_MAX];
    if (!s_platform (argos_store_member (body, "platform"), platform))
        return argos_store_refuse (unit->ans, ARGOS_INVALID, "platform: it is the name of none");
    if (!argos_store_session_find (self, id, argos_store_member (body, "owner"), &session))
        return argos_store_refuse (unit->ans, ARGOS_NOT_FOUND, "no such session");
    argos_store_run (self, ARGOS_SQL_HANDOFF_CLEAR, "s", id);
    argos_store_run (self, ARGOS_SQL_HANDOFF_ADD, "sseeii", id, (const char *) platform,
        argos_store_member (body, "target"), argos_store_member (body, "cwd"), self->now,
        self->now + argos_store_integer (body, "claim_ms", CLAIM_MS));
    if (!self->failed && !argos_store_changed (self))
        return argos_store_refuse (
            unit->ans, ARGOS_CONFLICT, "a handoff of the session is on its way");
    return true;
}

bool
argos_store_handoff_claim (argos_store_t *self, argos_store_unit_t *unit)
{
    const json_t *body = unit->body;
    argos_store_run (self, ARGOS_SQL_HANDOFF_CLAIM, "iiisi", argos_store_integer (body, "id", 0),
        argos_store_integer (body, "epoch", 0), self->now, (const char *) unit->sender,
        self->now + argos_store_integer (body, "lease_ms", LEASE_MS));
    return self->failed || argos_store_changed (self) || s_moved_on (unit);
}

bool
argos_store_handoff_heartbeat (argos_store_t *self, argos_store_unit_t *unit)
{
    const json_t *body = unit->body;
    argos_store_run (self, ARGOS_SQL_HANDOFF_BEAT, "iiii", argos_store_integer (body, "id", 0),
        argos_store_integer (body, "epoch", 0),
        self->now + argos_store_integer (body, "lease_ms", LEASE_MS),
        (int64_t) json_is_true (json_object_get (body, "sent")));
    return self->failed || argos_store_changed (self) || s_moved_on (unit);
}

//  ------------------------------------------------------------------------------------------------
//  The end

//  A column of the handoff, a text; "" when it is NULL or there is none.

static void
s_column (argos_store_t *self, int64_t id, int column, char *target, size_t size)
{
    *target = 0;
    argos_sql_row_t *stmt = argos_store_query (self, ARGOS_SQL_HANDOFF_GET, "i", id);
    if (stmt)
        argos_store_text (stmt, column, target, size);
    argos_store_end (self, ARGOS_SQL_HANDOFF_GET);
}

bool
argos_store_handoff_complete (argos_store_t *self, argos_store_unit_t *unit)
{
    const json_t *body = unit->body;
    const char *key = argos_store_member (body, "key");
    int64_t id = argos_store_integer (body, "id", 0);
    char session[ARGOS_STORE_SESSION_MAX];
    argos_store_run (self, ARGOS_SQL_HANDOFF_COMPLETE, "iiie", id,
        argos_store_integer (body, "epoch", 0), self->now, key);
    if (!self->failed && !argos_store_changed (self))
        return s_moved_on (unit);
    s_column (self, id, 1, session, sizeof session);
    if (*key)
        argos_store_run (self, ARGOS_SQL_ROUTE_BIND, "ssji", key, (const char *) session,
            json_object_get (body, "source"), self->now);
    return true;
}

//  The route gets back what it was bound to, if it still is where the handoff has put it.

static void
s_restore (argos_store_t *self, int64_t id)
{
    char session[ARGOS_STORE_SESSION_MAX], key[ARGOS_KEY_MAX + 1];
    char previous[ARGOS_STORE_SESSION_MAX];
    s_column (self, id, 1, session, sizeof session);
    s_column (self, id, 16, key, sizeof key);
    s_column (self, id, 17, previous, sizeof previous);
    if (!*key || strcmp (previous, session) == 0)
        return;
    if (*previous)
        argos_store_run (self, ARGOS_SQL_ROUTE_BACK, "sssi", (const char *) key,
            (const char *) session, (const char *) previous, self->now);
    else
        argos_store_run (
            self, ARGOS_SQL_ROUTE_FORGET, "ss", (const char *) key, (const char *) session);
}

bool
argos_store_handoff_fail (argos_store_t *self, argos_store_unit_t *unit)
{
    const json_t *body = unit->body, *states = json_object_get (body, "states");
    int64_t id = argos_store_integer (body, "id", 0);
    char error[4 * ERROR_CHARS + 1], state[16];
    const char *given = argos_store_member (body, "error");
    size_t size = s_cut (given);
    memcpy (error, given, size);
    error[size] = 0;
    json_t *usual = states ? NULL : json_pack ("[s, s]", "pending", "running");
    s_column (self, id, 5, state, sizeof state);
    argos_store_run (self, ARGOS_SQL_HANDOFF_FAIL, "iiisj", id,
        argos_store_integer (body, "epoch", 0), self->now, (const char *) error,
        states ? states : usual);
    json_decref (usual);
    if (!self->failed && !argos_store_changed (self))
        return s_moved_on (unit);
    if (strcmp (state, "completed") == 0)
        s_restore (self, id);
    return true;
}

bool
argos_store_handoff_expire (argos_store_t *self, argos_store_unit_t *unit)
{
    bool own = json_is_true (json_object_get (unit->body, "own"));
    argos_store_run (self, ARGOS_SQL_HANDOFF_LOST, "ie", self->now, own ? unit->sender : "");
    argos_store_run (self, ARGOS_SQL_HANDOFF_GIVEN_UP, "i", self->now);
    return true;
}

//  ------------------------------------------------------------------------------------------------
//  Looking

//  The row that stmt stands on, new; NULL when there is none.

static json_t *
s_row (argos_sql_row_t *stmt)
{
    static const char *const names[] = { "id", "session_id", "platform", "target", "cwd", "state",
        "epoch", "claims", "sent", "requested_at", "claim_until", "claimed_at", "claimed_by",
        "lease_until", "ended_at", "error", "key", "previous", "title" };
    if (argos_sql_is_null (stmt, 0))
        return NULL;
    json_t *row = json_object ();
    for (int i = 0; i < argos_sql_width (stmt); i++) {
        if (argos_sql_is_int (stmt, i))
            json_object_set_new (row, names[i],
                i == 8 ? json_boolean (argos_sql_int (stmt, i))
                       : json_integer (argos_sql_int (stmt, i)));
        else if (!argos_sql_is_null (stmt, i))
            json_object_set_new (row, names[i], argos_store_string (stmt, i));
    }
    return row;
}

bool
argos_store_handoff_state (argos_store_t *self, argos_store_unit_t *unit)
{
    json_t *triple = NULL, *row = NULL;
    argos_sql_row_t *stmt = argos_store_query (self, ARGOS_SQL_HANDOFF_OF, "se",
        argos_store_member (unit->body, "session_id"), argos_store_member (unit->body, "owner"));
    if (stmt) {
        row = s_row (stmt);
        triple = json_pack ("{s:O?, s:O?, s:O?}", "state", json_object_get (row, "state"),
            "platform", json_object_get (row, "platform"), "error", json_object_get (row, "error"));
    }
    argos_store_end (self, ARGOS_SQL_HANDOFF_OF);
    unit->result = json_pack ("{s:o?, s:o?}", "handoff", triple, "row", row);
    return true;
}

bool
argos_store_handoff_list (argos_store_t *self, argos_store_unit_t *unit)
{
    const char *state = argos_store_member (unit->body, "state");
    json_t *list = json_array ();
    argos_sql_row_t *stmt = argos_store_query (self, ARGOS_SQL_HANDOFF_LIST, "sei",
        *state ? state : "pending", argos_store_member (unit->body, "platform"),
        argos_store_integer (unit->body, "limit", LIST_DEFAULT));
    while (stmt) {
        json_array_append_new (list, s_row (stmt));
        if (!argos_store_next (self, stmt))
            break;
    }
    argos_store_end (self, ARGOS_SQL_HANDOFF_LIST);
    unit->result = json_pack ("{s:o}", "handoffs", list);
    return true;
}
