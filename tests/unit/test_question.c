//  test_question - questions of a turn: what is put, who may answer how, what goes out.

#include "argos_question.h"

#include "argos_schema.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define RUN "run_0123456789abcdef0123456789abcdef"

static json_t *
s_question (const char *kind, json_t *options, json_t *allowed)
{
    json_t *source = json_pack ("{s:s, s:s, s:s, s:s, s:s}", "platform", "fake", "account", "main",
        "chat_type", "dm", "chat_id", "c1", "chat_topic", "long");
    argos_question_t members = { .id = "q_0123456789ab",
        .kind = kind,
        .session_id = "s1",
        .run_id = RUN,
        .call_id = "call_1",
        .tool = "terminal",
        .text = "May this run?",
        .options = options,
        .allowed = allowed,
        .source = source,
        .deadline = 1000 };
    json_t *value = argos_question_new (&members);
    json_decref (source);
    json_decref (options);
    json_decref (allowed);
    return value;
}

static void
ids_and_hashes_depend_on_what_they_name (void **state)
{
    char id[ARGOS_QUESTION_ID], other[ARGOS_QUESTION_ID];
    char hash[ARGOS_QUESTION_HASH], same[ARGOS_QUESTION_HASH];
    (void) state;
    argos_question_id (RUN, "call_1", id);
    argos_question_id (RUN, "call_1", other);
    assert_string_equal (id, other);
    argos_question_id (RUN, "call_2", other);
    assert_string_not_equal (id, other);
    assert_int_equal (strlen (id), ARGOS_QUESTION_ID - 1);
    json_t *one = json_loads ("{\"a\":1,\"b\":[2]}", 0, NULL);
    json_t *two = json_loads ("{\"b\":[2],\"a\":1}", 0, NULL);
    argos_question_hash ("terminal", one, hash);
    argos_question_hash ("terminal", two, same);
    assert_string_equal (hash, same);
    argos_question_hash ("process", two, same);
    assert_string_not_equal (hash, same);
    json_object_set_new (two, "a", json_integer (2));
    argos_question_hash ("terminal", two, same);
    assert_string_not_equal (hash, same);
    json_decref (one);
    json_decref (two);
}

static void
a_button_names_its_question (void **state)
{
    char id[ARGOS_QUESTION_ID] = "", option[ARGOS_QUESTION_OPTION] = "";
    static const char *const bad[] = { "once", "q_0123456789ab",
        "q_0123456789ab:", "q_0123456789aX:once", "q_0123456789abc:once", "x_0123456789ab:once",
        "q_0123456789ab:123456789012345678901234567890123", "" };
    (void) state;
    assert_true (argos_question_split ("q_0123456789ab:once", id, option));
    assert_string_equal (id, "q_0123456789ab");
    assert_string_equal (option, "once");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false (argos_question_split (bad[i], id, option));
    assert_false (argos_question_split (NULL, id, option));
}

static void
only_what_fits_answers (void **state)
{
    static const struct {
        const char *by, *choice;
        int64_t now;
        argos_question_verdict_t expected;
    } rows[] = {
        { "u1", "once", 999, ARGOS_QUESTION_TAKE },
        { "u1", "deny", 999, ARGOS_QUESTION_TAKE },
        { "u1", "once", 1000, ARGOS_QUESTION_LATE },
        { "u2", "once", 999, ARGOS_QUESTION_STRANGER },
        { NULL, "once", 999, ARGOS_QUESTION_STRANGER },
        { "u1", "yes", 999, ARGOS_QUESTION_NO_CHOICE },
        { "u1", NULL, 999, ARGOS_QUESTION_NO_CHOICE },
    };
    argos_question_t question;
    (void) state;
    json_t *value =
        s_question ("approval", argos_question_approval_options (false), json_pack ("[s]", "u1"));
    assert_true (argos_question_read (&question, value));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal (argos_question_check (&question, rows[i].by, rows[i].choice, rows[i].now),
            rows[i].expected);
    json_t *settled = argos_question_settle (value, "answered", "once", NULL, "u1");
    assert_true (argos_question_read (&question, settled));
    assert_int_equal (argos_question_check (&question, "u1", "once", 999), ARGOS_QUESTION_CLOSED);
    assert_string_equal (question.choice, "once");
    json_decref (settled);
    json_decref (value);
}

static void
a_text_means_an_option (void **state)
{
    static const struct {
        const char *kind, *text, *expected;
    } rows[] = {
        { "clarify", "a", "a" },
        { "clarify", "2", "b" },
        { "clarify", "LEFT", "a" },
        { "clarify", "3", NULL },
        { "clarify", "0", NULL },
        { "clarify", "something else", NULL },
        { "clarify", "q_0123456789ab:b", "b" },
        { "clarify", "q_00000000000f:b", NULL },
        { "clarify", "q_0123456789ab:2", NULL },
        { "approval", "a", "a" },
        { "approval", "1", NULL },
        { "approval", "Left", NULL },
    };
    (void) state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        argos_question_t question;
        json_t *value = s_question (rows[i].kind,
            json_pack ("[{s:s, s:s}, {s:s, s:s}]", "id", "a", "label", "Left", "id", "b", "label",
                "Right"),
            NULL);
        assert_true (argos_question_read (&question, value));
        const char *found = argos_question_match (&question, rows[i].text);
        if (rows[i].expected)
            assert_string_equal (found, rows[i].expected);
        else
            assert_null (found);
        json_decref (value);
    }
}

