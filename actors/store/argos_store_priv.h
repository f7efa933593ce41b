//  argos_store_priv - what the files of the store share; nobody else includes it.
//
//  A handler returns true when its effects stay and false when they are to be undone (a refusal); a
//  failure of the database is noted in self->failed, which overrides both.

#ifndef ARGOS_STORE_PRIV_H
#define ARGOS_STORE_PRIV_H

#include "argos_schema.h"
#include "argos_store.h"
#include "argos_store_engine.h"

#include <jansson.h>

#define ARGOS_STORE_APPLICATION_ID 1095911247 //  "ARGO"
#define ARGOS_STORE_MIB ((int64_t) 1048576)   //  Bytes
#define ARGOS_STORE_STRIKES_MAX 20            //  Strikes that bury a message
#define ARGOS_STORE_STRIKES_SILENT 4          //  For a lease that ended in silence
#define ARGOS_STORE_STRIKES_FRUITFUL 1        //  The same after a commit
#define ARGOS_STORE_PAGE_BYTES 524288         //  Of a result that has pages
#define ARGOS_STORE_SPOILED_MAX 64            //  Blobs whose hash did not fit, in one batch
#define ARGOS_STORE_SESSION_MAX 257           //  Bytes of the id of a session, terminated
#define ARGOS_STORE_OWNER_MAX 513             //  Bytes of an owner, terminated
#define ARGOS_STORE_TITLE_MAX 401             //  Bytes of a title of 100 characters, terminated
#define ARGOS_STORE_COPY_MAX 20000            //  Messages that one operation copies or removes
#define ARGOS_STORE_FAMILY_MAX 1000           //  A session and its delegates, that go together
#define ARGOS_STORE_BEHIND_BUSY 4000          //  Index even under load when so many are not
#define ARGOS_STORE_HASH_SIZE 16              //  Bytes of a content hash
#define ARGOS_STORE_WAL_PAGES 4000            //  Checkpoint when idle
#define ARGOS_STORE_WAL_PAGES_BUSY 8000       //  Checkpoint even under load
#define ARGOS_STORE_WAL_PAGES_LONE 1000       //  Checkpoint when there is only one who waits
#define ARGOS_STORE_LONE 64                   //  Requests in turn that were alone: there is

//  A row of the queue without its header and body

typedef struct {
    int64_t seq, at, until, not_before, delay_until; //  As the columns
    int64_t hops, origin, attempt, lease, n;         //  As the columns; 0 for NULL
    int strikes;                                     //  So far
    bool side, urgent;                               //  Flags
    char service[ARGOS_NAME_MAX + 1];                //  Service
    char key[ARGOS_KEY_MAX + 1];                     //  Lane
    char sender[ARGOS_NAME_MAX + 1];                 //  Base name
    char id[ARGOS_ID_MAX + 1];                       //  Its id
    char type[ARGOS_TYPE_MAX + 1];                   //  Message type
    char cause[ARGOS_ID_MAX + 1];                    //  Id of the message whose commit made it
    char holder[ARGOS_HOLDER_MAX];                   //  "" = none
} argos_store_row_t;

typedef struct argos_store_service argos_store_service_t;

//  Where a slice of pruning goes on

typedef struct {
    int table;                       //  Which table, index of the list in argos_store_prune.c
    int64_t cursor;                  //  Last number looked at
    char sender[ARGOS_NAME_MAX + 1]; //  Last key looked at, of seen
    char id[ARGOS_ID_MAX + 1];       //  The same
    int64_t rows;                    //  Rows of this table seen in this pass
    int64_t removed;                 //  Rows removed from it
    bool counting;                   //  This walk counts, the next one removes
    bool running;                    //  A pass is going on
} argos_store_prune_t;

//  Where a walk over the topics goes on

typedef struct {
    bool running;                                       //  A walk is going on
    int64_t topic;                                      //  The topic at hand, or the last one
    const argos_store_keep_t *rule;                     //  For it; NULL = none is at hand
    enum { RETAIN_OLD, RETAIN_COUNT, RETAIN_CUT } step; //  Remove by age, count, remove the rest
    int64_t from;                                       //  Counted down to this number
    int64_t entries, bytes;                             //  so many
} argos_store_retain_t;

//  Where a walk over the runs goes on

typedef struct {
    char owner[ARGOS_NAME_MAX + 1]; //  Whose
    int64_t keep_ms;                //  After their end, 0 = they stay
    int64_t walk_at;                //  Uptime at which the next walk begins
    int64_t cursor;                 //  Last number looked at
    int64_t allowed;                //  How many may still be removed
    bool running;                   //  A walk is going on
} argos_store_runs_t;

