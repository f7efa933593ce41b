//  argos_approval_priv - what the files of argos_approval share. Not for users.
//
//  argos_approval_rules makes rules of the data, argos_approval judges by them.

#ifndef ARGOS_APPROVAL_PRIV_H
#define ARGOS_APPROVAL_PRIV_H

#include "argos_approval.h"

#include <regex.h>

#define APPROVAL_EXPRS_MAX 16  //  Expressions of a rule
#define APPROVAL_RULES_MAX 128 //  Rules

//  What a rule is matched against

typedef enum {
    APPROVAL_IN_LINE, //  A line, as a shell would run it
    APPROVAL_IN_TEXT, //  The command as it stands there
    APPROVAL_IN_PATH, //  A path that is written
    APPROVAL_IN_READ  //  A path that is read
} approval_place_t;

typedef struct {
    const char *key, *text;            //  Borrowed from the JSON
    const json_t *aliases;             //  Older keys that grant it, too
    const char *unless;                //  A condition of the call that waives it, NULL = none
    approval_place_t place;            //  What it is matched against
    bool floor;                        //  Nothing bypasses it
    bool has_except;                   //  except is set
    regex_t except;                    //  What makes a match harmless
    regex_t exprs[APPROVAL_EXPRS_MAX]; //  Any of them
    size_t count;                      //  How many
} approval_rule_t;

typedef struct {
    json_t *data;                              //  The JSON
    approval_rule_t rules[APPROVAL_RULES_MAX]; //  Compiled
    size_t count;                              //  How many
} approval_rules_t;

struct argos_approval_policy {
    approval_rules_t **rules; //  Where they are, once they are needed
    char *self_pids;          //  For the macro `self`
};

//  argos_approval_rules.c
//  The rules, made when they are asked for first. Borrowed.
const approval_rules_t *approval_rules (const argos_approval_policy_t *self);

#endif
