//  argos_storage_wire - requests and answers of argos_storage.h through the PAIR between core and
//  store.
//
//  Both ends are threads of one process and one build: the structs go as they are, the bytes of
//  headers and bodies behind them, no pointer among them.

#ifndef ARGOS_STORAGE_WIRE_H
#define ARGOS_STORAGE_WIRE_H

#include "argos_storage.h"

//  Sends a request or an answer, which stays the caller's. Returns 0, or -1 when the socket does
//  not take it.
int argos_storage_req_send (void *socket, const argos_storage_req_t *req);
int argos_storage_ans_send (void *socket, const argos_storage_ans_t *ans);

//  Receives one; flags are those of zmq_msg_recv. New, the caller's; NULL when there is none.
argos_storage_req_t *argos_storage_req_recv (void *socket, int flags);
argos_storage_ans_t *argos_storage_ans_recv (void *socket, int flags);

#endif