//  A text that grows, kept for the next one

typedef struct {
    char *data;  //  The text so far
    size_t size; //  Its bytes
    size_t room; //  Allocated
} argos_store_page_t;

//  A copy of the database under way

typedef struct {
    struct sqlite3 *target;      //  Connection to the copy
    struct sqlite3_backup *copy; //  SQLite's own, NULL = none is under way
    char name[65];               //  As asked
    char *path;                  //  Of the copy, NULL = there is none
    int64_t touched;             //  When somebody asked last, msec
    int64_t done, total;         //  Pages
    int want;                    //  Pages of the next slice
    bool finished;               //  It is whole
    int failed;                  //  Extended result code
} argos_store_backup_t;

struct argos_store {
    struct sqlite3 *db; //  The only connection
    struct sqlite3_stmt
        *statements[ARGOS_SQL_STATEMENTS]; //  Prepared when first used, kept for life
    argos_store_info_t info;               //  Identity
    char *path;                            //  Of the database, NULL in memory
    char *ballast;                         //  Path of the ballast file, NULL in memory
    bool ballast_held;                     //  It is there
    int failed;                            //  Extended result code of what went wrong, 0 = nothing
    bool damaged;                          //  Something of it was that the file is damaged
    int64_t now;                           //  Of the request at hand, msec
    int64_t last_seq;                      //  Last number of a row given out
    int64_t last_lease;                    //  Last lease number given out
    int64_t stored_lease;                  //  The same as it stands in meta
    argos_store_service_t *services;       //  Declared, by name
    bool savepoints;           //  The request at hand is undone by a savepoint, if it must
    bool stained;              //  One without is refused and has changed something
    bool guarded;              //  It may be refused after it has written
    bool services_dirty;       //  Changed in this transaction
    int64_t space_min;         //  Free bytes below which admissions are refused
    int64_t space_checked;     //  When the free space was asked for, msec
    bool space_low;            //  It is below space_min
    int wal_pages;             //  In the log after the last commit
    int lone;                  //  Requests in turn that came alone
    bool broken;               //  A chore has met what ends the process
    bool vacuumed;             //  Free pages were looked at since the last commit
    int64_t chore_at;          //  Time of the last chore, msec
    int64_t commits;           //  Transactions that wrote, since the start
    int64_t requests;          //  Requests in them
    int64_t uptime;            //  Of all starts, msec
    int64_t uptime_stored;     //  The same as it stands in meta
    int64_t prune_at;          //  Uptime at which the next pass begins
    argos_store_prune_t prune; //  The pass at hand
    argos_store_keep_t keeps[ARGOS_STORE_KEEPS_MAX]; //  Rules of retention
    size_t keep_count;                               //  How many
    int64_t retain_at;           //  Uptime at which the next walk over the topics begins
    argos_store_retain_t retain; //  The walk at hand
    argos_store_runs_t runs;     //  Runs that have ended
    argos_store_blobs_t blobs;   //  Limits of blobs
    int64_t spoiled[ARGOS_STORE_SPOILED_MAX]; //  Blobs to be dropped behind this batch
    size_t spoiled_count;                     //  How many
    int64_t blob_cursor;                      //  Last blob that the walk has looked at
    int64_t blob_walk_at;                     //  Uptime at which the next walk begins
    unsigned bounded_entries;                 //  Entries of bounded topics so far
    bool trash_empty;                         //  No pieces are to be removed
    char stamped[ARGOS_STORE_SESSION_MAX];    //  The session that was active last, "" = unknown
    bool messages_dropped;                    //  A session has been deleted: see its messages
    bool indexed_all;                         //  The indexer has reached the last message
    int64_t messages_behind;                  //  Added since
    int64_t stamped_at;                       //  When its row was told so
    bool index_damaged;                       //  Of search: it is to be made anew
    int trouble;                 //  What the last commit or request failed of, 0 = it went well
    argos_store_page_t page;     //  Of a transcript
    argos_store_backup_t backup; //  The copy at hand
    int compact_want;            //  Pages to be given back behind this batch
    int compact_failed;          //  Why the last ones could not be, 0 = they were
    argos_header_t headers[ARGOS_PARTS_MAX]; //  Of the commit at hand
};

//  A commit or a read as its parts see it

typedef struct {
    const argos_storage_req_t *req;  //  As asked
    argos_storage_ans_t *ans;        //  To be filled
    const argos_store_row_t *row;    //  Leased row, NULL = without a lease
    char sender[ARGOS_NAME_MAX + 1]; //  Base name of the sender
    size_t part;                     //  Part at hand
    const argos_header_t *header;    //  Its header
    json_t *body;                    //  Of a store operation
    json_t *result;                  //  Of a read; new, set by the operation
    argos_frame_t *frame;            //  The same as JSON; new, in place of result
} argos_store_unit_t;

