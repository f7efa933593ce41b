//  argos_words - what the tabulator makes of a line of the chat: commands, and what may stand
//  behind them.

#ifndef ARGOS_WORDS_H
#define ARGOS_WORDS_H

#include <stdbool.h>
#include <stddef.h>

//  Line number `index` that `line` may become, to target (room bytes); false behind the last. names
//  are those of the person's sessions, which /resume takes; longer ones than there is room for are
//  left out. Pure.
bool argos_words_complete (const char *line, const char *const *names, size_t count, size_t index,
    char *target, size_t room);

#endif
