//  argos_say_words - the words of the command lines as data: what `argos help`, COMMAND --help,
//  the completion of shells and `argosd --help` say.
//
//  Generated from cli/commands.json by schema/generate.py; do not edit.

#ifndef ARGOS_SAY_WORDS_H
#define ARGOS_SAY_WORDS_H

#include <stdbool.h>
#include <stddef.h>

//  One command of argos

typedef struct {
    const char *name;  //  First word
    const char *words; //  What may follow it, for completion: words and options, "" = nothing
    bool options;      //  It has options of its own
    const char *lines; //  Its lines in the help
    const char *more;  //  What its own help says below them
} argos_say_words_t;

//  Row number `index`, NULL behind the last. Static.
const argos_say_words_t *argos_say_words (size_t index);

//  The row of a command, NULL = there is none. Static.
const argos_say_words_t *argos_say_words_find (const char *name);

//  What stands below the list of all commands; and the help of argosd. Static.
extern const char argos_say_words_end[];
extern const char argos_say_words_daemon[];

#endif
