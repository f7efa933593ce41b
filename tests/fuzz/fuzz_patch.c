//  fuzz_patch - a text, a piece of it and what is to stand there, between NULs; then the last one
//  as a patch of several files.
//
//  Holds: there is a new text or a reason; by the rule `exact` the new text is what was asked for.

#include "argos_patch.h"
#include "argos_v4a.h"
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    if (size > 4096)
        return 0;
    char *text = malloc (size + 3);
    if (!text)
        return 0;
    memcpy (text, data, size);
    memset (text + size, 0, 3);
    const char *old = text + strlen (text) + (strlen (text) < size ? 1 : 0);
    const char *piece = old + strlen (old) + (old + strlen (old) < text + size ? 1 : 0);
    argos_patch_t patch;
    argos_patch_replace (text, old, piece, false, &patch);
    FUZZ_CHECK (!!patch.text + patch.applied + !!*patch.error == 1);
    if (patch.text && strcmp (patch.strategy, "exact") == 0) {
        FUZZ_CHECK (strlen (patch.text) == strlen (text) - strlen (old) + strlen (piece));
        FUZZ_CHECK (strstr (patch.text, piece));
    }
    if (patch.text) {
        char *diff = argos_patch_diff ("f", text, patch.text);
        FUZZ_CHECK (strlen (diff) < ARGOS_PATCH_DIFF_MAX + 512);
        free (diff);
    }
    argos_patch_clear (&patch);
    argos_v4a_t files;
    bool good = argos_v4a_parse (piece, &files);
    FUZZ_CHECK (good == !*files.error);
    for (size_t i = 0; good && i < files.count; i++) {
        argos_v4a_apply (files.ops[i], text, &patch);
        FUZZ_CHECK (!patch.text == (*patch.error != 0));
        argos_patch_clear (&patch);
    }
    argos_v4a_clear (&files);
    free (text);
    return 0;
}
