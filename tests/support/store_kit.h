//  store_kit - short words for tests of the store: one request, one answer.
//
//  Every call runs a batch of one request unless it says otherwise; the answer is the caller's and
//  freed by kit_free at the latest. Time stands still until kit->now is changed.

#ifndef STORE_KIT_H
#define STORE_KIT_H

#include "argos_store.h"
#include "argos_store_priv.h"

#include <jansson.h>

typedef struct {
    argos_store_t *store;     //  Under test
    int64_t now;              //  Wall clock of the next request
    char dir[64];             //  Directory of the database, "" in memory
    char path[96];            //  The database
    argos_storage_ans_t *ans; //  Last answer
    json_t *result;           //  Of the last read
} kit_t;

//  A store in memory, or in a new directory; it has the services gateway, turn and deliver.t.
kit_t *kit_new (bool on_disk);
void kit_free (kit_t *kit);

//  Close and open again (on disk).
void kit_reopen (kit_t *kit);

//  Executes req, which is taken. The answer stays valid until the next call.
argos_storage_ans_t *kit_do (kit_t *kit, argos_storage_req_t *req);

//  A part from text; body may be NULL.
void kit_part (argos_storage_req_t *req, size_t index, const char *header, const char *body);

//  A durable message without a lease. The seq of the row, or 0 when refused (kit->ans says why).
int64_t kit_send (kit_t *kit, const char *id, const char *service, const char *key,
    const char *members, const char *body);

//  The same with another type than t.msg.
int64_t kit_send_type (kit_t *kit, const char *type, const char *id, const char *service,
    const char *key, const char *members, const char *body);

//  A new commit under a lease with room for parts, done or not.
argos_storage_req_t *kit_commit (
    kit_t *kit, const char *holder, int64_t seq, int64_t lease, int64_t n, bool done, size_t parts);

//  Lease row seq; the lease number, or 0 when refused.
int64_t kit_lease (kit_t *kit, int64_t seq, const char *holder);

//  Done without parts; the code.
argos_err_t kit_done (
    kit_t *kit, const char *holder, int64_t seq, int64_t lease, int64_t n, int64_t seen);

//  A commit without parts; the code.
argos_err_t kit_commit_empty (
    kit_t *kit, const char *holder, int64_t seq, int64_t lease, int64_t n);

//  Release; the code.
argos_err_t kit_release (
    kit_t *kit, int64_t seq, int64_t lease, int strikes, bool clean, const char *reject);

//  One store operation as a commit without a lease, by name `from`; the code.
argos_err_t kit_write (kit_t *kit, const char *from, const char *type, const char *body);

//  The same as the only part of commit n under a lease.
argos_err_t kit_write_leased (kit_t *kit, const char *holder, int64_t seq, int64_t lease, int64_t n,
    const char *type, const char *body);

//  A read; kit->result is its result (borrowed), NULL when refused. Returns the code.
argos_err_t kit_read (kit_t *kit, const char *type, const char *body);

//  One integer of SQL, to look behind the store's back.
int64_t kit_number (kit_t *kit, const char *sql);

#endif
