//  test_gateway_edited - which turn an edited message takes the place of, as a table.

#include "argos_edited.h"
#include "gateway_kit.h"

#include <stdio.h>
#include <string.h>

#define ROUTE                                                                                      \
    "{'route':{'key':'k','session_id':'s1','version':1},'session':{'id':'s1','ended_at':null}}"
#define MESSAGE(more)                                                                              \
    "{'source':{'platform':'test','account':'main','chat_type':'dm','chat_id':'c1',"               \
    "'user_id':'u'},'message_id':'2','text':'new'" more "}"
#define TURN "'seq':5,'type':'turn.request','id':'%s','side':%s,'attempt':%d,'body':{'text':'%s'%s}"
#define STOP ",{'seq':6,'type':'turn.stop','id':'x','side':true,'attempt':0,'body':{'run_id':'%s'}}"

static const struct {
    const char *old;  //  Text of the turn that is there
    const char *side; //  Whether it is a side message
    const char *made; //  It was made of an edit of this message; NULL = of the message itself
    int attempt;      //  How often it was begun
    bool stopped;     //  A stop for it waits
    bool replaced;    //  The edit takes its place
} s_rows[] = {
    { "old", "false", NULL, 0, false, true },
    { "new", "false", NULL, 0, false, false }, //  The preview of a link has come
    { "old", "false", NULL, 1, false, false }, //  It has begun
    { "old", "true", NULL, 0, false, false },  //  It was given to the turn at work
    { "old", "false", NULL, 0, true, false },  //  Another edit has taken its place
    { "old", "false", "main:c1:2", 0, false, true },
    { "new", "false", "main:c1:2", 0, false, false }, //  Told once more
    { "old", "false", "main:c1:2", 1, false, false },
    { "old", "false", "main:c1:2", 0, true, false },
    { "old", "false", "main:c1:1", 0, false, false }, //  Of another message
};

static void
each_row_of_the_table_holds (void **state)
{
    (void) state;
    for (size_t i = 0; i < sizeof s_rows / sizeof *s_rows; i++) {
        char run[ARGOS_RUN_ID_SIZE], lane[1024], stop[256] = "", made[64] = "";
        gate_t self;
        json_t *parts = json_array ();
        gate_begin (&self, GATE_OPEN, MESSAGE (",'edits':'main:c1:2'"));
        argos_gateway_case_t before = self.gateway;
        before.id = "main:c1:2";
        argos_gateway_run (&before, run);
        if (s_rows[i].made) {
            snprintf (made, sizeof made, ",'edits':'%s'", s_rows[i].made);
            before.id = "main:c1:2~1";
            argos_gateway_run (&before, run);
        }
        if (s_rows[i].stopped)
            snprintf (stop, sizeof stop, STOP, run);
        snprintf (lane, sizeof lane, "{'messages':[{" TURN "}%s]}", run, s_rows[i].side,
            s_rows[i].attempt, s_rows[i].old, made, stop);
        gate_fact (&self, ARGOS_FACT_ROUTE, ROUTE);
        gate_fact (&self, ARGOS_FACT_LANE, lane);
        argos_edited_step (&self.gateway, parts);
        if ((gate_part (parts, "turn.request") != NULL) != s_rows[i].replaced)
            fail_msg ("row %zu", i);
        if (s_rows[i].replaced) {
            assert_string_equal (gate_text (parts, "turn.stop", "run_id"), run);
            assert_string_equal (gate_text (parts, "turn.request", "edits"), "main:c1:2");
        }
        gate_end (&self, parts);
    }
}

int
main (void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test (each_row_of_the_table_holds) };
    return cmocka_run_group_tests_name ("gateway_edited", tests, NULL, NULL);
}
