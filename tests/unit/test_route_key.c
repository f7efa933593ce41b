//  Session keys: every row of the table, the rules between them, and that different sources never
//  meet.

#include "argos_route_key.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

typedef struct {
    const char *source;  //  JSON
    const char *key;     //  Expected
    const char *profile; //  NULL = main
    bool shared_group;   //  per_user off
    bool private_thread; //  per_user_in_thread on
} row_t;

static const row_t s_rows[] = {
    { "{'platform':'telegram','chat_type':'dm','chat_id':'12345','user_id':'12345'}",
        "agent:main:telegram:dm:12345", NULL, false, false },
    { "{'platform':'telegram','chat_type':'dm','chat_id':'12345','thread_id':'77'}",
        "agent:main:telegram:dm:12345:77", NULL, false, false },
    { "{'platform':'discord','chat_type':'group','chat_id':'G1','user_id':'U1'}",
        "agent:main:discord:group:G1:U1", NULL, false, false },
    { "{'platform':'discord','chat_type':'group','chat_id':'G1','user_id':'U1'}",
        "agent:main:discord:group:G1", NULL, true, false },
    { "{'platform':'telegram','chat_type':'group','chat_id':'-100123','thread_id':'17585',"
      "'user_id':'U1'}",
        "agent:main:telegram:group:-100123:17585", NULL, false, false },
    { "{'platform':'telegram','chat_type':'group','chat_id':'-100123','thread_id':'17585',"
      "'user_id':'U1'}",
        "agent:main:telegram:group:-100123:17585:U1", NULL, false, true },
    { "{'platform':'discord','chat_type':'thread','chat_id':'T9','thread_id':'T9','user_id':'U1'}",
        "agent:main:discord:thread:T9:T9", NULL, false, false },
    { "{'platform':'webhook','chat_type':'webhook','chat_id':'webhook:ci:42',"
      "'user_id':'webhook:ci'}",
        "agent:main:webhook:webhook:webhook:ci:42:webhook:ci", NULL, false, false },
    { "{'platform':'slack','chat_type':'group','chat_id':'C1','user_id':'U1'}",
        "agent:work:slack:group:C1:U1", "work", false, false },
    //  Direct messages without a chat id, down to nothing at all
    { "{'platform':'signal','chat_type':'dm','user_id':'+49','user_id_alt':'uuid'}",
        "agent:main:signal:dm:uuid", NULL, false, false },
    { "{'platform':'signal','chat_type':'dm','user_id':'+49','thread_id':'t'}",
        "agent:main:signal:dm:+49:t", NULL, false, false },
    { "{'platform':'signal','chat_type':'dm','thread_id':'t'}", "agent:main:signal:dm:t", NULL,
        false, false },
    { "{'platform':'signal','chat_type':'dm'}", "agent:main:signal:dm", NULL, false, false },
    { "{'platform':'signal'}", "agent:main:signal:dm", NULL, false, false },
    //  The stable id wins in groups too; absent members leave no trace
    { "{'platform':'feishu','chat_type':'group','chat_id':'C','user_id':'u','user_id_alt':'union'}",
        "agent:main:feishu:group:C:union", NULL, false, false },
    { "{'platform':'my_own_platform_9','chat_type':'dm','chat_id':'webhook:a:b','user_id':"
      "'webhook:a'}",
        "agent:main:my_own_platform_9:dm:webhook%3Aa%3Ab", NULL, true, false },
    { "{'platform':'irc','chat_type':'channel','chat_id':'#argos'}",
        "agent:main:irc:channel:#argos", NULL, false, false },
    //  Ids with the separator
    { "{'platform':'matrix','chat_type':'group','chat_id':'!r:example.org',"
      "'user_id':'@u:example.org'}",
        "agent:main:matrix:group:!r%3Aexample.org:@u%3Aexample.org", NULL, false, false },
    { "{'platform':'matrix','chat_type':'dm','chat_id':'100%3A'}", "agent:main:matrix:dm:100%253A",
        NULL, false, false },
    { "{'platform':'webhook','chat_type':'webhook','chat_id':'webhook:ci:4:2','user_id':'webhook:"
      "ci'}",
        "agent:main:webhook:webhook:webhook:ci:4%3A2:webhook:ci", NULL, false, false },
    { "{'platform':'webhook','chat_type':'webhook','chat_id':'webhook:ci:42','user_id':'someone'}",
        "agent:main:webhook:webhook:webhook%3Aci%3A42:someone", NULL, false, false },
};

