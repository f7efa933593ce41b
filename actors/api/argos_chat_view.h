//  argos_chat_view - a run as a chat completion, whole or in chunks. Pure.
//
//  Every data line of a stream is a chunk with `choices`, or [DONE]: clients parse them all. So the
//  progress of tools is a member `hermes` of a chunk with an empty delta, never text of the answer;
//  an event of its own only for who asks for it.

#ifndef ARGOS_CHAT_VIEW_H
#define ARGOS_CHAT_VIEW_H

#include "argos_view.h"

#define ARGOS_CHAT_ID_SIZE 39 //  chatcmpl- and 29 hex digits, terminated

//  A view of the run. include_usage: usage as a chunk of its own; tool_events: the progress of
//  tools as named events; started_at in seconds since 1970. Strings are copied.
argos_view_t argos_chat_view_new (const char *run_id, const char *model, bool stream,
    bool include_usage, bool tool_events, int64_t started_at);

#endif
