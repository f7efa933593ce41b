//  argos_header - reads the header of a message (docs/protocol.md) into a fixed struct, without a
//  tree.
//
//  A scanner, not a parser of JSON in general: one flat object, closed member list, no duplicates,
//  no nesting but "take". Read-only and pure; the header itself is always passed on byte for byte.

#ifndef ARGOS_HEADER_H
#define ARGOS_HEADER_H

#include "argos_errors.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARGOS_HEADER_MAX 4096    //  Bytes of a header
#define ARGOS_PART_MAX 1048576   //  Bytes of a body
#define ARGOS_COMMIT_MAX 2097152 //  Bytes of a commit, all parts
#define ARGOS_PARTS_MAX 64       //  Parts of a commit
#define ARGOS_TAKE_MAX 64        //  Messages taken by one commit
#define ARGOS_TYPE_MAX 64        //  Bytes of a type
#define ARGOS_ID_MAX 128         //  Bytes of an id
#define ARGOS_TO_MAX 160         //  Bytes of an address
#define ARGOS_KEY_MAX 1024       //  Bytes of a key
#define ARGOS_NAME_MAX 64        //  Bytes of a peer or service name
#define ARGOS_HOLDER_MAX 112     //  Bytes of a holder: name/instance, and /boot when in process
#define ARGOS_HOPS_MAX 64        //  Longest chain of messages

typedef enum {
    ARGOS_TO_NONE,    //  No address
    ARGOS_TO_ACTOR,   //  actor:<name>
    ARGOS_TO_SERVICE, //  service:<name>
    ARGOS_TO_TOPIC,   //  topic:<name>
    ARGOS_TO_STORE    //  store
} argos_to_t;

typedef struct {
    char type[ARGOS_TYPE_MAX + 1]; //  Message type, terminated
    char id[ARGOS_ID_MAX + 1];     //  Sender's id, "" when absent
    char name[ARGOS_TO_MAX + 1];   //  What follows the colon of `to`, "" when there is none
    char re[ARGOS_ID_MAX + 1];     //  Id that this answers, "" when absent
    char trace[65];                //  Traceparent, "" when absent
    char key[ARGOS_KEY_MAX + 1];   //  Lane key with escapes resolved, "" when absent
    argos_to_t to;                 //  Kind of address
    bool has_key;                  //  Whether `key` was there
    bool durable, side, urgent;    //  Flags
    bool keyframe, last;           //  Flags of topic entries
    int64_t ttl_ms;                //  0 when absent
    int64_t not_before;            //  Msec since 1970, 0 when absent
    int64_t seq, lease, n, seen;   //  0 when absent
    bool has_seen;                 //  Whether `seen` was there
    size_t take_count;             //  Entries in take
    int64_t take[ARGOS_TAKE_MAX];  //  Messages consumed beside the leased one
} argos_header_t;

//  Reads size bytes into *ret_header. Returns ARGOS_OK, ARGOS_TOO_BIG (over 4096 bytes) or
//  ARGOS_INVALID; then *ret_header is undefined but for `id`, which is "" or the id if it could be
//  read (so that a refusal can name it), and *ret_reason (may be NULL) is a static sentence.
argos_err_t argos_header_read (
    const void *data, size_t size, argos_header_t *ret_header, const char **ret_reason);

//  The name without instance number and node: "gateway.2@core" -> "gateway". The last dot component
//  is dropped only when it is all digits. target has ARGOS_NAME_MAX + 1 bytes.
void argos_name_base (const char *name, char *target);

//  Whether name is 1 to ARGOS_NAME_MAX of a-z 0-9 . _ - @, not beginning with @ (its base is then
//  never empty)
bool argos_name_valid (const char *name);

#endif
