//  argos_commands_find - looking up slash commands: by name, by what has been typed of it, for a
//  menu.
//
//  Pure. Linear, over the few rows of the table, whose limits the generator checks.

#include "argos_commands.h"

#include <string.h>
#include <strings.h>

//  Word number `index` of a row: its name, then its aliases; NULL behind the last.

static const char *
s_word (const argos_commands_row_t *row, size_t index)
{
    if (index == 0)
        return row->name;
    return index <= ARGOS_COMMANDS_ALIASES ? row->aliases[index - 1] : NULL;
}

const argos_commands_row_t *
argos_commands_find (const char *name)
{
    const argos_commands_row_t *row;
    const char *word;
    if (*name == '/')
        name++;
    for (size_t i = 0; (row = argos_commands_row (i)); i++)
        for (size_t j = 0; (word = s_word (row, j)); j++)
            if (strcasecmp (word, name) == 0)
                return row;
    return NULL;
}

bool
argos_commands_complete (const char *typed, size_t index, char *target)
{
    const argos_commands_row_t *row;
    const char *word;
    size_t found = 0, length = strlen (typed);
    *target = 0;
    if (*typed != '/')
        return false;
    for (size_t i = 0; (row = argos_commands_row (i)); i++)
        for (size_t j = 0; !row->gateway_only && (word = s_word (row, j)); j++)
            if (strncasecmp (word, typed + 1, length - 1) == 0 && found++ == index) {
                *target = '/';
                memcpy (target + 1, word, strlen (word) + 1);
                return true;
            }
    return false;
}

const argos_commands_row_t *
argos_commands_menu (size_t index, char *target)
{
    const argos_commands_row_t *row;
    size_t found = 0;
    *target = 0;
    for (size_t i = 0; (row = argos_commands_row (i)); i++)
        if (!row->cli_only && found++ == index) {
            memcpy (target, row->name, strlen (row->name) + 1);
            for (char *c = target; *c; c++)
                if (*c == '-')
                    *c = '_';
            return row;
        }
    return NULL;
}
