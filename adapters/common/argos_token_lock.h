//  argos_token_lock - one owner of a credential on this host.
//
//  The lock is a socket in the abstract namespace named by a hash of the credential: it needs no
//  file, and ends with the process whatever becomes of it. Limit: who has another network namespace
//  is not seen; the platform's own conflict tells then.

#ifndef ARGOS_TOKEN_LOCK_H
#define ARGOS_TOKEN_LOCK_H

#include <stddef.h>

//  Takes the lock of that credential of a platform. Returns a descriptor to be closed at the end,
//  or -1 with one sentence in reason, which names who has it.
int argos_token_lock (const char *platform, const char *token, char *reason, size_t size);

#endif