static json_t *
s_source (const char *text)
{
    char quoted[2048];
    snprintf (quoted, sizeof quoted, "%s", text);
    for (char *c = quoted; *c; c++)
        if (*c == '\'')
            *c = '"';
    json_t *source = json_loads (quoted, 0, NULL);
    assert_non_null (source);
    return source;
}

static void
s_key (const row_t *row, char *target)
{
    argos_route_policy_t policy;
    argos_route_policy_init (&policy);
    policy.profile = row->profile;
    policy.per_user = !row->shared_group;
    policy.per_user_in_thread = row->private_thread;
    json_t *source = s_source (row->source);
    assert_int_equal (argos_route_key (source, &policy, target, ARGOS_ROUTE_KEY_MAX + 1), 0);
    json_decref (source);
}

static void
every_row_of_the_table_has_its_key (void **state)
{
    (void) state;
    for (size_t i = 0; i < sizeof s_rows / sizeof *s_rows; i++) {
        char key[ARGOS_ROUTE_KEY_MAX + 1];
        s_key (&s_rows[i], key);
        assert_string_equal (key, s_rows[i].key);
    }
}

static void
an_id_with_the_separator_never_looks_like_two (void **state)
{
    (void) state;
    static const char *const pairs[][2] = {
        { "{'platform':'x','chat_type':'group','chat_id':'a:b','user_id':'c'}",
            "{'platform':'x','chat_type':'group','chat_id':'a','user_id':'b:c'}" },
        { "{'platform':'x','chat_type':'dm','chat_id':'a:b'}",
            "{'platform':'x','chat_type':'dm','chat_id':'a','thread_id':'b'}" },
        { "{'platform':'x','chat_type':'dm','chat_id':'a%3Ab'}",
            "{'platform':'x','chat_type':'dm','chat_id':'a:b'}" },
        { "{'platform':'webhook','chat_type':'webhook','chat_id':'webhook:a:b:c',"
          "'user_id':'webhook:a'}",
            "{'platform':'webhook','chat_type':'webhook','chat_id':'webhook:a:b:c',"
            "'user_id':'webhook:a:b'}" },
        { "{'platform':'webhook','chat_type':'webhook','chat_id':'webhook:a:b','user_id':'webhook:"
          "a'}",
            "{'platform':'webhook','chat_type':'webhook','chat_id':'webhook:a','thread_id':'b',"
            "'user_id':'webhook:a'}" },
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        char first[ARGOS_ROUTE_KEY_MAX + 1], second[ARGOS_ROUTE_KEY_MAX + 1];
        s_key (&(row_t){ .source = pairs[i][0] }, first);
        s_key (&(row_t){ .source = pairs[i][1] }, second);
        assert_string_not_equal (first, second);
    }
}

static void
long_ids_are_folded_and_stay_different (void **state)
{
    (void) state;
    char id[256], first[ARGOS_ROUTE_KEY_MAX + 1], second[ARGOS_ROUTE_KEY_MAX + 1];
    memset (id, ':', sizeof id - 1);
    id[sizeof id - 1] = 0;
    argos_route_policy_t policy;
    argos_route_policy_init (&policy);
    json_t *source = json_pack ("{s:s, s:s, s:s, s:s}", "platform", "x", "chat_type", "group",
        "chat_id", id, "user_id", id);
    assert_int_equal (argos_route_key (source, &policy, first, sizeof first), 0);
    json_object_set_new (source, "user_id", json_string (id + 1));
    assert_int_equal (argos_route_key (source, &policy, second, sizeof second), 0);
    assert_true (strlen (first) <= ARGOS_ROUTE_KEY_MAX);
    assert_string_not_equal (first, second);
    assert_non_null (strstr (first, "%~"));
    assert_int_equal (argos_route_key (source, &policy, second, ARGOS_ROUTE_KEY_MAX), -1);
    json_decref (source);
}

static void
a_source_that_is_no_object_has_no_key (void **state)
{
    (void) state;
    char key[ARGOS_ROUTE_KEY_MAX + 1] = "x";
    argos_route_policy_t policy;
    argos_route_policy_init (&policy);
    assert_int_equal (argos_route_key (NULL, &policy, key, sizeof key), -1);
    assert_string_equal (key, "");
    assert_int_equal (argos_route_lane (NULL, key, sizeof key), -1);
}

