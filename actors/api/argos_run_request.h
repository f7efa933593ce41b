//  argos_run_request - checks the body of POST /v1/runs and turns it into what the gateway takes.
//  Pure.
//
//  Limits: text 262,144 bytes, instructions the same, 1,000 entries of history, 900,000 bytes of
//  JSON for the whole message.

#ifndef ARGOS_RUN_REQUEST_H
#define ARGOS_RUN_REQUEST_H

#include "argos_content.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define ARGOS_RUN_TEXT_MAX 262144  //  Bytes of the prompt, and of the instructions
#define ARGOS_RUN_HISTORY_MAX 1000 //  Entries of history
#define ARGOS_RUN_BODY_MAX                                                                         \
    900000 //  Bytes of the message made from it; a part of a commit has 1 MiB
#define ARGOS_RUN_SESSION_MAX 256        //  Bytes of a session id or a session key
#define ARGOS_RUN_LARGE_NAME "input.txt" //  File of a text that is longer
#define ARGOS_RUN_LARGE_HEAD 8192        //  Bytes of it that stay in the message
#define ARGOS_RUN_PREVIEW_MAX 1024       //  Bytes of the prompt kept in the run's row

typedef struct {
    json_t *text;         //  The prompt, a string
    json_t *history;      //  Array of {role, content}, or NULL
    json_t *images;       //  URLs of images of the prompt, or NULL
    json_t *large;        //  The whole text when it goes as a file, or NULL
    json_t *attachments;  //  As in message.inbound, or NULL; filled in by who stores the files
    json_t *previous;     //  Response that it goes on from: string, or NULL
    json_t *instructions; //  String or NULL
    json_t *session_id;   //  String or NULL
    json_t *model;        //  String or NULL
    json_t *sampling;     //  As in message.inbound, or NULL
} argos_run_request_t;

//  The body of a request as an object, new; NULL with *ret_problem filled in.
json_t *argos_run_request_root (const char *data, size_t size, argos_run_problem_t *ret_problem);

//  Reads what POST /v1/runs asks for into *ret_request (everything in it is new;
//  argos_run_request_clear frees it). Returns 0, or -1 with *ret_problem filled in and nothing to
//  free.
int argos_run_request_read (
    const json_t *root, argos_run_request_t *ret_request, argos_run_problem_t *ret_problem);

//  An array of {role, content} as it stands in member `name`, into a new *ret_history. Returns 0,
//  or -1 as above (what there is of it is the caller's all the same).
int argos_run_request_history (const json_t *entries, const char *name, json_t **ret_history,
    argos_run_problem_t *ret_problem);

//  Name of the session that a session key stands for, new.
json_t *argos_run_request_session (const char *session_key);

//  The last step of any request: images of the web become lines of the text, a text that is too
//  long for a message goes to `large` and its beginning stays. Returns 0, or -1 as above.
int argos_run_request_finish (argos_run_request_t *self, argos_run_problem_t *ret_problem);

//  At most max bytes of text, cut between two characters.
size_t argos_run_cut (const char *text, size_t max);

//  Frees what it holds. NULL-safe, idempotent.
void argos_run_request_clear (argos_run_request_t *self);

//  Whether text may name a session: 1 to 256 bytes, no control characters, no / or \, no "..".
bool argos_run_session_valid (const char *text, size_t size);

//  Whether key is 1 to 255 visible ASCII characters.
bool argos_run_idempotency_valid (const char *key);

//  A new run_<32 hex>; ret_run_id has 37 bytes.
void argos_run_id_new (char *ret_run_id);

//  Whether text is run_ and 32 lowercase hex digits.
bool argos_run_id_valid (const char *text);

//  The body of message.inbound for a run: new. account is the owner of the API key; session_key is
//  the X-Hermes-Session-Key, NULL = none. ret_lane (257 bytes) gets the ordering key. NULL when it
//  would be too large; then *ret_problem says so.
json_t *argos_run_request_inbound (const argos_run_request_t *self, const char *run_id,
    const char *account, const char *session_key, char *ret_lane, argos_run_problem_t *ret_problem);

//  The body of run.create: new.
json_t *argos_run_request_row (
    const argos_run_request_t *self, const char *run_id, const char *owner);

#endif
