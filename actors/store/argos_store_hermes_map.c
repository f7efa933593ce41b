//  argos_store_hermes_map - see the header.
//
//  Invariant: what comes out fits the schemas of session.import and route.bind. Limits: TEXT_MAX
//  bytes of a text, SMALL_MAX of one that is for people or a name.

#include "argos_store_hermes_map.h"

#include "argos_store_priv.h"

#include <stdlib.h>
#include <string.h>

#define TEXT_MAX ARGOS_STORE_HERMES_TEXT
#define TITLE_MAX 400 //  Bytes of a title
#define SMALL_MAX 255 //  Bytes of a name
#define TIME_MAX ARGOS_STORE_HERMES_TIME
#define COUNT_MAX (1LL << 53) //  Of tokens or calls; a greater number is taken for this one

enum {
    S_ID,
    S_PARENT,
    S_SOURCE,
    S_USER,
    S_MODEL,
    S_CONFIG,
    S_STARTED,
    S_ENDED,
    S_REASON,
    S_TITLE,
    S_TITLE_SOURCE,
    S_LAST,
    S_REWINDS,
    S_ARCHIVED,
    S_HIDDEN,
    S_CHAT,
    S_CHAT_TYPE,
    S_THREAD,
    S_NAME,
    S_CALLS,
    S_INPUT,
    S_OUTPUT,
    S_CACHE_READ,
    S_CACHE_WRITE,
    S_REASONING,
    S_PROVIDER,
    S_URL,
    S_MODE,
    S_ESTIMATED,
    S_ACTUAL,
    S_STATUS,
    S_COST_SOURCE
};

const char *const argos_store_hermes_session_columns[] = { "id", "parent_session_id", "source",
    "user_id", "model", "model_config", "started_at", "ended_at", "end_reason", "title",
    "title_source", "last_activity_at", "rewind_count", "archived", "hidden", "chat_id",
    "chat_type", "thread_id", "display_name", "api_call_count", "input_tokens", "output_tokens",
    "cache_read_tokens", "cache_write_tokens", "reasoning_tokens", "billing_provider",
    "billing_base_url", "billing_mode", "estimated_cost_usd", "actual_cost_usd", "cost_status",
    "cost_source" };
const size_t argos_store_hermes_session_count =
    sizeof argos_store_hermes_session_columns / sizeof *argos_store_hermes_session_columns;

enum {
    M_ID,
    M_ROLE,
    M_CONTENT,
    M_CALLS,
    M_CALL_ID,
    M_TOOL,
    M_TIME,
    M_FINISH,
    M_ACTIVE,
    M_COMPACTED,
    M_PLATFORM_ID,
    M_OBSERVED,
    M_REASONING,
    M_REASONING_CONTENT,
    M_DETAILS,
    M_CODEX_REASONING,
    M_CODEX_MESSAGES
};

const char *const argos_store_hermes_message_columns[] = { "id", "role", "content", "tool_calls",
    "tool_call_id", "tool_name", "timestamp", "finish_reason", "active", "compacted",
    "platform_message_id", "observed", "reasoning", "reasoning_content", "reasoning_details",
    "codex_reasoning_items", "codex_message_items" };
const size_t argos_store_hermes_message_count =
    sizeof argos_store_hermes_message_columns / sizeof *argos_store_hermes_message_columns;

const char *const argos_store_hermes_usage_columns[] = { "model", "billing_provider",
    "billing_base_url", "billing_mode", "task", "api_call_count", "input_tokens", "output_tokens",
    "cache_read_tokens", "cache_write_tokens", "reasoning_tokens", "estimated_cost_usd",
    "actual_cost_usd", "cost_status", "cost_source", "first_seen", "last_seen" };
const size_t argos_store_hermes_usage_count =
    sizeof argos_store_hermes_usage_columns / sizeof *argos_store_hermes_usage_columns;

//  ------------------------------------------------------------------------------------------------
//  Values

//  A member out of a column that is a text, at most max bytes; none when it is NULL or empty.

static void
s_set_text (json_t *object, const char *name, sqlite3_stmt *stmt, int column, size_t max)
{
    const char *bytes = (const char *) sqlite3_column_text (stmt, column);
    int size = sqlite3_column_bytes (stmt, column);
    if (bytes && size > 0)
        json_object_set_new (
            object, name, argos_store_hermes_text (bytes, (size_t) size, max, NULL));
}

