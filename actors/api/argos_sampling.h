//  argos_sampling - how a chat or a response wants the model to choose its words. Pure.

#ifndef ARGOS_SAMPLING_H
#define ARGOS_SAMPLING_H

#include "argos_content.h"

#include <jansson.h>
#include <stdbool.h>

//  The members of root that are for the provider, as message.inbound has them: *ret_sampling is
//  new, or NULL = there are none. Returns 0, or -1 with *ret_problem filled in and nothing to free.
int argos_sampling_read (
    const json_t *root, json_t **ret_sampling, argos_run_problem_t *ret_problem);

//  Whether a member of that name is one of them.
bool argos_sampling_knows (const char *name);

#endif
