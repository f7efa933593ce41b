//  argos_asks - the tools that ask others for what they do: todo, memory, session_search,
//  send_message.
//
//  All calls are of the peer's thread; answers that come after its end are dropped.

#ifndef ARGOS_ASKS_H
#define ARGOS_ASKS_H

#include "argos_peer.h"
#include "argos_toolset.h"

//  Serves these tools at the peer.
void argos_asks_serve (argos_peer_t *peer);

//  A call of one of them: takes and answers it. *stopping: the peer is going away; it outlives the
//  peer. Returns false when it is another tool.
bool argos_asks_take (argos_peer_t *peer, const argos_peer_msg_t *msg, const argos_toolset_t *set,
    const bool *stopping);

//  The list of todos after a call, new: given in place of old, or laid over it by id. Pure. NULL
//  with a sentence in reason (size bytes) when it is none.
json_t *argos_asks_todo (json_t *old, const json_t *given, bool merge, char *reason, size_t size);

#endif
