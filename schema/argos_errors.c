//  argos_errors - names and sentences of the error codes.
//
//  Generated from errors.json by schema/generate.py; do not edit.
//  Pure tables; look-up by name is linear, over 22 names.

#include "argos_errors.h"

#include <stddef.h>
#include <string.h>

//  One code a line
// clang-format off
static const struct {
    const char *name; //  On the wire
    const char *text; //  For people
} s_errors[ARGOS_ERR_COUNT] = {
    [ARGOS_OK] = { "ok", "no error" },
    [ARGOS_INVALID] = { "invalid", "the message is malformed or its body does not fit its schema" },
    [ARGOS_DENIED] = { "denied", "the role of this peer does not allow that" },
    [ARGOS_NO_SESSION] = { "no_session", "say hello first" },
    [ARGOS_SUPERSEDED] = { "superseded", "a newer instance of this name is connected; final for this instance" },
    [ARGOS_CREDIT] = { "credit", "beyond the window granted to this peer, or a credit that goes backwards" },
    [ARGOS_BUSY] = { "busy", "a limit is reached; send again later" },
    [ARGOS_NO_PEER] = { "no_peer", "no peer of that name is connected" },
    [ARGOS_NO_SERVICE] = { "no_service", "no such service has been declared" },
    [ARGOS_EXPIRED] = { "expired", "the deadline has passed" },
    [ARGOS_GONE] = { "gone", "the peer that held the request is gone" },
    [ARGOS_FENCED] = { "fenced", "the lease is not the one on record; forget it" },
    [ARGOS_MAIL] = { "mail", "a side message that you have not seen waits in the lane" },
    [ARGOS_CONFLICT] = { "conflict", "an expectation failed, or the id was used with other content" },
    [ARGOS_NOT_FOUND] = { "not_found", "no such thing" },
    [ARGOS_NO_SPACE] = { "no_space", "the disk is full" },
    [ARGOS_UNKNOWN_TYPE] = { "unknown_type", "no such message type or store operation" },
    [ARGOS_TOO_BIG] = { "too_big", "larger than the limit" },
    [ARGOS_LOOP] = { "loop", "the chain of messages is longer than 64 hops" },
    [ARGOS_STRIKES] = { "strikes", "given up after repeated failures" },
    [ARGOS_UNSUPPORTED] = { "unsupported", "that platform can't do this" },
    [ARGOS_INTERNAL] = { "internal", "a failure inside; see the log" },
};
// clang-format on

const char *
argos_err_name (argos_err_t code)
{
    return (unsigned) code < ARGOS_ERR_COUNT ? s_errors[code].name : s_errors[ARGOS_INTERNAL].name;
}

const char *
argos_err_text (argos_err_t code)
{
    return (unsigned) code < ARGOS_ERR_COUNT ? s_errors[code].text : s_errors[ARGOS_INTERNAL].text;
}

argos_err_t
argos_err_from_name (const char *name)
{
    for (size_t code = 0; name && code < ARGOS_ERR_COUNT; code++)
        if (strcmp (s_errors[code].name, name) == 0)
            return (argos_err_t) code;
    return ARGOS_INTERNAL;
}
