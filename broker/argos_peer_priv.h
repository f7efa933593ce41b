//  argos_peer_priv - the structs that the files of the peer share. Not for users.
//
//  What is sent and not answered stands in one list, in order of sending: first what has been
//  handed to the socket of this session, then what has not (from `unsent` on). What wants an answer
//  is found by its id, a lease by its seq.

#ifndef ARGOS_PEER_PRIV_H
#define ARGOS_PEER_PRIV_H

#include "argos_pack.h"
#include "argos_peer.h"

#include <uthash.h>
#include <utlist.h>
#include <zmq.h>

#define ARGOS_PEER_OUT_MAX 65536          //  Unanswered sends
#define ARGOS_PEER_OUT_BYTES (64 << 20)   //  Their bytes together
#define ARGOS_PEER_DEATHS_MAX 3           //  Starts of the core that end with one send unanswered
#define ARGOS_PEER_CREDIT_MESSAGES 64     //  Entries and direct messages granted ahead
#define ARGOS_PEER_CREDIT_BYTES (4 << 20) //  The same in bytes
#define ARGOS_PEER_TTL_MS 30000           //  Deadline of a request that states none
#define ARGOS_PEER_ID_SIZE 64             //  Room for an id that we make up
#define PEER_FRAMES 4                     //  Of a message to us: AR1, header, meta, body

typedef struct peer_out peer_out_t;
typedef struct peer_service peer_service_t;
typedef struct peer_sub peer_sub_t;

typedef enum {
    PEER_WAIT,  //  Socket not connected; tries again at retry_at
    PEER_HELLO, //  Hello said; no welcome yet
    PEER_READY, //  Welcome
    PEER_FINAL  //  Superseded, denied or being destroyed
} peer_state_t;

typedef enum {
    OUT_FIRE,    //  Never answered: a reply, a word on a request, a passing entry
    OUT_ACCEPT,  //  Answered accepted or refused: durable message, store write, commit
    OUT_REQUEST, //  Answered by a reply or refused; has a deadline; never sent twice
    OUT_COMMIT,  //  Numbered commit under a lease
    OUT_DONE,    //  The last one
    OUT_RELEASE  //  Whatever the answer, nobody asks
} peer_out_kind_t;

//  A message on its way. The frames after AR1 stand back to back behind the struct, then the id,
//  terminated.

struct peer_out {
    peer_out_kind_t kind;     //  What answers it
    bool sent;                //  Handed to a socket, now or before
    int deaths;               //  Starts of the core that have ended with this unanswered
    int64_t boot;             //  The start to which it was sent last
    int64_t deadline;         //  Request: mono msec
    argos_peer_answer_fn *fn; //  Told the answer, or NULL
    void *arg;                //  Its argument
    argos_lease_t *lease;     //  Commit, done: under this; NULL once that is gone
    int64_t seq, number;      //  Release: of which lease
    peer_out_t *prev, *next;  //  In order of sending
    UT_hash_handle hh;        //  By id, unless OUT_FIRE
    const char *id;           //  Behind the frames; "" for OUT_FIRE
    const char *data;         //  First frame
    size_t bytes;             //  All frames
    size_t frame_count;       //  How many
    uint32_t sizes[];         //  Their sizes
};

struct argos_lease {
    argos_peer_t *peer;  //  Ours
    int64_t seq, number; //  Row and number of the lease
    int64_t attempt;     //  As told
    int64_t n;           //  Number of the next commit
    int64_t seen;        //  Newest side message handed to on_mail
    peer_out_t *commit;  //  Unanswered commit or done
    void *data;          //  The owner's
    bool over;           //  Out of the table; freed after the present call
    char verdict;        //  While a welcome is read: 'v' valid, 'd' done, 'l' lost
    UT_hash_handle hh;   //  By seq
    char key[];          //  Lane key
};

struct peer_service {
    char *name;           //  Service
    int slots;            //  Leases at most
    json_t *types;        //  Array of names, NULL = all
    json_t *capabilities; //  Of an adapter; NULL = nothing is told
    peer_service_t *next; //  In the list
};

struct peer_sub {
    char *topic;                 //  Name without topic:
    int64_t from;                //  First number wanted
    int64_t last;                //  Newest number seen, -1 = none
    bool closed;                 //  Nothing follows
    char id[ARGOS_PEER_ID_SIZE]; //  Id of the newest subscribe
    UT_hash_handle hh;           //  By topic
    UT_hash_handle hh_id;        //  By id
};

struct argos_peer {
    char *name;                              //  Own name
    char *endpoint;                          //  The broker's
    argos_key_t key;                         //  What is shown to be let in; empty = nothing
    int64_t instance;                        //  Start of this process
    argos_peer_handlers_t handlers;          //  The owner's
    void (*socket_changed) (void *ctx);      //  Told of a new socket
    void *socket;                            //  DEALER
    void *door;                              //  PAIR: tells of failed handshakes; NULL = none
    const char *shut;                        //  Why we are not let in, static; NULL = we are
    peer_state_t state;                      //  See above
    bool broken;                             //  The connection took nothing: give it up in turn
    bool congested;                          //  The queue waits for the socket
    char prefix[34];                         //  Of the ids that we make up
    uint64_t last_id;                        //  Counter of those
    char hello_id[ARGOS_PEER_ID_SIZE];       //  Of the newest hello
    int64_t hello_at;                        //  When it was said, mono msec
    int64_t retry_at;                        //  WAIT: next attempt
    int64_t backoff_ms;                      //  Next pause
    int64_t heard_at;                        //  Last message
    int64_t ping_at;                         //  Last ping
    int64_t answered_at;                     //  When the newest answered ping was sent
    int64_t ping_ms, lease_ms;               //  From the welcome
    char store_id[65];                       //  From the welcome, "" = none yet
    int64_t boot;                            //  From the welcome: number of the core's start
    bool packs;                              //  From the welcome: the broker reads packed messages
    int64_t window_messages, window_bytes;   //  Totals granted to us
    int64_t sent_messages, sent_bytes;       //  Used of them
    int64_t granted_messages, granted_bytes; //  Totals granted by us
    int64_t got_messages, got_bytes;         //  Used of them
    peer_out_t *outs;                        //  Everything not settled, in order
    peer_out_t *unsent;                      //  First that this session's socket has not had
    peer_out_t *ids;                         //  Those with an answer to come, by id
    size_t out_count, out_bytes;             //  Of outs
    int64_t next_deadline;                   //  No request expires before, mono msec
    argos_lease_t *leases;                   //  In hand, by seq
    peer_service_t *services;                //  Served
    peer_sub_t *subs;                        //  Read, by topic
    peer_sub_t *sub_ids;                     //  The same by id
};

