//  argos_gate - see argos_gate.h.
//
//  Invariant: whoever is not allowed by argos_allow makes no part but records, and at most one
//  answer in a chat of two. Pure. Limits: those of argos_pairing; a record of 30 days for each
//  message.

#include "argos_gate.h"

#include "argos_allow.h"
#include "argos_header.h"
#include "argos_json_get.h"
#include "argos_pairing.h"
#include "argos_parts.h"
#include "argos_platform.h"
#include "argos_roles.h"
#include "argos_source.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PAIRED ARGOS_FACT_BIT (ARGOS_FACT_PAIRED)
#define PAIRING                                                                                    \
    (ARGOS_FACT_BIT (ARGOS_FACT_PAIRING_PENDING) | ARGOS_FACT_BIT (ARGOS_FACT_PAIRING_RATE) |      \
        ARGOS_FACT_BIT (ARGOS_FACT_PAIRING_LOCK))

static_assert (ARGOS_GATEWAY_RANDOM == ARGOS_PAIRING_RANDOM, "a case has what a code takes");

static const json_t *
s_source (const argos_gateway_case_t *self)
{
    return json_object_get (self->body, "source");
}

static const json_t *
s_config (const argos_gateway_case_t *self)
{
    return self->policy->config;
}

static bool
s_is_internal (const argos_gateway_case_t *self)
{
    //  Of a dead letter is not known any more who has sent it
    return !self->notice && json_is_true (json_object_get (self->body, "internal"));
}

bool
argos_gate_trusts (const argos_gateway_case_t *self)
{
    char base[ARGOS_NAME_MAX + 1];
    argos_name_base (self->from, base);
    const char *owner = argos_platform_find (argos_json_text (s_source (self), "platform"))->owner;
    if (owner && strcmp (base, owner) != 0)
        return false;
    for (size_t i = 0; s_is_internal (self); i++) {
        if (!argos_roles_core_actors[i])
            return false;
        if (strcmp (argos_roles_core_actors[i], base) == 0)
            return true; //  The broker lets nobody else have that name
    }
    return true;
}

static argos_allow_t
s_allow (const argos_gateway_case_t *self)
{
    return argos_allow (s_config (self), s_source (self),
        argos_pairing_is_approved (self->fact[ARGOS_FACT_PAIRED]));
}

bool
argos_gate_passes (const argos_gateway_case_t *self)
{
    return s_is_internal (self) || s_allow (self).allowed;
}

unsigned
argos_gate_needs (const argos_gateway_case_t *self)
{
    if (argos_gate_passes (self))
        return 0;
    if (!(self->have & PAIRED) && argos_allow_asks (s_config (self), s_source (self)))
        return PAIRED;
    return argos_allow_offers (s_config (self), s_source (self)) ? PAIRING : 0;
}

//  ---------------------------------------------------------------------------------------------
//  What remains

//  The answer to a stranger.

static void
s_answer (
    const argos_gateway_case_t *self, argos_pairing_say_t say, const char *code, json_t *parts)
{
    char digest[ARGOS_DIGEST_SIZE], id[ARGOS_DIGEST_SIZE + 8], text[640];
    const json_t *source = s_source (self);
    argos_parts_digest (self->from, self->id, digest);
    snprintf (id, sizeof id, "pair_%s", digest);
    if (say == ARGOS_PAIRING_CODE)
        snprintf (text, sizeof text,
            "Hi! I don't know you yet, so I can't talk to you.\n\nYour pairing code is `%s`. Give "
            "it "
            "to whoever runs this bot, who can let you in with\n\n`argos pairing approve %s "
            "%s`\n\nIt counts for one hour.",
            code, argos_json_text (source, "platform"), code);
    else
        snprintf (text, sizeof text, "Too many pairing requests at the moment. Try again later.");
    argos_parts_deliver (parts, source, id, "notice", text,
        json_string_value (json_object_get (self->body, "message_id")));
}

//  Offer a code, when one may be given now. Returns what was said, for the audit.

static const char *
s_offer (const argos_gateway_case_t *self, json_t *parts)
{
    static const char *const said[] = { "code", "later", "nothing" };
    const argos_pairing_t facts = { .pending = self->fact[ARGOS_FACT_PAIRING_PENDING],
        .rate = self->fact[ARGOS_FACT_PAIRING_RATE],
        .lock = self->fact[ARGOS_FACT_PAIRING_LOCK],
        .wall = self->wall };
    char code[ARGOS_PAIRING_CODE_SIZE];
    json_t *writes = json_array (), *body;
    size_t index;
    argos_pairing_say_t say =
        argos_pairing_ask (&facts, s_source (self), self->random, code, writes);
    json_array_foreach (writes, index, body)
        argos_parts_store_new (parts, "record.put", json_incref (body));
    json_decref (writes);
    if (say != ARGOS_PAIRING_SILENT)
        s_answer (self, say, code, parts);
    return said[say];
}

static void
s_audit (const argos_gateway_case_t *self, const char *rule, const char *said, json_t *parts)
{
    static const char *const copied[] = { "platform", "account", "chat_type", "chat_id",
        "thread_id", "user_id", "user_id_alt", "user_name" };
    char digest[ARGOS_DIGEST_SIZE], key[ARGOS_DIGEST_SIZE + 32];
    argos_parts_digest (self->from, self->id, digest);
    snprintf (key, sizeof key, "%013" PRId64 ".%s", self->wall, digest);
    json_t *value = json_pack (
        "{s:s, s:s, s:s, s:s}", "event", "denied", "rule", rule, "from", self->from, "said", said);
    for (size_t i = 0; i < sizeof copied / sizeof *copied; i++) {
        json_t *member = json_object_get (s_source (self), copied[i]);
        if (member)
            json_object_set (value, copied[i], member);
    }
    argos_parts_store_new (parts, "record.put",
        json_pack ("{s:s, s:s, s:o, s:I}", "space", ARGOS_GATE_AUDIT, "key", key, "value", value,
            "expires_at", (json_int_t) self->wall + ARGOS_GATE_KEEP_MS));
}

json_t *
argos_gate_parts (const argos_gateway_case_t *self, bool offer)
{
    json_t *parts = json_array ();
    const char *said = "nothing";
    if (offer && argos_allow_offers (s_config (self), s_source (self)))
        said = s_offer (self, parts);
    s_audit (self, s_allow (self).rule, said, parts);
    return parts;
}
