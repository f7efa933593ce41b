//  store_fault - see the header.

#include "store_fault.h"

#include "fault_vfs.h"

#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

kit_t *
fault_kit (void)
{
    fault_set (FAULT_NONE, 0, false);
    return kit_new (true);
}

void
fault_chores (kit_t *kit)
{
    while (argos_store_chore (kit->store, kit->now))
        continue;
}

void
fault_exec (kit_t *kit, const char *sql)
{
    char *error = NULL;
    if (sqlite3_exec (kit->store->db, sql, NULL, NULL, &error) != SQLITE_OK)
        fail_msg ("%s: %s", sql, error);
}

void
fault_sound (kit_t *kit)
{
    sqlite3_stmt *stmt = NULL;
    sqlite3_prepare_v2 (kit->store->db, "PRAGMA integrity_check", -1, &stmt, NULL);
    assert_int_equal (sqlite3_step (stmt), SQLITE_ROW);
    assert_string_equal ((const char *) sqlite3_column_text (stmt, 0), "ok");
    sqlite3_finalize (stmt);
}

//  Messages of one text into a session, each under a lease of its own.

void
fault_say (kit_t *kit, const char *session, const char *role, const char *text, int count)
{
    static int serial;
    size_t size = strlen (text) + 256;
    char *body = malloc (size), id[32];
    assert_non_null (body);
    snprintf (id, sizeof id, "s%d", ++serial);
    int64_t seq = kit_send (kit, id, "turn", session, NULL, NULL);
    int64_t lease = kit_lease (kit, seq, FAULT_HOLDER);
    snprintf (body, size,
        "{\"session_id\":\"%s\",\"messages\":[{\"role\":\"%s\",\"content\":\"%s\"}]}", session,
        role, text);
    for (int n = 1; n <= count; n++)
        assert_int_equal (
            kit_write_leased (kit, FAULT_HOLDER, seq, lease, n, "session.append", body), ARGOS_OK);
    assert_int_equal (kit_done (kit, FAULT_HOLDER, seq, lease, count + 1, seq), ARGOS_OK);
    free (body);
}
