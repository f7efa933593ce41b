//  argos_say_provider - the result of `argos provider test`, whoever has made it.

#ifndef ARGOS_SAY_PROVIDER_H
#define ARGOS_SAY_PROVIDER_H

#include "argos_cli.h"

#define TEST_MS 120000 //  Patience with the answer
#define TEST_TEXT "Answer with the single word: ready"

//  Prints it. agent is an object with kind, model and rehearsal; text the answer, or what is wrong.
void argos_say_provider (
    const argos_cli_t *self, const json_t *agent, bool ok, const char *text, int64_t took_ms);

#endif
