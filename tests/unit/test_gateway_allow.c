//  Authorisation: every rule, their order, who is offered a code, and settings that are refused.

#include "argos_allow.h"
#include "gateway_kit.h"

#include <stdio.h>
#include <string.h>

#define AT(block) "{'platforms':{'slack':{" block "}}}"
#define ALL(block) "{'gateway':{" block "}}"
#define FROM(rest) "{'platform':'slack','account':'a','chat_type':'dm','chat_id':'c'" rest "}"
#define GROUP(rest) "{'platform':'slack','account':'a','chat_type':'group','chat_id':'G'" rest "}"
#define ME ",'user_id':'u'"

static const struct {
    const char *config, *source; //  JSON
    bool paired;                 //  The fact
    bool allowed;                //  Expected
    const char *rule;            //  Expected
} s_rows[] = {
    //  1. Doors of their own
    { "{}", "{'platform':'local','chat_type':'dm','user_id':'u'}", false, true, "transport" },
    { "{}", "{'platform':'api_server','chat_type':'dm'}", false, true, "transport" },
    { "{}", "{'platform':'webhook','chat_type':'webhook'}", false, true, "transport" },
    { "{}", "{'platform':'homeassistant','chat_type':'dm'}", false, true, "transport" },
    { "{}", "{'platform':'local','chat_type':'dm','is_bot':true}", false, true, "transport" },
    //  2. A listed group, even without a user, not as a chat of two
    { AT ("'group_allowed_chats':['G']"), GROUP (""), false, true, "group_allowed_chats" },
    { AT ("'group_allowed_chats':[-100]"),
        "{'platform':'slack','chat_type':'forum','chat_id':'-100'}", false, true,
        "group_allowed_chats" },
    { AT ("'group_allowed_chats':['G']"), GROUP (ME ",'is_bot':true"), false, true,
        "group_allowed_chats" },
    { AT ("'group_allowed_chats':['other']"), GROUP (ME), false, false, "allowed_users" },
    { AT ("'group_allowed_chats':['c']"), FROM (ME), false, false, "allowed_users" },
    { AT ("'group_allowed_chats':['']"), "{'platform':'slack','chat_type':'group','user_id':'u'}",
        false, false, "allowed_users" },
    //  3. Bots
    { AT ("'allow_bots':'mentions'"), FROM (ME ",'is_bot':true"), false, true, "allow_bots" },
    { AT ("'allow_bots':'all'"), FROM (",'is_bot':true"), false, true, "allow_bots" },
    { AT ("'allow_bots':'none'"), FROM (ME ",'is_bot':true"), false, false, "allow_bots" },
    { AT ("'allow_all_users':true"), FROM (ME ",'is_bot':true"), true, false, "allow_bots" },
    { AT ("'allow_bots':'none'"), FROM (ME ",'is_bot':false"), false, false, "no_list" },
    //  4. Nobody
    { AT ("'allow_all_users':true"), FROM (""), true, false, "no_user" },
    { AT ("'allow_all_users':true"), FROM (",'user_id':''"), false, false, "no_user" },
    { AT ("'allow_all_users':true"), FROM (",'user_id_alt':'x'"), false, true, "allow_all_users" },
    { AT ("'allowed_users':['*']"), FROM (",'role_authorized':true"), true, false, "no_user" },
    //  5. Everybody of this platform
    { AT ("'allow_all_users':true"), FROM (ME), false, true, "allow_all_users" },
    { AT ("'allow_all_users':true,'allowed_users':['other']"), FROM (ME), false, true,
        "allow_all_users" },
    { AT ("'allow_all_users':false"), FROM (ME), false, false, "no_list" },
    { AT ("'allow_all_users':'true'"), FROM (ME), false, false, "no_list" },
    { "{'platforms':{'line':{'allow_all_users':true}}}", FROM (ME), false, false, "no_list" },
    //  6. By its role on the platform
    { "{}", GROUP (ME ",'role_authorized':true"), false, true, "role_authorized" },
    { "{}", GROUP (ME ",'role_authorized':false"), false, false, "no_list" },
    //  7. Approved by the operator, in union with the lists
    { "{}", FROM (ME), true, true, "paired" },
    { AT ("'allowed_users':['other']"), FROM (ME), true, true, "paired" },
    { AT ("'allowed_users':['other']"), GROUP (ME), true, true, "paired" },
    //  8. Nothing is listed
    { "{}", FROM (ME), false, false, "no_list" },
    { AT ("'dm_policy':'allowlist'"), FROM (ME), false, true, "no_list" },
    { AT ("'dm_policy':'allowlist'"), GROUP (ME), false, false, "no_list" },
    { AT ("'group_policy':'allowlist'"), GROUP (ME), false, true, "no_list" },
    { AT ("'group_policy':'allowlist'"), FROM (ME), false, false, "no_list" },
    { AT ("'dm_policy':'open'"), FROM (ME), false, false, "no_list" },
    { AT ("'dm_policy':'pairing'"), FROM (ME), false, false, "no_list" },
    { ALL ("'allow_all_users':true"), FROM (ME), false, true, "no_list" },
    { ALL ("'allow_all_users':true"), GROUP (ME), false, true, "no_list" },
    { AT ("'allowed_users':[]"), FROM (ME), false, false, "no_list" },
    { "{'gateway':{'allow_all_users':true},'platforms':{'slack':{'allowed_users':['other']}}}",
        FROM (ME), false, false, "allowed_users" },
    { AT ("'dm_policy':'allowlist','allowed_users':['other']"), FROM (ME), false, false,
        "allowed_users" },
    //  9. The lists
    { AT ("'allowed_users':['u']"), FROM (ME), false, true, "allowed_users" },
    { AT ("'allowed_users':['u']"), GROUP (ME), false, true, "allowed_users" },
    { AT ("'allowed_users':[12345]"), FROM (",'user_id':'12345'"), false, true, "allowed_users" },
    { AT ("'allowed_users':['*']"), FROM (ME), false, true, "allowed_users" },
    { AT ("'allowed_users':['u']"), FROM (",'user_id':'u@example.org'"), false, true,
        "allowed_users" },
    { AT ("'allowed_users':['u@example.org']"), FROM (ME), false, false, "allowed_users" },
    { AT ("'allowed_users':['u@example.org']"), FROM (",'user_id':'u@evil.org'"), false, false,
        "allowed_users" },
    { AT ("'allowed_users':['']"), FROM (",'user_id':'@u:example.org'"), false, false,
        "allowed_users" },
    { AT ("'allowed_users':['lasting']"), FROM (ME ",'user_id_alt':'lasting'"), false, true,
        "allowed_users" },
    { AT ("'allowed_users':['U']"), FROM (ME), false, false, "allowed_users" },
    //  What an account says counts for that account only
    { AT ("'allowed_users':['u'],'accounts':{'work':{'allowed_users':['other']}}"),
        FROM (ME ",'account':'work'"), false, false, "allowed_users" },
    { AT ("'allowed_users':['u'],'accounts':{'work':{'allowed_users':['other']}}"),
        FROM (ME ",'account':'main'"), false, true, "allowed_users" },
    { AT ("'accounts':{'work':{'allow_all_users':true}}"), FROM (ME ",'account':'work'"), false,
        true, "allow_all_users" },
    { AT ("'accounts':{'work':{'allow_all_users':true}}"), FROM (ME ",'account':'main'"), false,
        false, "no_list" },
    { AT ("'allowed_users':['u']"), FROM (",'user_id':'uu'"), false, false, "allowed_users" },
    { AT ("'group_allowed_users':['u']"), GROUP (ME), false, true, "allowed_users" },
    { AT ("'group_allowed_users':['u']"), FROM (ME), false, false, "allowed_users" },
    { AT ("'group_allowed_users':['*']"), FROM (ME), false, false, "allowed_users" },
    { ALL ("'allowed_users':['u']"), FROM (ME), false, true, "allowed_users" },
    { ALL ("'allowed_users':['u']"), GROUP (ME), false, true, "allowed_users" },
    { ALL ("'allowed_users':['other']"), FROM (ME), false, false, "allowed_users" },
    //  The block of a type of chat wins over that of the platform
    { AT ("'group':{'allow_all_users':true}"), GROUP (ME), false, true, "allow_all_users" },
    { AT ("'group':{'allow_all_users':true}"), FROM (ME), false, false, "no_list" },
    { AT ("'allow_all_users':true,'dm':{'allow_all_users':false}"), FROM (ME), false, false,
        "no_list" },
    { AT ("'allowed_users':['x'],'dm':{'allowed_users':['u']}"), FROM (ME), false, true,
        "allowed_users" },
    { AT ("'dm':{'allowed_users':['u']}"), "{'platform':'slack','user_id':'u'}", false, true,
        "allowed_users" },
    //  A name is no identity
    { AT ("'allowed_users':['boss']"), FROM (ME ",'user_name':'boss','chat_name':'boss'"), false,
        false, "allowed_users" },
};

