//  argos_reaction - what to do when a call of a model has failed. Pure.
//
//  A table: one row for each class of failure. The order is always the same: what makes the request
//  fit (once each), a smaller conversation, another provider at once when waiting is of no use,
//  another attempt, another provider, and then the sentence for people.

#ifndef ARGOS_REACTION_H
#define ARGOS_REACTION_H

#include "argos_messages.h"
#include "argos_provider_error.h"

#define ARGOS_REACTION_COMPRESSIONS 3 //  Smaller conversations of one turn at most

typedef enum {
    ARGOS_REACT_FAIL,     //  Say why
    ARGOS_REACT_RETRY,    //  The same again, after a while
    ARGOS_REACT_ADJUST,   //  The same with what *ret_adjust leaves out, at once
    ARGOS_REACT_COMPRESS, //  Make the conversation smaller, then again
    ARGOS_REACT_FALLBACK  //  The next provider, at once
} argos_react_t;

typedef struct {
    int repeats;       //  Attempts after the first with this provider
    int repeats_max;   //  How many are allowed
    bool fallback;     //  There is another provider
    unsigned adjusted; //  ARGOS_ADJUST_* that are left out already
    int compressions;  //  Of this turn
    bool images;       //  The request had images
    bool huge;         //  The conversation is so long that a broken connection may mean its length
    bool large;        //  The conversation is so long that an unclear refusal may mean its length
} argos_react_state_t;

//  Says what to do about the error; ARGOS_REACT_ADJUST sets *ret_adjust to the new set of
//  ARGOS_ADJUST_*.
argos_react_t argos_react (
    const argos_provider_error_t *error, const argos_react_state_t *state, unsigned *ret_adjust);

//  Whether a failure of that class lets its provider cool down for the turns that follow.
bool argos_react_cools (argos_provider_class_t class);

//  How long, msec: 60 s, doubled each time up to 4 h.
int64_t argos_react_cool_ms (int times);

#endif
