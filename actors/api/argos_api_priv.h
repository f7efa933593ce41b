//  argos_api_priv - what the files of the API actor share; nobody else includes it.

#ifndef ARGOS_API_PRIV_H
#define ARGOS_API_PRIV_H

#include "argos_api_routes.h"
#include "argos_event.h"
#include "argos_http.h"
#include "argos_peer.h"
#include "argos_run_request.h"
#include "argos_shell.h"
#include "argos_view.h"

#include <uthash.h>
#include <utlist.h>

#define ARGOS_API_NAME "api" //  Name of the peer, and owner of the runs it makes
#define ARGOS_API_RESPONSE_SPACE "response"
#define ARGOS_API_KEY_SPACE "http.key"
#define ARGOS_API_RESPONSE_KEY 320 //  Key of a record of that space, terminated
#define ARGOS_API_RUN_ID_SIZE 37   //  run_, 32 hex digits, NUL

typedef struct argos_api argos_api_t;
typedef struct argos_api_call argos_api_call_t;
typedef struct argos_api_slot argos_api_slot_t;
typedef struct argos_api_watch argos_api_watch_t;
typedef struct argos_api_reader argos_api_reader_t;
typedef struct argos_api_file argos_api_file_t;

//  A file of a message

struct argos_api_file {
    unsigned char *bytes; //  The content
    size_t size;          //  Bytes
    char blob[72];        //  sha256: and the hash
    char media_type[129]; //  As in HTTP
    char name[48];        //  For people
};

//  One request on its way through the broker

struct argos_api_call {
    argos_api_t *api;                     //  Owner
    argos_http_req_t *req;                //  To be answered
    char run_id[ARGOS_API_RUN_ID_SIZE];   //  Its run
    argos_run_request_t run;              //  POST: what is asked for
    char steer_id[ARGOS_API_RUN_ID_SIZE]; //  Steer: the run that carries the word
    bool keyed;                           //  POST: has an idempotency key
    bool repeat;     //  POST: the key has been used, run_id is the run that it made
    json_t *inbound; //  POST: the message to the gateway, once it is prepared
    char lane[ARGOS_RUN_SESSION_MAX + 1]; //  POST: its key
    json_t *key_record;          //  POST: body of the record.put that takes the key, or NULL
    char *session_key;           //  POST: X-Hermes-Session-Key, or NULL
    char *status;                //  POST: state of the run that a repeat meets
    bool named;                  //  POST: its session was named by the client
    bool over;                   //  POST: the run that a repeat meets has ended
    argos_view_t view;           //  POST: what is answered, none = that it was started
    argos_api_file_t *files;     //  POST: to be stored before the commit
    size_t file_count;           //  How many
    size_t file_next, file_done; //  Which one is being stored; bytes of it that are
    json_t *records;             //  POST: bodies of record.put in the same commit, or NULL
    json_t *row;                 //  GET: what is answered so far
    bool active_only;            //  List: executing runs only
    int64_t after;               //  Events: Last-Event-ID, -1 = none
    int64_t due, give_up, pause; //  Stop: next look, last look, msec between looks
    int64_t limit, offset;       //  Lists: as they are asked for
    int64_t passed;              //  Lists: sessions passed over so far, or pages read
    unsigned told;               //  Sessions: status of the answer, 0 = 200
    argos_api_call_t *prev,
        *next; //  Waiting for a slot, an end or a look
};

//  A run that executes as far as we know; counted against the cap

struct argos_api_slot {
    char run_id[ARGOS_API_RUN_ID_SIZE]; //  Key
    bool stored;                        //  Its row is there
    UT_hash_handle hh;                  //  Of argos_api.slots
};

//  A run that somebody reads

