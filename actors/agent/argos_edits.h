//  argos_edits - what a turn was to change in files and has not: so that an answer which claims
//  success hides nothing. Pure.

#ifndef ARGOS_EDITS_H
#define ARGOS_EDITS_H

#include <jansson.h>

//  The files that write_file or patch could not change in that run, with the last error of each, as
//  lines for people; a file that was changed later is none of them. rows is the conversation: calls
//  and results. New, NULL when there is none.
char *argos_edits_failed (const json_t *rows, const char *run_id);

#endif
