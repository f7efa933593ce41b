//  script - a scripted broker for tests of the peer: a ROUTER in the same thread, driven frame by
//  frame.
//
//  Invariant: nothing sleeps; each step waits for a frame or an event with a deadline, and a step
//  that does not come fails the test.

#ifndef ARGOS_TEST_SCRIPT_H
#define ARGOS_TEST_SCRIPT_H

#include "argos_peer.h"

#include <czmq.h>

#define SCRIPT_WAIT_MS 5000 //  Longest wait for anything but silence

//  A message as the script has received it

typedef struct {
    zframe_t *route; //  Who sent it
    json_t *header;  //  Frame 2
    json_t *body;    //  Frame 4, NULL when empty
    size_t size;     //  Frames after the route, or as many pieces and one
    bool packed;     //  It came as one frame
    zmsg_t *rest;    //  Pairs behind the body
    size_t bytes;    //  Header, body and pairs
} script_wire_t;

//  An answer as the fn has been told it

typedef struct {
    int count;        //  Calls
    argos_err_t code; //  Of the last
    int part;         //  Of the last
    bool sent;        //  Of the last
    int64_t seq;      //  Of the last
    char type[65];    //  Of the last
    char echo[65];    //  Member "echo" of the body
} script_answer_t;

typedef struct {
    zsock_t *router;      //  The script's side
    zframe_t *route;      //  Newest connection
    argos_peer_t *peer;   //  Under test
    char endpoint[64];    //  Where they meet
    argos_lease_t *lease; //  Newest lease
    int leases, mails, losts, requests, entries, ends, welcomes, finals, sockets; //  Calls
    bool new_store;    //  Of the last welcome
    int64_t last_n;    //  Of the last entry
    int64_t last_seq;  //  Of the last mail
    char refused[200]; //  Id of the last refusal without fn
    bool packs;        //  script_send_to packs
    argos_err_t final; //  Code of on_final
} script_t;

//  Notes an answer; arg is a script_answer_t.
void script_answer (void *arg, const argos_peer_answer_t *answer);

//  Frees what a wire holds.
void script_wire_free (script_wire_t *wire);

//  Reads the message that is there.
script_wire_t script_read (script_t *self);

//  A member of the header, "" or 0 when absent.
const char *script_head (const script_wire_t *wire, const char *name);

int64_t script_head_int (const script_wire_t *wire, const char *name);

//  The next message of this type; any other fails the test, but for credit and pings.
script_wire_t script_expect_within (script_t *self, const char *type, int64_t timeout_ms);

script_wire_t script_expect (script_t *self, const char *type);

//  Sends a message, or a word of the broker, to the newest connection.
void script_send_to (script_t *self, const char *header, const char *meta, const char *body);

void script_word (script_t *self, const char *type, const char *re, const char *body);

//  Turns the peer until *counter is `wanted`.
void script_until (script_t *self, const int *counter, int wanted);

//  Proves that the peer has nothing (more) to say.
void script_expect_nothing (script_t *self);

//  Waits for hello; answers it with a welcome; refuses the message with this id.
script_wire_t script_hello (script_t *self);

void script_welcome (
    script_t *self, const char *store, int ping_ms, int messages, const char *leases);

void script_refuse (script_t *self, const char *re, const char *code);

//  A router and a peer named test.1@core, and their end.
script_t *script_begin (void);

void script_end (script_t *self);

//  The peer sends a durable message to service:test, a request to actor:other; gets a lease.
argos_err_t script_durable (script_t *self, const char *id, script_answer_t *answer);

argos_err_t script_request (
    script_t *self, const char *id, int64_t ttl_ms, script_answer_t *answer);

void script_give_lease (script_t *self, int seq, int lease);

#endif
