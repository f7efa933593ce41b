//  argos_store_sql_sessions - the statements on sessions, their messages, titles and usage.
//
//  Invariant: what an owner does not have is not found by any statement that takes one (?: NULL =
//  whoever's). A title or an id is compared by ranges, never by LIKE, so that it has no wildcards.
//  Limit: lineages are followed for 100 steps.

#include "argos_store_priv.h"

#define COLUMNS                                                                                    \
    "s.id, s.title, s.source, s.started_at, s.ended_at, s.end_reason, s.message_count, s.version," \
    " s.owner, s.kind, s.parent, s.platform, s.model, s.title_source, s.last_activity_at,"         \
    " s.preview, s.tool_call_count, s.rewind_count, s.input_tokens, s.output_tokens, s.cost_usd,"  \
    " s.continued, s.hidden, s.archived, s.home"
//  The first of the sessions that were folded into each other up to this one
#define ROOT                                                                                       \
    "iif (s.kind <> 'compression', NULL, (WITH RECURSIVE up (id, parent, kind, n) AS ("            \
    "SELECT s.id, s.parent, s.kind, 0 UNION ALL"                                                   \
    " SELECT p.id, p.parent, p.kind, n + 1 FROM up JOIN sessions p ON p.id = up.parent"            \
    " WHERE up.kind = 'compression' AND n < 100) SELECT id FROM up ORDER BY n DESC LIMIT 1))"
#define PAGE                                                                                       \
    " AND (?2 IS NULL OR s.platform = ?2) AND (s.last_activity_at, s.id) < (?3, ?4)"               \
    " ORDER BY s.last_activity_at DESC, s.id DESC LIMIT ?5"
//  Whether a session can go: it and its delegates, at most ARGOS_STORE_FAMILY_MAX, have no work
#define AT_REST                                                                                    \
    "(WITH RECURSIVE family (id) AS (SELECT s.id UNION"                                            \
    " SELECT d.id FROM family f JOIN sessions d ON d.parent = f.id AND d.kind = 'delegate'"        \
    " LIMIT ?5 + 1) SELECT count (*) <= ?5 AND NOT max (EXISTS"                                    \
    " (SELECT 1 FROM queue q WHERE q.service = 'turn' AND q.key = family.id)) FROM family)"
#define PRUNABLE                                                                                   \
    " s.last_activity_at < ?1 AND s.archived = 0 AND s.kind <> 'delegate'"                         \
    " AND (?2 IS NULL OR s.platform = ?2) AND (?3 IS NULL OR s.owner = ?3) AND " AT_REST           \
    " ORDER BY s.last_activity_at LIMIT ?4"

//  Which messages a search may show
#define FOUND                                                                                      \
    " AND (m.active = 1 OR m.compacted = 1) AND s.importing = 0"                                   \
    " AND (?2 IS NULL OR m.session_id = ?2)"                                                       \
    " AND (?3 IS NULL OR s.platform = ?3) AND (?4 IS NULL OR m.role = ?4)"                         \
    " AND (?5 IS NULL OR s.owner = ?5) AND m.at >= ?6 AND m.at <= ?7"
//  The newest hits of a range, better the newer they are: after 30 days half as good
#define FIND(index)                                                                                \
    "SELECT m.id, argos_rank (f." index ") / (1 + max (0, ?8 - m.at) / 2592000000.0)"              \
    " FROM " index " f CROSS JOIN messages m ON m.id = f.rowid"                                    \
    " CROSS JOIN sessions s ON s.id = m.session_id WHERE f." index " MATCH ?1"                     \
    " AND f.rowid > ?9 AND f.rowid <= ?10" FOUND " ORDER BY f.rowid DESC LIMIT 500"
#define SNIPPET(index)                                                                             \
    "SELECT snippet (" index ", 0, '>>>', '<<<', '...', 40) FROM " index " WHERE " index           \
    " MATCH ?1 AND rowid = ?2"
//  Not one that is being brought in
#define WHOLE " AND NOT EXISTS (SELECT 1 FROM sessions WHERE id = ?1 AND importing = 1)"
#define TRASHED " WHERE id IN (SELECT id FROM messages WHERE session_id = '' ORDER BY id LIMIT 500)"

