//  argos_key - what a peer shows to be let in: its CURVE pair, the broker's public key, its token.
//
//  One JSON file, mode 0600, written by `argos keys new` on the broker's host and carried to where
//  the peer runs: {"name","role","public","secret","server","token"}. Over tcp the pair and the
//  server key make the CURVE connection; over ipc the token goes into the hello.

#ifndef ARGOS_KEY_H
#define ARGOS_KEY_H

#include "argos_header.h"

#include <stdbool.h>
#include <stddef.h>

#define ARGOS_KEY_Z85 40   //  Characters of a CURVE key
#define ARGOS_TOKEN_MAX 64 //  Characters of a token

typedef struct {
    char name[ARGOS_NAME_MAX + 1];      //  Name of the key: what the peer is called
    char role[ARGOS_NAME_MAX + 1];      //  Role that it was made for; the broker's record counts
    char public_key[ARGOS_KEY_Z85 + 1]; //  Ours
    char secret_key[ARGOS_KEY_Z85 + 1]; //  Ours
    char server_key[ARGOS_KEY_Z85 + 1]; //  Public key of the broker, "" = unknown (ipc only)
    char token[ARGOS_TOKEN_MAX + 1];    //  "" = none
} argos_key_t;

//  Whether text is a CURVE key in Z85: 40 characters of its alphabet. A wrong one given to libzmq
//  or czmq would abort.
bool argos_key_valid (const char *text);

//  Read a key file. Returns 0, or -1 with one sentence in reason (size bytes): unreadable, readable
//  by others (any bit of 077), larger than 4 KiB, not of the form.
int argos_key_read (argos_key_t *self, const char *path, char *reason, size_t size);

//  The same from the text of such a file. Returns 0, or -1: not of the form.
int argos_key_parse (argos_key_t *self, const char *text, size_t size);

//  Overwrite the secrets.
void argos_key_wipe (argos_key_t *self);

#endif