static void
every_row_of_the_rules (void **state)
{
    (void) state;
    for (size_t i = 0; i < sizeof s_rows / sizeof *s_rows; i++) {
        json_t *config = gate_json (s_rows[i].config), *source = gate_json (s_rows[i].source);
        argos_allow_t found = argos_allow (config, source, s_rows[i].paired);
        if (found.allowed != s_rows[i].allowed || strcmp (found.rule, s_rows[i].rule) != 0)
            fail_msg ("row %zu: %s says %d to %s", i, found.rule, found.allowed, s_rows[i].source);
        json_decref (config);
        json_decref (source);
    }
}

//  Everything that a rule looks at, taken away one after the other: the next rule decides.

static void
the_first_rule_that_says_something_decides (void **state)
{
    (void) state;
    json_t *config = gate_json (
        "{'platforms':{'webhook':{'allow_bots':'all','allow_all_users':true,'allowed_users':['u'],"
        "'group_allowed_chats':['G']}},'gateway':{'allow_all_users':true}}");
    json_t *block = json_object_get (json_object_get (config, "platforms"), "webhook");
    json_t *source = gate_json ("{'platform':'webhook','chat_type':'group','chat_id':'G',"
                                "'user_id':'u','is_bot':true,'role_authorized':true}");
    assert_string_equal (argos_allow (config, source, true).rule, "transport");
    json_object_set_new (source, "platform", json_string ("slack"));
    json_object_set (json_object_get (config, "platforms"), "slack", block);
    assert_string_equal (argos_allow (config, source, true).rule, "group_allowed_chats");
    json_object_set_new (source, "chat_id", json_string ("H"));
    assert_string_equal (argos_allow (config, source, true).rule, "allow_bots");
    json_object_del (source, "is_bot");
    json_object_del (source, "user_id");
    assert_string_equal (argos_allow (config, source, true).rule, "no_user");
    json_object_set_new (source, "user_id", json_string ("u"));
    assert_string_equal (argos_allow (config, source, true).rule, "allow_all_users");
    json_object_del (block, "allow_all_users");
    assert_string_equal (argos_allow (config, source, true).rule, "role_authorized");
    json_object_del (source, "role_authorized");
    assert_string_equal (argos_allow (config, source, true).rule, "paired");
    assert_string_equal (argos_allow (config, source, false).rule, "allowed_users");
    json_object_del (block, "allowed_users");
    json_object_del (block, "group_allowed_chats");
    assert_string_equal (argos_allow (config, source, false).rule, "no_list");
    assert_true (argos_allow (config, source, false).allowed);
    assert_false (argos_allow (NULL, source, false).allowed);
    assert_false (argos_allow (NULL, NULL, true).allowed);
    json_decref (config);
    json_decref (source);
}

