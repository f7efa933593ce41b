//  bench_wire - ARGOS/1 over a bare DEALER, as thin as it can be: what a load generator must not
//  cost.
//
//  Small messages are packed as libargos does it. One thread. Members of headers and metas are
//  found by their names in the text, which is enough for what the broker writes. Obeys the send
//  window; does not ping: a round is short.

#ifndef ARGOS_BENCH_WIRE_H
#define ARGOS_BENCH_WIRE_H

#include "argos_key.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zmq.h>

#define WIRE_WAIT_MS 10000 //  Longest wait for an answer

typedef struct {
    void *socket;            //  DEALER, owned
    int64_t sent, granted;   //  Messages sent and allowed, in all
    int64_t bytes, bytes_ok; //  The same in bytes
    char type[65];           //  Of the message at hand
    char header[4097];       //  Of the message at hand
    char meta[2049];         //  Of the message at hand
    zmq_msg_t body;          //  Of the message at hand
    int more;                //  The next frame belongs to it
    int wait_ms;             //  How long the socket waits in a receive
    bool packs;              //  The broker reads packed messages
} wire_t;

//  Connect and say hello, with that key over tcp (NULL = none). Returns 0, or -1 when the broker
//  does not welcome us.
int wire_open (
    wire_t *self, void *context, const char *endpoint, const char *name, const argos_key_t *key);

//  The same in two steps, so that many can be on the way: the hello, and the wait for the answer.
int wire_hello (
    wire_t *self, void *context, const char *endpoint, const char *name, const argos_key_t *key);
int wire_welcome (wire_t *self);
void wire_close (wire_t *self);

//  Whether the window lets a message of so many bytes (header and body) go.
bool wire_may (const wire_t *self, size_t bytes);

//  Sends a message that is counted, or a word that is not (hello, serve, credit ...). parts is a
//  list of pairs header, body behind it, NULL-terminated; NULL = none.
void wire_send (wire_t *self, const char *header, const void *body, size_t size);
void wire_send_parts (wire_t *self, const char *header, const char *const *parts);
void wire_word (wire_t *self, const char *header, const char *body);
//  The same with a body that is handed over.
void wire_send_msg (wire_t *self, const char *header, zmq_msg_t *body);

//  The next message; credit is taken in on the way. timeout_ms 0 = only what is there. False when
//  there is none.
bool wire_recv (wire_t *self, long timeout_ms);

//  Receives until a message of that type; false when none comes in time.
bool wire_expect (wire_t *self, const char *type);

//  Commits (each of them a sync) of the store since its start, and the requests in them.
bool wire_store (wire_t *self, int64_t *ret_commits, int64_t *ret_requests);

//  A member of a text: copied to target, "" when absent; or a number, 0 when absent.
void wire_text (const char *json, const char *name, char *target, size_t size);
int64_t wire_number (const char *json, const char *name);

//  The body as a terminated text; borrowed until the next message. At most 64 KiB of it.
const char *wire_body (wire_t *self);

#endif
