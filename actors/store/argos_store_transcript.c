//  argos_store_transcript - the messages of a session: load, append, replace, take back.
//
//  Invariant: a transcript is written only under the lease of the lane turn/<session>; what was
//  said is taken back also while that lane is idle. A failed load is a refusal, never an empty
//  transcript. Order is that of the numbers of the rows, never of a clock. Taking back keeps the
//  rows. Limits: a page of a transcript has at most ARGOS_STORE_PAGE_BYTES, but at least one
//  message.

#include "argos_store_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOOLS_MAX 8192   //  Bytes of the arguments of tools that search finds
#define PREVIEW_CHARS 60 //  Characters of a preview
#define PREVIEW_SIZE 256 //  Its bytes, terminated
#define STAMP_MS 1000    //  The time of the last activity may be so old

bool
argos_store_session_load (argos_store_t *self, argos_store_unit_t *unit)
{
    argos_store_session_t session;
    int64_t limit = argos_store_integer (unit->body, "limit_bytes", ARGOS_STORE_PAGE_BYTES);
    bool inactive = json_is_true (json_object_get (unit->body, "inactive"));
    int64_t last = argos_store_integer (unit->body, "last", 0);
    argos_sql_t sql = last       ? ARGOS_SQL_MESSAGE_SAID
                      : inactive ? ARGOS_SQL_MESSAGE_ALL
                                 : ARGOS_SQL_MESSAGE_PAGE;
    if (limit < 1 || limit > ARGOS_STORE_PAGE_BYTES)
        limit = ARGOS_STORE_PAGE_BYTES;
    //  A session with messages is there: it is looked for only when there are none, or for its
    //  owner
    bool owned = *argos_store_member (unit->body, "owner");
    if (owned && !argos_store_session_need (self, unit, &session))
        return false;
    argos_sql_row_t *stmt =
        argos_store_query (self, sql, "si", argos_store_member (unit->body, "id"),
            last ? last : argos_store_integer (unit->body, "after", 0));
    bool there = stmt || owned;
    if (there)
        unit->frame = argos_store_page (self, stmt, inactive, (size_t) limit);
    argos_store_end (self, sql);
    if (there)
        return true;
    if (self->failed || !argos_store_session_need (self, unit, &session))
        return false;
    unit->frame = argos_store_page (self, NULL, inactive, (size_t) limit);
    return true;
}

//  ------------------------------------------------------------------------------------------------
//  Writing

//  A message without what has columns of its own, new; NULL when nothing is left.

static json_t *
s_extra (json_t *message)
{
    json_t *extra = NULL, *value;
    const char *name;
    json_object_foreach (message, name, value) {
        if (strcmp (name, "role") == 0 || strcmp (name, "client_id") == 0 ||
            (strcmp (name, "content") == 0 && json_is_string (value)))
            continue;
        if (!extra)
            extra = json_object ();
        json_object_set (extra, name, value);
    }
    return extra;
}

char *
argos_store_message_tools (const json_t *message)
{
    const char *name = argos_store_member (message, "tool_name");
    char *text = *name ? strdup (name) : NULL;
    size_t index;
    json_t *call;
    json_array_foreach (json_object_get (message, "tool_calls"), index, call) {
        const json_t *function = json_object_get (call, "function");
        const char *called = argos_store_member (function, "name");
        const char *with = argos_store_member (function, "arguments");
        char *grown = NULL;
        int more = asprintf (&grown, "%s%s%s %.*s", text ? text : "", text ? " " : "", called,
            (int) argos_store_text_cut (with, TOOLS_MAX), with);
        free (text);
        text = more < 0 ? NULL : grown;
        if (more > TOOLS_MAX)
            break;
    }
    return text;
}

//  The beginning of a text on one line; "" when there is nothing to see.

static void
s_preview (const char *text, char target[static PREVIEW_SIZE])
{
    size_t size = 0, chars = 0;
    bool blank = false;
    for (; *text && chars <= PREVIEW_CHARS; text++) {
        unsigned char byte = (unsigned char) *text;
        if (byte <= ' ' || byte == 0x7f) {
            blank = size > 0;
            continue;
        }
        chars += (byte & 0xc0) != 0x80;
        if (chars + blank > PREVIEW_CHARS)
            break;
        if (blank) {
            target[size++] = ' ';
            chars++;
        }
        blank = false;
        target[size++] = (char) byte;
    }
    if (*text)
        memcpy (target + size, "...", 4);
    else
        target[size] = 0;
}

static bool
s_lane (argos_store_unit_t *unit, const char *id)
{
    return argos_store_own_lane (unit, id) ||
           argos_store_refuse (
               unit->ans, ARGOS_DENIED, "a transcript is written only under the lease of its lane");
}

//  The rows of messages; those whose client id is known are left out. Returns how many were added.

static int64_t
s_add (argos_store_t *self, const char *id, const json_t *messages, int64_t *ret_calls,
    char preview[static PREVIEW_SIZE])
{
    size_t index;
    json_t *message;
    int64_t added = 0;
    json_array_foreach (messages, index, message) {
        json_t *extra = s_extra (message);
        const char *role = argos_store_member (message, "role");
        const char *content = json_string_value (json_object_get (message, "content"));
        char *tools = extra ? argos_store_message_tools (extra) : NULL;
        argos_store_run (self, ARGOS_SQL_MESSAGE_ADD, "ssisjes", id, role, self->now, content,
            extra, argos_store_member (message, "client_id"), (const char *) tools);
        free (tools);
        json_decref (extra);
        if (self->failed || !argos_store_changed (self))
            continue;
        added++;
        *ret_calls += (int64_t) json_array_size (json_object_get (message, "tool_calls"));
        if (!*preview && content && strcmp (role, "user") == 0)
            s_preview (content, preview);
    }
    self->messages_behind += added;
    return added;
}

