//  argos_turn - the states of one turn, as a table.
//
//  Invariant: the state changes in argos_turn_step only. A cell that is not written is IGNORE and
//  leaves the state; OVER ignores everything. Every state but OVER ends on LOST.

#include "argos_turn.h"

typedef struct {
    argos_turn_action_t action; //  What to do
    argos_turn_state_t next;    //  The state then
} s_cell_t;

#define ON(event, what, then) [ARGOS_TURN_##event] = { ARGOS_TURN_##what, ARGOS_TURN_##then }
#define ON_LOST ON (LOST, DO_FREE, OVER)
#define ON_STOP ON (STOP, DO_HALT, LISTING)
#define ON_REFUSAL                                                                                 \
    ON (REFUSED, DO_RELOAD, LOADING), ON (REFUSED_AGAIN, DO_REJECT, OVER),                         \
        ON (PAUSE, DO_RELEASE, OVER)
#define ON_ANSWER                                                                                  \
    ON (TEXT, DO_FINISH, FINISHING), ON (TOOLS, DO_DECIDE, DECIDING), ON (RETRY, DO_ARM, BACKOFF), \
        ON (FAIL, DO_FINISH, FINISHING), ON (COMPRESS, DO_COMPRESS, COMPRESSING)

static const s_cell_t s_table[ARGOS_TURN_STATES][ARGOS_TURN_EVENTS] = {
    [ARGOS_TURN_LOADING] = { ON (LOADED, DO_CALL, WAITING), ON (LOADED_OPEN, DO_OPEN, OPENING),
        ON (LOADED_TOOLS, DO_CHECK, TOOLING), ON (COMPRESS, DO_COMPRESS, COMPRESSING),
        ON (FAIL, DO_FINISH, FINISHING), ON (REFUSED, DO_RELEASE, OVER),
        ON (REFUSED_AGAIN, DO_RELEASE, OVER), ON (PAUSE, DO_RELEASE, OVER), ON_STOP, ON_LOST },
    [ARGOS_TURN_OPENING] = { ON (ACCEPTED, DO_CALL, WAITING),
        ON (ACCEPTED_TOOLS, DO_CHECK, TOOLING), ON_REFUSAL, ON_STOP, ON_LOST },
    [ARGOS_TURN_WAITING] = { ON (DATA, NOTE, STREAMING), ON (HOLD, DO_ARM, BACKOFF), ON_ANSWER,
        ON_STOP, ON_LOST },
    [ARGOS_TURN_STREAMING] = { ON_ANSWER, ON_STOP, ON_LOST },
    [ARGOS_TURN_BACKOFF] = { ON (TIMER, DO_CALL, WAITING), ON (TIMER_OPEN, DO_OPEN, OPENING),
        ON_STOP, ON_LOST },
    [ARGOS_TURN_COMPRESSING] = { ON (SUMMARY, DO_COMPACT, COMPACTING), ON (SKIP, DO_CALL, WAITING),
        ON (TEXT, DO_FINISH, FINISHING), ON (FAIL, DO_FINISH, FINISHING), ON_STOP, ON_LOST },
    [ARGOS_TURN_COMPACTING] = { ON (ACCEPTED, DO_CALL, WAITING), ON_REFUSAL, ON_STOP, ON_LOST },
    [ARGOS_TURN_DECIDING] = { ON (DECIDED, DO_CALLS, CALLING), ON (PAUSE, DO_RELEASE, OVER),
        ON_STOP, ON_LOST },
    [ARGOS_TURN_CALLING] = { ON (ACCEPTED, DO_RUN, TOOLING), ON_REFUSAL, ON_STOP, ON_LOST },
    [ARGOS_TURN_TOOLING] = { ON (RESULT, DO_STORE, STORING), ON (STORED_ALL, DO_CALL, WAITING),
        ON (PARK, DO_PARK, OVER), ON (COMPRESS, DO_COMPRESS, COMPRESSING),
        ON (FAIL, DO_FINISH, FINISHING), ON_STOP, ON_LOST },
    [ARGOS_TURN_STORING] = { ON (ACCEPTED, DO_CHECK, TOOLING), ON (RESULT, NOTE, STORING),
        ON_REFUSAL, ON_STOP, ON_LOST },
    [ARGOS_TURN_FINISHING] = { ON (ACCEPTED, DO_FREE, OVER), ON (MAIL, DO_AWAIT, MAILING),
        ON_REFUSAL, ON (STOP, NOTE, FINISHING), ON_LOST },
    [ARGOS_TURN_MAILING] = { ON (CLEAR, DO_FINISH, FINISHING), ON_STOP, ON_LOST },
    [ARGOS_TURN_LISTING] = { ON (LISTED, DO_STOP, STOPPING), ON (LISTED_MORE, DO_CANCEL, CLEARING),
        ON (REFUSED, DO_RELEASE, OVER), ON (REFUSED_AGAIN, DO_RELEASE, OVER),
        ON (PAUSE, DO_RELEASE, OVER), ON (STOP, NOTE, LISTING), ON_LOST },
    [ARGOS_TURN_CLEARING] = { ON (ACCEPTED, DO_LIST, LISTING), ON (REFUSED, DO_LIST, LISTING),
        ON (REFUSED_AGAIN, DO_REJECT, OVER), ON (PAUSE, DO_RELEASE, OVER),
        ON (STOP, NOTE, CLEARING), ON_LOST },
    [ARGOS_TURN_STOPPING] = { ON (ACCEPTED, DO_FREE, OVER), ON (MAIL, DO_AWAIT, PAUSING),
        ON (REFUSED, DO_LIST, LISTING), ON (REFUSED_AGAIN, DO_REJECT, OVER),
        ON (PAUSE, DO_RELEASE, OVER), ON (STOP, NOTE, STOPPING), ON_LOST },
    [ARGOS_TURN_PAUSING] = { ON (STOP, DO_LIST, LISTING), ON (CLEAR, DO_STOP, STOPPING), ON_LOST },
};

