//  argos_toolbox - the tools that work on files and on the web: takes their calls, has each done in
//  a thread of its own, and keeps what a task has read.
//
//  All calls are of the peer's thread.

#ifndef ARGOS_TOOLBOX_H
#define ARGOS_TOOLBOX_H

#include "argos_approval.h"
#include "argos_peer.h"
#include "argos_places.h"
#include "argos_shell.h"
#include "argos_toolset.h"

typedef struct argos_toolbox argos_toolbox_t;

typedef struct {
    const char *home;                      //  Home directory of the user; copied
    const char *state;                     //  Folder of Argos; NULL = unknown; copied
    const char *files;                     //  Folder for files of sessions; NULL = none; copied
    const argos_approval_policy_t *policy; //  Rules for paths; borrowed
    const char *node;                      //  Where we are; copied
} argos_toolbox_config_t;

//  Serves its tools at the peer of the shell. The caller's; NULL without descriptors.
argos_toolbox_t *argos_toolbox_new (argos_shell_t *shell, const argos_toolbox_config_t *config);

//  Ends what runs (waits for it) and frees all; before the end of the shell. NULL-safe, idempotent.
void argos_toolbox_destroy (argos_toolbox_t **self_p);

//  Calls from now on have these settings (block tools of the snapshot).
void argos_toolbox_settings (argos_toolbox_t *self, const json_t *settings);

//  A request: a call of one of its tools, or task.close. Returns whether it was one, and is
//  answered. root: the folder of the session, for relative paths.
bool argos_toolbox_take (argos_toolbox_t *self, const argos_peer_msg_t *msg,
    const argos_toolset_t *set, const char *root);

//  The folders of sessions; borrowed.
const argos_places_t *argos_toolbox_places (const argos_toolbox_t *self);

//  The call is not waited for any more. Returns whether there was one.
bool argos_toolbox_cancel (argos_toolbox_t *self, const char *from, const char *id);

//  Another tool was called in that session; it is over.
void argos_toolbox_other (argos_toolbox_t *self, const char *session);
void argos_toolbox_close (argos_toolbox_t *self, const char *session);

#endif