//  Of the engine (argos_store_engine.h): the text of a statement on sessions, NULL = it is none
//  (argos_store_sql_sessions.c); of one on routes and handoffs (argos_store_sql_routes.c); lets go
//  of all statements.
const char *argos_store_sql_sessions (argos_sql_t sql);
const char *argos_store_sql_routes (argos_sql_t sql);
const char *argos_store_sql_chore (argos_chore_t chore);
void argos_store_finalize (argos_store_t *self);

//  argos_store.c: call before the first write of a request that may still be refused
void argos_store_guard (argos_store_t *self);

//  Call when the last activity of a session changes otherwise than by an append, or that is undone.
static inline void
argos_store_unstamp (argos_store_t *self)
{
    *self->stamped = 0;
}

//  argos_store_open.c
//  The schema of this program.
int64_t argos_store_schema (void);
int argos_store_start (argos_store_t *self, char *reason);
bool argos_store_index_page (
    argos_store_t *self, const argos_storage_req_t *req, argos_storage_ans_t *ans);
bool argos_store_has_service (const argos_store_t *self, const char *name);
int argos_store_add_service (argos_store_t *self, const char *name);
int argos_store_load_services (argos_store_t *self);
void argos_store_free_services (argos_store_t *self);
void argos_store_service_rows (
    argos_store_t *self, void (*fn) (void *arg, const argos_storage_row_t *row), void *arg);
bool argos_store_service (
    argos_store_t *self, const argos_storage_req_t *req, argos_storage_ans_t *ans);

//  argos_store_space.c
//  One slice of giving free pages back; true when there is more.
bool argos_store_vacuum (argos_store_t *self);
void argos_store_ballast_make (argos_store_t *self);
bool argos_store_ballast_drop (argos_store_t *self);
void argos_store_space_check (argos_store_t *self);
int argos_store_checkpoint (argos_store_t *self);

//  argos_store_retain.c: one slice of retention. Returns true when there is more.
bool argos_store_retain (argos_store_t *self, int64_t now);

//  argos_store_expire.c: one slice; true when there is more to do.
bool argos_store_expire (argos_store_t *self, int64_t now);

//  argos_store_prune.c: one slice; true when there is more to do.
bool argos_store_prune (argos_store_t *self, int64_t now);

//  argos_store_answer.c: fill in an answer
bool argos_store_refuse (argos_storage_ans_t *ans, argos_err_t code, const char *reason);
void argos_store_gone (argos_storage_ans_t *ans, int64_t seq);
void argos_store_freed (argos_storage_ans_t *ans, const argos_store_row_t *row);
argos_storage_row_t *argos_store_entered (
    argos_storage_ans_t *ans, const argos_store_row_t *row, int64_t bytes);
void argos_store_clear (argos_storage_ans_t *ans);
argos_storage_part_t *argos_store_answer_part (argos_storage_ans_t *ans);
//  A copy of text, cut to size.
void argos_store_text_copy (char *target, const char *text, size_t size);
//  Bytes of the text, at most limit, that cut no character.
size_t argos_store_text_cut (const char *text, size_t limit);

//  argos_store_commit.c
bool argos_store_commit (
    argos_store_t *self, const argos_storage_req_t *req, argos_storage_ans_t *ans);

//  argos_store_insert.c: a durable part that goes to a service
bool argos_store_insert (argos_store_t *self, argos_store_unit_t *unit);

//  argos_store_lease.c
bool argos_store_lease (
    argos_store_t *self, const argos_storage_req_t *req, argos_storage_ans_t *ans);
bool argos_store_release (
    argos_store_t *self, const argos_storage_req_t *req, argos_storage_ans_t *ans);
bool argos_store_hello (
    argos_store_t *self, const argos_storage_req_t *req, argos_storage_ans_t *ans);
bool argos_store_mail (
    argos_store_t *self, const argos_storage_req_t *req, argos_storage_ans_t *ans);
//  Ends every lease of an in-process session.
int argos_store_end_local (argos_store_t *self);

//  argos_store_row.c: reading and burying rows
bool argos_store_row_get (argos_store_t *self, int64_t seq, argos_store_row_t *ret_row,
    argos_frame_t **ret_header, argos_frame_t **ret_body);
void argos_store_row_read (argos_sql_row_t *stmt, argos_store_row_t *ret_row);
int argos_store_row_add (argos_store_t *self, const argos_store_row_t *row,
    const argos_frame_t *header, const argos_frame_t *body);
