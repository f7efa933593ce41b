//  fuzz_openai - answers of OpenAI and its like; see fuzz_answer.h.

#include "argos_openai.h"
#include "fuzz_answer.h"

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    return fuzz_answer (data, size, argos_openai_event, argos_openai_whole);
}
