//  argos_edited - what a message does that says nothing new: it changes the text of one that was
//  said before (`edits`), or is a reaction (`reaction`). Pure.
//
//  An edit of a message whose turn has not begun calls that turn off and makes one of the new text,
//  with the files of the old one, behind what waits; its own commit has both. That turn says what
//  it is an edit of (`edits`), and the next edit takes its place. What has begun, or is over, stays
//  as it is. Hooks and peers hear of both kinds (message:edited, message:reaction).

#ifndef ARGOS_EDITED_H
#define ARGOS_EDITED_H

#include "argos_gateway.h"

//  Whether the message is one of these.
bool argos_edited_is (const argos_gateway_case_t *self);

//  The facts to decide on, bits, as far as is known.
unsigned argos_edited_needs (const argos_gateway_case_t *self);

//  Adds what is done; may be nothing.
void argos_edited_step (const argos_gateway_case_t *self, json_t *parts);

//  What hooks hear of it, the body of a hook.event, new; parts are those that were committed. NULL
//  = nothing: it is another message, or comes from somebody who is not let in.
json_t *argos_edited_event (const argos_gateway_case_t *self, const json_t *parts);

#endif
