//  argos_store_record - small rows that belong to an actor: a space, a key, a JSON object.
//
//  Invariant: a version is never used twice, also not by a record that was removed and made again,
//  so a record.put with a version that has been read changes exactly what has been read. A record
//  behind its time is absent; one of a run goes when the run goes. Limits: 32 KiB a value, 200
//  records or 512 KiB a page.

#include "argos_store_priv.h"

#include <string.h>

#define VALUE_MAX 32768  //  Bytes of a value
#define PAGE_DEFAULT 100 //  Records of a page

//  The record that the statement stands on, new.

static json_t *
s_record (argos_sql_row_t *stmt)
{
    json_t *record = json_pack ("{s:o, s:o, s:I, s:I}", "key", argos_store_string (stmt, 0),
        "value", argos_store_json (stmt, 1), "version", (json_int_t) argos_sql_int (stmt, 2),
        "updated_at", (json_int_t) argos_sql_int (stmt, 3));
    int64_t expires = argos_sql_int (stmt, 4);
    if (expires)
        json_object_set_new (record, "expires_at", json_integer (expires));
    return record;
}

bool
argos_store_record_get (argos_store_t *self, argos_store_unit_t *unit)
{
    argos_sql_row_t *stmt = argos_store_query (self, ARGOS_SQL_RECORD_GET, "ssi",
        argos_store_member (unit->body, "space"), argos_store_member (unit->body, "key"),
        self->now);
    unit->result = json_pack ("{s:o?}", "record", stmt ? s_record (stmt) : NULL);
    argos_store_end (self, ARGOS_SQL_RECORD_GET);
    return true;
}

//  The version in force, 0 = there is none.

static int64_t
s_version (argos_store_t *self, const char *space, const char *key)
{
    argos_sql_row_t *stmt =
        argos_store_query (self, ARGOS_SQL_RECORD_GET, "ssi", space, key, self->now);
    int64_t version = stmt ? argos_sql_int (stmt, 2) : 0;
    argos_store_end (self, ARGOS_SQL_RECORD_GET);
    return version;
}

bool
argos_store_record_put (argos_store_t *self, argos_store_unit_t *unit)
{
    const json_t *body = unit->body, *value = json_object_get (body, "value");
    const char *space = argos_store_member (body, "space");
    const char *key = argos_store_member (body, "key");
    int64_t expected = argos_store_integer (body, "version", -1);
    if (expected >= 0 && s_version (self, space, key) != expected)
        return argos_store_refuse (unit->ans, ARGOS_CONFLICT, "the record has another version");
    if (!value)
        return argos_store_run (self, ARGOS_SQL_RECORD_DROP, "ss", space, key) == 0;
    if (json_dumpb (value, NULL, 0, JSON_COMPACT) > VALUE_MAX)
        return argos_store_refuse (unit->ans, ARGOS_TOO_BIG, "the value is larger than 32 KiB");
    return argos_store_run (self, ARGOS_SQL_RECORD_PUT, "ssiijs", space, key, self->now,
               argos_store_integer (body, "expires_at", 0), value,
               argos_store_member (body, "run_id")) == 0;
}

bool
argos_store_record_list (argos_store_t *self, argos_store_unit_t *unit)
{
    const json_t *body = unit->body;
    int64_t limit = argos_store_integer (body, "limit", PAGE_DEFAULT), bytes = 0;
    json_t *records = json_array (), *last = NULL;
    bool more = false;
    argos_sql_row_t *stmt = argos_store_query (self, ARGOS_SQL_RECORD_LIST, "sissi",
        argos_store_member (body, "space"), self->now, argos_store_member (body, "prefix"),
        argos_store_member (body, "after"), limit + 1);
    while (stmt) {
        bytes += (int64_t) argos_sql_size (stmt, 1);
        more = (int64_t) json_array_size (records) == limit || bytes > ARGOS_STORE_PAGE_BYTES;
        if (more)
            break;
        json_array_append_new (records, s_record (stmt));
        if (!argos_store_next (self, stmt))
            break;
    }
    argos_store_end (self, ARGOS_SQL_RECORD_LIST);
    if (more)
        last = json_object_get (json_array_get (records, json_array_size (records) - 1), "key");
    unit->result = json_pack ("{s:o}", "records", records);
    if (last)
        json_object_set (unit->result, "next", last);
    return true;
}
