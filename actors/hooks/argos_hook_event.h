//  argos_hook_event - makes entries of topic:hook.events: what happened, for hooks and for peers
//  that look on. Pure.

#ifndef ARGOS_HOOK_EVENT_H
#define ARGOS_HOOK_EVENT_H

#include <jansson.h>
#include <stddef.h>

#define ARGOS_HOOK_EVENT "hook.event"        //  Type of the entries
#define ARGOS_HOOK_TOPIC "topic:hook.events" //  One for all, so that their order is kept

//  The body of an entry about something in the chat of source (as in message.inbound; NULL = in no
//  chat). New, the caller's, who adds what he knows.
json_t *argos_hook_event_new (const char *event, const json_t *source);

//  Adds a text under name, cut to 500 characters; nothing when text is NULL or "".
void argos_hook_event_text (json_t *event, const char *name, const char *text);

#endif