static void
pairing_is_read_when_it_decides (void **state)
{
    (void) state;
    static const struct {
        const char *config, *source; //  JSON
        bool asks;                   //  Expected
    } rows[] = {
        { "{}", FROM (ME), true },
        { "{}", FROM (""), false },
        { "{}", FROM (ME ",'is_bot':true"), false },
        { "{}", "{'platform':'local','user_id':'u'}", false },
        { AT ("'allow_all_users':true"), FROM (ME), false },
        { AT ("'allowed_users':['u']"), FROM (ME), false },
        { AT ("'allowed_users':['other']"), FROM (ME), true },
        { ALL ("'allow_all_users':true"), FROM (ME), false },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        json_t *config = gate_json (rows[i].config), *source = gate_json (rows[i].source);
        if (argos_allow_asks (config, source) != rows[i].asks)
            fail_msg ("row %zu", i);
        json_decref (config);
        json_decref (source);
    }
}

static void
every_row_of_what_a_stranger_gets (void **state)
{
    (void) state;
    static const struct {
        const char *config, *source; //  JSON
        bool offered;                //  Expected
    } rows[] = {
        { "{}", FROM (ME), true },
        //  The platform's own word comes first
        { AT ("'unauthorized_dm_behavior':'ignore'"), FROM (ME), false },
        { "{'unauthorized_dm_behavior':'ignore','platforms':{'slack':{"
          "'unauthorized_dm_behavior':'pair','dm_policy':'disabled','allowed_users':['x']}}}",
            FROM (ME), true },
        { "{'platforms':{'email':{'unauthorized_dm_behavior':'pair'}}}",
            "{'platform':'email','chat_type':'dm','user_id':'u@x.org'}", true },
        //  That of the account before it
        { AT ("'unauthorized_dm_behavior':'pair','accounts':{'work':{'unauthorized_dm_behavior':"
              "'ignore'}}"),
            FROM (ME ",'account':'work'"), false },
        { AT ("'unauthorized_dm_behavior':'pair','accounts':{'work':{'unauthorized_dm_behavior':"
              "'ignore'}}"),
            FROM (ME ",'account':'main'"), true },
        { AT ("'dm':{'unauthorized_dm_behavior':'ignore'},'accounts':{'work':{"
              "'unauthorized_dm_behavior':'pair'}}"),
            FROM (ME ",'account':'work'"), true },
        //  Then e-mail, where everybody can write
        { "{}", "{'platform':'email','chat_type':'dm','user_id':'u@x.org'}", false },
        { "{'unauthorized_dm_behavior':'pair'}",
            "{'platform':'email','chat_type':'dm','user_id':'u@x.org'}", false },
        //  Then the word for all
        { "{'unauthorized_dm_behavior':'pair','platforms':{'slack':{"
          "'dm_policy':'allowlist','allowed_users':['x']}}}",
            FROM (ME), true },
        { "{'unauthorized_dm_behavior':'ignore','platforms':{'slack':{"
          "'dm_policy':'pairing'}}}",
            FROM (ME), false },
        //  Then the policy
        { AT ("'dm_policy':'pairing','allowed_users':['x']"), FROM (ME), true },
        { AT ("'dm_policy':'allowlist'"), FROM (ME), false },
        { AT ("'dm_policy':'disabled'"), FROM (ME), false },
        //  Then any list
        { AT ("'allowed_users':['x']"), FROM (ME), false },
        { AT ("'group_allowed_users':['x']"), FROM (ME), false },
        { AT ("'group_allowed_chats':['x']"), FROM (ME), false },
        { ALL ("'allowed_users':['x']"), FROM (ME), false },
        { "{'platforms':{'line':{'allowed_users':['x']}}}", FROM (ME), true },
        //  Groups, bots and nobody get nothing ever
        { AT ("'unauthorized_dm_behavior':'pair'"), GROUP (ME), false },
        { AT ("'unauthorized_dm_behavior':'pair'"), FROM (ME ",'is_bot':true"), false },
        { AT ("'unauthorized_dm_behavior':'pair'"), FROM (""), false },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        json_t *config = gate_json (rows[i].config), *source = gate_json (rows[i].source);
        if (argos_allow_offers (config, source) != rows[i].offered)
            fail_msg ("row %zu", i);
        json_decref (config);
        json_decref (source);
    }
}

