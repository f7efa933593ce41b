//  argos_priv - what the files of libargos share. Not for users.

#ifndef ARGOS_PRIV_H
#define ARGOS_PRIV_H

#include "argos.h"
#include "argos_peer.h"

#define ARGOS_REASON_SIZE 512 //  Of a sentence

struct argos {
    argos_peer_t *peer;             //  Does the work
    argos_handlers_t handlers;      //  The owner's
    int epoll_fd;                   //  What the owner watches: the two below
    int timer_fd;                   //  Armed for what is due
    int socket_fd;                  //  ØMQ's descriptor of the present socket, -1 = none
    bool inside;                    //  In a turn: handlers are being called
    argos_err_t final;              //  Why this instance is over, ARGOS_OK = it is not
    char reason[ARGOS_REASON_SIZE]; //  Sentence of the newest failure
};

//  Something was done from outside a turn: the descriptor tells of it.
void argos_touch (argos_t *self);

//  One more argos_t, and one less, needs the ØMQ context (argos_context.c). The last to drop it
//  waits up to half a second for what it has still to say. Thread-safe.
void argos_context_hold (void);
void argos_context_drop (void);

#endif
