//  test_access - roles and keys: what a rule matches, what a role allows, whose a name is.

#include "argos_access.h"
#include "argos_keyring.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const argos_scope_t nobody = { "", "", "" };
static const argos_scope_t line_bot = { "line-bot", "line", "main" };

static argos_access_t *
s_access (const char *roles)
{
    char reason[ARGOS_REASON_MAX] = "";
    json_t *object = roles ? json_loads (roles, 0, NULL) : NULL;
    argos_access_t *access = argos_access_new (object, NULL, reason);
    if (!access)
        print_message ("%s\n", reason);
    json_decref (object);
    assert_non_null (access);
    return access;
}

static void
s_wrong (const char *roles, const char *const *ipc_roles, const char *expected)
{
    char reason[ARGOS_REASON_MAX] = "";
    json_t *object = json_loads (roles, 0, NULL);
    assert_non_null (object);
    assert_null (argos_access_new (object, ipc_roles, reason));
    json_decref (object);
    if (!strstr (reason, expected))
        fail_msg ("wanted \"%s\" in \"%s\"", expected, reason);
}

static void
test_patterns (void **state)
{
    (void) state;
    static const struct {
        const char *pattern; //  Of a read rule
        const char *topic;   //  That is read
        bool match;          //  Whether it is allowed
    } cases[] = {
        { "a.b", "a.b", true },
        { "a.b", "a.b.c", false },
        { "a.b", "a", false },
        { "a.b", "a.bc", false },
        { "a.*", "a.b", true },
        { "a.*", "a", false },
        { "a.*", "a.", false },
        { "a.*", "a.b.c", false },
        { "*.b", "a.b", true },
        { "a.>", "a.b.c", true },
        { "a.>", "a", false },
        { "a.>", "a.", false },
        { ">", "a.b.c", true },
        { "*", "a", true },
        { "*", "a.b", false },
        { ">", "run.1", false }, //  The core's: the first part has to be spelled
        { "*.1", "run.1", false },
        { "run.*", "run.1", true },
        { "{name}.x", "line-bot.x", true },
        { "{name}.x", "line-bo.x", false },
        { "{name}.x", "line-bot-2.x", false },
        { "x.{platform}.{account}", "x.line.main", true },
        { "x.{platform}.{account}", "x.line.main.2", false },
        { "x.{platform}.{account}", "x.line.other", false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        json_t *roles = json_pack ("{s:{s:[s]}}", "r", "read", cases[i].pattern);
        char reason[ARGOS_REASON_MAX];
        argos_access_t *access = argos_access_new (roles, NULL, reason);
        json_decref (roles);
        assert_non_null (access);
        if (argos_role_may_read (argos_access_role (access, "r"), &line_bot, cases[i].topic,
                false) != cases[i].match)
            fail_msg ("%s and %s", cases[i].pattern, cases[i].topic);
        argos_access_destroy (&access);
    }
}

static void
test_a_pattern_needs_a_rule_that_covers_it (void **state)
{
    (void) state;
    argos_access_t *access = s_access (
        "{\"some\":{\"read\":[\"a.*\",\"b.>\"],\"wildcard\":true},\"tame\":{\"read\":[\">\"]}}");
    const argos_role_t *some = argos_access_role (access, "some");
    assert_true (argos_role_may_read (some, &nobody, "a.*", true));
    assert_false (argos_role_may_read (some, &nobody, "a.>", true));
    assert_false (argos_role_may_read (some, &nobody, ">", true));
    assert_false (argos_role_may_read (some, &nobody, "*.x", true));
    assert_true (argos_role_may_read (some, &nobody, "b.*", true));
    assert_true (argos_role_may_read (some, &nobody, "b.c.>", true));
    assert_false (argos_role_may_read (argos_access_role (access, "tame"), &nobody, "a.*", true));
    assert_true (argos_role_may_read (argos_access_role (access, "observer"), &nobody, ">", true));
    argos_access_destroy (&access);
}

static void
test_an_adapter_is_bound_to_the_account_of_its_key (void **state)
{
    (void) state;
    argos_access_t *access = s_access (NULL);
    const argos_role_t *adapter = argos_access_role (access, "adapter");
    assert_true (argos_role_may_serve (adapter, &line_bot, "deliver.line.main"));
    assert_false (argos_role_may_serve (adapter, &line_bot, "deliver.line.other"));
    assert_false (argos_role_may_serve (adapter, &line_bot, "deliver.telegram.main"));
    assert_false (argos_role_may_serve (adapter, &line_bot, "deliver.line"));
    assert_true (argos_role_may_serve (adapter, &nobody, "deliver.telegram.main.two"));
    assert_false (argos_role_may_serve (adapter, &nobody, "turn"));
    assert_true (argos_role_may_read (adapter, &line_bot, "out.line.main", false));
    assert_false (argos_role_may_read (adapter, &line_bot, "out.telegram.main", false));
    argos_access_destroy (&access);
}

static void
test_what_is_the_cores_is_nobodys (void **state)
{
    (void) state;
    static const char *const services[] = { "gateway", "turn", "handoff", "job", "turn.x" };
    argos_access_t *access = s_access (NULL);
    for (size_t i = 0; i < argos_access_count (access); i++) {
        const argos_role_t *role = argos_access_at (access, i);
        if (argos_role_all (role))
            continue;
        for (size_t k = 0; k < sizeof services / sizeof services[0]; k++)
            assert_false (argos_role_may_serve (role, &nobody, services[k]));
        assert_false (argos_role_may_send (role, &nobody, "x", ARGOS_TO_TOPIC, "run.1"));
        assert_false (
            argos_role_may_send (role, &nobody, "turn.request", ARGOS_TO_SERVICE, "turn"));
        assert_false (argos_role_may_send (role, &nobody, "x", ARGOS_TO_ACTOR, "agent.2@core"));
    }
    argos_access_destroy (&access);
}

static void
test_a_configured_role (void **state)
{
    (void) state;
    argos_access_t *access =
        s_access ("{\"agent\":{\"send\":[\"tool.call service:tool.>\",\"session.* "
                  "store\"],\"lease\":[\"turn\"]},"
                  "\"client\":{}}");
    const argos_role_t *agent = argos_access_role (access, "agent");
    assert_true (argos_role_may_serve (agent, &nobody, "turn"));
    assert_true (argos_role_may_send (agent, &nobody, "tool.call", ARGOS_TO_SERVICE, "tool.x"));
    assert_false (argos_role_may_send (agent, &nobody, "tool.calls", ARGOS_TO_SERVICE, "tool.x"));
    assert_true (argos_role_may_send (agent, &nobody, "session.load", ARGOS_TO_STORE, ""));
    assert_false (argos_role_may_send (agent, &nobody, "run.get", ARGOS_TO_STORE, ""));
    //  A built-in role that is named is replaced
    const argos_role_t *client = argos_access_role (access, "client");
    assert_false (argos_role_may_send (client, &nobody, "run.get", ARGOS_TO_STORE, ""));
    assert_null (argos_access_role (access, "adapter,client,tool"));
    assert_string_equal (argos_role_name (argos_access_ipc (access)), "adapter,client,tool");
    argos_access_destroy (&access);
}

static void
test_wrong_roles_are_named (void **state)
{
    (void) state;
    static const char *const core[] = { "core", NULL }, *const unknown[] = { "nope", NULL };
    s_wrong ("{\"core\":{}}", NULL, "role core");
    s_wrong ("{\"Bad\":{}}", NULL, "role Bad");
    s_wrong ("{\"r\":[]}", NULL, "role r");
    s_wrong ("{\"r\":{\"sned\":[]}}", NULL, "sned");
    s_wrong ("{\"r\":{\"send\":\"x\"}}", NULL, "expected a list");
    s_wrong ("{\"r\":{\"send\":[7]}}", NULL, "a rule is");
    s_wrong ("{\"r\":{\"send\":[\"x\"]}}", NULL, "a rule is");
    s_wrong ("{\"r\":{\"send\":[\"x queue:y\"]}}", NULL, "x queue:y");
    s_wrong ("{\"r\":{\"send\":[\"x service:\"]}}", NULL, "a rule is");
    s_wrong ("{\"r\":{\"send\":[\"x store.y\"]}}", NULL, "a rule is");
    s_wrong ("{\"r\":{\"lease\":[\"a..b\"]}}", NULL, "a..b");
    s_wrong ("{\"r\":{\"lease\":[\"a*\"]}}", NULL, "a*");
    s_wrong ("{\"r\":{\"read\":[\">.a\"]}}", NULL, ">.a");
    s_wrong ("{\"r\":{\"read\":[\"{who}\"]}}", NULL, "{who}");
    s_wrong ("{\"r\":{\"wildcard\":1}}", NULL, "true or false");
    s_wrong ("{}", core, "ipc_roles can't have it");
    s_wrong ("{}", unknown, "there is none");
}

#define HASH_OF_TOKEN "d5a3a6d2b4a2a4b3fbd9a0d8f7bb9a0b6b0d8c1e7ad3b4e0f2c6a7d1e8f90a1b"

static void
test_names_belong_to_keys (void **state)
{
    (void) state;
    static const char text[] =
        "[{\"name\":\"bot\",\"role\":\"adapter\"},{\"name\":\"bot.two\",\"role\":\"client\"},"
        "{\"name\":\"muscle\",\"role\":\"core\"}]";
    argos_keyring_t *ring = argos_keyring_new (
        "[{\"name\":\"\",\"role\":\"operator\",\"token_sha256\":\"" HASH_OF_TOKEN "\"}]");
    assert_int_equal (argos_keyring_fill (ring, text, strlen (text)), 0);
    assert_int_equal (argos_keyring_fill (ring, "{", 1), -1);
    assert_int_equal (argos_keyring_fill (ring, "{}", 2), -1);
    const argos_keyring_key_t *bot = argos_keyring_named (ring, "bot");
    const argos_keyring_key_t *two = argos_keyring_named (ring, "bot.two");
    const argos_keyring_key_t *node = argos_keyring_named (ring, "muscle");
    assert_non_null (bot);
    assert_non_null (two);
    assert_non_null (node);
    const struct {
        const argos_keyring_key_t *key; //  Shown
        const char *name;               //  Said
        bool good;                      //  Whether it is taken
    } cases[] = {
        { bot, "bot", true }, { bot, "bot.2", true }, { bot, "bot.x", true },
        { bot, "bot.2@there", true }, { bot, "bots", false }, { bot, "other", false },
        { bot, "bot.two", false }, { bot, "bot.two.x", false }, { two, "bot.two", true },
        { two, "bot", false }, { node, "gateway@muscle", true }, { node, "agent.3@muscle", true },
        { node, "agent.3", false }, { node, "agent@other", false },
        { node, "agent@other@muscle", false }, { NULL, "someone", true },
        { NULL, "someone@home", true }, { NULL, "bot", false }, { NULL, "bot.9", false },
        { NULL, "bot.x@home", false }, { NULL, "someone@muscle", false },
        { NULL, "muscle", true }, //  A node is no peer
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (argos_keyring_may_bear (ring, cases[i].key, cases[i].name) != cases[i].good)
            fail_msg ("%s as %s", cases[i].key ? cases[i].key->name : "nobody", cases[i].name);
    //  These keys are all there are now
    assert_int_equal (argos_keyring_fill (ring, "[]", 2), 0);
    assert_null (argos_keyring_named (ring, "bot"));
    assert_true (argos_keyring_may_bear (ring, NULL, "bot"));
    argos_keyring_destroy (&ring);
    argos_keyring_destroy (&ring);
}

static void
test_a_token_is_known_by_its_hash (void **state)
{
    (void) state;
    //  SHA-256 of "abc"
    argos_keyring_t *ring = argos_keyring_new (
        "[{\"name\":\"\",\"role\":\"operator\",\"token_sha256\":"
        "\"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\"}]");
    const argos_keyring_key_t *key = argos_keyring_of_token (ring, "abc");
    assert_non_null (key);
    assert_string_equal (key->role, "operator");
    assert_true (argos_keyring_may_bear (ring, key, "anyone"));
    static const char moving[] =
        "[{\"name\":\"line.shop\",\"role\":\"adapter\"},{\"name\":\"line\",\"role\":\"client\"}]";
    argos_keyring_t *ours = argos_keyring_new (
        "[{\"name\":\"\",\"role\":\"adapter\",\"platform\":\"line\",\"account\":\"shop\",\"token_"
        "sha256\":"
        "\"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\"}]");
    assert_int_equal (argos_keyring_fill (ours, moving, strlen (moving)), 0);
    const argos_keyring_key_t *shop = argos_keyring_of_token (ours, "abc");
    assert_true (argos_keyring_may_bear (ours, shop, "line.shop")); //  Until it has moved
    assert_false (argos_keyring_may_bear (ours, shop, "line.shop.2"));
    assert_false (argos_keyring_may_bear (ours, shop, "line"));
    assert_false (argos_keyring_may_bear (ours, shop, "line.shopping"));
    assert_false (argos_keyring_may_bear (ours, NULL, "line.shop"));
    argos_keyring_destroy (&ours);
    assert_null (argos_keyring_of_token (ring, "abd"));
    assert_null (argos_keyring_of_token (ring, ""));
    assert_int_equal (argos_keyring_fill (ring, "[]", 2), 0);
    assert_non_null (argos_keyring_of_token (ring, "abc")); //  It is of this start
    argos_keyring_destroy (&ring);
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_patterns),
        cmocka_unit_test (test_a_pattern_needs_a_rule_that_covers_it),
        cmocka_unit_test (test_an_adapter_is_bound_to_the_account_of_its_key),
        cmocka_unit_test (test_what_is_the_cores_is_nobodys),
        cmocka_unit_test (test_a_configured_role),
        cmocka_unit_test (test_wrong_roles_are_named),
        cmocka_unit_test (test_names_belong_to_keys),
        cmocka_unit_test (test_a_token_is_known_by_its_hash),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
