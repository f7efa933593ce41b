//  argos_store_engine - the narrow place between the operations of the store and the engine below.
//
//  Operations name statements by number, bind by a format and read rows by these calls; they see
//  neither the text of a statement nor the library that runs it. What is behind: the texts
//  (argos_store_sql*.c), the library (argos_store_column.c, argos_store_connect.c), and what only
//  concerns a file of SQLite (open, vfs, space, backup, repair, rank, file, hermes). Another engine
//  takes the place of those; the tests of the operations speak in messages and stay.

#ifndef ARGOS_STORE_ENGINE_H
#define ARGOS_STORE_ENGINE_H

#include "argos_frame.h"
#include "argos_store.h"

#include <jansson.h>

typedef enum {
    ARGOS_SQL_BEGIN,
    ARGOS_SQL_COMMIT,
    ARGOS_SQL_ROLLBACK,
    ARGOS_SQL_SAVEPOINT,
    ARGOS_SQL_UNDO,
    ARGOS_SQL_KEEP,
    ARGOS_SQL_META_GET,
    ARGOS_SQL_META_PUT,
    ARGOS_SQL_SERVICE_ADD,
    ARGOS_SQL_SERVICE_ALL,
    ARGOS_SQL_SERVICE_PAUSE,
    ARGOS_SQL_SERVICE_DROP,
    ARGOS_SQL_SERVICE_ROW,
    ARGOS_SQL_SEQUENCE,
    ARGOS_SQL_INDEX,
    ARGOS_SQL_SEEN_ADD,
    ARGOS_SQL_SEEN_GET,
    ARGOS_SQL_SEEN_SEQ,
    ARGOS_SQL_ROW_ADD,
    ARGOS_SQL_ROW_GET,
    ARGOS_SQL_ROW_HEAD,
    ARGOS_SQL_ROW_N,
    ARGOS_SQL_ROW_LEASE,
    ARGOS_SQL_ROW_RELEASE,
    ARGOS_SQL_ROW_DROP,
    ARGOS_SQL_ROW_TAKE,
    ARGOS_SQL_ROW_WAKE,
    ARGOS_SQL_ROW_HELD,
    ARGOS_SQL_ROW_LEASED,
    ARGOS_SQL_LANE_BUSY,
    ARGOS_SQL_LANE_LEASED,
    ARGOS_SQL_LANE_AHEAD,
    ARGOS_SQL_LANE_MAIL,
    ARGOS_SQL_LANE_COUNT,
    ARGOS_SQL_LANE_LIST,
    ARGOS_SQL_FINISHED_ADD,
    ARGOS_SQL_FINISHED_GET,
    ARGOS_SQL_DEAD_ADD,
    ARGOS_SQL_DEAD_BURY,
    ARGOS_SQL_DEAD_LIST,
    ARGOS_SQL_DEAD_GET,
    ARGOS_SQL_DEAD_DROP,
    ARGOS_SQL_DEAD_REDRIVE,
    ARGOS_SQL_TOPIC_GET,
    ARGOS_SQL_TOPIC_ADD,
    ARGOS_SQL_TOPIC_OWN,
    ARGOS_SQL_TOPIC_CLOSE,
    ARGOS_SQL_TOPIC_NEWEST,
    ARGOS_SQL_JOURNAL_ADD,
    ARGOS_SQL_JOURNAL_PAGE,
    ARGOS_SQL_JOURNAL_TRIM,
    ARGOS_SQL_SESSION_GET,
    ARGOS_SQL_SESSION_ADD,
    ARGOS_SQL_SESSION_CONTINUES,
    ARGOS_SQL_SESSION_CLOSE,
    ARGOS_SQL_SESSION_COUNT,
    ARGOS_SQL_SESSION_COUNT_ONLY,
    ARGOS_SQL_SESSION_VERSION,
    ARGOS_SQL_SESSION_ROW,
    ARGOS_SQL_SESSION_FILL,
    ARGOS_SQL_SESSION_CONTINUED,
    ARGOS_SQL_SESSION_REOPEN,
    ARGOS_SQL_SESSION_TITLE,
    ARGOS_SQL_SESSION_MODEL,
    ARGOS_SQL_SESSION_HIDE,
    ARGOS_SQL_SESSION_ARCHIVE,
    ARGOS_SQL_SESSION_HOME,
    ARGOS_SQL_SESSION_BRANCH,
    ARGOS_SQL_SESSION_RECOUNT,
    ARGOS_SQL_SESSION_PREVIEW,
    ARGOS_SQL_SESSION_FIRST,
    ARGOS_SQL_SESSION_ORPHAN,
    ARGOS_SQL_SESSION_DELEGATES,
    ARGOS_SQL_SESSION_DROP,
    ARGOS_SQL_SESSION_PRUNABLE,
    ARGOS_SQL_SESSION_LIST,
    ARGOS_SQL_SESSION_LIST_OWNER,
    ARGOS_SQL_SESSION_LIST_ALL,
    ARGOS_SQL_SESSION_PREFIX,
    ARGOS_SQL_SESSION_TITLED,
    ARGOS_SQL_SESSION_IMPORT,
    ARGOS_SQL_SESSION_IMPORTING,
    ARGOS_SQL_SESSION_IMPORTED,
    ARGOS_SQL_SESSION_REWINDS,
    ARGOS_SQL_TITLE_TAKEN,
    ARGOS_SQL_MESSAGE_IMPORT,
    ARGOS_SQL_USAGE_IMPORT,
    ARGOS_SQL_SESSION_UP,
    ARGOS_SQL_SESSION_TIP,
    ARGOS_SQL_SESSION_CHILDREN,
    ARGOS_SQL_SESSION_PLATFORMS,
    ARGOS_SQL_TITLE_HOLDER,
    ARGOS_SQL_TITLE_FREE,
    ARGOS_SQL_TITLE_NUMBERED,
    ARGOS_SQL_MESSAGE_COPY,
    ARGOS_SQL_MESSAGE_CLEAR,
    ARGOS_SQL_MESSAGE_FOLD,
    ARGOS_SQL_MESSAGE_IS_USER,
    ARGOS_SQL_MESSAGE_REWIND,
    ARGOS_SQL_MESSAGE_RESTORE,
    ARGOS_SQL_MESSAGE_NEWER,
    ARGOS_SQL_MESSAGE_TRASH,
    ARGOS_SQL_MESSAGE_ALL,
    ARGOS_SQL_MESSAGE_SAID,
    ARGOS_SQL_TRASHED_DROP,
    ARGOS_SQL_TEXT_SIZES,
    ARGOS_SQL_WORDS_ADD,
    ARGOS_SQL_TRIGRAMS_ADD,
    ARGOS_SQL_WORDS_DROP,
    ARGOS_SQL_TRIGRAMS_DROP,
    ARGOS_SQL_TAIL_WORDS,
    ARGOS_SQL_TAIL_TRIGRAMS,
    ARGOS_SQL_TAIL_WORD,
    ARGOS_SQL_TAIL_TERMS,
    ARGOS_SQL_WORD_NEXT,
    ARGOS_SQL_MESSAGE_NEWEST,
    ARGOS_SQL_MESSAGE_EXTRA,
    ARGOS_SQL_MESSAGE_RANGE,
    ARGOS_SQL_FIND_WORDS,
    ARGOS_SQL_FIND_TRIGRAMS,
    ARGOS_SQL_FIND_TAIL_WORDS,
    ARGOS_SQL_FIND_TAIL_TRIGRAMS,
    ARGOS_SQL_FIND_PLAIN,
    ARGOS_SQL_SNIPPET_WORDS,
    ARGOS_SQL_SNIPPET_TRIGRAMS,
    ARGOS_SQL_SNIPPET_TAIL_WORDS,
    ARGOS_SQL_SNIPPET_TAIL_TRIGRAMS,
    ARGOS_SQL_SNIPPET_PLAIN,
    ARGOS_SQL_HIT,
    ARGOS_SQL_USAGE_ADD,
    ARGOS_SQL_USAGE_SUM,
    ARGOS_SQL_USAGE_GET,
    ARGOS_SQL_USAGE_DROP,
    ARGOS_SQL_USAGE_MODELS,
    ARGOS_SQL_MESSAGE_ADD,
    ARGOS_SQL_MESSAGE_RENAME,
    ARGOS_SQL_MESSAGE_PAGE,
    ARGOS_SQL_ROUTE_GET,
    ARGOS_SQL_ROUTE_BIND,
    ARGOS_SQL_ROUTE_VERSION,
    ARGOS_SQL_ROUTE_MOVE,
    ARGOS_SQL_ROUTE_BACK,
    ARGOS_SQL_ROUTE_FORGET,
    ARGOS_SQL_ROUTE_ORPHAN,
    ARGOS_SQL_ROUTE_OTHER,
    ARGOS_SQL_ROUTE_TASKS,
    ARGOS_SQL_ROUTE_SUSPEND,
    ARGOS_SQL_ROUTE_UNSUSPEND,
    ARGOS_SQL_ROUTE_RESUME,
    ARGOS_SQL_ROUTE_RESUME_ALL,
    ARGOS_SQL_ROUTE_CLEAR,
    ARGOS_SQL_ROUTE_PRUNE,
    ARGOS_SQL_ROUTE_LIST,
    ARGOS_SQL_ROUTE_LIST_SESSION,
    ARGOS_SQL_HANDOFF_CLEAR,
    ARGOS_SQL_HANDOFF_ADD,
    ARGOS_SQL_HANDOFF_CLAIM,
    ARGOS_SQL_HANDOFF_BEAT,
    ARGOS_SQL_HANDOFF_COMPLETE,
    ARGOS_SQL_HANDOFF_FAIL,
    ARGOS_SQL_HANDOFF_GIVEN_UP,
    ARGOS_SQL_HANDOFF_LOST,
    ARGOS_SQL_HANDOFF_GET,
    ARGOS_SQL_HANDOFF_OF,
    ARGOS_SQL_HANDOFF_LIST,
    ARGOS_SQL_HANDOFF_DROP,
    ARGOS_SQL_RUN_ADD,
    ARGOS_SQL_RUN_BIND,
    ARGOS_SQL_RUN_FINISH,
    ARGOS_SQL_RUN_GET,
    ARGOS_SQL_RUN_LIST,
    ARGOS_SQL_RUN_LIST_OWNER,
    ARGOS_SQL_RUN_LIST_ORIGIN,
    ARGOS_SQL_RUN_OPEN,
    ARGOS_SQL_RUN_ROW,
    ARGOS_SQL_RUN_STOP,
    ARGOS_SQL_RUN_EVENT,
    ARGOS_SQL_RECEIPT_ADD,
    ARGOS_SQL_RECEIPT_GET,
    ARGOS_SQL_DELIVERY_LIST,
    ARGOS_SQL_DELIVERY_GONE,
    ARGOS_SQL_DELIVERY_WAITING,
    ARGOS_SQL_DELIVERY_QUEUED,
    ARGOS_SQL_DELIVERY_ENDED,
    ARGOS_SQL_CURSOR_PUT,
    ARGOS_SQL_CURSOR_GET,
    ARGOS_SQL_RECORD_GET,
    ARGOS_SQL_RECORD_PUT,
    ARGOS_SQL_RECORD_DROP,
    ARGOS_SQL_RECORD_LIST,
    ARGOS_SQL_STATUS,
    ARGOS_SQL_FREE_PAGES,
    ARGOS_SQL_ALL_PAGES,
    ARGOS_SQL_BLOB_FIND,
    ARGOS_SQL_BLOB_PARTIAL,
    ARGOS_SQL_BLOB_ADD,
    ARGOS_SQL_BLOB_GROW,
    ARGOS_SQL_BLOB_COMPLETE,
    ARGOS_SQL_BLOB_TOUCH,
    ARGOS_SQL_BLOB_DROP,
    ARGOS_SQL_BLOB_REF,
    ARGOS_SQL_BLOB_WALK,
    ARGOS_SQL_BLOB_TRASH,
    ARGOS_SQL_CHUNK_ADD,
    ARGOS_SQL_CHUNK_PAGE,
    ARGOS_SQL_CHUNK_DROP,
    ARGOS_SQL_TRASH_FIRST,
    ARGOS_SQL_TRASH_DROP,
    ARGOS_SQL_STATEMENTS //  How many there are
} argos_sql_t;