static void
the_delivery_lane_is_chat_and_thread (void **state)
{
    (void) state;
    static const char *const rows[][2] = {
        { "{'platform':'x','chat_id':'a:b','thread_id':'t','user_id':'u'}", "a%3Ab:t" },
        { "{'platform':'x','chat_id':'a','user_id':'u'}", "a" },
        { "{'platform':'x','user_id':'u'}", "u" },
        { "{'platform':'x'}", "-" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char lane[ARGOS_ROUTE_KEY_MAX + 1];
        json_t *source = s_source (rows[i][0]);
        assert_int_equal (argos_route_lane (source, lane, sizeof lane), 0);
        assert_string_equal (lane, rows[i][1]);
        json_decref (source);
    }
}

static void
every_row_of_who_shares_a_session (void **state)
{
    (void) state;
    static const struct {
        const char *source;        //  JSON
        bool per_user, per_thread; //  Settings
        bool shared;               //  Expected
    } rows[] = {
        { "{'platform':'x','chat_type':'dm','chat_id':'1'}", true, false, false },
        { "{'platform':'x','chat_type':'dm','chat_id':'1','thread_id':'2'}", false, false, false },
        { "{'platform':'x','chat_id':'1'}", false, false, false },
        { "{'platform':'x','chat_type':'group','chat_id':'1'}", true, false, false },
        { "{'platform':'x','chat_type':'group','chat_id':'1'}", false, false, true },
        { "{'platform':'x','chat_type':'channel','chat_id':'1'}", false, true, true },
        { "{'platform':'x','chat_type':'group','chat_id':'1','thread_id':'2'}", true, false, true },
        { "{'platform':'x','chat_type':'forum','chat_id':'1','thread_id':'2'}", true, true, false },
        { "{'platform':'x','chat_type':'thread','chat_id':'1','thread_id':'1'}", true, false,
            true },
        { "{'platform':'x','chat_type':'thread','chat_id':'1','thread_id':'1'}", true, true,
            false },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        json_t *source = s_source (rows[i].source);
        argos_route_policy_t policy = { .per_user = rows[i].per_user,
            .per_user_in_thread = rows[i].per_thread };
        assert_int_equal (argos_route_is_shared (source, &policy), rows[i].shared);
        json_decref (source);
    }
}

//  No key is a path that leads out of a folder, whatever its ids are.

static void
no_id_makes_a_path_of_a_key (void **state)
{
    (void) state;
    static const char *const ids[] = { "..", "../..", "...", "/etc/passwd", "C:x", "a/../b",
        "c:", "%2E%2E", "spaces/AAA", "." };
    static const char *const types[] = { "dm", "group", "thread" };
    for (size_t i = 0; i < 10 * 10 * 3; i++) {
        char text[512], key[ARGOS_ROUTE_KEY_MAX + 1];
        snprintf (text, sizeof text,
            "{'platform':'x','chat_type':'%s','chat_id':'%s','thread_id':'%s','user_id':'%s'}",
            types[i / 100], ids[i % 10], ids[i / 10 % 10], ids[i % 7]);
        s_key (&(row_t){ .source = text, .private_thread = true }, key);
        assert_null (strstr (key, ".."));
        assert_int_equal (strncmp (key, "agent:main:x:", 13), 0);
    }
    static const char *const pairs[][2] = { { "a..b", "a.%2Eb" }, { "spaces/AAA", "spaces/AAA" },
        { "...", ".%2E%2E" }, { "a.b", "a.b" }, { "a.%2Eb", "a.%252Eb" } };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        char text[128], key[ARGOS_ROUTE_KEY_MAX + 1];
        snprintf (
            text, sizeof text, "{'platform':'x','chat_type':'dm','chat_id':'%s'}", pairs[i][0]);
        s_key (&(row_t){ .source = text }, key);
        assert_string_equal (key + strlen ("agent:main:x:dm:"), pairs[i][1]);
    }
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (every_row_of_the_table_has_its_key),
        cmocka_unit_test (an_id_with_the_separator_never_looks_like_two),
        cmocka_unit_test (long_ids_are_folded_and_stay_different),
        cmocka_unit_test (a_source_that_is_no_object_has_no_key),
        cmocka_unit_test (every_row_of_who_shares_a_session),
        cmocka_unit_test (no_id_makes_a_path_of_a_key),
        cmocka_unit_test (the_delivery_lane_is_chat_and_thread),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
