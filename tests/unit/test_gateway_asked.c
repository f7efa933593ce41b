//  What a message does to the questions of its session: who may answer, how, what comes first, what
//  is cancelled.

#include "argos_asked.h"
#include "argos_question.h"
#include "gateway_kit.h"

#include <stdio.h>
#include <string.h>

#define ROUTE                                                                                      \
    "{'route':{'key':'k','session_id':'s1','version':3},'session':{'id':'s1','message_count':4,"   \
    "'version':9}}"
#define PARKED "{'messages':[{'type':'turn.request','id':'run_1'}]}"
#define FREE "{'messages':[]}"
#define RECORD(id, kind, options, state, at, more)                                                 \
    "{'key':'s1/q_" id "','version':7,'updated_at':" at ",'value':{'id':'q_" id "','kind':'" kind  \
    "','session_id':'s1','run_id':'run_1','call_id':'c'"                                           \
    ",'text':'?','options':" options ",'source':{},'deadline':1764288060000,'state':'" state       \
    "'" more "}}"
#define FOUR                                                                                       \
    "[{'id':'once','label':'Allow once'},{'id':'session','label':'Session'},"                      \
    "{'id':'always','label':'Always'},{'id':'deny','label':'Deny'}]"
#define TWO "[{'id':'once','label':'Allow once'},{'id':'deny','label':'Deny'}]"
#define COLOURS "[{'id':'o1','label':'Red'},{'id':'o2','label':'Green'}]"
#define A1 RECORD ("aaaaaaaaaaaa", "approval", FOUR, "open", "1764288000100", "")
#define A2 RECORD ("000000000000", "approval", FOUR, "open", "1764288000110", "")
#define OLD RECORD ("aaaaaaaaaaaa", "approval", FOUR, "answered", "1764288000100", ",'by':'bob'")
#define OLD_MINE                                                                                   \
    RECORD ("aaaaaaaaaaaa", "approval", FOUR, "answered", "1764288000100", ",'by':'ann'")
#define NARROW RECORD ("aaaaaaaaaaaa", "approval", TWO, "open", "1764288000100", "")
#define BOBS                                                                                       \
    RECORD ("aaaaaaaaaaaa", "approval", FOUR, "open", "1764288000100", ",'allowed':['bob']")
#define ANNS                                                                                       \
    RECORD ("aaaaaaaaaaaa", "approval", FOUR, "open", "1764288000100", ",'allowed':['ann']")
#define COLOUR RECORD ("cccccccccccc", "clarify", COLOURS, "open", "1764288000120", "")
#define BOBS_COLOUR                                                                                \
    RECORD ("cccccccccccc", "clarify", COLOURS, "open", "1764288000120", ",'allowed':['bob']")
#define WORDS RECORD ("dddddddddddd", "clarify", "[]", "open", "1764288000120", "")
#define LIST(records) "{'records':[" records "]}"
#define ANSWER "record.put question.answer"
#define TURN "expect run.create expect turn.request out.state"

//  What becomes of a text of ann; facts[i] NULL = nothing came. New parts.

static json_t *
s_say (gate_t *self, const char *config, const char *text, const char *const *facts)
{
    gate_say (self, config, "test", text);
    gate_read (self, facts);
    return argos_gateway_decide (&self->gateway);
}

static const char *
s_text (const json_t *object, const char *name)
{
    const char *text = json_string_value (json_object_get (object, name));
    return text ? text : "";
}

#define CONFIRM                                                                                    \
    "{'record':{'version':2,'updated_at':%s,'value':{'command':'new','arguments':'','user':'ann'}" \
    "}}"

