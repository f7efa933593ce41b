//  fuzz_yaml - any bytes as a configuration file: refused with a sentence, or a tree of bounded
//  depth.

#include "argos_yaml.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    char reason[128] = "";
    json_t *lines = NULL;
    json_t *value = argos_yaml_load ("fuzz.yaml", data, size, &lines, reason, sizeof reason);
    if (!value && strncmp (reason, "fuzz.yaml:", 10) != 0)
        abort ();
    if (value && !json_is_object (lines))
        abort ();
    json_decref (value);
    json_decref (lines);
    return 0;
}
