//  argos_reads - what a task has read of files lately: so that it does not read the same again and
//  again, and is told when a file has changed under it. Pure.

#ifndef ARGOS_READS_H
#define ARGOS_READS_H

#include <stdbool.h>
#include <stdint.h>

//  What stands in place of a content that was read already.
#define ARGOS_READS_STUB                                                                           \
    "Unchanged since you read it: its content stands above. Read another range, or go on."

typedef struct argos_reads argos_reads_t;

typedef enum {
    ARGOS_READS_PLAIN,   //  Do it
    ARGOS_READS_STUB_IT, //  Read, and nothing has changed: say so instead
    ARGOS_READS_WARN,    //  Do it, and say that it is the third time in a row
    ARGOS_READS_REFUSE   //  Not again
} argos_reads_verdict_t;

//  The caller's.
argos_reads_t *argos_reads_new (void);

//  NULL-safe, idempotent.
void argos_reads_destroy (argos_reads_t **self_p);

//  A call begins. what names it whole: tool, path and range, or tool, pattern and page; path is the
//  file it reads (NULL = none), which was changed at modified_ns and has size bytes. Calls that
//  read nothing have what NULL.
argos_reads_verdict_t argos_reads_begin (
    argos_reads_t *self, const char *what, const char *path, int64_t modified_ns, int64_t size);

//  A file was read, or written by us: so it was then.
void argos_reads_saw (argos_reads_t *self, const char *path, int64_t modified_ns, int64_t size);

//  Whether the file is other than when it was seen last; false when it never was.
bool argos_reads_is_stale (
    const argos_reads_t *self, const char *path, int64_t modified_ns, int64_t size);

//  An edit of the file has failed, or not. Returns how many have failed in a row.
int argos_reads_edited (argos_reads_t *self, const char *path, bool failed);

//  Whether a text that is to be written is little more than the stub.
bool argos_reads_is_stub (const char *text);

#endif