static void
s_set_json (json_t *object, const char *name, sqlite3_stmt *stmt, int column)
{
    json_t *value = NULL;
    if (sqlite3_column_type (stmt, column) == SQLITE_TEXT &&
        sqlite3_column_bytes (stmt, column) <= TEXT_MAX)
        value = argos_store_json ((argos_sql_row_t *) stmt, column);
    if (value)
        json_object_set_new (object, name, value);
}

//  Counts are not negative; what is no number is none.

static int64_t
s_count (sqlite3_stmt *stmt, int column)
{
    int64_t count = sqlite3_column_int64 (stmt, column);
    return count < 0 ? 0 : count > COUNT_MAX ? COUNT_MAX : count;
}

static void
s_set_count (json_t *object, const char *name, sqlite3_stmt *stmt, int column)
{
    int64_t count = s_count (stmt, column);
    if (count)
        json_object_set_new (object, name, json_integer (count));
}

static void
s_set_cost (json_t *object, const char *name, sqlite3_stmt *stmt, int column)
{
    double cost = sqlite3_column_double (stmt, column);
    if (sqlite3_column_type (stmt, column) != SQLITE_NULL && cost >= 0 && cost < 1e12)
        json_object_set_new (object, name, json_real (cost));
}

//  Seconds as msec; absent when they are no time.

static int64_t
s_time (sqlite3_stmt *stmt, int column, int64_t absent)
{
    int type = sqlite3_column_type (stmt, column);
    double seconds = sqlite3_column_double (stmt, column);
    if ((type != SQLITE_FLOAT && type != SQLITE_INTEGER) || !(seconds > 0 && seconds < TIME_MAX))
        return absent;
    return (int64_t) (seconds * 1000);
}

//  ------------------------------------------------------------------------------------------------
//  Where something comes from

//  The name of a platform as it may be here, new.

static json_t *
s_platform (const char *name)
{
    char target[33];
    size_t size = 0;
    for (; name && *name && size < sizeof target - 1; name++) {
        unsigned char letter = (unsigned char) *name;
        if (letter >= 'A' && letter <= 'Z')
            letter = (unsigned char) (letter + 'a' - 'A');
        bool word = letter >= 'a' && letter <= 'z';
        bool later = (letter >= '0' && letter <= '9') || letter == '_';
        if (word || (later && size))
            target[size++] = (char) letter;
        else if (size)
            target[size++] = '_';
    }
    return size < 2 ? json_string ("unknown") : json_stringn (target, size);
}

static void
s_chat_type (json_t *source, const char *type)
{
    static const char *const types[] = { "dm", "group", "channel", "forum", "thread", "webhook" };
    size_t at = 0;
    while (at < 5 && (!type || strcmp (types[at], type) != 0))
        at++;
    bool known = type && strcmp (types[at], type) == 0;
    json_object_set_new (source, "chat_type", json_string (known ? types[at] : "dm"));
}

//  ------------------------------------------------------------------------------------------------
//  Rows

static const char *
s_kind (sqlite3_stmt *stmt, bool continued)
{
    const char *source = (const char *) sqlite3_column_text (stmt, S_SOURCE);
    json_t *config = argos_store_json ((argos_sql_row_t *) stmt, S_CONFIG);
    bool branch = json_object_get (config, "_branched_from") != NULL;
    bool delegate = json_object_get (config, "_delegate_from") != NULL ||
                    (source && (strcmp (source, "tool") == 0 || strcmp (source, "subagent") == 0));
    json_decref (config);
    return delegate                               ? "delegate"
           : branch                               ? "branch"
           : continued                            ? "compression"
           : sqlite3_column_text (stmt, S_PARENT) ? "branch"
                                                  : "root";
}

static json_t *
s_session_source (sqlite3_stmt *stmt)
{
    json_t *source = json_object ();
    json_object_set_new (
        source, "platform", s_platform ((const char *) sqlite3_column_text (stmt, S_SOURCE)));
    json_object_set_new (source, "account", json_string ("main"));
    s_chat_type (source, (const char *) sqlite3_column_text (stmt, S_CHAT_TYPE));
    s_set_text (source, "chat_id", stmt, S_CHAT, SMALL_MAX);
    s_set_text (source, "thread_id", stmt, S_THREAD, SMALL_MAX);
    s_set_text (source, "user_id", stmt, S_USER, SMALL_MAX);
    s_set_text (source, "chat_name", stmt, S_NAME, SMALL_MAX);
    return source;
}

