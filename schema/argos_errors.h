//  argos_errors - the error codes of Argos.
//
//  Generated from errors.json by schema/generate.py; do not edit.

#ifndef ARGOS_ERRORS_H
#define ARGOS_ERRORS_H

typedef enum {
    ARGOS_OK,           //  no error
    ARGOS_INVALID,      //  the message is malformed or its body does not fit its schema
    ARGOS_DENIED,       //  the role of this peer does not allow that
    ARGOS_NO_SESSION,   //  say hello first
    ARGOS_SUPERSEDED,   //  a newer instance of this name is connected; final for this instance
    ARGOS_CREDIT,       //  beyond the window granted to this peer, or a credit that goes backwards
    ARGOS_BUSY,         //  a limit is reached; send again later
    ARGOS_NO_PEER,      //  no peer of that name is connected
    ARGOS_NO_SERVICE,   //  no such service has been declared
    ARGOS_EXPIRED,      //  the deadline has passed
    ARGOS_GONE,         //  the peer that held the request is gone
    ARGOS_FENCED,       //  the lease is not the one on record; forget it
    ARGOS_MAIL,         //  a side message that you have not seen waits in the lane
    ARGOS_CONFLICT,     //  an expectation failed, or the id was used with other content
    ARGOS_NOT_FOUND,    //  no such thing
    ARGOS_NO_SPACE,     //  the disk is full
    ARGOS_UNKNOWN_TYPE, //  no such message type or store operation
    ARGOS_TOO_BIG,      //  larger than the limit
    ARGOS_LOOP,         //  the chain of messages is longer than 64 hops
    ARGOS_STRIKES,      //  given up after repeated failures
    ARGOS_UNSUPPORTED,  //  that platform can't do this
    ARGOS_INTERNAL,     //  a failure inside; see the log
    ARGOS_ERR_COUNT     //  how many codes there are
} argos_err_t;

//  The wire name of a code ("fenced"); "internal" for a number that is none. Borrowed, static.
const char *argos_err_name (argos_err_t code);

//  The sentence of a code, for people. Borrowed, static.
const char *argos_err_text (argos_err_t code);

//  The code of a wire name; ARGOS_INTERNAL when it is none of ours.
argos_err_t argos_err_from_name (const char *name);

#endif
