//  test_store_route - routes: where they lead, what becomes of the session before, marks, pruning.

#include "store_says.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HOLDER "agent/1"

#define RUN "run_0123456789abcdef0123456789abcdef"

static const char *
s_end (kit_t *kit, const char *id)
{
    says_read (kit, "session.get", "{'id':'%s'}", id);
    return says_text (kit, "session.end_reason");
}

static const char *
s_leads (kit_t *kit, const char *key)
{
    says_read (kit, "route.get", "{'key':'%s'}", key);
    return says_text (kit, "route.session_id");
}

//  Sessions a and b, of ann; the route k leads to a.

static kit_t *
s_kit (void)
{
    kit_t *kit = kit_new (false);
    says_write (kit, "session.create", "{'id':'a','owner':'ann'}");
    says_write (kit, "session.create", "{'id':'b','owner':'ann'}");
    assert_int_equal (says_write (kit, "route.bind",
                          "{'key':'k','session_id':'a','source':{'platform':'telegram','account':"
                          "'main','chat_type':'dm','chat_id':'7'}}"),
        ARGOS_OK);
    return kit;
}

static void
a_route_leads_only_to_what_is_there (void **state)
{
    (void) state;
    kit_t *kit = s_kit ();
    static const struct {
        const char *type; //  Operation
        const char *body; //  Of it
    } cases[] = { { "route.bind", "{'key':'n','session_id':'none'}" },
        { "route.switch", "{'key':'k','session_id':'none'}" },
        { "route.switch", "{'key':'k','session_id':'b','owner':'bob'}" },
        { "route.switch", "{'key':'none','session_id':'b'}" },
        { "route.reset", "{'key':'none','id':'c'}" }, { "route.suspend", "{'key':'none'}" },
        { "route.resume", "{'key':'none'}" } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal (says_write (kit, cases[i].type, "%s", cases[i].body), ARGOS_NOT_FOUND);
    assert_int_equal (says_write (kit, "route.reset", "{'key':'k','id':'b'}"), ARGOS_CONFLICT);
    assert_string_equal (s_leads (kit, "k"), "a");
    assert_int_equal (says_number (kit, "route.version"), 1);
    assert_string_equal (s_end (kit, "a"), "");
    says_write (kit, "session.delete", "{'id':'a'}");
    assert_string_equal (s_leads (kit, "k"), "");
    kit_free (kit);
}

static void
a_switch_ends_the_one_and_reopens_the_other (void **state)
{
    (void) state;
    kit_t *kit = s_kit ();
    says_turn (kit, "b", "session.close", "{'id':'b','reason':'idle'}");
    assert_int_equal (says_write (kit, "route.switch", "{'key':'k','session_id':'b'}"), ARGOS_OK);
    assert_string_equal (s_leads (kit, "k"), "b");
    assert_string_equal (says_text (kit, "route.previous"), "a");
    assert_string_equal (says_text (kit, "route.source.chat_id"), "7");
    assert_string_equal (s_end (kit, "a"), "session_switch");
    assert_string_equal (s_end (kit, "b"), "");
    //  To where it leads already: nothing is written
    assert_int_equal (says_write (kit, "route.switch", "{'key':'k','session_id':'b'}"), ARGOS_OK);
    s_leads (kit, "k");
    assert_int_equal (says_number (kit, "route.version"), 2);
    kit_free (kit);
}

static void
a_reset_begins_anew_for_the_same_people (void **state)
{
    (void) state;
    kit_t *kit = s_kit ();
    says_turn (kit, "a", "session.close", "{'id':'a','reason':'agent_close'}");
    says_write (kit, "route.suspend", "{'key':'k'}");
    assert_int_equal (
        says_write (kit, "route.reset", "{'key':'k','id':'c','reason':'daily'}"), ARGOS_OK);
    assert_string_equal (s_leads (kit, "k"), "c");
    assert_string_equal (says_text (kit, "session.owner"), "ann");
    assert_string_equal (says_text (kit, "session.platform"), "telegram");
    assert_string_equal (says_text (kit, "route.reset_reason"), "daily");
    assert_string_equal (says_text (kit, "route.previous"), "a");
    assert_null (says_get (kit, "route.suspended"));
    //  What was ended by accident is ended on purpose now; what was on purpose stays
    assert_string_equal (s_end (kit, "a"), "daily");
    assert_int_equal (says_write (kit, "route.reset", "{'key':'k','id':'d'}"), ARGOS_OK);
    assert_string_equal (s_end (kit, "c"), "session_reset");
    assert_string_equal (s_end (kit, "a"), "daily");
    kit_free (kit);
}

//  A session that is being worked on is not ended behind the back of who does.

static void
a_session_with_work_is_ended_by_its_lane (void **state)
{
    (void) state;
    kit_t *kit = s_kit ();
    int64_t seq = kit_send (kit, "m", "turn", "a", NULL, NULL);
    int64_t lease = kit_lease (kit, seq, HOLDER);
    assert_int_equal (says_write (kit, "route.reset", "{'key':'k','id':'c'}"), ARGOS_OK);
    assert_int_equal (kit->ans->row_count, 1);
    assert_string_equal (kit->ans->rows[0].type, "session.end");
    assert_true (kit->ans->rows[0].side && kit->ans->rows[0].urgent);
    assert_string_equal (s_end (kit, "a"), "");
    says_read (kit, "lane.list", "{'service':'turn','key':'a'}");
    json_t *last = json_array_get (says_get (kit, "messages"), 1);
    assert_string_equal (json_string_value (json_object_get (last, "type")), "session.end");
    assert_string_equal (
        json_string_value (json_object_get (json_object_get (last, "body"), "reason")),
        "session_reset");
    assert_int_equal (kit_done (kit, HOLDER, seq, lease, 1, seq), ARGOS_MAIL);
    //  Under the lease of the lane itself nobody else has to do it
    assert_int_equal (kit_write_leased (kit, HOLDER, seq, lease, 1, "route.bind",
                          "{\"key\":\"k\",\"session_id\":\"a\"}"),
        ARGOS_OK);
    assert_int_equal (kit_write_leased (kit, HOLDER, seq, lease, 2, "route.reset",
                          "{\"key\":\"k\",\"id\":\"e\",\"reason\":\"new_command\"}"),
        ARGOS_OK);
    assert_string_equal (s_end (kit, "a"), "new_command");
    kit_free (kit);
}

static void
two_routes_to_one_session_share_its_lane (void **state)
{
    (void) state;
    kit_t *kit = s_kit ();
    assert_int_equal (says_write (kit, "route.bind", "{'key':'l','session_id':'a'}"), ARGOS_OK);
    char first[64], second[64];
    snprintf (first, sizeof first, "%s", s_leads (kit, "k"));
    snprintf (second, sizeof second, "%s", s_leads (kit, "l"));
    int64_t one = kit_send (kit, "1", "turn", first, NULL, NULL);
    int64_t two = kit_send (kit, "2", "turn", second, NULL, NULL);
    assert_true (kit_lease (kit, one, "agent/1") > 0);
    assert_int_equal (kit_lease (kit, two, "agent/2"), 0);
    says_read (kit, "route.list", "{'session_id':'a'}");
    assert_int_equal (json_array_size (says_get (kit, "routes")), 2);
    //  The one leaves: the session is still that of the other
    assert_int_equal (says_write (kit, "route.switch", "{'key':'l','session_id':'b'}"), ARGOS_OK);
    assert_int_equal (kit->ans->row_count, 0);
    assert_string_equal (s_end (kit, "a"), "");
    kit_free (kit);
}

static void
marks_of_a_restart (void **state)
{
    (void) state;
    kit_t *kit = s_kit ();
    says_write (kit, "route.bind", "{'key':'l','session_id':'b'}");
    says_write (kit, "route.suspend", "{'key':'l'}");
    assert_int_equal (says_write (kit, "route.resume", "{'key':'l'}"), ARGOS_CONFLICT);
    assert_int_equal (says_write (kit, "route.resume", "{'key':'k'}"), ARGOS_OK);
    s_leads (kit, "k");
    assert_string_equal (says_text (kit, "route.resume_reason"), "restart_timeout");
    assert_int_equal (says_number (kit, "route.resume_at"), kit->now);
    assert_int_equal (says_write (kit, "route.resume", "{'key':'k','on':false}"), ARGOS_OK);
    s_leads (kit, "k");
    assert_null (says_get (kit, "route.resume_at"));
    //  All that were active: not the suspended one, not what is quiet
    int64_t then = kit->now;
    kit->now += 500000;
    says_write (kit, "session.create", "{'id':'c'}");
    says_write (kit, "route.bind", "{'key':'m','session_id':'c'}");
    assert_int_equal (
        says_write (kit, "route.resume", "{'since':%lld}", (long long) then + 1), ARGOS_OK);
    s_leads (kit, "m");
    assert_string_equal (says_text (kit, "route.resume_reason"), "restart_interrupted");
    s_leads (kit, "k");
    assert_null (says_get (kit, "route.resume_at"));
    says_write (kit, "route.resume", "{'since':0,'reason':'crash'}");
    s_leads (kit, "k");
    assert_string_equal (says_text (kit, "route.resume_reason"), "crash");
    s_leads (kit, "m");
    assert_string_equal (says_text (kit, "route.resume_reason"), "restart_interrupted");
    s_leads (kit, "l");
    assert_true (json_is_true (says_get (kit, "route.suspended")));
    assert_null (says_get (kit, "route.resume_at"));
    assert_int_equal (says_write (kit, "route.resume", "{}"), ARGOS_INVALID);
    assert_int_equal (says_write (kit, "route.resume", "{'key':'k','since':0}"), ARGOS_INVALID);
    //  Another session has no marks
    says_write (kit, "route.bind", "{'key':'l','session_id':'c'}");
    s_leads (kit, "l");
    assert_null (says_get (kit, "route.suspended"));
    kit_free (kit);
}

static void
routes_nobody_uses_are_forgotten (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    static const char *const ids[] = { "quiet", "suspended", "working", "talking", "late" };
    for (size_t i = 0; i < 5; i++) {
        if (i == 4)
            kit->now += 1000;
        says_write (kit, "session.create", "{'id':'%s'}", ids[i]);
        says_write (kit, "route.bind", "{'key':'%s','session_id':'%s'}", ids[i], ids[i]);
    }
    says_write (kit, "route.suspend", "{'key':'suspended'}");
    kit_send (kit, "w", "turn", "working", NULL, NULL);
    says_turn (kit, "talking", "session.append",
        "{'session_id':'talking','messages':[{'role':'user','content':'hello'}]}");
    assert_int_equal (
        says_write (kit, "route.prune", "{'before':%lld}", (long long) kit->now), ARGOS_OK);
    for (size_t i = 0; i < 5; i++)
        assert_string_equal (s_leads (kit, ids[i]), i == 0 ? "" : ids[i]);
    says_read (kit, "session.get", "{'id':'quiet'}");
    assert_string_equal (says_text (kit, "session.id"), "quiet");
    says_read (kit, "route.list", "{'limit':2}");
    assert_int_equal (json_array_size (says_get (kit, "routes")), 2);
    assert_string_equal (says_text (kit, "next"), "suspended");
    says_read (kit, "route.list", "{'limit':2,'after':'suspended'}");
    assert_null (says_get (kit, "next"));
    kit_free (kit);
}

//  What was decided on a route that is gone does not hold for one of the same name.

static void
a_version_never_comes_again (void **state)
{
    (void) state;
    kit_t *kit = s_kit ();
    for (int i = 0; i < 4; i++)
        says_write (kit, "route.bind", "{'key':'k','session_id':'%s'}", i % 2 ? "a" : "b");
    s_leads (kit, "k");
    int64_t version = says_number (kit, "route.version");
    says_write (kit, "route.prune", "{'before':%lld}", (long long) kit->now + 1);
    assert_string_equal (s_leads (kit, "k"), "");
    says_write (kit, "route.bind", "{'key':'k','session_id':'b'}");
    s_leads (kit, "k");
    assert_true (says_number (kit, "route.version") > version);
    assert_int_equal (
        says_write (kit, "expect", "{'row':'route','key':'k','version':%lld}", (long long) version),
        ARGOS_CONFLICT);
    kit_free (kit);
}

static void
a_route_knows_where_its_session_goes_on (void **state)
{
    (void) state;
    kit_t *kit = s_kit ();
    s_leads (kit, "k");
    assert_null (says_get (kit, "route.tip"));
    says_write (kit, "session.create", "{'id':'a2','parent':'a','kind':'compression'}");
    says_write (kit, "session.create", "{'id':'a3','parent':'a2','kind':'compression'}");
    s_leads (kit, "k");
    assert_string_equal (says_text (kit, "route.tip"), "a3");
    kit_free (kit);
}

static void
a_route_says_whether_anything_goes_on (void **state)
{
    (void) state;
    kit_t *kit = s_kit ();
    s_leads (kit, "none");
    assert_null (says_get (kit, "idle"));
    s_leads (kit, "k");
    assert_true (json_is_true (says_get (kit, "idle")));
    assert_null (says_get (kit, "tasks"));
    int64_t seq = kit_send (kit, "m", "turn", "a", NULL, NULL);
    s_leads (kit, "k");
    assert_null (says_get (kit, "idle"));
    kit_done (kit, HOLDER, seq, kit_lease (kit, seq, HOLDER), 1, 0);
    s_leads (kit, "k");
    assert_true (json_is_true (says_get (kit, "idle")));
    assert_int_equal (says_write (kit, "run.create",
                          "{'run_id':'" RUN "','owner':'ann','kind':'background','origin':'k'}"),
        ARGOS_OK);
    s_leads (kit, "k");
    assert_true (json_is_true (says_get (kit, "tasks")));
    assert_int_equal (
        says_write (kit, "run.finish", "{'run_id':'" RUN "','state':'completed','output':'x'}"),
        ARGOS_OK);
    s_leads (kit, "k");
    assert_null (says_get (kit, "tasks"));
    kit_free (kit);
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (a_route_leads_only_to_what_is_there),
        cmocka_unit_test (a_switch_ends_the_one_and_reopens_the_other),
        cmocka_unit_test (a_reset_begins_anew_for_the_same_people),
        cmocka_unit_test (a_session_with_work_is_ended_by_its_lane),
        cmocka_unit_test (two_routes_to_one_session_share_its_lane),
        cmocka_unit_test (marks_of_a_restart),
        cmocka_unit_test (routes_nobody_uses_are_forgotten),
        cmocka_unit_test (a_version_never_comes_again),
        cmocka_unit_test (a_route_knows_where_its_session_goes_on),
        cmocka_unit_test (a_route_says_whether_anything_goes_on),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
