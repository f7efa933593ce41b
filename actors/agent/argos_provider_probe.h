//  argos_provider_probe - asks a provider one small question, and says in words what came of it.
//
//  Blocks; for command-line programs. Uses the same code as the agent.

#ifndef ARGOS_PROVIDER_PROBE_H
#define ARGOS_PROVIDER_PROBE_H

#include "argos_provider.h"

typedef struct {
    bool ok;                      //  An answer came
    argos_provider_class_t class; //  When not ok: the kind of failure
    int status;                   //  HTTP status of a failure, 0 = none
    bool unsent;                  //  When not ok: provably nothing was sent
    int64_t first_ms;             //  Until the first text, -1 = none came
    int64_t total_ms;             //  Until the end
    int64_t input_tokens;         //  As the provider counted
    int64_t output_tokens;        //  .
    char text[1024];              //  The answer, or one sentence that names the cause; UTF-8
} argos_provider_probe_t;

//  Sends prompt (NULL = a short one of ours) and fills *result. Gives up after timeout_ms. A
//  problem in settings is reported without a request.
void argos_provider_probe (const argos_provider_settings_t *settings, const char *prompt,
    int timeout_ms, argos_provider_probe_t *result);

#endif
