//  argos_age - marks are merged where they are closest, so that they stay about evenly spaced.
//
//  Invariant: marks rise, none is empty, and what was added is counted by the last mark that is not
//  later. Limits: ARGOS_AGE_MARKS; the work of one step is bounded by it.

#include "argos_age.h"

#include <assert.h>
#include <string.h>

//  The last mark that is not later than at; the first when all are later; -1 when there is none

static int
s_find (const argos_age_t *self, int32_t at)
{
    int low = 0, high = self->used;
    while (low < high) {
        int middle = (low + high) / 2;
        if (self->marks[middle].from <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 || self->used == 0 ? low - 1 : 0;
}

static void
s_take_out (argos_age_t *self, int mark)
{
    self->used--;
    memmove (&self->marks[mark], &self->marks[mark + 1],
        (size_t) (self->used - mark) * sizeof self->marks[0]);
}

//  Two neighbours become one, those that leave the smallest gap.

static void
s_merge (argos_age_t *self)
{
    int best = 0;
    int64_t smallest = INT64_MAX;
    for (int i = 0; i + 2 < self->used; i++) {
        int64_t span = (int64_t) self->marks[i + 2].from - self->marks[i].from;
        if (span < smallest) {
            smallest = span;
            best = i;
        }
    }
    self->marks[best].count += self->marks[best + 1].count;
    s_take_out (self, best + 1);
}

void
argos_age_add (argos_age_t *self, int32_t at)
{
    bool newest = self->used == 0 || at > self->marks[self->used - 1].from;
    if (!newest && at >= self->marks[0].from) {
        self->marks[s_find (self, at)].count++;
        return;
    }
    if (self->used == ARGOS_AGE_MARKS)
        s_merge (self);
    int mark = newest ? self->used : 0;
    memmove (&self->marks[mark + 1], &self->marks[mark],
        (size_t) (self->used++ - mark) * sizeof self->marks[0]);
    self->marks[mark].from = at;
    self->marks[mark].count = 1;
}

void
argos_age_remove (argos_age_t *self, int32_t at)
{
    int mark = s_find (self, at);
    assert (mark >= 0);
    if (--self->marks[mark].count == 0)
        s_take_out (self, mark);
}

bool
argos_age_oldest (const argos_age_t *self, int32_t *ret_at)
{
    if (self->used == 0)
        return false;
    *ret_at = self->marks[0].from;
    return true;
}
