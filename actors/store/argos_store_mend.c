//  argos_store_mend - what rows that were salvaged need to fit each other again.
//
//  Invariants: nothing is invented but what follows from the rows: sessions of which messages are
//  left, the services of messages that wait, counts, and numbers behind all that were given out. A
//  blob stays only when its bytes have its hash. Search is indexed anew by the store.

#include "argos_store_priv.h"

#include "argos_store_file.h"

#include <sodium.h>
#include <string.h>

//  Statements, and the version of the schema that they need

typedef struct {
    int since;       //  Version
    const char *sql; //  One statement, or several
} step_t;

//  Sessions first: what follows asks for them. Version 0 marks those that are made here

static const step_t s_sessions = { 1,
    "INSERT INTO sessions (id, started_at, message_count, version)"
    " SELECT session_id, min (at), count (*), 0 FROM messages WHERE session_id <> ''"
    " AND session_id NOT IN (SELECT id FROM sessions) GROUP BY session_id" };

static const step_t s_steps[] = {
    { 1, "INSERT INTO services (name, declared_at) SELECT DISTINCT service, 0 FROM queue"
         " WHERE service NOT IN (SELECT name FROM services)" },
    { 1, "DELETE FROM journal WHERE topic NOT IN (SELECT id FROM topics)" },
    //  Whose they are is told by a route to them
    { 4, "UPDATE sessions SET source = (SELECT source FROM routes WHERE session_id = sessions.id"
         " AND source IS NOT NULL LIMIT 1) WHERE version = 0;"
         "UPDATE sessions SET platform = ifnull (source ->> '$.platform', ''),"
         " owner = ifnull ((source ->> '$.platform') || ':' || (source ->> '$.account') || ':' ||"
         " coalesce (source ->> '$.user_id_alt', source ->> '$.user_id', source ->> '$.chat_id',"
         " ''), '') WHERE version = 0 AND json_valid (source)" },
    { 1, "UPDATE sessions SET version = 1 WHERE version = 0" },
    { 4, "UPDATE sessions SET last_activity_at = ifnull ((SELECT max (at) FROM messages"
         " WHERE session_id = sessions.id), started_at) WHERE last_activity_at = 0" },
    { 4, "UPDATE sessions SET parent = NULL, kind = 'root' WHERE parent IS NOT NULL"
         " AND parent NOT IN (SELECT id FROM sessions)" },
    { 4, "UPDATE sessions SET message_count = (SELECT count (*) FROM messages"
         " WHERE session_id = sessions.id AND active = 1) WHERE message_count <>"
         " (SELECT count (*) FROM messages WHERE session_id = sessions.id AND active = 1)" },
    //  Numbers that are never used twice
    { 1, "INSERT INTO sqlite_sequence (name, seq) SELECT 'queue', 0"
         " WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'queue');"
         "UPDATE sqlite_sequence SET seq = max (seq, ifnull ((SELECT max (last) FROM seen), 0),"
         " ifnull ((SELECT max (seq) FROM finished), 0), ifnull ((SELECT max (seq) FROM dead), 0))"
         " WHERE name = 'queue'" },
    { 1, "INSERT INTO meta (name, value) SELECT 'lease', max (ifnull ((SELECT max (lease)"
         " FROM queue), 0), ifnull ((SELECT max (lease) FROM finished), 0)) WHERE true"
         " ON CONFLICT (name) DO UPDATE SET value = max (value, excluded.value)" },
    { 1, "INSERT INTO meta (name, value) SELECT 'boot', ifnull (max (boot + (max (newest, 0,"
         " ifnull ((SELECT max (n) FROM journal WHERE topic = topics.id), 0)) >> 32)), 0)"
         " FROM topics WHERE true"
         " ON CONFLICT (name) DO UPDATE SET value = max (value, excluded.value)" },
    { 2, "INSERT INTO meta (name, value) SELECT 'uptime', ifnull (max (touched), 0) FROM blobs"
         " WHERE true ON CONFLICT (name) DO UPDATE SET value = max (value, excluded.value)" },
    { 2, "DELETE FROM blob_chunks WHERE blob NOT IN (SELECT number FROM blobs);"
         "DELETE FROM blob_refs WHERE blob NOT IN (SELECT number FROM blobs);"
         "DELETE FROM blob_trash" },
    { 2, "INSERT INTO meta (name, value) SELECT 'blobs', ifnull (sum (max (size, 4096)), 0)"
         " FROM blobs WHERE true ON CONFLICT (name) DO UPDATE SET value = excluded.value" },
    { 5, "DELETE FROM meta WHERE name = 'indexed'" },
};

