//  argos_gateway_settings - the settings of a time.
//
//  Invariant: nothing of them changes after they were made. No limits: they are counted by who uses
//  them.

#include "argos_gateway_settings.h"

#include "argos_log.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct argos_gateway_settings {
    argos_gateway_policy_t policy; //  What they say
    json_t *config;                //  All of them, owned; NULL = none
    size_t refs;                   //  Messages, and the gateway itself
};

argos_gateway_settings_t *
argos_gateway_settings_new (const argos_gateway_policy_t *policy, json_t *config,
    const char *profile, const argos_approval_policy_t *approval)
{
    argos_gateway_settings_t *self = calloc (1, sizeof *self);
    if (!self)
        abort ();
    self->policy = *policy;
    self->policy.config = self->config = config;
    self->policy.route.profile = profile;
    self->policy.approval = approval;
    self->refs = 1;
    return self;
}

argos_gateway_settings_t *
argos_gateway_settings_ref (argos_gateway_settings_t *self)
{
    self->refs++;
    return self;
}

void
argos_gateway_settings_unref (argos_gateway_settings_t **self_p)
{
    argos_gateway_settings_t *self = *self_p;
    *self_p = NULL;
    if (!self || --self->refs)
        return;
    json_decref (self->config);
    free (self);
}

const argos_gateway_policy_t *
argos_gateway_settings_policy (const argos_gateway_settings_t *self)
{
    return &self->policy;
}

argos_approval_policy_t *
argos_gateway_rules (void)
{
    char problem[256], own[32];
    snprintf (own, sizeof own, "%d", (int) getpid ());
    argos_approval_policy_t *rules = argos_approval_policy_new (NULL, own, problem, sizeof problem);
    if (!rules)
        argos_log (ARGOS_LOG_ERROR, "gateway", "no rules of approval", "reason=\"%s\"", problem);
    return rules;
}
