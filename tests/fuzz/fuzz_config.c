//  fuzz_config - argos.yaml from bytes, checked by its schema.
//
//  Holds: what is refused has a sentence that begins with the name of the file.

#include "argos_embedded.h"
#include "argos_schema.h"
#include "argos_yaml.h"
#include "fuzz.h"

#include <string.h>

static void
s_problem (void *arg, const char *path, const char *expected, bool unknown)
{
    (void) arg;
    (void) unknown;
    FUZZ_CHECK (path && expected);
}

static const argos_schema_t *
s_schema (void)
{
    static argos_schema_t *schema;
    char reason[256];
    if (schema)
        return schema;
    const argos_embedded_t *file = argos_embedded_find ("config.schema.json");
    json_t *json = json_loadb (file->data, file->size, 0, NULL);
    schema = argos_schema_compile (json, reason, sizeof reason);
    FUZZ_CHECK (schema != NULL);
    json_decref (json);
    return schema;
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    char reason[512] = "";
    json_t *lines = NULL;
    json_t *value = argos_yaml_load ("argos.yaml", data, size, &lines, reason, sizeof reason);
    if (!value) {
        FUZZ_CHECK (strncmp (reason, "argos.yaml", 10) == 0);
        return 0;
    }
    FUZZ_CHECK (json_is_object (lines));
    argos_schema_validate (s_schema (), value, s_problem, NULL);
    json_decref (lines);
    json_decref (value);
    return 0;
}
