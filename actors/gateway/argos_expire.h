//  argos_expire - sessions that end by themselves, without a message that finds them over.
//
//  A session with a policy (argos_life) has one session.expire on its way to the gateway itself,
//  due when it would be over. When it comes and something was said since, or a turn runs, the next
//  one is sent; else the route gets a new session, once, because it is expected to be as it was
//  read. People are told with their next message. Pure.

#ifndef ARGOS_EXPIRE_H
#define ARGOS_EXPIRE_H

#include "argos_gateway.h"

#define ARGOS_EXPIRE_TYPE "session.expire" //  Of the message

//  Adds the message that ends the session by the policy of its chat, touched then (msec since
//  1970); nothing when there is no policy.
void argos_expire_arm (
    const argos_gateway_case_t *gateway, const char *session, int64_t touched, json_t *parts);

//  Whether the case is such a message.
bool argos_expire_is (const argos_gateway_case_t *gateway);

//  Facts to decide on, bits.
unsigned argos_expire_needs (const argos_gateway_case_t *gateway);

//  What becomes of the session; parts, new, may be empty.
json_t *argos_expire_decide (const argos_gateway_case_t *gateway);

#endif
