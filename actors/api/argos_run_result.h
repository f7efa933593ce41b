//  argos_run_result - what the events of a run come to, for answers that are no event streams.
//  Pure.
//
//  A client of a chat can't be told to forget what it has: when a run is begun again, what was told
//  already is not told twice, and a text that goes on differently is a new paragraph.

#ifndef ARGOS_RUN_RESULT_H
#define ARGOS_RUN_RESULT_H

#include "argos_text.h"

#include <jansson.h>

typedef enum {
    ARGOS_RUN_UNFINISHED, //  No last event yet
    ARGOS_RUN_COMPLETED,  //  It has an output
    ARGOS_RUN_FAILED,     //  It has an error
    ARGOS_RUN_CANCELLED   //  Somebody stopped it
} argos_run_outcome_t;

typedef struct {
    argos_run_outcome_t outcome;         //  How it ended
    bool truncated;                      //  The model had no room for more
    argos_text_t told;                   //  All text so far
    argos_text_t piece;                  //  What the last event added
    argos_text_t segment;                //  Text of the segment in progress
    argos_text_t again;                  //  The same after a restart, until it is longer
    bool repeating;                      //  again is being filled
    json_t *output;                      //  String, or NULL
    char *error;                         //  Sentence, or NULL
    int64_t input, output_tokens, total; //  Usage
    int64_t at;                          //  Seconds since 1970 of the last event
} argos_run_result_t;

void argos_run_result_init (argos_run_result_t *self);
void argos_run_result_clear (argos_run_result_t *self);

//  Takes an event as argos_event_translate made it. Returns the text that it adds, "" = none;
//  borrowed until the next call.
const char *argos_run_result_take (argos_run_result_t *self, const json_t *event);

//  The answer as a whole, borrowed: the output, or what was told.
const char *argos_run_result_text (const argos_run_result_t *self);

#endif
