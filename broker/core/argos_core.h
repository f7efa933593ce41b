//  argos_core - the broker, as a pure state machine: sessions, services, lanes, leases, topics,
//  credit.
//
//  No socket, thread, clock, file or random number: messages, answers of the store and the time
//  come in by calls, and what has to be sent goes out through argos_core_io_t. The index of lanes
//  is a copy of the rows; a lease is handed out only after the store has committed it. One thread.

#ifndef ARGOS_CORE_H
#define ARGOS_CORE_H

#include "argos_storage.h"

typedef struct argos_core argos_core_t;

//  How a message came in

typedef enum {
    ARGOS_VIA_INPROC, //  From our own process
    ARGOS_VIA_IPC,    //  From this host
    ARGOS_VIA_TCP     //  By CURVE, from anywhere
} argos_via_t;

//  Who is behind a connection, as far as the connection itself shows it

typedef struct {
    argos_via_t via; //  Door
    const char *key; //  Name of the CURVE key, "" = none; borrowed
} argos_who_t;

typedef struct {
    void *ctx; //  Handed to the functions
    //  Send frames (routing is conn) without blocking; packs: they may be packed. Frames are
    //  borrowed. Returns 0, or -1 when the connection can't take it.
    int (*send) (void *ctx, uint64_t conn, bool packs, argos_frame_t **frames, size_t count);
    //  Hand a request to the store; it is the callee's now.
    void (*store) (void *ctx, argos_storage_req_t *req);
    //  Cut a connection: nothing comes from it any more. NULL = can't be done
    void (*close) (void *ctx, uint64_t conn);
    //  A peer has been put out, and why: for the log. NULL = nobody cares
    void (*put_out) (void *ctx, const char *name, const char *reason);
} argos_core_io_t;

//  What may wait for something, for admissions from outside a lease. From half of it on, who sends
//  there gets a narrow window.

typedef struct {
    int64_t messages; //  How many
    int64_t bytes;    //  Of header and body
} argos_core_limit_t;

//  What the configuration says of one service

typedef struct {
    const char *service; //  Its name
    int64_t hold_max_ms; //  A lease that is held longer is ended; 0 = never
    int64_t max;         //  Messages that wait for it; 0 = as for all
    int64_t lane_max;    //  Messages that wait in one of its lanes; 0 = as for all
} argos_core_service_t;

typedef struct {
    const char *store_id;                 //  Identity of the database
    int64_t boot;                         //  Number of this start
    int64_t lease_ms;                     //  Silence that ends leases (15000)
    int64_t quiet_ms;                     //  Silence after which nothing new is leased (6000)
    int64_t ping_ms;                      //  Told to peers (2000)
    int64_t window_messages;              //  Send window of a peer (256)
    int64_t window_bytes;                 //  The same in bytes (4 MiB)
    argos_core_limit_t service;           //  What waits for one service (2,000,000; 8 GiB)
    argos_core_limit_t lane;              //  In one lane (100,000; 1 GiB)
    argos_core_limit_t peer;              //  From one peer, all its instances (1,500,000; 4 GiB)
    const argos_core_service_t *services; //  Particular services; borrowed, as long as the core
    size_t service_count;                 //  How many
    int64_t slow_ms;       //  How long a reader or a connection may take nothing (30000)
    int64_t ring_bytes;    //  All topic rings together (64 MiB)
    int64_t ring_entries;  //  Entries of one ring (4096)
    int64_t linger_ms;     //  How long a closed topic stays in memory (15000)
    int64_t trace_entries; //  Records of the trace (65536, at most 4 MiB); 0 = none
    const char *roles; //  JSON object of argos_access_new, checked before; NULL = none; borrowed
    const char *const *ipc_roles; //  As for argos_access_new, checked before; borrowed
    const char *tokens;   //  Tokens of this start, as for argos_keyring_new; NULL = none; borrowed
    const char *snapshot; //  As for argos_core_snapshot; NULL = none; borrowed by argos_core_new
} argos_core_config_t;

//  Defaults as in the comments above.
void argos_core_config_init (argos_core_config_t *config);

//  A new core; the caller's. mono and wall are the two clocks in msec.
argos_core_t *argos_core_new (
    const argos_core_config_t *config, const argos_core_io_t *io, int64_t mono, int64_t wall);
void argos_core_destroy (argos_core_t **self_p);

//  A row of the index, before the first message (argos_store_index).
void argos_core_load (argos_core_t *self, const argos_storage_row_t *row);

//  A service that is there whether or not anybody serves it. What the index says of it stays.
void argos_core_declare (argos_core_t *self, const char *service);

//  The time; call before each batch of the functions below.
void argos_core_clock (argos_core_t *self, int64_t mono, int64_t wall);

//  A message from connection conn (unique over all listeners), which is always the same who. Frames
//  are borrowed; frames[0] is "AR1". Returns whether a session took it: false when it was refused
//  without one, a hello included.
bool argos_core_message (argos_core_t *self, uint64_t conn, const argos_who_t *who,
    argos_frame_t **frames, size_t count);

//  An answer of the store; borrowed.
void argos_core_stored (argos_core_t *self, argos_storage_ans_t *ans);

//  The keys that are known, as text (argos_keyring_fill). Sessions of those that are gone end.
void argos_core_keys (argos_core_t *self, const char *text, size_t size);

//  Whether the key of that name is among them.
bool argos_core_knows (const argos_core_t *self, const char *key);

//  The settings that nodes take over: a JSON object without secrets, so large that a message can
//  hold it. Answered to config.get, and an entry of topic:config.snapshot when it is another one.
void argos_core_snapshot (argos_core_t *self, const char *text);

//  The connection is known to be dead (a hint): stop sending to it.
void argos_core_gone (argos_core_t *self, uint64_t conn);

//  When argos_core_tick wants to be called, mono msec; INT64_MAX = never. And the call.
int64_t argos_core_due (argos_core_t *self);
void argos_core_tick (argos_core_t *self);

//  Requests handed to the store and not yet answered.
size_t argos_core_outstanding (const argos_core_t *self);

#endif
