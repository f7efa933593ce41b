//  argos_discord_priv - what the files of the Discord adapter share.

#ifndef ARGOS_DISCORD_PRIV_H
#define ARGOS_DISCORD_PRIV_H

#include "argos_backoff.h"
#include "argos_dc_gateway.h"
#include "argos_dc_read.h"
#include "argos_discord.h"
#include "argos_inbox.h"
#include "argos_liveness.h"
#include "argos_log.h"
#include "argos_websocket.h"

#define DC_TEXT_MAX 2000 //  Characters of a message
#define DC_AGENT "DiscordBot (https://argos.invalid, 0.1)"
#define DC_CHANNELS_MAX 20000 //  Known at a time; beyond, all are forgotten
#define DC_THREADS_MAX 2000   //  Kept in which we take part

typedef struct discord discord_t;
typedef struct dc_call dc_call_t;

//  The answer of the API; borrowed for the call

typedef struct {
    const argos_http_answer_t *http; //  How far it came
    bool ok;                         //  Status 2xx, and JSON where there is a body
    const json_t *body;              //  NULL = none
    int code;                        //  Of an error in JSON
    const char *why;                 //  A sentence, "" = none
    int64_t wait_ms;                 //  Of 429; 0 = it was none
} dc_answer_t;

typedef void (dc_fn) (void *arg, const dc_answer_t *answer);

struct discord {
    argos_adapter_t *adapter; //  Whose
    char *token;              //  Secret
    char base[520];           //  Address of the API, without a slash at its end
    char id[24];              //  Of our user, "" = not known yet
    char app[24];             //  Of the application
    char username[64];        //  Of our user
    char cursor[40];          //  Name of our cursor
    json_t *channels;         //  {id: channel}
    json_t *roles;            //  {id of a guild: our role there}
    json_t *threads;          //  {id: true}
    argos_inbox_t *inbox;     //  Messages on their way
    dc_call_t *calls;         //  Of the API, under way
    int64_t global_ms;        //  Nothing before
    int64_t invalid_since;    //  Of the answers that are counted
    int invalid;              //  401, 403, 429 since then
    bool closing;             //  The account ends
    //  The gateway
    dc_state_t state;                   //  Of the table
    char session[128];                  //  To be resumed, "" = none
    char resume_url[256];               //  Of the session
    char gateway_url[256];              //  Of a new one
    int64_t seq;                        //  Of the last event, 0 = none
    argos_websocket_t *socket;          //  NULL = none
    uint32_t generation;                //  Of the newest
    int64_t beat_ms;                    //  Between heartbeats
    int64_t beat_due;                   //  The next one
    int64_t ack_due;                    //  Until when the last one has to be answered
    bool acked;                         //  The last one was answered
    int64_t identified_ms;              //  When we did so last, 0 = never
    argos_backoff_t backoff;            //  Of connections
    argos_liveness_t live;              //  Whether events come
    argos_adapter_timer_t beat_timer;   //  The next heartbeat
    argos_adapter_timer_t state_timer;  //  The deadline of the state, or the end of a pause
    argos_adapter_timer_t socket_timer; //  What the socket waits for
    argos_adapter_timer_t live_timer;   //  The next look
};

//  argos_discord_api.c: one call; params is stolen (NULL = no body). bucket: what the limits of its
//  route are kept under, NULL = nothing.
bool dc_api (discord_t *self, const char *method, const char *path, json_t *params,
    const char *bucket, dc_fn *fn, void *arg);
bool dc_upload (discord_t *self, const char *path, json_t *params, const argos_http_part_t *files,
    size_t count, const char *bucket, dc_fn *fn, void *arg);
void dc_calls_free (discord_t *self);
void dc_ignore (void *arg, const dc_answer_t *answer);

//  argos_discord_socket.c
void dc_begin (discord_t *self);
void dc_event (discord_t *self, dc_event_t event);
void dc_leave (discord_t *self);

//  argos_discord_in.c: a dispatch; and the acknowledgement of what is stored (of argos_inbox).
void dc_dispatch (discord_t *self, const char *type, const json_t *data);
void dc_stored (void *arg, const char *tag);
void dc_know_channel (discord_t *self, const json_t *channel);
void dc_join_thread (discord_t *self, const char *id);
json_t *dc_place (const discord_t *self); //  Our cursor now, new

//  argos_discord_plan.c, argos_discord_send.c
json_t *dc_nonce (const char *delivery_id, size_t index); //  Of its message of that number, new
void dc_put_reply (
    discord_t *self, const char *thread_id, const char *reply_to, size_t index, json_t *params);
json_t *dc_plan (void *self, const argos_delivery_t *delivery, char *error, size_t size);
void dc_deliver (void *self, argos_delivery_t *delivery, json_t *call, bool again);
void dc_draft (void *self, const argos_draft_t *draft);

//  argos_discord_ask.c
void dc_ask (void *self, argos_adapter_ask_t *ask, const char *type, const json_t *body);

const char *dc_member (const json_t *object, const char *name);

#endif
