//  argos_auth_actor - says who may connect over tcp, and tells the broker which keys there are.
//
//  libzmq asks it by ZAP at each CURVE handshake; the answer comes from a table of HOME/keys/*.pub,
//  which is watched, so that a key that is made or revoked counts at once. The broker gets the
//  table as text: it asks once (KEYS), then gets each change. In: $TERM Out: READY | FAILED reason.
//  Pair ARGOS_AUTH_INPROC: in KEYS; out a JSON array of records (argos_key_record.h) without the
//  revoked ones. Owner: the supervisor. Up before the broker binds, down after it. Limit: 4,096
//  keys.

#ifndef ARGOS_AUTH_ACTOR_H
#define ARGOS_AUTH_ACTOR_H

#include <czmq.h>

#define ARGOS_AUTH_INPROC "inproc://argos.auth" //  Where the broker asks

typedef struct {
    const char *folder; //  HOME/keys; made when it is missing; borrowed until READY
    int renew_ms; //  How long a socket is asked before it is replaced, and kept after; 0 = 6,000,
                  //  longer than a handshake may take
} argos_auth_config_t;

//  The actor function; config is an argos_auth_config_t.
void argos_auth_actor (zsock_t *pipe, void *config);

#endif
