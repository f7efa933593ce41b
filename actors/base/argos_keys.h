//  argos_keys - makes, lists and revokes the keys of a home (HOME/keys, mode 0700).
//
//  NAME.key is the bundle that is carried to where the peer runs (argos_key.h), NAME.pub the
//  broker's record (argos_key_record.h), server.key the broker's own pair, made when it is first
//  needed. Every file is 0600 and appears whole or not at all. Works with and without a daemon,
//  which watches the folder. Changes hold a lock on the folder. Reasons are one sentence (size
//  bytes, 512 is enough).

#ifndef ARGOS_KEYS_H
#define ARGOS_KEYS_H

#include "argos_key_record.h"

#define ARGOS_OPERATOR_TOKEN "run/operator.token" //  In the home: of the command line

//  What a new key is for

typedef struct {
    const char *name;     //  argos_key_name_valid
    const char *role;     //  Name of a role
    const char *platform; //  That the role is limited to, NULL = not
    const char *account;  //  The same, NULL = not
    int64_t now;          //  Wall msec
} argos_keys_new_t;

//  Makes a key. path (size bytes) gets the name of the bundle. Returns 0, or -1 with a reason: a
//  name that was ever used is not used again.
int argos_keys_make (const char *home, const argos_keys_new_t *wanted, char *path, size_t path_size,
    char *reason, size_t size);

//  All records, in order of their names: a JSON list as in argos_key_record_json, with
//  {"name","problem"} for files that are none. New; NULL with a reason.
json_t *argos_keys_list (const char *home, char *reason, size_t size);

//  Revokes a key and removes its bundle. Returns 0 (also when it was revoked before), or -1 with a
//  reason.
int argos_keys_revoke (const char *home, const char *name, int64_t now, char *reason, size_t size);

//  The broker's own pair, made when there is none. Returns 0 or -1 with a reason.
int argos_keys_server (const char *home, argos_key_t *ret_key, char *reason, size_t size);

//  Writes a key that another host has made as keys/NAME.key. Returns 0, or -1 with a reason: there
//  is one of that name, or the folder can't be written.
int argos_keys_put (const char *home, const argos_key_t *key, char *reason, size_t size);

//  The token of a file, 0600, written when there is none that is good: who shows it goes on across
//  a restart. hash gets its SHA-256 in hex. Returns 0, or -1 with errno.
int argos_keys_token (const char *path, char hash[static ARGOS_HASH_HEX + 1]);

//  Reads such a file. Returns 0 or -1.
int argos_keys_token_read (const char *path, char token[static ARGOS_TOKEN_MAX + 1]);

#endif
