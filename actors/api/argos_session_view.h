//  argos_session_view - a run as the answer of /api/sessions/{id}/chat, whole or as named events.
//  Pure.

#ifndef ARGOS_SESSION_VIEW_H
#define ARGOS_SESSION_VIEW_H

#include "argos_view.h"

//  A view of the run in that session. Strings are copied.
argos_view_t argos_session_view_new (
    const char *run_id, const char *session_id, const char *model, bool stream);

#endif
