//  argos_store_sql_routes - the statements on routes and handoffs.
//
//  Invariants: the version of a route never goes back, not even when it is forgotten and made again
//  (a trigger keeps the greatest one that is gone). A handoff changes its state only by a statement
//  that names the id, the epoch and the state it comes from; the columns of its session follow by a
//  trigger.

#include "argos_store_priv.h"

#define SHOWN                                                                                      \
    "h.id, h.session_id, h.platform, h.target, h.cwd, h.state, h.epoch, h.claims, h.sent,"         \
    " h.requested_at, h.claim_until, h.claimed_at, h.claimed_by, h.lease_until, h.ended_at,"       \
    " h.error, h.key, h.previous"

#define ROUTE                                                                                      \
    "r.key, r.session_id, r.version, r.source, r.updated_at, r.suspended, r.resume_reason,"        \
    " r.resume_at, r.previous, r.reset_reason, r.reset_at"
//  What a route forgets when it leads to another session
#define FRESH                                                                                      \
    "previous = session_id, suspended = 0, resume_reason = NULL, resume_at = NULL,"                \
    " version = version + 1"
#define RESUME "resume_reason = ?2, resume_at = ?3, version = version + 1"

//  Texts in pieces. NOLINTBEGIN(bugprone-suspicious-missing-comma)

