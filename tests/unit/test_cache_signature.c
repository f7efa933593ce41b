//  What an agent is built of, as a signature; and how much memory a process may take. The names
//  carry the numbers of the cases.

#include "argos_memory.h"
#include "cache_kit.h"

#define MB ((int64_t) 1024 * 1024)

static const char *
s_sign (const char *profile, char target[static ARGOS_SIGNATURE_SIZE])
{
    json_t *json = kit_json (profile);
    argos_signature (json, target);
    json_decref (json);
    return target;
}

#define BASE "'model':'m','base_url':'u','provider':'p','toolsets':['a','b'],'prompt':''"

static const struct {
    const char *number, *one, *other; //  Of the case; profiles
    bool equal;                       //  Expected
} s_signatures[] = {
    { "1", "{" BASE "}", "{" BASE "}", true },
    { "2", "{" BASE "}", "{'model':'n','base_url':'u','provider':'p','toolsets':['a','b']}",
        false },
    { "4", "{'model':'m','base_url':'u','provider':'p'}",
        "{'model':'m','base_url':'v','provider':'q'}", false },
    { "5", "{'model':'m','toolsets':['a']}", "{'model':'m','toolsets':['a','b']}", false },
    { "5 sorted", "{'toolsets':['b','a']}", "{'toolsets':['a','b']}", true },
    { "6", "{" BASE ",'reasoning':'high'}", "{" BASE ",'reasoning':'low'}", true },
    { "36", "{" BASE "}", "{" BASE ",'keys':{}}", true },
    { "36 null", "{" BASE "}", "{" BASE ",'keys':null}", true },
    { "37", "{'keys':{'model.context_length':1}}", "{'keys':{'model.context_length':2}}", false },
    { "38", "{'keys':{'model.max_tokens':1}}", "{'keys':{'model.max_tokens':2}}", false },
    { "39", "{'keys':{'compression.threshold':0.5}}", "{'keys':{'compression.threshold':0.6}}",
        false },
    { "40", "{'keys':{'compression.enabled':true}}", "{'keys':{'compression.enabled':false}}",
        false },
    { "41", "{'keys':{'a':1,'b':2}}", "{'keys':{'b':2,'a':1}}", true },
    { "42", "{'keys':{'tools.generation':1}}", "{'keys':{'tools.generation':2}}", false },
    { "50", "{'requested_provider':'a'}", "{'requested_provider':'b'}", false },
    { "58 differ", "{'user_id':'u1'}", "{'user_id':'u2'}", false },
    { "58 same", "{'user_id':'u1'}", "{'user_id':'u1'}", true },
    { "58 other", "{'user_id':'u1'}", "{'user_id':'u1','user_id_alt':'x'}", false },
    { "58 null", "{'user_id':null}", "{}", true },
    { "skip", "{'skip_context':true}", "{}", false },
    { "mode", "{'api_mode':'chat'}", "{'api_mode':'messages'}", false },
    { "capabilities", "{'capabilities':['a','b']}", "{'capabilities':['b','a']}", true },
    { "moved", "{'model':'a','base_url':'b'}", "{'model':'b','base_url':'a'}", false },
};

static void
signatures_differ_when_what_shapes_an_agent_does (void **state)
{
    (void) state;
    for (size_t i = 0; i < sizeof s_signatures / sizeof *s_signatures; i++) {
        char one[ARGOS_SIGNATURE_SIZE], other[ARGOS_SIGNATURE_SIZE];
        s_sign (s_signatures[i].one, one);
        s_sign (s_signatures[i].other, other);
        if ((strcmp (one, other) == 0) != s_signatures[i].equal)
            fail_msg ("case %s", s_signatures[i].number);
        assert_int_equal (strlen (one), 16);
        assert_int_equal (strspn (one, "0123456789abcdef"), 16);
    }
}

