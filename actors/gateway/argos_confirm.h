//  argos_confirm - asking before a destructive command is done. Pure.
//
//  The question is a record of space `question` under the key of the chat, {"command","arguments",
//  "user"}, that lives for five minutes; a newer one takes its place. Whoever gave the command
//  answers by a word. "Always" is the setting `confirm` = false of the chat.

#ifndef ARGOS_CONFIRM_H
#define ARGOS_CONFIRM_H

#include "argos_gateway.h"

#define ARGOS_CONFIRM_LIFE_MS 300000 //  A question can be answered for so long

typedef enum {
    ARGOS_CONFIRM_NONE,   //  No answer
    ARGOS_CONFIRM_ONCE,   //  Yes
    ARGOS_CONFIRM_ALWAYS, //  Yes, and don't ask again
    ARGOS_CONFIRM_CANCEL  //  No
} argos_confirm_t;

//  The answer that a text is: one word, in any case, with or without a mark behind it; or /approve
//  and /deny.
argos_confirm_t argos_confirm_word (const char *text);

//  The question that waits for who speaks, {"command","arguments"}; NULL = none, as far as is
//  known. Borrowed.
const json_t *argos_confirm_pending (const argos_gateway_case_t *gateway);

//  When it was asked, msec since 1970.
int64_t argos_confirm_at (const argos_gateway_case_t *gateway);

//  Whether a command has to be asked for: the chat has not said otherwise, and there is something
//  to lose.
bool argos_confirm_is_needed (const argos_gateway_case_t *gateway);

//  Asks whether to do the command.
void argos_confirm_ask (
    const argos_gateway_case_t *gateway, const char *command, const char *arguments, json_t *parts);

//  The question is answered: it is taken away, as it was read.
void argos_confirm_take (const argos_gateway_case_t *gateway, json_t *parts);

#endif
