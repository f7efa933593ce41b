//  argos_rehearsal_load - see argos_rehearsal_load.h.
//
//  Invariant: what is left out is an array that is the last member of the whole; whatever looks
//  otherwise is read as it is. Pure, no limits of its own.

#include "argos_rehearsal_load.h"

#include "argos_json.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

//  Where the array ends that begins there; size when it does not.

static size_t
s_array_end (const char *text, size_t at, size_t size)
{
    bool quoted = false;
    for (int depth = 0; at < size; at++)
        if (quoted && text[at] == '\\')
            at++;
        else if (text[at] == '"')
            quoted = !quoted;
        else if (!quoted && (text[at] == '[' || text[at] == '{'))
            depth++;
        else if (!quoted && (text[at] == ']' || text[at] == '}') && --depth == 0)
            return at + 1;
    return size;
}

json_t *
argos_rehearsal_load (const char *body, size_t size)
{
    static const char name[] = ",\"tools\":[";
    const char *tools = memmem (body, size, name, sizeof name - 1);
    size_t head = tools ? (size_t) (tools - body) : 0;
    if (!tools || body[size - 1] != '}' ||
        s_array_end (body, head + sizeof name - 2, size) != size - 1)
        return argos_json_load (body, size, 0, NULL);
    char *rest = (char *) malloc (head + 1);
    if (!rest)
        abort ();
    memcpy (rest, body, head);
    rest[head] = '}';
    json_t *value = argos_json_load (rest, head + 1, 0, NULL);
    free (rest);
    return value;
}