static void
s_set_title (json_t *session, sqlite3_stmt *stmt)
{
    const char *source = (const char *) sqlite3_column_text (stmt, S_TITLE_SOURCE);
    s_set_text (session, "title", stmt, S_TITLE, TITLE_MAX);
    if (!json_object_get (session, "title"))
        return;
    bool automatic = source && (strcmp (source, "derived") == 0 || strcmp (source, "llm") == 0);
    bool branch = source && strncmp (source, "branch", 6) == 0;
    json_object_set_new (session, "title_source",
        json_string (automatic ? "auto"
                     : branch  ? "branch"
                               : "user"));
}

//  What the row does not say its messages do: a session without a time would be the oldest of all,
//  and the first that is pruned.

static void
s_set_times (json_t *session, sqlite3_stmt *stmt, const argos_store_hermes_span_t *span)
{
    int64_t ended = s_time (stmt, S_ENDED, 0);
    int64_t last = s_time (stmt, S_LAST, span->newest ? span->newest : ended);
    int64_t started = s_time (stmt, S_STARTED, span->oldest ? span->oldest : last);
    json_object_set_new (session, "started_at", json_integer (started));
    json_object_set_new (
        session, "last_activity_at", json_integer (last > started ? last : started));
    if (ended) {
        json_object_set_new (session, "ended_at", json_integer (ended));
        s_set_text (session, "end_reason", stmt, S_REASON, 256);
    }
}

void
argos_store_hermes_span (sqlite3_stmt *stmt, argos_store_hermes_span_t *span)
{
    span->oldest = s_time (stmt, 0, 0);
    span->newest = s_time (stmt, 1, 0);
}

json_t *
argos_store_hermes_session (sqlite3_stmt *stmt, bool continued,
    const argos_store_hermes_span_t *span, argos_store_hermes_note_t *note)
{
    const char *id = (const char *) sqlite3_column_text (stmt, S_ID);
    int size = sqlite3_column_bytes (stmt, S_ID);
    bool cut = false;
    json_t *name =
        id ? argos_store_hermes_text (id, (size_t) size, ARGOS_STORE_SESSION_MAX - 1, &cut) : NULL;
    if (!name || size == 0 || cut || json_string_length (name) != (size_t) size) {
        note->why = "its id can't be used";
        json_decref (name);
        return NULL;
    }
    json_t *session = json_pack ("{s:o, s:s, s:o}", "id", name, "kind", s_kind (stmt, continued),
        "source", s_session_source (stmt));
    s_set_text (session, "parent", stmt, S_PARENT, ARGOS_STORE_SESSION_MAX - 1);
    s_set_text (session, "model", stmt, S_MODEL, 128);
    s_set_title (session, stmt);
    s_set_times (session, stmt, span);
    s_set_count (session, "rewind_count", stmt, S_REWINDS);
    s_set_count (session, "input_tokens", stmt, S_INPUT);
    s_set_count (session, "output_tokens", stmt, S_OUTPUT);
    s_set_cost (session, "cost_usd", stmt,
        sqlite3_column_type (stmt, S_ACTUAL) == SQLITE_NULL ? S_ESTIMATED : S_ACTUAL);
    if (sqlite3_column_int (stmt, S_ARCHIVED))
        json_object_set_new (session, "archived", json_true ());
    if (sqlite3_column_int (stmt, S_HIDDEN))
        json_object_set_new (session, "hidden", json_true ());
    return session;
}

//  From when to when a model was used: as long as its session when the columns do not say.

static void
s_set_used (json_t *usage, const json_t *session, int64_t first, int64_t last)
{
    int64_t started = json_integer_value (json_object_get (session, "started_at"));
    int64_t active = json_integer_value (json_object_get (session, "last_activity_at"));
    json_object_set_new (usage, "first_at", json_integer (first ? first : started));
    json_object_set_new (usage, "last_at", json_integer (last ? last : active));
}

