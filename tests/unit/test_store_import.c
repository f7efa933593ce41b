//  test_store_import - session.import: pieces, repeats, what is left alone, what is put right.

#include "store_says.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static argos_err_t
s_piece (kit_t *kit, const char *id, int first, const char *text)
{
    return says_write (kit, "session.import",
        "{'id':'%s','first':%d,'messages':[{'role':'user','content':'%s','at':%d}]}", id, first,
        text, first + 1);
}

static int64_t
s_messages (kit_t *kit, const char *id)
{
    says_read (kit, "session.load", "{'id':'%s'}", id);
    return (int64_t) json_array_size (says_get (kit, "messages"));
}

static void
nobody_sees_it_until_it_is_whole (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    assert_int_equal (s_piece (kit, "s", 0, "one"), ARGOS_OK);
    assert_int_equal (s_piece (kit, "s", 1, "two"), ARGOS_OK);
    static const char *const lists[] = { "session.list", "{}", "session.list", "{'all':true}",
        "session.search", "{'text':'one'}", "session.search", "{'text':'one','session_id':'s'}" };
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i += 2) {
        says_read (kit, lists[i], "%s", lists[i + 1]);
        assert_int_equal (
            json_array_size (says_get (kit, strstr (lists[i], "list") ? "sessions" : "hits")), 0);
    }
    says_read (kit, "session.get", "{'id':'s'}");
    assert_true (json_is_null (says_get (kit, "session")));
    says_read (kit, "session.stats", "{}");
    assert_int_equal (says_number (kit, "sessions"), 0);
    static const char *const loads[] = { "", ",'inactive':true", ",'last':5" };
    for (size_t i = 0; i < sizeof loads / sizeof *loads; i++)
        assert_int_equal (
            says_read (kit, "session.load", "{'id':'s'%s}", loads[i]), ARGOS_NOT_FOUND);
    assert_int_equal (
        says_write (kit, "session.rename", "{'id':'s','title':'x'}"), ARGOS_NOT_FOUND);
    assert_int_equal (says_write (kit, "session.reopen", "{'id':'s'}"), ARGOS_NOT_FOUND);
    //  What is given up goes
    assert_int_equal (
        says_write (kit, "session.delete", "{'id':'s','owner':'x'}"), ARGOS_NOT_FOUND);
    assert_int_equal (says_write (kit, "session.delete", "{'id':'s'}"), ARGOS_OK);
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM sessions"), 0);
    assert_int_equal (s_piece (kit, "s", 0, "one"), ARGOS_OK);
    assert_int_equal (s_piece (kit, "s", 1, "two"), ARGOS_OK);
    //  After a break the pieces come again
    assert_int_equal (s_piece (kit, "s", 0, "one"), ARGOS_OK);
    assert_int_equal (s_piece (kit, "s", 1, "two"), ARGOS_OK);
    assert_int_equal (
        says_write (kit, "session.import",
            "{'id':'s','first':2,'messages':[{'role':'assistant','content':'three','tool_calls':"
            "[{'id':'c'}],'active':false,'compacted':true,'more':{'x':1}}],'session':{'title':'T',"
            "'started_at':5,'last_activity_at':9,'ended_at':8,'end_reason':'idle','owner':'ann',"
            "'rewind_count':3,'input_tokens':7,'cost_usd':0.5},'usage':[{'model':'m','calls':2}]}"),
        ARGOS_OK);
    says_read (kit, "session.get", "{'id':'s','owner':'ann'}");
    assert_int_equal (says_number (kit, "session.message_count"), 2);
    assert_int_equal (says_number (kit, "session.last_activity_at"), 9);
    assert_int_equal (says_number (kit, "session.started_at"), 5);
    assert_int_equal (says_number (kit, "session.rewind_count"), 3);
    assert_string_equal (says_text (kit, "session.preview"), "one");
    assert_string_equal (says_text (kit, "session.end_reason"), "idle");
    assert_null (says_get (kit, "session.hidden"));
    says_read (kit, "usage.get", "{'id':'s'}");
    assert_int_equal (json_array_size (says_get (kit, "usage")), 1);
    says_read (kit, "session.load", "{'id':'s','inactive':true}");
    json_t *last = json_array_get (says_get (kit, "messages"), 2);
    assert_true (json_is_true (json_object_get (last, "compacted")));
    assert_non_null (json_object_get (json_object_get (last, "more"), "x"));
    says_read (kit, "session.search", "{'text':'three'}");
    assert_int_equal (json_array_size (says_get (kit, "hits")), 1);
    kit_free (kit);
}

