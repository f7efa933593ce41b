//  gateway_kit - what the tests of the gateway's decisions share: a case, what it has read, and
//  looks at the parts that are made of it. JSON is written with ' for ".

#ifndef GATEWAY_KIT_H
#define GATEWAY_KIT_H

#include "argos_gateway.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define GATE_WALL_MS 1764288000123   //  2025-11-28 00:00:00.123 UTC
#define GATE_OWNED (ARGOS_FACTS + 8) //  Values of a case
#define GATE_OPEN "{'gateway':{'allow_all_users':true}}"

typedef struct {
    argos_gateway_policy_t policy; //  Of the case
    argos_gateway_case_t gateway;  //  The case
    json_t *owned[GATE_OWNED];     //  What the case borrows
    size_t owned_count;            //  How many
} gate_t;

//  The value that the text says; the caller's.
json_t *gate_json (const char *text);

//  A case of test.main with these settings and this body (JSON both), nothing read yet.
void gate_begin (gate_t *self, const char *config, const char *body);

//  The same for a text that ann has said to the platform, in a chat of two.
void gate_say (gate_t *self, const char *config, const char *platform, const char *text);

//  Lets all go that was made for the case, and the parts, which may be NULL.
void gate_end (gate_t *self, json_t *parts);

//  The value that the text says; the case's.
json_t *gate_own (gate_t *self, const char *text);

//  That has been read; NULL = nothing came.
void gate_fact (gate_t *self, argos_fact_t fact, const char *text);

//  Which fact is asked for next, hooks left out: none has a say.
argos_fact_t gate_next (gate_t *self);

//  Reads what is needed from facts, by fact, NULL = nothing came. Returns how many were asked for.
int gate_read (gate_t *self, const char *const *facts);

//  The first part of that type, its body, a text of that ("" = there is none). Borrowed.
const json_t *gate_part (const json_t *parts, const char *type);
const json_t *gate_body (const json_t *parts, const char *type);
const char *gate_text (const json_t *parts, const char *type, const char *name);

//  What the chat is told, "" = nothing. Borrowed.
const char *gate_told (const json_t *parts);

//  The types of the parts, in order, separated by spaces.
void gate_types (const json_t *parts, char *target, size_t size);

//  Fails unless they are these.
void gate_assert_types (const json_t *parts, const char *types);

#endif
