//  fuzz_anthropic - answers of Anthropic; see fuzz_answer.h.

#include "argos_anthropic.h"
#include "fuzz_answer.h"

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    return fuzz_answer (data, size, argos_anthropic_event, argos_anthropic_whole);
}