static const char *const s_sql[ARGOS_SQL_STATEMENTS] = {
    [ARGOS_SQL_SESSION_GET] = "SELECT " COLUMNS ", NULL FROM sessions s WHERE s.id = ?1"
                              " AND s.importing = 0 AND (?2 IS NULL OR s.owner = ?2)",
    [ARGOS_SQL_SESSION_ROW] = "SELECT owner, kind, parent, title, message_count FROM sessions"
                              " WHERE id = ?1 AND importing = 0 AND (?2 IS NULL OR owner = ?2)",
    [ARGOS_SQL_SESSION_CONTINUES] = "SELECT iif (kind = 'compression', parent, NULL) FROM sessions"
                                    " WHERE id = ?1 AND (?2 IS NULL OR owner = ?2)",
    [ARGOS_SQL_SESSION_ADD] =
        "INSERT INTO sessions (id, source, parent, started_at, message_count, version, owner, kind,"
        " platform, model, last_activity_at, hidden, home)"
        " VALUES (?1, ?2, ?3, ?4, 0, 1, ?5, ?6, ifnull (?2 ->> '$.platform', ''), ?7,"
        " ?4, ?8, (SELECT home FROM sessions WHERE id = ?3)) ON CONFLICT (id) DO NOTHING",
    [ARGOS_SQL_SESSION_FILL] =
        "UPDATE sessions SET source = ifnull (source, ?2), model = ifnull (model, ?3),"
        " platform = iif (platform = '', ifnull (?2 ->> '$.platform', ''), platform),"
        " owner = iif (owner = '' AND title IS NULL, ?4, owner) WHERE id = ?1",
    [ARGOS_SQL_SESSION_CONTINUED] =
        "UPDATE sessions SET continued = EXISTS (SELECT 1 FROM sessions c"
        " WHERE c.parent = sessions.id AND c.kind = 'compression') WHERE id = ?1",
    //  The first reason wins, but over one that was an accident
    [ARGOS_SQL_SESSION_CLOSE] =
        "UPDATE sessions SET ended_at = ifnull (ended_at, ?2), end_reason = ?3,"
        " version = version + 1 WHERE id = ?1 AND (ended_at IS NULL OR (end_reason IN ("
        "'agent_close', 'ws_orphan_reap', 'superseded_by_resume', 'startup_orphan_reap')"
        " AND ?3 NOT IN ("
        "'agent_close', 'ws_orphan_reap', 'superseded_by_resume', 'startup_orphan_reap')))",
    [ARGOS_SQL_SESSION_REOPEN] = "UPDATE sessions SET ended_at = NULL, end_reason = NULL,"
                                 " version = version + 1 WHERE id = ?1 AND ended_at IS NOT NULL",
    [ARGOS_SQL_SESSION_COUNT] =
        "UPDATE sessions SET message_count = message_count + ?2,"
        " tool_call_count = tool_call_count + ?3, last_activity_at = max (last_activity_at, ?4),"
        " preview = ifnull (preview, ?5), version = version + 1 WHERE id = ?1",
    //  The same, but for the time: two indexes have that
    [ARGOS_SQL_SESSION_COUNT_ONLY] =
        "UPDATE sessions SET message_count = message_count + ?2,"
        " tool_call_count = tool_call_count + ?3, preview = ifnull (preview, ?5),"
        " version = version + 1 WHERE id = ?1",
    [ARGOS_SQL_SESSION_VERSION] = "SELECT version FROM sessions WHERE id = ?1",
    [ARGOS_SQL_SESSION_TITLE] = "UPDATE sessions SET title = ?2, title_source = ?3 WHERE id = ?1",
    [ARGOS_SQL_SESSION_MODEL] = "UPDATE sessions SET model = ifnull (?2, model) WHERE id = ?1",
    [ARGOS_SQL_SESSION_HIDE] = "UPDATE sessions SET hidden = ?2 WHERE id = ?1",
    [ARGOS_SQL_SESSION_ARCHIVE] = "UPDATE sessions SET archived = ?2 WHERE id = ?1",
    //  The first one stays, unless whoever asks says so
    [ARGOS_SQL_SESSION_HOME] = "UPDATE sessions SET home = ?2 WHERE id = ?1"
                               " AND (?3 OR home IS NULL OR home IS ?2)",
    [ARGOS_SQL_SESSION_BRANCH] =
        "INSERT INTO sessions (id, source, parent, started_at, message_count, version, owner, kind,"
        " platform, model, title, title_source, last_activity_at, home) SELECT ?2, source, id, ?3, "
        "0,"
        " 1, owner, 'branch', platform, model, ?4, ?5, ?3, home FROM sessions WHERE id = ?1"
        " ON CONFLICT (id) DO NOTHING",
    [ARGOS_SQL_SESSION_RECOUNT] =
        "UPDATE sessions SET message_count = (SELECT count (*) FROM messages"
        " WHERE session_id = ?1 AND active = 1), tool_call_count ="
        " (SELECT ifnull (sum (json_array_length (extra, '$.tool_calls')), 0) FROM messages"
        " WHERE session_id = ?1 AND active = 1), rewind_count = rewind_count + ?2,"
        " last_activity_at = max (last_activity_at, ?3), version = version + 1 WHERE id = ?1",
    [ARGOS_SQL_SESSION_PREVIEW] = "UPDATE sessions SET preview = ?2 WHERE id = ?1",
    [ARGOS_SQL_SESSION_FIRST] = "SELECT substr (content, 1, 256) FROM messages"
                                " WHERE session_id = ?1 AND active = 1 AND role = 'user'"
                                " AND content > '' ORDER BY id LIMIT 1",
    [ARGOS_SQL_SESSION_ORPHAN] = "UPDATE sessions SET parent = NULL, kind = 'root'"
                                 " WHERE parent = ?1",
    [ARGOS_SQL_SESSION_DELEGATES] = "SELECT id FROM sessions WHERE parent = ?1"
                                    " AND kind = 'delegate'",
    [ARGOS_SQL_SESSION_DROP] = "DELETE FROM sessions WHERE id = ?1",
    [ARGOS_SQL_SESSION_PRUNABLE] = "SELECT " COLUMNS ", NULL FROM sessions s WHERE" PRUNABLE,
    [ARGOS_SQL_SESSION_LIST] = "SELECT " COLUMNS ", " ROOT " FROM sessions s"
                               " WHERE s.listed = 1 AND ?1 IS NULL" PAGE,
    [ARGOS_SQL_SESSION_LIST_OWNER] = "SELECT " COLUMNS ", " ROOT " FROM sessions s"
                                     " WHERE s.listed = 1 AND s.owner = ?1" PAGE,
    //  Two walks along the index, merged
    [ARGOS_SQL_SESSION_LIST_ALL] =
        "SELECT * FROM (SELECT " COLUMNS ", " ROOT " FROM sessions s"
        " WHERE s.listed = 1 AND (?1 IS NULL OR s.owner = ?1)" PAGE ")"
        " UNION ALL SELECT * FROM (SELECT " COLUMNS ", " ROOT " FROM sessions s"
        " WHERE s.listed = 0 AND s.importing = 0 AND (?1 IS NULL OR s.owner = ?1)" PAGE ")"
        " ORDER BY last_activity_at DESC, id DESC LIMIT ?5",
    [ARGOS_SQL_SESSION_PREFIX] = "SELECT id FROM sessions WHERE id >= ?1"
                                 " AND id < ?1 || char (1114111) AND importing = 0"
                                 " AND (?2 IS NULL OR owner = ?2) ORDER BY id LIMIT 2",
    //  '$' follows '#': the range is every title with a number
    [ARGOS_SQL_SESSION_TITLED] =
        "SELECT id FROM (SELECT id, started_at, title <> ?1 AS numbered FROM sessions"
        " WHERE (?2 IS NULL OR owner = ?2)"
        " AND (title = ?1 OR (title > ?1 || ' #' AND title < ?1 || ' $')))"
        " ORDER BY numbered DESC, started_at DESC, id DESC LIMIT 1",
    [ARGOS_SQL_SESSION_UP] =
        "WITH RECURSIVE up (id, n) AS (SELECT parent, 1 FROM sessions WHERE id = ?1 AND"
        " (?2 IS NULL OR kind = ?2) UNION ALL SELECT p.parent, n + 1 FROM up JOIN sessions p"
        " ON p.id = up.id WHERE p.parent IS NOT NULL AND (?2 IS NULL OR p.kind = ?2) AND n < 100)"
        " SELECT s.id, s.kind, s.title, s.started_at, s.ended_at, s.message_count FROM up"
        " JOIN sessions s ON s.id = up.id WHERE ?3 IS NULL OR s.owner = ?3 ORDER BY n",
    [ARGOS_SQL_SESSION_TIP] = "SELECT id FROM sessions WHERE parent = ?1 AND kind = 'compression'"
                              " ORDER BY end_reason IS 'compression' DESC, ended_at IS NULL DESC,"
                              " last_activity_at DESC, started_at DESC, id DESC LIMIT 1",
    [ARGOS_SQL_SESSION_CHILDREN] =
        "SELECT id, kind, title, started_at, ended_at, message_count FROM sessions"
        " WHERE parent = ?1 AND (?2 IS NULL OR owner = ?2) ORDER BY started_at, id LIMIT 100",
    [ARGOS_SQL_SESSION_PLATFORMS] =
        "SELECT platform, count (*), sum (message_count), sum (tool_call_count),"
        " sum (input_tokens), sum (output_tokens), sum (cost_usd), max (last_activity_at)"
        " FROM sessions WHERE importing = 0 AND (?1 IS NULL OR owner = ?1)"
        " GROUP BY platform ORDER BY platform LIMIT 100",
    [ARGOS_SQL_TITLE_HOLDER] = "SELECT id FROM sessions WHERE owner = ?1 AND title = ?2"
                               " AND id <> ?3",
    [ARGOS_SQL_TITLE_FREE] = "UPDATE sessions SET title = NULL, title_source = NULL WHERE id = ?1",
    [ARGOS_SQL_TITLE_NUMBERED] = "SELECT title FROM sessions WHERE owner = ?1"
                                 " AND (title = ?2 OR (title > ?2 || ' #' AND title < ?2 || ' $'))",
    [ARGOS_SQL_MESSAGE_ADD] =
        "INSERT INTO messages (session_id, role, at, content, extra, client_id, tools)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO NOTHING",
    [ARGOS_SQL_MESSAGE_PAGE] =
        "SELECT id, role, content, extra"
        " FROM messages WHERE session_id = ?1 AND id > ?2 AND active = 1" WHOLE " ORDER BY id",
    [ARGOS_SQL_MESSAGE_SAID] = "SELECT id, role, content, extra, at, active, compacted"
                               " FROM messages WHERE session_id = ?1 AND active = 1"
                               " AND role = 'user'" WHOLE " ORDER BY id DESC LIMIT ?2",
    [ARGOS_SQL_MESSAGE_ALL] =
        "SELECT id, role, content, extra, at, active, compacted,"
        " rewound FROM messages WHERE session_id = ?1 AND id > ?2" WHOLE " ORDER BY id",
    [ARGOS_SQL_MESSAGE_COPY] =
        "INSERT INTO messages (session_id, role, at, content, extra, tools)"
        " SELECT ?2, role, at, content, extra, tools FROM messages"
        " WHERE session_id = ?1 AND active = 1 AND (?3 = 0 OR id <= ?3) ORDER BY id",
    [ARGOS_SQL_MESSAGE_CLEAR] = "UPDATE messages SET session_id = '', client_id = NULL, active = 0,"
                                " compacted = 0 WHERE session_id = ?1 AND active = 1",
    [ARGOS_SQL_MESSAGE_RENAME] = "UPDATE messages SET client_id = NULL WHERE session_id = ?1"
                                 " AND client_id = ?2",
    [ARGOS_SQL_MESSAGE_FOLD] = "UPDATE messages SET active = 0, compacted = 1"
                               " WHERE session_id = ?1 AND active = 1",
    [ARGOS_SQL_MESSAGE_IS_USER] = "SELECT 1 FROM messages WHERE session_id = ?1 AND id = ?2"
                                  " AND active = 1 AND role = 'user'",
    [ARGOS_SQL_MESSAGE_REWIND] =
        "UPDATE messages SET active = 0, rewound = 1 + (SELECT rewind_count FROM sessions"
        " WHERE id = ?1) WHERE session_id = ?1 AND id >= ?2 AND active = 1",
    [ARGOS_SQL_MESSAGE_RESTORE] =
        "UPDATE messages SET active = 1, rewound = 0 WHERE session_id = ?1 AND active = 0"
        " AND compacted = 0 AND rewound = (SELECT rewind_count FROM sessions WHERE id = ?1)",
    [ARGOS_SQL_MESSAGE_NEWER] =
        "SELECT 1 FROM messages WHERE session_id = ?1 AND (active = 1 OR compacted = 1)"
        " AND id > (SELECT min (id) FROM messages WHERE session_id = ?1 AND active = 0"
        " AND rewound = (SELECT rewind_count FROM sessions WHERE id = ?1)) LIMIT 1",
    [ARGOS_SQL_MESSAGE_TRASH] = "UPDATE messages SET session_id = '', client_id = NULL, active = 0,"
                                " compacted = 0 WHERE session_id = ?1",
    [ARGOS_SQL_TRASHED_DROP] = "DELETE FROM messages WHERE id IN (SELECT id FROM messages"
                               " WHERE session_id = '' ORDER BY id LIMIT 500)",
    [ARGOS_SQL_USAGE_ADD] =
        "INSERT INTO session_usage VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13,"
        " ?14, ?15, ?16, ?17, ?17, ifnull (?14, ?13)) ON CONFLICT DO UPDATE SET"
        " calls = calls + excluded.calls, cost_usd = cost_usd + excluded.cost_usd,"
        " input_tokens = input_tokens + excluded.input_tokens,"
        " output_tokens = output_tokens + excluded.output_tokens,"
        " cache_read_tokens = cache_read_tokens + excluded.cache_read_tokens,"
        " cache_write_tokens = cache_write_tokens + excluded.cache_write_tokens,"
        " reasoning_tokens = reasoning_tokens + excluded.reasoning_tokens,"
        " estimated_usd = estimated_usd + excluded.estimated_usd,"
        " actual_usd = iif (excluded.actual_usd IS NULL, actual_usd,"
        " ifnull (actual_usd, 0) + excluded.actual_usd),"
        " cost_status = ifnull (excluded.cost_status, cost_status),"
        " cost_source = ifnull (excluded.cost_source, cost_source), last_at = excluded.last_at",
    [ARGOS_SQL_USAGE_SUM] =
        "UPDATE sessions SET input_tokens = input_tokens + ?2, output_tokens = output_tokens + ?3,"
        " cost_usd = cost_usd + ?4, model = ifnull (model, ?5) WHERE id = ?1",
    [ARGOS_SQL_USAGE_GET] =
        "SELECT model, provider, base_url, mode, task, calls, input_tokens, output_tokens,"
        " cache_read_tokens, cache_write_tokens, reasoning_tokens, estimated_usd, actual_usd,"
        " cost_usd, cost_status, cost_source, first_at, last_at FROM session_usage WHERE "
        "session_id = ?1"
        " LIMIT 256",
    //  A session that is brought in, until it is whole
    [ARGOS_SQL_SESSION_IMPORT] =
        "INSERT INTO sessions (id, started_at, ended_at, end_reason, message_count, version,"
        " last_activity_at, hidden, importing) VALUES (?1, ?2, ?2, 'importing', 0, 1, ?2, 1, 1)"
        " ON CONFLICT (id) DO NOTHING",
    [ARGOS_SQL_SESSION_IMPORTING] = "SELECT 1 FROM sessions WHERE id = ?1"
                                    " AND importing = 1",
    [ARGOS_SQL_SESSION_IMPORTED] =
        "UPDATE sessions SET parent = ?2, title = ?3, started_at = ?4, ended_at = nullif (?5, 0),"
        " end_reason = ?6, title_source = ?7, model = ?8, owner = ifnull (?9, ''),"
        " last_activity_at = ifnull (nullif (?10, 0), (SELECT max (?4, ifnull (max (at), 0))"
        " FROM messages WHERE session_id = ?1)), input_tokens = ?11, output_tokens = ?12,"
        " cost_usd = ?13, hidden = ?14, archived = ?15, kind = ?16, source = ?17, importing = 0,"
        " platform = ifnull (?17 ->> '$.platform', '') WHERE id = ?1",
    [ARGOS_SQL_SESSION_REWINDS] = "UPDATE sessions SET rewind_count = ?2 WHERE id = ?1",
    [ARGOS_SQL_TITLE_TAKEN] = "SELECT 1 FROM sessions WHERE owner = ?1 AND title = ?2"
                              " AND id <> ?3",
    [ARGOS_SQL_MESSAGE_IMPORT] =
        "INSERT INTO messages (session_id, role, at, content, extra, client_id, active, compacted,"
        " rewound, tools) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) ON CONFLICT DO NOTHING",
    [ARGOS_SQL_USAGE_IMPORT] =
        "INSERT INTO session_usage VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13,"
        " ?14, ?15, ?16, ?17, ?18, coalesce (?19, ?14, ?13)) ON CONFLICT DO NOTHING",
    [ARGOS_SQL_USAGE_DROP] = "DELETE FROM session_usage WHERE session_id = ?1",
    [ARGOS_SQL_USAGE_MODELS] =
        "SELECT u.model, u.provider, sum (u.calls), sum (u.input_tokens), sum (u.output_tokens),"
        " sum (u.cost_usd) FROM session_usage u"
        " JOIN sessions s ON s.id = u.session_id WHERE ?1 IS NULL OR s.owner = ?1"
        " GROUP BY u.model, u.provider ORDER BY u.model, u.provider LIMIT 100",
    [ARGOS_SQL_TEXT_SIZES] = "SELECT id, length (content) FROM message_texts WHERE id > ?1"
                             " ORDER BY id",
    [ARGOS_SQL_WORDS_ADD] = "INSERT INTO message_words (rowid, content) SELECT id, content"
                            " FROM message_texts WHERE id > ?1 AND id <= ?2",
    [ARGOS_SQL_TRIGRAMS_ADD] = "INSERT INTO message_trigrams (rowid, content) SELECT id, content"
                               " FROM message_texts WHERE id > ?1 AND id <= ?2 AND cjk",
    [ARGOS_SQL_WORDS_DROP] =
        "INSERT INTO message_words (message_words, rowid, content)"
        " SELECT 'delete', id, content FROM message_texts" TRASHED " AND id <= ?1",
    [ARGOS_SQL_TRIGRAMS_DROP] =
        "INSERT INTO message_trigrams (message_trigrams, rowid, content)"
        " SELECT 'delete', id, content FROM message_texts" TRASHED " AND id <= ?1 AND cjk",
    [ARGOS_SQL_TAIL_WORDS] = "INSERT INTO temp.tail_words (rowid, content)"
                             " SELECT id, content FROM message_texts WHERE id > ?1 AND id <= ?2",
    [ARGOS_SQL_TAIL_TRIGRAMS] = "INSERT INTO temp.tail_trigrams (rowid, content)"
                                " SELECT id, content FROM message_texts WHERE id > ?1 AND id <= ?2"
                                " AND cjk",
    [ARGOS_SQL_TAIL_WORD] = "INSERT INTO temp.tail_words (rowid, content) VALUES (0, ?1)",
    [ARGOS_SQL_TAIL_TERMS] = "SELECT term FROM temp.tail_terms LIMIT 2",
    [ARGOS_SQL_WORD_NEXT] = "SELECT term FROM temp.word_terms WHERE term >= ?1 LIMIT 1",
    [ARGOS_SQL_MESSAGE_NEWEST] = "SELECT ifnull (max (id), 0) FROM messages",
    [ARGOS_SQL_MESSAGE_EXTRA] =
        "SELECT iif (json_valid (?1), json_remove (?1, '$.id', '$.role', '$.at', '$.active',"
        " '$.compacted'), NULL)",
    [ARGOS_SQL_MESSAGE_RANGE] = "SELECT (SELECT min (id) FROM messages WHERE session_id = ?1),"
                                " (SELECT max (id) FROM messages WHERE session_id = ?1)",
    [ARGOS_SQL_FIND_WORDS] = FIND ("message_words"),
    [ARGOS_SQL_FIND_TRIGRAMS] = FIND ("message_trigrams"),
    [ARGOS_SQL_FIND_TAIL_WORDS] = FIND ("tail_words"),
    [ARGOS_SQL_FIND_TAIL_TRIGRAMS] = FIND ("tail_trigrams"),
    [ARGOS_SQL_FIND_PLAIN] =
        "SELECT m.id, (?8 - m.at) * 1.0 FROM message_texts t"
        " JOIN messages m ON m.id = t.id JOIN sessions s ON s.id = m.session_id"
        " WHERE m.id > ?9 AND m.id <= ?10 AND instr (lower (t.content), lower (?1)) > 0" FOUND
        " ORDER BY m.id DESC LIMIT 100",
    [ARGOS_SQL_SNIPPET_WORDS] = SNIPPET ("message_words"),
    [ARGOS_SQL_SNIPPET_TRIGRAMS] = SNIPPET ("message_trigrams"),
    [ARGOS_SQL_SNIPPET_TAIL_WORDS] = SNIPPET ("tail_words"),
    [ARGOS_SQL_SNIPPET_TAIL_TRIGRAMS] = SNIPPET ("tail_trigrams"),
    [ARGOS_SQL_SNIPPET_PLAIN] =
        "SELECT substr (content, max (1, instr (lower (content), lower (?1)) - 40), 120)"
        " FROM message_texts WHERE id = ?2",
    [ARGOS_SQL_HIT] = "SELECT m.session_id, m.role, s.title, s.platform, m.at FROM messages m"
                      " JOIN sessions s ON s.id = m.session_id WHERE m.id = ?1",
};

const char *
argos_store_sql_sessions (argos_sql_t sql)
{
    return s_sql[sql];
}