static void
what_exists_is_left_alone (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    says_write (kit, "session.create", "{'id':'s','title':'T'}");
    assert_int_equal (s_piece (kit, "s", 0, "one"), ARGOS_CONFLICT);
    assert_int_equal (s_messages (kit, "s"), 0);
    assert_int_equal (
        says_write (kit, "session.import", "{'id':'t','session':{'started_at':1}}"), ARGOS_OK);
    assert_int_equal (says_write (kit, "session.import", "{'id':'t','session':{'started_at':2}}"),
        ARGOS_CONFLICT);
    assert_int_equal (s_piece (kit, "t", 0, "one"), ARGOS_CONFLICT);
    kit_free (kit);
}

static void
parents_and_titles_are_put_right (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    static const struct {
        const char *id, *members; //  As given
        const char *kind, *title; //  As stored
    } cases[] = { { "a", "'title':'Plan'", "root", "Plan" },
        { "b", "'title':'Plan','parent':'a','kind':'compression'", "compression", "Plan #2" },
        { "c", "'title':'  Plan ','parent':'none','kind':'compression'", "root", "Plan #3" },
        { "d", "'parent':'d','kind':'branch'", "root", "" }, { "e", "'parent':'a'", "branch", "" },
        { "f", "'kind':'branch'", "root", "" } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal (
            says_write (kit, "session.import", "{'id':'%s','session':{'started_at':1,%s}}",
                cases[i].id, cases[i].members),
            ARGOS_OK);
        says_read (kit, "session.get", "{'id':'%s'}", cases[i].id);
        assert_string_equal (says_text (kit, "session.kind"), cases[i].kind);
        assert_string_equal (says_text (kit, "session.title"), cases[i].title);
    }
    says_read (kit, "session.get", "{'id':'a'}");
    assert_true (json_is_true (says_get (kit, "session.continued")));
    kit_free (kit);
}

//  A row that does not say when it was last in use: when its newest message is from, and not before
//  it began.

static void
the_newest_message_is_the_last_activity (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    static const struct {
        const char *id;  //  Session
        int first;       //  Place of the second of its messages, which is from first + 1
        const char *row; //  As given
        int64_t last;    //  As stored
    } cases[] = { { "a", 400, "'started_at':5", 401 }, { "b", 400, "'started_at':900", 900 },
        { "c", 400, "'started_at':5,'last_activity_at':77", 77 }, { "d", 0, "'started_at':5", 5 } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (cases[i].first) {
            assert_int_equal (s_piece (kit, cases[i].id, cases[i].first, "newer"), ARGOS_OK);
            assert_int_equal (s_piece (kit, cases[i].id, 0, "older"), ARGOS_OK);
        }
        assert_int_equal (says_write (kit, "session.import", "{'id':'%s','session':{%s}}",
                              cases[i].id, cases[i].row),
            ARGOS_OK);
        says_read (kit, "session.get", "{'id':'%s'}", cases[i].id);
        assert_int_equal (says_number (kit, "session.last_activity_at"), cases[i].last);
    }
    kit_free (kit);
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (nobody_sees_it_until_it_is_whole),
        cmocka_unit_test (what_exists_is_left_alone),
        cmocka_unit_test (parents_and_titles_are_put_right),
        cmocka_unit_test (the_newest_message_is_the_last_activity),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
