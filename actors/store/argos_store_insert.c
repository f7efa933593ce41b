//  argos_store_insert - a durable part that goes to a service becomes a row of the queue.
//
//  Invariant: a row that is inserted already leased finds nothing of its lane before it, so that
//  the order of the lane holds. Limit: a chain of ARGOS_HOPS_MAX messages; the next one is dead,
//  and so is a delivery to a service that nobody has declared.

#include "argos_store_priv.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

//  The id of a part that has none: from what it is a part of

static void
s_make_id (const argos_store_unit_t *unit, char *target, size_t size)
{
    const argos_storage_req_t *req = unit->req;
    if (unit->row)
        snprintf (target, size, "%" PRId64 ".%" PRId64 ".%" PRId64 ".%zu", req->seq, req->lease,
            req->n, unit->part);
    else if (req->part_count == 1)
        snprintf (target, size, "%s", req->id);
    else
        snprintf (target, size, "%.120s.%zu", req->id, unit->part);
}

static void
s_fill (argos_store_t *self, const argos_store_unit_t *unit, argos_store_row_t *row)
{
    const argos_header_t *header = unit->header;
    row->seq = ++self->last_seq;
    row->at = self->now;
    row->until = header->ttl_ms ? self->now + header->ttl_ms : 0;
    row->not_before = header->not_before > self->now ? header->not_before : 0;
    row->side = header->side;
    row->urgent = header->urgent;
    memcpy (row->service, header->name, sizeof row->service);
    memcpy (row->sender, unit->sender, sizeof row->sender);
    memcpy (row->type, header->type, sizeof row->type);
    if (*header->id)
        memcpy (row->id, header->id, sizeof row->id);
    else
        s_make_id (unit, row->id, sizeof row->id);
    if (header->has_key)
        memcpy (row->key, header->key, sizeof row->key);
    else
        memcpy (row->key, row->id, sizeof row->id);
    if (unit->row) {
        row->hops = unit->row->hops + 1;
        memcpy (row->cause, unit->row->id, sizeof row->cause);
    }
}

//  A dead letter from birth. Of one beyond the last hop the gateway is told, unless a notice has
//  caused it, or the chain would go on; who could be told of a delivery that goes nowhere?

static bool
s_bury (argos_store_t *self, const argos_store_unit_t *unit, const argos_store_row_t *row,
    argos_err_t why)
{
    const argos_storage_part_t *part = &unit->req->parts[unit->part];
    const char *code = argos_err_name (why);
    const argos_frame_t *body = part->body;
    argos_store_run (self, ARGOS_SQL_DEAD_ADD, "isssssiiiisiiisibb", row->seq, row->service,
        row->key, row->sender, row->id, row->type, (int64_t) row->side, (int64_t) row->urgent,
        row->at, row->hops, row->cause, row->origin, row->attempt, (int64_t) row->strikes, code,
        self->now, part->header->data, part->header->size, body ? body->data : NULL,
        body ? body->size : (size_t) 0);
    if (why == ARGOS_LOOP && (!unit->row || strcmp (unit->row->type, "message.dead") != 0))
        argos_store_notice (self, row, code, body, unit->ans);
    return true;
}

//  Lease the row at once when it is wanted, due, and the first of its lane.

static void
s_lease_at_once (argos_store_t *self, const argos_storage_part_t *part, argos_store_row_t *row)
{
    if (!*part->holder || row->not_before ||
        argos_store_number (self, 0, ARGOS_SQL_LANE_BUSY, "ssi", row->service, row->key, self->now))
        return;
    memcpy (row->holder, part->holder, sizeof row->holder);
    row->lease = ++self->last_lease;
    row->attempt = 1;
}

bool
argos_store_insert (argos_store_t *self, argos_store_unit_t *unit)
{
    const argos_storage_part_t *part = &unit->req->parts[unit->part];
    argos_store_row_t row;
    memset (&row, 0, sizeof row);
    s_fill (self, unit, &row);
    if (row.hops > ARGOS_HOPS_MAX)
        return s_bury (self, unit, &row, ARGOS_LOOP);
    if (part->undeclared)
        return s_bury (self, unit, &row, ARGOS_NO_SERVICE);
    s_lease_at_once (self, part, &row);
    if (row.side && !row.not_before)
        argos_store_run (
            self, ARGOS_SQL_ROW_WAKE, "ss", (const char *) row.service, (const char *) row.key);
    argos_store_row_add (self, &row, part->header, part->body);
    argos_storage_part_t *answer = &unit->ans->parts[unit->part];
    answer->seq = row.seq;
    answer->number = row.lease;
    answer->at = row.at;
    return true;
}
