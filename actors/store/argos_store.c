//  argos_store - the store's own front: open, close, batches of requests.
//
//  Invariants: all requests of a batch are one transaction, and no answer leaves before its commit.
//  A request that is refused is undone alone: a batch runs without savepoints, which cost a copy of
//  every page that changes, and again with them when a refused request has changed something. After
//  any failure of the database nothing more is executed in that transaction: it is rolled back and
//  each request gets one of its own. Limits: 64 requests in a batch. One thread.

#include "argos_store_priv.h"

#include "argos_buggify.h"

#include <assert.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BATCH_MAX 64      //  Requests of one transaction
#define REASON_SIZE 256   //  Bytes of a reason
#define HOUR_MS 3600000LL //  Longest time that counts as uptime between two chores

typedef enum { BATCH_DONE, BATCH_AGAIN, BATCH_UNDONE, BATCH_FATAL } batch_t;

static void
s_close (argos_store_t *self, bool settle)
{
    argos_store_disconnect (self, settle);
    argos_store_free_services (self);
}

static int
s_open (argos_store_t *self, const char *path, char *reason)
{
    if (argos_store_connect (self, path, reason) != 0)
        return -1;
    int rc = argos_store_start (self, reason);
    if (rc != 0 && !*reason)
        snprintf (
            reason, REASON_SIZE, "can't use %.120s: %.100s", path, argos_store_why (self->failed));
    return rc;
}

//  Lock, look, migrate; and once more after a repair, when it was damaged or is marked so by the
//  process before.

static int
s_open_whole (argos_store_t *self, const char *path, char *reason)
{
    bool marked = argos_store_marked (path);
    int rc = marked ? -1 : s_open (self, path, reason);
    if (rc == 0 || !(marked || self->damaged))
        return rc;
    s_close (self, false);
    self->damaged = false;
    self->failed = 0;
    *reason = 0;
    if (argos_store_repair (path, self->now, self->info.repaired, reason) != 0)
        return -1;
    return s_open (self, path, reason);
}

argos_store_t *
argos_store_new (const char *path, int64_t now, char *reason)
{
    *reason = 0;
    if (sodium_init () < 0) {
        snprintf (reason, REASON_SIZE, "libsodium can't be initialised");
        return NULL;
    }
    argos_store_t *self = calloc (1, sizeof *self);
    if (!self)
        abort ();
    self->now = self->chore_at = now;
    self->space_min = 64 * ARGOS_STORE_MIB;
    self->messages_dropped = true; //  An earlier process may have left some
    argos_store_blob_defaults (&self->blobs);
    if (s_open_whole (self, path, reason) != 0) {
        argos_store_destroy (&self);
        return NULL;
    }
    if (strcmp (path, ":memory:") != 0) {
        self->path = strdup (path);
        if (!self->path || asprintf (&self->ballast, "%s-ballast", path) < 0)
            abort ();
        argos_store_ballast_make (self);
    }
    return self;
}

void
argos_store_destroy (argos_store_t **self_p)
{
    if (!self_p || !*self_p)
        return;
    argos_store_t *self = *self_p;
    *self_p = NULL;
    argos_store_backup_end (self);
    if (self->damaged && self->path)
        argos_store_mark (self->path, "");
    s_close (self, self->path && !self->broken);
    free (self->path);
    free (self->ballast);
    free (self->page.data);
    free (self);
}

const argos_store_info_t *
argos_store_info (const argos_store_t *self)
{
    return &self->info;
}

//  What can't be survived: whether the last commit is on the disk is not known, or the file is
//  damaged.

static bool
s_fatal (const argos_store_t *self)
{
    argos_store_fault_t fault = argos_store_fault (self);
    return fault == ARGOS_FAULT_SYNC || fault == ARGOS_FAULT_DAMAGED || fault == ARGOS_FAULT_INDEX;
}

static bool
s_writes (const argos_storage_req_t *req)
{
    return req->op != ARGOS_ST_READ && req->op != ARGOS_ST_MAIL && req->op != ARGOS_ST_JOURNAL &&
           req->op != ARGOS_ST_INDEX;
}

void
argos_store_guard (argos_store_t *self)
{
    if (self->guarded)
        return;
    self->guarded = true;
    if (self->savepoints)
        argos_store_run (self, ARGOS_SQL_SAVEPOINT, "");
}

typedef bool (handler_fn) (
    argos_store_t *self, const argos_storage_req_t *req, argos_storage_ans_t *ans);

static handler_fn *const s_handlers[] = {
    [ARGOS_ST_COMMIT] = argos_store_commit,
    [ARGOS_ST_LEASE] = argos_store_lease,
    [ARGOS_ST_RELEASE] = argos_store_release,
    [ARGOS_ST_HELLO] = argos_store_hello,
    [ARGOS_ST_MAIL] = argos_store_mail,
    [ARGOS_ST_READ] = argos_store_read,
    [ARGOS_ST_TOPIC] = argos_store_topic,
    [ARGOS_ST_JOURNAL] = argos_store_journal,
    [ARGOS_ST_SERVICE] = argos_store_service,
    [ARGOS_ST_INDEX] = argos_store_index_page,
};

