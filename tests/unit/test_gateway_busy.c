//  test_gateway_busy - what a message does while a turn runs, as a table: mode, message, lane.

#include "argos_busy.h"
#include "gateway_kit.h"

#include <stdio.h>
#include <string.h>

#define RUN "run_0123456789abcdef0123456789abcdef"
#define ROUTE                                                                                      \
    "{'route':{'key':'k','session_id':'s1','version':1},'session':{'id':'s1','ended_at':null}}"
#define LANE(leased)                                                                               \
    "{'messages':[{'seq':1,'type':'turn.request','id':'" RUN "','leased':" leased ",'at':1}]}"

static const struct {
    const char *config;     //  Settings below display
    const char *more;       //  Members of the message
    const char *lane;       //  What is in the lane
    const char *ack;        //  Result of record.get
    const char *told;       //  What the chat is told begins with, "" = nothing
    argos_busy_t mode;      //  What it does
    bool side, stop, quiet; //  The turn is a side message; the running one is stopped, in silence
} s_rows[] = {
    { "'busy_input_mode':'interrupt','busy_ack_enabled':true", "", LANE ("true"), "{'record':null}",
        "⚡ Interrupting", ARGOS_BUSY_INTERRUPT, false, true, true },
    { "'busy_input_mode':'queue','busy_ack_enabled':true", "", LANE ("true"), "{'record':null}",
        "⏳ Queued: number 1", ARGOS_BUSY_QUEUE, false, false, false },
    { "'busy_input_mode':'steer','busy_ack_enabled':true", "", LANE ("true"), "{'record':null}",
        "⏩ Steered", ARGOS_BUSY_STEER, true, false, false },
    //  Told already, or never to be told
    { "'busy_input_mode':'interrupt','busy_ack_enabled':true", "", LANE ("true"),
        "{'record':{'version':4}}", "", ARGOS_BUSY_INTERRUPT, false, true, true },
    { "'busy_input_mode':'steer','busy_ack_enabled':false", "", LANE ("true"), "{'record':null}",
        "", ARGOS_BUSY_STEER, true, false, false },
    //  Nothing runs, or what is there only waits
    { "'busy_input_mode':'interrupt','busy_ack_enabled':true", "", "{'messages':[]}",
        "{'record':null}", "", ARGOS_BUSY_IDLE, false, false, false },
    { "'busy_input_mode':'steer','busy_ack_enabled':true", "", LANE ("false"), "{'record':null}",
        "", ARGOS_BUSY_IDLE, false, false, false },
    //  Others work for it meanwhile
    { "'busy_input_mode':'interrupt','busy_ack_enabled':true", "", LANE ("false,'parked':true"),
        "{'record':null}", "⏳", ARGOS_BUSY_QUEUE, false, false, false },
    { "'busy_input_mode':'steer','busy_ack_enabled':true", "", LANE ("false,'parked':true"),
        "{'record':null}", "⏳", ARGOS_BUSY_QUEUE, false, false, false },
    //  Files and what we say ourselves wait, whatever the mode
    { "'busy_input_mode':'steer','busy_ack_enabled':true",
        ",'attachments':[{'blob':'sha256:x','kind':'image'}]", LANE ("true"), "{'record':null}",
        "⏳", ARGOS_BUSY_QUEUE, false, false, false },
    { "'busy_input_mode':'interrupt','busy_ack_enabled':true", ",'internal':true", LANE ("true"),
        "{'record':null}", "", ARGOS_BUSY_QUEUE, false, false, false },
};

static void
each_row_of_the_table_holds (void **state)
{
    (void) state;
    for (size_t i = 0; i < sizeof s_rows / sizeof *s_rows; i++) {
        char text[512], config[256];
        gate_t self;
        json_t *parts = json_array ();
        snprintf (config, sizeof config, "{'display':{%s}}", s_rows[i].config);
        snprintf (text, sizeof text,
            "{'source':{'platform':'test','account':'main','chat_type':'dm','chat_id':'c1'},"
            "'text':'hello'%s}",
            s_rows[i].more);
        gate_begin (&self, config, text);
        gate_fact (&self, ARGOS_FACT_ROUTE, ROUTE);
        gate_fact (&self, ARGOS_FACT_LANE, s_rows[i].lane);
        gate_fact (&self, ARGOS_FACT_ACK, s_rows[i].ack);
        assert_int_equal (argos_busy_mode (&self.gateway), s_rows[i].mode);
        argos_busy_step (&self.gateway, "hello", parts);
        const json_t *turn = gate_part (parts, "turn.request"),
                     *stop = gate_part (parts, "turn.stop");
        assert_non_null (turn);
        assert_int_equal (json_is_true (json_object_get (turn, "side")), s_rows[i].side);
        assert_int_equal (stop != NULL, s_rows[i].stop);
        if (stop) {
            const json_t *order = json_object_get (stop, "body");
            assert_string_equal (json_string_value (json_object_get (order, "run_id")), RUN);
            assert_int_equal (json_is_true (json_object_get (order, "quiet")), s_rows[i].quiet);
        }
        if (strncmp (gate_told (parts), s_rows[i].told, strlen (s_rows[i].told)) != 0 ||
            (!*s_rows[i].told && *gate_told (parts)))
            fail_msg ("row %zu tells: %s", i, gate_told (parts));
        assert_int_equal (gate_part (parts, "record.put") != NULL, *s_rows[i].told != 0);
        gate_end (&self, parts);
    }
}

