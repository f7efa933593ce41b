//  argos_store - the database of Argos: executes what argos_storage.h describes on one SQLite file.
//
//  Synchronous and single-threaded; no socket, no clock (requests carry the time). The store actor
//  puts it behind the broker's PAIR; the simulator calls it directly. SQL stays in this folder and
//  in schema/sql.

#ifndef ARGOS_STORE_H
#define ARGOS_STORE_H

#include "argos_storage.h"

typedef struct argos_store argos_store_t;

//  How long the kept entries of topics are kept

#define ARGOS_STORE_KEEPS_MAX 64 //  Rules

typedef struct {
    char match[ARGOS_TO_MAX + 1]; //  Name or pattern of topics
    int64_t keep_ms;              //  Age of an entry, 0 = the 30 days of everything
    int64_t keep_bytes;           //  Headers and bodies of one topic, 0 = no limit
    int64_t keep_entries;         //  Entries of one topic, 0 = no limit
} argos_store_keep_t;

typedef struct {
    char store_id[33];  //  Identity of this database, new at creation
    int64_t boot;       //  Number of this start, from 1
    int64_t commit_us;  //  What the commit of this start took, usec
    char repaired[256]; //  What was put right at this start, "" = nothing
} argos_store_info_t;

//  Limits of blobs

typedef struct {
    int64_t max_bytes;   //  Of one
    int64_t total_bytes; //  Of all together; the smallest count 4 KiB
    int64_t keep_ms; //  One that no run needs, or that is not complete, is kept so long (uptime)
} argos_store_blobs_t;

//  Whether a database may lie at path; else a sentence why not.
bool argos_store_place_check (const char *path, char reason[static 256]);

//  Version of the library that SQLite is.
const char *argos_store_library (void);

//  Opens (or creates and migrates) the database at path (":memory:" for the simulator), counts the
//  boot and ends every lease held by an in-process session of an earlier boot (holder with a third
//  component), with strikes. A file that is damaged is repaired first, as far as nothing is lost by
//  it. Returns the store, or NULL with a sentence in reason (at least 256
//  bytes).
argos_store_t *argos_store_new (const char *path, int64_t now, char *reason);

//  Other limits of blobs than the defaults: 64 MiB, 4 GiB, a day.
void argos_store_set_blobs (argos_store_t *self, const argos_store_blobs_t *limits);
void argos_store_blob_defaults (argos_store_blobs_t *limits);

//  Closes the database (checkpoint) and frees the store. NULL-safe, idempotent.
void argos_store_destroy (argos_store_t **self_p);

//  Who we are; borrowed.
const argos_store_info_t *argos_store_info (const argos_store_t *self);

//  Calls fn for each row of the queue in order of seq, then for each declared service with a row
//  that has seq 0. For the index at start. Returns 0, or -1 on a database error.
int argos_store_index (
    argos_store_t *self, void (*fn) (void *arg, const argos_storage_row_t *row), void *arg);

//  Executes count (1 to 64) requests in one transaction and fills answers[i], each new and the
//  caller's. Returns 0; or -1 when the process must end (fsync failed, database corrupt): then
//  nothing may be answered, and reason (256 bytes) says why.
int argos_store_batch (argos_store_t *self, argos_storage_req_t **requests,
    argos_storage_ans_t **answers, size_t count, char *reason);

//  Rules of retention, copied; the first that fits a topic is for it. At most
//  ARGOS_STORE_KEEPS_MAX.
void argos_store_set_keeps (argos_store_t *self, const argos_store_keep_t *keeps, size_t count);

//  Runs of that owner ("api"; those of "api.NAME" too) that have ended go after keep_ms, with what
//  is theirs.
void argos_store_set_runs (argos_store_t *self, const char *owner, int64_t keep_ms);

//  One slice (at most about 5 ms) of housekeeping: checkpoint, pruning, indexing. Returns true when
//  there is more to do.
bool argos_store_chore (argos_store_t *self, int64_t now);

#endif