//  Statements of what is done when nothing waits

typedef enum {
    ARGOS_CHORE_NONE,
    ARGOS_CHORE_SEEN_SLICE,
    ARGOS_CHORE_SEEN_DROP,
    ARGOS_CHORE_FINISHED_SLICE,
    ARGOS_CHORE_FINISHED_DROP,
    ARGOS_CHORE_RECEIPTS_SLICE,
    ARGOS_CHORE_RECEIPTS_DROP,
    ARGOS_CHORE_RECORDS_SLICE,
    ARGOS_CHORE_RECORDS_DROP,
    ARGOS_CHORE_RUNS_SLICE,
    ARGOS_CHORE_RUNS_UNREF,
    ARGOS_CHORE_RUNS_DROP,
    ARGOS_CHORE_TOPICS_SLICE,
    ARGOS_CHORE_TOPICS_EMPTY,
    ARGOS_CHORE_TOPICS_DROP,
    ARGOS_CHORE_ENTRIES_NEWEST,
    ARGOS_CHORE_ENTRIES_DROP,
    ARGOS_CHORE_RETAIN_NEXT,
    ARGOS_CHORE_RETAIN_DROP,
    ARGOS_CHORE_RETAIN_OLD,
    ARGOS_CHORE_RETAIN_SIZES,
    ARGOS_CHORE_EXPIRE_COUNT,
    ARGOS_CHORE_EXPIRE_SLICE,
    ARGOS_CHORE_EXPIRE_JOURNAL,
    ARGOS_CHORE_EXPIRE_TOPICS,
    ARGOS_CHORE_EXPIRE_RECORDS,
    ARGOS_CHORE_EXPIRE_REFS,
    ARGOS_CHORE_EXPIRE_ROWS,
    ARGOS_CHORES //  How many there are
} argos_chore_t;