//  A message being encoded

typedef struct {
    char *data;                              //  Frames back to back
    size_t size, room;                       //  Used and allocated
    size_t frame_count;                      //  Frames
    uint32_t sizes[3 + 2 * ARGOS_PARTS_MAX]; //  Their sizes
    argos_err_t code;                        //  First failure
} peer_code_t;

//  A message that has come

typedef struct {
    zmq_msg_t frames[PEER_FRAMES];    //  As received
    size_t frame_count;               //  How many came, also those not kept
    bool good;                        //  It has one of the two forms; then the following is set
    argos_piece_t header, meta, body; //  In the frames, or in the only one
    int64_t bytes;                    //  All of them, and AR1
} peer_wire_t;

//  What stands in the header of an outgoing message

typedef struct {
    const argos_peer_part_t *part; //  Members of an application message, or NULL
    const char *type, *id, *to;    //  Of a word
    int64_t seq, lease, n;         //  0 = none
    int64_t seen;                  //  -1 = none
    const int64_t *take;           //  take_count seqs
    size_t take_count;             //  0 = none
    bool durable;                  //  Even when the part does not say so
} peer_head_t;

//  argos_peer_context.c; of libargos: argos_context.c. The context of the sockets; borrowed.
void *argos_peer_context (void);

//  argos_peer.c
int64_t argos_peer_now (void);
void argos_peer_hello (argos_peer_t *self);
void argos_peer_lost (argos_peer_t *self);
void argos_peer_final (argos_peer_t *self, argos_err_t code, const char *reason);
void argos_peer_send_serve (argos_peer_t *self, const peer_service_t *service);
void argos_peer_announce (argos_peer_t *self);
const char *argos_peer_bare (const char *address, const char *prefix);

//  argos_peer_code.c
void argos_code_head (peer_code_t *self, const peer_head_t *head);
void argos_code_body (peer_code_t *self, const json_t *body);
void argos_code_raw (peer_code_t *self, const void *data, size_t size);
void argos_code_term (peer_code_t *self);

//  argos_peer_form.c. The two puts return 0, or -1 when the socket takes nothing; a message is
//  never cut. put: frames after AR1. put_out: the same of an entry, packed when the broker reads
//  that and it is small. take: false when there is no message; let_go afterwards when there was
//  one.
int argos_peer_put (argos_peer_t *self, const char *data, const uint32_t *sizes, size_t count);
int argos_peer_put_out (argos_peer_t *self, const peer_out_t *out);
bool argos_peer_take (peer_wire_t *self, void *socket);
void argos_peer_let_go (peer_wire_t *self);

//  argos_peer_send.c
void argos_peer_make_id (argos_peer_t *self, char *target);

//  Watches the handshakes of the present socket from now on (over tcp); no longer; and takes note
//  of why the hello was not answered.
void argos_peer_door_watch (argos_peer_t *self);
void argos_peer_door_close (argos_peer_t *self);
void argos_peer_door_ask (argos_peer_t *self);
void argos_peer_word (argos_peer_t *self, const peer_head_t *head, json_t *body);
argos_err_t argos_peer_encode (argos_peer_t *self, peer_code_t *code, const peer_head_t *outer,
    const argos_peer_part_t *parts, size_t count);
argos_err_t argos_peer_queue (
    argos_peer_t *self, peer_code_t *code, const peer_out_t *model, peer_out_t **ret_out);
void argos_peer_flush (argos_peer_t *self);
void argos_peer_unlink (argos_peer_t *self, peer_out_t *out);
void argos_peer_answer (argos_peer_t *self, peer_out_t *out, const argos_peer_answer_t *answer);
void argos_peer_fail (
    argos_peer_t *self, peer_out_t *out, argos_err_t code, const char *reason, bool sent);
void argos_peer_expire (argos_peer_t *self, int64_t now);
void argos_peer_rewind (argos_peer_t *self);

//  argos_peer_recv.c
bool argos_peer_receive (argos_peer_t *self);

//  argos_peer_lease.c
argos_lease_t *argos_peer_lease_find (argos_peer_t *self, int64_t seq);
void argos_peer_lease_give_up (argos_lease_t *self);
void argos_peer_lease_take (argos_peer_t *self, argos_peer_msg_t *msg, int64_t number);
void argos_peer_lease_lose (argos_lease_t *self, argos_err_t code);
bool argos_peer_lease_answered (argos_lease_t *self, peer_out_kind_t kind, argos_err_t code);
void argos_peer_lease_free (argos_lease_t **self_p);
json_t *argos_peer_lease_list (argos_peer_t *self);
void argos_peer_lease_verdicts (argos_peer_t *self, const json_t *list);

#endif
