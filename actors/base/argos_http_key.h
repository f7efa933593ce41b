//  argos_http_key - the keys of the HTTP interface beside HOME/api-key: made, listed and revoked by
//  `argos keys`, read by the server.
//
//  One file, HOME/http-keys.json (0600), replaced as a whole under a lock; it holds the hashes of
//  the keys, never a key. A daemon that runs sees a change with its next request. Limits: 1,000
//  records. Reasons are one sentence (size bytes, 256 is enough).

#ifndef ARGOS_HTTP_KEY_H
#define ARGOS_HTTP_KEY_H

#include <jansson.h>
#include <stdint.h>

#define ARGOS_HTTP_KEYS "http-keys.json" //  In the home
#define ARGOS_HTTP_OWNER_MAX 32          //  Bytes of a name and of an owner
#define ARGOS_HTTP_MAIN "main"           //  Owner of the key of the file api-key
#define ARGOS_HTTP_TOKEN_SIZE 64         //  Room for a new key, terminated

//  What a key may be used for, bits. admin may everything, also with what others own.

enum {
    ARGOS_HTTP_RUNS = 1,  //  Start runs and steer them
    ARGOS_HTTP_CHAT = 2,  //  Chat completions, responses, sessions
    ARGOS_HTTP_READ = 4,  //  Look at what its owner has, and at the state of the server
    ARGOS_HTTP_ADMIN = 8, //  All of it, for every owner
    ARGOS_HTTP_ALL = 15   //  The key of the file api-key
};

//  One key, as the server needs it

typedef struct {
    char owner[ARGOS_HTTP_OWNER_MAX + 1]; //  Whose runs and sessions it sees
    unsigned scopes;                      //  Bits
    char sha256[65];                      //  Of the key, in hex
} argos_http_key_t;

//  The bits of "runs,chat"; 0 when a word is none of them or there is none.
unsigned argos_http_key_scopes (const char *text);

//  Whether text may be a name or an owner: 1 to 32 of a-z 0-9 . _ -, a letter first.
int argos_http_key_name_valid (const char *text);

//  SHA-256 of a key, in hex.
void argos_http_key_hash (const char *token, size_t size, char ret_sha256[static 65]);

//  Makes a key; token gets it, it is kept nowhere. owner NULL = the name. Returns 0, or -1 with a
//  reason: a name that was ever used is not used again.
int argos_http_key_make (const char *home, const char *name, const char *owner, unsigned scopes,
    int64_t now, char token[static ARGOS_HTTP_TOKEN_SIZE], char *reason, size_t size);

//  All records in the order in which they were made: [{"name","owner","scopes":[..],"created_at",
//  "revoked_at"?}]; new. NULL with a reason when the file can't be read.
json_t *argos_http_key_list (const char *home, char *reason, size_t size);

//  Returns 0 (also when it was revoked before), or -1 with a reason.
int argos_http_key_revoke (
    const char *home, const char *name, int64_t now, char *reason, size_t size);

//  The keys that are good, from the file at path: new array, *ret_count of them; NULL and 0 when
//  there is no file, or none that can be read.
argos_http_key_t *argos_http_key_read (const char *path, size_t *ret_count);

#endif
