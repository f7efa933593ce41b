//  argos_store_sql_chores - the statements of what the store does when nothing waits: pruning,
//  retention, the end of runs.
//
//  Invariant: each looks at a slice, by numbers that are bound. They run so rarely that none is
//  kept prepared.

#include "argos_store_priv.h"

//  ?1 cursor, ?2 end of the slice, ?3 oldest time to be kept, ?4 how many

#define SLICE_OF(table, number)                                                                    \
    "SELECT count (*), max (" number ") FROM (SELECT " number " FROM " table " WHERE " number      \
    " > ?1 ORDER BY " number " LIMIT 500)"
#define REMOVE_FROM(table, number, old)                                                            \
    "DELETE FROM " table " WHERE " number " IN (SELECT " number " FROM " table " WHERE " number    \
    " > ?1 AND " number " <= ?2 AND " old " LIMIT ?4)"
#define CLOSED "closed_at > 0 AND closed_at < ?3"

//  The same, ?5 owner

#define OLD                                                                                        \
    "SELECT run_id FROM runs WHERE number > ?1 AND number <= ?2 AND state IS NOT NULL"             \
    " AND updated_at < ?3 AND (owner = ?5 OR owner GLOB ?5 || '.*') ORDER BY number LIMIT ?4"

static const char *const s_sql[ARGOS_CHORES] = {
    [ARGOS_CHORE_SEEN_SLICE] = "SELECT sender, id FROM seen WHERE (sender, id) > (?1, ?2)"
                               " ORDER BY sender, id LIMIT 500",
    [ARGOS_CHORE_SEEN_DROP] =
        "DELETE FROM seen WHERE (sender, id) IN (SELECT sender, id FROM seen"
        " WHERE (sender, id) > (?1, ?2) AND (sender, id) <= (?3, ?4) AND at < ?5"
        " AND NOT EXISTS (SELECT 1 FROM queue WHERE queue.seq BETWEEN seen.seq AND seen.last)"
        " AND NOT EXISTS (SELECT 1 FROM queue WHERE origin BETWEEN seen.seq AND seen.last)"
        " AND NOT EXISTS (SELECT 1 FROM dead WHERE dead.seq BETWEEN seen.seq AND seen.last)"
        " AND NOT EXISTS (SELECT 1 FROM dead WHERE origin BETWEEN seen.seq AND seen.last)"
        " LIMIT ?6)",
    [ARGOS_CHORE_FINISHED_SLICE] = SLICE_OF ("finished", "lease"),
    [ARGOS_CHORE_FINISHED_DROP] = REMOVE_FROM ("finished", "lease", "at < ?3"),
    [ARGOS_CHORE_RECEIPTS_SLICE] = SLICE_OF ("receipts", "number"),
    [ARGOS_CHORE_RECEIPTS_DROP] = REMOVE_FROM ("receipts", "number", "at < ?3"),
    [ARGOS_CHORE_RECORDS_SLICE] = SLICE_OF ("records", "number"),
    [ARGOS_CHORE_RECORDS_DROP] =
        REMOVE_FROM ("records", "number", "expires_at > 0 AND expires_at < ?3"),
    [ARGOS_CHORE_RUNS_SLICE] = SLICE_OF ("runs", "number"),
    [ARGOS_CHORE_RUNS_UNREF] =
        "DELETE FROM blob_refs WHERE run_id IN (SELECT run_id FROM runs WHERE number > ?1"
        " AND number <= ?2 AND state IS NOT NULL AND updated_at < ?3 LIMIT ?4)",
    [ARGOS_CHORE_RUNS_DROP] =
        REMOVE_FROM ("runs", "number", "state IS NOT NULL AND updated_at < ?3"),
    [ARGOS_CHORE_TOPICS_SLICE] = SLICE_OF ("topics", "id"),
    [ARGOS_CHORE_TOPICS_EMPTY] =
        "DELETE FROM journal WHERE topic IN (SELECT id FROM topics WHERE id > ?1 AND id <= ?2"
        " AND " CLOSED " LIMIT ?4)",
    [ARGOS_CHORE_TOPICS_DROP] = REMOVE_FROM ("topics", "id", CLOSED),
    [ARGOS_CHORE_ENTRIES_NEWEST] =
        "UPDATE topics SET newest = max (newest, ifnull ((SELECT max (n) FROM journal"
        " WHERE topic = topics.id AND at < ?3), -1))"
        " WHERE id > ?1 AND id <= ?2 AND closed_at = 0 AND made_at < ?3 AND ?4 > 0",
    [ARGOS_CHORE_ENTRIES_DROP] =
        "DELETE FROM journal WHERE (topic, n) IN (SELECT topic, n FROM topics"
        " JOIN journal ON topic = id AND at < ?3"
        " WHERE id > ?1 AND id <= ?2 AND closed_at = 0 AND made_at < ?3 LIMIT ?4)",
    [ARGOS_CHORE_RETAIN_NEXT] = "SELECT id, name FROM topics WHERE id > ?1 ORDER BY id LIMIT 64",
    [ARGOS_CHORE_RETAIN_DROP] = "DELETE FROM journal WHERE topic = ?1 AND n IN (SELECT n"
                                " FROM journal WHERE topic = ?1 AND n <= ?2 ORDER BY n"
                                " LIMIT 500)",
    [ARGOS_CHORE_RETAIN_OLD] = "SELECT count (*), max (n) FROM (SELECT n, at FROM journal"
                               " WHERE topic = ?1 ORDER BY n LIMIT 500) WHERE at < ?2",
    [ARGOS_CHORE_RETAIN_SIZES] = "SELECT n, length (header) + ifnull (length (body), 0)"
                                 " FROM journal WHERE topic = ?1 AND n < ?2 ORDER BY n DESC"
                                 " LIMIT 500",
    [ARGOS_CHORE_EXPIRE_COUNT] = "SELECT ifnull (max (number) - min (number), 0) FROM runs",
    [ARGOS_CHORE_EXPIRE_SLICE] =
        "SELECT count (*), ifnull (max (number), 0), ifnull (sum (created_at < ?2), 0) FROM"
        " (SELECT number, created_at FROM runs WHERE number > ?1 ORDER BY number LIMIT 100)",
    [ARGOS_CHORE_EXPIRE_JOURNAL] =
        "DELETE FROM journal WHERE topic IN (SELECT id FROM topics WHERE name IN"
        " (SELECT 'run.' || run_id FROM (" OLD ")))",
    [ARGOS_CHORE_EXPIRE_TOPICS] =
        "DELETE FROM topics WHERE name IN (SELECT 'run.' || run_id FROM (" OLD "))",
    [ARGOS_CHORE_EXPIRE_RECORDS] = "DELETE FROM records WHERE run_id IN (" OLD ")",
    [ARGOS_CHORE_EXPIRE_REFS] = "DELETE FROM blob_refs WHERE run_id IN (" OLD ")",
    [ARGOS_CHORE_EXPIRE_ROWS] = "DELETE FROM runs WHERE run_id IN (" OLD ")",
};

const char *
argos_store_sql_chore (argos_chore_t chore)
{
    return s_sql[chore];
}
