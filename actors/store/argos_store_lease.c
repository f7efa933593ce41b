//  argos_store_lease - leases: given, ended, reconciled.
//
//  Invariant: at most one row of a lane carries a lease, it is the first of those that are due, and
//  its number was never used before. This is the store process of tests/model/lane.pml.

#include "argos_store_priv.h"

#include <stdlib.h>
#include <string.h>

//  May row be leased now? Fills in the refusal. Whether it is due, and its delay over, is for the
//  core to say: a clock that was set back would stop the lane here.

static bool
s_leasable (argos_store_t *self, const argos_store_row_t *row, argos_storage_ans_t *ans)
{
    if (row->lease || argos_store_number (self, 0, ARGOS_SQL_LANE_AHEAD, "ssii", row->service,
                          row->key, row->seq, self->now))
        return argos_store_refuse (ans, ARGOS_CONFLICT, "another message of the lane comes first");
    return true;
}

//  A row behind row may carry the lease: a message that came due later than it was sent.

static bool
s_lane_leased (argos_store_t *self, const argos_store_row_t *row)
{
    return argos_store_number (self, 0, ARGOS_SQL_LANE_LEASED, "ss", row->service, row->key) != 0;
}

static void
s_describe (argos_storage_ans_t *ans, const argos_store_row_t *row)
{
    ans->attempt = row->attempt;
    ans->hops = row->hops;
    ans->strikes = row->strikes;
    ans->at = row->at;
    memcpy (ans->from, row->sender, sizeof ans->from);
    memcpy (ans->cause, row->cause, sizeof ans->cause);
}

bool
argos_store_lease (argos_store_t *self, const argos_storage_req_t *req, argos_storage_ans_t *ans)
{
    argos_store_row_t row;
    argos_storage_part_t *part = argos_store_answer_part (ans);
    if (!argos_store_row_get (self, req->seq, &row, &part->header, &part->body))
        return argos_store_refuse (ans, ARGOS_NOT_FOUND, "no such message");
    if (s_lane_leased (self, &row))
        return argos_store_refuse (ans, ARGOS_CONFLICT, "the lane is leased");
    if (!s_leasable (self, &row, ans))
        return false;
    if (row.until && row.until < self->now) {
        ans->code = ARGOS_EXPIRED;
        argos_store_bury (self, &row, argos_err_name (ARGOS_EXPIRED), ans);
        argos_frame_unref (&part->header);
        argos_frame_unref (&part->body);
        return true;
    }
    ans->lease = ++self->last_lease;
    argos_store_run (
        self, ARGOS_SQL_ROW_LEASE, "iis", row.seq, ans->lease, (const char *) req->holder);
    row.attempt++;
    s_describe (ans, &row);
    part->seq = row.seq;
    part->number = ans->lease;
    part->at = row.at;
    memcpy (part->from, row.sender, sizeof part->from);
    return true;
}

bool
argos_store_mail (argos_store_t *self, const argos_storage_req_t *req, argos_storage_ans_t *ans)
{
    argos_store_row_t row;
    argos_storage_part_t *part = argos_store_answer_part (ans);
    if (!argos_store_row_get (self, req->seq, &row, &part->header, &part->body))
        return argos_store_refuse (ans, ARGOS_NOT_FOUND, "no such message");
    s_describe (ans, &row);
    part->seq = row.seq;
    part->at = row.at;
    memcpy (part->from, row.sender, sizeof part->from);
    return true;
}

//  End the lease of row: it waits again, or is buried. strikes -1 = by what was committed under the
//  lease. Returns whether it was buried.

static bool
s_end_lease (argos_store_t *self, argos_store_row_t *row, int strikes, const char *reject,
    argos_storage_ans_t *ans)
{
    if (strikes < 0)
        strikes = row->n > 0 ? ARGOS_STORE_STRIKES_FRUITFUL : ARGOS_STORE_STRIKES_SILENT;
    row->strikes += strikes;
    if (*reject || row->strikes >= ARGOS_STORE_STRIKES_MAX) {
        argos_store_bury (self, row, *reject ? reject : argos_err_name (ARGOS_STRIKES), ans);
        return true;
    }
    argos_store_run (self, ARGOS_SQL_ROW_RELEASE, "iiii", row->seq, row->attempt,
        (int64_t) row->strikes, row->delay_until);
    return false;
}

