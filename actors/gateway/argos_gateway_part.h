//  argos_gateway_part - a part as the gateway decides it (argos_gateway.h), as the peer sends it.

#ifndef ARGOS_GATEWAY_PART_H
#define ARGOS_GATEWAY_PART_H

#include "argos_peer.h"

//  Its strings stay with the JSON, the body is a reference of its own.
argos_peer_part_t argos_gateway_part (const json_t *json);

#endif
