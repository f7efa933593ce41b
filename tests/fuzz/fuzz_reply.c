//  fuzz_reply - what a chat gets of a text of a model.
//
//  Input: the text. Holds: what says something is not answered by nothing; words are no longer than
//  the text; every path is one that a directive can have; a path that may leave is below no folder
//  of the system.

#include "argos_reply.h"
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    size_t index;
    json_t *file;
    char *text = malloc (size + 1);
    FUZZ_CHECK (text);
    memcpy (text, data, size);
    text[size] = 0;
    argos_reply_t reply;
    argos_reply_read (&reply, text);
    FUZZ_CHECK (strlen (reply.text) <= strlen (text));
    FUZZ_CHECK (*reply.text || json_array_size (reply.media) ||
                strspn (text, " \t\r\n\v\f") == strlen (text));
    FUZZ_CHECK (json_array_size (reply.media) <= ARGOS_REPLY_MEDIA_MAX);
    json_array_foreach (reply.media, index, file) {
        const char *path = json_string_value (json_object_get (file, "path"));
        FUZZ_CHECK (path && (*path == '/' || strncmp (path, "~/", 2) == 0));
        FUZZ_CHECK (strlen (path) <= ARGOS_REPLY_PATH_MAX && !strchr (path, '\n'));
        if (!argos_reply_path_problem (path, "/home/a/.argos", "/home/a", NULL, false))
            FUZZ_CHECK (strncmp (path, "/etc/", 5) != 0 && strncmp (path, "/proc/", 6) != 0);
    }
    argos_reply_is_error_page (text);
    argos_reply_hint (text);
    argos_reply_clear (&reply);
    free (text);
    return 0;
}
