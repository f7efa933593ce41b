//  test_store_titles - titles of sessions and their lineages.

#include "store_says.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

//  A member of a session, a text.

static const char *
s_of (kit_t *kit, const char *id, const char *name)
{
    char path[64];
    says_read (kit, "session.get", "{'id':'%s'}", id);
    snprintf (path, sizeof path, "session.%s", name);
    return says_text (kit, path);
}

static const char *
s_found (kit_t *kit, const char *text, const char *owner)
{
    says_read (kit, "session.resolve", *owner ? "{'text':'%s','owner':'%s'}" : "{'text':'%s'}",
        text, owner);
    return says_text (kit, "session_id");
}

//  A member of the second session of an answer, a text.

static const char *
s_second (kit_t *kit, const char *name)
{
    return json_string_value (
        json_object_get (json_array_get (says_get (kit, "sessions"), 1), name));
}

static void
titles_are_cleaned_and_unique (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    char longest[512] = "";
    says_write (kit, "session.create", "{'id':'a'}");
    says_write (kit, "session.create", "{'id':'b'}");
    static const struct {
        const char *title; //  As given
        const char *clean; //  As stored
    } cases[] = { { "  two \\n words\\t", "two words" }, { "a\\u200bb\\u202ec", "abc" },
        { "50% _off_ #1", "50% _off_ #1" },
        { "\xe6\x97\xa5\xe6\x9c\xac \xf0\x9f\x98\x80",
            "\xe6\x97\xa5\xe6\x9c\xac \xf0\x9f\x98\x80" },
        { "\\u0001\\u007f", "" }, { "", "" } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal (
            says_write (kit, "session.rename", "{'id':'a','title':'%s'}", cases[i].title),
            ARGOS_OK);
        assert_string_equal (s_of (kit, "a", "title"), cases[i].clean);
    }
    for (size_t i = 0; i < 100; i++)
        memcpy (longest + 2 * i, "\xc3\xa9", 3);
    assert_int_equal (says_write (kit, "session.rename", "{'id':'a','title':'%s'}", longest), 0);
    assert_string_equal (s_of (kit, "a", "title"), longest);
    assert_int_equal (
        says_write (kit, "session.rename", "{'id':'a','title':'%sx'}", longest), ARGOS_INVALID);
    assert_non_null (strstr (kit->ans->reason, "101"));
    says_write (kit, "session.rename", "{'id':'a','title':'mine'}");
    assert_int_equal (says_write (kit, "session.rename", "{'id':'a','title':'mine'}"), ARGOS_OK);
    assert_int_equal (
        says_write (kit, "session.rename", "{'id':'b','title':'mine'}"), ARGOS_CONFLICT);
    assert_non_null (strstr (kit->ans->reason, "session a"));
    assert_int_equal (
        says_write (kit, "session.rename", "{'id':'a','title':'auto','auto':true}"), ARGOS_OK);
    assert_string_equal (s_of (kit, "a", "title"), "mine");
    assert_int_equal (
        says_write (kit, "session.rename", "{'id':'none','title':'x'}"), ARGOS_NOT_FOUND);
    assert_int_equal (kit_number (kit, "SELECT count (*) FROM sessions"), 2);
    kit_free (kit);
}

static void
a_title_moves_to_the_continuation_and_only_to_it (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    says_write (kit, "session.create", "{'id':'a','title':'Plan'}");
    says_write (kit, "session.create", "{'id':'b','parent':'a','kind':'compression'}");
    says_write (kit, "session.create", "{'id':'c','parent':'b','kind':'compression'}");
    says_write (kit, "session.create", "{'id':'d','parent':'c','kind':'branch'}");
    assert_int_equal (
        says_write (kit, "session.rename", "{'id':'d','title':'Plan'}"), ARGOS_CONFLICT);
    assert_int_equal (says_write (kit, "session.rename", "{'id':'c','title':'Plan'}"), ARGOS_OK);
    assert_string_equal (s_of (kit, "c", "title"), "Plan");
    assert_string_equal (s_of (kit, "a", "title"), "");
    //  Also when it is made with it
    assert_int_equal (says_write (kit, "session.create",
                          "{'id':'e','parent':'c','kind':'branch','title':'Plan'}"),
        ARGOS_CONFLICT);
    assert_int_equal (says_write (kit, "session.create",
                          "{'id':'e','parent':'c','kind':'compression','title':'Plan'}"),
        ARGOS_OK);
    assert_string_equal (s_of (kit, "e", "title"), "Plan");
    assert_string_equal (s_of (kit, "c", "title"), "");
    says_write (kit, "session.delete", "{'id':'e'}");
    says_read (kit, "session.lineage", "{'id':'a'}");
    assert_string_equal (says_text (kit, "tip"), "c");
    says_read (kit, "session.lineage", "{'id':'d'}");
    assert_string_equal (says_text (kit, "root"), "a");
    assert_int_equal (json_array_size (says_get (kit, "ancestors")), 3);
    //  What was continued is shown by what continues it
    says_read (kit, "session.list", "{}");
    assert_int_equal (json_array_size (says_get (kit, "sessions")), 2);
    says_read (kit, "session.list", "{'all':true}");
    assert_int_equal (json_array_size (says_get (kit, "sessions")), 4);
    says_write (kit, "session.delete", "{'id':'c'}");
    says_read (kit, "session.list", "{}");
    assert_int_equal (json_array_size (says_get (kit, "sessions")), 2);
    assert_string_equal (s_second (kit, "id"), "b");
    assert_string_equal (s_second (kit, "root"), "a");
    assert_string_equal (s_of (kit, "d", "kind"), "root");
    kit_free (kit);
}

