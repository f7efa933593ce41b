//  argos_gateway_events - what hooks and peers that look on hear of a message that has been
//  handled. Pure.

#ifndef ARGOS_GATEWAY_EVENTS_H
#define ARGOS_GATEWAY_EVENTS_H

#include "argos_gateway.h"

//  The events (bodies of hook.event) in the parts that have been committed for a message:
//  session:start, session:end, session:reset, message:edited, message:reaction. session is the one
//  that the route led to before, NULL = none. New, the caller's, may be empty.
json_t *argos_gateway_events (
    const argos_gateway_case_t *gateway, const char *session, const json_t *parts);

#endif