//  To the dead letters, with a notice to the gateway; gone and rows of the answer tell. ans may be
//  NULL.
int argos_store_bury (
    argos_store_t *self, const argos_store_row_t *row, const char *code, argos_storage_ans_t *ans);
//  A message of the store itself: service, key, type, id, side, urgent and hops of row are given,
//  the rest is filled in. body is stolen.
int argos_store_emit (
    argos_store_t *self, argos_store_row_t *row, json_t *body, argos_storage_ans_t *ans);
int argos_store_notice (argos_store_t *self, const argos_store_row_t *row, const char *code,
    const argos_frame_t *body, argos_storage_ans_t *ans);

//  argos_store_topic.c
bool argos_store_topic (
    argos_store_t *self, const argos_storage_req_t *req, argos_storage_ans_t *ans);
bool argos_store_journal (
    argos_store_t *self, const argos_storage_req_t *req, argos_storage_ans_t *ans);
bool argos_store_entry (argos_store_t *self, argos_store_unit_t *unit);
int argos_store_topic_make (argos_store_t *self, const char *name, const char *owner);

//  argos_store_ops.c: operations by type
bool argos_store_write (argos_store_t *self, argos_store_unit_t *unit);
bool argos_store_read (
    argos_store_t *self, const argos_storage_req_t *req, argos_storage_ans_t *ans);

//  One operation. Reads set unit->result. False is a refusal (argos_store_refuse).
typedef bool (argos_store_op_fn) (argos_store_t *self, argos_store_unit_t *unit);

//  argos_store_sessions.c
argos_store_op_fn argos_store_session_get, argos_store_session_close;

//  argos_store_route.c
argos_store_op_fn argos_store_route_get, argos_store_route_bind, argos_store_route_switch,
    argos_store_route_reset, argos_store_route_suspend, argos_store_route_resume,
    argos_store_route_prune, argos_store_route_list;

//  argos_store_handoff.c
argos_store_op_fn argos_store_handoff_request, argos_store_handoff_claim,
    argos_store_handoff_heartbeat, argos_store_handoff_complete, argos_store_handoff_fail,
    argos_store_handoff_expire, argos_store_handoff_state, argos_store_handoff_list;

//  Whether the commit runs under the lease of the session's own lane.
bool argos_store_own_lane (const argos_store_unit_t *unit, const char *session_id);

//  A session as the operations on it need it

typedef struct {
    char id[ARGOS_STORE_SESSION_MAX];     //  Its id
    char owner[ARGOS_STORE_OWNER_MAX];    //  "" = nobody in particular
    char kind[16];                        //  What it is to its parent
    char parent[ARGOS_STORE_SESSION_MAX]; //  "" = none
    char title[ARGOS_STORE_TITLE_MAX];    //  "" = none
    int64_t message_count;                //  Live messages
} argos_store_session_t;

//  Finds it; false when there is none or it is not of that owner ("" = whoever's): the two are the
//  same to who asks.
bool argos_store_session_find (
    argos_store_t *self, const char *id, const char *owner, argos_store_session_t *ret_session);
//  The same for the unit: the member id of its body, its member owner; refuses `not_found`.
bool argos_store_session_need (
    argos_store_t *self, argos_store_unit_t *unit, argos_store_session_t *ret_session);
//  The session as an object, new, or NULL when there is none (or it is another owner's).
json_t *argos_store_session (argos_store_t *self, const char *id, const char *owner);
//  The columns of a session as an object, new; those of ARGOS_STORE_SESSION_COLUMNS from `first`
//  on.
json_t *argos_store_session_json (argos_sql_row_t *stmt, int first);
//  Counts and preview anew after messages have gone.
void argos_store_session_recount (argos_store_t *self, const char *id);

//  argos_store_import.c
argos_store_op_fn argos_store_session_import;

//  argos_store_life.c
//  Who may look a session up: as given in body, else the parent's (NULL = none), else out of the
//  source.
void argos_store_session_owner (const json_t *body, const argos_store_session_t *parent,
    char target[static ARGOS_STORE_OWNER_MAX]);
argos_store_op_fn argos_store_session_create, argos_store_session_ensure,
    argos_store_session_reopen, argos_store_session_update, argos_store_session_home,
    argos_store_session_branch, argos_store_session_delete, argos_store_session_prune;

//  argos_store_search.c
//  Whether what has failed is an index of search, which is made anew then: the failure is dealt
//  with.
bool argos_store_search_damaged (argos_store_t *self);
argos_store_op_fn argos_store_session_search;
//  One slice of indexing; of removing the messages of deleted sessions. True when there is more.
bool argos_store_index_messages (argos_store_t *self);
bool argos_store_trash_prune (argos_store_t *self);

