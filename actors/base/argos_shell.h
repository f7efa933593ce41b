//  argos_shell - the loop of every actor but broker and store: its pipe, its peer, some
//  descriptors, one timer.
//
//  Level-triggered; idle means asleep. Single-threaded. An actor with many descriptors (libcurl,
//  libmicrohttpd, children) nests them in an epoll set and registers that one.

#ifndef ARGOS_SHELL_H
#define ARGOS_SHELL_H

#include "argos_peer.h"

#include <czmq.h>

typedef struct argos_shell argos_shell_t;

//  A shell around pipe (NULL in a command-line client) and a new peer; NULL when the peer can't be
//  made.
argos_shell_t *argos_shell_new (zsock_t *pipe, const argos_peer_config_t *config);

//  Destroys the peer too. NULL-safe, idempotent.
void argos_shell_destroy (argos_shell_t **self_p);

//  Borrowed.
argos_peer_t *argos_shell_peer (argos_shell_t *self);

//  Call fn whenever fd is readable; at most 4 descriptors. fn NULL takes it out.
void argos_shell_fd (argos_shell_t *self, int fd, void (*fn) (void *arg), void *arg);

//  Call fn once when the monotonic clock (argos_shell_now) reaches due_ms; replaces the timer set
//  before; due_ms < 0 = none.
void argos_shell_timer (argos_shell_t *self, int64_t due_ms, void (*fn) (void *arg), void *arg);

//  Called with each command on the pipe other than $TERM; the message is borrowed.
void argos_shell_on_command (argos_shell_t *self, void (*fn) (void *arg, zmsg_t *msg), void *arg);

//  Monotonic msec, and wall clock msec since 1970.
int64_t argos_shell_now (void);
int64_t argos_shell_wall (void);

//  Runs until $TERM or argos_shell_stop; may be run again then. Turns of at most 100 messages, so
//  that no source starves another.
void argos_shell_run (argos_shell_t *self);
void argos_shell_stop (argos_shell_t *self);

#endif
