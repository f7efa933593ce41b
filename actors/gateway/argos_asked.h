//  argos_asked - what a message does to the questions that turns of its session wait for. Pure.
//
//  A question is a record (argos_question). It is answered by /approve and /deny, by a button (a
//  message whose text is the id of an option), by a plain word while an approval waits, and a
//  clarify by the next text of somebody who may answer. A background task asks in the chat that it
//  was started in: it is answered there by command, word or button; a clarify also by the number or
//  the label of what it offers, and when it offers nothing by the next text, unless the session
//  itself asks. Each answer is the record with the version that was read and a side message to the
//  turn, in one commit: who comes second is decided again and told so. What stops a session closes
//  its questions in the same commit.

#ifndef ARGOS_ASKED_H
#define ARGOS_ASKED_H

#include "argos_cmd.h"
#include "argos_gateway.h"

//  The question for ARGOS_FACT_ASKED: the records of the session. NULL when it has none yet.
argos_cmd_ask_fn argos_cmd_ask_asked;

//  The question for ARGOS_FACT_ASKED_TASKS: those of background tasks.
argos_cmd_ask_fn argos_cmd_ask_asked_tasks;

//  Facts that say whether a text is an answer, bits, as far as is known.
unsigned argos_asked_needs (const argos_gateway_case_t *gateway);

//  The step of the pipeline for what is no command: an answer is given, or it is said why not.
//  Returns false when the text is none; then nothing was added.
bool argos_asked_step (const argos_gateway_case_t *gateway, json_t *parts);

//  Id of the run that waits for an answer, "" = none does. Borrowed.
const char *argos_asked_run (const argos_gateway_case_t *gateway);

//  Whether an approval waits that was asked for later than `at` (msec since 1970).
bool argos_asked_since (const argos_gateway_case_t *gateway, int64_t at);

//  Adds what closes the open questions of the session as cancelled, as they were read.
void argos_asked_cancel (const argos_gateway_case_t *gateway, json_t *parts);

#endif