static const struct {
    const char *text, *asked; //  What is said, and the questions
    const char *types;        //  Parts expected
    const char *words;        //  In the answer to the chat
    const char *id, *choice;  //  Of the answer to the turn, "" = there is none
} s_rows[] = {
    //  Commands: the oldest, or all; never wider than asked for
    { "/approve", LIST (A1), ANSWER " deliver.request", "✅ Command approved.", "q_aaaaaaaaaaaa",
        "once" },
    { "/approve", LIST (A2 "," A1), ANSWER " deliver.request", "✅ Command approved.",
        "q_aaaaaaaaaaaa", "once" },
    { "/approve session", LIST (A1), ANSWER " deliver.request", "for this session",
        "q_aaaaaaaaaaaa", "session" },
    { "/approve always", LIST (A1), ANSWER " deliver.request", "for good", "q_aaaaaaaaaaaa",
        "always" },
    { "/approve all", LIST (A1 "," A2), ANSWER " " ANSWER " deliver.request", "approved (2)",
        "q_aaaaaaaaaaaa", "once" },
    { "/approve all session", LIST (A1 "," A2), ANSWER " " ANSWER " deliver.request",
        "for this session (2)", "q_aaaaaaaaaaaa", "session" },
    { "/approve always", LIST (NARROW), "deliver.request", "none of the choices", "", "" },
    { "/approve please", LIST (A1), "deliver.request", "Usage: /approve", "", "" },
    { "/approve", LIST (COLOUR), "deliver.request", "Nothing is waiting", "", "" },
    { "/approve", LIST (OLD), "deliver.request", "Somebody was faster", "", "" },
    { "/approve", LIST (OLD_MINE), "deliver.request", "Nothing is waiting", "", "" },
    { "/approve", LIST (BOBS), "deliver.request", "for somebody else", "", "" },
    { "/approve", LIST (ANNS), ANSWER " deliver.request", "✅", "q_aaaaaaaaaaaa", "once" },
    { "/deny", LIST (A1), ANSWER " deliver.request", "❌ Command denied.", "q_aaaaaaaaaaaa",
        "deny" },
    { "/deny all too risky", LIST (A1 "," A2), ANSWER " " ANSWER " deliver.request", "denied (2)",
        "q_aaaaaaaaaaaa", "deny" },
    //  Words count only while an approval waits
    { "Go ahead!", LIST (A1), ANSWER " deliver.request", "✅", "q_aaaaaaaaaaaa", "once" },
    { "always", LIST (A1), ANSWER " deliver.request", "for good", "q_aaaaaaaaaaaa", "always" },
    { "no", LIST (A1), ANSWER " deliver.request", "❌", "q_aaaaaaaaaaaa", "deny" },
    { "yes", LIST (BOBS), TURN, "", "", "" },
    { "yes", LIST (OLD), TURN, "", "", "" },
    { "yes please", LIST (A1), TURN, "", "", "" },
    //  Buttons answer their own question
    { "q_aaaaaaaaaaaa:session", LIST (A2 "," A1), ANSWER " deliver.request", "for this session",
        "q_aaaaaaaaaaaa", "session" },
    { "q_aaaaaaaaaaaa:deny", LIST (A1), ANSWER " deliver.request", "❌", "q_aaaaaaaaaaaa", "deny" },
    { "q_aaaaaaaaaaaa:once", LIST (OLD "," A2), "deliver.request", "Somebody was faster", "", "" },
    { "q_aaaaaaaaaaaa:once", LIST (BOBS), "deliver.request", "for somebody else", "", "" },
    { "q_aaaaaaaaaaaa:always", LIST (NARROW), "deliver.request", "none of the choices", "", "" },
    { "q_bbbbbbbbbbbb:once", LIST (A1), "deliver.request", "not open any more", "", "" },
    { "q_cccccccccccc:o2", LIST (COLOUR), ANSWER, "", "q_cccccccccccc", "o2" },
    //  A clarify takes the next text: a number, a label, or what is said
    { "2", LIST (COLOUR), ANSWER, "", "q_cccccccccccc", "o2" },
    { "green", LIST (COLOUR), ANSWER, "", "q_cccccccccccc", "o2" },
    { "rather blue", LIST (COLOUR), ANSWER, "", "q_cccccccccccc", "" },
    { "the one at the door", LIST (WORDS), ANSWER, "", "q_dddddddddddd", "" },
    { "green", LIST (BOBS_COLOUR), TURN, "", "", "" },
    { "yes", LIST (COLOUR "," A1), ANSWER " deliver.request", "✅", "q_aaaaaaaaaaaa", "once" },
    { "red", LIST (COLOUR "," A1), ANSWER, "", "q_cccccccccccc", "o1" },
    { "hello", LIST (""), TURN, "", "", "" },
};