static void
an_open_question_takes_any_text (void **state)
{
    argos_question_t question;
    (void) state;
    json_t *value = s_question ("clarify", NULL, NULL);
    assert_true (argos_question_read (&question, value));
    assert_int_equal (argos_question_check (&question, "u9", NULL, 1), ARGOS_QUESTION_TAKE);
    assert_null (json_object_get (question.source, "chat_topic"));
    json_decref (value);
}

static void
s_fits (const char *type, json_t *body)
{
    char reason[200] = "";
    if (argos_schema_check (type, body, reason, sizeof reason) != ARGOS_OK)
        fail_msg ("%s: %s", type, reason);
    json_decref (body);
}

static void
what_goes_out_fits_its_schema (void **state)
{
    (void) state;
    json_t *value = s_question ("approval", argos_question_approval_options (true), NULL);
    json_t *put = argos_question_put (value, 0);
    assert_string_equal (json_string_value (json_object_get (put, "key")), "s1/q_0123456789ab");
    s_fits ("record.put", put);
    s_fits ("question.asked", argos_question_asked (value));
    json_t *prompt = argos_question_prompt (value, "m1");
    const json_t *option = json_array_get (json_object_get (prompt, "options"), 1);
    assert_string_equal (json_string_value (json_object_get (option, "id")), "q_0123456789ab:deny");
    s_fits ("deliver.request", prompt);
    json_t *settled = argos_question_settle (value, "answered", "deny", NULL, "u1");
    s_fits ("question.closed", argos_question_closed (settled));
    s_fits ("question.answer", argos_question_answer ("q_0123456789ab", "deny", NULL, "u1"));
    s_fits ("question.answer", argos_question_answer ("q_0123456789ab", NULL, "text", "u1"));
    json_decref (settled);
    json_decref (value);
    value = s_question ("clarify", NULL, NULL);
    prompt = argos_question_prompt (value, NULL);
    assert_null (json_object_get (prompt, "options"));
    s_fits ("deliver.request", prompt);
    s_fits ("question.asked", argos_question_asked (value));
    json_decref (value);
}

static void
what_is_too_large_is_refused (void **state)
{
    (void) state;
    char *text = (char *) malloc (40001);
    assert_non_null (text);
    memset (text, 'x', 40000);
    text[40000] = 0;
    json_t *value = s_question ("clarify", NULL, NULL);
    assert_null (argos_question_settle (value, "answered", NULL, text, "u1"));
    text[4000] = 0;
    json_t *settled = argos_question_settle (value, "answered", NULL, text, "u1");
    assert_non_null (settled);
    json_decref (settled);
    json_decref (value);
    json_t *options = json_array ();
    for (int i = 0; i < 9; i++)
        json_array_append_new (options, json_pack ("{s:s, s:s}", "id", "a", "label", "A"));
    assert_null (s_question ("clarify", options, NULL));
    free (text);
}

//  Whatever a question has, its end fits: who has answered, and what.

static void
a_question_that_was_taken_can_be_ended (void **state)
{
    (void) state;
    char by[256], choice[ARGOS_QUESTION_OPTION];
    memset (by, 1, sizeof by);
    memset (choice, 1, sizeof choice);
    by[sizeof by - 1] = choice[sizeof choice - 1] = 0;
    bool taken = false, refused = false;
    for (size_t users = 100; users < 150; users++) {
        json_t *allowed = json_array ();
        for (size_t i = 0; i < users; i++)
            json_array_append_new (allowed, json_sprintf ("%0*zu", 255, i));
        json_t *value =
            s_question ("clarify", json_pack ("[{s:s, s:s}]", "id", choice, "label", "A"), allowed);
        json_t *answered = argos_question_settle (value, "answered", choice, "", by);
        assert_true ((value == NULL) == (answered == NULL));
        taken = taken || value;
        refused = refused || !value;
        json_decref (answered);
        json_decref (value);
    }
    assert_true (taken && refused);
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (ids_and_hashes_depend_on_what_they_name),
        cmocka_unit_test (a_button_names_its_question),
        cmocka_unit_test (only_what_fits_answers),
        cmocka_unit_test (a_text_means_an_option),
        cmocka_unit_test (an_open_question_takes_any_text),
        cmocka_unit_test (what_goes_out_fits_its_schema),
        cmocka_unit_test (what_is_too_large_is_refused),
        cmocka_unit_test (a_question_that_was_taken_can_be_ended),
    };
    char reason[256];
    if (argos_schema_init (reason) != 0) {
        fprintf (stderr, "%s\n", reason);
        return 1;
    }
    int failed = cmocka_run_group_tests (tests, NULL, NULL);
    argos_schema_term ();
    return failed;
}
