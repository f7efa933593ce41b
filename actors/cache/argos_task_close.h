//  argos_task_close - tells the tools that hold something for a task that it is over.

#ifndef ARGOS_TASK_CLOSE_H
#define ARGOS_TASK_CLOSE_H

#include "argos_peer.h"
#include "argos_toolset.h"

//  Sends task.close to each tool of the set that asked for it. Nothing is waited for; what one of
//  them answers, or that it does not, changes nothing for the others and is only logged. Returns
//  how many were told.
size_t argos_task_close (argos_peer_t *peer, const argos_toolset_t *set, const char *task);

#endif