argos_turn_action_t
argos_turn_step (argos_turn_state_t *state, argos_turn_event_t event)
{
    const s_cell_t *cell = &s_table[*state][event];
    if (cell->action != ARGOS_TURN_IGNORE)
        *state = cell->next;
    return cell->action;
}

int
argos_turn_commits (argos_turn_state_t state)
{
    return state == ARGOS_TURN_OPENING || state == ARGOS_TURN_COMPACTING ||
           state == ARGOS_TURN_CALLING || state == ARGOS_TURN_STORING ||
           state == ARGOS_TURN_FINISHING || state == ARGOS_TURN_CLEARING ||
           state == ARGOS_TURN_STOPPING;
}

const char *
argos_turn_state_name (argos_turn_state_t state)
{
    static const char *const names[ARGOS_TURN_STATES] = { "loading", "opening", "waiting",
        "streaming", "backoff", "compressing", "compacting", "deciding", "calling", "tooling",
        "storing", "finishing", "mailing", "listing", "clearing", "stopping", "pausing", "over" };
    return names[state];
}

const char *
argos_turn_event_name (argos_turn_event_t event)
{
    static const char *const names[ARGOS_TURN_EVENTS] = { "loaded", "loaded_open", "loaded_tools",
        "accepted", "accepted_tools", "mail", "refused", "refused_again", "pause", "data", "text",
        "tools", "compress", "summary", "skip", "decided", "retry", "fail", "hold", "timer",
        "timer_open", "result", "stored_all", "park", "stop", "listed", "listed_more", "clear",
        "lost" };
    return names[event];
}

const char *
argos_turn_action_name (argos_turn_action_t action)
{
    static const char *const names[ARGOS_TURN_ACTIONS] = { "ignore", "note", "open", "call", "arm",
        "compress", "compact", "decide", "calls", "run", "store", "check", "finish", "await",
        "halt", "list", "cancel", "stop", "reload", "reject", "park", "release", "free" };
    return names[action];
}