//  One request inside the transaction. Returns whether something of it stays.

static bool
s_execute (argos_store_t *self, const argos_storage_req_t *req, argos_storage_ans_t *ans)
{
    self->now = req->now;
    self->guarded = false;
    argos_store_space_check (self);
    int64_t changes = argos_store_changes_all (self);
    bool kept = s_handlers[req->op](self, req, ans);
    if (!kept) {
        argos_store_clear (ans);
        argos_store_unstamp (self);
    }
    if (!kept && !self->savepoints && argos_store_changes_all (self) != changes)
        self->stained = true;
    if (self->guarded && self->savepoints) {
        if (!kept)
            argos_store_run (self, ARGOS_SQL_UNDO, "");
        argos_store_run (self, ARGOS_SQL_KEEP, "");
    }
    return kept;
}

//  Ends a transaction that has failed, or whose only request was refused. The lease numbers that it
//  gave out have reached nobody; kept, each look into a full disk would have to store them.

static void
s_roll_back (argos_store_t *self)
{
    self->last_lease = self->stored_lease;
    argos_store_unstamp (self);
    if (argos_store_in_transaction (self)) {
        int failed = self->failed;
        self->failed = 0;
        argos_store_run (self, ARGOS_SQL_ROLLBACK, "");
        self->failed = failed ? failed : self->failed;
    }
    if (self->services_dirty) {
        int failed = self->failed;
        self->failed = 0;
        argos_store_load_services (self);
        self->failed = failed ? failed : self->failed;
    }
}

//  The last lease number goes to the disk in the transaction that gave it out. Returns whether it
//  is committed.

static bool
s_commit (argos_store_t *self)
{
    if (self->last_lease != self->stored_lease)
        argos_store_run (self, ARGOS_SQL_META_PUT, "si", "lease", self->last_lease);
    argos_store_run (self, ARGOS_SQL_COMMIT, "");
    if (self->failed)
        return false;
    self->stored_lease = self->last_lease;
    self->services_dirty = false;
    self->vacuumed = false;
    self->trouble = 0;
    self->commits++;
    return true;
}

static void
s_drop_answers (argos_storage_ans_t **answers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        argos_storage_ans_destroy (&answers[i]);
}

//  All requests in one transaction. Again: one can't be undone without savepoints. Undone:
//  self->failed says why. Then there are no answers.

static batch_t
s_transaction (argos_store_t *self, argos_storage_req_t **requests, argos_storage_ans_t **answers,
    size_t count, bool savepoints)
{
    self->failed = 0;
    self->savepoints = savepoints;
    self->stained = false;
    bool writes = false, kept = false;
    for (size_t i = 0; i < count && !writes; i++)
        writes = s_writes (requests[i]);
    if (writes)
        argos_store_run (self, ARGOS_SQL_BEGIN, "");
    size_t i;
    for (i = 0; i < count && !self->failed && !self->stained; i++) {
        answers[i] = argos_storage_ans_new (requests[i]);
        kept = s_execute (self, requests[i], answers[i]) || kept;
    }
    bool again = count > 1 && (self->stained || (!savepoints && ARGOS_BUGGIFY ("store.again")));
    bool committing = !self->failed && !again && writes && kept;
    if (committing && s_commit (self))
        self->requests += (int64_t) count;
    if (self->failed || again || (writes && !kept))
        s_roll_back (self);
    if (!self->failed && !again)
        return BATCH_DONE;
    s_drop_answers (answers, i);
    if (!self->failed)
        return BATCH_AGAIN;
    //  A failed COMMIT with a full disk has not been written; of any other the outcome is not known
    bool unknown = committing && argos_store_fault (self) != ARGOS_FAULT_FULL;
    return unknown || s_fatal (self) ? BATCH_FATAL : BATCH_UNDONE;
}

//  A request that follows from accepted work

static bool
s_accepted_work (const argos_storage_req_t *req)
{
    return req->op != ARGOS_ST_COMMIT || req->seq != 0;
}

//  One request in a transaction of its own: it is answered, come what may (but the end).

static batch_t
s_alone (argos_store_t *self, argos_storage_req_t **req, argos_storage_ans_t **answer)
{
    batch_t outcome = s_transaction (self, req, answer, 1, false);
    if (outcome == BATCH_UNDONE && argos_store_fault (self) == ARGOS_FAULT_FULL &&
        s_accepted_work (*req) && argos_store_ballast_drop (self))
        outcome = s_transaction (self, req, answer, 1, false);
    if (outcome != BATCH_UNDONE)
        return outcome;
    self->trouble = self->failed;
    argos_err_t code =
        argos_store_fault (self) == ARGOS_FAULT_FULL ? ARGOS_NO_SPACE : ARGOS_INTERNAL;
    *answer = argos_storage_ans_new (*req);
    if (code == ARGOS_NO_SPACE)
        argos_store_refuse (*answer, code, argos_err_text (code));
    else
        argos_store_refuse (*answer, code, argos_store_why (self->failed));
    return BATCH_DONE;
}