static void
keys_with_a_common_beginning_have_other_signatures_3 (void **state)
{
    char one[ARGOS_SHA256_SIZE], other[ARGOS_SHA256_SIZE], a[17], b[17];
    (void) state;
    argos_signature_key ("eyJhbGci.first", one);
    argos_signature_key ("eyJhbGci.second", other);
    json_t *left = json_pack ("{s:s}", "key_hash", one),
           *right = json_pack ("{s:s}", "key_hash", other);
    argos_signature (left, a);
    argos_signature (right, b);
    assert_string_not_equal (a, b);
    argos_signature_key (NULL, one);
    assert_string_equal (one, "");
    argos_signature (NULL, a);
    json_decref (left);
    json_decref (right);
}

static void
settings_are_extracted_43_to_49 (void **state)
{
    (void) state;
    json_t *settings = kit_json ("{'model':{'context_length':8000},'compression':{'enabled':true,"
                                 "'threshold':0.5,'target_ratio':0.2,'protect_last_n':4}}");
    json_t *keys = argos_signature_keys (settings, 7);
    assert_int_equal (json_integer_value (json_object_get (keys, "model.context_length")), 8000);
    assert_true (json_is_true (json_object_get (keys, "compression.enabled")));
    assert_true (json_real_value (json_object_get (keys, "compression.threshold")) > 0.4);
    assert_true (json_real_value (json_object_get (keys, "compression.target_ratio")) > 0.1);
    assert_int_equal (json_integer_value (json_object_get (keys, "compression.protect_last_n")), 4);
    assert_true (json_is_null (json_object_get (keys, "model.max_tokens")));
    assert_true (json_is_null (json_object_get (keys, "memory.provider")));
    assert_int_equal (json_integer_value (json_object_get (keys, "tools.generation")), 7);
    //  Edited in between
    char before[17], after[17];
    json_t *profile = json_pack ("{s:O}", "keys", keys);
    argos_signature (profile, before);
    json_decref (profile);
    json_object_set_new (json_object_get (settings, "model"), "context_length", json_integer (9));
    json_t *edited = argos_signature_keys (settings, 7);
    profile = json_pack ("{s:o}", "keys", edited);
    argos_signature (profile, after);
    json_decref (profile);
    assert_string_not_equal (before, after);
    json_decref (keys);
    json_decref (settings);
    //  A section that is none, and none at all
    settings = kit_json ("{'model':'gpt','compression':7}");
    keys = argos_signature_keys (settings, 0);
    assert_true (json_is_null (json_object_get (keys, "model.context_length")));
    assert_true (json_is_null (json_object_get (keys, "compression.enabled")));
    json_decref (keys);
    json_decref (settings);
    keys = argos_signature_keys (NULL, 0);
    assert_int_equal (json_object_size (keys), 13);
    json_decref (keys);
}

static void
a_budget_is_what_the_setting_says (void **state)
{
    static const struct {
        const char *setting; //  JSON
        int64_t mb;          //  Expected, of 10,000
    } rows[] = { { "'auto'", 6500 }, { "'off'", 0 }, { "''", 0 }, { "'none'", 0 }, { "'false'", 0 },
        { "'disabled'", 0 }, { "600", 600 }, { "'600'", 600 }, { "100", 0 }, { "'what'", 6500 },
        { "'-7'", 6500 } };
    (void) state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        json_t *setting = kit_json (rows[i].setting);
        assert_int_equal (argos_memory_budget (setting, 10000 * MB) / MB, rows[i].mb);
        json_decref (setting);
    }
    assert_int_equal (argos_memory_budget (NULL, 10000 * MB) / MB, 6500);
    assert_int_equal (argos_memory_budget (NULL, 600 * MB), 0);
    assert_true (argos_memory_total () > 0);
    assert_true (argos_memory_used () > 0);
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (signatures_differ_when_what_shapes_an_agent_does),
        cmocka_unit_test (keys_with_a_common_beginning_have_other_signatures_3),
        cmocka_unit_test (settings_are_extracted_43_to_49),
        cmocka_unit_test (a_budget_is_what_the_setting_says),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
