//  Handoff: where a session goes, what is committed, what becomes of it.

#include "argos_handoff.h"
#include "argos_header.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static json_t *
s_json (const char *text)
{
    char quoted[4096];
    snprintf (quoted, sizeof quoted, "%s", text);
    for (char *c = quoted; *c; c++)
        if (*c == '\'')
            *c = '"';
    json_t *json = json_loads (quoted, 0, NULL);
    assert_non_null (json);
    return json;
}

static const char *
s_text (const json_t *object, const char *name)
{
    const char *text = json_string_value (json_object_get (object, name));
    return text ? text : "";
}

#define HOME(source) "{'value':{'source':" source "}}"

static const struct {
    const char *row, *home, *settings; //  Facts
    const char *chat, *thread;         //  of the place; "" = there is no home
} s_places[] = {
    { "{'platform':'slack'}", HOME ("{'platform':'slack','account':'a','chat_id':'C1'}"), "{}",
        "C1", "" },
    { "{'platform':'slack'}", HOME ("{'platform':'slack','chat_id':'C1'}"),
        "{'platforms':{'slack':{'home_channel':{'chat_id':'C2'}}}}", "C2", "" },
    { "{'platform':'slack'}", "{}",
        "{'platforms':{'slack':{'home_channel':{'chat_id':-100,'thread_id':7}}}}", "-100", "7" },
    { "{'platform':'slack','target':'C9'}", HOME ("{'platform':'slack','chat_id':'C1'}"), "{}",
        "C9", "" },
    { "{'platform':'slack'}", "{}", "{}", "", "" },
};

static void
the_place_is_the_target_the_home_or_the_setting (void **state)
{
    (void) state;
    for (size_t i = 0; i < sizeof s_places / sizeof *s_places; i++) {
        char reason[ARGOS_HANDOFF_TEXT_SIZE] = "";
        json_t *row = s_json (s_places[i].row), *home = s_json (s_places[i].home),
               *settings = s_json (s_places[i].settings);
        const argos_handoff_case_t facts = { .row = row, .home = home, .settings = settings };
        json_t *place = argos_handoff_place (&facts, reason);
        assert_string_equal (s_text (place, "chat_id"), s_places[i].chat);
        assert_string_equal (s_text (place, "thread_id"), s_places[i].thread);
        assert_int_equal (*reason != 0, place == NULL);
        json_decref (place);
        json_decref (row);
        json_decref (home);
        json_decref (settings);
    }
}

static void
the_account_is_one_whose_adapter_is_here (void **state)
{
    char account[ARGOS_NAME_MAX + 1];
    (void) state;
    json_t *status =
        s_json ("{'services':[{'name':'deliver.slack.b','workers':1},{'name':"
                "'deliver.slack.a','workers':2},{'name':'deliver.slack.c','workers':0},"
                "{'name':'deliver.slacker.d','workers':1}]}");
    json_t *any = s_json ("{'platform':'slack'}"),
           *gone = s_json ("{'platform':'slack','account':'c'}"),
           *other = s_json ("{'platform':'irc'}"),
           *own = s_json ("{'platform':'slack','account':'b'}");
    const argos_handoff_case_t facts = { .status = status };
    assert_true (argos_handoff_account (&facts, any, account));
    assert_string_equal (account, "a");
    assert_true (argos_handoff_account (&facts, own, account));
    assert_string_equal (account, "b");
    assert_false (argos_handoff_account (&facts, gone, account));
    assert_false (argos_handoff_account (&facts, other, account));
    json_decref (status);
    json_decref (any);
    json_decref (gone);
    json_decref (other);
    json_decref (own);
}

//  The key of what is synthetic is the key of the first message of a person there.

