//  argos_reaction - what to do when a call of a model has failed. Pure.
//
//  Invariant: every class has its row; each reaction is bounded (an adjustment is made once, a
//  conversation made smaller three times, a provider asked repeats_max + 1 times), so that a turn
//  ends.

#include "argos_reaction.h"

#include <string.h>

typedef enum {
    S_NEVER, //  Another provider is of no use
    S_LATE,  //  When repeats are used up
    S_FIRST  //  At once: waiting is of no use
} s_fallback_t;

static const struct {
    s_fallback_t fallback; //  Whether another provider may help
    unsigned adjust;       //  What is left out
    bool retry;            //  Waiting may help
    bool compress;         //  A smaller conversation helps
} s_table[ARGOS_PE_COUNT] = {
    [ARGOS_PE_AUTH] = { .fallback = S_FIRST },
    [ARGOS_PE_BILLING] = { .fallback = S_FIRST },
    [ARGOS_PE_RATE_LIMIT] = { .retry = true, .fallback = S_FIRST },
    [ARGOS_PE_OVERLOADED] = { .retry = true, .fallback = S_LATE },
    [ARGOS_PE_SERVER] = { .retry = true, .fallback = S_LATE },
    [ARGOS_PE_TIMEOUT] = { .retry = true, .fallback = S_LATE },
    [ARGOS_PE_CONTEXT_OVERFLOW] = { .compress = true },
    [ARGOS_PE_PAYLOAD] = { .compress = true },
    [ARGOS_PE_MODEL] = { .fallback = S_FIRST },
    [ARGOS_PE_POLICY] = { .fallback = S_FIRST },
    [ARGOS_PE_FORMAT] = { 0 },
    [ARGOS_PE_UNREACHABLE] = { .retry = true, .fallback = S_LATE },
    [ARGOS_PE_NOT_FOUND] = { .fallback = S_FIRST },
    [ARGOS_PE_CREDENTIALS] = { .fallback = S_FIRST },
    [ARGOS_PE_DATA_POLICY] = { 0 },
    [ARGOS_PE_PARAMETER] = { 0 },
    [ARGOS_PE_STREAMING] = { .adjust = ARGOS_ADJUST_STREAM },
    [ARGOS_PE_GRAMMAR] = { .adjust = ARGOS_ADJUST_SCHEMA },
    [ARGOS_PE_THINKING] = { .adjust = ARGOS_ADJUST_THINKING },
    [ARGOS_PE_LONG_CONTEXT] = { .compress = true },
    [ARGOS_PE_CUT_CALL] = { 0 },
    [ARGOS_PE_EMPTY] = { .retry = true, .fallback = S_FIRST },
    [ARGOS_PE_NO_IMAGES] = { .adjust = ARGOS_ADJUST_IMAGES },
    [ARGOS_PE_IMAGE] = { .adjust = ARGOS_ADJUST_IMAGES },
    [ARGOS_PE_UNKNOWN] = { .retry = true, .fallback = S_LATE },
};

static unsigned
s_of_parameter (const char *parameter)
{
    static const struct {
        const char *name; //  On the wire
        unsigned adjust;  //  What leaves it out
    } rows[] = { { "max_tokens", ARGOS_ADJUST_LIMIT },
        { "max_completion_tokens", ARGOS_ADJUST_LIMIT }, { "stream_options", ARGOS_ADJUST_USAGE },
        { "reasoning_effort", ARGOS_ADJUST_EFFORT }, { "thinking", ARGOS_ADJUST_EFFORT },
        { "output_config", ARGOS_ADJUST_EFFORT }, { "cache_control", ARGOS_ADJUST_CACHE },
        { "temperature", ARGOS_ADJUST_SAMPLING }, { "top_p", ARGOS_ADJUST_SAMPLING },
        { "stop", ARGOS_ADJUST_SAMPLING }, { "seed", ARGOS_ADJUST_SAMPLING },
        { "presence_penalty", ARGOS_ADJUST_SAMPLING },
        { "frequency_penalty", ARGOS_ADJUST_SAMPLING } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp (rows[i].name, parameter) == 0)
            return rows[i].adjust;
    return 0;
}

//  A refusal without words, when the conversation is long: it is its length. So is, when it is very
//  long, a connection that breaks off once more.
static bool
s_is_length (const argos_provider_error_t *error, const argos_react_state_t *state)
{
    if (state->huge && error->class == ARGOS_PE_TIMEOUT && error->cut && !error->unsent)
        return state->repeats > 0;
    return state->large && error->class == ARGOS_PE_FORMAT && error->status == 400 &&
           strlen (error->message) < 40;
}

argos_react_t
argos_react (
    const argos_provider_error_t *error, const argos_react_state_t *state, unsigned *ret_adjust)
{
    argos_provider_class_t class = error->class < ARGOS_PE_COUNT ? error->class : ARGOS_PE_UNKNOWN;
    unsigned adjust =
        class == ARGOS_PE_PARAMETER ? s_of_parameter (error->parameter) : s_table[class].adjust;
    bool compress = s_table[class].compress || s_is_length (error, state);
    if (class == ARGOS_PE_PAYLOAD && state->images)
        adjust = ARGOS_ADJUST_IMAGES; //  They are most of it
    if (adjust & ~state->adjusted) {
        *ret_adjust = state->adjusted | adjust;
        return ARGOS_REACT_ADJUST;
    }
    if (compress && state->compressions < ARGOS_REACTION_COMPRESSIONS)
        return ARGOS_REACT_COMPRESS;
    if (s_table[class].fallback == S_FIRST && state->fallback)
        return ARGOS_REACT_FALLBACK;
    if (s_table[class].retry && state->repeats < state->repeats_max)
        return ARGOS_REACT_RETRY;
    if (s_table[class].fallback == S_LATE && state->fallback)
        return ARGOS_REACT_FALLBACK;
    return ARGOS_REACT_FAIL;
}

bool
argos_react_cools (argos_provider_class_t class)
{
    return class == ARGOS_PE_RATE_LIMIT;
}

int64_t
argos_react_cool_ms (int times)
{
    int64_t msec = 60000;
    for (int i = 1; i < times && msec < 14400000; i++)
        msec *= 2;
    return msec < 14400000 ? msec : 14400000;
}