#define F(name, value) [ARGOS_FACT_##name] = value

static void
each_text_answers_what_it_means (void **state)
{
    (void) state;
    for (size_t i = 0; i < sizeof s_rows / sizeof *s_rows; i++) {
        char types[512];
        gate_t self;
        const char *facts[ARGOS_FACTS] = { F (ROUTE, ROUTE), F (LANE, PARKED),
            F (ASKED, s_rows[i].asked) };
        json_t *parts = s_say (&self, GATE_OPEN, s_rows[i].text, facts);
        const json_t *answer = gate_body (parts, "question.answer"),
                     *put = gate_body (parts, "record.put");
        gate_types (parts, types, sizeof types);
        if (strcmp (types, s_rows[i].types) != 0 || !strstr (gate_told (parts), s_rows[i].words))
            fail_msg ("row %zu: %s made %s: %s", i, s_rows[i].text, types, gate_told (parts));
        assert_string_equal (s_text (answer, "question_id"), s_rows[i].id);
        assert_string_equal (s_text (answer, "choice"), s_rows[i].choice);
        if (*s_rows[i].id) {
            const json_t *value = json_object_get (put, "value");
            assert_string_equal (s_text (answer, "by"), "ann");
            assert_string_equal (s_text (value, "state"), "answered");
            assert_string_equal (s_text (value, "choice"), s_rows[i].choice);
            assert_string_equal (s_text (value, "answer"), s_text (answer, "text"));
            assert_int_equal (json_integer_value (json_object_get (put, "version")), 7);
        }
        gate_end (&self, parts);
    }
}

//  Questions of tasks of this chat, and of another one

#define TASK(id, options, chat)                                                                    \
    "{'key':'bg_1/q_" id "','version':7,'updated_at':1764288000120,'value':{'id':'q_" id           \
    "','kind':'clarify','session_id':'bg_1','run_id':'run_2','call_id':'c','text':'?','options'"   \
    ":" options ",'source':{'platform':'test','account':'main','chat_type':'dm','chat_id':'" chat  \
    "','user_id':'ann'},'deadline':1764288060000,'state':'open'}}"
#define WITH_TASKS                                                                                 \
    "{'route':{'key':'k','session_id':'s1','version':3},'session':{'id':'s1','message_count':4,"   \
    "'version':9},'tasks':true}"

