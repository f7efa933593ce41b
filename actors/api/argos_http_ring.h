//  argos_http_ring - the keys that a server knows: one of its own, and those of a file that may
//  change while it runs.
//
//  The file is looked at with each request that shows a key and read again when it is another one.
//  A key is compared by digests under a random secret, with all of them, so the time tells neither
//  its length nor its bytes nor which it is.

#ifndef ARGOS_HTTP_RING_H
#define ARGOS_HTTP_RING_H

#include "argos_http_key.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct argos_http_ring argos_http_ring_t;

//  key (NULL or "" = none) is checked: NULL with a sentence in reason (256 bytes) when it is too
//  weak. path (NULL = none) is copied.
argos_http_ring_t *argos_http_ring_new (const char *key, const char *path, char *reason);
void argos_http_ring_destroy (argos_http_ring_t **self_p);

//  Whether there is a key of its own.
bool argos_http_ring_keyed (const argos_http_ring_t *self);

//  Whether a token of size bytes is one of them; then its owner (33 bytes) and scopes.
bool argos_http_ring_find (
    argos_http_ring_t *self, const char *token, size_t size, char *ret_owner, unsigned *ret_scopes);

#endif