static int
s_end (argos_store_t *self, char *reason)
{
    self->broken = true;
    snprintf (reason, REASON_SIZE, "the database failed: %.100s (%d)",
        argos_store_why (self->failed), self->failed);
    return -1;
}

//  What can't be dropped now is refused and noted again.

static void
s_clean_up (argos_store_t *self)
{
    argos_store_drop_spoiled (self);
    argos_store_between (self);
    if (!self->failed)
        return;
    s_roll_back (self);
    self->broken = s_fatal (self);
}

//  A slice of indexing though requests wait, or searches would miss what was written of late. False
//  when the store is past use.

static bool
s_index_busy (argos_store_t *self)
{
    self->failed = 0;
    argos_store_index_messages (self);
    if (self->failed)
        s_roll_back (self);
    return !s_fatal (self);
}

//  The longer the log, the slower is SQLite's index of the few pages that each commit writes, and
//  the fewer are the copies of a page that is written often. Many who wait are better off with few
//  checkpoints, one who waits for nobody else with a short log.

static int
s_log_limit (argos_store_t *self, size_t count)
{
    self->lone = count > 1 ? 0 : self->lone < ARGOS_STORE_LONE ? self->lone + 1 : self->lone;
    return self->lone == ARGOS_STORE_LONE ? ARGOS_STORE_WAL_PAGES_LONE : ARGOS_STORE_WAL_PAGES_BUSY;
}

int
argos_store_batch (argos_store_t *self, argos_storage_req_t **requests,
    argos_storage_ans_t **answers, size_t count, char *reason)
{
    assert (count > 0 && count <= BATCH_MAX);
    *reason = 0;
    for (size_t i = 0; i < count; i++)
        answers[i] = NULL;
    if (self->broken)
        return s_end (self, reason);
    if (self->wal_pages >= s_log_limit (self, count) && argos_store_checkpoint (self) != 0 &&
        s_fatal (self))
        return s_end (self, reason);
    if (self->messages_behind >= ARGOS_STORE_BEHIND_BUSY && !s_index_busy (self))
        return s_end (self, reason);
    batch_t outcome =
        count == 1 ? BATCH_UNDONE : s_transaction (self, requests, answers, count, false);
    if (outcome == BATCH_AGAIN) {
        self->spoiled_count = 0;
        outcome = s_transaction (self, requests, answers, count, true);
    }
    if (outcome == BATCH_UNDONE)
        self->spoiled_count = 0;
    for (size_t i = 0; i < count && outcome == BATCH_UNDONE; i++) {
        if (s_alone (self, &requests[i], &answers[i]) == BATCH_FATAL)
            outcome = BATCH_FATAL;
    }
    self->failed = outcome == BATCH_FATAL ? self->failed : 0;
    if (outcome != BATCH_FATAL) {
        s_clean_up (self);
        return 0;
    }
    s_drop_answers (answers, count);
    return s_end (self, reason);
}

//  Counts the uptime, by steps that no jump of the clock can stretch.

static void
s_count_uptime (argos_store_t *self, int64_t now)
{
    int64_t step = now - self->chore_at;
    self->chore_at = now;
    if (step > 0)
        self->uptime += step < HOUR_MS ? step : HOUR_MS;
    if (self->uptime - self->uptime_stored < HOUR_MS)
        return;
    self->uptime_stored = self->uptime;
    argos_store_run (self, ARGOS_SQL_META_PUT, "si", "uptime", self->uptime);
    argos_store_ballast_make (self);
}

bool
argos_store_chore (argos_store_t *self, int64_t now)
{
    if (self->broken)
        return false;
    self->failed = 0;
    self->now = now;
    s_count_uptime (self, now);
    bool more = true;
    if (self->wal_pages >= ARGOS_STORE_WAL_PAGES || ARGOS_BUGGIFY ("store.checkpoint"))
        argos_store_checkpoint (self);
    else
        more = argos_store_prune (self, now) || argos_store_retain (self, now) ||
               argos_store_expire (self, now) || argos_store_blob_prune (self) ||
               argos_store_trash_prune (self) || argos_store_index_messages (self);
    if (!more && !self->failed && !self->vacuumed) {
        more = argos_store_vacuum (self);
        self->vacuumed = !more;
    }
    if (self->failed) {
        s_roll_back (self);
        self->trouble = self->failed;
        self->broken = s_fatal (self);
        more = false;
    }
    return more;
}
