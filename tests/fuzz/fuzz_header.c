//  fuzz_header - the header scanner against a parser of JSON in general.
//
//  Holds: what the scanner takes is an object that the parser takes too, without duplicates, with
//  the same type, id and key.

#include "argos_header.h"
#include "fuzz.h"

#include <jansson.h>
#include <string.h>

static void
s_check_text (const json_t *object, const char *name, const char *text)
{
    const char *value = json_string_value (json_object_get (object, name));
    FUZZ_CHECK (strcmp (value ? value : "", text) == 0);
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    argos_header_t header;
    char base[ARGOS_NAME_MAX + 1];
    const char *reason = NULL;
    argos_err_t code = argos_header_read (data, size, &header, &reason);
    FUZZ_CHECK (code == ARGOS_OK || code == ARGOS_INVALID || code == ARGOS_TOO_BIG);
    FUZZ_CHECK (strlen (header.id) <= ARGOS_ID_MAX);
    if (code != ARGOS_OK) {
        FUZZ_CHECK (reason != NULL);
        return 0;
    }
    json_t *object = json_loadb ((const char *) data, size, JSON_REJECT_DUPLICATES, NULL);
    FUZZ_CHECK (json_is_object (object));
    s_check_text (object, "type", header.type);
    s_check_text (object, "id", header.id);
    s_check_text (object, "key", header.key);
    s_check_text (object, "re", header.re);
    FUZZ_CHECK (json_integer_value (json_object_get (object, "seq")) == header.seq);
    FUZZ_CHECK (json_array_size (json_object_get (object, "take")) == header.take_count);
    if (argos_name_valid (header.name)) {
        argos_name_base (header.name, base);
        FUZZ_CHECK (argos_name_valid (base));
    }
    json_decref (object);
    return 0;
}