static void
numbers_of_a_lineage_go_on_from_the_greatest (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    const char *const taken[] = { "t", "t #2", "t #7", "t #x", "tt #90", "t% #80", "t #7 #9" };
    for (int i = 0; i < 7; i++)
        says_write (kit, "session.create", "{'id':'s%d','title':'%s'}", i, taken[i]);
    static const struct {
        const char *wish; //  Given
        const char *next; //  Expected
    } cases[] = { { "t", "t #8" }, { "t #2", "t #8" }, { "new", "new" }, { "new #4", "new" },
        { "t%", "t% #81" }, { "t #x", "t #x #2" }, { "#1", "#1" } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        says_read (kit, "session.title", "{'title':'%s'}", cases[i].wish);
        assert_string_equal (says_text (kit, "title"), cases[i].next);
    }
    //  The base is cut, or the number is no longer taken for one: each still has its own
    char longest[101];
    memset (longest, 'y', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    says_write (kit, "session.create", "{'id':'l','title':'%s'}", longest);
    says_write (kit, "session.create", "{'id':'m','title':'u #999998'}");
    for (int i = 0; i < 12; i++) {
        assert_int_equal (
            says_write (kit, "session.branch", "{'id':'l%d','from':'l'}", i), ARGOS_OK);
        assert_int_equal (
            says_write (kit, "session.branch", "{'id':'m%d','from':'m'}", i), ARGOS_OK);
    }
    memcpy (longest + 96, " #13", 5);
    assert_string_equal (s_of (kit, "l11", "title"), longest);
    assert_string_equal (s_of (kit, "m11", "title"), "u #1000010");
    kit->now -= 1000000; //  The clock goes back
    says_write (kit, "session.create", "{'id':'late','title':'t #3'}");
    assert_string_equal (s_found (kit, "t", ""), "s6");
    assert_string_equal (s_found (kit, "t%", ""), "s5");
    assert_string_equal (s_found (kit, "s", ""), "");
    assert_true (json_is_true (says_get (kit, "ambiguous")));
    assert_string_equal (s_found (kit, "la", ""), "late");
    kit_free (kit);
}

//  Seeded: whatever the order of makings, renamings and deletions, titles stay unique, a lineage
//  ends, and what is continued is what has a continuation.

static void
lineages_and_titles_stay_whole (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    static const char *const kinds[] = { "branch", "compression", "delegate" };
    unsigned seed = 7;
    for (int i = 0; i < 300; i++) {
        int what = rand_r (&seed) % 8, a = rand_r (&seed) % 24, b = rand_r (&seed) % 24;
        kit->now += rand_r (&seed) % 200 - 100;
        if (what < 3)
            says_write (kit, "session.create", "{'id':'s%d','parent':'s%d','kind':'%s'}", a, b,
                kinds[what]);
        else if (what == 3)
            says_write (kit, "session.create", "{'id':'s%d','title':'t %% #%d'}", a, b % 4);
        else if (what == 4)
            says_write (kit, "session.delete", "{'id':'s%d'}", a);
        else if (what == 5)
            says_write (kit, "session.branch", "{'id':'s%d','from':'s%d'}", a, b);
        else
            says_write (kit, "session.rename", "{'id':'s%d','title':'t %% #%d'}", a, b % 4);
        if (says_read (kit, "session.lineage", "{'id':'s%d'}", a) == ARGOS_OK)
            assert_true (json_array_size (says_get (kit, "ancestors")) < 24);
        assert_int_equal (
            kit_number (kit, "SELECT count (title) - count (DISTINCT title) FROM sessions"), 0);
        assert_int_equal (
            kit_number (kit, "SELECT count (*) FROM sessions s WHERE continued <> EXISTS (SELECT 1"
                             " FROM sessions c WHERE c.parent = s.id AND c.kind = 'compression')"),
            0);
        assert_int_equal (
            kit_number (kit, "SELECT count (*) FROM sessions s WHERE parent IS NOT NULL AND NOT"
                             " EXISTS (SELECT 1 FROM sessions p WHERE p.id = s.parent)"),
            0);
    }
    kit_free (kit);
}

static void
a_lineage_of_a_hundred_steps_is_followed (void **state)
{
    (void) state;
    kit_t *kit = kit_new (false);
    says_write (kit, "session.create", "{'id':'s0','title':'deep'}");
    for (int i = 1; i <= 100; i++)
        says_write (
            kit, "session.create", "{'id':'s%d','parent':'s%d','kind':'compression'}", i, i - 1);
    says_read (kit, "session.lineage", "{'id':'s100'}");
    assert_string_equal (says_text (kit, "root"), "s0");
    says_read (kit, "session.lineage", "{'id':'s0'}");
    assert_string_equal (says_text (kit, "tip"), "s100");
    assert_int_equal (says_write (kit, "session.rename", "{'id':'s100','title':'deep'}"), ARGOS_OK);
    //  A cycle can't come about, but a file may have been written by others: nothing hangs
    kit_number (kit, "UPDATE sessions SET parent = 's100', kind = 'compression' WHERE id = 's0'");
    assert_int_equal (says_read (kit, "session.lineage", "{'id':'s50'}"), ARGOS_OK);
    assert_int_equal (says_read (kit, "session.list", "{}"), ARGOS_OK);
    kit_free (kit);
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (titles_are_cleaned_and_unique),
        cmocka_unit_test (a_title_moves_to_the_continuation_and_only_to_it),
        cmocka_unit_test (numbers_of_a_lineage_go_on_from_the_greatest),
        cmocka_unit_test (lineages_and_titles_stay_whole),
        cmocka_unit_test (a_lineage_of_a_hundred_steps_is_followed),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
