//  argos_dc_gateway - see the header.
//
//  Invariant: each state but DC_STOPPED and DC_LIVE has a deadline in the shell, and DC_SILENT
//  leads out of it; whatever drops a socket leads to DC_PAUSED, so two are never open.

#include "argos_dc_gateway.h"

#include <stddef.h>

#define ALWAYS(mask, state)                                                                        \
    {                                                                                              \
        (mask) | 1u << 31, state                                                                   \
    } //  Filled, even without an action

//  Of most states: the socket is gone or to be dropped
#define CUTS_BUT_SILENCE                                                                           \
    [DC_RECONNECT] = ALWAYS (DC_DO_LEAVE | DC_DO_SOON, DC_PAUSED),                                 \
    [DC_INVALID] = ALWAYS (DC_DO_FORGET | DC_DO_LEAVE | DC_DO_REST, DC_PAUSED),                    \
    [DC_INVALID_OLD] = ALWAYS (DC_DO_LEAVE | DC_DO_REST, DC_PAUSED),                               \
    [DC_CUT] = ALWAYS (DC_DO_LEAVE | DC_DO_PAUSE, DC_PAUSED),                                      \
    [DC_CUT_NEW] = ALWAYS (DC_DO_FORGET | DC_DO_LEAVE | DC_DO_PAUSE, DC_PAUSED),                   \
    [DC_CUT_LATER] = ALWAYS (DC_DO_LEAVE | DC_DO_PAUSE, DC_PAUSED),                                \
    [DC_CUT_FOR_GOOD] = ALWAYS (DC_DO_FORGET | DC_DO_LEAVE | DC_DO_PROBLEM, DC_STOPPED)

#define CUTS CUTS_BUT_SILENCE, [DC_SILENT] = ALWAYS (DC_DO_LEAVE | DC_DO_PAUSE, DC_PAUSED)

static const dc_transition_t table[DC_STATES][DC_EVENTS] = {
    [DC_ASKING] = { [DC_ASKED] = ALWAYS (DC_DO_CONNECT, DC_OPENING),
        [DC_ASK_FAILED] = ALWAYS (DC_DO_PAUSE, DC_PAUSED),
        [DC_ASK_REFUSED] = ALWAYS (DC_DO_PROBLEM, DC_STOPPED) },
    [DC_OPENING] = { CUTS, [DC_OPEN] = ALWAYS (0, DC_GREETING) },
    [DC_GREETING] = { CUTS, [DC_HELLO_NEW] = ALWAYS (DC_DO_IDENTIFY, DC_IDENTIFYING),
        [DC_HELLO_OLD] = ALWAYS (DC_DO_RESUME, DC_RESUMING) },
    [DC_IDENTIFYING] = { CUTS, [DC_READY] = ALWAYS (DC_DO_SERVE, DC_LIVE) },
    //  A session that can't be resumed in time is given up
    [DC_RESUMING] = { CUTS_BUT_SILENCE, [DC_RESUMED] = ALWAYS (DC_DO_SERVE, DC_LIVE),
        [DC_SILENT] = ALWAYS (DC_DO_FORGET | DC_DO_LEAVE | DC_DO_PAUSE, DC_PAUSED) },
    [DC_LIVE] = { CUTS },
    [DC_PAUSED] = { [DC_BEGIN_NEW] = ALWAYS (DC_DO_ASK, DC_ASKING),
        [DC_BEGIN_OLD] = ALWAYS (DC_DO_CONNECT, DC_OPENING) },
    [DC_STOPPED] = { [DC_BEGIN_NEW] = ALWAYS (DC_DO_ASK, DC_ASKING),
        [DC_BEGIN_OLD] = ALWAYS (DC_DO_CONNECT, DC_OPENING) },
};

dc_transition_t
argos_dc_gateway (dc_state_t state, dc_event_t event)
{
    dc_transition_t found = table[state][event];
    //  What does not belong into a state changes nothing: a word of a socket that was dropped
    if (!(found.actions & 1u << 31))
        return (dc_transition_t){ 0, state };
    found.actions &= ~(1u << 31);
    return found;
}

static const struct {
    int code;         //  Of the close
    dc_event_t event; //  What it means
    const char *help; //  For the operator
} codes[] = {
    { 4003, DC_CUT_NEW, NULL },
    { 4004, DC_CUT_FOR_GOOD,
        "Discord refuses the token; make a new one in the developer portal, page Bot" },
    { 4007, DC_CUT_NEW, NULL },
    { 4008, DC_CUT_LATER, NULL },
    { 4009, DC_CUT_NEW, NULL },
    { 4010, DC_CUT_FOR_GOOD, "Discord refuses our shard" },
    { 4011, DC_CUT_FOR_GOOD, "the bot is in too many servers for one connection" },
    { 4012, DC_CUT_FOR_GOOD, "Discord no longer knows the version 10 of its gateway" },
    { 4013, DC_CUT_FOR_GOOD, "Discord does not know the intents that we ask for" },
    { 4014, DC_CUT_FOR_GOOD,
        "the bot may not read messages: turn on Message Content Intent in the developer portal, "
        "page Bot" },
};

dc_event_t
argos_dc_gateway_cut (int code)
{
    for (size_t at = 0; at < sizeof codes / sizeof codes[0]; at++)
        if (codes[at].code == code)
            return codes[at].event;
    return DC_CUT;
}

const char *
argos_dc_gateway_help (int code)
{
    for (size_t at = 0; at < sizeof codes / sizeof codes[0]; at++)
        if (codes[at].code == code)
            return codes[at].help;
    return NULL;
}
