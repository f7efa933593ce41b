//  argos_fetch - brings one file of the store into a local folder: the tool `attachment`.
//
//  The file becomes <folder>/<session>/<12 digits of its hash>-<name>; session and name lose
//  whatever could lead out of the folder. It appears only when it is complete and has its hash. All
//  calls and answers are of the peer's thread.

#ifndef ARGOS_FETCH_H
#define ARGOS_FETCH_H

#include "argos_peer.h"

typedef struct argos_fetch argos_fetch_t;

typedef struct {
    const char *blob;    //  sha256: and 64 hex digits
    const char *folder;  //  Where sessions have their folders; made when it is not there
    const char *session; //  Whose it is
    const char *name;    //  NULL or "" = as its sender has called it
} argos_fetch_task_t;

//  Told once, when it is over: body of a tool.result, stolen. The fetch is freed after the call.
typedef void (argos_fetch_fn) (void *arg, argos_fetch_t *fetch, json_t *result);

//  Begins to fetch; everything is copied. NULL with a sentence in reason (size bytes) when it can't
//  be begun.
argos_fetch_t *argos_fetch_new (argos_peer_t *peer, const argos_fetch_task_t *task,
    argos_fetch_fn *fn, void *arg, char *reason, size_t size);

//  Nothing more is told; it ends with the next answer, at the latest with the peer. NULL-safe,
//  idempotent.
void argos_fetch_abandon (argos_fetch_t **self_p);

//  A folder or file name out of any text: letters, digits and `._-` stay (with `spaced` also blanks
//  and what is not ASCII), the rest becomes `_`, also a dot in front; cut to max bytes. target has
//  max + 1 bytes; "" becomes "_". Returns whether it is the text itself.
bool argos_fetch_clean (const char *text, bool spaced, size_t max, char *target);

#endif
