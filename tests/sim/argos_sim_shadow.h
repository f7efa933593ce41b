//  argos_sim_shadow - what the store must have in mind, worked out again from its answers.
//
//  A second, simple model of lanes and leases, fed with each executed request in order. It objects
//  as soon as an answer can't be right; with argos_sim_shadow_compare it is held against the rows.

#ifndef ARGOS_SIM_SHADOW_H
#define ARGOS_SIM_SHADOW_H

#include "argos_sim_net.h"

typedef struct argos_sim_shadow argos_sim_shadow_t;

//  A new one; the caller's. What is wrong goes to fail as a sentence.
argos_sim_shadow_t *argos_sim_shadow_new (void (*fail) (void *arg, const char *text), void *arg);
void argos_sim_shadow_destroy (argos_sim_shadow_t **self_p);

//  A request was executed.
void argos_sim_shadow_executed (
    argos_sim_shadow_t *self, const argos_storage_req_t *req, const argos_storage_ans_t *ans);

//  The store was opened again: leases of in-process holders are over (with strikes, so that a row
//  may be dead); all else has to be as it was.
void argos_sim_shadow_restarted (argos_sim_shadow_t *self, argos_sim_net_t *net);

//  The rows are what the answers said. To be called at any time between batches.
void argos_sim_shadow_compare (argos_sim_shadow_t *self, argos_sim_net_t *net);

#endif