//  May the request end the lease of row? Its holder may, the broker may (it names no holder), and
//  the broker may reject a row that nobody holds.

static bool
s_releasable (const argos_storage_req_t *req, const argos_store_row_t *row)
{
    if (!row->lease)
        return !req->lease && !*req->holder && *req->reject;
    bool holds = strcmp (row->holder, req->holder) == 0;
    return req->lease ? row->lease == req->lease && (holds || !*req->holder) : holds;
}

bool
argos_store_release (argos_store_t *self, const argos_storage_req_t *req, argos_storage_ans_t *ans)
{
    argos_store_row_t row;
    if (!argos_store_row_get (self, req->seq, &row, NULL, NULL))
        return argos_store_refuse (ans, ARGOS_NOT_FOUND, "no such message");
    if (!s_releasable (req, &row))
        return argos_store_refuse (ans, ARGOS_FENCED, "the lease is not the one on record");
    //  What the holder of the lane may have been shown is not taken away from it
    if (!row.lease && row.side && s_lane_leased (self, &row))
        return argos_store_refuse (ans, ARGOS_CONFLICT, "the lane is leased");
    if (req->clean && row.attempt > 0)
        row.attempt--;
    ans->lease = row.lease;
    row.delay_until = req->delay_until > self->now ? req->delay_until : 0;
    ans->dead = s_end_lease (self, &row, req->strikes, req->reject, ans);
    ans->strikes = row.strikes;
    return true;
}

//  What became of a declared lease

static int
s_verdict (argos_store_t *self, const argos_storage_req_t *req, const argos_storage_pair_t *pair)
{
    argos_store_row_t row;
    if (argos_store_row_get (self, pair->seq, &row, NULL, NULL) && row.lease &&
        row.lease == pair->lease && strcmp (row.holder, req->holder) == 0)
        return 'v';
    int64_t n = argos_store_number (
        self, 0, ARGOS_SQL_FINISHED_GET, "iis", pair->lease, pair->seq, (const char *) req->holder);
    return n ? 'd' : 'l';
}

static bool
s_declared (const argos_storage_ans_t *ans, const argos_store_row_t *row)
{
    for (size_t i = 0; i < ans->pair_count; i++)
        if (ans->pairs[i].verdict == 'v' && ans->pairs[i].seq == row->seq)
            return true;
    return false;
}

//  A lease of the name that the hello does not list is over: without a strike for the same session,
//  which never got it.

static void
s_reconcile (argos_store_t *self, const argos_storage_req_t *req, argos_store_row_t *row,
    argos_storage_ans_t *ans)
{
    int strikes = strcmp (row->holder, req->holder) == 0 ? 0 : -1;
    if (!s_end_lease (self, row, strikes, "", ans))
        argos_store_freed (ans, row);
}

bool
argos_store_hello (argos_store_t *self, const argos_storage_req_t *req, argos_storage_ans_t *ans)
{
    if (req->pair_count) {
        ans->pairs = calloc (req->pair_count, sizeof *ans->pairs);
        if (!ans->pairs)
            abort ();
        ans->pair_count = req->pair_count;
        memcpy (ans->pairs, req->pairs, req->pair_count * sizeof *ans->pairs);
    }
    for (size_t i = 0; i < ans->pair_count; i++)
        ans->pairs[i].verdict = s_verdict (self, req, &ans->pairs[i]);
    argos_store_row_t row = { 0 };
    while (!self->failed) {
        argos_sql_row_t *stmt =
            argos_store_query (self, ARGOS_SQL_ROW_HELD, "si", (const char *) req->name, row.seq);
        if (!stmt)
            break;
        argos_store_row_read (stmt, &row);
        argos_store_end (self, ARGOS_SQL_ROW_HELD);
        if (!s_declared (ans, &row))
            s_reconcile (self, req, &row, ans);
    }
    return true;
}

int
argos_store_end_local (argos_store_t *self)
{
    argos_store_row_t row;
    while (!self->failed) {
        argos_sql_row_t *stmt = argos_store_query (self, ARGOS_SQL_ROW_LEASED, "");
        if (!stmt)
            break;
        argos_store_row_read (stmt, &row);
        argos_store_end (self, ARGOS_SQL_ROW_LEASED);
        s_end_lease (self, &row, -1, "", NULL);
    }
    return self->failed ? -1 : 0;
}
