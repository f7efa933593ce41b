//  argos_response_request - what a POST /v1/responses asks for. Pure.

#ifndef ARGOS_RESPONSE_REQUEST_H
#define ARGOS_RESPONSE_REQUEST_H

#include "argos_chat_request.h"

#define ARGOS_RESPONSE_HISTORY_AUTO 100     //  Messages that truncation auto leaves
#define ARGOS_RESPONSE_OBJECT_MAX 30000     //  Bytes of what is kept of a response
#define ARGOS_RESPONSE_CONVERSATION_MAX 200 //  Bytes of the name of a conversation

typedef struct {
    argos_run_request_t run;              //  history: conversation_history, or NULL
    json_t *items;                        //  Items before the last: [{role, content}]
    char *previous;                       //  previous_response_id, or NULL
    char *conversation;                   //  Name, or NULL
    bool store, stream, truncate;         //  Members; truncate = auto
    json_t *object;                       //  What a response repeats of its request
    char ignored[ARGOS_CHAT_IGNORED_MAX]; //  Members without effect
} argos_response_request_t;

//  Reads root into *ret_request (new; argos_response_request_clear frees it). Returns 0, or -1 with
//  *ret_problem filled in and nothing to free.
int argos_response_request_read (
    json_t *root, argos_response_request_t *ret_request, argos_run_problem_t *ret_problem);
void argos_response_request_clear (argos_response_request_t *self);

//  resp_ and 28 hex digits for a run; target has 34 bytes. And whether text is such an id.
void argos_response_id (const char *run_id, char *target);
bool argos_response_id_valid (const char *text);

//  The texts of a transcript (pages of session.load) up to the end of a run, as history: appended
//  to target. Returns true when the run was met.
bool argos_response_history (json_t *target, const json_t *messages, const char *upto_run);

#endif