//  One of several is not ended by another.

static void
who_may_end_the_turn_of_a_shared_session (void **state)
{
    (void) state;
    static const struct {
        const char *type, *config; //  Kind of chat; settings beside the mode
        const char *asked;         //  Who asked for what runs, NULL = the list does not say
        bool brief;                //  The bodies are not needed
        argos_busy_t mode;         //  What a text of bob does
    } rows[] = {
        { "thread", "", "'ann'", false, ARGOS_BUSY_QUEUE },
        { "thread", "", "'bob'", false, ARGOS_BUSY_INTERRUPT },
        { "thread", "", NULL, false, ARGOS_BUSY_QUEUE },
        { "thread", ",'platforms':{'test':{'group_allow_admin_from':['bob']}}", "'ann'", false,
            ARGOS_BUSY_INTERRUPT },
        { "thread", ",'platforms':{'test':{'group_allow_admin_from':['ann']}}", "'ann'", false,
            ARGOS_BUSY_QUEUE },
        //  Where everybody has a session of his own it is his
        { "group", "", NULL, true, ARGOS_BUSY_INTERRUPT },
        { "dm", "", NULL, true, ARGOS_BUSY_INTERRUPT },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[512], config[256], lane[512];
        gate_t self;
        json_t *question;
        snprintf (
            config, sizeof config, "{'display':{'busy_input_mode':'interrupt'}%s}", rows[i].config);
        snprintf (text, sizeof text,
            "{'source':{'platform':'test','account':'main','chat_type':'%s','chat_id':'c1'%s,"
            "'user_id':'bob'},'text':'hello'}",
            rows[i].type, strcmp (rows[i].type, "thread") == 0 ? ",'thread_id':'t'" : "");
        snprintf (lane, sizeof lane,
            "{'messages':[{'seq':1,'type':'turn.request','id':'" RUN
            "','leased':true,'at':1%s%s%s}]}",
            rows[i].asked ? ",'body':{'source':{'user_id':" : "",
            rows[i].asked ? rows[i].asked : "", rows[i].asked ? "}}" : "");
        gate_begin (&self, config, text);
        gate_fact (&self, ARGOS_FACT_ROUTE, ROUTE);
        argos_fact_next (&self.gateway, ARGOS_FACT_BIT (ARGOS_FACT_LANE), 0, &question);
        assert_int_equal (json_is_true (json_object_get (question, "brief")), rows[i].brief);
        json_decref (question);
        gate_fact (&self, ARGOS_FACT_LANE, lane);
        if (argos_busy_mode (&self.gateway) != rows[i].mode)
            fail_msg ("row %zu", i);
        gate_end (&self, NULL);
    }
}

static void
a_program_is_never_asked_about (void **state)
{
    (void) state;
    gate_t self;
    gate_say (&self, GATE_OPEN, "api_server", "x");
    assert_int_equal (argos_busy_needs (&self.gateway), 0);
    assert_int_equal (argos_busy_mode (&self.gateway), ARGOS_BUSY_IDLE);
    gate_end (&self, NULL);
}

//  What the route says of an empty lane is not asked again; of a session that is named it says
//  nothing.

static void
an_empty_lane_is_not_listed (void **state)
{
    (void) state;
    static const struct {
        const char *route, *more; //  Result of route.get, more members of the message
        bool asked;               //  Expected
    } rows[] = { { ROUTE, "", true },
        { "{'route':{'session_id':'s1'},'session':{'id':'s1'},'idle':true}", "", false },
        { "{'route':{'session_id':'s1'},'session':{'id':'s1'},'idle':true}", ",'session_id':'s2'",
            true } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[512];
        snprintf (text, sizeof text,
            "{'source':{'platform':'test','account':'main','chat_type':'dm','chat_id':'c1'},"
            "'text':'hello'%s}",
            rows[i].more);
        gate_t self;
        json_t *question;
        gate_begin (&self, GATE_OPEN, text);
        gate_fact (&self, ARGOS_FACT_ROUTE, rows[i].route);
        gate_fact (&self, ARGOS_FACT_SESSION, "{'session':{'id':'s2'}}");
        argos_fact_t fact =
            argos_fact_next (&self.gateway, ARGOS_FACT_BIT (ARGOS_FACT_LANE), 0, &question);
        assert_int_equal (fact == ARGOS_FACT_LANE, rows[i].asked);
        json_decref (question);
        gate_end (&self, NULL);
    }
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (each_row_of_the_table_holds),
        cmocka_unit_test (who_may_end_the_turn_of_a_shared_session),
        cmocka_unit_test (an_empty_lane_is_not_listed),
        cmocka_unit_test (a_program_is_never_asked_about),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
