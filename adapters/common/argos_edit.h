//  argos_edit - messages that are none: the new text of one that was said before, and reactions.
//  Pure.
//
//  Their ids are made of that of the message that they are about and of what makes them different
//  from others about the same one: so what a platform tells twice is one.

#ifndef ARGOS_EDIT_H
#define ARGOS_EDIT_H

#include <jansson.h>
#include <stdbool.h>

//  Makes an edit of a message that was read ({"id","key","body"}) as if it had been said now. when:
//  the platform's time of the edit. Returns false when there is nothing that could take the place
//  of a text (it is empty, or a command); then the message is as it was.
bool argos_edit_make (json_t *message, const char *when);

//  Makes a reaction of a message that has an id, a source and `message_id` of what the emoji was
//  put on, or taken from. when: what the platform has to tell one reaction from the next.
void argos_edit_reaction (json_t *message, const char *emoji, bool on, const char *when);

#endif