static const struct {
    const char *place, *chat, *thread; //  Home, chat.info, thread.create; "{}" = none
    const char *person;                //  Source of that message
} s_keys[] = {
    { "{'platform':'telegram','account':'m','chat_id':'-100','chat_type':'group','user_id':'7'}",
        "{}", "{'thread_id':'5'}",
        "{'platform':'telegram','account':'m','chat_id':'-100','chat_type':'thread','thread_id':'5'"
        ",'user_id':'9'}" },
    { "{'platform':'telegram','account':'m','chat_id':'7','chat_type':'dm','user_id':'7'}", "{}",
        "{}",
        "{'platform':'telegram','account':'m','chat_id':'7','chat_type':'dm','user_id':'7'}" },
    { "{'platform':'telegram','account':'m','chat_id':'7','chat_type':'dm','user_id':'7'}", "{}",
        "{'thread_id':'5','source':{'chat_type':'dm','thread_id':'5'}}",
        "{'platform':'telegram','account':'m','chat_id':'7','chat_type':'dm','thread_id':'5','user_"
        "id':'7'}" },
    { "{'platform':'discord','account':'m','chat_id':'1','chat_type':'group'}", "{}",
        "{'thread_id':'99','source':{'chat_id':'99','thread_id':'99','parent_chat_id':'1'}}",
        "{'platform':'discord','account':'m','chat_id':'99','chat_type':'thread','thread_id':'99','"
        "parent_chat_id':"
        "'1','user_id':'u'}" },
    { "{'platform':'slack','account':'m','chat_id':'C1','chat_type':'group','scope_id':'T1'}", "{}",
        "{'thread_id':'17.1','source':{'chat_type':'group','scope_id':'T1','user_id':'u'}}",
        "{'platform':'slack','account':'m','chat_id':'C1','chat_type':'group','scope_id':'T1','"
        "thread_id':'17.1',"
        "'user_id':'u'}" },
    { "{'platform':'telegram','account':'m','chat_id':'-1'}",
        "{'chat_type':'forum','thread_id':'1'}", "{}",
        "{'platform':'telegram','account':'m','chat_id':'-1','chat_type':'forum','thread_id':'1','"
        "user_id':'9'}" },
    { "{'platform':'slack','account':'m','chat_id':'C1'}", "{'chat_type':'channel'}", "{}",
        "{'platform':'slack','account':'m','chat_id':'C1','chat_type':'channel'}" },
    { "{'platform':'irc','account':'m','chat_id':'nick'}", "{}", "{}",
        "{'platform':'irc','account':'m','chat_id':'nick','chat_type':'dm','user_id':'nick'}" },
};

static void
the_key_is_that_of_the_next_message (void **state)
{
    argos_route_policy_t policy;
    (void) state;
    argos_route_policy_init (&policy);
    for (size_t i = 0; i < sizeof s_keys / sizeof *s_keys; i++) {
        char key[ARGOS_ROUTE_KEY_MAX + 1], other[ARGOS_ROUTE_KEY_MAX + 1];
        json_t *place = s_json (s_keys[i].place), *chat = s_json (s_keys[i].chat),
               *thread = s_json (s_keys[i].thread), *person = s_json (s_keys[i].person);
        const argos_handoff_case_t facts = { .chat = chat, .thread = thread };
        json_t *source = argos_handoff_source (&facts, place);
        argos_route_key (source, &policy, key, sizeof key);
        argos_route_key (person, &policy, other, sizeof other);
        assert_string_equal (key, other);
        json_decref (source);
        json_decref (place);
        json_decref (chat);
        json_decref (thread);
        json_decref (person);
    }
}

static const struct {
    const char *source;           //  Of the destination
    bool per_user_in_thread, can; //  The policy; expected
} s_reached[] = {
    { "{'chat_type':'dm','chat_id':'7'}", false, true },
    { "{'chat_type':'group','chat_id':'7'}", false, false },
    { "{'chat_type':'group','chat_id':'7','user_id':'9'}", false, true },
    { "{'chat_type':'thread','chat_id':'7','thread_id':'1'}", false, true },
    { "{'chat_type':'thread','chat_id':'7','thread_id':'1'}", true, false },
    { "{'chat_type':'thread','chat_id':'7','thread_id':'1','user_id_alt':'9'}", true, true },
    { "{'chat_type':'forum','chat_id':'7'}", false, false },
    { "{'chat_type':'channel','chat_id':'7'}", false, true },
};

