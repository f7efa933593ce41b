//  argos_store_delivery - what became of deliveries: receipts, and the lanes of what waits.
//
//  Invariant: a list costs its rows; what waits is read in the order of its lanes. Limits: 200 of a
//  page; a page of bodies is one.

#include "argos_store_priv.h"

#include <string.h>

#define PAGE_DEFAULT 50 //  Deliveries of a page

static void
s_set (json_t *object, const char *name, json_t *value)
{
    if (value)
        json_object_set_new (object, name, value);
}

//  The delivery that stmt stands on, new. Columns: number, id, service, key, from, op, kind, state,
//  at, attempt, run_id, preview; error and platform_ids are JSON.

static json_t *
s_delivery (argos_sql_row_t *stmt)
{
    static const char *const names[] = { "number", "id", "service", "key", "from", "op", "kind",
        "state", "at", "attempt", "run_id", "preview", "error", "platform_ids" };
    json_t *delivery = json_object ();
    for (int i = 0; i < 12; i++) {
        if (argos_sql_is_int (stmt, i))
            s_set (delivery, names[i], json_integer (argos_sql_int (stmt, i)));
        else
            s_set (delivery, names[i], argos_store_string (stmt, i));
    }
    return delivery;
}

static void
s_add_outcome (json_t *delivery, argos_sql_row_t *stmt)
{
    s_set (delivery, "error", argos_store_json (stmt, 12));
    s_set (delivery, "platform_ids", argos_store_json (stmt, 13));
}

bool
argos_store_delivery_list (argos_store_t *self, argos_store_unit_t *unit)
{
    const json_t *body = unit->body;
    const char *state = argos_store_member (body, "state");
    int64_t limit = argos_store_integer (body, "limit", PAGE_DEFAULT);
    argos_sql_t sql = strcmp (state, "waiting") == 0 ? ARGOS_SQL_DELIVERY_WAITING
                      : strcmp (state, "gone") == 0  ? ARGOS_SQL_DELIVERY_GONE
                                                     : ARGOS_SQL_DELIVERY_LIST;
    json_t *list = json_array (), *last = NULL;
    argos_sql_row_t *stmt =
        argos_store_query (self, sql, "sssii", argos_store_member (body, "service"),
            argos_store_member (body, "key"), sql == ARGOS_SQL_DELIVERY_LIST ? state : "",
            argos_store_integer (body, "after", 0), limit + 1);
    while (stmt) {
        if ((int64_t) json_array_size (list) == limit) {
            last = json_object_get (json_array_get (list, (size_t) limit - 1), "number");
            break;
        }
        json_t *delivery = s_delivery (stmt);
        if (sql != ARGOS_SQL_DELIVERY_WAITING)
            s_add_outcome (delivery, stmt);
        json_array_append_new (list, delivery);
        if (!argos_store_next (self, stmt))
            break;
    }
    argos_store_end (self, sql);
    unit->result = json_pack ("{s:o}", "deliveries", list);
    if (last && sql != ARGOS_SQL_DELIVERY_WAITING)
        json_object_set (unit->result, "next", last);
    return true;
}

bool
argos_store_delivery_show (argos_store_t *self, argos_store_unit_t *unit)
{
    const char *id = argos_store_member (unit->body, "id");
    json_t *delivery = NULL;
    argos_sql_row_t *stmt = argos_store_query (self, ARGOS_SQL_DELIVERY_QUEUED, "s", id);
    if (stmt) {
        delivery = s_delivery (stmt);
        s_set (delivery, "body", argos_store_json (stmt, 12));
    }
    argos_store_end (self, ARGOS_SQL_DELIVERY_QUEUED);
    stmt = delivery ? NULL : argos_store_query (self, ARGOS_SQL_DELIVERY_ENDED, "s", id);
    if (stmt) {
        delivery = s_delivery (stmt);
        s_add_outcome (delivery, stmt);
        s_set (delivery, "body", argos_store_json (stmt, 14));
    }
    argos_store_end (self, ARGOS_SQL_DELIVERY_ENDED);
    unit->result = json_pack ("{s:o?}", "delivery", delivery);
    return true;
}
