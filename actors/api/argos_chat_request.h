//  argos_chat_request - what a POST /v1/chat/completions asks for. Pure.
//
//  System and developer messages become instructions, the last message of a user or an assistant is
//  the prompt and those before it are the conversation, sent along instead of a stored one.

#ifndef ARGOS_CHAT_REQUEST_H
#define ARGOS_CHAT_REQUEST_H

#include "argos_run_request.h"

#define ARGOS_CHAT_IGNORED_MAX 512 //  Bytes of the names without effect

typedef struct {
    argos_run_request_t run;              //  History is an array always
    json_t *first;                        //  First message of the user, string or NULL
    json_t *user;                         //  Member `user`, string or NULL
    bool stream;                          //  The answer as it comes
    bool include_usage;                   //  Usage as a chunk of its own
    char ignored[ARGOS_CHAT_IGNORED_MAX]; //  Members without effect, with commas; "" = none
} argos_chat_request_t;

//  Reads root into *ret_request (new; argos_chat_request_clear frees it). Returns 0, or -1 with
//  *ret_problem filled in and nothing to free.
int argos_chat_request_read (
    json_t *root, argos_chat_request_t *ret_request, argos_run_problem_t *ret_problem);
void argos_chat_request_clear (argos_chat_request_t *self);

//  The session of a conversation that names none: the same for the same beginning, and of each
//  owner its own. salt may be "". target has 21 bytes.
void argos_chat_request_session (
    const argos_chat_request_t *self, const char *owner, const char *salt, char *target);

//  Names, with commas, of members of root that have no effect; NULL-terminated `known` have one,
//  and those of sampling.
void argos_chat_request_ignored (
    json_t *root, const char *const *known, char target[static ARGOS_CHAT_IGNORED_MAX]);

#endif
