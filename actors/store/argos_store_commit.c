//  argos_store_commit - several parts as one accepted unit, with or without a lease.
//
//  Invariants: a unit without a lease is executed once for its (sender, id), whatever its repeats;
//  one under a lease only while the row carries that very lease and holder, and once for each n.
//  A refusal names the part and leaves no trace (the caller undoes the savepoint).
//  Limits: ARGOS_PARTS_MAX parts.

#include "argos_store_priv.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

static bool
s_read_headers (argos_store_t *self, argos_store_unit_t *unit)
{
    const argos_storage_req_t *req = unit->req;
    if (req->part_count > ARGOS_PARTS_MAX)
        return argos_store_refuse (unit->ans, ARGOS_TOO_BIG, "a commit has at most 64 parts");
    for (size_t i = 0; i < req->part_count; i++) {
        const argos_frame_t *frame = req->parts[i].header;
        const char *reason = "the part has no header";
        argos_err_t code = ARGOS_INVALID;
        if (frame)
            code = argos_header_read (frame->data, frame->size, &self->headers[i], &reason);
        if (code != ARGOS_OK) {
            unit->ans->part = (int) i;
            return argos_store_refuse (unit->ans, code, reason);
        }
    }
    return true;
}

//  What can be said about the parts before anything is written. Only what this can't foresee needs
//  a savepoint.

//  The body of a message from a stranger has to fit the schema of its type, if that is one of ours:
//  whoever sent it is told at once, not the dead letters later.

static bool
s_check_body (const argos_store_unit_t *unit, size_t part)
{
    const argos_storage_req_t *req = unit->req;
    const char *type = unit->header->type;
    const argos_frame_t *body = req->parts[part].body;
    json_t *parsed = NULL;
    if (req->trusted || !argos_schema_known (type))
        return true;
    argos_err_t code = argos_schema_parse (type, body ? body->data : "", body ? body->size : 0,
        &parsed, unit->ans->reason, sizeof unit->ans->reason);
    json_decref (parsed);
    if (code == ARGOS_OK)
        return true;
    unit->ans->code = code;
    unit->ans->part = (int) part;
    return false;
}

static bool
s_check_parts (argos_store_t *self, argos_store_unit_t *unit)
{
    bool foreseen = unit->req->take_count == 0;
    for (size_t i = 0; i < unit->req->part_count; i++) {
        const argos_header_t *header = &self->headers[i];
        bool durable = header->to == ARGOS_TO_SERVICE || header->to == ARGOS_TO_TOPIC;
        argos_err_t code = ARGOS_OK;
        if (header->to != ARGOS_TO_STORE && !(durable && header->durable))
            code = ARGOS_INVALID;
        else if (header->to == ARGOS_TO_SERVICE && !unit->req->parts[i].undeclared &&
                 !argos_store_has_service (self, header->name))
            code = ARGOS_NO_SERVICE;
        if (code != ARGOS_OK) {
            unit->ans->part = (int) i;
            return argos_store_refuse (unit->ans, code,
                code == ARGOS_INVALID
                    ? "a part is an operation of the store, or durable to a service or a topic"
                    : argos_err_text (code));
        }
        unit->header = header;
        if (durable && !s_check_body (unit, i))
            return false;
        foreseen = foreseen && header->to == ARGOS_TO_SERVICE &&
                   (unit->req->part_count == 1 || !*header->id);
    }
    if (!foreseen)
        argos_store_guard (self);
    return true;
}

static bool
s_execute_part (argos_store_t *self, argos_store_unit_t *unit)
{
    if (unit->header->to == ARGOS_TO_SERVICE)
        return argos_store_insert (self, unit);
    if (unit->header->to == ARGOS_TO_TOPIC)
        return argos_store_entry (self, unit);
    return argos_store_write (self, unit);
}

//  ------------------------------------------------------------------------------------------------
//  What makes two units the same: address, key, type and body of each part

static void
s_hash_bytes (crypto_generichash_state *state, const void *bytes, size_t size)
{
    uint64_t length = size;
    crypto_generichash_update (state, (const unsigned char *) &length, sizeof length);
    if (size)
        crypto_generichash_update (state, bytes, size);
}

static void
s_hash (argos_store_t *self, const argos_storage_req_t *req, size_t from, size_t count,
    unsigned char *target)
{
    crypto_generichash_state state;
    crypto_generichash_init (&state, NULL, 0, ARGOS_STORE_HASH_SIZE);
    for (size_t i = from; i < from + count; i++) {
        const argos_header_t *header = &self->headers[i];
        const argos_frame_t *body = req->parts[i].body;
        unsigned char kind[2] = { (unsigned char) header->to, header->has_key };
        crypto_generichash_update (&state, kind, sizeof kind);
        s_hash_bytes (&state, header->name, strlen (header->name));
        s_hash_bytes (&state, header->key, header->has_key ? strlen (header->key) : 0);
        s_hash_bytes (&state, header->type, strlen (header->type));
        s_hash_bytes (&state, body ? body->data : NULL, body ? body->size : 0);
    }
    crypto_generichash_final (&state, target, ARGOS_STORE_HASH_SIZE);
}

