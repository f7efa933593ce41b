//  Decisions of the gateway: for a message and what is known, exactly these parts.

#include "argos_gate.h"
#include "gateway_kit.h"

#include <stdio.h>
#include <string.h>

#define CHAT                                                                                       \
    "'source':{'platform':'test','account':'main','chat_type':'dm','chat_id':'c1','user_id':'u'}," \
    "'message_id':'m1'"
#define API "'source':{'platform':'api_server','account':'main','chat_type':'dm'}"
#define RUN "run_00112233445566778899aabbccddeeff"
#define ROUTE                                                                                      \
    "{'route':{'key':'k','session_id':'s1','version':3},'session':{'id':'s1','ended_at':null}}"
#define ENDED                                                                                      \
    "{'route':{'key':'k','session_id':'s1','version':3},'session':{'id':'s1','ended_at':5}}"
#define NOTHING "{'route':null,'session':null}"

//  A case with the body; route NULL = not read.

static void
s_begin (gate_t *self, const char *body, const char *route)
{
    gate_begin (self, GATE_OPEN, body);
    if (route)
        gate_fact (self, ARGOS_FACT_ROUTE, route);
}

//  A text at a dotted place of part number index, "" when absent.

static const char *
s_at (const json_t *parts, size_t index, const char *member, const char *inner)
{
    const json_t *value = json_object_get (json_array_get (parts, index), member);
    if (inner)
        value = json_object_get (value, inner);
    return json_string_value (value) ? json_string_value (value) : "";
}

static void
the_first_message_opens_a_session (void **state)
{
    (void) state;
    gate_t self;
    s_begin (&self, "{" CHAT ",'text':'hello'}", NULL);
    assert_int_equal (gate_next (&self), ARGOS_FACT_ROUTE);
    gate_end (&self, NULL);
    s_begin (&self, "{" CHAT ",'text':'hello'}", NOTHING);
    assert_int_equal (gate_next (&self), ARGOS_FACT_SETTING);
    gate_fact (&self, ARGOS_FACT_SETTING, "{'record':null}");
    assert_int_equal (gate_next (&self), ARGOS_FACTS);
    json_t *parts = argos_gateway_decide (&self.gateway);
    gate_assert_types (parts,
        "expect session.create route.bind record.put run.create expect turn.request out.state");
    assert_string_equal (s_at (parts, 0, "body", "key"), "agent:main:test:dm:c1");
    assert_int_equal (json_integer_value (json_object_get (
                          json_object_get (json_array_get (parts, 0), "body"), "version")),
        0);
    assert_string_equal (s_at (parts, 1, "body", "id"), "20251128_000000_11223344");
    assert_string_equal (s_at (parts, 2, "body", "session_id"), "20251128_000000_11223344");
    assert_string_equal (s_at (parts, 4, "body", "owner"), "test.main");
    assert_string_equal (s_at (parts, 6, "key", NULL), "20251128_000000_11223344");
    assert_string_equal (s_at (parts, 6, "to", NULL), "service:turn");
    assert_string_equal (s_at (parts, 6, "id", NULL), s_at (parts, 4, "body", "run_id"));
    assert_string_equal (s_at (parts, 6, "body", "deliver"), "deliver.test.main");
    assert_string_equal (s_at (parts, 6, "body", "reply_to"), "m1");
    assert_true (json_is_true (
        json_object_get (json_object_get (json_array_get (parts, 6), "body"), "new_session")));
    assert_non_null (argos_gateway_full (parts, 5));
    assert_null (argos_gateway_full (parts, 0));
    assert_null (argos_gateway_full (parts, -1));
    gate_end (&self, parts);
}

//  What depends on the message alone is asked for at the same time; the rest waits for it.

