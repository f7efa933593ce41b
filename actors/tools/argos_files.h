//  argos_files - files as tools see them: paths, what must not be read or written, whole files in
//  memory, writes that are all or nothing.

#ifndef ARGOS_FILES_H
#define ARGOS_FILES_H

#include "argos_tool.h"

#include <sys/stat.h>

#define ARGOS_FILES_MAX ((size_t) 16 << 20) //  Bytes of a file that is held in memory

//  The absolute path of what a model calls a file: `~` is the home directory, relative ones are of
//  root; `.` and `..` are taken out. Returns 0, or -1 when it is empty or too long.
int argos_files_path (const char *root, const char *home, const char *given, char path[PATH_MAX]);

//  Whether the call may read, or write, call->path: by its name and by what it leads to. Else the
//  call has failed.
bool argos_files_may_read (argos_tool_call_t *call);
bool argos_files_may_write (argos_tool_call_t *call, const char *path);

//  The whole of a regular file, new (free), terminated; NULL = the call has failed, in words.
char *argos_files_read (argos_tool_call_t *call, const char *path, size_t *ret_size);

//  Whether bytes are no text: they have a NUL, or too much that is no UTF-8.
bool argos_files_is_binary (const char *data, size_t size);

//  Writes the file so that either the old or the new one is there; makes its folders (*ret_dirs:
//  whether there were none), keeps its mode. Returns 0, or -1: the call has failed.
int argos_files_write (
    argos_tool_call_t *call, const char *path, const char *data, size_t size, bool *ret_dirs);

//  Notes the state of call->path in the call.
void argos_files_note (argos_tool_call_t *call);

#endif