//  What is stored under that id: its hash, and the seq of the first row. Returns false when it is
//  not known after all.

static bool
s_seen (argos_store_t *self, const argos_store_unit_t *unit, const char *id,
    const unsigned char *hash, bool *ret_same, int64_t *ret_seq)
{
    argos_sql_row_t *stmt =
        argos_store_query (self, ARGOS_SQL_SEEN_GET, "ss", (const char *) unit->sender, id);
    if (!stmt)
        return false;
    const void *stored = argos_sql_bytes (stmt, 1);
    *ret_seq = argos_sql_int (stmt, 0);
    *ret_same = stored && argos_sql_size (stmt, 1) == ARGOS_STORE_HASH_SIZE &&
                memcmp (stored, hash, ARGOS_STORE_HASH_SIZE) == 0;
    argos_store_end (self, ARGOS_SQL_SEEN_GET);
    return true;
}

//  A message of a commit is known by its own id, too, as if it had been sent alone: one that is
//  known is left out.

static bool
s_is_known (argos_store_t *self, argos_store_unit_t *unit)
{
    unsigned char hash[ARGOS_STORE_HASH_SIZE];
    const argos_header_t *header = unit->header;
    bool same = false;
    int64_t seq = 0;
    if (header->to != ARGOS_TO_SERVICE || !*header->id || strcmp (header->id, unit->req->id) == 0)
        return false;
    s_hash (self, unit->req, unit->part, 1, hash);
    argos_store_run (self, ARGOS_SQL_SEEN_ADD, "ssiibi", (const char *) unit->sender,
        (const char *) header->id, self->last_seq + 1, self->last_seq + 1, (const void *) hash,
        sizeof hash, self->now);
    if (self->failed || argos_store_changed (self) ||
        !s_seen (self, unit, header->id, hash, &same, &seq))
        return false;
    if (!same)
        argos_store_refuse (unit->ans, ARGOS_CONFLICT, "the id was used before with other content");
    return true;
}

static bool
s_execute_parts (argos_store_t *self, argos_store_unit_t *unit)
{
    for (unit->part = 0; unit->part < unit->req->part_count; unit->part++) {
        unit->header = &self->headers[unit->part];
        bool known = !unit->row && s_is_known (self, unit);
        bool kept = unit->ans->code == ARGOS_OK && (known || s_execute_part (self, unit));
        if (self->failed)
            return false;
        if (!kept) {
            unit->ans->part = (int) unit->part;
            return false;
        }
    }
    return true;
}

//  ------------------------------------------------------------------------------------------------
//  Without a lease

//  The id is known: the first answer again, or a conflict. Returns false when it is not known after
//  all.

static bool
s_answer_seen (argos_store_t *self, argos_store_unit_t *unit, const unsigned char *hash)
{
    bool same = false;
    if (!s_seen (self, unit, unit->req->id, hash, &same, &unit->ans->seq))
        return false;
    unit->ans->repeat = same;
    if (!same) {
        unit->ans->seq = 0;
        argos_store_refuse (unit->ans, ARGOS_CONFLICT, "the id was used before with other content");
    }
    return true;
}

//  The seq that the first queued part will get, 0 when none is queued

static int64_t
s_first_seq (const argos_store_t *self, const argos_storage_req_t *req)
{
    for (size_t i = 0; i < req->part_count; i++)
        if (self->headers[i].to == ARGOS_TO_SERVICE)
            return self->last_seq + 1;
    return 0;
}

static bool
s_commit_free (argos_store_t *self, argos_store_unit_t *unit)
{
    const argos_storage_req_t *req = unit->req;
    argos_storage_ans_t *ans = unit->ans;
    unsigned char hash[ARGOS_STORE_HASH_SIZE];
    s_hash (self, req, 0, req->part_count, hash);
    if (self->space_low) {
        if (s_answer_seen (self, unit, hash))
            return false;
        return argos_store_refuse (ans, ARGOS_NO_SPACE, argos_err_text (ARGOS_NO_SPACE));
    }
    if (!s_check_parts (self, unit))
        return false;
    int64_t first = s_first_seq (self, req);
    argos_store_run (self, ARGOS_SQL_SEEN_ADD, "ssiibi", (const char *) unit->sender,
        (const char *) req->id, first, first ? self->last_seq + (int64_t) req->part_count : 0,
        (const void *) hash, sizeof hash, self->now);
    if (!self->failed && !argos_store_changed (self)) {
        s_answer_seen (self, unit, hash);
        return false;
    }
    if (!s_execute_parts (self, unit))
        return false;
    for (size_t i = 0; i < ans->part_count && !ans->seq; i++)
        ans->seq = ans->parts[i].seq;
    if (ans->seq != first)
        argos_store_run (self, ARGOS_SQL_SEEN_SEQ, "ssi", (const char *) unit->sender,
            (const char *) req->id, ans->seq);
    return true;
}

