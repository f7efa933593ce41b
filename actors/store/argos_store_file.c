//  argos_store_file - see the header.
//
//  Invariant: a copy that is only looked at is opened as one that can't change, so that no log and
//  no lock is made beside it. What replaces a file was whole, synced and opened before; the old one
//  is kept under another name, and one rename puts the new one over it: there is no moment without.
//  Limits: FINDINGS_MAX findings.

#include "argos_store_file.h"

#include "argos_store_priv.h"
#include "argos_store_scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define FINDINGS_MAX 100 //  That are said
#define STEP_PAGES 1024  //  Of a slice of a copy
#define REASON ARGOS_STORE_FILE_REASON

static int
s_problem (char *reason, const char *what, const char *path, sqlite3 *db)
{
    snprintf (reason, REASON, "%s %.300s: %.120s", what, path,
        db ? sqlite3_errmsg (db) : "out of memory");
    return -1;
}

//  Opens a file for itself alone; with its log, which is copied into it. Returns SQLITE_OK, or why
//  not; *ret_db is to be closed in any case.

static int
s_open_alone (const char *path, sqlite3 **ret_db)
{
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    int rc = sqlite3_open_v2 (path, ret_db, flags, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec (*ret_db, "PRAGMA locking_mode = EXCLUSIVE; PRAGMA trusted_schema = OFF;",
            NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec (*ret_db, "SELECT count (*) FROM sqlite_schema", NULL, NULL, NULL);
    return rc;
}

static sqlite3 *
s_open (const char *path, char *reason)
{
    sqlite3 *db = NULL;
    if (s_open_alone (path, &db) == SQLITE_OK)
        return db;
    s_problem (reason, "can't open", path, db);
    sqlite3_close (db);
    return NULL;
}

char *
argos_store_uri (const char *path, const char *options)
{
    char *uri = malloc (3 * strlen (path) + strlen (options) + 6), *at = uri;
    if (!uri)
        abort ();
    memcpy (at, "file:", 5);
    for (at += 5; *path; path++) {
        if (strchr ("%?#", *path))
            at += snprintf (at, 4, "%%%02X", (unsigned) (unsigned char) *path);
        else
            *at++ = *path;
    }
    memcpy (at, options, strlen (options) + 1);
    return uri;
}

//  Opens a copy that nobody writes to, to look at it. So a log is not read, and may not be there.

static sqlite3 *
s_look (const char *path, char *reason)
{
    sqlite3 *db = NULL;
    if (argos_store_scratch_needed (path)) {
        snprintf (reason, REASON, "%.400s is not whole without the log beside it", path);
        return NULL;
    }
    char *uri = argos_store_uri (path, "?immutable=1");
    int flags =
        SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    int rc = sqlite3_open_v2 (uri, &db, flags, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec (db, "SELECT count (*) FROM sqlite_schema", NULL, NULL, NULL);
    free (uri);
    if (rc == SQLITE_OK)
        return db;
    s_problem (reason, "can't open", path, db);
    sqlite3_close (db);
    return NULL;
}

char *
argos_store_file_beside (const char *path, const char *suffix)
{
    char *name = NULL;
    if (asprintf (&name, "%s%s", path, suffix) < 0)
        abort ();
    return name;
}

int64_t
argos_store_file_number (sqlite3 *db, const char *sql)
{
    sqlite3_stmt *stmt = NULL;
    int64_t value = -1;
    if (sqlite3_prepare_v2 (db, sql, -1, &stmt, NULL) == SQLITE_OK &&
        sqlite3_step (stmt) == SQLITE_ROW)
        value = sqlite3_column_int64 (stmt, 0);
    sqlite3_finalize (stmt);
    return value;
}

//  Syncs a file or a folder. Returns 0 or -1 with errno.

static int
s_sync (const char *path, int flags)
{
    int fd = open (path, flags | O_CLOEXEC);
    int rc = fd < 0 ? -1 : fsync (fd);
    if (fd >= 0)
        close (fd);
    return rc;
}

static int
s_sync_folder (const char *path)
{
    char folder[PATH_MAX];
    const char *slash = strrchr (path, '/');
    snprintf (
        folder, sizeof folder, "%.*s", slash ? (int) (slash - path) + 1 : 1, slash ? path : ".");
    return s_sync (folder, O_RDONLY | O_DIRECTORY);
}

//  ------------------------------------------------------------------------------------------------
//  Copying

//  All slices. Returns SQLITE_OK, or why not.

static int
s_steps (sqlite3 *source, sqlite3 *target, argos_store_file_progress_t *progress, void *arg)
{
    sqlite3_backup *copy = sqlite3_backup_init (target, "main", source, "main");
    int rc = copy ? SQLITE_OK : sqlite3_extended_errcode (target);
    while (rc == SQLITE_OK) {
        rc = sqlite3_backup_step (copy, STEP_PAGES);
        int64_t total = copy ? sqlite3_backup_pagecount (copy) : 0;
        if ((rc == SQLITE_OK || rc == SQLITE_DONE) && progress &&
            !progress (arg, total - sqlite3_backup_remaining (copy), total))
            rc = SQLITE_INTERRUPT;
    }
    if (copy)
        sqlite3_backup_finish (copy);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int
s_copy (
    sqlite3 *source, const char *to, argos_store_file_progress_t *progress, void *arg, char *reason)
{
    static const char pragmas[] = "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;";
    sqlite3 *target = NULL;
    unlink (to);
    int flags =
        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    int rc = sqlite3_open_v2 (to, &target, flags, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec (target, pragmas, NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        rc = s_steps (source, target, progress, arg);
    if (rc != SQLITE_OK)
        snprintf (reason, REASON, "can't copy to %.300s: %.120s", to,
            rc == SQLITE_INTERRUPT ? "interrupted" : sqlite3_errstr (rc));
    sqlite3_close (target);
    if (rc != SQLITE_OK)
        unlink (to);
    return rc == SQLITE_OK ? 0 : -1;
}

int
argos_store_file_copy (const char *from, const char *to, argos_store_file_progress_t *progress,
    void *arg, char *reason)
{
    sqlite3 *source = s_open (from, reason);
    if (!source)
        return -1;
    int rc = s_copy (source, to, progress, arg, reason);
    sqlite3_close (source);
    return rc;
}

int
argos_store_file_settle (const char *path, char *reason)
{
    sqlite3 *db = s_open (path, reason);
    if (!db)
        return -1;
    int rc = 0;
    if (sqlite3_exec (db, "PRAGMA journal_mode = DELETE", NULL, NULL, NULL) != SQLITE_OK)
        rc = s_problem (reason, "can't settle", path, db);
    sqlite3_close (db);
    if (rc == 0 && (s_sync (path, O_RDONLY) != 0 || s_sync_folder (path) != 0)) {
        snprintf (reason, REASON, "can't sync %.300s: %.120s", path, strerror (errno));
        rc = -1;
    }
    return rc;
}

//  ------------------------------------------------------------------------------------------------
//  Looking

//  Says what a pragma finds; "ok" is nothing.

static int
s_findings (sqlite3 *db, const char *sql, argos_store_file_line_t *line, void *arg, int count)
{
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2 (db, sql, -1, &stmt, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_step (stmt);
    for (; rc == SQLITE_ROW; rc = sqlite3_step (stmt)) {
        const char *text = (const char *) sqlite3_column_text (stmt, 0);
        if (text && strcmp (text, "ok") != 0 && count++ < FINDINGS_MAX)
            line (arg, text);
    }
    if (rc != SQLITE_DONE && count++ < FINDINGS_MAX)
        line (arg, sqlite3_errmsg (db));
    sqlite3_finalize (stmt);
    return count;
}

int
argos_store_file_check (const char *path, bool own, bool deep, argos_store_file_line_t *line,
    void *arg, int64_t *ret_schema, char *reason)
{
    static const char *const search[] = {
        "INSERT INTO message_words (message_words) VALUES ('integrity-check')",
        "INSERT INTO message_trigrams (message_trigrams) VALUES ('integrity-check')"
    };
    sqlite3 *db = own || deep ? s_open (path, reason) : s_look (path, reason);
    if (!db)
        return -1;
    int count = -1;
    *ret_schema = argos_store_file_number (db, "PRAGMA user_version");
    if (argos_store_file_number (db, "PRAGMA application_id") != ARGOS_STORE_APPLICATION_ID)
        snprintf (reason, REASON, "%.400s is not a database of argos", path);
    else if (*ret_schema > argos_store_schema ())
        snprintf (reason, REASON, "%.300s (schema %lld) is newer than this program (schema %lld)",
            path, (long long) *ret_schema, (long long) argos_store_schema ());
    else
        count =
            s_findings (db, deep ? "PRAGMA integrity_check" : "PRAGMA quick_check", line, arg, 0);
    for (size_t i = 0; deep && count >= 0 && i < sizeof search / sizeof *search; i++) {
        sqlite3_exec (db, "BEGIN", NULL, NULL, NULL);
        count = s_findings (db, search[i], line, arg, count);
        sqlite3_exec (db, "ROLLBACK", NULL, NULL, NULL);
    }
    sqlite3_close (db);
    return count;
}

static json_t *
s_value (sqlite3_stmt *stmt, int column)
{
    int size = sqlite3_column_bytes (stmt, column);
    json_t *value = NULL;
    switch (sqlite3_column_type (stmt, column)) {
    case SQLITE_INTEGER:
        return json_integer (sqlite3_column_int64 (stmt, column));
    case SQLITE_FLOAT:
        value = json_real (sqlite3_column_double (stmt, column));
        break;
    case SQLITE_TEXT:
        value = argos_store_string ((argos_sql_row_t *) stmt, column);
        break;
    case SQLITE_BLOB: {
        const unsigned char *bytes = sqlite3_column_blob (stmt, column);
        char *hex = malloc (2 * (size_t) size + 1);
        if (!hex)
            abort ();
        hex[0] = 0;
        for (int i = 0; i < size; i++)
            snprintf (hex + (size_t) i * 2, 3, "%02x", bytes[i]);
        value = json_string (hex);
        free (hex);
        break;
    }
    default:
        break;
    }
    return value ? value : json_null (); //  Also what JSON has no form for
}

//  A member for the column; when another one has its name, with its number behind it.

static void
s_set_column (json_t *object, sqlite3_stmt *stmt, int column)
{
    char other[NAME_MAX];
    const char *name = sqlite3_column_name (stmt, column);
    if (!name || json_object_get (object, name)) {
        snprintf (other, sizeof other, "%.200s:%d", name ? name : "", column + 1);
        name = other;
    }
    json_object_set_new (object, name, s_value (stmt, column));
}

static int
s_rows (sqlite3_stmt *stmt, argos_store_file_row_t *row, void *arg)
{
    int rc;
    while ((rc = sqlite3_step (stmt)) == SQLITE_ROW) {
        json_t *object = json_object ();
        for (int i = 0; i < sqlite3_column_count (stmt); i++)
            s_set_column (object, stmt, i);
        row (arg, object);
        json_decref (object);
    }
    return rc == SQLITE_DONE ? 0 : -1;
}

int
argos_store_file_query (
    const char *path, const char *sql, argos_store_file_row_t *row, void *arg, char *reason)
{
    sqlite3_stmt *stmt = NULL;
    const char *rest = "";
    sqlite3 *db = s_look (path, reason);
    if (!db)
        return -1;
    sqlite3_limit (db, SQLITE_LIMIT_ATTACHED, 0);
    int rc = sqlite3_prepare_v2 (db, sql, -1, &stmt, &rest);
    if (rc != SQLITE_OK)
        snprintf (reason, REASON, "%.400s", sqlite3_errmsg (db));
    else if (!stmt || rest[strspn (rest, " \t\r\n;")] || !sqlite3_stmt_readonly (stmt)) {
        snprintf (reason, REASON, "one statement is needed, that changes nothing");
        rc = SQLITE_READONLY;
    }
    else if (s_rows (stmt, row, arg) != 0) {
        snprintf (reason, REASON, "%.400s", sqlite3_errmsg (db));
        rc = SQLITE_ERROR;
    }
    sqlite3_finalize (stmt);
    sqlite3_close (db);
    return rc == SQLITE_OK ? 0 : -1;
}

//  ------------------------------------------------------------------------------------------------
//  Changing

int
argos_store_file_compact (const char *path, int64_t *ret_before, int64_t *ret_after, char *reason)
{
    struct stat info;
    sqlite3 *db = s_open (path, reason);
    if (!db)
        return -1;
    int rc = 0;
    *ret_before = stat (path, &info) == 0 ? info.st_size : 0;
    if (sqlite3_exec (db,
            "PRAGMA auto_vacuum = INCREMENTAL; VACUUM; PRAGMA wal_checkpoint (TRUNCATE);", NULL,
            NULL, NULL) != SQLITE_OK)
        rc = s_problem (reason, "can't compact", path, db);
    sqlite3_close (db);
    *ret_after = stat (path, &info) == 0 ? info.st_size : 0;
    return rc;
}

static void
s_silent (void *arg, const char *finding)
{
    char *first = arg;
    if (!*first)
        snprintf (first, REASON, "%.400s", finding);
}

//  The copy becomes a store of its own, and is opened once.

static int
s_prove (const char *path, int64_t now, char *reason)
{
    sqlite3 *db = s_open (path, reason);
    if (!db)
        return -1;
    int rc = sqlite3_exec (db, "DELETE FROM meta WHERE name = 'store_id'", NULL, NULL, NULL);
    if (rc != SQLITE_OK)
        s_problem (reason, "can't change", path, db);
    sqlite3_close (db);
    argos_store_t *store = rc == SQLITE_OK ? argos_store_new (path, now, reason) : NULL;
    rc = store ? 0 : -1;
    argos_store_destroy (&store);
    char *ballast = argos_store_file_beside (path, "-ballast");
    unlink (ballast);
    free (ballast);
    return rc == 0 ? argos_store_file_settle (path, reason) : -1;
}

//  The logs of a file go with it to its other name. Returns 0, or -1: one is still there.

static int
s_move_logs (const char *from, const char *to)
{
    static const char *const logs[] = { "-wal", "-journal" };
    int rc = 0;
    for (size_t i = 0; i < sizeof logs / sizeof *logs; i++) {
        char *old = argos_store_file_beside (from, logs[i]),
             *name = argos_store_file_beside (to, logs[i]);
        if (rename (old, name) != 0 && errno != ENOENT)
            rc = -1;
        free (old);
        free (name);
    }
    return rc;
}

//  The name of what was at path, new.

static char *
s_aside (const char *path, int64_t now)
{
    char suffix[64];
    struct tm parts;
    time_t seconds = (time_t) (now / 1000);
    gmtime_r (&seconds, &parts);
    strftime (suffix, sizeof suffix, ".before-%Y%m%d_%H%M%S", &parts);
    return argos_store_file_beside (path, suffix);
}

//  The file at path gets a second name; where a file can have one only, it is that one. What is in
//  its log is brought into it first, if that is possible: a damaged file goes as it is. One that
//  somebody else has open stays, as he would go on writing to it. Returns 0 or -1.

static int
s_set_aside (const char *path, const char *aside, char *reason)
{
    sqlite3 *db = NULL;
    int code = s_open_alone (path, &db);
    if (code == SQLITE_OK)
        sqlite3_wal_checkpoint_v2 (db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    sqlite3_close (db);
    if ((code & 0xff) == SQLITE_BUSY) {
        snprintf (reason, REASON, "%.400s is in use by another process", path);
        return -1;
    }
    if (link (path, aside) == 0 || (errno != EEXIST && rename (path, aside) == 0))
        return 0;
    snprintf (reason, REASON, "can't set %.300s aside as %.150s", path, aside);
    return -1;
}

//  The file of a name is removed, if there is one.

static void
s_drop_beside (const char *path, const char *suffix)
{
    char *name = argos_store_file_beside (path, suffix);
    unlink (name);
    free (name);
}

//  One rename puts fresh over path, so that there is a database at any moment. The logs have gone
//  before, so that none is ever applied to another file. Returns 0, or -1 with a reason and all as
//  it was.

static int
s_take_place (const char *fresh, const char *path, const char *aside, bool there, char *reason)
{
    if (there && s_set_aside (path, aside, reason) != 0)
        return -1;
    if (s_move_logs (path, aside) == 0 && s_sync_folder (path) == 0 && rename (fresh, path) == 0) {
        s_drop_beside (path, "-shm");
        s_drop_beside (path, "-damaged"); //  What was, is aside
        s_sync_folder (path);
        return 0;
    }
    snprintf (reason, REASON, "can't rename %.300s: %.100s", fresh, strerror (errno));
    s_move_logs (aside, path);
    if (there) {
        rename (aside, path); //  Nothing happens when both are names of it
        unlink (aside);
    }
    return -1;
}

int
argos_store_file_restore (const char *backup, const char *path, int64_t now,
    argos_store_file_progress_t *progress, void *arg, char **ret_aside, char *reason)
{
    char first[REASON] = "";
    int64_t schema;
    *ret_aside = NULL;
    int findings = argos_store_file_check (backup, false, false, s_silent, first, &schema, reason);
    if (findings > 0)
        snprintf (reason, REASON, "%.200s is damaged: %.200s", backup, first);
    if (findings != 0)
        return -1;
    char *fresh = argos_store_file_beside (path, ".restore");
    sqlite3 *source = s_look (backup, reason);
    int rc = source ? s_copy (source, fresh, progress, arg, reason) : -1;
    sqlite3_close (source);
    if (rc == 0)
        rc = s_prove (fresh, now, reason);
    bool there = access (path, F_OK) == 0;
    char *aside = s_aside (path, now);
    if (rc == 0)
        rc = s_take_place (fresh, path, aside, there, reason);
    if (rc == 0 && there)
        *ret_aside = aside;
    else
        free (aside);
    if (rc != 0)
        unlink (fresh);
    free (fresh);
    return rc;
}
