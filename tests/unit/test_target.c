//  What people call a chat, and where it is.

#include "argos_target.h"

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

#define CHANNEL(account, type, chat, more, name)                                                   \
    "{'key':'k','value':{'source':{'platform':'test','account':'" account "','chat_type':'" type   \
    "','chat_id':'" chat "'" more "},'name':'" name "'}}"
#define CHANNELS                                                                                   \
    "[" CHANNEL ("main", "dm", "42", ",'user_id':'ann'", "Ann") "," CHANNEL (                      \
        "main", "group", "-7", ",'scope_id':'Acme'", "general") "," CHANNEL ("main", "forum",      \
        "-7", ",'thread_id':'3'",                                                                  \
        "Deploys") "," CHANNEL ("main", "group", "-8", "", "gardening") "," CHANNEL ("main",       \
        "group", "!room:server", "", "matrix") "," CHANNEL ("two", "group", "-9", "",              \
        "twin") "," CHANNEL ("main", "group", "-10", "", "twin") "]"
#define HOMES                                                                                      \
    "[{'key':'test','value':{'source':{'platform':'test','account':'main','chat_type':'dm','chat_" \
    "id':'42'}}}]"
#define ALIASES                                                                                    \
    "[{'key':'ops','value':{'target':'test:#deploys'}},{'key':'loop','value':{'target':'loop'}}]"
#define CONFIG                                                                                     \
    "{'platforms':{'irc':{'home_channel':{'chat_id':'#argos','name':'Argos'}},"                    \
    "'other':{'home_channel':{'chat_id':-5,'thread_id':9}},'bare':{}}}"
#define ORIGIN "{'platform':'other','account':'x','chat_id':'99','chat_type':'dm'}"

static const struct {
    const char *list, *found; //  What is named; chats, or the reason
} s_rows[] = {
    { "test:42", "test.main:42" },
    { "test:999", "test.main:999" },
    { "test:999:5", "test.main:999:5" },
    { "test.two:999", "test.two:999" },
    { "test:-7", "test.main:-7" },
    { "test:-7:3", "test.main:-7:3" },
    { "test:!room:server", "test.main:!room:server" },
    { "test:#general", "test.main:-7" },
    { "test:GENERAL", "test.main:-7" },
    { "test:acme/general", "test.main:-7" },
    { "test:gard", "test.main:-8" },
    { "test:g", "several chats are called \"g\"" },
    { "test:twin", "several chats are called \"twin\"" },
    { "test.two:twin", "test.two:-9" },
    { "test:nobody", "there is no chat \"nobody\"" },
    { "test:#x1", "there is no chat \"#x1\"" },
    { "ops", "test.main:-7:3" },
    { "OPS", "test.main:-7:3" },
    { "loop", "\"loop\" has no home" },
    { "test", "test.main:42" },
    { "irc", "irc.main:#argos" },
    { "other", "other.main:-5:9" },
    { "bare", "\"bare\" has no home" },
    { "all", "test.main:42 irc.main:#argos other.main:-5:9" },
    { "home", "other.main:-5:9" },
    { "origin", "other.x:99" },
    { "origin,test:42, test ,ops", "other.x:99 test.main:42 test.main:-7:3" },
    { "test:42,test:nobody", "there is no chat \"nobody\"" },
    { "api_server:1", "nothing can be sent to that platform" },
    { "Test:1", "\"Test:1\" is no target" },
    { "test:", "\"test:\" names no chat" },
    { ",", "no target is named" },
    { "", "no target is named" },
    { "test:1,test:2,test:3,test:4,test:5,test:6,test:7,test:8,test:9", "more than 8 targets" },
};

//  The chats of an answer, or the reason, to target.

static void
s_shown (const json_t *found, const char *reason, char *target, size_t size)
{
    size_t index, length = 0;
    json_t *source;
    snprintf (target, size, "%s", reason);
    json_array_foreach (found, index, source) {
        const char *thread = json_string_value (json_object_get (source, "thread_id"));
        length += (size_t) snprintf (target + length, size - length, "%s%s.%s:%s%s%s",
            index ? " " : "", json_string_value (json_object_get (source, "platform")),
            json_string_value (json_object_get (source, "account")),
            json_string_value (json_object_get (source, "chat_id")), thread ? ":" : "",
            thread ? thread : "");
    }
}

static void
a_target_is_one_chat_or_none (void **state)
{
    (void) state;
    json_t *config = s_json (CONFIG);
    argos_target_book_t book = { .config = config,
        .homes = s_json (HOMES),
        .channels = s_json (CHANNELS),
        .aliases = s_json (ALIASES),
        .origin = s_json (ORIGIN) };
    for (size_t i = 0; i < sizeof s_rows / sizeof *s_rows; i++) {
        char reason[256], shown[1024];
        json_t *found = argos_target_resolve (&book, s_rows[i].list, reason, sizeof reason);
        s_shown (found, reason, shown, sizeof shown);
        if (strcmp (shown, s_rows[i].found) != 0)
            fail_msg ("%s: %s", s_rows[i].list, shown);
        json_decref (found);
    }
    json_decref (config);
    json_decref (book.homes);
    json_decref (book.channels);
    json_decref (book.aliases);
    json_decref (book.origin);
}

static void
without_anything_known_there_is_no_home (void **state)
{
    (void) state;
    static const char *const words[] = { "origin", "home", "all", "test" };
    argos_target_book_t book = { .config = NULL };
    for (size_t i = 0; i < 4; i++) {
        char reason[256];
        assert_null (argos_target_resolve (&book, words[i], reason, sizeof reason));
        assert_non_null (strstr (reason, "home"));
    }
}

static void
the_record_of_a_chat_says_what_it_is_called (void **state)
{
    (void) state;
    json_t *source = s_json ("{'platform':'test','account':'main','chat_type':'dm','chat_id':'a:b',"
                             "'user_name':'Ann','chat_topic':'long'}");
    json_t *record = argos_target_record (source);
    assert_string_equal (json_string_value (json_object_get (record, "key")), "test:main:a%3Ab");
    const json_t *value = json_object_get (record, "value");
    assert_string_equal (json_string_value (json_object_get (value, "name")), "Ann");
    assert_null (json_object_get (json_object_get (value, "source"), "chat_topic"));
    json_decref (record);
    json_object_set_new (source, "platform", json_string ("api_server"));
    assert_null (argos_target_record (source));
    json_decref (source);
}

static void
an_alias_is_a_word_of_its_own (void **state)
{
    (void) state;
    static const char *const good[] = { "ops", "my-chat", "Ünter" };
    static const char *const bad[] = { "", "all", "Home", "origin", "a b", "a,b", "test:1", "#a" };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_true (argos_target_alias_valid (good[i]));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false (argos_target_alias_valid (bad[i]));
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (a_target_is_one_chat_or_none),
        cmocka_unit_test (without_anything_known_there_is_no_home),
        cmocka_unit_test (the_record_of_a_chat_says_what_it_is_called),
        cmocka_unit_test (an_alias_is_a_word_of_its_own),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
