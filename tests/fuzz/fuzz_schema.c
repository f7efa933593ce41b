//  fuzz_schema - bodies from bytes; and schemas from bytes.
//
//  Input: `type LF body`, or `LF schema`. Holds: a refusal has a sentence; what was taken can be
//  written out and is taken again.

#include "argos_schema.h"
#include "fuzz.h"

#include <string.h>

#define REASON 256

static void
s_problem (void *arg, const char *path, const char *expected, bool unknown)
{
    (void) arg;
    (void) unknown;
    FUZZ_CHECK (path && expected);
}

static void
s_compile (const char *data, size_t size)
{
    char reason[REASON] = "";
    json_t *json = json_loadb (data, size, JSON_REJECT_DUPLICATES, NULL);
    if (!json)
        return;
    argos_schema_t *schema = argos_schema_compile (json, reason, sizeof reason);
    FUZZ_CHECK (schema || *reason);
    if (schema)
        argos_schema_validate (schema, json, s_problem, NULL);
    argos_schema_destroy (&schema);
    json_decref (json);
}

static void
s_parse (const char *type, const char *data, size_t size)
{
    char reason[REASON] = "";
    json_t *body = NULL, *again = NULL;
    argos_err_t code = argos_schema_parse (type, data, size, &body, reason, sizeof reason);
    if (code != ARGOS_OK) {
        FUZZ_CHECK (*reason && strlen (reason) < sizeof reason);
        return;
    }
    char *text = json_dumps (body, JSON_COMPACT);
    FUZZ_CHECK (text != NULL);
    if (text) {
        code = argos_schema_parse (type, text, strlen (text), &again, reason, sizeof reason);
        FUZZ_CHECK (code == ARGOS_OK);
        FUZZ_CHECK (json_equal (body, again));
    }
    json_decref (again);
    json_decref (body);
    free (text);
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    static int ready;
    char reason[REASON], type[65];
    if (!ready)
        FUZZ_CHECK (argos_schema_init (reason) == 0);
    ready = 1;
    const uint8_t *end = size ? memchr (data, '\n', size) : NULL;
    size_t length = end ? (size_t) (end - data) : 0;
    if (!end || length >= sizeof type)
        return 0;
    memcpy (type, data, length);
    type[length] = '\0';
    if (length == 0)
        s_compile ((const char *) end + 1, size - length - 1);
    else
        s_parse (type, (const char *) end + 1, size - length - 1);
    return 0;
}
