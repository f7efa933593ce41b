//  argos_repeats - whether a turn goes round in circles: calls that fail again and again, and calls
//  that bring the same again. Pure.
//
//  What was before is read from the rows of the run, so it is known after a restart too, and
//  forgotten with the turn.

#ifndef ARGOS_REPEATS_H
#define ARGOS_REPEATS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct {
    int failed;      //  How often this call has failed since it last worked
    int tool_failed; //  How often its tool has in a row, whatever it was given
    int same;        //  How often in a row it has brought the same
} argos_repeats_t;

typedef struct {
    const json_t *rows;      //  The conversation: calls and results
    const char *run_id;      //  Rows of others don't count
    const char *tool;        //  Which tool
    const json_t *arguments; //  Of the call
    bool mutates;            //  The same again is what it is for: `same` stays 0
} argos_repeats_call_t;

//  What there was before the call; and with its result (the content of its row). All borrowed.
argos_repeats_t argos_repeats_before (const argos_repeats_call_t *call);
argos_repeats_t argos_repeats_with (const argos_repeats_call_t *call, json_t *result);

//  Words for the model beside the result, and in place of it where such calls are not run any more;
//  false = there is no reason.
bool argos_repeats_warning (
    const argos_repeats_t *self, const char *tool, char *target, size_t size);
bool argos_repeats_refusal (
    const argos_repeats_t *self, const char *tool, char *target, size_t size);

#endif
