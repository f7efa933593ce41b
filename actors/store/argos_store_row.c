//  argos_store_row - rows of the queue: reading, adding, burying.
//
//  Invariant: what is buried leaves the queue, enters `dead` and is told to the gateway in the same
//  transaction. A notice is never made for a notice.

#include "argos_store_priv.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOTICE_BODY_MAX 65536 //  Bytes of a dead message's body that its notice carries

void
argos_store_row_read (argos_sql_row_t *stmt, argos_store_row_t *ret_row)
{
    ret_row->seq = argos_sql_int (stmt, 0);
    argos_store_text (stmt, 1, ret_row->service, sizeof ret_row->service);
    argos_store_text (stmt, 2, ret_row->key, sizeof ret_row->key);
    argos_store_text (stmt, 3, ret_row->sender, sizeof ret_row->sender);
    argos_store_text (stmt, 4, ret_row->id, sizeof ret_row->id);
    argos_store_text (stmt, 5, ret_row->type, sizeof ret_row->type);
    ret_row->side = argos_sql_int (stmt, 6) != 0;
    ret_row->urgent = argos_sql_int (stmt, 7) != 0;
    ret_row->at = argos_sql_int (stmt, 8);
    ret_row->until = argos_sql_int (stmt, 9);
    ret_row->not_before = argos_sql_int (stmt, 10);
    ret_row->delay_until = argos_sql_int (stmt, 11);
    ret_row->hops = argos_sql_int (stmt, 12);
    argos_store_text (stmt, 13, ret_row->cause, sizeof ret_row->cause);
    ret_row->origin = argos_sql_int (stmt, 14);
    ret_row->attempt = argos_sql_int (stmt, 15);
    ret_row->strikes = (int) argos_sql_int (stmt, 16);
    ret_row->lease = argos_sql_int (stmt, 17);
    argos_store_text (stmt, 18, ret_row->holder, sizeof ret_row->holder);
    ret_row->n = argos_sql_int (stmt, 19);
}

//  The row seq, or false when there is none (or on failure). ret_header and ret_body may be NULL;
//  else new frames.

bool
argos_store_row_get (argos_store_t *self, int64_t seq, argos_store_row_t *ret_row,
    argos_frame_t **ret_header, argos_frame_t **ret_body)
{
    argos_sql_t sql = ret_header || ret_body ? ARGOS_SQL_ROW_GET : ARGOS_SQL_ROW_HEAD;
    argos_sql_row_t *stmt = argos_store_query (self, sql, "i", seq);
    if (!stmt)
        return false;
    argos_store_row_read (stmt, ret_row);
    if (ret_header)
        *ret_header = argos_store_frame (stmt, 20);
    if (ret_body)
        *ret_body = argos_store_frame (stmt, 21);
    argos_store_end (self, sql);
    return true;
}

int
argos_store_row_add (argos_store_t *self, const argos_store_row_t *row, const argos_frame_t *header,
    const argos_frame_t *body)
{
    return argos_store_run (self, ARGOS_SQL_ROW_ADD, "isssssiiiiiiisiiiieibb", row->seq,
        row->service, row->key, row->sender, row->id, row->type, (int64_t) row->side,
        (int64_t) row->urgent, row->at, row->until, row->not_before, row->delay_until, row->hops,
        row->cause, row->origin, row->attempt, (int64_t) row->strikes, row->lease, row->holder,
        row->n, header->data, header->size, body && body->size ? body->data : NULL,
        body ? body->size : (size_t) 0);
}

static argos_frame_t *
s_frame_of (json_t *json)
{
    char *text = json_dumps (json, JSON_COMPACT);
    json_decref (json);
    assert (text);
    argos_frame_t *frame = argos_frame_new (text, strlen (text));
    free (text);
    return frame;
}

int
argos_store_emit (
    argos_store_t *self, argos_store_row_t *row, json_t *body, argos_storage_ans_t *ans)
{
    row->seq = ++self->last_seq;
    row->at = self->now;
    memcpy (row->sender, "store", sizeof "store");
    json_t *json = json_pack ("{s:s, s:s, s:s+, s:s, s:b}", "type", row->type, "id", row->id, "to",
        "service:", row->service, "key", row->key, "durable", 1);
    if (row->side)
        json_object_set_new (json, "side", json_true ());
    if (row->urgent)
        json_object_set_new (json, "urgent", json_true ());
    argos_frame_t *header = s_frame_of (json), *content = s_frame_of (body);
    int rc = argos_store_row_add (self, row, header, content);
    if (rc == 0 && ans)
        argos_store_entered (ans, row, (int64_t) (header->size + content->size));
    argos_frame_unref (&header);
    argos_frame_unref (&content);
    return rc;
}

static json_t *
s_notice_body (const argos_store_row_t *row, const char *code, const argos_frame_t *body)
{
    json_t *notice = json_pack ("{s:I, s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:i}", "seq",
        (json_int_t) row->seq, "service", row->service, "key", row->key, "id", row->id, "type",
        row->type, "from", row->sender, "code", code, "attempt", (json_int_t) row->attempt,
        "strikes", row->strikes);
    if (body && body->size <= NOTICE_BODY_MAX)
        json_object_set_new (notice, "body", json_loadb (body->data, body->size, 0, NULL));
    return notice;
}

//  Tell the gateway about a dead message.

int
argos_store_notice (argos_store_t *self, const argos_store_row_t *row, const char *code,
    const argos_frame_t *body, argos_storage_ans_t *ans)
{
    if (strcmp (row->type, "message.dead") == 0)
        return 0;
    argos_store_row_t notice = { .hops =
                                     row->hops < ARGOS_HOPS_MAX ? row->hops + 1 : ARGOS_HOPS_MAX,
        .service = "gateway",
        .type = "message.dead" };
    memcpy (notice.key, row->key, sizeof notice.key);
    memcpy (notice.cause, row->id, sizeof notice.cause);
    snprintf (notice.id, sizeof notice.id, "dead.%" PRId64, row->seq);
    return argos_store_emit (self, &notice, s_notice_body (row, code, body), ans);
}

int
argos_store_bury (
    argos_store_t *self, const argos_store_row_t *row, const char *code, argos_storage_ans_t *ans)
{
    argos_store_row_t present;
    argos_frame_t *body = NULL;
    argos_store_row_get (self, row->seq, &present, NULL, &body);
    argos_store_run (
        self, ARGOS_SQL_DEAD_BURY, "iisi", row->seq, (int64_t) row->strikes, code, self->now);
    argos_store_run (self, ARGOS_SQL_ROW_DROP, "i", row->seq);
    if (!self->failed)
        argos_store_notice (self, row, code, body, ans);
    argos_frame_unref (&body);
    if (ans && !self->failed)
        argos_store_gone (ans, row->seq);
    return self->failed ? -1 : 0;
}
