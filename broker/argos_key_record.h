//  argos_key_record - what the broker knows of a key: HOME/keys/NAME.pub.
//
//  {"name","role","public","token_sha256","platform"?,"account"?,"created_at","revoked_at"?}, mode
//  0600, times in msec since 1970. No secret in it: who reads it can't use it. A revoked record
//  stays, so that its name is not given away again.

#ifndef ARGOS_KEY_RECORD_H
#define ARGOS_KEY_RECORD_H

#include "argos_key.h"

#include <jansson.h>

#define ARGOS_KEY_SUFFIX ".pub"  //  Of the files of records
#define ARGOS_KEY_FILE_MAX 4096  //  Bytes of a file
#define ARGOS_KEY_COUNT_MAX 4096 //  Records of a folder
#define ARGOS_HASH_HEX 64        //  Characters of a SHA-256
#define ARGOS_KEY_FOLDER "keys"  //  In the home
#define ARGOS_KEY_NAME_CHARS "abcdefghijklmnopqrstuvwxyz0123456789._-"

//  What a name of a platform has
#define ARGOS_PLATFORM_RULE "2 to 32 of a-z 0-9 _, a letter first"

typedef struct {
    char name[ARGOS_NAME_MAX + 1];         //  Name of the key
    char role[ARGOS_NAME_MAX + 1];         //  Its role
    char public_key[ARGOS_KEY_Z85 + 1];    //  CURVE
    char token_sha256[ARGOS_HASH_HEX + 1]; //  Of the token, hex; "" = none
    char platform[33];                     //  That it is limited to, "" = none
    char account[ARGOS_NAME_MAX + 1];      //  That it is limited to, "" = none
    int64_t created_at;                    //  Msec since 1970
    int64_t revoked_at;                    //  The same, 0 = it is good
} argos_key_record_t;

//  Whether text may be the name of a key: 1 to 48 of a-z 0-9 . _ -, beginning with a letter, no
//  last part of digits only (that is an instance number), and no name of an actor of the core.
bool argos_key_name_valid (const char *text);

//  Whether text may be the name of a platform, as the schemas want it in each message. A record
//  that is older than this rule may hold another.
bool argos_key_platform_valid (const char *text);

//  Reads a record, from the file NAME.pub in the folder (a descriptor) or from JSON text. Returns
//  0, or -1 when it can't be read, belongs to another user, can be written by others, or is not of
//  the form; a file has to bear the name of its key.
int argos_key_record_load (argos_key_record_t *self, int folder, const char *file);
int argos_key_record_read (argos_key_record_t *self, const char *text, size_t size);

//  As JSON; new, the caller's.
json_t *argos_key_record_json (const argos_key_record_t *self);

//  Calls fn for each file in the folder that ends in .pub; the order is that of the folder.
//  Returns the number of files, or -1 when the folder can't be read.
int argos_key_record_each (
    int folder, void (*fn) (void *arg, int folder, const char *file), void *arg);

#endif