void
argos_store_hermes_own_usage (sqlite3_stmt *stmt, const json_t *session, json_t *list)
{
    json_t *usage = json_object ();
    s_set_text (usage, "model", stmt, S_MODEL, 128);
    s_set_text (usage, "provider", stmt, S_PROVIDER, 64);
    s_set_text (usage, "base_url", stmt, S_URL, 512);
    s_set_text (usage, "mode", stmt, S_MODE, 64);
    json_object_set_new (usage, "calls", json_integer (s_count (stmt, S_CALLS)));
    static const char *const names[] = { "input_tokens", "output_tokens", "cache_read_tokens",
        "cache_write_tokens", "reasoning_tokens" };
    bool used = s_count (stmt, S_CALLS) > 0;
    for (int i = 0; i < 5; i++) {
        s_set_count (usage, names[i], stmt, S_INPUT + i);
        used = used || json_object_get (usage, names[i]);
    }
    s_set_cost (usage, "estimated_usd", stmt, S_ESTIMATED);
    s_set_cost (usage, "actual_usd", stmt, S_ACTUAL);
    s_set_text (usage, "cost_status", stmt, S_STATUS, 32);
    s_set_text (usage, "cost_source", stmt, S_COST_SOURCE, 64);
    s_set_used (usage, session, 0, s_time (stmt, S_ENDED, 0));
    if (used && json_object_get (usage, "model"))
        json_array_append (list, usage);
    json_decref (usage);
}

json_t *
argos_store_hermes_usage (sqlite3_stmt *stmt, const json_t *session)
{
    static const char *const texts[] = { "model", "provider", "base_url", "mode", "task" };
    static const size_t sizes[] = { 128, 64, 512, 64, 64 };
    static const char *const counts[] = { "input_tokens", "output_tokens", "cache_read_tokens",
        "cache_write_tokens", "reasoning_tokens" };
    json_t *usage = json_object ();
    for (int i = 0; i < 5; i++)
        s_set_text (usage, texts[i], stmt, i, sizes[i]);
    json_object_set_new (usage, "calls", json_integer (s_count (stmt, 5)));
    for (int i = 0; i < 5; i++)
        s_set_count (usage, counts[i], stmt, 6 + i);
    s_set_cost (usage, "estimated_usd", stmt, 11);
    s_set_cost (usage, "actual_usd", stmt, 12);
    s_set_text (usage, "cost_status", stmt, 13, 32);
    s_set_text (usage, "cost_source", stmt, 14, 64);
    s_set_used (usage, session, s_time (stmt, 15, 0), s_time (stmt, 16, 0));
    if (json_object_get (usage, "model"))
        return usage;
    json_decref (usage);
    return NULL;
}

//  The texts of a list of parts, or of one part, and what the others are, as one text, new.

static json_t *
s_parts_text (json_t *value)
{
    json_t *text = json_string (""), *part;
    json_t *parts = json_is_object (value) ? json_pack ("[O]", value) : json_incref (value);
    size_t index;
    json_array_foreach (parts, index, part) {
        const char *said = json_string_value (json_object_get (part, "text"));
        const char *type = json_string_value (json_object_get (part, "type"));
        const char *before = json_string_value (text);
        json_t *longer =
            said ? json_sprintf ("%s%s%s", before, *before ? "\n" : "", said)
                 : json_sprintf ("%s%s[%s]", before, *before ? "\n" : "", type ? type : "part");
        if (longer) {
            json_decref (text);
            text = longer;
        }
    }
    json_decref (parts);
    return text;
}

//  The content: a text, or behind one NUL and `json:` a list or an object; its texts are the
//  content here, and it stays beside them.

static void
s_content (json_t *message, sqlite3_stmt *stmt, argos_store_hermes_note_t *note)
{
    static const char mark[] = "\0json:";
    const char *bytes = sqlite3_column_type (stmt, M_CONTENT) == SQLITE_NULL
                            ? NULL
                            : sqlite3_column_blob (stmt, M_CONTENT);
    size_t size = (size_t) sqlite3_column_bytes (stmt, M_CONTENT), length = sizeof mark - 1;
    if (!bytes)
        return;
    if (size > length && memcmp (bytes, mark, length) == 0) {
        json_t *value = json_loadb (bytes + length, size - length, JSON_DECODE_ANY, NULL);
        if (size <= TEXT_MAX && (json_is_array (value) || json_is_object (value))) {
            json_object_set_new (message, "content", s_parts_text (value));
            json_object_set_new (message, "parts", value);
            return;
        }
        if (size <= TEXT_MAX && json_is_string (value)) {
            json_object_set_new (message, "content", value);
            return;
        }
        json_decref (value);
        bytes += length;
        size -= length;
    }
    json_object_set_new (
        message, "content", argos_store_hermes_text (bytes, size, TEXT_MAX, &note->cut));
}

//  A single call stands for a list of one. What is no list of calls is left out, and told unless it
//  is empty.

