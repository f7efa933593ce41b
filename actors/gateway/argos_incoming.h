//  argos_incoming - from an event to what is decided on and to what the model reads. Pure.

#ifndef ARGOS_INCOMING_H
#define ARGOS_INCOMING_H

#include <jansson.h>
#include <stdbool.h>

#define ARGOS_INCOMING_NAME_MAX 32     //  Bytes of a command's name, longer words are none
#define ARGOS_INCOMING_TEXT_MAX 262144 //  Bytes of the text of a turn
#define ARGOS_INCOMING_PERSON_MAX 240  //  Characters of a name in front of a text
#define ARGOS_INCOMING_QUOTE_MAX 500   //  Characters of a quoted message

//  Whether text is a command: a slash, and a first word without another slash (that is a path). The
//  word, in lower case and without @botname, goes to name (ARGOS_INCOMING_NAME_MAX + 1 bytes);
//  *ret_arguments (may be NULL) points behind it and its blanks, into text.
bool argos_incoming_command (const char *text, char *name, const char **ret_arguments);

//  The event as it is decided on: in a chat of two a plain "restart gateway" has become `/restart`,
//  and the dashes that keyboards of phones make of `--` and `-` in the arguments of a command are
//  those again. body is a message.inbound; texts of programs (the API) stay as they are. New, the
//  caller's: the same object when there was nothing to change.
json_t *argos_incoming_event (json_t *body);

//  What the user says in this turn, as the model reads it: the message that is replied to, what was
//  written in the channel since, who speaks (shared: several speak in this session), and the text.
//  What the channel has is cut from its beginning when all of it is too long. A new JSON string, or
//  NULL when even without that it has more than ARGOS_INCOMING_TEXT_MAX bytes.
json_t *argos_incoming_text (const json_t *body, bool shared);

//  The instructions of this turn: those of the message, then those of its channel. New, or NULL
//  when there are none.
json_t *argos_incoming_instructions (const json_t *body);

#endif
