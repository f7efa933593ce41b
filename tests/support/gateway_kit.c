//  gateway_kit - see gateway_kit.h. Limits: ARGOS_FACTS + 8 values of a case, 1 KB of types.

#include "gateway_kit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

json_t *
gate_json (const char *text)
{
    char *quoted = strdup (text);
    assert_non_null (quoted);
    for (char *c = quoted; *c; c++)
        if (*c == '\'')
            *c = '"';
    json_t *json = json_loads (quoted, 0, NULL);
    free (quoted);
    assert_non_null (json);
    return json;
}

static json_t *
s_keep (gate_t *self, json_t *json)
{
    assert_true (self->owned_count < GATE_OWNED);
    return self->owned[self->owned_count++] = json;
}

json_t *
gate_own (gate_t *self, const char *text)
{
    return s_keep (self, gate_json (text));
}

static void
s_begin (gate_t *self, const char *config, json_t *body)
{
    *self = (gate_t){ .owned_count = 0 };
    argos_gateway_policy_init (&self->policy);
    self->policy.config = gate_own (self, config);
    self->gateway = (argos_gateway_case_t){ .policy = &self->policy,
        .from = "test.main",
        .id = "main:c1:m1",
        .body = s_keep (self, body),
        .wall = GATE_WALL_MS,
        .entropy = 0x1122334400000000 };
}

void
gate_begin (gate_t *self, const char *config, const char *body)
{
    s_begin (self, config, gate_json (body));
}

void
gate_say (gate_t *self, const char *config, const char *platform, const char *text)
{
    s_begin (self, config,
        json_pack ("{s:{s:s, s:s, s:s, s:s, s:s}, s:s, s:s}", "source", "platform", platform,
            "account", "main", "chat_type", "dm", "chat_id", "c1", "user_id", "ann", "text", text,
            "message_id", "m1"));
}

void
gate_end (gate_t *self, json_t *parts)
{
    json_decref (parts);
    while (self->owned_count)
        json_decref (self->owned[--self->owned_count]);
}

void
gate_fact (gate_t *self, argos_fact_t fact, const char *text)
{
    self->gateway.fact[fact] = text ? gate_own (self, text) : NULL;
    self->gateway.have |= ARGOS_FACT_BIT (fact);
}

argos_fact_t
gate_next (gate_t *self)
{
    for (;;) {
        json_t *question;
        argos_fact_t fact =
            argos_fact_next (&self->gateway, argos_gateway_needs (&self->gateway), 0, &question);
        json_decref (question);
        if (fact != ARGOS_FACT_HOOK)
            return fact;
        gate_fact (self, fact, NULL);
    }
}

int
gate_read (gate_t *self, const char *const *facts)
{
    for (int asked = 0;; asked++) {
        json_t *question;
        argos_fact_t fact =
            argos_fact_next (&self->gateway, argos_gateway_needs (&self->gateway), 0, &question);
        json_decref (question);
        if (fact == ARGOS_FACTS)
            return asked;
        gate_fact (self, fact, facts[fact]);
    }
}

static const char *
s_type (const json_t *part)
{
    const char *type = json_string_value (json_object_get (part, "type"));
    assert_non_null (type);
    return type;
}

const json_t *
gate_part (const json_t *parts, const char *type)
{
    size_t index;
    json_t *part;
    json_array_foreach (parts, index, part)
        if (strcmp (s_type (part), type) == 0)
            return part;
    return NULL;
}

const json_t *
gate_body (const json_t *parts, const char *type)
{
    return json_object_get (gate_part (parts, type), "body");
}

const char *
gate_text (const json_t *parts, const char *type, const char *name)
{
    const char *text = json_string_value (json_object_get (gate_body (parts, type), name));
    return text ? text : "";
}

const char *
gate_told (const json_t *parts)
{
    return gate_text (parts, "deliver.request", "text");
}

void
gate_types (const json_t *parts, char *target, size_t size)
{
    size_t length = 0, index;
    json_t *part;
    *target = 0;
    json_array_foreach (parts, index, part) {
        length += (size_t) snprintf (
            target + length, size - length, "%s%s", index ? " " : "", s_type (part));
        assert_true (length < size);
    }
}

void
gate_assert_types (const json_t *parts, const char *types)
{
    char found[1024];
    assert_non_null (parts);
    gate_types (parts, found, sizeof found);
    assert_string_equal (found, types);
}