static void
an_open_policy_needs_the_switch_beside_it (void **state)
{
    (void) state;
    static const struct {
        const char *config; //  JSON
        const char *path;   //  Expected: of what is wrong
        bool unset;         //  Expected: nobody is let in
    } rows[] = {
        { "{}", "", true },
        { AT ("'dm_policy':'open'"), "platforms.slack.dm_policy", true },
        { AT ("'group_policy':'open'"), "platforms.slack.group_policy", true },
        { AT ("'group_policy':'open','allow_all_users':false"), "platforms.slack.group_policy",
            true },
        { AT ("'group_policy':'open','allow_all_users':true"), "", false },
        { "{'gateway':{'allow_all_users':true},'platforms':{'slack':{'dm_policy':'open'}}}", "",
            false },
        { AT ("'dm_policy':'pairing','group_policy':'disabled'"), "", true },
        { AT ("'dm':{'dm_policy':'open'}"), "platforms.slack.dm.dm_policy", true },
        { AT ("'thread':{'group_policy':'open'}"), "platforms.slack.thread.group_policy", true },
        { AT ("'thread':{'group_policy':'open','allow_all_users':true}"), "", false },
        { AT ("'accounts':{'a':{},'work':{'group_policy':'open'}}"),
            "platforms.slack.accounts.work.group_policy", true },
        { AT ("'accounts':{'work':{'group_policy':'open','allow_all_users':true}}"), "", false },
        { AT ("'accounts':{'work':{'allowed_users':['x']}}"), "", false },
        { AT ("'group':{'allowed_users':['x']}"), "", false },
        { AT ("'allowed_users':['x']"), "", false },
        { AT ("'group_allowed_chats':['x']"), "", false },
        { ALL ("'allowed_users':['x']"), "", false },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char path[256];
        json_t *config = gate_json (rows[i].config);
        int rc = argos_allow_check (config, path, sizeof path);
        assert_int_equal (rc, *rows[i].path ? -1 : 0);
        assert_string_equal (path, rows[i].path);
        assert_int_equal (argos_allow_is_unset (config), rows[i].unset);
        json_decref (config);
    }
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (every_row_of_the_rules),
        cmocka_unit_test (the_first_rule_that_says_something_decides),
        cmocka_unit_test (pairing_is_read_when_it_decides),
        cmocka_unit_test (every_row_of_what_a_stranger_gets),
        cmocka_unit_test (an_open_policy_needs_the_switch_beside_it),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
