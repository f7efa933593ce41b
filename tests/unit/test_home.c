//  test_home - who has said last where the home of a platform is.

#include "argos_home.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define SETTINGS "{\"platforms\":{\"test\":{\"home_channel\":%s}}}"
#define SOURCE "{\"platform\":\"test\",\"account\":\"a\",\"chat_id\":\"%s\",\"thread_id\":\"%s\"}"

static const struct {
    const char *before; //  platforms.test.home_channel when /sethome is said; NULL = nothing
    const char *chat;   //  Where it is said, NULL = nowhere
    const char *thread; //  There
    const char *now;    //  The setting now
    const char *home;   //  Chat, a slash, thread; "" = none
} s_rows[] = {
    { NULL, NULL, "", NULL, "" }, { NULL, NULL, "", "{\"chat_id\":-5,\"thread_id\":9}", "-5/9" },
    { NULL, NULL, "", "{\"name\":\"of no chat\"}", "" },
    { NULL, "1", "", NULL, "1/" },                                        //  Could not be written
    { NULL, "1", "", "{\"chat_id\":\"1\",\"thread_id\":\"\"}", "1/" },    //  Was written
    { NULL, "1", "7", "{\"chat_id\":1,\"thread_id\":7}", "1/7" },         //  As a number
    { NULL, "1", "", "{\"chat_id\":\"2\"}", "2/" },                       //  Set by hand since
    { NULL, "1", "7", "{\"chat_id\":\"1\",\"thread_id\":\"8\"}", "1/8" }, //  Another thread
    { "{\"chat_id\":-5}", "1", "", "{\"chat_id\":-5}", "1/" },            //  In the environment
    { "{\"chat_id\":-5}", "1", "", "{\"chat_id\":-6}", "-6/" },           //  Another one, since
    { "{\"chat_id\":-5}", "1", "", NULL, "1/" },                          //  Taken away since
};

static json_t *
s_settings (const char *home)
{
    char text[256];
    snprintf (text, sizeof text, SETTINGS, home ? home : "{}");
    json_t *settings = json_loads (text, 0, NULL);
    assert_non_null (settings);
    return settings;
}

static void
the_last_word_counts (void **state)
{
    (void) state;
    for (size_t i = 0; i < sizeof s_rows / sizeof *s_rows; i++) {
        char text[256], shown[64] = "";
        json_t *before = s_settings (s_rows[i].before), *now = s_settings (s_rows[i].now);
        json_t *value = NULL;
        if (s_rows[i].chat) {
            snprintf (text, sizeof text, SOURCE, s_rows[i].chat, s_rows[i].thread);
            json_t *source = json_loads (text, 0, NULL);
            value = argos_home_value (before, source);
            json_decref (source);
        }
        json_t *home = argos_home (now, "test", value);
        const char *thread = json_string_value (json_object_get (home, "thread_id"));
        if (home)
            snprintf (shown, sizeof shown, "%s/%s",
                json_string_value (json_object_get (home, "chat_id")), thread ? thread : "");
        if (strcmp (shown, s_rows[i].home) != 0)
            fail_msg ("row %zu: %s", i, shown);
        json_decref (home);
        json_decref (value);
        json_decref (before);
        json_decref (now);
    }
}

int
main (void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test (the_last_word_counts) };
    return cmocka_run_group_tests_name ("home", tests, NULL, NULL);
}
