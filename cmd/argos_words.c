//  argos_words - what the tabulator makes of a line of the chat.
//
//  Pure. The first word is that of schema/commands.json; what may stand behind it is said there for
//  people, so the words that are no placeholders stand here (test_words compares them).

#include "argos_words.h"

#include "argos_commands.h"

#include <stdio.h>
#include <string.h>

//  What may be the second word of a command, NULL-filled

static const struct {
    argos_command_id_t id; //  The command
    const char *words[9];  //  In the order in which they are offered
} s_seconds[] = {
    { ARGOS_COMMAND_SESSIONS, { "all", "search" } },
    { ARGOS_COMMAND_APPROVE, { "all", "session", "always" } },
    { ARGOS_COMMAND_DENY, { "all" } },
    { ARGOS_COMMAND_BACKGROUND, { "list", "status", "cancel" } },
    { ARGOS_COMMAND_MODEL, { "reset" } },
    { ARGOS_COMMAND_REASONING,
        { "none", "minimal", "low", "medium", "high", "xhigh", "max", "reset" } },
};

//  Second word number `index` that a command may have, NULL behind the last

static const char *
s_second (argos_command_id_t id, const argos_words_known_t *known, size_t index)
{
    if (id == ARGOS_COMMAND_RESUME)
        return index < known->session_count ? known->sessions[index] : NULL;
    if (id == ARGOS_COMMAND_HANDOFF)
        return index < known->place_count ? known->places[index] : NULL;
    for (size_t i = 0; i < sizeof s_seconds / sizeof *s_seconds; i++)
        if (s_seconds[i].id == id)
            return s_seconds[i].words[index];
    return NULL;
}

bool
argos_words_complete (
    const char *line, const argos_words_known_t *known, size_t index, char *target, size_t room)
{
    char command[ARGOS_COMMANDS_NAME_MAX + 2];
    size_t first = strcspn (line, " "), found = 0;
    if (*line != '/')
        return false;
    if (!line[first])
        return argos_commands_complete (line, index, command) &&
               snprintf (target, room, "%s", command) < (int) room;
    if (first >= sizeof command)
        return false;
    snprintf (command, sizeof command, "%.*s", (int) first, line);
    const argos_commands_row_t *row = argos_commands_find (command);
    const char *rest = line + first + strspn (line + first, " "), *word;
    size_t begin = (size_t) (rest - line), typed = strlen (rest);
    for (size_t i = 0; row && (word = s_second (argos_commands_id (row), known, i)); i++)
        if (strncmp (word, rest, typed) == 0 && begin + strlen (word) < room && found++ == index) {
            snprintf (target, room, "%.*s%s", (int) begin, line, word);
            return true;
        }
    return false;
}
