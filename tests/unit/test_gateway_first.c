//  test_gateway_first - whom the notice about /sethome is for, as a table.

#include "argos_first.h"
#include "gateway_kit.h"

#include <stdio.h>
#include <string.h>

#define ON "'gateway':{'home_notice':true}"
#define NEW "{'route':null,'session':null}"
#define OLD "{'route':{'key':'k','session_id':'s1','version':1},'session':{'id':'s1'}}"
#define NONE "{'record':null}"
#define SOME "{'record':{'version':1,'value':{}}}"

static const struct {
    const char *config;              //  Settings
    const char *platform, *more;     //  Where, and more members of the message
    const char *route, *told, *home; //  What is read
    int reads;                       //  Records that are asked for
    bool says;                       //  Whether people are told
} s_rows[] = {
    { "{" ON "}", "test", "", NEW, NONE, NONE, 2, true },
    { "{" ON "}", "test", "", NEW, SOME, NONE, 1, false }, //  Once
    { "{" ON "}", "test", "", NEW, NONE, SOME, 2, false }, //  /sethome was said before
    { "{" ON "}", "test", "", OLD, NONE, NONE, 0, false }, //  No new conversation
    { "{'gateway':{'home_notice':false}}", "test", "", NEW, NONE, NONE, 0, false },
    { "{" ON ",'platforms':{'test':{'home_channel':{'chat_id':'7'}}}}", "test", "", NEW, NONE, NONE,
        0, false },
    { "{" ON ",'platforms':{'slack':{'home_channel':{'chat_id':'7'}}}}", "test", "", NEW, NONE,
        NONE, 2, true },
    { "{" ON ",'platforms':{'test':{'allow_admin_from':['boss']}}}", "test", "", NEW, NONE, NONE, 0,
        false }, //  Whoever may not use /sethome
    { "{" ON ",'platforms':{'test':{'allow_admin_from':['ann']}}}", "test", "", NEW, NONE, NONE, 2,
        true },
    { "{" ON "}", "api_server", "", NEW, NONE, NONE, 0, false },
    { "{" ON "}", "webhook", "", NEW, NONE, NONE, 0, false },
    { "{" ON "}", "local", "", NEW, NONE, NONE, 0, false },
    { "{" ON "}", "test", ",'internal':true", NEW, NONE, NONE, 0, false },
};

static void
every_row_of_who_is_told (void **state)
{
    (void) state;
    for (size_t i = 0; i < sizeof s_rows / sizeof *s_rows; i++) {
        char text[512];
        gate_t self;
        json_t *parts = json_array (), *question;
        snprintf (text, sizeof text,
            "{'source':{'platform':'%s','account':'main','chat_type':'dm','chat_id':'c1',"
            "'user_id':'ann'},'text':'hello'%s}",
            s_rows[i].platform, s_rows[i].more);
        gate_begin (&self, s_rows[i].config, text);
        gate_fact (&self, ARGOS_FACT_ROUTE, s_rows[i].route);
        int reads = 0;
        argos_fact_t fact;
        while ((fact = argos_fact_next (&self.gateway, argos_first_needs (&self.gateway), 0,
                    &question)) != ARGOS_FACTS) {
            json_decref (question);
            gate_fact (&self, fact, fact == ARGOS_FACT_HOME ? s_rows[i].home : s_rows[i].told);
            reads++;
        }
        argos_first_step (&self.gateway, parts);
        if (reads != s_rows[i].reads || json_array_size (parts) != (s_rows[i].says ? 2 : 0))
            fail_msg ("row %zu: %d reads, %zu parts", i, reads, json_array_size (parts));
        gate_end (&self, parts);
    }
}

int
main (void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test (every_row_of_who_is_told) };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
