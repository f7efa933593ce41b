//  argos_send - what somebody who is no chat says to chats: `channel.send`, and the directory of
//  chats, `channel.list` and `channel.alias`. Pure; rows of argos_ask.
//
//  A message goes to the lane of its chat as any other, and is noted in the session of that chat
//  (session.note), which is opened when there is none: a reply then has its context. The answer
//  says for each chat what was done. Not noted is what goes to a chat that nobody has spoken from,
//  or where everybody has a session of his own: it is not known whose.

#ifndef ARGOS_SEND_H
#define ARGOS_SEND_H

#include "argos_ask.h"

typedef const char *(
    argos_send_question_fn) (const argos_ask_t *self, size_t index, json_t **ret_body);
typedef argos_err_t (argos_send_answer_fn) (
    const argos_ask_t *self, json_t **ret_reply, json_t *parts, char reason[ARGOS_ASK_REASON]);

argos_send_question_fn argos_send_question, argos_channels_question;
argos_send_answer_fn argos_send_answer, argos_channels_answer, argos_alias_answer;

#endif
