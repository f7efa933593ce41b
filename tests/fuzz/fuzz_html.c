//  fuzz_html - a page of the web as markdown. Holds: it is within its bound.

#include "argos_html.h"
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    char *text = argos_html_text ((const char *) data, size);
    char *title = argos_html_title ((const char *) data, size);
    FUZZ_CHECK (strlen (text) < 2 * size + 64 && strlen (title) < 2 * size + 64);
    free (text);
    free (title);
    return 0;
}