static bool
s_do (sqlite3 *db, const step_t *step, int64_t version)
{
    return version < step->since || sqlite3_exec (db, step->sql, NULL, NULL, NULL) == SQLITE_OK;
}

//  Whether the bytes of a blob are all there; the ones of a complete blob, with its hash.

static bool
s_is_whole (sqlite3_stmt *chunks, sqlite3_stmt *blob)
{
    crypto_hash_sha256_state state;
    unsigned char hash[crypto_hash_sha256_BYTES];
    char hex[2 * sizeof hash + 1];
    int64_t have = 0;
    crypto_hash_sha256_init (&state);
    sqlite3_bind_int64 (chunks, 1, sqlite3_column_int64 (blob, 0));
    while (sqlite3_step (chunks) == SQLITE_ROW && sqlite3_column_int64 (chunks, 0) == have) {
        size_t size = (size_t) sqlite3_column_bytes (chunks, 1);
        if (size)
            crypto_hash_sha256_update (&state, sqlite3_column_blob (chunks, 1), size);
        have += (int64_t) size;
    }
    sqlite3_reset (chunks);
    crypto_hash_sha256_final (&state, hash);
    sodium_bin2hex (hex, sizeof hex, hash, sizeof hash);
    const char *id = (const char *) sqlite3_column_text (blob, 2);
    bool complete = sqlite3_column_int (blob, 3) != 0;
    return have == sqlite3_column_int64 (blob, 1) &&
           (!complete || (id && strlen (id) == 71 && strcmp (id + 7, hex) == 0));
}

//  Drops what is not whole. Returns how many that were, or -1.

static int64_t
s_mend_blobs (sqlite3 *db)
{
    sqlite3_stmt *blobs = NULL, *chunks = NULL, *drop = NULL;
    int64_t dropped = 0;
    int rc = sqlite3_prepare_v2 (
        db, "SELECT number, have, blob, state IS NULL FROM blobs", -1, &blobs, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_prepare_v2 (
            db, "SELECT at, data FROM blob_chunks WHERE blob = ?1 ORDER BY at", -1, &chunks, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_prepare_v2 (db, "DELETE FROM blobs WHERE number = ?1", -1, &drop, NULL);
    while (rc == SQLITE_OK && (rc = sqlite3_step (blobs)) == SQLITE_ROW) {
        rc = SQLITE_OK;
        if (s_is_whole (chunks, blobs))
            continue;
        sqlite3_bind_int64 (drop, 1, sqlite3_column_int64 (blobs, 0));
        rc = sqlite3_step (drop) == SQLITE_DONE ? SQLITE_OK : SQLITE_ERROR;
        sqlite3_reset (drop);
        dropped++;
    }
    sqlite3_finalize (blobs);
    sqlite3_finalize (chunks);
    sqlite3_finalize (drop);
    return rc == SQLITE_DONE ? dropped : -1;
}

int
argos_store_mend (sqlite3 *db, int64_t version, int64_t *ret_sessions, int64_t *ret_blobs)
{
    bool good = s_do (db, &s_sessions, version);
    *ret_sessions = good ? sqlite3_changes64 (db) : 0;
    *ret_blobs = good && version >= 2 ? s_mend_blobs (db) : 0;
    good = good && *ret_blobs >= 0;
    for (size_t i = 0; i < sizeof s_steps / sizeof *s_steps && good; i++)
        good = s_do (db, &s_steps[i], version);
    return good ? 0 : -1;
}
