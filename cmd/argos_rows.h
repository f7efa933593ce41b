//  argos_rows - the rows of broker.stats as tables: sorted, cut to a screen, with rates.
//
//  Columns are data. Nothing here asks the broker; top, peers and services do.

#ifndef ARGOS_ROWS_H
#define ARGOS_ROWS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

//  A sorted copy, new: by a member, the greatest first, or by `name`. Rows without it come last.
json_t *argos_rows_sorted (const json_t *list, const char *member);

//  Adds members NAME_s to the rows of both lists of an answer: how much each counter has grown per
//  second since an earlier answer (NULL: since the start).
void argos_rows_rates (json_t *stats, const json_t *before);

//  Tables of at most `rows` rows and `width` bytes a line, with a head; live: rates instead of
//  counters.
void argos_rows_peers (FILE *out, const json_t *list, bool live, size_t rows, size_t width);
void argos_rows_services (FILE *out, const json_t *list, bool live, size_t rows, size_t width);

#endif
