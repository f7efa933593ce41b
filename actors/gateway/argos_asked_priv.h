//  argos_asked_priv - what the files of argos_asked share. Not for users.
//
//  argos_asked_find looks for questions, argos_asked answers them.

#ifndef ARGOS_ASKED_PRIV_H
#define ARGOS_ASKED_PRIV_H

#include "argos_asked.h"
#include "argos_question.h"

#define ASKED_APPROVAL "approval" //  Kind of a question
#define ASKED_CLARIFY "clarify"   //  Another one

//  A record, and what it says

typedef struct {
    const json_t *record;      //  As it was read; NULL = there is none
    argos_question_t question; //  Its value
} asked_t;

//  argos_asked_find.c
//  Source of the message; borrowed.
const json_t *asked_source (const argos_gateway_case_t *gateway);
//  When the record was written, msec since 1970.
int64_t asked_at (const json_t *record);
//  Whether who speaks may answer that. People have two ids on some platforms.
argos_question_verdict_t asked_check (
    const argos_gateway_case_t *gateway, const argos_question_t *question, const char *choice);
//  All records: those of the session, then those of tasks of this chat. New.
json_t *asked_records (const argos_gateway_case_t *gateway);
//  Whether it is one of the session, not of a task.
bool asked_is_own (const argos_gateway_case_t *gateway, const argos_question_t *question);
//  The oldest open question asked behind `after` (NULL = from the first); kind NULL = any, mine =
//  only those that who speaks may answer. Its record is NULL when there is none.
asked_t asked_next (
    const argos_gateway_case_t *gateway, const char *kind, bool mine, const json_t *after);
//  The question of that id, open or not.
asked_t asked_named (const argos_gateway_case_t *gateway, const char *id);

#endif
