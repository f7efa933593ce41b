//  argos_words - what the tabulator makes of a line of the chat: commands, and what may stand
//  behind them.

#ifndef ARGOS_WORDS_H
#define ARGOS_WORDS_H

#include <stdbool.h>
#include <stddef.h>

//  What is known of this daemon and its person. Borrowed.

typedef struct {
    const char *const *sessions; //  Names of the person's sessions, which /resume takes
    size_t session_count;        //  How many
    const char *const *places;   //  PLATFORM and PLATFORM:CHAT, which /handoff takes
    size_t place_count;          //  How many
} argos_words_known_t;

//  Line number `index` that `line` may become, to target (room bytes); false behind the last. Names
//  that are longer than there is room for are left out. Pure.
bool argos_words_complete (
    const char *line, const argos_words_known_t *known, size_t index, char *target, size_t room);

#endif
