//  argos_cmdline - what a shell would run, as lines that rules can be matched against. Pure.
//
//  Each pipeline becomes one line, its commands joined by ` | `, ` &` behind it when it runs in the
//  background. Each word stands as the shell would have it: without quotes and backslashes, `$IFS`
//  and braces taken apart, variables that the text itself sets put in, the paths tidied (no `//`,
//  `/./`, `/../`, nor a slash at the end), the home directory as `~`. Options keep their case, all
//  else is in lower case. Blanks inside a word are the byte 0x1F, a word that only looks like a
//  sign has a backslash before it. Redirections are ` >target`, ` <source`, ` <<<word` and, of a
//  here-document, ` <<`.
//
//  A command has no path and no prefix (assignments, keywords, `sudo`, `env`, ... by the table):
//  with prefixes it is one line more, as it stood. What is handed to a shell (`-c`, eval, a pipe
//  from echo also through base64, here-documents, `$( )`, backticks, `<( )`, find -exec) is read
//  as well.

#ifndef ARGOS_CMDLINE_H
#define ARGOS_CMDLINE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define ARGOS_CMDLINE_LINES 256  //  Lines at most
#define ARGOS_CMDLINE_SIZE 65536 //  Bytes of all lines together at most

typedef struct {
    const json_t *wrappers; //  {"sudo": {"values": "ug", "long": ["user"], "skip": 0}}, borrowed
    const json_t *shells;   //  ["sh", ...]: what reads commands from its input, borrowed
    const char *home;       //  The home directory, NULL = unknown
    const char *state;      //  The folder of Argos, which is shown as ~argos; NULL = unknown
    const char *workdir;    //  Where it begins, NULL = unknown
} argos_cmdline_rules_t;

typedef struct {
    char *lines[ARGOS_CMDLINE_LINES]; //  Own
    size_t count;                     //  How many
    size_t size;                      //  Bytes of them
    bool overflow; //  There was more, or deeper nested, than is read: it can't be judged
} argos_cmdline_t;

//  Reads a text that went through argos_plain_text. Fills *ret, to be cleared by the caller.
void argos_cmdline_read (
    const char *text, size_t size, const argos_cmdline_rules_t *rules, argos_cmdline_t *ret);

//  A path as it would stand in a line; new (free).
char *argos_cmdline_path (const char *path, const argos_cmdline_rules_t *rules);

//  Frees the lines. NULL-safe, idempotent.
void argos_cmdline_clear (argos_cmdline_t *self);

#endif
