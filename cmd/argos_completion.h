//  argos_completion - `argos completion bash|zsh|fish`: a script for a shell, made of the table of
//  the commands' words.

#ifndef ARGOS_COMPLETION_H
#define ARGOS_COMPLETION_H

#include <stdbool.h>

//  Writes the script for that shell on stdout. Returns false when the shell is none of ours.
bool argos_completion (const char *shell);

#endif
