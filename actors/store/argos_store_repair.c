//  argos_store_repair - a damaged database is put right at the start, as far as nothing is lost by
//  it.
//
//  Invariants: before anything is tried the file, and its log, are copied as they are, once for
//  each damage (the mark beside the database names the copy). Only what can be made again from the
//  rest is made again: indexes, the index of search, the file around the rows. What is left then is
//  refused with the name of the copy: it is a person's decision what may be lost. Limit: it takes
//  as long as reading the whole file a few times.

#include "argos_store_priv.h"

#include "argos_embedded.h"
#include "argos_store_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define COPY_SIZE 65536  //  Bytes of a piece of a copy
#define REASON_SIZE 256  //  Bytes of a reason
#define NAME_MAX_SIZE 64 //  Bytes of what stands in the mark

static const char *
s_base (const char *path)
{
    const char *slash = strrchr (path, '/');
    return slash ? slash + 1 : path;
}

//  ------------------------------------------------------------------------------------------------
//  The mark: a file beside the database; in it what the copy has behind the name of the database

void
argos_store_mark (const char *path, const char *suffix)
{
    char *name = argos_store_file_beside (path, "-damaged");
    int fd = open (name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0) {
        size_t size = strlen (suffix);
        if (write (fd, suffix, size) != (ssize_t) size || fsync (fd) != 0)
            unlink (name);
        close (fd);
    }
    free (name);
}

bool
argos_store_marked (const char *path)
{
    char *name = argos_store_file_beside (path, "-damaged");
    bool marked = access (name, F_OK) == 0;
    free (name);
    return marked;
}

static void
s_unmark (const char *path)
{
    char *name = argos_store_file_beside (path, "-damaged");
    unlink (name);
    free (name);
}

//  What stands in it: ".damaged-...", or "".

