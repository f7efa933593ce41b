//  argosd_home - the folder of one argosd: made when it is missing, locked while it runs.
//
//  HOME/argos.yaml        settings, with comments
//  HOME/node.json         of a node that has joined: what it has from its core (argosd_follow)
//  HOME/api-key           bearer key of the HTTP API, mode 0600
//  HOME/argosd.log        what it has logged, mode 0600; argosd.log.1 is what came before
//  HOME/run/operator.token  shown by `argos`: makes it the operator, mode 0600
//  HOME/run/argosd.lock   locked, and the pid in it, while an argosd runs here; the second line of
//  one whose core is elsewhere: its node and the address of the core
//  HOME/run/broker.sock   where peers connect; for a long HOME elsewhere, then its address is in
//  run/broker.endpoint

#ifndef ARGOSD_HOME_H
#define ARGOSD_HOME_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

typedef struct {
    char path[PATH_MAX];      //  Absolute, without links
    char endpoint[PATH_MAX];  //  ipc://… of the broker
    char key[256];            //  The API key; wiped by argosd_home_close
    char operator_sha256[65]; //  Hash of run/operator.token
    gid_t group;              //  That may connect by ipc too, 0 = none; see argosd_home_share
    int lock_fd;              //  Holds the lock, -1 = not held
} argosd_home_t;

//  The folder when none is named: $ARGOS_HOME, else ~/.argos. Returns 0, or -1 when there is
//  neither.
int argosd_home_default (char *path, size_t size);

//  Opens the home at path: makes what is missing (template is the text of a new argos.yaml), takes
//  the lock, reads the key. Returns 0; or -1 with one sentence in reason (size bytes) and nothing
//  held.
int argosd_home_open (
    argosd_home_t *self, const char *path, const char *template, char *reason, size_t size);

//  Takes the lock of a home that is there, and nothing else. Returns 0; or -1 with one sentence in
//  reason (an argosd runs there) and nothing held.
int argosd_home_hold (argosd_home_t *self, const char *path, char *reason, size_t size);

//  Writes into the lock, which is held, that the core is elsewhere: `argos` reads it there. node ""
//  = it has no name.
void argosd_home_elsewhere (const argosd_home_t *self, const char *node, const char *broker);

//  Lets the members of a group reach the socket (folders 0710; their files stay ours); "" = nobody.
//  Returns 0, or -1 with a reason: there is no such group, or the socket is not in the home.
int argosd_home_share (argosd_home_t *self, const char *group, char *reason, size_t size);

//  The same for a process that runs beside the one that has the lock: nothing is locked or written,
//  and there need not be a key.
int argosd_home_visit (argosd_home_t *self, const char *path, char *reason, size_t size);

//  Whether the home has that file; and writes it, whole or not at all, 0600. Returns 0, or -1 with
//  errno.
bool argosd_home_has (const argosd_home_t *self, const char *name);
int argosd_home_put (const argosd_home_t *self, const char *name, const char *text);

//  Removes it.
void argosd_home_remove (const argosd_home_t *self, const char *name);

//  Gives the lock back, wipes the key. Idempotent.
void argosd_home_close (argosd_home_t *self);

#endif