static void
what_can_be_asked_together_is (void **state)
{
    (void) state;
    static const struct {
        const char *text, *route; //  What is said, where it goes
        unsigned first, second;   //  What is asked for in the first and the second round
    } rows[] = {
#define B(name) ARGOS_FACT_BIT (ARGOS_FACT_##name)
        { "hello", "{'route':{'session_id':'s1'},'session':{'id':'s1'},'idle':true}",
            B (ROUTE) | B (SETTING), 0 },
        { "hello", ROUTE, B (ROUTE) | B (SETTING), B (LANE) },
        { "hello", NOTHING, B (ROUTE) | B (SETTING), 0 },
        { "/status", ROUTE, B (ROUTE) | B (SETTING) | B (AGENT), B (LANE) },
        { "/stop", NOTHING, B (ROUTE), 0 },
#undef B
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        gate_t self;
        unsigned rounds[2] = { 0 };
        gate_say (&self, GATE_OPEN, "test", rows[i].text);
        gate_fact (&self, ARGOS_FACT_HOOK, NULL);
        for (int round = 0; round < 2; round++) {
            argos_fact_t fact;
            json_t *question;
            while ((fact = argos_fact_next (&self.gateway, argos_gateway_needs (&self.gateway),
                        rounds[round], &question)) != ARGOS_FACTS) {
                json_decref (question);
                rounds[round] |= ARGOS_FACT_BIT (fact);
            }
            for (int bit = 0; bit < ARGOS_FACTS; bit++)
                if (rounds[round] & ARGOS_FACT_BIT (bit))
                    gate_fact (
                        &self, (argos_fact_t) bit, bit == ARGOS_FACT_ROUTE ? rows[i].route : NULL);
        }
        if (rounds[0] != rows[i].first || rounds[1] != rows[i].second)
            fail_msg ("row %zu asks for %x, then %x", i, rounds[0], rounds[1]);
        gate_end (&self, NULL);
    }
}

static void
the_next_message_joins_the_session_of_the_route (void **state)
{
    (void) state;
    gate_t self;
    s_begin (&self, "{" CHAT ",'text':'hello'}", ROUTE);
    json_t *parts = argos_gateway_decide (&self.gateway);
    gate_assert_types (parts, "expect run.create expect turn.request out.state");
    assert_int_equal (json_integer_value (json_object_get (
                          json_object_get (json_array_get (parts, 0), "body"), "version")),
        3);
    assert_string_equal (s_at (parts, 3, "key", NULL), "s1");
    gate_end (&self, parts);
    s_begin (&self, "{" CHAT ",'text':'hello'}", ENDED);
    parts = argos_gateway_decide (&self.gateway);
    gate_assert_types (
        parts, "expect route.reset record.put run.create expect turn.request out.state");
    gate_end (&self, parts);
}

//  What the model reads, and the key under which it came in, go with the turn.

static void
a_turn_says_who_speaks_and_where (void **state)
{
    (void) state;
    gate_t self;
    s_begin (&self,
        "{'source':{'platform':'test','account':'main','chat_type':'group','chat_id':'c1',"
        "'thread_id':'t','user_id':'u','user_name':'Ann'},'text':'hello','channel_prompt':'brief',"
        "'instructions':'own'}",
        ROUTE);
    json_t *parts = argos_gateway_decide (&self.gateway);
    gate_assert_types (parts, "expect run.create expect turn.request out.state");
    assert_string_equal (s_at (parts, 3, "body", "text"), "[Ann] hello");
    assert_string_equal (s_at (parts, 3, "body", "instructions"), "own\n\nbrief");
    assert_string_equal (s_at (parts, 3, "body", "route"), "agent:main:test:group:c1:t");
    assert_string_equal (s_at (parts, 1, "body", "input"), "hello");
    gate_end (&self, parts);
}

static void
files_are_bound_to_the_run (void **state)
{
    (void) state;
    gate_t self;
    s_begin (&self,
        "{" CHAT ",'text':'hello','attachments':[{'blob':'sha256:1','kind':'image'},"
        "{'blob':'sha256:2','kind':'voice'}]}",
        ROUTE);
    json_t *parts = argos_gateway_decide (&self.gateway);
    gate_assert_types (parts, "expect run.create blob.ref expect turn.request out.state");
    assert_string_equal (s_at (parts, 2, "body", "run_id"), s_at (parts, 1, "body", "run_id"));
    const json_t *blobs =
        json_object_get (json_object_get (json_array_get (parts, 2), "body"), "blobs");
    assert_int_equal (json_array_size (blobs), 2);
    assert_string_equal (json_string_value (json_array_get (blobs, 1)), "sha256:2");
    const json_t *turn = json_object_get (json_array_get (parts, 4), "body");
    assert_int_equal (json_array_size (json_object_get (turn, "attachments")), 2);
    assert_string_equal (s_at (parts, 5, "to", NULL), "topic:out.test.main");
    assert_string_equal (s_at (parts, 5, "body", "turn"), s_at (parts, 1, "body", "run_id"));
    assert_string_equal (s_at (parts, 5, "body", "state"), "queued");
    gate_end (&self, parts);
}