static void
s_read_mark (const char *path, char suffix[static NAME_MAX_SIZE])
{
    char *name = argos_store_file_beside (path, "-damaged");
    int fd = open (name, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? 0 : read (fd, suffix, NAME_MAX_SIZE - 1);
    suffix[size > 0 ? size : 0] = 0;
    if (fd >= 0)
        close (fd);
    free (name);
}

//  ------------------------------------------------------------------------------------------------
//  The copy

//  The bytes of a file. There is no connection to it now, whose lock a close could drop. Returns 0;
//  1 when there is no such file; -1 with errno.

static int
s_copy (const char *from, const char *to)
{
    char bytes[COPY_SIZE];
    ssize_t size = -1;
    int source = open (from, O_RDONLY | O_CLOEXEC);
    if (source < 0)
        return errno == ENOENT ? 1 : -1;
    int target = open (to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    while (target >= 0 && (size = read (source, bytes, sizeof bytes)) > 0)
        if (write (target, bytes, (size_t) size) != size)
            break;
    int rc = target >= 0 && size == 0 && fsync (target) == 0 ? 0 : -1;
    int problem = errno;
    close (source);
    if (target >= 0)
        close (target);
    if (rc != 0 && target >= 0)
        unlink (to);
    errno = problem;
    return rc;
}

//  Keeps the file as it is, unless that was done for this damage. Returns 0 or -1.

static int
s_keep (const char *path, int64_t now, char suffix[static NAME_MAX_SIZE], char *reason)
{
    struct tm parts;
    time_t seconds = (time_t) (now / 1000);
    s_read_mark (path, suffix);
    char *copy = argos_store_file_beside (path, suffix);
    bool kept = *suffix && access (copy, F_OK) == 0;
    free (copy);
    if (kept)
        return 0;
    gmtime_r (&seconds, &parts);
    strftime (suffix, NAME_MAX_SIZE, ".damaged-%Y%m%d_%H%M%S", &parts);
    copy = argos_store_file_beside (path, suffix);
    char *log = argos_store_file_beside (path, "-wal"),
         *copied = argos_store_file_beside (copy, "-wal");
    int rc = s_copy (path, copy) == 0 && s_copy (log, copied) >= 0 ? 0 : -1;
    if (rc == 0)
        argos_store_mark (path, suffix);
    else
        snprintf (reason, REASON_SIZE,
            "%.100s is damaged, and it can't be copied before a repair: %s", path,
            strerror (errno));
    free (copy);
    free (log);
    free (copied);
    return rc;
}

//  ------------------------------------------------------------------------------------------------
//  The steps

static bool
s_do (sqlite3 *db, const char *sql)
{
    return sqlite3_exec (db, sql, NULL, NULL, NULL) == SQLITE_OK;
}

//  The statements that make the indexes of search: the end of their migration. NULL in a file that
//  has none yet.

static const char *
s_search_sql (sqlite3 *db)
{
    const argos_embedded_t *file = argos_embedded_files;
    while (file->name && strcmp (file->name, "sql/0005_search.sql") != 0)
        file++;
    bool later = file->name && argos_store_file_number (db, "PRAGMA user_version") >= 5;
    return later ? strstr (file->data, "CREATE VIRTUAL TABLE") : NULL;
}

static bool
s_is_whole (sqlite3 *db)
{
    static const char tables[] = "SELECT count (*) FROM sqlite_schema WHERE name IN ("
                                 "'message_words', 'message_trigrams')";
    if (s_search_sql (db) && argos_store_file_number (db, tables) != 2)
        return false;
    return argos_store_file_number (db, "SELECT count (*) FROM pragma_integrity_check (1)"
                                        " WHERE integrity_check <> 'ok'") == 0;
}

static bool
s_reindex (sqlite3 *db)
{
    return s_do (db, "REINDEX");
}

//  The indexes of search go, with all that belongs to them, and are made by the words that made
//  them; the indexer fills them again. What can't be read can't be dropped: then they are taken out
//  of the schema, and a new file is written around the rest.

static bool
s_renew_search (sqlite3 *db)
{
    static const char drop[] = "DROP TABLE IF EXISTS message_words;"
                               "DROP TABLE IF EXISTS message_trigrams;";
    static const char forget[] = "PRAGMA writable_schema = ON;"
                                 "DELETE FROM sqlite_schema WHERE name GLOB 'message_words*'"
                                 " OR name GLOB 'message_trigrams*';"
                                 "PRAGMA writable_schema = RESET; VACUUM;";
    const char *make = s_search_sql (db);
    if (!make)
        return false;
    bool gone = s_do (db, "BEGIN IMMEDIATE") && s_do (db, drop) && s_do (db, "COMMIT");
    if (!gone && !sqlite3_get_autocommit (db))
        s_do (db, "ROLLBACK");
    return (gone || s_do (db, forget)) && s_do (db, "BEGIN IMMEDIATE") && s_do (db, make) &&
           s_do (db, "DELETE FROM meta WHERE name = 'indexed'") && s_do (db, "COMMIT");
}

//  The rows into a new file around them.

static bool
s_rebuild (sqlite3 *db)
{
    return s_do (db, "VACUUM");
}

int
argos_store_repair (
    const char *path, int64_t now, char done[static ARGOS_STORE_REPAIR_MAX], char *reason)
{
    static const struct {
        const char *name;           //  For people
        bool (*step) (sqlite3 *db); //  False: nothing has changed
    } steps[] = { { "looking at it", NULL }, { "making its indexes anew", s_reindex },
        { "making the index of search anew", s_renew_search }, { "writing it anew", s_rebuild } };
    char suffix[NAME_MAX_SIZE];
    sqlite3 *db = NULL;
    bool whole = false;
    if (s_keep (path, now, suffix, reason) != 0)
        return -1;
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    size_t count = sizeof steps / sizeof *steps;
    if (sqlite3_open_v2 (path, &db, flags, NULL) != SQLITE_OK ||
        !s_do (db, "PRAGMA locking_mode = EXCLUSIVE; PRAGMA trusted_schema = OFF;"))
        count = 0;
    for (size_t i = 0; i < count && !whole; i++) {
        bool tried = !steps[i].step || steps[i].step (db);
        whole = tried && s_is_whole (db);
        if (whole)
            snprintf (done, ARGOS_STORE_REPAIR_MAX,
                "the database was damaged and is whole after %s;"
                " as it was it is kept as %.100s%s",
                steps[i].name, s_base (path), suffix);
    }
    sqlite3_close (db);
    if (!whole) {
        snprintf (reason, REASON_SIZE,
            "%.60s is damaged beyond what can be made again; it is kept as %.40s%.40s:"
            " restore a backup (argos db restore FILE)",
            path, s_base (path), suffix);
        return -1;
    }
    s_unmark (path);
    return 0;
}