struct argos_api_watch {
    argos_api_t *api;                   //  Owner
    char run_id[ARGOS_API_RUN_ID_SIZE]; //  Key
    argos_event_log_t *log;             //  Its events
    argos_api_reader_t *readers;        //  Who reads them
    argos_api_call_t *pending;          //  Requests that must know whether there is an end
    bool caught_up;                     //  All that was kept has arrived
    bool subscribed;                    //  Entries come
    bool over;                          //  The row was terminal when we began
    int64_t drop_at;                    //  Monotonic msec when it may go, while it has no reader
    argos_api_watch_t *prev, *next;     //  On argos_api.idle while it has no reader
    UT_hash_handle hh;                  //  Of argos_api.watches
};

struct argos_api {
    zsock_t *pipe;               //  Owner
    argos_shell_t *shell;        //  Loop and peer
    argos_http_t *http;          //  Server
    argos_api_routes_t *routes;  //  What it serves
    char model[129];             //  Name of the model that is offered
    int64_t started_at;          //  Wall msec
    int max_runs;                //  Cap, 0 = none
    int retention_s;             //  How long a run is kept that has ended
    bool draining;               //  No new runs; DRAINED is said when nobody waits for one
    bool stopping;               //  The peer is going away: ask nothing more
    bool loading;                //  slots is being read
    bool cors;                   //  Some origins are allowed
    bool direct_model;           //  Chats may ask for a model of the provider
    bool loaded;                 //  slots has what was executing before we started
    size_t attended;             //  Readers that a run is for: chats and the like
    argos_api_slot_t *slots;     //  Executing runs
    size_t checks;               //  run.get of a check of the slots not yet answered
    argos_api_call_t *admission; //  Posts that wait for that check
    argos_api_call_t *stops;     //  Stops that wait until the gateway has handled their run
    argos_api_watch_t *watches;  //  By run
    argos_api_watch_t *idle;     //  Those without readers, oldest first
    size_t idle_count;           //  How many
    size_t subscriptions;        //  Of all watches
    int64_t grace_ms;            //  From a hang-up to the end of the run
    int64_t keepalive_ms;        //  Silence on a stream before a comment
    uint64_t slow_readers;       //  Let go or cut off since the start
    argos_api_reader_t *quiet;   //  All streams, the one that was written to longest ago first
};

//  argos_api_actor.c: a call for a request; its end; a store read; answers that several handlers
//  need.
argos_api_call_t *argos_api_call_new (argos_api_t *self, argos_http_req_t *req);
void argos_api_call_destroy (argos_api_call_t **self_p);

//  The last one that a run is for has gone: say so, if that is waited for.
void argos_api_drained (argos_api_t *self);

//  Answer all calls of a list with 503 and free them; the list is empty then.
void argos_api_calls_refuse (argos_api_call_t **list_p, argos_err_t code);
void argos_api_read (
    argos_api_t *self, const char *type, json_t *body, argos_peer_answer_fn *fn, void *arg);
void argos_api_unavailable (argos_http_req_t *req, argos_err_t code);
void argos_api_no_run (argos_http_req_t *req);
void argos_api_schedule (argos_api_t *self);

//  Whom a run belongs to that comes with this request (64 bytes).
void argos_api_run_owner (const argos_http_req_t *req, char *target);

//  The run in a store.result of run.get when whoever asks (NULL = we) may see it, borrowed; else
//  NULL. And whether it has ended.
json_t *argos_api_row (const argos_peer_answer_t *answer, const argos_http_req_t *req);
bool argos_api_row_terminal (const json_t *row);

//  argos_api_runs.c, argos_api_get.c and argos_api_stop.c: the handlers of the routes.
void argos_api_post (void *ctx, argos_http_req_t *req);
void argos_api_get (void *ctx, argos_http_req_t *req);
void argos_api_list (void *ctx, argos_http_req_t *req);
void argos_api_stop (void *ctx, argos_http_req_t *req);

//  argos_api_info.c: routes that need no run.
void argos_api_health (void *ctx, argos_http_req_t *req);
void argos_api_health_detailed (void *ctx, argos_http_req_t *req);
void argos_api_metrics (void *ctx, argos_http_req_t *req);
void argos_api_models (void *ctx, argos_http_req_t *req);
void argos_api_model (void *ctx, argos_http_req_t *req);
void argos_api_capabilities (void *ctx, argos_http_req_t *req);
void argos_api_openapi (void *ctx, argos_http_req_t *req);