//  The row that a begun statement stands on

typedef struct argos_sql_row argos_sql_row_t;

//  Formats: i int64_t, d double, s string, e string or NULL when empty, b pointer and size_t (NULL
//  when the pointer is), j json_t (NULL when absent or null). What is bound must live until the
//  call, or the last row, is over. After a failure self->failed is its code and nothing more is
//  executed until the batch has dealt with it.

//  Execute a statement that returns no rows. 0, or -1 with self->failed set.
int argos_store_run (argos_store_t *self, argos_sql_t sql, const char *format, ...);

//  Begin a statement; the row it stands on, or NULL (no row, or failed). Over with argos_store_end,
//  also when NULL.
argos_sql_row_t *argos_store_query (argos_store_t *self, argos_sql_t sql, const char *format, ...);

//  Go to the next row of a begun statement; false when there is none.
bool argos_store_next (argos_store_t *self, argos_sql_row_t *row);

void argos_store_end (argos_store_t *self, argos_sql_t sql);

//  One integer, or absent when there is no row.
int64_t argos_store_number (
    argos_store_t *self, int64_t absent, argos_sql_t sql, const char *format, ...);

//  The same for what is done so rarely (the chores) that it is not kept. Over with
//  argos_store_once_end, also when NULL.
int argos_store_once_run (argos_store_t *self, argos_chore_t chore, const char *format, ...);
argos_sql_row_t *argos_store_once (
    argos_store_t *self, argos_chore_t chore, const char *format, ...);