//  Under a lease

//  The row does not carry the lease: the repeat of a done that was committed, or somebody who lost
//  it.

static bool
s_not_held (argos_store_t *self, const argos_storage_req_t *req, argos_storage_ans_t *ans)
{
    int64_t n = argos_store_number (
        self, 0, ARGOS_SQL_FINISHED_GET, "iis", req->lease, req->seq, (const char *) req->holder);
    if (n && n == req->n && req->done) {
        ans->repeat = true;
        return false;
    }
    return argos_store_refuse (ans, ARGOS_FENCED, argos_err_text (ARGOS_FENCED));
}

static bool
s_taken (const argos_storage_req_t *req, int64_t seq)
{
    for (size_t i = 0; i < req->take_count; i++)
        if (req->take[i] == seq)
            return true;
    return false;
}

//  Does a side message wait that the holder has neither seen nor taken?

static bool
s_has_mail (argos_store_t *self, const argos_storage_req_t *req, const argos_store_row_t *row)
{
    bool mail = false;
    argos_sql_row_t *stmt = argos_store_query (
        self, ARGOS_SQL_LANE_MAIL, "ssii", row->service, row->key, req->seen, self->now);
    while (stmt && !mail) {
        int64_t seq = argos_sql_int (stmt, 0);
        mail = seq != row->seq && !s_taken (req, seq);
        if (!argos_store_next (self, stmt))
            break;
    }
    argos_store_end (self, ARGOS_SQL_LANE_MAIL);
    return mail;
}

static bool
s_take (argos_store_t *self, const argos_storage_req_t *req, const argos_store_row_t *row,
    argos_storage_ans_t *ans)
{
    for (size_t i = 0; i < req->take_count; i++) {
        argos_store_run (self, ARGOS_SQL_ROW_TAKE, "iss", req->take[i], row->service, row->key);
        if (self->failed)
            return false;
        if (!argos_store_changed (self))
            return argos_store_refuse (
                ans, ARGOS_INVALID, "take lists a message that does not wait in this lane");
        argos_store_gone (ans, req->take[i]);
    }
    return true;
}

static bool
s_commit_leased (argos_store_t *self, argos_store_unit_t *unit, const argos_store_row_t *row)
{
    const argos_storage_req_t *req = unit->req;
    argos_storage_ans_t *ans = unit->ans;
    if (req->n == row->n && !req->done) {
        ans->repeat = true;
        return false;
    }
    if (req->n != row->n + 1)
        return argos_store_refuse (
            ans, ARGOS_FENCED, "the number does not follow the last commit of this lease");
    if (req->done && s_has_mail (self, req, row))
        return argos_store_refuse (ans, ARGOS_MAIL, argos_err_text (ARGOS_MAIL));
    unit->row = row;
    ans->hops = row->hops;
    memcpy (ans->cause, row->id, sizeof ans->cause);
    if (!s_check_parts (self, unit) || !s_execute_parts (self, unit) ||
        !s_take (self, req, row, ans))
        return false;
    if (!req->done)
        return argos_store_run (self, ARGOS_SQL_ROW_N, "ii", row->seq, req->n) == 0;
    argos_store_run (self, ARGOS_SQL_ROW_DROP, "i", row->seq);
    argos_store_run (self, ARGOS_SQL_FINISHED_ADD, "iisii", row->lease, row->seq,
        (const char *) req->holder, req->n, self->now);
    argos_store_gone (ans, row->seq);
    return true;
}

bool
argos_store_commit (argos_store_t *self, const argos_storage_req_t *req, argos_storage_ans_t *ans)
{
    argos_store_unit_t unit = { .req = req, .ans = ans };
    argos_name_base (req->from, unit.sender);
    if (req->seq == 0)
        return s_read_headers (self, &unit) && s_commit_free (self, &unit);
    argos_store_row_t row;
    if (!argos_store_row_get (self, req->seq, &row, NULL, NULL) || !row.lease ||
        row.lease != req->lease || strcmp (row.holder, req->holder) != 0)
        return s_not_held (self, req, ans);
    return s_read_headers (self, &unit) && s_commit_leased (self, &unit, &row);
}