//  How an append is counted. The session that was active last stays so whatever its time is, and
//  the indexes that have the time are a third of the pages that a small commit writes: as long as
//  no other one is active, its time moves once in a while.

static argos_sql_t
s_count (argos_store_t *self, const char *id)
{
    int64_t since = self->now - self->stamped_at;
    if (since >= 0 && since < STAMP_MS && strcmp (self->stamped, id) == 0)
        return ARGOS_SQL_SESSION_COUNT_ONLY;
    argos_store_text_copy (self->stamped, id, sizeof self->stamped);
    self->stamped_at = self->now;
    return ARGOS_SQL_SESSION_COUNT;
}

bool
argos_store_session_append (argos_store_t *self, argos_store_unit_t *unit)
{
    const char *id = argos_store_member (unit->body, "session_id");
    char preview[PREVIEW_SIZE] = "";
    int64_t calls = 0;
    if (!s_lane (unit, id))
        return false;
    int64_t added = s_add (self, id, json_object_get (unit->body, "messages"), &calls, preview);
    argos_store_run (
        self, s_count (self, id), "siiie", id, added, calls, self->now, (const char *) preview);
    if (!self->failed && !argos_store_changed (self))
        return argos_store_refuse (unit->ans, ARGOS_NOT_FOUND, "no such session");
    return true;
}

static void
s_recount (argos_store_t *self, const char *id, int64_t rewinds)
{
    char preview[PREVIEW_SIZE] = "";
    argos_store_unstamp (self);
    argos_store_run (self, ARGOS_SQL_SESSION_RECOUNT, "sii", id, rewinds, self->now);
    argos_sql_row_t *stmt = argos_store_query (self, ARGOS_SQL_SESSION_FIRST, "s", id);
    if (stmt)
        s_preview (argos_sql_text (stmt, 0), preview);
    argos_store_end (self, ARGOS_SQL_SESSION_FIRST);
    argos_store_run (self, ARGOS_SQL_SESSION_PREVIEW, "se", id, (const char *) preview);
}

void
argos_store_session_recount (argos_store_t *self, const char *id)
{
    s_recount (self, id, 0);
}

//  A new transcript may have the client ids of what it folds, or was taken back.

static void
s_free_names (argos_store_t *self, const char *id, const json_t *messages)
{
    size_t index;
    json_t *message;
    json_array_foreach (messages, index, message) {
        const char *name = argos_store_member (message, "client_id");
        if (*name)
            argos_store_run (self, ARGOS_SQL_MESSAGE_RENAME, "ss", id, name);
    }
}

bool
argos_store_session_replace (argos_store_t *self, argos_store_unit_t *unit)
{
    const char *id = argos_store_member (unit->body, "session_id");
    bool compact = json_is_true (json_object_get (unit->body, "compact"));
    const json_t *messages = json_object_get (unit->body, "messages");
    argos_store_session_t session;
    char preview[PREVIEW_SIZE] = "";
    int64_t calls = 0;
    if (!s_lane (unit, id))
        return false;
    if (!argos_store_session_find (self, id, "", &session))
        return argos_store_refuse (unit->ans, ARGOS_NOT_FOUND, "no such session");
    argos_store_run (self, compact ? ARGOS_SQL_MESSAGE_FOLD : ARGOS_SQL_MESSAGE_CLEAR, "s", id);
    self->messages_dropped = self->messages_dropped || !compact;
    s_free_names (self, id, messages);
    int64_t added = s_add (self, id, messages, &calls, preview);
    if (!self->failed && added != (int64_t) json_array_size (messages))
        return argos_store_refuse (
            unit->ans, ARGOS_INVALID, "two of the messages have the same client_id");
    s_recount (self, id, 0);
    return true;
}

static bool
s_restore (argos_store_t *self, argos_store_unit_t *unit, const char *id)
{
    if (argos_store_number (self, 0, ARGOS_SQL_MESSAGE_NEWER, "s", id))
        return argos_store_refuse (
            unit->ans, ARGOS_CONFLICT, "something was written after it was taken back");
    argos_store_run (self, ARGOS_SQL_MESSAGE_RESTORE, "s", id);
    if (!self->failed && !argos_store_changed (self))
        return argos_store_refuse (unit->ans, ARGOS_CONFLICT, "nothing was taken back");
    s_recount (self, id, 0);
    return true;
}

bool
argos_store_session_rewind (argos_store_t *self, argos_store_unit_t *unit)
{
    const char *id = argos_store_member (unit->body, "session_id");
    int64_t message = argos_store_integer (unit->body, "message_id", 0);
    bool restore = json_is_true (json_object_get (unit->body, "restore"));
    argos_store_session_t session;
    //  Nobody works on it when its lane is idle: then whoever may do this needs no lease
    bool busy = argos_store_number (self, 0, ARGOS_SQL_LANE_COUNT, "ssi", "turn", id, (int64_t) 1);
    if (busy && !s_lane (unit, id))
        return false;
    if (restore == (message != 0))
        return argos_store_refuse (
            unit->ans, ARGOS_INVALID, "either message_id or restore is needed");
    if (!argos_store_session_find (self, id, "", &session))
        return argos_store_refuse (unit->ans, ARGOS_NOT_FOUND, "no such session");
    if (restore)
        return s_restore (self, unit, id);
    if (!argos_store_number (self, 0, ARGOS_SQL_MESSAGE_IS_USER, "si", id, message))
        return argos_store_refuse (
            unit->ans, ARGOS_NOT_FOUND, "no such message of the user in this transcript");
    argos_store_run (self, ARGOS_SQL_MESSAGE_REWIND, "si", id, message);
    s_recount (self, id, 1);
    return true;
}