static void
the_same_message_makes_the_same_run_at_every_instance (void **state)
{
    (void) state;
    gate_t self;
    char first[ARGOS_RUN_ID_SIZE], second[ARGOS_RUN_ID_SIZE];
    s_begin (&self, "{" CHAT ",'text':'hello'}", NULL);
    argos_gateway_run (&self.gateway, first);
    self.gateway.from = "test.main.2@edge";
    argos_gateway_run (&self.gateway, second);
    assert_string_equal (first, second);
    assert_int_equal (strlen (first), 36);
    self.gateway.id = "other";
    argos_gateway_run (&self.gateway, second);
    assert_string_not_equal (first, second);
    gate_end (&self, NULL);
}

static void
a_run_of_the_api_keeps_its_row_and_gets_no_delivery (void **state)
{
    (void) state;
    gate_t self;
    s_begin (&self, "{" API ",'text':'/new is text here','run_id':'" RUN "'}", NULL);
    self.gateway.from = "api";
    assert_true (argos_gate_trusts (&self.gateway));
    assert_int_equal (gate_next (&self), ARGOS_FACT_SESSION);
    gate_fact (&self, ARGOS_FACT_SESSION, "{'session':null}");
    assert_int_equal (gate_next (&self), ARGOS_FACTS);
    json_t *parts = argos_gateway_decide (&self.gateway);
    gate_assert_types (parts, "session.create run.bind expect turn.request");
    assert_string_equal (s_at (parts, 0, "body", "id"), RUN);
    assert_string_equal (s_at (parts, 3, "id", NULL), RUN);
    assert_string_equal (s_at (parts, 3, "body", "deliver"), "");
    json_decref (parts);
    parts = argos_gateway_refuse (&self.gateway, "full");
    gate_assert_types (parts, "run.finish run.failed");
    assert_string_equal (s_at (parts, 1, "to", NULL), "topic:run." RUN);
    assert_true (json_is_true (json_object_get (json_array_get (parts, 1), "last")));
    gate_end (&self, parts);
}