static void
s_calls (json_t *message, sqlite3_stmt *stmt, argos_store_hermes_note_t *note)
{
    bool some = sqlite3_column_bytes (stmt, M_CALLS) > 4; //  Not "", "[]", "{}" or "null"
    s_set_json (message, "tool_calls", stmt, M_CALLS);
    json_t *calls = json_object_get (message, "tool_calls"), *call;
    size_t index;
    if (json_is_object (calls))
        json_object_set_new (message, "tool_calls", json_pack ("[O]", calls));
    calls = json_object_get (message, "tool_calls");
    bool good =
        json_is_array (calls) && json_array_size (calls) > 0 && json_array_size (calls) <= 128;
    json_array_foreach (calls, index, call)
        good = good && json_is_object (call);
    if (good)
        return;
    json_object_del (message, "tool_calls");
    if (some)
        note->why = "its tool calls can't be used: it comes without them";
}

json_t *
argos_store_hermes_message (sqlite3_stmt *stmt, int64_t started_at, argos_store_hermes_note_t *note)
{
    static const char *const roles[] = { "user", "assistant", "tool", "system" };
    const char *role = (const char *) sqlite3_column_text (stmt, M_ROLE);
    size_t at = 0;
    while (at < 4 && (!role || strcmp (roles[at], role) != 0))
        at++;
    if (at == 4) {
        note->why = "its role is none of user, assistant, tool, system";
        return NULL;
    }
    json_t *message = json_pack (
        "{s:s, s:I}", "role", roles[at], "at", (json_int_t) s_time (stmt, M_TIME, started_at));
    s_content (message, stmt, note);
    s_calls (message, stmt, note);
    s_set_text (message, "tool_call_id", stmt, M_CALL_ID, 128);
    s_set_text (message, "tool_name", stmt, M_TOOL, 64);
    s_set_text (message, "finish_reason", stmt, M_FINISH, 64);
    s_set_text (message, "platform_message_id", stmt, M_PLATFORM_ID, SMALL_MAX);
    s_set_text (message, "reasoning", stmt, M_REASONING, TEXT_MAX / 4);
    s_set_text (message, "reasoning_content", stmt, M_REASONING_CONTENT, TEXT_MAX / 4);
    s_set_json (message, "reasoning_details", stmt, M_DETAILS);
    s_set_json (message, "codex_reasoning_items", stmt, M_CODEX_REASONING);
    s_set_json (message, "codex_message_items", stmt, M_CODEX_MESSAGES);
    if (sqlite3_column_int (stmt, M_OBSERVED))
        json_object_set_new (message, "observed", json_true ());
    //  A NULL hides nothing
    if (sqlite3_column_type (stmt, M_ACTIVE) != SQLITE_NULL &&
        sqlite3_column_int (stmt, M_ACTIVE) == 0) {
        json_object_set_new (message, "active", json_false ());
        json_object_set_new (
            message, "compacted", json_boolean (sqlite3_column_int (stmt, M_COMPACTED)));
    }
    if (note->cut)
        note->why = "it is longer than 256 KiB: the rest was left out";
    return message;
}

json_t *
argos_store_hermes_route (const json_t *entry, argos_store_hermes_note_t *note)
{
    static const char *const names[] = { "chat_id", "thread_id", "user_id", "user_id_alt",
        "user_name", "chat_name" };
    const json_t *origin = json_object_get (entry, "origin");
    const char *id = json_string_value (json_object_get (entry, "session_id"));
    const char *platform = json_string_value (json_object_get (origin, "platform"));
    if (!id || !*id || strlen (id) >= ARGOS_STORE_SESSION_MAX || !platform) {
        note->why = !json_is_object (entry) ? "it is no JSON object"
                    : !platform             ? "it does not say where it comes from"
                                            : "it has no session";
        return NULL;
    }
    json_t *source = json_object ();
    json_object_set_new (source, "platform", s_platform (platform));
    json_object_set_new (source, "account", json_string ("main"));
    s_chat_type (source, json_string_value (json_object_get (origin, "chat_type")));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        json_t *value = json_object_get (origin, names[i]);
        const char *text = json_string_value (value);
        if (text && *text)
            json_object_set_new (source, names[i],
                argos_store_hermes_text (text, json_string_length (value), SMALL_MAX, NULL));
    }
    return json_pack ("{s:s, s:o}", "session_id", id, "source", source);
}
