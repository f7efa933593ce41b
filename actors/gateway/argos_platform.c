//  argos_platform - the platforms that are not like the others. Pure.

#include "argos_platform.h"

#include <string.h>

static const argos_platform_t s_table[] = {
    { "api_server", "api", true, false },
    { "webhook", NULL, false, true },
};

static const argos_platform_t s_ordinary = { "", NULL, false, false };

const argos_platform_t *
argos_platform_find (const char *name)
{
    for (size_t i = 0; name && i < sizeof s_table / sizeof *s_table; i++)
        if (strcmp (s_table[i].name, name) == 0)
            return &s_table[i];
    return &s_ordinary;
}