//  argos_store_title.c
argos_store_op_fn argos_store_session_rename, argos_store_session_title,
    argos_store_session_resolve;
//  Cleans a title into target. False when more than 100 characters are left; their number is in
//  *ret_count.
bool argos_store_title_clean (
    const char *title, char target[static ARGOS_STORE_TITLE_MAX], size_t *ret_count);
//  The next free title of an owner's lineage.
void argos_store_title_next (argos_store_t *self, const char *owner, const char *title,
    char target[static ARGOS_STORE_TITLE_MAX]);
//  Whether a session may have the title; a compression ancestor that has it gives it away. Refuses.
bool argos_store_title_take (argos_store_t *self, argos_store_unit_t *unit,
    const argos_store_session_t *session, const char *title);

//  argos_store_list.c
//  Where a session goes on: its newest continuation, and theirs.
void argos_store_session_tip (
    argos_store_t *self, const char *id, char target[static ARGOS_STORE_SESSION_MAX]);
argos_store_op_fn argos_store_session_list, argos_store_session_lineage, argos_store_session_stats,
    argos_store_usage_add, argos_store_usage_get;

//  argos_store_rank.c: makes the function argos_rank known to SQL. 0 or -1.
int argos_store_rank_init (argos_store_t *self);

//  argos_store_prefix.c: the query (of words) with each beginning as the words of the index that
//  begin so, new. NULL when that can't be, or fails (self->failed). It uses the index in memory.
struct argos_store_query;
char *argos_store_prefix_text (argos_store_t *self, const struct argos_store_query *query);

//  argos_store_page.c: the result of session.load from a statement that stands on its first row
//  (NULL = none), a new frame. limit: bytes of texts.
argos_frame_t *argos_store_page (
    argos_store_t *self, argos_sql_row_t *stmt, bool inactive, size_t limit);

//  argos_store_transcript.c
//  What search finds of the tools of a message, new: their names, and the beginning of what they
//  were called with. NULL when there are none.
char *argos_store_message_tools (const json_t *message);
argos_store_op_fn argos_store_session_load, argos_store_session_append, argos_store_session_replace,
    argos_store_session_rewind;

//  argos_store_runs.c
argos_store_op_fn argos_store_run_create, argos_store_run_bind, argos_store_run_finish,
    argos_store_run_get, argos_store_run_list;

//  argos_store_blob.c: files by their content
argos_store_op_fn argos_store_blob_put, argos_store_blob_stat, argos_store_blob_get,
    argos_store_blob_ref;
//  Drops the blobs whose hash did not fit, in a transaction of its own (self->failed).
void argos_store_drop_spoiled (argos_store_t *self);
//  One slice of pruning; true when there is more to do.
bool argos_store_blob_prune (argos_store_t *self);

//  argos_store_record.c: small rows of actors
argos_store_op_fn argos_store_record_get, argos_store_record_put, argos_store_record_list;

//  argos_store_repair.c
#define ARGOS_STORE_REPAIR_MAX 256 //  Bytes of a sentence, terminated
//  Whether the database at path was found to be damaged; notes that (suffix "").
bool argos_store_marked (const char *path);
void argos_store_mark (const char *path, const char *suffix);
//  Puts right what can be made again; there must be no connection to it. Returns 0 with a sentence
//  in done; or -1 with one in reason (256 bytes).
int argos_store_repair (
    const char *path, int64_t now, char done[static ARGOS_STORE_REPAIR_MAX], char *reason);

//  argos_store_file.c: path as an URI of SQLite, with options behind it; new.
char *argos_store_uri (const char *path, const char *options);

//  argos_store_backup.c: copying and shrinking
argos_store_op_fn argos_store_db_backup, argos_store_db_compact;
//  What was wanted, behind a batch (self->failed); gives a copy under way up.
void argos_store_between (argos_store_t *self);
void argos_store_backup_end (argos_store_t *self);

//  argos_store_queue.c: lanes, dead letters, expectations
argos_store_op_fn argos_store_expect, argos_store_lane_list, argos_store_dead_list,
    argos_store_dead_show, argos_store_dead_redrive, argos_store_dead_drop;

//  argos_store_delivery.c: what became of deliveries
argos_store_op_fn argos_store_delivery_list, argos_store_delivery_show;

//  Members of a body that the schema has checked; "" or absent when they are missing
const char *argos_store_member (const json_t *body, const char *name);
int64_t argos_store_integer (const json_t *body, const char *name, int64_t absent);

#endif
