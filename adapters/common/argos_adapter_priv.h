//  argos_adapter_priv - what the files of argos_adapter share.

#ifndef ARGOS_ADAPTER_PRIV_H
#define ARGOS_ADAPTER_PRIV_H

#include "argos_adapter.h"
#include "argos_log.h"

#include <uthash.h>

#define ADAPTER_NAME_MAX 64 //  Bytes of <platform>.<account>

typedef struct argos_adapter_turn argos_adapter_turn_t;
typedef struct argos_adapter_task argos_adapter_task_t;

//  What is private of a delivery

struct argos_delivery_priv {
    argos_lease_t *lease;        //  NULL = lost
    json_t *body;                //  Of the message
    char *id;                    //  Of the message
    char *draft_id;              //  Of the message that shows it already, NULL = none
    bool draft_kept;             //  A record tells of it
    int64_t attempt;             //  Of the lease
    json_t *calls;               //  The plan, NULL = not made yet
    json_t *ids;                 //  Made so far
    size_t pending;              //  Answers that are still to come
    bool own;                    //  It is a report of this adapter
    size_t files_done;           //  Attachments that have been fetched
    int tries;                   //  Of a call whose fate is not known
    bool written;                //  There is a record
    bool marked;                 //  The record says that this call is being made
    bool unclear;                //  It said so when we began
    const char *state;           //  Of the receipt, NULL = not over
    char error[512];             //  Of the receipt
    argos_adapter_timer_t timer; //  Goes on then
};

//  The text of a run and its marks

struct argos_adapter_turn {
    argos_adapter_t *adapter;            //  Whose
    char run_id[40];                     //  Which run
    char *chat_id, *thread_id;           //  Where
    char *reply_to;                      //  .
    char *text;                          //  So far, NULL = nothing
    size_t size;                         //  Its bytes
    int64_t segment;                     //  Which text of the run it is
    char *id;                            //  Of the message that shows it, NULL = none
    bool busy;                           //  A draft is on its way
    bool dirty;                          //  There is more than is shown
    bool old;                            //  It began before us: there may be a record of its draft
    bool unclear;                        //  A draft was perhaps sent, and its id is not known
    bool running, ended, followed;       //  What is known of the turn
    bool over, taken;                    //  It is done; its answer has taken the draft
    bool last;                           //  There is no answer: the draft is to say so
    int failures;                        //  Drafts that have failed
    int64_t next_ms;                     //  No draft before
    argos_delivery_t *waiter;            //  Goes on when the draft has arrived
    argos_adapter_timer_t typing, draft; //  The next mark, the next draft
    UT_hash_handle hh;                   //  By run
};

//  Something that waits for the store

struct argos_adapter_task {
    argos_adapter_t *adapter;           //  Whose
    json_t *messages, *value;           //  To be stored
    size_t single;                      //  Messages that are sent one by one, from the first
    char *cursor;                       //  Its name, NULL = none
    json_t *found;                      //  Records so far
    char *after;                        //  Key of the last one, NULL = from the beginning
    argos_adapter_stored_fn *on_stored; //  Told
    argos_adapter_cursor_fn *on_cursor; //  .
    argos_adapter_kept_fn *on_kept;     //  .
    void *arg;                          //  Its argument
    int failures;                       //  In a row
    argos_adapter_timer_t timer;        //  The next try
    argos_adapter_task_t *prev, *next;  //  All of the adapter
};

struct argos_adapter_ask {
    argos_adapter_t *adapter;         //  Whose
    char *from, *id;                  //  Who asks, and how
    argos_adapter_ask_t *prev, *next; //  All of the adapter
};

struct argos_adapter {
    zsock_t *pipe;                       //  To the owner
    argos_shell_t *shell;                //  The loop
    argos_peer_t *peer;                  //  To the broker
    const argos_platform_t *kind;        //  Which platform
    void *platform;                      //  Its memory, NULL = it can't work
    char account[32];                    //  Which account
    char name[ADAPTER_NAME_MAX + 1];     //  <platform>.<account>
    char service[ADAPTER_NAME_MAX + 16]; //  deliver.<name>
    char out[ADAPTER_NAME_MAX + 16];     //  out.<name>
    char space[48];                      //  Of records
    char *home;                          //  Folder
    json_t *settings;                    //  Snapshot
    argos_http_client_t *http;           //  All calls
    argos_rate_t *rate;                  //  What must wait
    argos_due_t due;                     //  All timers
    uint32_t random;                     //  State of the jitter
    int lock_fd;                         //  Of the credential, -1 = none
    bool told, started, closing;         //  READY was said; start was called; the end has begun
    bool serving;                        //  Deliveries are taken
    bool late;                           //  The topic of turns has been read up to now
    char problem[512];                   //  Why it can't work, "" = it can
    argos_delivery_t *deliveries;        //  In hand
    argos_adapter_turn_t *turns;         //  Known, by run
    argos_adapter_task_t *tasks;         //  Waiting for the store
    argos_adapter_ask_t *asks;           //  Requests in hand
    size_t ask_count;                    //  How many
    bool apart;                          //  Not in the process of the broker
    argos_adapter_timer_t quiet;         //  Memory that work has left is given back
};

//  argos_adapter.c
char *argos_adapter_copy (const char *text); //  New; NULL for NULL
void argos_adapter_arm (argos_adapter_t *self);
void argos_adapter_worked (argos_adapter_t *self);                         //  Something was in hand
const char *argos_adapter_member (const json_t *object, const char *name); //  "" = absent

//  argos_adapter_delivery.c
void argos_delivery_begin (argos_adapter_t *adapter, const argos_peer_msg_t *msg);
void argos_delivery_lost (argos_adapter_t *adapter, argos_lease_t *lease);
void argos_delivery_go (argos_delivery_t *self); //  The draft that it waited for has arrived
void argos_delivery_free_all (argos_adapter_t *adapter);
//  What is wanted of a message that was perhaps sent: resend_marked, report or drop.
const char *argos_delivery_policy (const argos_delivery_t *self);
void argos_delivery_finish (argos_delivery_t *self, const char *state, const char *error);
void argos_delivery_step (argos_delivery_t *self);
void argos_delivery_release (argos_delivery_t *self, int64_t delay_ms);
void argos_delivery_unref (argos_delivery_t *self); //  One answer has come; may free it

//  argos_adapter_turns.c
void argos_adapter_turns_entry (
    argos_adapter_t *self, const char *topic, const argos_peer_msg_t *msg);
void argos_adapter_turns_end (argos_adapter_t *self, const char *topic);
void argos_adapter_turns_begin (argos_adapter_t *self); //  Follow them
void argos_adapter_turns_free (argos_adapter_t *self);
bool argos_adapter_drafts (const argos_adapter_t *self);

//  The delivery of a run's answer takes its draft over: 1 = *ret_id is its message (NULL = it has
//  none), 0 = wait for argos_delivery_go, -1 = it may have one that is not known here.
int argos_adapter_turns_take (
    argos_adapter_t *self, const char *run_id, argos_delivery_t *delivery, const char **ret_id);

//  argos_adapter_store.c
void argos_adapter_store_free (argos_adapter_t *self);

#endif