void argos_store_once_end (argos_sql_row_t *row);

//  Several statements without parameters. 0 or -1 (self->failed).
int argos_store_exec (argos_store_t *self, const char *text);

//  Columns: a number (0 for NULL); whether it is NULL, or an integer; its bytes, and its text,
//  terminated, valid until the next row (NULL for NULL, and for no bytes), and how many they are;
//  how many columns there are.
int64_t argos_sql_int (argos_sql_row_t *row, int column);
double argos_sql_real (argos_sql_row_t *row, int column);
bool argos_sql_is_null (argos_sql_row_t *row, int column);
bool argos_sql_is_int (argos_sql_row_t *row, int column);
const void *argos_sql_bytes (argos_sql_row_t *row, int column);
const char *argos_sql_text (argos_sql_row_t *row, int column);
size_t argos_sql_size (argos_sql_row_t *row, int column);
int argos_sql_width (argos_sql_row_t *row);

//  Columns: copied into size bytes ("" for NULL); a new frame (NULL for NULL or empty); JSON (NULL
//  for NULL), a string.
void argos_store_text (argos_sql_row_t *row, int column, char *target, size_t size);
argos_frame_t *argos_store_frame (argos_sql_row_t *row, int column);
json_t *argos_store_json (argos_sql_row_t *row, int column);
json_t *argos_store_string (argos_sql_row_t *row, int column);

//  Whether the last statement has changed rows, and how many; rows changed by all of this
//  connection; the number of the last new row.
bool argos_store_changed (const argos_store_t *self);
int64_t argos_store_changes (const argos_store_t *self);
int64_t argos_store_changes_all (const argos_store_t *self);
int64_t argos_store_last_number (const argos_store_t *self);

//  What a code of self->failed means

typedef enum {
    ARGOS_FAULT_NONE,    //  Nothing has failed
    ARGOS_FAULT_OTHER,   //  The request, for a reason of its own
    ARGOS_FAULT_FULL,    //  No room on the disk: the transaction was not written
    ARGOS_FAULT_TAKEN,   //  Another process has the database
    ARGOS_FAULT_INDEX,   //  An index of search is damaged, which can be made anew
    ARGOS_FAULT_DAMAGED, //  The database is
    ARGOS_FAULT_SYNC     //  Whether what was written is on the disk is not known
} argos_store_fault_t;

argos_store_fault_t argos_store_fault (const argos_store_t *self);

//  Whether a transaction is open: after some failures it is gone.
bool argos_store_in_transaction (const argos_store_t *self);

//  A sentence for a code of self->failed.
const char *argos_store_why (int code);

//  argos_store_vfs.c. The name of the VFS that gathers what a commit writes to the log, which is
//  registered at the first call; NULL, and so the default one, when that can't be. Thread-safe.
const char *argos_store_vfs (void);

//  Opens the connection to path, which nobody else can have from here on, and looks whether what is
//  needed first can be read. 0, or -1 with a sentence in reason (256 bytes).
int argos_store_connect (argos_store_t *self, const char *path, char *reason);

//  Closes it, when there is one; `settle` brings what is in the log into the file first.
void argos_store_disconnect (argos_store_t *self, bool settle);

#endif
