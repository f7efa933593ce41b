//  argos_store_ops - the operations of the store by type, for parts of commits and for reads.
//
//  Invariant: a body reaches its handler only after its schema has been checked; writes run only in
//  commits, reads only as reads.

#include "argos_store_priv.h"

#include "argos_json.h"

#include <stdlib.h>
#include <string.h>

//  One operation

typedef struct {
    const char *type;      //  Message type
    bool write;            //  Part of a commit; else a read
    argos_store_op_fn *fn; //  Handler
} op_t;

static bool
s_receipt_put (argos_store_t *self, argos_store_unit_t *unit)
{
    const json_t *body = unit->body;
    argos_store_run (self, ARGOS_SQL_RECEIPT_ADD, "isesjjieee", unit->row ? unit->row->seq : 0,
        (const char *) unit->sender, argos_store_member (body, "run_id"),
        argos_store_member (body, "state"), json_object_get (body, "platform_ids"),
        json_object_get (body, "error"), self->now, argos_store_member (body, "op"),
        unit->row ? unit->row->sender : "", unit->row ? unit->row->id : "");
    return true;
}

//  Only who has sent a delivery is told what has become of it.

static bool
s_receipt_get (argos_store_t *self, argos_store_unit_t *unit)
{
    static const char *const names[] = { "op", "state", "run_id", "platform_ids", "error" };
    const char *id = argos_store_member (unit->body, "id");
    json_t *receipt = NULL;
    argos_sql_row_t *stmt =
        argos_store_query (self, ARGOS_SQL_RECEIPT_GET, "ss", (const char *) unit->sender, id);
    if (stmt) {
        receipt = json_pack ("{s:s, s:I}", "id", id, "at", (json_int_t) argos_sql_int (stmt, 5));
        for (int column = 0; column < 5; column++) {
            json_t *value =
                column < 3 ? argos_store_string (stmt, column) : argos_store_json (stmt, column);
            if (value)
                json_object_set_new (receipt, names[column], value);
        }
    }
    argos_store_end (self, ARGOS_SQL_RECEIPT_GET);
    unit->result = json_pack ("{s:o?}", "receipt", receipt);
    return true;
}

