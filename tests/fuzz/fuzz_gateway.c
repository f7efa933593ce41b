//  fuzz_gateway - a message from outside: session key, lane, command, decision.
//
//  Input: a byte of what has been read and allowed, then the body of message.inbound. Holds: keys
//  and lanes have their bounds, so has what the model reads, and each part of a decision has a type
//  and an address.

#include "argos_command.h"
#include "argos_gate.h"
#include "argos_incoming.h"
#include "argos_schema.h"
#include "fuzz.h"

#include <string.h>

static void
s_keys (const json_t *source)
{
    char key[ARGOS_ROUTE_KEY_MAX + 1], lane[ARGOS_ROUTE_KEY_MAX + 1];
    argos_route_policy_t policy;
    argos_route_policy_init (&policy);
    FUZZ_CHECK (argos_route_key (source, &policy, key, sizeof key) == 0);
    FUZZ_CHECK (*key && strlen (key) <= ARGOS_ROUTE_KEY_MAX);
    FUZZ_CHECK (argos_route_lane (source, lane, sizeof lane) == 0);
    FUZZ_CHECK (*lane && strlen (lane) <= ARGOS_ROUTE_KEY_MAX);
}

static void
s_decide (const json_t *body, unsigned have)
{
    argos_gateway_policy_t policy;
    argos_gateway_policy_init (&policy);
    json_t *config = json_pack ("{s:{s:b}}", "gateway", "allow_all_users", (have & 0x80) == 0);
    policy.config = config;
    json_t *answers[ARGOS_FACTS] = {
        [ARGOS_FACT_ROUTE] = json_pack ("{s:n, s:n}", "route", "session"),
        [ARGOS_FACT_SESSION] = json_pack ("{s:n}", "session"),
        [ARGOS_FACT_LANE] = json_pack ("{s:[]}", "messages"),
    };
    argos_gateway_case_t gateway = { .policy = &policy,
        .from = "fuzz.main",
        .id = "fuzz:1",
        .body = body,
        .wall = 1700000000000,
        .entropy = 1 };
    //  Which answers come is up to the input
    for (int i = 0; i < ARGOS_FACTS; i++) {
        json_t *question;
        argos_fact_t fact =
            argos_fact_next (&gateway, argos_gateway_needs (&gateway), 0, &question);
        json_decref (question);
        if (fact == ARGOS_FACTS)
            break;
        gateway.fact[fact] = have & ARGOS_FACT_BIT (fact) ? answers[fact] : NULL;
        gateway.have |= ARGOS_FACT_BIT (fact);
    }
    json_t *parts = argos_gate_trusts (&gateway) ? argos_gateway_decide (&gateway) : NULL;
    size_t index;
    json_t *part;
    json_array_foreach (parts, index, part)
        FUZZ_CHECK (json_is_string (json_object_get (part, "type")) &&
                    json_is_string (json_object_get (part, "to")));
    json_decref (parts);
    for (int i = 0; i < ARGOS_FACTS; i++)
        json_decref (answers[i]);
    json_decref (config);
}

//  What the model reads is bounded, and says what was said.

static void
s_read (const json_t *body)
{
    const char *text = json_string_value (json_object_get (body, "text"));
    json_t *read = argos_incoming_text (body, true);
    size_t length = json_string_length (read), said = strlen (text);
    FUZZ_CHECK (length <= ARGOS_INCOMING_TEXT_MAX);
    FUZZ_CHECK (
        !read || (length >= said && strcmp (json_string_value (read) + length - said, text) == 0));
    json_decref (read);
    json_decref (argos_incoming_instructions (body));
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    static int ready;
    char reason[256], name[ARGOS_COMMAND_NAME_MAX + 1];
    const char *arguments;
    json_t *body = NULL;
    if (!ready)
        FUZZ_CHECK (argos_schema_init (reason) == 0);
    ready = 1;
    if (size < 2 || argos_schema_parse ("message.inbound", data + 1, size - 1, &body, reason,
                        sizeof reason) != ARGOS_OK)
        return 0;
    json_t *event = argos_incoming_event (body);
    json_decref (body);
    body = event;
    const char *text = json_string_value (json_object_get (body, "text"));
    if (argos_incoming_command (text, name, &arguments)) {
        argos_commands_find (name);
        FUZZ_CHECK (arguments >= text && arguments <= text + strlen (text));
    }
    s_keys (json_object_get (body, "source"));
    s_read (body);
    s_decide (body, data[0]);
    json_decref (body);
    return 0;
}