//  argos_api_runs.c: commit a run that has been admitted.
void argos_api_start (argos_api_call_t *call);

//  argos_api_stop.c: stops that are due; when the next is, -1 = none.
void argos_api_stop_tick (argos_api_t *self, int64_t now);
int64_t argos_api_stop_due (const argos_api_t *self);

//  argos_api_cap.c: start the run when there is room, else answer 429; the run was stored (or not:
//  ok false); it has ended; what was executing before we started has to be read (again).
void argos_api_admit (argos_api_call_t *call);
void argos_api_slot_stored (argos_api_t *self, const char *run_id, bool ok);
void argos_api_slot_free (argos_api_t *self, const char *run_id);
void argos_api_slots_load (argos_api_t *self);
void argos_api_slots_clear (argos_api_t *self);

//  argos_api_key.c: names the run by the Idempotency-Key that came with the request. False: it was
//  answered, or the key is being looked up and the handler is called again then.
bool argos_api_key (argos_api_call_t *call, const char *route, const char *key);

//  argos_api_runs.c: take the headers that any start of a run may have (route NULL: no idempotency
//  key); make its message and its files ready; a header of sessions. False = answered, or the
//  handler is called again. Then submit: checks, admission, commit and, with a view, the answer;
//  that takes the call.
bool argos_api_open (argos_api_call_t *call, const char *route);
bool argos_api_prepare (argos_api_call_t *call);
bool argos_api_session_header (argos_http_req_t *req, const char *name, char **ret_text);
void argos_api_submit (argos_api_call_t *call);
void argos_api_refuse (argos_http_req_t *req, const argos_run_problem_t *problem);
void argos_api_session_told (argos_http_req_t *req, const char *session, const char *key);

//  argos_api_question.c: the handlers; the answer to GET with the status call->row, and what the
//  run of that session waits for (the call is taken); the questions of a run whose client can't be
//  asked. argos_api_steer.c: the handler.
void argos_api_approval (void *ctx, argos_http_req_t *req);
void argos_api_clarify (void *ctx, argos_http_req_t *req);
void argos_api_waits (argos_api_call_t *call, const char *session);
void argos_api_decline (argos_api_t *self, const char *run_id);
void argos_api_steer (void *ctx, argos_http_req_t *req);

//  argos_api_chat.c: the handler.
void argos_api_chat (void *ctx, argos_http_req_t *req);

//  argos_api_responses.c and argos_api_stored.c: the handlers; the key of a record of this owner;
//  whether a record is one of a response.
void argos_api_respond (void *ctx, argos_http_req_t *req);
void argos_api_response_get (void *ctx, argos_http_req_t *req);
void argos_api_response_delete (void *ctx, argos_http_req_t *req);
void argos_api_response_key (const argos_http_req_t *req, const char *kind, const char *name,
    char target[static ARGOS_API_RESPONSE_KEY]);
bool argos_api_response_valid (const json_t *value);

//  Submit a run that goes on from the response call->run.previous; the call is taken.
void argos_api_continue (argos_api_call_t *call);

//  argos_api_sessions.c and argos_api_session_chat.c: the handlers.
void argos_api_session_list (void *ctx, argos_http_req_t *req);
void argos_api_session_create (void *ctx, argos_http_req_t *req);
void argos_api_session_get (void *ctx, argos_http_req_t *req);
void argos_api_session_update (void *ctx, argos_http_req_t *req);
void argos_api_session_delete (void *ctx, argos_http_req_t *req);
void argos_api_session_messages (void *ctx, argos_http_req_t *req);
void argos_api_session_fork (void *ctx, argos_http_req_t *req);
void argos_api_session_chat (void *ctx, argos_http_req_t *req);
void argos_api_session_chat_stream (void *ctx, argos_http_req_t *req);

