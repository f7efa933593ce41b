//  argos_response_view - a run as a response of the Responses API, whole or as its events. Pure.
//
//  Each text and each call of a tool is an item of the output, in order; a call was run here and is
//  completed always. Of a stream every event has a number, from 0 without gaps.

#ifndef ARGOS_RESPONSE_VIEW_H
#define ARGOS_RESPONSE_VIEW_H

#include "argos_view.h"

//  A view of the run. object is what it repeats of its request (copied); kept: it is read again
//  later, so that it is answered however it ended; started_at in seconds since 1970, 0 = that of
//  the first event.
argos_view_t argos_response_view_new (const char *run_id, const char *model, const json_t *object,
    bool stream, bool kept, int64_t started_at);

//  The object of a response that is not finished, new.
json_t *argos_response_unfinished (
    const char *run_id, const char *model, const json_t *object, int64_t started_at);

#endif
