//  fuzz_output - what a command prints, in pieces, as a text for a model.
//
//  Input: a byte that is the size of a piece, then the output. Holds: the text is UTF-8 without
//  escape characters and within its bound.

#include "argos_output.h"
#include "fuzz.h"

#include <jansson.h>
#include <string.h>

#define BOUND 2048

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    size_t piece = data[0] ? data[0] : size;
    argos_output_t *output = argos_output_new (BOUND);
    for (size_t at = 1; at < size; at += piece)
        argos_output_add (output, data + at, size - at < piece ? size - at : piece);
    FUZZ_CHECK (argos_output_total (output) == size - 1);
    char *text = argos_output_text (output);
    json_t *string = json_string (text);
    FUZZ_CHECK (string && strlen (text) <= BOUND && !strchr (text, '\x1b'));
    json_decref (string);
    free (text);
    argos_output_destroy (&output);
    return 0;
}