//  argos_api_sessions.c, for both: a session as it is told, new; the one in an answer of
//  session.get when whoever asks may see it, borrowed, else NULL; that there is none.
json_t *argos_api_session (const json_t *row);
json_t *argos_api_session_row (const argos_peer_answer_t *answer, const argos_http_req_t *req);
void argos_api_no_session (argos_http_req_t *req);

//  Read the session of the path, then call fn; in fn, whether it may go on (false: answered, and
//  the call is gone). The body of the request (absent = {}), new, NULL = answered; it may have
//  members of these names only, NULL = any. An id for a new session, that of the body or a made
//  one, to call->run.session_id; false = answered.
void argos_api_session_look (argos_api_call_t *call, argos_peer_answer_fn *fn);
bool argos_api_session_seen (argos_api_call_t *call, const argos_peer_answer_t *answer);
json_t *argos_api_session_body (argos_http_req_t *req, const char *const *names);
bool argos_api_session_name (argos_api_call_t *call, const json_t *root);

//  Commit, then call fn; in fn, the answer to a refusal, or the session with a status. Both take
//  the call.
void argos_api_session_write (
    argos_api_call_t *call, const argos_peer_part_t *parts, size_t count, argos_peer_answer_fn *fn);
void argos_api_session_refused (argos_api_call_t *call, const argos_peer_answer_t *answer);
void argos_api_session_tell (argos_api_call_t *call, const char *id, unsigned status);

//  argos_api_file.c: make files of the images and the large text of the run; false with a problem.
//  Store them, then call argos_api_stored.
bool argos_api_files_take (argos_api_call_t *call, argos_run_problem_t *problem);
void argos_api_files_store (argos_api_call_t *call);
void argos_api_files_free (argos_api_call_t *call);
void argos_api_stored (argos_api_call_t *call, argos_err_t code);

//  argos_api_stop.c: who waited for this run has gone; it ends after a grace unless somebody else
//  reads it.
void argos_api_abandon (argos_api_t *self, const char *run_id);

//  argos_api_events.c: the handler. argos_api_watch.c: the request reads its run, whose row is
//  final when over; the call is taken. Whether somebody reads it. What comes from the broker, and
//  time.
void argos_api_events (void *ctx, argos_http_req_t *req);
void argos_api_watch_join (argos_api_call_t *call, bool over);
bool argos_api_watch_is_read (const argos_api_t *self, const char *run_id);
void argos_api_watch_enter_idle (argos_api_watch_t *watch);
void argos_api_watch_leave_idle (argos_api_watch_t *watch);
void argos_api_on_entry (void *ctx, const char *topic, const argos_peer_msg_t *msg);
void argos_api_on_end (void *ctx, const char *topic, int64_t n, bool closed);
void argos_api_watch_tick (argos_api_t *self, int64_t now);
int64_t argos_api_watch_due (const argos_api_t *self);
void argos_api_watches_clear (argos_api_t *self);

//  argos_api_reader.c: a reader for the request of the call, which is taken; all of a watch; time.
void argos_api_reader_attach (argos_api_watch_t *watch, argos_api_call_t *call);
void argos_api_readers_wake (argos_api_watch_t *watch);
void argos_api_readers_cut (argos_api_watch_t *watch);
void argos_api_readers_tick (argos_api_t *self, int64_t now);
int64_t argos_api_readers_due (const argos_api_t *self);

//  The subscription of a topic was refused: its readers are cut off, and come back.
void argos_api_events_refused (argos_api_t *self, const char *topic);

//  argos_api_jobs.c: GET /v1/jobs, GET /v1/jobs/{job_id}, POST /v1/jobs/{job_id}/kill
void argos_api_jobs_list (void *ctx, argos_http_req_t *req);
void argos_api_jobs_get (void *ctx, argos_http_req_t *req);
void argos_api_jobs_kill (void *ctx, argos_http_req_t *req);

#endif
