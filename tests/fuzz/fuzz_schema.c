//  fuzz_schema - the first byte chooses a message type, the rest is a body: accepted, or refused
//  with a sentence.
//
//  A second use: the same bytes as a schema, which compiles or is refused.

#include "argos_embedded.h"
#include "argos_schema.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

static void
s_body (const uint8_t *data, size_t size)
{
    char type[128], reason[96] = "";
    const char *name = argos_embedded_files[data[0] % argos_embedded_count].name;
    const char *suffix = strstr (name, ".schema.json");
    json_t *body = NULL;
    snprintf (type, sizeof type, "%.*s", suffix ? (int) (suffix - name) : 0, name);
    argos_err_t code = argos_schema_parse (type, data + 1, size - 1, &body, reason, sizeof reason);
    if ((code == ARGOS_OK) != (body != NULL) || (code != ARGOS_OK && !reason[0]))
        abort ();
    json_decref (body);
}

static void
s_schema (const uint8_t *data, size_t size)
{
    char reason[96] = "";
    json_t *json = json_loadb ((const char *) data + 1, size - 1, 0, NULL);
    argos_schema_t *schema = json ? argos_schema_compile (json, reason, sizeof reason) : NULL;
    if (json && !schema && !reason[0])
        abort ();
    if (schema)
        argos_schema_validate (schema, json, NULL, NULL);
    argos_schema_destroy (&schema);
    json_decref (json);
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    char reason[256];
    if (size == 0)
        return 0;
    if (!argos_schema_known ("ping") && argos_schema_init (reason))
        abort ();
    s_body (data, size);
    s_schema (data, size);
    return 0;
}
