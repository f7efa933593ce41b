//  argos_age - how old the oldest of many is, in bounded memory: counts of what came between marks
//  in time.
//
//  Pure, of fixed size. Times are in units of the caller and may be negative.

#ifndef ARGOS_AGE_H
#define ARGOS_AGE_H

#include <stdbool.h>
#include <stdint.h>

#define ARGOS_AGE_MARKS 32

typedef struct {
    int used; //  Marks in use
    struct {
        int32_t from;  //  What came at this time or later, before the next mark
        int64_t count; //  is so many
    } marks[ARGOS_AGE_MARKS];
} argos_age_t;

//  One more that came then; one less of those that were added with that very time.
void argos_age_add (argos_age_t *self, int32_t at);
void argos_age_remove (argos_age_t *self, int32_t at);

//  When the oldest came: exactly, or too early by less than an eighth of the longest time between
//  oldest and newest that it has seen, as long as they come in order. Returns false when there is
//  none.
bool argos_age_oldest (const argos_age_t *self, int32_t *ret_at);

#endif
