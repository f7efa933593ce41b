//  argos_pairing - how somebody who is not known gets to speak: a code, which the operator
//  approves. Pure.
//
//  A stranger writes, is told a code, and tells it to the operator, who knows him; `argos pairing
//  approve` then lets in the one who asked. Everything is kept as records of the store, of which
//  only the hash of a code is any secret:
//
//      pairing.pending   platform {"waiting":[{user_id,name?,account,chat_id?,salt,hash,at}]}
//      pairing.approved  platform:user       {user_id,name?,at,by}
//      pairing.rate      platform:user       {told}, until the next request is due
//      pairing.rate      platform            {failed, locked?}
//
//  What is decided carries the versions of what was read, so that two at once can't both count.

#ifndef ARGOS_PAIRING_H
#define ARGOS_PAIRING_H

#include "argos_errors.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARGOS_PAIRING_CODE_SIZE 9     //  8 characters, terminated
#define ARGOS_PAIRING_LIFE_MS 3600000 //  A code counts for so long
#define ARGOS_PAIRING_PENDING_MAX 3   //  Codes of one platform that count at a time
#define ARGOS_PAIRING_PAUSE_MS 600000 //  Between two requests of one user
#define ARGOS_PAIRING_FAILED_MAX 5    //  Wrong codes, then the platform is locked
#define ARGOS_PAIRING_LOCK_MS 3600000 //  For so long; also how long wrong codes are counted
#define ARGOS_PAIRING_RANDOM 24       //  Random bytes for a code and its salt
#define ARGOS_PAIRING_KEY_SIZE 320    //  Bytes of a key, terminated

#define ARGOS_PAIRING_PENDING "pairing.pending" //  Spaces of the records
#define ARGOS_PAIRING_APPROVED "pairing.approved"
#define ARGOS_PAIRING_RATE "pairing.rate"

//  What a decision is made on: results of record.get, NULL or {"record":null} = there is none

typedef struct {
    const json_t *pending;  //  pairing.pending of the platform
    const json_t *rate;     //  pairing.rate of platform and user
    const json_t *lock;     //  pairing.rate of the platform
    const json_t *approved; //  pairing.approved of platform and user
    int64_t wall;           //  Msec since 1970
} argos_pairing_t;

typedef enum {
    ARGOS_PAIRING_CODE,  //  Tell the code
    ARGOS_PAIRING_LATER, //  Say that it is too much now
    ARGOS_PAIRING_SILENT //  Say nothing
} argos_pairing_say_t;

//  Key of the records of a platform and a user to target (ARGOS_PAIRING_KEY_SIZE bytes).
void argos_pairing_key (const char *platform, const char *user, char *target);

//  Whether a record.get of pairing.approved has found somebody.
bool argos_pairing_is_approved (const json_t *result);

//  A stranger has written. Appends bodies of record.put to writes and returns what to say; for
//  ARGOS_PAIRING_CODE the code stands in code (ARGOS_PAIRING_CODE_SIZE bytes). random are
//  ARGOS_PAIRING_RANDOM bytes nobody can guess.
argos_pairing_say_t argos_pairing_ask (const argos_pairing_t *self, const json_t *source,
    const unsigned char *random, char *code, json_t *writes);

//  The operator names a code, in capitals or not. Returns ARGOS_OK, with who it was in *ret_user (a
//  new object {user_id,name?}); ARGOS_NOT_FOUND, which counts as failed; or ARGOS_BUSY: the
//  platform is locked. Appends bodies of record.put to writes in any case. by is who approves.
argos_err_t argos_pairing_approve (const argos_pairing_t *self, const char *platform,
    const char *code, const char *by, json_t **ret_user, json_t *writes);

//  The operator takes a grant back, and what the user has pending. ARGOS_NOT_FOUND = there was
//  neither.
argos_err_t argos_pairing_revoke (
    const argos_pairing_t *self, const char *platform, const char *user, json_t *writes);

//  The operator drops what is pending on a platform, and its lock. Returns how many codes there
//  were.
size_t argos_pairing_clear (const argos_pairing_t *self, const char *platform, json_t *writes);

//  Appends to list what is pending, from a record of pairing.pending as record.list has it:
//  {platform, user_id, name?, at, expires_at}, no secrets.
void argos_pairing_pending (const json_t *record, int64_t wall, json_t *list);

#endif