static void
a_named_session_is_used_made_or_refused (void **state)
{
    (void) state;
    static const struct {
        const char *id, *session, *types; //  Name, what is read, expected parts
    } rows[] = {
        { "mine", "{'session':null}", "session.create run.bind expect turn.request" },
        { "mine", "{'session':{'id':'mine','ended_at':null}}", "run.bind expect turn.request" },
        { "mine", "{'session':{'id':'mine'}}", "run.bind expect turn.request" },
        { "mine", "{'session':{'id':'mine','ended_at':1}}", "run.finish run.failed" },
        { "../etc", "{'session':null}", "run.finish run.failed" },
        { "c:x", "{'session':null}", "run.finish run.failed" },
        { "a/b", "{'session':null}", "run.finish run.failed" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char body[512];
        gate_t self;
        snprintf (body, sizeof body, "{" API ",'text':'x','run_id':'" RUN "','session_id':'%s'}",
            rows[i].id);
        s_begin (&self, body, NULL);
        self.gateway.from = "api";
        gate_fact (&self, ARGOS_FACT_SESSION, rows[i].session);
        json_t *parts = argos_gateway_decide (&self.gateway);
        gate_assert_types (parts, rows[i].types);
        gate_end (&self, parts);
    }
}

static void
new_is_one_done_with_the_end_of_the_old_session (void **state)
{
    (void) state;
    gate_t self;
    s_begin (&self, "{" CHAT ",'text':'/new'}", ROUTE);
    assert_int_equal (gate_next (&self), ARGOS_FACT_SETTING);
    gate_fact (&self, ARGOS_FACT_SETTING, "{'record':null}");
    assert_int_equal (gate_next (&self), ARGOS_FACT_ASKED);
    gate_fact (&self, ARGOS_FACT_ASKED, "{'records':[]}");
    assert_int_equal (gate_next (&self), ARGOS_FACTS);
    json_t *parts = argos_gateway_decide (&self.gateway);
    gate_assert_types (parts, "expect route.reset record.put deliver.request");
    assert_string_equal (s_at (parts, 1, "body", "key"), "agent:main:test:dm:c1");
    assert_string_equal (s_at (parts, 1, "body", "id"), "20251128_000000_11223344");
    assert_string_equal (s_at (parts, 3, "to", NULL), "service:deliver.test.main");
    assert_string_equal (s_at (parts, 3, "key", NULL), "c1");
    assert_non_null (strstr (s_at (parts, 3, "body", "text"), "✨"));
    gate_end (&self, parts);
    s_begin (&self, "{" CHAT ",'text':'/new'}", NOTHING);
    parts = argos_gateway_decide (&self.gateway);
    gate_assert_types (parts, "expect session.create route.bind record.put deliver.request");
    gate_end (&self, parts);
}

static void
stop_reaches_the_lane_or_says_that_nothing_runs (void **state)
{
    (void) state;
    gate_t self;
    s_begin (&self, "{" CHAT ",'text':'/stop'}", ROUTE);
    assert_int_equal (gate_next (&self), ARGOS_FACT_LANE);
    gate_fact (&self, ARGOS_FACT_LANE, "{'messages':[{'type':'turn.request','leased':true}]}");
    json_t *parts = argos_gateway_decide (&self.gateway);
    gate_assert_types (parts, "turn.stop deliver.request");
    assert_string_equal (s_at (parts, 0, "key", NULL), "s1");
    assert_non_null (strstr (s_at (parts, 1, "body", "text"), "⚡ Stopped"));
    json_decref (parts);
    gate_fact (&self, ARGOS_FACT_LANE, "{'messages':[]}");
    parts = argos_gateway_decide (&self.gateway);
    gate_assert_types (parts, "deliver.request");
    assert_non_null (strstr (s_at (parts, 0, "body", "text"), "Nothing is running"));
    gate_end (&self, parts);
    s_begin (&self, "{" CHAT ",'text':'/stop'}", NOTHING);
    assert_int_equal (gate_next (&self), ARGOS_FACTS);
    parts = argos_gateway_decide (&self.gateway);
    gate_assert_types (parts, "deliver.request");
    gate_end (&self, parts);
}

static void
status_names_session_queue_and_rehearsal (void **state)
{
    (void) state;
    gate_t self;
    s_begin (&self, "{" CHAT ",'text':'/status'}", ROUTE);
    assert_int_equal (gate_next (&self), ARGOS_FACT_SETTING);
    gate_fact (&self, ARGOS_FACT_SETTING, "{'record':null}");
    assert_int_equal (gate_next (&self), ARGOS_FACT_LANE);
    gate_fact (&self, ARGOS_FACT_LANE,
        "{'messages':[{'type':'turn.request','leased':true},{'type':'turn.stop'},"
        "{'type':'turn.request','leased':false}]}");
    assert_int_equal (gate_next (&self), ARGOS_FACT_ASKED);
    gate_fact (&self, ARGOS_FACT_ASKED, "{'records':[]}");
    assert_int_equal (gate_next (&self), ARGOS_FACT_AGENT);
    gate_fact (
        &self, ARGOS_FACT_AGENT, "{'kind':'rehearsal','model':'echo','rehearsal':true,'turns':0}");
    json_t *parts = argos_gateway_decide (&self.gateway);
    gate_assert_types (parts, "deliver.request");
    const char *text = s_at (parts, 0, "body", "text");
    assert_non_null (strstr (text, "Session: s1"));
    assert_non_null (strstr (text, "Running: yes, queued: 1"));
    assert_non_null (strstr (text, "rehearsal: this is no model"));
    json_decref (parts);
    gate_fact (&self, ARGOS_FACT_AGENT, NULL);
    parts = argos_gateway_decide (&self.gateway);
    assert_non_null (strstr (s_at (parts, 0, "body", "text"), "the agent does not answer"));
    gate_end (&self, parts);
}

static void
help_lists_the_table_and_unknown_commands_are_said (void **state)
{
    (void) state;
    gate_t self;
    s_begin (&self, "{" CHAT ",'text':'/help'}", NOTHING);
    json_t *parts = argos_gateway_decide (&self.gateway);
    gate_assert_types (parts, "deliver.request");
    assert_non_null (strstr (s_at (parts, 0, "body", "text"), "`/new [title]` -- "));
    assert_non_null (strstr (s_at (parts, 0, "body", "text"), "(alias: `/reset`)"));
    gate_end (&self, parts);
    s_begin (&self, "{" CHAT ",'text':'/frobnicate now'}", NOTHING);
    parts = argos_gateway_decide (&self.gateway);
    gate_assert_types (parts, "deliver.request");
    assert_string_equal (s_at (parts, 0, "body", "kind"), "error");
    assert_non_null (strstr (s_at (parts, 0, "body", "text"), "/frobnicate"));
    gate_end (&self, parts);
    s_begin (&self, "{" CHAT ",'text':'/usr/bin/env?'}", ROUTE);
    parts = argos_gateway_decide (&self.gateway);
    gate_assert_types (parts, "expect run.create expect turn.request out.state");
    gate_end (&self, parts);
}

static void
a_source_without_a_valid_service_is_rejected (void **state)
{
    (void) state;
    gate_t self;
    s_begin (&self,
        "{'source':{'platform':'x','account':"
        "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa','chat_type':'dm'},"
        "'text':'x'}",
        NOTHING);
    assert_null (argos_gateway_decide (&self.gateway));
    gate_end (&self, NULL);
}

#define DELIVERY                                                                                   \
    "{'seq':7,'type':'deliver.request','id':'i','service':'deliver.pipe.main','key':'5',"

static void
a_dead_letter_is_told_to_who_waits (void **state)
{
    (void) state;
    static const struct {
        const char *notice, *types; //  Body of message.dead, expected parts
    } rows[] = {
        { "{'seq':7,'type':'turn.request','id':'" RUN "','code':'strikes','attempt':5,'body':{" CHAT
          "}}",
            "run.finish run.failed deliver.request out.state" },
        { "{'seq':7,'type':'turn.request','id':'" RUN "','code':'strikes','attempt':5}",
            "run.finish run.failed" },
        { "{'seq':7,'type':'turn.request','id':'" RUN "','code':'strikes','body':{" API "}}",
            "run.finish run.failed" },
        { "{'seq':7,'type':'message.inbound','id':'i','code':'invalid','body':{" CHAT "}}",
            "deliver.request" },
        { "{'seq':7,'type':'message.inbound','id':'i','code':'invalid','body':{" API
          ",'run_id':'" RUN "'}}",
            "run.finish run.failed" },
        { "{'seq':7,'type':'deliver.request','id':'i','code':'strikes','body':{}}", "" },
        { DELIVERY "'code':'invalid','body':{'kind':'answer','text':'x','chat_id':'5'}}",
            "deliver.request" },
        { DELIVERY "'code':'strikes'}", "" }, //  Too large: nobody knows what it was
        { DELIVERY "'code':'no_service','body':{'kind':'answer','text':'x'}}", "" },
        { DELIVERY "'code':'invalid','body':{'kind':'error','text':'x'}}", "" }, //  Itself
        { "{'seq':7,'type':'turn.stop','id':'i','code':'strikes'}", "" },
        { "{}", "" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        gate_t self;
        s_begin (&self, "{}", NULL);
        self.gateway.notice = gate_own (&self, rows[i].notice);
        self.gateway.body = json_object_get (self.gateway.notice, "body");
        assert_int_equal (argos_gateway_needs (&self.gateway), 0);
        json_t *parts = argos_gateway_decide (&self.gateway);
        gate_assert_types (parts, rows[i].types);
        gate_end (&self, parts);
    }
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (the_first_message_opens_a_session),
        cmocka_unit_test (what_can_be_asked_together_is),
        cmocka_unit_test (the_next_message_joins_the_session_of_the_route),
        cmocka_unit_test (a_turn_says_who_speaks_and_where),
        cmocka_unit_test (files_are_bound_to_the_run),
        cmocka_unit_test (the_same_message_makes_the_same_run_at_every_instance),
        cmocka_unit_test (a_run_of_the_api_keeps_its_row_and_gets_no_delivery),
        cmocka_unit_test (a_named_session_is_used_made_or_refused),
        cmocka_unit_test (new_is_one_done_with_the_end_of_the_old_session),
        cmocka_unit_test (stop_reaches_the_lane_or_says_that_nothing_runs),
        cmocka_unit_test (status_names_session_queue_and_rehearsal),
        cmocka_unit_test (help_lists_the_table_and_unknown_commands_are_said),
        cmocka_unit_test (a_source_without_a_valid_service_is_rejected),
        cmocka_unit_test (a_dead_letter_is_told_to_who_waits),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
