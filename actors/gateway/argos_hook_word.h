//  argos_hook_word - what hooks say about the command of a message (fact ARGOS_FACT_HOOK). Pure.

#ifndef ARGOS_HOOK_WORD_H
#define ARGOS_HOOK_WORD_H

#include "argos_gateway.h"

typedef enum {
    ARGOS_HOOK_ALLOW,  //  Go on
    ARGOS_HOOK_SAY,    //  It does not run (any more): tell the user `message`, if there is one
    ARGOS_HOOK_REWRITE //  Run `command` with `arguments` instead, as if it had been typed: whether
                       //  the user may is to be checked again, and hooks are not asked again
} argos_hook_word_t;

typedef struct {
    const char *message;   //  "" = none
    const char *command;   //  Without the slash
    const char *arguments; //  "" = none
} argos_hook_said_t;       //  Borrowed from the fact, or static

//  The body of hook.command for the message of the case; new, the caller's. NULL when it has no
//  command.
json_t *argos_hook_question (const argos_gateway_case_t *self);

//  What has been said; the fact need not have been read or answered: that is allow.
argos_hook_word_t argos_hook_word (const argos_gateway_case_t *self, argos_hook_said_t *ret_said);

#endif
