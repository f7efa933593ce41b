//  argos_expire - sessions that end by themselves.
//
//  Invariant: there is at most one such message for a session and a moment (its id says both), and
//  one for a session that has ended changes nothing. Pure. Limits: a session that works is looked
//  at again after a minute.

#include "argos_expire.h"

#include "argos_cmd.h"
#include "argos_json_get.h"
#include "argos_life.h"
#include "argos_parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define AGAIN_MS 60000 //  A turn runs: look again

static const json_t *
s_source (const argos_gateway_case_t *gateway)
{
    return json_object_get (gateway->body, "source");
}

static void
s_policy (const argos_gateway_case_t *gateway, argos_life_policy_t *ret_policy)
{
    argos_life_policy (gateway->policy->config, s_source (gateway), ret_policy);
}

static void
s_send (const argos_gateway_case_t *gateway, const char *session, int64_t due, json_t *parts)
{
    char digest[ARGOS_DIGEST_SIZE], id[64], key[64];
    argos_parts_digest ("gateway", session, digest);
    snprintf (id, sizeof id, "%s.%" PRId64, digest, due);
    snprintf (key, sizeof key, "expire:%s", digest);
    json_array_append_new (
        parts, json_pack ("{s:s, s:s, s:s, s:s, s:b, s:I, s:{s:s, s:O}}", "type", ARGOS_EXPIRE_TYPE,
                   "to", "service:gateway", "id", id, "key", key, "durable", 1, "not_before",
                   (json_int_t) due, "body", "session", session, "source", s_source (gateway)));
}

void
argos_expire_arm (
    const argos_gateway_case_t *gateway, const char *session, int64_t touched, json_t *parts)
{
    argos_life_policy_t policy;
    s_policy (gateway, &policy);
    int64_t due = argos_life_due (&policy, touched);
    if (due)
        s_send (gateway, session, due, parts);
}

bool
argos_expire_is (const argos_gateway_case_t *gateway)
{
    return gateway->type && strcmp (gateway->type, ARGOS_EXPIRE_TYPE) == 0;
}

unsigned
argos_expire_needs (const argos_gateway_case_t *gateway)
{
    (void) gateway;
    return ARGOS_FACT_BIT (ARGOS_FACT_ROUTE) | ARGOS_FACT_BIT (ARGOS_FACT_LANE);
}

json_t *
argos_expire_decide (const argos_gateway_case_t *gateway)
{
    argos_life_policy_t policy;
    char fresh[ARGOS_SESSION_ID_MAX + 1];
    json_t *parts = json_array ();
    const json_t *result = gateway->fact[ARGOS_FACT_ROUTE], *session = argos_cmd_session (gateway);
    const char *id = argos_json_text (gateway->body, "session");
    if (!session || strcmp (argos_json_text (session, "id"), id) != 0)
        return parts; //  Over already, or the chat has gone elsewhere
    s_policy (gateway, &policy);
    argos_life_t life = argos_life (&policy, result, gateway->wall);
    bool works = json_array_size (json_object_get (gateway->fact[ARGOS_FACT_LANE], "messages")) > 0;
    if (works && life != ARGOS_LIFE_KEEP)
        s_send (gateway, id, gateway->wall + AGAIN_MS, parts);
    else if (life == ARGOS_LIFE_KEEP)
        argos_expire_arm (gateway, id, argos_life_touched (result), parts);
    else if (json_integer_value (json_object_get (session, "message_count")) > 0)
        argos_gateway_open (gateway, argos_life_reason (life), "", fresh, parts);
    return parts;
}
