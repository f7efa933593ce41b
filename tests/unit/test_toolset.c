//  The tools that there are: ours first, offers of others by name; what the model is told keeps its
//  bytes; who may have what run; arguments as the schema wants them.
//
//  E.12 16 (registry): collisions refused, the same again silent. E3: coercion.

#include "argos_toolset.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static json_t *
s_offer (const char *name, const char *flag)
{
    json_t *offer = json_pack (
        "{s:s, s:s, s:{s:s}}", "name", name, "description", "d", "parameters", "type", "object");
    if (flag)
        json_object_set_new (offer, flag, json_true ());
    return offer;
}

static void
s_add (json_t *records, const char *name, const char *flag)
{
    json_t *offer = s_offer (name, flag);
    json_array_append_new (records,
        json_pack ("{s:s, s:o}", "key", name, "value", argos_toolset_value (offer, "peer")));
    json_decref (offer);
}

static void
ours_come_first_and_others_by_name (void **state)
{
    (void) state;
    argos_toolset_t *set = argos_toolset_new ();
    const char *ours = argos_toolset_names (set);
    assert_memory_equal (ours, "terminal, manage_bg_jobs", 24);
    size_t own = json_array_size (argos_toolset_told (set)), size = strlen (ours);
    json_int_t generation = argos_toolset_generation (set);
    json_t *one = json_array (), *two = json_array ();
    s_add (one, "zebra", NULL);
    s_add (one, "ant", NULL);
    s_add (one, "terminal", NULL); //  One of ours
    json_array_append_new (one, json_pack ("{s:s, s:{}}", "key", "broken", "value"));
    s_add (two, "ant", NULL);
    s_add (two, "zebra", NULL);
    assert_true (argos_toolset_load (set, one));
    assert_int_equal (json_array_size (argos_toolset_told (set)), own + 2);
    assert_string_equal (argos_toolset_names (set) + size, ", ant, zebra");
    assert_int_not_equal (argos_toolset_generation (set), generation);
    //  The same in another order is the same, down to the value
    json_t *told = argos_toolset_told (set);
    assert_false (argos_toolset_load (set, two));
    assert_ptr_equal (argos_toolset_told (set), told);
    assert_int_equal (argos_toolset_offers (set), 2);
    //  And back
    json_t *none = json_array ();
    assert_true (argos_toolset_load (set, none));
    assert_int_equal (argos_toolset_generation (set), generation);
    assert_null (argos_toolset_find (set, "ant"));
    json_decref (one);
    json_decref (two);
    json_decref (none);
    argos_toolset_destroy (&set);
    argos_toolset_destroy (&set);
}

static void
flags_say_who_may_have_it_run (void **state)
{
    (void) state;
    argos_toolset_t *set = argos_toolset_new ();
    json_t *records = json_array (), *plain = json_object ();
    s_add (records, "for_admins", "admin_only");
    s_add (records, "for_all", NULL);
    assert_true (argos_toolset_load (set, records));
    assert_non_null (argos_toolset_refusal (set, "terminal", true, false));
    assert_non_null (argos_toolset_refusal (set, "terminal", false, true));
    assert_null (argos_toolset_refusal (set, "terminal", false, false));
    assert_non_null (argos_toolset_refusal (set, "for_admins", true, false));
    assert_null (argos_toolset_refusal (set, "for_all", true, false));
    //  Who does not say what it does may change something
    assert_non_null (argos_toolset_refusal (set, "for_all", false, true));
    assert_null (argos_toolset_refusal (set, "attachment", true, true));
    json_t *limited = argos_toolset_limited (set, argos_toolset_told (set));
    size_t i, left = 0;
    json_t *told, *all = argos_toolset_told (set);
    json_array_foreach (all, i, told) {
        const char *name = json_string_value (json_object_get (told, "name"));
        left += argos_toolset_flag (argos_toolset_find (set, name), "admin_only") ? 0 : 1;
    }
    assert_int_equal (json_array_size (limited), left);
    assert_true (left > 1 && left < json_array_size (all));
    json_decref (limited);
    json_decref (records);
    json_decref (plain);
    argos_toolset_destroy (&set);
}

static void
an_offer_that_is_none_is_refused_with_a_reason (void **state)
{
    (void) state;
    char reason[200];
    json_t *good = s_offer ("x", NULL),
           *gone = json_pack ("{s:s, s:b}", "name", "x", "withdraw", 1);
    json_t *bare = json_pack ("{s:s}", "name", "x");
    json_t *odd = json_pack (
        "{s:s, s:s, s:{s:s}}", "name", "x", "description", "d", "parameters", "type", "array");
    json_t *large = s_offer ("x", NULL);
    char *text = malloc (20001);
    assert_non_null (text);
    memset (text, 'a', 20000);
    text[20000] = '\0';
    json_object_set_new (json_object_get (large, "parameters"), "description", json_string (text));
    assert_true (argos_toolset_check (good, reason, sizeof reason));
    assert_true (argos_toolset_check (gone, reason, sizeof reason));
    assert_false (argos_toolset_check (bare, reason, sizeof reason));
    assert_false (argos_toolset_check (odd, reason, sizeof reason));
    assert_false (argos_toolset_check (large, reason, sizeof reason));
    free (text);
    json_decref (good);
    json_decref (gone);
    json_decref (bare);
    json_decref (odd);
    json_decref (large);
}

static void
arguments_become_what_the_schema_wants_where_nothing_is_lost (void **state)
{
    (void) state;
    static const struct {
        const char *type, *given,
            *wanted; //  Of the property; as the model gave it; what it becomes
    } cases[] = {
        { "\"integer\"", "\"12\"", "12" },
        { "\"integer\"", "\"1e2\"", "100" },
        { "\"integer\"", "\"1.5\"", "\"1.5\"" },
        { "\"integer\"", "\"12x\"", "\"12x\"" },
        { "\"integer\"", "\"\"", "\"\"" },
        { "\"integer\"", "\"99999999999999999999\"", "\"99999999999999999999\"" },
        { "\"number\"", "\"1.5\"", "1.5" },
        { "\"boolean\"", "\"true\"", "true" },
        { "\"boolean\"", "\"yes\"", "\"yes\"" },
        { "\"array\"", "\"[1,2]\"", "[1,2]" },
        { "\"array\"", "\"{}\"", "\"{}\"" },
        { "\"object\"", "\"{\\\"a\\\":1}\"", "{\"a\":1}" },
        { "\"string\"", "\"12\"", "\"12\"" },
        { "[\"string\",\"integer\"]", "\"12\"", "\"12\"" },
        { "[\"integer\",\"null\"]", "\"12\"", "12" },
        { "\"integer\"", "12", "12" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *schema = json_pack ("{s:{s:{s:o}}}", "properties", "a", "type",
            json_loads (cases[i].type, JSON_DECODE_ANY, NULL));
        json_t *given =
            json_pack ("{s:o}", "a", json_loads (cases[i].given, JSON_DECODE_ANY, NULL));
        argos_toolset_coerce (schema, given);
        char *text = json_dumps (json_object_get (given, "a"), JSON_ENCODE_ANY | JSON_COMPACT);
        assert_string_equal (text, cases[i].wanted);
        free (text);
        json_decref (schema);
        json_decref (given);
    }
    argos_toolset_coerce (NULL, NULL);
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (ours_come_first_and_others_by_name),
        cmocka_unit_test (flags_say_who_may_have_it_run),
        cmocka_unit_test (an_offer_that_is_none_is_refused_with_a_reason),
        cmocka_unit_test (arguments_become_what_the_schema_wants_where_nothing_is_lost),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