static bool
s_cursor_put (argos_store_t *self, argos_store_unit_t *unit)
{
    const json_t *value = json_object_get (unit->body, "value");
    char *text = value ? json_dumps (value, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
    argos_store_run (self, ARGOS_SQL_CURSOR_PUT, "sssi", (const char *) unit->sender,
        argos_store_member (unit->body, "name"), text ? text : "null", self->now);
    free (text);
    return true;
}

static bool
s_cursor_get (argos_store_t *self, argos_store_unit_t *unit)
{
    argos_sql_row_t *stmt = argos_store_query (self, ARGOS_SQL_CURSOR_GET, "ss",
        (const char *) unit->sender, argos_store_member (unit->body, "name"));
    unit->result = json_pack ("{s:o?}", "value", stmt ? argos_store_json (stmt, 0) : NULL);
    argos_store_end (self, ARGOS_SQL_CURSOR_GET);
    return true;
}

static bool
s_status_get (argos_store_t *self, argos_store_unit_t *unit)
{
    argos_sql_row_t *stmt = argos_store_query (self, ARGOS_SQL_STATUS, "");
    if (!stmt)
        return false;
    unit->result = json_pack ("{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "store",
        self->info.store_id, "boot", (json_int_t) self->info.boot, "schema",
        (json_int_t) argos_sql_int (stmt, 0), "queue", (json_int_t) argos_sql_int (stmt, 1), "dead",
        (json_int_t) argos_sql_int (stmt, 2), "sessions", (json_int_t) argos_sql_int (stmt, 3),
        "runs", (json_int_t) argos_sql_int (stmt, 4), "bytes", (json_int_t) argos_sql_int (stmt, 5),
        "commits", (json_int_t) self->commits, "requests", (json_int_t) self->requests);
    argos_store_end (self, ARGOS_SQL_STATUS);
    if (self->trouble)
        json_object_set_new (
            unit->result, "trouble", json_string (argos_store_why (self->trouble)));
    else if (self->space_low)
        json_object_set_new (
            unit->result, "trouble", json_string (argos_err_text (ARGOS_NO_SPACE)));
    return true;
}

static const op_t s_ops[] = {
    { "blob.get", false, argos_store_blob_get },
    { "blob.put", true, argos_store_blob_put },
    { "blob.ref", true, argos_store_blob_ref },
    { "blob.stat", false, argos_store_blob_stat },
    { "cursor.get", false, s_cursor_get },
    { "cursor.put", true, s_cursor_put },
    { "db.backup", false, argos_store_db_backup },
    { "db.compact", false, argos_store_db_compact },
    { "dead.drop", true, argos_store_dead_drop },
    { "dead.list", false, argos_store_dead_list },
    { "dead.redrive", true, argos_store_dead_redrive },
    { "dead.show", false, argos_store_dead_show },
    { "delivery.list", false, argos_store_delivery_list },
    { "delivery.show", false, argos_store_delivery_show },
    { "expect", true, argos_store_expect },
    { "handoff.claim", true, argos_store_handoff_claim },
    { "handoff.complete", true, argos_store_handoff_complete },
    { "handoff.expire", true, argos_store_handoff_expire },
    { "handoff.fail", true, argos_store_handoff_fail },
    { "handoff.heartbeat", true, argos_store_handoff_heartbeat },
    { "handoff.list", false, argos_store_handoff_list },
    { "handoff.request", true, argos_store_handoff_request },
    { "handoff.state", false, argos_store_handoff_state },
    { "lane.list", false, argos_store_lane_list },
    { "receipt.get", false, s_receipt_get },
    { "receipt.put", true, s_receipt_put },
    { "record.get", false, argos_store_record_get },
    { "record.list", false, argos_store_record_list },
    { "record.put", true, argos_store_record_put },
    { "route.bind", true, argos_store_route_bind },
    { "route.get", false, argos_store_route_get },
    { "route.list", false, argos_store_route_list },
    { "route.prune", true, argos_store_route_prune },
    { "route.reset", true, argos_store_route_reset },
    { "route.resume", true, argos_store_route_resume },
    { "route.suspend", true, argos_store_route_suspend },
    { "route.switch", true, argos_store_route_switch },
    { "run.bind", true, argos_store_run_bind },
    { "run.create", true, argos_store_run_create },
    { "run.finish", true, argos_store_run_finish },
    { "run.get", false, argos_store_run_get },
    { "run.list", false, argos_store_run_list },
    { "session.append", true, argos_store_session_append },
    { "session.branch", true, argos_store_session_branch },
    { "session.close", true, argos_store_session_close },
    { "session.create", true, argos_store_session_create },
    { "session.delete", true, argos_store_session_delete },
    { "session.ensure", true, argos_store_session_ensure },
    { "session.get", false, argos_store_session_get },
    { "session.home", true, argos_store_session_home },
    { "session.import", true, argos_store_session_import },
    { "session.lineage", false, argos_store_session_lineage },
    { "session.list", false, argos_store_session_list },
    { "session.load", false, argos_store_session_load },
    { "session.prune", true, argos_store_session_prune },
    { "session.rename", true, argos_store_session_rename },
    { "session.reopen", true, argos_store_session_reopen },
    { "session.replace", true, argos_store_session_replace },
    { "session.resolve", false, argos_store_session_resolve },
    { "session.rewind", true, argos_store_session_rewind },
    { "session.search", false, argos_store_session_search },
    { "session.stats", false, argos_store_session_stats },
    { "session.title", false, argos_store_session_title },
    { "session.update", true, argos_store_session_update },
    { "status.get", false, s_status_get },
    { "usage.add", true, argos_store_usage_add },
    { "usage.get", false, argos_store_usage_get },
};

static int
s_compare (const void *type, const void *op)
{
    return strcmp (type, ((const op_t *) op)->type);
}

//  Find the operation, check the body, run the handler.

static bool
s_operate (argos_store_t *self, argos_store_unit_t *unit, const argos_frame_t *body, bool write)
{
    const op_t *op =
        bsearch (unit->header->type, s_ops, sizeof s_ops / sizeof *s_ops, sizeof *s_ops, s_compare);
    argos_storage_ans_t *ans = unit->ans;
    if (!op)
        return argos_store_refuse (ans, ARGOS_UNKNOWN_TYPE, "no such operation of the store");
    if (op->write != write)
        return argos_store_refuse (ans, ARGOS_INVALID,
            write ? "a read can't be part of a commit" : "a write must be durable");
    char reason[sizeof ans->reason] = "";
    argos_err_t code = argos_schema_parse (op->type, body ? body->data : NULL,
        body ? body->size : 0, &unit->body, reason, sizeof reason);
    if (code != ARGOS_OK)
        return argos_store_refuse (ans, code, reason);
    bool kept = op->fn (self, unit);
    json_decref (unit->body);
    unit->body = NULL;
    return kept;
}

bool
argos_store_write (argos_store_t *self, argos_store_unit_t *unit)
{
    return s_operate (self, unit, unit->req->parts[unit->part].body, true);
}

bool
argos_store_read (argos_store_t *self, const argos_storage_req_t *req, argos_storage_ans_t *ans)
{
    argos_store_unit_t unit = { .req = req, .ans = ans, .header = &self->headers[0] };
    const char *reason = "a read has one part";
    if (req->part_count != 1 || !req->parts[0].header)
        return argos_store_refuse (ans, ARGOS_INVALID, reason);
    const argos_frame_t *header = req->parts[0].header;
    argos_err_t code = argos_header_read (header->data, header->size, &self->headers[0], &reason);
    if (code != ARGOS_OK)
        return argos_store_refuse (ans, code, reason);
    argos_name_base (req->from, unit.sender);
    bool kept = s_operate (self, &unit, req->parts[0].body, false);
    if (unit.result) {
        size_t size = 0;
        char *text = argos_json_dumps (unit.result, &size);
        json_decref (unit.result);
        if (!text)
            abort ();
        unit.frame = argos_frame_new (text, size);
        free (text);
    }
    if (unit.frame)
        argos_store_answer_part (ans)->body = unit.frame;
    return kept;
}

const char *
argos_store_member (const json_t *body, const char *name)
{
    const char *text = json_string_value (json_object_get (body, name));
    return text ? text : "";
}

int64_t
argos_store_integer (const json_t *body, const char *name, int64_t absent)
{
    const json_t *value = json_object_get (body, name);
    return json_is_integer (value) ? json_integer_value (value) : absent;
}