static void
a_text_answers_what_a_task_asks_here (void **state)
{
    (void) state;
    static const struct {
        const char *route, *text, *asked, *tasks; //  What is known, and what is said
        const char *types, *id, *choice;          //  Expected
    } rows[] = {
        { WITH_TASKS, "green", LIST (""), LIST (TASK ("eeeeeeeeeeee", COLOURS, "c1")),
            ANSWER " deliver.request", "q_eeeeeeeeeeee", "o2" },
        { WITH_TASKS, "1", LIST (""), LIST (TASK ("eeeeeeeeeeee", COLOURS, "c1")),
            ANSWER " deliver.request", "q_eeeeeeeeeeee", "o1" },
        //  What it does not offer is said to the session
        { WITH_TASKS, "rather blue", LIST (""), LIST (TASK ("eeeeeeeeeeee", COLOURS, "c1")), TURN,
            "", "" },
        { WITH_TASKS, "the one at the door", LIST (""), LIST (TASK ("eeeeeeeeeeee", "[]", "c1")),
            ANSWER " deliver.request", "q_eeeeeeeeeeee", "" },
        //  The session's own question comes first, whatever is older
        { WITH_TASKS, "green", LIST (WORDS), LIST (TASK ("eeeeeeeeeeee", COLOURS, "c1")), ANSWER,
            "q_dddddddddddd", "" },
        //  Asked elsewhere, or nowhere
        { WITH_TASKS, "green", LIST (""), LIST (TASK ("eeeeeeeeeeee", COLOURS, "c2")), TURN, "",
            "" },
        { ROUTE, "green", LIST (""), LIST (TASK ("eeeeeeeeeeee", COLOURS, "c1")), TURN, "", "" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char types[512];
        gate_t self;
        const char *facts[ARGOS_FACTS] = { F (ROUTE, rows[i].route), F (LANE, PARKED),
            F (ASKED, rows[i].asked), F (ASKED_TASKS, rows[i].tasks) };
        json_t *parts = s_say (&self, GATE_OPEN, rows[i].text, facts);
        const json_t *answer = gate_body (parts, "question.answer");
        gate_types (parts, types, sizeof types);
        if (strcmp (types, rows[i].types) != 0)
            fail_msg ("row %zu: %s made %s", i, rows[i].text, types);
        assert_string_equal (s_text (answer, "question_id"), rows[i].id);
        assert_string_equal (s_text (answer, "choice"), rows[i].choice);
        gate_end (&self, parts);
    }
}

//  A turn of the session that waits is still the one that runs, whatever a task asks.

static void
a_task_that_asks_hides_no_turn_that_waits (void **state)
{
    (void) state;
    gate_t self;
    const char *facts[ARGOS_FACTS] = { F (ROUTE, WITH_TASKS), F (LANE, PARKED),
        F (ASKED, LIST (A1)), F (ASKED_TASKS, LIST (TASK ("eeeeeeeeeeee", COLOURS, "c1"))) };
    json_t *parts = s_say (&self,
        "{'gateway':{'allow_all_users':true},'display':{'busy_input_mode':'interrupt'}}",
        "something else", facts);
    assert_string_equal (s_text (gate_body (parts, "turn.stop"), "run_id"), "run_1");
    gate_end (&self, parts);
}

static void
the_reason_of_a_denial_goes_to_the_model_cut (void **state)
{
    (void) state;
    char text[400] = "/deny ";
    gate_t self;
    const char *facts[ARGOS_FACTS] = { F (ROUTE, ROUTE), F (LANE, PARKED), F (ASKED, LIST (A1)) };
    memset (text + 6, 'x', 300);
    json_t *parts = s_say (&self, GATE_OPEN, text, facts);
    assert_int_equal (strlen (s_text (gate_body (parts, "question.answer"), "text")), 280);
    gate_end (&self, parts);
    for (char *at = text + 6; at < text + 306; at += 2)
        memcpy (at, "é", 2);
    parts = s_say (&self, GATE_OPEN, text, facts); //  150 characters
    assert_int_equal (strlen (s_text (gate_body (parts, "question.answer"), "text")), 300);
    gate_end (&self, parts);
}

static void
what_stops_a_session_closes_its_questions (void **state)
{
    (void) state;
    static const char *const stops[] = { "/stop", "/new" };
    for (size_t i = 0; i < 2; i++) {
        gate_t self;
        char types[512];
        const char *facts[ARGOS_FACTS] = { F (ROUTE, ROUTE), F (LANE, PARKED),
            F (ASKED, LIST (A1 "," OLD "," COLOUR)),
            F (SETTING, "{'record':{'version':2,'value':{'chat':{'confirm':false}}}}") };
        json_t *parts = s_say (&self, GATE_OPEN, stops[i], facts);
        gate_types (parts, types, sizeof types);
        assert_string_equal (
            types, i ? "record.put record.put expect route.reset record.put deliver.request"
                     : "turn.stop record.put record.put deliver.request");
        const json_t *put = gate_body (parts, "record.put");
        assert_string_equal (s_text (put, "key"), "s1/q_aaaaaaaaaaaa");
        assert_string_equal (s_text (json_object_get (put, "value"), "state"), "cancelled");
        gate_end (&self, parts);
    }
}

static void
a_word_answers_what_was_asked_last (void **state)
{
    (void) state;
    char confirm[256];
    for (int i = 0; i < 2; i++) {
        gate_t self;
        snprintf (confirm, sizeof confirm, CONFIRM, i ? "1764288000105" : "1764288000050");
        const char *facts[ARGOS_FACTS] = { F (ROUTE, ROUTE), F (LANE, PARKED),
            F (QUESTION, confirm), F (ASKED, LIST (A1)) };
        json_t *parts = s_say (&self, GATE_OPEN, "/approve", facts);
        assert_int_equal (gate_body (parts, "route.reset") != NULL, i);
        assert_int_equal (gate_body (parts, "question.answer") != NULL, !i);
        gate_end (&self, parts);
    }
}

static void
who_may_not_use_the_command_can_not_press_its_button (void **state)
{
    (void) state;
    static const char *const texts[] = { "/approve", "q_aaaaaaaaaaaa:once", "yes" };
    for (size_t i = 0; i < 3; i++) {
        gate_t self;
        const char *facts[ARGOS_FACTS] = { F (ROUTE, ROUTE), F (LANE, PARKED),
            F (ASKED, LIST (A1)) };
        json_t *parts = s_say (&self,
            "{'gateway':{'allow_all_users':true},'platforms':{'test':{'allow_admin_from':['bob']}}"
            "}",
            texts[i], facts);
        assert_null (gate_body (parts, "question.answer"));
        assert_int_equal (strstr (gate_told (parts), "⛔") != NULL, i < 2);
        gate_end (&self, parts);
    }
}

static void
a_turn_that_waits_for_people_is_interrupted_and_never_steered (void **state)
{
    (void) state;
    static const struct {
        const char *mode, *types; //  The setting, and what a text makes
    } rows[] = { { "interrupt", TURN " turn.stop" }, { "steer", TURN }, { "queue", TURN } };
    for (size_t i = 0; i < 3; i++) {
        gate_t self;
        char config[256], types[512];
        const char *facts[ARGOS_FACTS] = { F (ROUTE, ROUTE), F (LANE, PARKED),
            F (ASKED, LIST (A1)) };
        snprintf (config, sizeof config,
            "{'gateway':{'allow_all_users':true},'display':{'busy_input_mode':'%s'}}",
            rows[i].mode);
        json_t *parts = s_say (&self, config, "something else", facts);
        gate_types (parts, types, sizeof types);
        assert_string_equal (types, rows[i].types);
        gate_end (&self, parts);
    }
}

static void
what_is_over_or_comes_with_files_is_no_answer (void **state)
{
    (void) state;
    gate_t self;
    const char *facts[ARGOS_FACTS] = { F (ROUTE, ROUTE), F (LANE, FREE), F (ASKED, LIST (A1)) };
    json_t *parts = s_say (&self, GATE_OPEN, "yes", facts); //  Nothing in the lane: nobody asks
    assert_null (gate_body (parts, "question.answer"));
    gate_end (&self, parts);
    static const char late[] =
        "{'records':[{'key':'s1/q_aaaaaaaaaaaa','version':1,'updated_at':1,'value':{'id':"
        "'q_aaaaaaaaaaaa','kind':'clarify','session_id':'s1','run_id':'run_1','call_id':'c','text':"
        "'?','options':[],'source':{},'deadline':1764288000123,'state':'open'}}]}";
    const char *expired[ARGOS_FACTS] = { F (ROUTE, ROUTE), F (LANE, PARKED), F (ASKED, late) };
    parts = s_say (&self, GATE_OPEN, "an answer", expired);
    assert_null (gate_body (parts, "question.answer"));
    assert_non_null (gate_body (parts, "turn.request"));
    gate_end (&self, parts);
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (each_text_answers_what_it_means),
        cmocka_unit_test (a_text_answers_what_a_task_asks_here),
        cmocka_unit_test (a_task_that_asks_hides_no_turn_that_waits),
        cmocka_unit_test (the_reason_of_a_denial_goes_to_the_model_cut),
        cmocka_unit_test (what_stops_a_session_closes_its_questions),
        cmocka_unit_test (a_word_answers_what_was_asked_last),
        cmocka_unit_test (who_may_not_use_the_command_can_not_press_its_button),
        cmocka_unit_test (a_turn_that_waits_for_people_is_interrupted_and_never_steered),
        cmocka_unit_test (what_is_over_or_comes_with_files_is_no_answer),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