static const char *const s_sql[ARGOS_SQL_STATEMENTS] = {
    [ARGOS_SQL_ROUTE_GET] = "SELECT " ROUTE " FROM routes r WHERE r.key = ?1",
    [ARGOS_SQL_ROUTE_BIND] =
        "INSERT INTO routes (key, session_id, version, source, updated_at) VALUES (?1, ?2,"
        " 1 + ifnull ((SELECT value FROM meta WHERE name = 'route_version'), 0), ?3, ?4)"
        " ON CONFLICT (key) DO UPDATE SET session_id = excluded.session_id, version = version + 1,"
        " source = ifnull (excluded.source, source), updated_at = excluded.updated_at,"
        " previous = iif (session_id = excluded.session_id, previous, session_id),"
        " suspended = suspended AND session_id = excluded.session_id,"
        " resume_reason = iif (session_id = excluded.session_id, resume_reason, NULL),"
        " resume_at = iif (session_id = excluded.session_id, resume_at, NULL)",
    [ARGOS_SQL_ROUTE_VERSION] = "SELECT version FROM routes WHERE key = ?1",
    [ARGOS_SQL_ROUTE_MOVE] =
        "UPDATE routes SET " FRESH ", session_id = ?2, source = ifnull (?3, source),"
        " updated_at = ?4, reset_reason = ?5, reset_at = iif (?5 IS NULL, NULL, ?4)"
        " WHERE key = ?1",
    [ARGOS_SQL_ROUTE_BACK] = "UPDATE routes SET " FRESH ", session_id = ?3, updated_at = ?4"
                             " WHERE key = ?1 AND session_id = ?2",
    [ARGOS_SQL_ROUTE_FORGET] = "DELETE FROM routes WHERE key = ?1 AND session_id = ?2",
    [ARGOS_SQL_ROUTE_ORPHAN] = "DELETE FROM routes WHERE session_id = ?1",
    [ARGOS_SQL_ROUTE_OTHER] = "SELECT 1 FROM routes WHERE session_id = ?1 LIMIT 1",
    [ARGOS_SQL_ROUTE_TASKS] = "SELECT 1 FROM runs WHERE origin = ?1 AND kind IS NOT NULL"
                              " AND state IS NULL LIMIT 1",
    [ARGOS_SQL_ROUTE_SUSPEND] = "UPDATE routes SET suspended = 1, resume_reason = ?2,"
                                " resume_at = NULL, version = version + 1 WHERE key = ?1",
    [ARGOS_SQL_ROUTE_UNSUSPEND] = "UPDATE routes SET suspended = 0, resume_reason = NULL,"
                                  " version = version + 1 WHERE key = ?1 AND suspended = 1"
                                  " AND ifnull (resume_reason, '') = ?2",
    [ARGOS_SQL_ROUTE_RESUME] = "UPDATE routes SET " RESUME " WHERE key = ?1 AND suspended = 0",
    [ARGOS_SQL_ROUTE_RESUME_ALL] =
        "UPDATE routes SET " RESUME " WHERE suspended = 0 AND resume_at IS NULL AND session_id IN"
        " (SELECT id FROM sessions WHERE last_activity_at >= ?1)",
    [ARGOS_SQL_ROUTE_CLEAR] = "UPDATE routes SET resume_reason = NULL, resume_at = NULL,"
                              " reset_reason = NULL, version = version + 1 WHERE key = ?1"
                              " AND (resume_at IS NOT NULL OR reset_reason IS NOT NULL)",
    [ARGOS_SQL_ROUTE_PRUNE] =
        "DELETE FROM routes WHERE key IN (SELECT r.key FROM routes r"
        " LEFT JOIN sessions s ON s.id = r.session_id WHERE r.updated_at < ?1"
        " AND ifnull (s.last_activity_at, 0) < ?1 AND r.suspended = 0 AND NOT EXISTS"
        " (SELECT 1 FROM queue WHERE service = 'turn' AND key = r.session_id)"
        " ORDER BY r.updated_at LIMIT ?2)",
    [ARGOS_SQL_ROUTE_LIST] = "SELECT " ROUTE " FROM routes r WHERE r.key > ?1 AND ?2 = ''"
                             " ORDER BY r.key LIMIT ?3",
    [ARGOS_SQL_ROUTE_LIST_SESSION] = "SELECT " ROUTE " FROM routes r WHERE r.key > ?1"
                                     " AND r.session_id = ?2 ORDER BY r.key LIMIT ?3",
    [ARGOS_SQL_HANDOFF_CLEAR] = "DELETE FROM handoffs WHERE session_id = ?1"
                                " AND state IN ('completed', 'failed')",
    [ARGOS_SQL_HANDOFF_ADD] =
        "INSERT INTO handoffs (session_id, platform, target, cwd, state, epoch, claims, sent,"
        " requested_at, claim_until) VALUES (?1, ?2, ?3, ?4, 'pending', 0, 0, 0, ?5, ?6)"
        " ON CONFLICT DO NOTHING",
    [ARGOS_SQL_HANDOFF_CLAIM] =
        "UPDATE handoffs SET state = 'running', epoch = epoch + 1, claims = claims + 1,"
        " claimed_at = ?3, claimed_by = ?4, lease_until = ?5"
        " WHERE id = ?1 AND epoch = ?2 AND state = 'pending'",
    [ARGOS_SQL_HANDOFF_BEAT] = "UPDATE handoffs SET lease_until = ?3, sent = max (sent, ?4)"
                               " WHERE id = ?1 AND epoch = ?2 AND state = 'running'",
    [ARGOS_SQL_HANDOFF_COMPLETE] =
        "UPDATE handoffs SET state = 'completed', ended_at = ?3, error = NULL, key = ?4,"
        " previous = (SELECT r.session_id FROM routes r WHERE r.key = ?4)"
        " WHERE id = ?1 AND epoch = ?2 AND state = 'running'",
    [ARGOS_SQL_HANDOFF_FAIL] =
        "UPDATE handoffs SET state = 'failed', ended_at = ?3, error = ?4 WHERE id = ?1"
        " AND epoch = ?2 AND state IN (SELECT value FROM json_each (?5))",
    [ARGOS_SQL_HANDOFF_GIVEN_UP] =
        "UPDATE handoffs SET state = 'failed', ended_at = ?1, error = 'no gateway took it in time'"
        " WHERE state = 'pending' AND claim_until < ?1",
    [ARGOS_SQL_HANDOFF_LOST] =
        "UPDATE handoffs SET epoch = epoch + 1, ended_at = iif (sent OR claims > 1, ?1, NULL),"
        " claim_until = max (claim_until, ?1 + 60000),"
        " state = iif (sent OR claims > 1, 'failed', 'pending'),"
        " error = iif (sent OR claims > 1, 'the gateway was lost while it was at it;'"
        " || ' ask for the handoff again', NULL)"
        " WHERE state = 'running' AND (lease_until < ?1 OR claimed_by = ?2)",
    [ARGOS_SQL_HANDOFF_GET] = "SELECT " SHOWN " FROM handoffs h WHERE h.id = ?1",
    [ARGOS_SQL_HANDOFF_OF] =
        "SELECT " SHOWN " FROM sessions s LEFT JOIN handoffs h ON h.session_id = s.id"
        " WHERE s.id = ?1 AND (?2 IS NULL OR s.owner = ?2)",
    [ARGOS_SQL_HANDOFF_LIST] = "SELECT " SHOWN ", s.title FROM handoffs h"
                               " LEFT JOIN sessions s ON s.id = h.session_id WHERE h.state = ?1"
                               " AND (?2 IS NULL OR h.platform = ?2)"
                               " ORDER BY h.requested_at, h.id LIMIT ?3",
    [ARGOS_SQL_HANDOFF_DROP] = "DELETE FROM handoffs WHERE session_id = ?1",
};

//  NOLINTEND(bugprone-suspicious-missing-comma)

const char *
argos_store_sql_routes (argos_sql_t sql)
{
    return s_sql[sql];
}
