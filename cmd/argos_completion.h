//  argos_completion - `argos completion bash|zsh|fish`: a script for a shell, made of the table of
//  commands and of the help.

#ifndef ARGOS_COMPLETION_H
#define ARGOS_COMPLETION_H

#include <stdbool.h>

//  Writes the script for that shell on stdout. commands (names) and help (texts of whole lines) end
//  with NULL. Returns false when the shell is none of ours.
bool argos_completion (const char *shell, const char *const *commands, const char *const *help);

//  What can stand behind a command: words with spaces between, "" = nothing.
void argos_completion_words (const char *const *help, const char *command, char words[static 1024]);

#endif
