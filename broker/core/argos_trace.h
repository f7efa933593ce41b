//  argos_trace - what happened to messages, in a ring of fixed size; the path of one of them.
//
//  Pure; one thread. Records name a message by its id (a hash of it and its beginning) and by its
//  seq, and what led to it by the hash of that one's id.

#ifndef ARGOS_TRACE_H
#define ARGOS_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARGOS_TRACE_TEXT 24         //  Bytes that are kept of an id, a type, a name
#define ARGOS_TRACE_BYTES (4 << 20) //  Of the ring at most
#define ARGOS_TRACE_PATH_MAX 512    //  Records of a path

typedef struct argos_trace argos_trace_t;

typedef enum {
    ARGOS_TRACE_ACCEPTED, //  It is stored in its lane
    ARGOS_TRACE_ASKED,    //  A request has come
    ARGOS_TRACE_LEASED,   //  A lease of it is stored
    ARGOS_TRACE_SENT,     //  It was handed to a worker
    ARGOS_TRACE_COMMIT,   //  Its holder has committed
    ARGOS_TRACE_DONE,     //  and ended it
    ARGOS_TRACE_RELEASED, //  The lease ended without that
    ARGOS_TRACE_REPLIED,  //  The request was answered
    ARGOS_TRACE_REFUSED,  //  It was refused
    ARGOS_TRACE_DEAD      //  It was given up
} argos_trace_event_t;

//  What is told of an event; texts are borrowed, NULL or "" = none

typedef struct {
    argos_trace_event_t event; //  What
    int64_t at;                //  Wall msec
    int64_t seq, lease;        //  0 = none
    uint64_t key;              //  Hash of the id, when the caller has it: id is then what it keeps
    const char *id;            //  Of the message
    const char *type;          //  Its type
    const char *peer;          //  Who did it, or has got it
    const char *cause;         //  Id of the message that led to it
    int code;                  //  Error code, 0 = none
} argos_trace_note_t;

//  A record as it lies in the ring

typedef struct {
    int64_t at, seq, lease;      //  As told
    uint64_t key, cause;         //  Hashes of the ids, 0 = none
    char id[ARGOS_TRACE_TEXT];   //  Its beginning, terminated only when shorter
    char type[ARGOS_TRACE_TEXT]; //  The same
    char peer[ARGOS_TRACE_TEXT]; //  The same
    uint8_t event, code;         //  As told
    uint8_t depth;               //  In a path: steps from its root
} argos_trace_record_t;

//  A ring of so many records, fewer when they need more than ARGOS_TRACE_BYTES; the caller's. 0
//  entries: NULL, with which the other functions do nothing.
argos_trace_t *argos_trace_new (int64_t entries);
void argos_trace_destroy (argos_trace_t **self_p);

//  The hash of an id; 0 for "" and NULL.
uint64_t argos_trace_key (const char *id);

void argos_trace_add (argos_trace_t *self, const argos_trace_note_t *note);

//  The path that the message of that id belongs to: from the first message of the chain to all that
//  followed, in order of time. Fills records (ARGOS_TRACE_PATH_MAX of them), returns how many;
//  *ret_more: there are more.
size_t argos_trace_path (
    const argos_trace_t *self, const char *id, argos_trace_record_t *records, bool *ret_more);

//  The word for an event.
const char *argos_trace_word (argos_trace_event_t event);

#endif
