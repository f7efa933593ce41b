//  argos_tool - a call of one of the tools that work on files or on the web: what it is given, and
//  the functions that do the work.
//
//  A function runs in a thread of its own: it has the call to itself until it returns, and touches
//  nothing else. It fills result (an object; with a member "error" when it failed) and may take as
//  long as it needs, but looks at `stop` between two pieces of work.

#ifndef ARGOS_TOOL_H
#define ARGOS_TOOL_H

#include "argos_approval.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdint.h>

typedef struct {
    const char *session;                   //  Whose
    const char *call_id;                   //  Of the call; names what is stored beside
    json_t *arguments;                     //  Coerced to the schema; own
    const char *root;                      //  Folder that relative paths are of; absolute
    const char *write_root;                //  Nothing is written outside; "" = anywhere
    const char *home, *state;              //  Of the user; of Argos
    const char *files;                     //  Folder for what is too long to be told; NULL = none
    size_t chars_max;                      //  Bytes of a result
    json_t *private_hosts;                 //  Names of this network that web pages may be of; own
    const argos_approval_policy_t *policy; //  Rules for paths; shared, read only
    atomic_bool stop;                      //  Nobody waits for the result
    json_t *result;                        //  What it has come to; own
    char path[PATH_MAX];                   //  The file that was read or written, "" = none
    int64_t modified_ns, size;             //  What it was like then
    bool wrote;                            //  It was written
    bool failed;                           //  result is an error
} argos_tool_call_t;

typedef void (argos_tool_fn) (argos_tool_call_t *call);

argos_tool_fn argos_tool_read_file, argos_tool_write_file, argos_tool_patch,
    argos_tool_search_files, argos_tool_web_extract;

//  An argument: a text (NULL = none, or it holds a NUL), a number (fallback when it is none).
const char *argos_tool_text (const argos_tool_call_t *call, const char *name);
int64_t argos_tool_number (
    const argos_tool_call_t *call, const char *name, int64_t fallback, int64_t min, int64_t max);
bool argos_tool_flag (const argos_tool_call_t *call, const char *name);

//  The end: an error, as printf.
void argos_tool_fail (argos_tool_call_t *call, const char *format, ...)
    __attribute__ ((format (printf, 2, 3)));

//  A JSON string of bytes that may be no UTF-8; new.
json_t *argos_tool_string (const char *data, size_t size);

#endif
