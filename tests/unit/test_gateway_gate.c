//  The first step: who may not speak leaves a record, at most a pairing code, and nothing else.

#include "argos_gate.h"
#include "gateway_kit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FROM(type)                                                                                 \
    "'source':{'platform':'slack','account':'main','chat_type':'" type "','chat_id':'c','user_id'" \
    ":'u','user_name':'Ann'},'message_id':'m1'"
#define BITS(a, b, c)                                                                              \
    (ARGOS_FACT_BIT (ARGOS_FACT_##a) | ARGOS_FACT_BIT (ARGOS_FACT_##b) |                           \
        ARGOS_FACT_BIT (ARGOS_FACT_##c))
#define PAIRING BITS (PAIRING_PENDING, PAIRING_RATE, PAIRING_LOCK)

static void
s_begin (gate_t *self, const char *config, const char *body)
{
    static const unsigned char random[] = { 0, 1, 2, 3, 31, 32, 33, 255 };
    gate_begin (self, config, body);
    self->gateway.from = "slack.main";
    self->gateway.id = "main:c:m1";
    memcpy (self->gateway.random, random, sizeof random);
}

static const json_t *
s_body (const json_t *parts, size_t index)
{
    return json_object_get (json_array_get (parts, index), "body");
}

//  Types of the parts and spaces of the records, in order.

static void
s_assert_parts (const json_t *parts, const char *expected)
{
    char found[512] = "";
    size_t length = 0, index;
    json_t *part;
    assert_non_null (parts);
    json_array_foreach (parts, index, part) {
        const json_t *body = json_object_get (part, "body");
        const char *space = json_string_value (json_object_get (body, "space"));
        length += (size_t) snprintf (found + length, sizeof found - length, "%s%s",
            index ? " " : "", space ? space : json_string_value (json_object_get (part, "type")));
    }
    assert_string_equal (found, expected);
}

static void
every_row_of_who_speaks_as_whom (void **state)
{
    (void) state;
    static const struct {
        const char *from, *body; //  Sender, JSON
        bool trusted;            //  Expected
    } rows[] = {
        { "slack.main", "{" FROM ("dm") "}", true },
        { "anybody", "{" FROM ("dm") "}", true },
        { "slack.main", "{'source':{'platform':'api_server','chat_type':'dm'}}", false },
        { "api", "{'source':{'platform':'api_server','chat_type':'dm'}}", true },
        { "api.2@core", "{'source':{'platform':'api_server','chat_type':'dm'}}", true },
        { "apis", "{'source':{'platform':'api_server','chat_type':'dm'}}", false },
        //  Events of our own
        { "slack.main", "{" FROM ("dm") ",'internal':true}", false },
        { "cmd.123", "{" FROM ("dm") ",'internal':true}", false },
        { "gateways", "{" FROM ("dm") ",'internal':true}", false },
        { "gateway", "{" FROM ("dm") ",'internal':true}", true },
        { "jobs.3@muscle", "{" FROM ("dm") ",'internal':true}", true },
        { "slack.main", "{" FROM ("dm") ",'internal':false}", true },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        gate_t self;
        s_begin (&self, "{}", rows[i].body);
        self.gateway.from = rows[i].from;
        if (argos_gate_trusts (&self.gateway) != rows[i].trusted)
            fail_msg ("row %zu: %s", i, rows[i].from);
        gate_end (&self, NULL);
    }
}

static void
what_decides_is_read_and_nothing_else (void **state)
{
    (void) state;
    gate_t self;
    //  Allowed by the settings: nothing of it is read
    s_begin (
        &self, "{'platforms':{'slack':{'allowed_users':['u']}}}", "{" FROM ("dm") ",'text':'x'}");
    assert_int_equal (argos_gate_needs (&self.gateway), 0);
    assert_int_equal (argos_gateway_needs (&self.gateway), ARGOS_FACT_BIT (ARGOS_FACT_ROUTE) |
                                                               ARGOS_FACT_BIT (ARGOS_FACT_SETTING) |
                                                               ARGOS_FACT_BIT (ARGOS_FACT_LANE));
    gate_end (&self, NULL);
    //  Not allowed: the approval, then what a code takes
    s_begin (&self, "{}", "{" FROM ("dm") ",'text':'x'}");
    assert_int_equal (argos_gateway_needs (&self.gateway), ARGOS_FACT_BIT (ARGOS_FACT_PAIRED));
    json_t *question;
    assert_int_equal (
        argos_fact_next (&self.gateway, argos_gateway_needs (&self.gateway), 0, &question),
        ARGOS_FACT_PAIRED);
    assert_string_equal (
        json_string_value (json_object_get (question, "space")), "pairing.approved");
    assert_string_equal (json_string_value (json_object_get (question, "key")), "slack:u");
    json_decref (question);
    gate_fact (&self, ARGOS_FACT_PAIRED, "{'record':null}");
    assert_int_equal (argos_gateway_needs (&self.gateway), PAIRING);
    gate_end (&self, NULL);
    //  Approved
    s_begin (&self, "{}", "{" FROM ("dm") ",'text':'x'}");
    gate_fact (&self, ARGOS_FACT_PAIRED, "{'record':{'value':{'user_id':'u'},'version':1}}");
    assert_true (argos_gate_passes (&self.gateway));
    assert_int_equal (argos_gateway_needs (&self.gateway), ARGOS_FACT_BIT (ARGOS_FACT_ROUTE) |
                                                               ARGOS_FACT_BIT (ARGOS_FACT_SETTING) |
                                                               ARGOS_FACT_BIT (ARGOS_FACT_LANE));
    gate_end (&self, NULL);
    //  A group gets no code; a bot can't be approved
    s_begin (&self, "{}", "{" FROM ("group") ",'text':'x'}");
    gate_fact (&self, ARGOS_FACT_PAIRED, "{'record':null}");
    assert_int_equal (argos_gateway_needs (&self.gateway), 0);
    gate_end (&self, NULL);
    s_begin (&self, "{}",
        "{'source':{'platform':'slack','account':'main','chat_type':'dm','user_id':'u',"
        "'is_bot':true},'text':'x'}");
    assert_int_equal (argos_gateway_needs (&self.gateway), 0);
    gate_end (&self, NULL);
    //  Our own events are nobody's
    s_begin (&self, "{}", "{" FROM ("group") ",'text':'x','internal':true}");
    assert_true (argos_gate_passes (&self.gateway));
    gate_end (&self, NULL);
}

static void
every_row_of_what_a_denied_message_leaves (void **state)
{
    (void) state;
    static const struct {
        const char *config, *type, *text; //  JSON, type of the chat, what was said
        const char *rate;                 //  record.get of pairing.rate
        const char *parts, *said, *rule;  //  Expected
    } rows[] = {
        { "{}", "dm", "hello", "{'record':null}",
            "pairing.pending pairing.rate deliver.request audit", "code", "no_list" },
        { "{}", "dm", "/new", "{'record':null}",
            "pairing.pending pairing.rate deliver.request audit", "code", "no_list" },
        { "{}", "dm", "/background rm -rf",
            "{'record':{'value':{'told':false},'version':2,"
            "'expires_at':1764288001000}}",
            "pairing.rate deliver.request audit", "later", "no_list" },
        { "{}", "dm", "hello",
            "{'record':{'value':{'told':true},'version':2,"
            "'expires_at':1764288001000}}",
            "audit", "nothing", "no_list" },
        { "{}", "group", "/stop", "{'record':null}", "audit", "nothing", "no_list" },
        { "{'platforms':{'slack':{'allowed_users':['x']}}}", "dm", "/status", "{'record':null}",
            "audit", "nothing", "allowed_users" },
        { "{'unauthorized_dm_behavior':'ignore'}", "dm", "/frobnicate", "{'record':null}", "audit",
            "nothing", "no_list" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char body[512];
        gate_t self;
        snprintf (body, sizeof body,
            "{'source':{'platform':'slack','account':'main','chat_type':'%s','chat_id':'c',"
            "'user_id':'u','user_name':'Ann'},'text':'%s','message_id':'m1'}",
            rows[i].type, rows[i].text);
        s_begin (&self, rows[i].config, body);
        gate_fact (&self, ARGOS_FACT_PAIRED, "{'record':null}");
        gate_fact (&self, ARGOS_FACT_PAIRING_PENDING, "{'record':null}");
        gate_fact (&self, ARGOS_FACT_PAIRING_RATE, rows[i].rate);
        gate_fact (&self, ARGOS_FACT_PAIRING_LOCK, "{'record':null}");
        json_t *parts = argos_gateway_decide (&self.gateway);
        s_assert_parts (parts, rows[i].parts);
        const json_t *audit = s_body (parts, json_array_size (parts) - 1);
        const json_t *value = json_object_get (audit, "value");
        assert_string_equal (json_string_value (json_object_get (value, "said")), rows[i].said);
        assert_string_equal (json_string_value (json_object_get (value, "rule")), rows[i].rule);
        assert_string_equal (json_string_value (json_object_get (value, "from")), "slack.main");
        assert_string_equal (json_string_value (json_object_get (value, "user_id")), "u");
        assert_int_equal (
            strncmp (json_string_value (json_object_get (audit, "key")), "1764288000123.", 14), 0);
        assert_int_equal (json_integer_value (json_object_get (audit, "expires_at")),
            GATE_WALL_MS + ARGOS_GATE_KEEP_MS);
        json_decref (parts);
        //  What can't be done is refused to those we talk to
        parts = argos_gateway_refuse (&self.gateway, "full");
        s_assert_parts (parts, "audit");
        gate_end (&self, parts);
    }
}

static void
the_code_is_told_with_what_to_do (void **state)
{
    (void) state;
    gate_t self;
    s_begin (&self, "{}", "{" FROM ("dm") ",'text':'hello'}");
    json_t *parts = argos_gateway_decide (&self.gateway);
    s_assert_parts (parts, "pairing.pending pairing.rate deliver.request audit");
    const json_t *answer = json_array_get (parts, 2);
    const char *text = json_string_value (json_object_get (s_body (parts, 2), "text"));
    assert_non_null (strstr (text, "`argos pairing approve slack ABCD9AB9`"));
    assert_string_equal (
        json_string_value (json_object_get (answer, "to")), "service:deliver.slack.main");
    assert_int_equal (strncmp (json_string_value (json_object_get (answer, "id")), "pair_", 5), 0);
    //  The same case again, the same parts
    json_t *again = argos_gateway_decide (&self.gateway);
    assert_true (json_equal (parts, again));
    json_decref (again);
    char *kept = json_dumps (s_body (parts, 0), 0);
    assert_null (strstr (kept, "ABCD9AB9"));
    free (kept);
    gate_end (&self, parts);
}

static void
a_dead_letter_of_a_stranger_is_told_to_nobody (void **state)
{
    (void) state;
    static const char notice[] = "{'seq':7,'type':'message.inbound','id':'i','code':'invalid',"
                                 "'body':{" FROM ("dm") ",'text':'x'}}";
    for (int approved = 0; approved < 2; approved++) {
        gate_t self;
        s_begin (&self, "{}", "{}");
        self.gateway.notice = gate_own (&self, notice);
        self.gateway.body = json_object_get (self.gateway.notice, "body");
        assert_int_equal (argos_gateway_needs (&self.gateway), ARGOS_FACT_BIT (ARGOS_FACT_PAIRED));
        gate_fact (
            &self, ARGOS_FACT_PAIRED, approved ? "{'record':{'value':{}}}" : "{'record':null}");
        json_t *parts = argos_gateway_decide (&self.gateway);
        s_assert_parts (parts, approved ? "deliver.request" : "");
        gate_end (&self, parts);
    }
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (every_row_of_who_speaks_as_whom),
        cmocka_unit_test (what_decides_is_read_and_nothing_else),
        cmocka_unit_test (every_row_of_what_a_denied_message_leaves),
        cmocka_unit_test (the_code_is_told_with_what_to_do),
        cmocka_unit_test (a_dead_letter_of_a_stranger_is_told_to_nobody),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
