//  argos_store_file - database files that nobody serves: copying, checking, asking, restoring.
//
//  For the commands of `argos`: they work on copies, or on the file itself while the caller holds
//  the lock of the home. No process that has a store open may use the same file here. What is said
//  to be a copy has no log beside it; one that has is refused (argos_store_scratch makes it whole).

#ifndef ARGOS_STORE_FILE_H
#define ARGOS_STORE_FILE_H

#include <jansson.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#define ARGOS_STORE_FILE_REASON 512 //  Bytes of a reason

//  How far something long is; done and total in pages. False ends it.
typedef bool (argos_store_file_progress_t) (void *arg, int64_t done, int64_t total);

//  A line of a result: a finding of a check, or a row.
typedef void (argos_store_file_line_t) (void *arg, const char *finding);
typedef void (argos_store_file_row_t) (void *arg, json_t *row); //  row is borrowed

//  The name of a file beside another one: path and suffix as one text, new, the caller's.
char *argos_store_file_beside (const char *path, const char *suffix);

//  The integer that a statement of one row gives; -1 = it gives none, or fails.
int64_t argos_store_file_number (sqlite3 *db, const char *sql);

//  What became of a table of a damaged database

#define ARGOS_STORE_SALVAGE_MAX 64 //  Tables

typedef struct {
    char name[64];  //  Of the table
    int64_t copied; //  Rows that came over
    int64_t lost;   //  Rows that are known to be lost
    int64_t made;   //  Rows made anew from what is left of them elsewhere
    bool more;      //  More may be lost: nothing tells how many there were
} argos_store_salvage_t;

typedef void (argos_store_file_salvaged_t) (void *arg, const argos_store_salvage_t *table);

//  Copies the database at `from`, with what is in its log, to a new file `to`. Returns 0, or -1
//  with a sentence in reason; then `to` is gone.
int argos_store_file_copy (const char *from, const char *to, argos_store_file_progress_t *progress,
    void *arg, char *reason);

//  Copies what can be read of a damaged database to a new file `to`, through a copy of its bytes
//  beside that. `from` is only read; nobody may have it open. Each table goes to `table`, in the
//  end. Returns 0; or -1 with a sentence in reason, then `to` is gone. The file is not synced yet
//  (argos_store_file_settle).
int argos_store_file_salvage (const char *from, const char *to,
    argos_store_file_progress_t *progress, void *arg, argos_store_file_salvaged_t *table,
    char *reason);

//  The part of it that makes the rows of a new file fit each other, in its transaction. Returns 0
//  or -1; *ret_sessions were made anew, *ret_blobs dropped.
int argos_store_mend (sqlite3 *db, int64_t version, int64_t *ret_sessions, int64_t *ret_blobs);

//  Makes a copy a file that stands alone: without a log, and on the disk. Returns 0 or -1.
int argos_store_file_settle (const char *path, char *reason);

//  Looks through a copy, or through a file that the caller has for himself (own): its pages, what
//  they hold; deep: and that indexes and search agree with the tables. Each finding goes to line.
//  Returns how many there are (at most 100 are said), or -1 when it can't be looked at, or is newer
//  than this program, or none of ours. *ret_schema is its version.
int argos_store_file_check (const char *path, bool own, bool deep, argos_store_file_line_t *line,
    void *arg, int64_t *ret_schema, char *reason);

//  Asks a copy; sql is one statement that changes nothing. Each row goes to row, an object by
//  column (blobs as hex). Returns 0 or -1.
int argos_store_file_query (
    const char *path, const char *sql, argos_store_file_row_t *row, void *arg, char *reason);

//  Writes the file at path anew without free pages, and so that it can be shrunk while it is
//  served. Returns 0 or -1; *ret_before and *ret_after are its bytes.
int argos_store_file_compact (
    const char *path, int64_t *ret_before, int64_t *ret_after, char *reason);

//  Puts a checked backup in the place of the database at path: a copy, under a new store id, that
//  has been opened (and migrated) once. The file that was there is kept aside; its name, new, or
//  NULL when there was none, goes to *ret_aside. Returns 0; or -1 with everything as it was.
int argos_store_file_restore (const char *backup, const char *path, int64_t now,
    argos_store_file_progress_t *progress, void *arg, char **ret_aside, char *reason);

#endif
