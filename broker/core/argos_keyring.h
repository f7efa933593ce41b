//  argos_keyring - the keys and tokens that the broker knows, and which names are theirs. Pure.
//
//  Filled from text: a JSON array of records as in docs/protocol.md (name, role, public,
//  token_sha256, platform, account). A record without a name is a token of this start: it gives its
//  role under any name that is nobody's.

#ifndef ARGOS_KEYRING_H
#define ARGOS_KEYRING_H

#include "argos_access.h"

typedef struct argos_keyring argos_keyring_t;

//  One key; valid until the next argos_keyring_fill

typedef struct {
    const char *name;         //  "" = a token of this start
    const char *role;         //  Name of its role
    const char *public_key;   //  CURVE, Z85; "" = none
    const char *token_sha256; //  Hex; "" = none
    const char *platform;     //  That it is limited to, "" = none
    const char *account;      //  That it is limited to, "" = none
} argos_keyring_key_t;

//  An empty ring; the caller's. tokens is text as above that stays in it, NULL = none.
argos_keyring_t *argos_keyring_new (const char *tokens);
void argos_keyring_destroy (argos_keyring_t **self_p);

//  These keys instead of the present ones; those of argos_keyring_new stay. Returns 0, or -1 when
//  the text is not of the form: then nothing has changed.
int argos_keyring_fill (argos_keyring_t *self, const char *text, size_t size);

//  The key of that name, or the one with that token. NULL = there is none.
const argos_keyring_key_t *argos_keyring_named (const argos_keyring_t *self, const char *name);
const argos_keyring_key_t *argos_keyring_of_token (const argos_keyring_t *self, const char *token);

//  Whether who shows that key (NULL = none) may be called so. A key may be called what it is called
//  and what begins with its name and a dot, unless a longer name of a key fits; a key of role core
//  anything that ends in @ and its name; everybody else what is no key's, and a token of this start
//  its own platform.account.
bool argos_keyring_may_bear (
    const argos_keyring_t *self, const argos_keyring_key_t *key, const char *name);

#endif
