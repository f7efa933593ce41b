//  test_store_activity - the time of the last activity of a session: it may be a second old, and
//  the order of sessions by it is exact all the same.

#include "store_says.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define SESSIONS 4
#define STEPS 400
#define LATE_MS 1000 //  So old may the stored time be

static int64_t
s_stored (kit_t *kit, int session)
{
    char sql[80];
    snprintf (sql, sizeof sql, "SELECT last_activity_at FROM sessions WHERE id = 's%d'", session);
    return kit_number (kit, sql);
}

static argos_err_t
s_append (kit_t *kit, const char *session)
{
    return says_turn (kit, session, "session.append",
        "{'session_id':'%s','messages':[{'role':'user','content':'x'}]}", session);
}

static void
it_moves_at_once_or_within_a_second (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    says_write (kit, "session.create", "{'id':'s0'}");
    says_write (kit, "session.create", "{'id':'s1'}");
    int64_t start = kit->now += 10;
    s_append (kit, "s0");
    kit->now = start + LATE_MS - 1;
    s_append (kit, "s0");
    assert_int_equal (s_stored (kit, 0), start);
    assert_int_equal (
        kit_number (kit, "SELECT message_count * 100 + version FROM sessions WHERE id = 's0'"),
        203);
    kit->now = start + LATE_MS;
    s_append (kit, "s0");
    assert_int_equal (s_stored (kit, 0), start + LATE_MS);
    kit->now++;
    s_append (kit, "s1"); //  Another one is active: at once, and so is the next of the first
    assert_int_equal (s_stored (kit, 1), kit->now);
    kit->now++;
    s_append (kit, "s0");
    assert_int_equal (s_stored (kit, 0), kit->now);
    kit_free (kit);
}

//  What is undone has not moved it.

static void
a_refusal_takes_it_back (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    says_write (kit, "session.create", "{'id':'s0'}");
    int64_t seq = kit_send (kit, "lease", "turn", "s0", NULL, NULL);
    int64_t lease = kit_lease (kit, seq, "w/1");
    kit->now += 10;
    argos_storage_req_t *req = kit_commit (kit, "w/1", seq, lease, 1, false, 2);
    kit_part (req, 0, "{\"type\":\"session.append\",\"to\":\"store\",\"durable\":true}",
        "{\"session_id\":\"s0\",\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]}");
    kit_part (req, 1, "{\"type\":\"session.rename\",\"to\":\"store\",\"durable\":true}",
        "{\"id\":\"nobody\",\"title\":\"x\"}");
    assert_int_equal (kit_do (kit, req)->code, ARGOS_NOT_FOUND);
    assert_int_equal (
        kit_write_leased (kit, "w/1", seq, lease, 1, "session.append",
            "{\"session_id\":\"s0\",\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]}"),
        ARGOS_OK);
    assert_int_equal (s_stored (kit, 0), kit->now);
    kit_free (kit);
}

//  One step of what people do, on the session of that number. Returns whether it was active then.

static bool
s_step (kit_t *kit, unsigned what, int session)
{
    char id[8], other[16];
    snprintf (id, sizeof id, "s%d", session);
    if (what < 12)
        return s_append (kit, id) == ARGOS_OK;
    if (what == 12) {
        says_turn (kit, id, "session.replace",
            "{'session_id':'%s','messages':[{'role':'user','content':'y'}]}", id);
        return true;
    }
    if (what == 13)
        says_write (kit, "session.rename", "{'id':'%s','title':'t%lld'}", id, (long long) kit->now);
    else if (what == 14)
        assert_int_equal (s_append (kit, "nobody"), ARGOS_NOT_FOUND);
    else {
        snprintf (other, sizeof other, "o%lld", (long long) kit->now);
        says_write (kit, "session.branch", "{'id':'%s','from':'%s'}", other, id);
        says_write (kit, "session.delete", "{'id':'%s'}", other);
    }
    return false;
}

//  The sessions in the order of the list are those in the order of what was done last.

static void
s_compare (kit_t *kit, const int64_t *active)
{
    int64_t last = INT64_MAX;
    size_t index;
    json_t *session;
    says_read (kit, "session.list", "{}");
    assert_int_equal (json_array_size (says_get (kit, "sessions")), SESSIONS);
    json_array_foreach (says_get (kit, "sessions"), index, session) {
        const char *id = json_string_value (json_object_get (session, "id"));
        int64_t stored = json_integer_value (json_object_get (session, "last_activity_at"));
        int64_t really = active[id[1] - '0'];
        assert_true (really < last);
        assert_true (stored <= really && really - stored < LATE_MS);
        last = really;
    }
}

static void
the_order_is_exact (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    int64_t active[SESSIONS];
    unsigned random = 7;
    for (int i = 0; i < SESSIONS; i++) {
        kit->now++;
        says_write (kit, "session.create", "{'id':'s%d'}", i);
        active[i] = kit->now;
    }
    int session = 0;
    for (int i = 0; i < STEPS; i++) {
        random = random * 1664525 + 1013904223;
        kit->now += 1 + (random >> 20) % 400;
        if ((random >> 8) % 3 == 0) //  Else the same one again
            session = (int) ((random >> 12) % SESSIONS);
        if (s_step (kit, (random >> 16) % 16, session))
            active[session] = kit->now;
        s_compare (kit, active);
    }
    kit_free (kit);
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (it_moves_at_once_or_within_a_second),
        cmocka_unit_test (a_refusal_takes_it_back),
        cmocka_unit_test (the_order_is_exact),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