static void
somebody_has_to_be_able_to_go_on (void **state)
{
    argos_route_policy_t policy;
    (void) state;
    argos_route_policy_init (&policy);
    const argos_handoff_case_t facts = { .no_thread = "no rights", .policy = &policy };
    for (size_t i = 0; i < sizeof s_reached / sizeof *s_reached; i++) {
        char reason[ARGOS_HANDOFF_TEXT_SIZE] = "";
        json_t *source = s_json (s_reached[i].source);
        policy.per_user_in_thread = s_reached[i].per_user_in_thread;
        assert_int_equal (argos_handoff_reachable (&facts, source, reason), s_reached[i].can);
        assert_int_equal (strstr (reason, "no rights") != NULL, !s_reached[i].can);
        json_decref (source);
    }
}

static void
a_name_is_one_line_of_bounded_length (void **state)
{
    char name[ARGOS_HANDOFF_NAME_SIZE], title[1300] = "";
    (void) state;
    for (size_t i = 0; i < 300; i++)
        memcpy (title + 4 * i, "\xf0\x9f\x99\x82", 5);
    json_t *session = json_pack ("{s:s, s:s}", "id", "20260101_120000_abcd", "title", title);
    const argos_handoff_case_t facts = { .session = session };
    argos_handoff_name (&facts, name);
    json_t *checked = json_string (name); //  Not cut within a character
    assert_non_null (checked);
    json_decref (checked);
    assert_true (strlen (name) > 200);
    json_object_set_new (session, "title", json_string ("two\nlines\x7f"));
    argos_handoff_name (&facts, name);
    assert_string_equal (name, "Argos — two lines ");
    json_object_del (session, "title");
    argos_handoff_name (&facts, name);
    assert_string_equal (name, "Argos — 20260101");
    json_decref (session);
}

static const json_t *
s_find (const json_t *parts, const char *type, size_t skip)
{
    size_t index;
    json_t *part;
    json_array_foreach (parts, index, part)
        if (strcmp (s_text (part, "type"), type) == 0 && skip-- == 0)
            return json_object_get (part, "body");
    return NULL;
}

static void
one_commit_moves_everything (void **state)
{
    argos_route_policy_t policy;
    (void) state;
    argos_route_policy_init (&policy);
    json_t
        *row = s_json ("{'id':3,'epoch':1,'session_id':'s','platform':'test'}"),
        *session = s_json ("{'id':'s','title':'Plan','ended_at':7}"),
        *route = s_json ("{'route':{'key':'k','session_id':'old','version':4}}"),
        *routes = s_json (
            "{'routes':[{'key':'agent:main:local:dm:main','source':{'platform':'local','account':"
            "'main','chat_type':'dm','chat_id':'main'}},{'key':'agent:main:test:dm:9'},{'key':'x',"
            "'suspended':true}]}"),
        *source = s_json ("{'platform':'test','account':'m','chat_type':'dm','chat_id':'9'}");
    argos_handoff_case_t facts = {
        .row = row, .session = session, .route = route, .routes = routes, .policy = &policy
    };
    json_t *parts = argos_handoff_parts (&facts, source);
    assert_int_equal (
        json_integer_value (json_object_get (s_find (parts, "expect", 0), "version")), 4);
    assert_string_equal (s_text (s_find (parts, "expect", 1), "key"), "s");
    assert_string_equal (s_text (s_find (parts, "expect", 2), "key"), "old");
    assert_non_null (s_find (parts, "session.reopen", 0));
    assert_string_equal (
        s_text (s_find (parts, "handoff.complete", 0), "key"), "agent:main:test:dm:9");
    assert_string_equal (
        s_text (s_find (parts, "route.suspend", 0), "key"), "agent:main:local:dm:main");
    assert_string_equal (s_text (s_find (parts, "route.suspend", 0), "reason"), "handoff:test");
    assert_null (
        s_find (parts, "route.suspend", 1)); //  Not itself, and none that leads nowhere already
    const json_t *turn = s_find (parts, "turn.request", 0),
                 *check = s_find (parts, "handoff.check", 0);
    assert_string_equal (s_text (turn, "session_id"), "s");
    assert_string_equal (s_text (turn, "deliver"), "deliver.test.m");
    assert_non_null (strstr (s_text (turn, "text"), "\"Plan\""));
    assert_string_equal (s_text (check, "run_id"), s_text (turn, "run_id"));
    assert_string_equal (s_text (s_find (parts, "deliver.request", 0), "kind"), "notice");
    //  And back
    json_t *undo = argos_handoff_undo (check, "no rights");
    const json_t *states = json_object_get (s_find (undo, "handoff.fail", 0), "states");
    assert_string_equal (json_string_value (json_array_get (states, 0)), "completed");
    assert_true (json_is_false (json_object_get (s_find (undo, "route.suspend", 0), "on")));
    assert_non_null (strstr (s_text (s_find (undo, "deliver.request", 0), "text"), "no rights"));
    json_decref (undo);
    json_decref (parts);
    //  With a thread nothing has to be explained; the same row makes the same ids
    json_t *thread = s_json ("{'thread_id':'5'}");
    facts.thread = thread;
    parts = argos_handoff_parts (&facts, source);
    assert_null (s_find (parts, "deliver.request", 0));
    json_decref (parts);
    json_decref (thread);
    json_decref (row);
    json_decref (session);
    json_decref (route);
    json_decref (routes);
    json_decref (source);
}

