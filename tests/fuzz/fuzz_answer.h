//  fuzz_answer - answers of a provider: a stream of events, or a whole body, to the settled answer.
//
//  Input: `w` and a whole body, or anything else and a stream. Holds: an answer that asks for tools
//  has calls with an id, a name and arguments that are a JSON object; the text is UTF-8.

#ifndef ARGOS_FUZZ_ANSWER_H
#define ARGOS_FUZZ_ANSWER_H

#include "argos_answer.h"
#include "argos_sse.h"
#include "fuzz.h"

#include <string.h>

//  What one family of providers reads

typedef int (fuzz_event_fn) (
    argos_answer_t *answer, argos_json_carry_t *carry, const char *data, size_t size);
typedef int (fuzz_whole_fn) (argos_answer_t *answer, const char *body, size_t size);

typedef struct {
    argos_answer_t *answer;   //  Put together
    argos_json_carry_t carry; //  Half a pair
    fuzz_event_fn *event;     //  Reads an event
} run_t;

static bool
s_event (void *arg, const char *event, const char *data, size_t size)
{
    run_t *run = arg;
    (void) event;
    return run->event (run->answer, &run->carry, data, size) == 0;
}

static void
s_check (argos_answer_t *answer)
{
    argos_answer_kind_t kind = argos_answer_settle (answer, "fuzz");
    for (size_t i = 0; kind == ARGOS_ANSWER_TOOLS && i < answer->call_count; i++) {
        argos_answer_call_t *call = &answer->calls[i];
        json_t *arguments = json_loadb (call->args.data, call->args.size, 0, NULL);
        FUZZ_CHECK (*call->id && *call->name && json_is_object (arguments));
        json_decref (arguments);
    }
    if (answer->text.size) {
        json_t *text = json_stringn (answer->text.data, answer->text.size);
        FUZZ_CHECK (text != NULL);
        json_decref (text);
    }
    FUZZ_CHECK (answer->text.size <= ARGOS_ANSWER_TEXT_MAX);
}

static inline int
fuzz_answer (const uint8_t *data, size_t size, fuzz_event_fn *event, fuzz_whole_fn *whole)
{
    argos_sse_t sse;
    if (size < 2)
        return 0;
    run_t run = { .answer = argos_answer_new (), .event = event };
    argos_sse_init (&sse);
    if (data[0] == 'w')
        whole (run.answer, (const char *) data + 1, size - 1);
    else
        argos_sse_feed (&sse, (const char *) data + 1, size - 1, s_event, &run);
    s_check (run.answer);
    argos_sse_clear (&sse);
    argos_answer_destroy (&run.answer);
    return 0;
}

#endif
