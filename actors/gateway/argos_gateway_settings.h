//  argos_gateway_settings - the settings of a time: as long as a message that began with them is in
//  hand, they are as they were.

#ifndef ARGOS_GATEWAY_SETTINGS_H
#define ARGOS_GATEWAY_SETTINGS_H

#include "argos_approval.h"
#include "argos_gateway.h"

typedef struct argos_gateway_settings argos_gateway_settings_t;

//  With one reference, the caller's. config is all of them, stolen, NULL = none; profile and
//  approval outlive it.
argos_gateway_settings_t *argos_gateway_settings_new (const argos_gateway_policy_t *policy,
    json_t *config, const char *profile, const argos_approval_policy_t *approval);

//  One reference more.
argos_gateway_settings_t *argos_gateway_settings_ref (argos_gateway_settings_t *self);

//  One less; the last frees it. NULL-safe, idempotent.
void argos_gateway_settings_unref (argos_gateway_settings_t **self_p);

//  What they say. Borrowed.
const argos_gateway_policy_t *argos_gateway_settings_policy (const argos_gateway_settings_t *self);

//  The built-in rules for calls of tools, the caller's; NULL is told in the log, and nothing of the
//  shell runs then.
argos_approval_policy_t *argos_gateway_rules (void);

#endif
