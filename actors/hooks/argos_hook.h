//  argos_hook - a hook: a folder HOME/hooks/<name> with hook.yaml (schema/hook.schema.json) and a
//  program.

#ifndef ARGOS_HOOK_H
#define ARGOS_HOOK_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARGOS_HOOKS_MAX 64 //  Hooks of one home

typedef struct {
    char *name;         //  Of the folder
    char *folder;       //  Its path
    char *program;      //  Path of the program
    json_t *events;     //  What it wants to hear: names, or patterns that end in *; commands by
                        //  their own names
    int64_t timeout_ms; //  Longest run
} argos_hook_t;

//  Told of each hook that is left out, and why: one sentence.
typedef void (argos_hook_warn_fn) (void *arg, const char *sentence);

//  Reads all hooks of the home, in the order of their names, into a new array, which is the
//  caller's (argos_hook_free). Returns how many; at most ARGOS_HOOKS_MAX. A hook that others than
//  its owner may write is left out, for whoever writes it is us.
size_t argos_hook_load (
    const char *home, argos_hook_t **ret_hooks, argos_hook_warn_fn *warn, void *arg);

void argos_hook_free (argos_hook_t **hooks_p, size_t count);

//  Whether it wants to hear of that event.
bool argos_hook_wants (const argos_hook_t *self, const char *event);

//  The decision in what a program has printed: the last line that is a JSON object, as the body of
//  a hook.command.result; new, the caller's. NULL with a sentence in reason when that is none; no
//  such line at all is allow.
json_t *argos_hook_decision (const char *output, char *reason, size_t size);

#endif
