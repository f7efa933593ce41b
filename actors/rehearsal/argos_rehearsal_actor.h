//  argos_rehearsal_actor - an OpenAI-compatible HTTP server on a loopback port, without a model.
//
//  Serves when no provider is configured, in the first run and in tests: the same wire as a paid
//  model. POST /v1/chat/completions (streamed or not), GET /v1/models. What it answers is said in
//  argos_rehearsal_script.h.
//
//  In:    nothing but $TERM
//  Out:   READY, then PORT <number>; FAILED when no port could be opened
//  Timer: only while a slow answer runs
//  Limit: 4,096 connections, a request body of 16 MiB

#ifndef ARGOS_REHEARSAL_ACTOR_H
#define ARGOS_REHEARSAL_ACTOR_H

#include <czmq.h>

typedef struct {
    int port; //  Port on 127.0.0.1; 0 = any free one
} argos_rehearsal_config_t;

//  The actor; config is an argos_rehearsal_config_t, or NULL for port 0.
void argos_rehearsal_actor (zsock_t *pipe, void *config);

//  For the owner: the port, read from the pipe after the start (blocks at most timeout_ms). -1 when
//  none came.
int argos_rehearsal_port (zactor_t *actor, int timeout_ms);

#endif
