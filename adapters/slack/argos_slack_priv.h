//  argos_slack_priv - what the files of the Slack adapter share.

#ifndef ARGOS_SLACK_PRIV_H
#define ARGOS_SLACK_PRIV_H

#include "argos_backoff.h"
#include "argos_inbox.h"
#include "argos_liveness.h"
#include "argos_log.h"
#include "argos_sl_read.h"
#include "argos_slack.h"
#include "argos_websocket.h"

#define SL_TEXT_MAX 3900          //  Characters of a message: an edit may have 4,000
#define SL_THREADS_MAX 2000       //  Kept in which we take part
#define SL_NAMES_MAX 5000         //  Users known at a time; beyond, all are forgotten
#define SL_SOCKETS_MAX 2          //  The one that works, and the one that takes over
#define SL_EVENT "argos_delivery" //  Type of the metadata of what we send

typedef struct slack slack_t;
typedef struct sl_call sl_call_t;

//  The answer of the API; borrowed for the call

typedef struct {
    const argos_http_answer_t *http; //  How far it came
    bool ok;                         //  It was done
    const json_t *body;              //  NULL = none
    const char *error;               //  Slack's word for what is wrong, or a sentence; "" = none
    int64_t wait_ms;                 //  Of a limit; 0 = it was none
} sl_answer_t;

typedef void (sl_fn) (void *arg, const sl_answer_t *answer);

//  A connection of Socket Mode

typedef struct {
    slack_t *slack;              //  Whose
    argos_websocket_t *socket;   //  NULL = this place is free
    uint32_t generation;         //  Of it
    bool live;                   //  hello has come
    bool leaving;                //  Slack will end it: another one takes over
    argos_adapter_timer_t timer; //  What the socket waits for
} sl_socket_t;

struct slack {
    argos_adapter_t *adapter; //  Whose
    char *token;              //  Secret of the bot
    char *app_token;          //  Secret of the app, for connections
    char base[520];           //  Address of the API, without a slash at its end
    char user[64], bot[64];   //  Who we are, "" = not known yet
    char team[64], name[128]; //  .
    json_t *threads;          //  {"channel:ts": true}
    json_t *names;            //  {user: name}
    argos_inbox_t *inbox;     //  Messages on their way
    sl_call_t *calls;         //  Of the API, under way
    bool closing;             //  The account ends
    bool no_status;           //  It may not show that we are writing
    //  Socket Mode
    sl_socket_t sockets[SL_SOCKETS_MAX]; //  Connections
    uint32_t generation;                 //  Of the newest
    bool asking;                         //  apps.connections.open is under way
    argos_backoff_t backoff;             //  Of connections
    argos_liveness_t live;               //  Whether events come
    argos_adapter_timer_t timer;         //  The next try
    argos_adapter_timer_t live_timer;    //  The next look
};

//  argos_slack_api.c: one call; params is stolen. form: as a form, as the reads want it; once: it
//  must not happen twice.
bool sl_api (
    slack_t *self, const char *method, json_t *params, bool form, bool once, sl_fn *fn, void *arg);
bool sl_upload (
    slack_t *self, const char *url, const argos_http_part_t *file, sl_fn *fn, void *arg);
void sl_calls_free (slack_t *self);
void sl_ignore (void *arg, const sl_answer_t *answer);
const char *sl_help (const char *error); //  What an operator has to do about it, NULL = nothing
const char *sl_member (const json_t *object, const char *name);

//  argos_slack_socket.c
void sl_connect (slack_t *self);
void sl_disconnect (slack_t *self);
void sl_acknowledge (slack_t *self, uint32_t generation, const char *envelope, bool answers);

//  argos_slack_in.c: an envelope; and what is stored (of argos_inbox).
void sl_hear (slack_t *self, uint32_t generation, const json_t *envelope);
void sl_stored (void *arg, const char *tag);
void sl_join_thread (slack_t *self, const char *channel, const char *thread);

//  argos_slack_plan.c, argos_slack_send.c
json_t *sl_plan (void *self, const argos_delivery_t *delivery, char *error, size_t size);
void sl_mark (const char *delivery_id, size_t index, char mark[static 33]);
void sl_deliver (void *self, argos_delivery_t *delivery, json_t *call, bool again);
void sl_find (void *self, argos_delivery_t *delivery, json_t *call);
void sl_find_draft (void *self, argos_delivery_t *delivery);
void sl_draft (void *self, const argos_draft_t *draft);

//  argos_slack_ask.c
void sl_ask (void *self, argos_adapter_ask_t *ask, const char *type, const json_t *body);

#endif
