//  argos_out - entries of topic:out.<platform>.<account>: what becomes of a message, for the
//  adapter that wants to show it (typing, a draft). Pure.

#ifndef ARGOS_OUT_H
#define ARGOS_OUT_H

#include <jansson.h>
#include <stddef.h>

#define ARGOS_OUT_TYPE "out.state" //  Type of the entries

//  Address of the topic that goes with a delivery service (deliver.<platform>.<account>) to target,
//  which has size bytes. Returns 0, or -1 with "" when the service (may be NULL) is none of that
//  kind.
int argos_out_topic (const char *service, char *target, size_t size);

//  Body of an entry: state is queued, running, waiting or done. reply_to and delivery may be NULL.
//  New, the caller's.
json_t *argos_out_body (const json_t *source, const char *reply_to, const char *run_id,
    const char *state, const char *delivery);

#endif
