//  api_kit - the API actor between real HTTP clients and the real broker and store; the test itself
//  is the gateway and the agent, so that it decides when a run is bound, what is published, and
//  when it ends.

#ifndef ARGOS_API_KIT_H
#define ARGOS_API_KIT_H

#include "argos_peer.h"

#include <czmq.h>
#include <stdbool.h>

#define WAIT_MS 10000 //  Patience with anything
#define KEY "test-key-of-the-api"

//  A lease that waits to be wanted

typedef struct {
    argos_lease_t *lease; //  NULL = none
    char type[64];        //  Its type
    char run[64];         //  Its run
} api_other_t;

typedef struct {
    zactor_t *store, *broker, *api; //  The real ones
    argos_peer_t *peer;             //  Gateway and agent
    int port;                       //  Of the API
    char folder[64];                //  Home of the database
    char run_id[64], session[64];   //  Of the last lease
    argos_lease_t *lease;           //  In hand
    api_other_t others[2];          //  Came while another was wanted: one of each service at most
    const char *wanted;             //  Type that is waited for, NULL = none
    int mails;                      //  turn.stop seen
    int answers;                    //  Commits answered
    argos_err_t code;               //  The last answer
} api_world_t;

//  Turn the peer until *value reaches target.
void api_until (api_world_t *self, const int *value, int target);

//  Wait for a lease with a message of that type.
void api_lease (api_world_t *self, const char *type);

//  What the gateway does with a run: bind it, queue its turn. Then take the turn.
void api_bind (api_world_t *self);

//  Publish a piece of the answer; whole = the text so far makes it a key frame, NULL = none.
void api_delta (api_world_t *self, const char *text, const char *whole);

//  End the run in hand.
void api_finish (api_world_t *self, const char *text, bool cancelled);

//  Send a request on a connection of its own; its descriptor.
int api_ask (const api_world_t *self, const char *method, const char *path, const char *more,
    const char *body);

//  Read behind what target holds until the peer closes or `until` has come. Returns the status.
int api_answer (int fd, const char *until, char *target, size_t size);

//  Both: a whole answer, its status.
int api_call (const api_world_t *self, const char *method, const char *path, const char *more,
    const char *body, char *target, size_t size);

//  The path of the run in hand.
void api_path (const api_world_t *self, const char *tail, char target[128]);

//  Start a run; that status is expected.
void api_post (api_world_t *self, const char *more, int status);

//  Everything up, a cap (0 = none) and silence on streams (0 = the default). And down.
api_world_t *api_begin (int max_runs, int64_t keepalive_ms);
void api_end (api_world_t *self);

#endif
