//  argos_gateway_job - one message of the gateway: read what is needed, decide, commit.
//
//  Invariant: every leased message ends in exactly one of done, release or on_lost.

#ifndef ARGOS_GATEWAY_JOB_H
#define ARGOS_GATEWAY_JOB_H

#include "argos_gateway_settings.h"
#include "argos_shell.h"

//  What all messages in hand share

typedef struct {
    argos_shell_t *shell;               //  The loop
    argos_gateway_settings_t *settings; //  The newest; a message keeps those that it began with
    bool stopping;                      //  The peer is going away: nothing more is sent
} argos_gateway_desk_t;

//  A message was leased to us; the desk is borrowed until the peer is gone.
void argos_gateway_job_begin (argos_gateway_desk_t *desk, const argos_peer_msg_t *msg);

//  The lease of one is lost.
void argos_gateway_job_lost (argos_lease_t *lease);

#endif