static const struct {
    const char *run, *delivery;      //  As the store says
    argos_handoff_verdict_t verdict; //  Expected
} s_outcomes[] = {
    { "{'state':'queued'}", "{}", ARGOS_HANDOFF_WAIT },
    { "{'state':'running'}", "{'state':'refused'}", ARGOS_HANDOFF_WAIT },
    { "{'state':'completed'}", "{}", ARGOS_HANDOFF_WAIT },
    { "{'state':'completed'}", "{'state':'waiting'}", ARGOS_HANDOFF_WAIT },
    { "{'state':'completed'}", "{'state':'sent'}", ARGOS_HANDOFF_GOOD },
    { "{'state':'completed'}", "{'state':'unknown'}", ARGOS_HANDOFF_GOOD }, //  Perhaps it is there
    { "{'state':'completed'}", "{'state':'refused','error':'forbidden'}", ARGOS_HANDOFF_BAD },
    { "{'state':'failed','error':'no key'}", "{'state':'sent'}", ARGOS_HANDOFF_BAD },
    { "{'state':'cancelled'}", "{}", ARGOS_HANDOFF_BAD },
    { "{}", "{}", ARGOS_HANDOFF_WAIT },
};

static void
what_has_become_of_it (void **state)
{
    (void) state;
    for (size_t i = 0; i < sizeof s_outcomes / sizeof *s_outcomes; i++) {
        char reason[ARGOS_HANDOFF_TEXT_SIZE];
        json_t *run = s_json (s_outcomes[i].run), *delivery = s_json (s_outcomes[i].delivery);
        assert_int_equal (argos_handoff_outcome (run, delivery, reason), s_outcomes[i].verdict);
        assert_int_equal (*reason != 0, s_outcomes[i].verdict == ARGOS_HANDOFF_BAD);
        json_decref (run);
        json_decref (delivery);
    }
    assert_int_equal (argos_handoff_patience (0), 250);
    assert_int_equal (argos_handoff_patience (8000), 2000);
    assert_int_equal (argos_handoff_patience (86400000), 30000);
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (the_place_is_the_target_the_home_or_the_setting),
        cmocka_unit_test (the_account_is_one_whose_adapter_is_here),
        cmocka_unit_test (the_key_is_that_of_the_next_message),
        cmocka_unit_test (somebody_has_to_be_able_to_go_on),
        cmocka_unit_test (a_name_is_one_line_of_bounded_length),
        cmocka_unit_test (one_commit_moves_everything),
        cmocka_unit_test (what_has_become_of_it),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
