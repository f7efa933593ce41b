//  argos_allow - who may speak: the rules of authorisation, in order, over the configuration. Pure.
//
//  The first rule that says anything decides; when none does, the answer is no. The rules are rows
//  of one table (argos_allow.c).

#ifndef ARGOS_ALLOW_H
#define ARGOS_ALLOW_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct {
    bool allowed;     //  Whether it may speak
    const char *rule; //  The rule that has decided, for the audit. Static
} argos_allow_t;

//  Whether who speaks in source may. config is the configuration (NULL = nothing is set), paired
//  whether the operator has approved who speaks (argos_pairing).
argos_allow_t argos_allow (const json_t *config, const json_t *source, bool paired);

//  Whether `paired` makes a difference: else it need not be read.
bool argos_allow_asks (const json_t *config, const json_t *source);

//  Whether somebody who may not speak is offered a pairing code, instead of silence: a person, in a
//  chat of two, where the settings say so.
bool argos_allow_offers (const json_t *config, const json_t *source);

//  Looks for settings that open a platform to everybody without saying so: `dm_policy` or
//  `group_policy` is `open` while nothing allows all users. Returns 0, or -1 with the setting's
//  path (size bytes); then argosd must not start.
int argos_allow_check (const json_t *config, char *path, size_t size);

//  Whether nothing in the configuration lets in anybody from a chat platform: worth a warning.
bool argos_allow_is_unset (const json_t *config);

#endif
