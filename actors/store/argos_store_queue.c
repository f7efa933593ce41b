//  argos_store_queue - operations that look at lanes and dead letters.
//
//  Invariant: a redriven message goes to the tail of its lane under a new number, with the
//  id under which its sender knows it; as it is a person's decision, its chain begins anew. Limits:
//  64 messages of a lane, 200 dead letters in a list.

#include "argos_store_priv.h"

#include <string.h>

#define LIST_MAX 200     //  Dead letters of a list
#define BODY_MAX 65536   //  Bytes of a body that a list of a lane shows
#define SHOWN_MAX 786432 //  Bytes of the body of a dead letter that can be shown

static bool
s_unexpected (argos_store_unit_t *unit, const char *reason)
{
    return argos_store_refuse (unit->ans, ARGOS_CONFLICT, reason);
}

bool
argos_store_expect (argos_store_t *self, argos_store_unit_t *unit)
{
    const json_t *body = unit->body;
    const char *row = argos_store_member (body, "row");
    const char *key = argos_store_member (body, "key");
    int64_t version = argos_store_integer (body, "version", 0);
    if (strcmp (row, "route") == 0)
        return argos_store_number (self, 0, ARGOS_SQL_ROUTE_VERSION, "s", key) == version ||
               s_unexpected (unit, "the route has another version");
    if (strcmp (row, "session") == 0)
        return argos_store_number (self, 0, ARGOS_SQL_SESSION_VERSION, "s",
                   argos_store_member (body, "id")) == version ||
               s_unexpected (unit, "the session has another version");
    int64_t max = argos_store_integer (body, "max", 0);
    if (strcmp (row, "runs") == 0)
        return argos_store_number (self, 0, ARGOS_SQL_RUN_OPEN, "si",
                   argos_store_member (body, "kind"), max) < max ||
               s_unexpected (unit, "too many runs of that kind");
    return argos_store_number (self, 0, ARGOS_SQL_LANE_COUNT, "ssi",
               argos_store_member (body, "service"), key, max) < max ||
           s_unexpected (unit, "the lane is full");
}

//  The bytes of a column as JSON, new; NULL when they are none, or more than max.

static json_t *
s_blob (argos_sql_row_t *stmt, int column, size_t max)
{
    size_t size = argos_sql_size (stmt, column);
    if (size == 0 || size > max)
        return NULL;
    return json_loadb (argos_sql_bytes (stmt, column), size, JSON_DECODE_ANY, NULL);
}

bool
argos_store_lane_list (argos_store_t *self, argos_store_unit_t *unit)
{
    json_t *messages = json_array ();
    bool brief = json_is_true (json_object_get (unit->body, "brief"));
    size_t bytes = 0;
    argos_sql_row_t *stmt = argos_store_query (self, ARGOS_SQL_LANE_LIST, "ssi",
        argos_store_member (unit->body, "service"), argos_store_member (unit->body, "key"),
        argos_store_integer (unit->body, "upto", INT64_MAX));
    while (stmt) {
        argos_store_row_t row;
        argos_store_row_read (stmt, &row);
        json_t *message = json_pack ("{s:I, s:s, s:s, s:b, s:s, s:b, s:b, s:I, s:I}", "seq",
            (json_int_t) row.seq, "type", row.type, "id", row.id, "side", row.side, "from",
            row.sender, "leased", row.lease != 0, "parked", row.delay_until > 0, "attempt",
            (json_int_t) row.attempt, "at", (json_int_t) row.at);
        if (!brief)
            bytes += argos_sql_size (stmt, 20);
        json_t *body =
            !brief && bytes <= ARGOS_STORE_PAGE_BYTES ? s_blob (stmt, 20, BODY_MAX) : NULL;
        if (body)
            json_object_set_new (message, "body", body);
        json_array_append_new (messages, message);
        if (!argos_store_next (self, stmt))
            break;
    }
    argos_store_end (self, ARGOS_SQL_LANE_LIST);
    unit->result = json_pack ("{s:o}", "messages", messages);
    return true;
}

//  The dead letter that stmt stands on, new.

static json_t *
s_dead (argos_sql_row_t *stmt)
{
    static const char *const names[] = { "seq", "service", "key", "id", "type", "from", "code",
        "attempt", "strikes", "died_at" };
    json_t *dead = json_object ();
    for (int i = 0; i < (int) (sizeof names / sizeof *names); i++) {
        if (argos_sql_is_int (stmt, i))
            json_object_set_new (dead, names[i], json_integer (argos_sql_int (stmt, i)));
        else
            json_object_set_new (dead, names[i], argos_store_string (stmt, i));
    }
    return dead;
}

bool
argos_store_dead_list (argos_store_t *self, argos_store_unit_t *unit)
{
    int64_t limit = argos_store_integer (unit->body, "limit", 50);
    if (limit < 1 || limit > LIST_MAX)
        limit = LIST_MAX;
    json_t *list = json_array ();
    argos_sql_row_t *stmt = argos_store_query (self, ARGOS_SQL_DEAD_LIST, "i", limit);
    while (stmt) {
        json_array_append_new (list, s_dead (stmt));
        if (!argos_store_next (self, stmt))
            break;
    }
    argos_store_end (self, ARGOS_SQL_DEAD_LIST);
    unit->result = json_pack ("{s:o}", "dead", list);
    return true;
}

bool
argos_store_dead_show (argos_store_t *self, argos_store_unit_t *unit)
{
    json_t *dead = NULL;
    argos_sql_row_t *stmt = argos_store_query (
        self, ARGOS_SQL_DEAD_GET, "i", argos_store_integer (unit->body, "seq", 0));
    if (stmt) {
        dead = s_dead (stmt);
        json_t *header = s_blob (stmt, 10, ARGOS_HEADER_MAX);
        json_t *body = s_blob (stmt, 11, SHOWN_MAX);
        json_object_set_new (dead, "header", header ? header : json_null ());
        json_object_set_new (dead, "body", body ? body : json_null ());
    }
    argos_store_end (self, ARGOS_SQL_DEAD_GET);
    unit->result = json_pack ("{s:o?}", "dead", dead);
    return true;
}

static bool
s_drop (argos_store_t *self, argos_store_unit_t *unit, int64_t seq)
{
    argos_store_run (self, ARGOS_SQL_DEAD_DROP, "i", seq);
    return self->failed || argos_store_changed (self) ||
           argos_store_refuse (unit->ans, ARGOS_NOT_FOUND, "no such dead letter");
}

bool
argos_store_dead_drop (argos_store_t *self, argos_store_unit_t *unit)
{
    return s_drop (self, unit, argos_store_integer (unit->body, "seq", 0));
}

bool
argos_store_dead_redrive (argos_store_t *self, argos_store_unit_t *unit)
{
    int64_t seq = argos_store_integer (unit->body, "seq", 0);
    argos_store_row_t row = { 0 };
    argos_frame_t *header = NULL, *body = NULL;
    int64_t redriven = ++self->last_seq;
    argos_store_run (self, ARGOS_SQL_DEAD_REDRIVE, "iii", seq, redriven, self->now);
    if (!s_drop (self, unit, seq))
        return false;
    if (argos_store_row_get (self, redriven, &row, &header, &body) &&
        argos_store_add_service (self, row.service) == 0) //  It may have been forgotten since
        argos_store_entered (unit->ans, &row, (int64_t) (header->size + (body ? body->size : 0)));
    if (!self->failed && row.side)
        argos_store_run (
            self, ARGOS_SQL_ROW_WAKE, "ss", (const char *) row.service, (const char *) row.key);
    argos_frame_unref (&header);
    argos_frame_unref (&body);
    return true;
}
