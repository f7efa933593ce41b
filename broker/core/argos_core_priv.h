//  argos_core_priv - the structs that the files of broker/core share.
//
//  What refers to what: a session owns its store queue, its workers and its subscriptions; a
//  service owns its lanes; a lane owns its entries. Things that may end while the store works for
//  them are named by number (session) or counted (lane, topic).

#ifndef ARGOS_CORE_PRIV_H
#define ARGOS_CORE_PRIV_H

#include "argos_access.h"
#include "argos_age.h"
#include "argos_core.h"
#include "argos_keyring.h"
#include "argos_timer.h"
#include "argos_trace.h"
#include "argos_trie.h"
#include "argos_writer.h"

#include <jansson.h>
#include <uthash.h>
#include <utlist.h>

typedef struct session session_t;
typedef struct service service_t;
typedef struct worker worker_t;
typedef struct lane lane_t;
typedef struct entry entry_t;
typedef struct topic topic_t;
typedef struct item item_t;
typedef struct request request_t;
typedef struct subscription subscription_t;
typedef struct pattern pattern_t;
typedef struct sender sender_t;

//  Whom a store request is served before

typedef enum { CLASS_LEASED, CLASS_URGENT, CLASS_NORMAL, CLASS_COUNT } class_t;

//  A part of a commit on its way to the store and back

typedef struct {
    argos_frame_t *header;         //  Sender's header
    argos_frame_t *body;           //  Sender's body, NULL = empty
    argos_to_t to;                 //  Kind of address
    char type[ARGOS_TYPE_MAX + 1]; //  Message type
    service_t *service;            //  To a service: which
    bool undeclared;               //  To a service that there is none of: a dead letter
    char *key;                     //  To a service: the lane's key; ours
    lane_t *lane;   //  To a service: the lane, its `inserting` counts us; NULL when not yet due
    topic_t *topic; //  To a topic: which, its `busy` counts us
    struct ring_entry *slot;         //  To a topic: our place in the ring
    uint64_t trace_key;              //  To a service: hash of its id, for the trace
    char trace_id[ARGOS_TRACE_TEXT]; //  and its beginning
    int64_t not_before, until;       //  Wall msec, 0 = none
    int64_t bytes;                   //  To a service: of header and body
    bool side, urgent;               //  Flags
    uint64_t reserved;               //  Session that gets it leased on insert; 0 = none
} part_t;

//  A store request from its arrival to its answer

struct item {
    argos_storage_op_t op;     //  What is asked
    class_t rank;              //  Served before
    uint64_t tag;              //  Name of the request while it is with the store
    uint64_t session;          //  Who waits for the answer; 0 = the core itself
    char id[ARGOS_ID_MAX + 1]; //  Id to be answered
    argos_storage_req_t *req;  //  Until it is handed to the store
    int64_t seq, lease, n;     //  Lease that it is about. SERVICE: n is the change
    bool done, durable;        //  Commit: consumes; a single durable message rather than a commit
    int64_t bytes;             //  Counted in the session's window; -1 = not counted
    int64_t delay;             //  RELEASE: msec that the lane waits
    uint64_t worker;           //  LEASE: session whose slot is taken
    lane_t *lane;              //  LEASE, MAIL, RELEASE: lane that waits, its `inserting` counts us
    topic_t *topic;            //  TOPIC, JOURNAL: its `busy` counts us
    service_t *service;        //  SERVICE: which
    bool order;                //  SERVICE: asked for by an operator
    bool end;                  //  RELEASE: the holder is told that its lease was ended
    char from[ARGOS_NAME_MAX + 1]; //  COMMIT: base name of the sender, as it is stored
    size_t part_count;             //  Parts
    part_t *parts;                 //  part_count of them
    item_t *prev, *next;           //  In the session's queue
    UT_hash_handle hh;             //  By tag, while with the store
};

//  What came in and went out, all frames counted

typedef struct {
    int64_t in_messages, in_bytes;   //  From the peer
    int64_t out_messages, out_bytes; //  To it
} traffic_t;

//  What a connection has sent that counts in no window

typedef struct {
    int64_t points; //  So much (argos_penalty.c)
    int64_t since;  //  Since then, mono msec
} noise_t;

#define BUILD_MAX 64 //  Bytes of the build in a hello

//  One hello

struct session {
    argos_core_t *core;                    //  Ours
    uint64_t number;                       //  Unique in this process
    uint64_t conn;                         //  Where its frames go
    char name[ARGOS_NAME_MAX + 1];         //  Full name
    char base[ARGOS_NAME_MAX + 1];         //  Name without instance number and node
    char holder[ARGOS_HOLDER_MAX];         //  What leases are recorded under
    int64_t instance;                      //  Start of the process
    const argos_role_t *role;              //  What it may do
    argos_via_t via;                       //  Door that it came through
    char key[ARGOS_NAME_MAX + 1];          //  Name of the key that it has shown, "" = none
    char proof[ARGOS_NAME_MAX + 1];        //  Which one: its public key, or the hash of its token
    char platform[ARGOS_PLATFORM_MAX + 1]; //  That its key is for, "" = any
    char account[ARGOS_NAME_MAX + 1];      //  That its key is for, "" = any
    char build[BUILD_MAX + 1];             //  What it is, as its hello says
    json_t *capabilities;                  //  Of its platform, as it told last; NULL = nothing
    bool open;                             //  Welcome has been sent
    bool quiet;          //  Silent, or its connection took nothing: nothing new is leased to it
    bool drained;        //  Nothing new by order of an operator
    bool pressed;        //  What it sent last goes to where half of a limit is used
    bool owed;           //  An answer did not reach it: it has to say hello again
    int64_t slow;        //  Since when its connection takes nothing, mono msec; 0 = it does
    int64_t beyond;      //  Messages beyond its window
    argos_timer_t probe; //  While slow: tries again
    int64_t heard;       //  Last sign of life, mono msec
    argos_timer_t timer; //  Looks for silence
    int64_t settled_messages, settled_bytes; //  Received and dealt with
    int64_t got_messages, got_bytes;         //  Received
    int64_t granted_messages, granted_bytes; //  Window told to the peer
    int64_t credit_messages, credit_bytes;   //  Credit told by the peer
    int64_t sent_messages, sent_bytes;       //  Used of that credit
    traffic_t traffic;                       //  All that came and went
    item_t *items;                           //  Store requests not yet handed over, in order
    int64_t waiting[CLASS_COUNT];            //  How many of them, by class
    class_t ring;                            //  Ring it stands in while it has items
    int outstanding;                         //  Of its requests with the store
    noise_t noise;                           //  What it has sent that counts in no window
    session_t *prev, *next;                  //  In that ring
    worker_t *workers;                       //  What it serves
    subscription_t *subscriptions;           //  What it reads
    subscription_t *stuck;                   //  Those of them whose next entry can't go now
    pattern_t *patterns;                     //  What it reads by pattern
    int64_t reads;                           //  Subscriptions by name
    request_t *held;                         //  Requests that it works on
    UT_hash_handle hh;                       //  By connection
    UT_hash_handle hh_number;                //  By number
    UT_hash_handle hh_name;                  //  By name
};

//  A session serving a service

struct worker {
    session_t *session;    //  Who
    service_t *service;    //  What
    int64_t slots, used;   //  Leases and requests at most, and now
    int64_t weight;        //  Its share of the work
    char **types;          //  NULL = all; else NULL-terminated, ours
    worker_t *prev, *next; //  In the service's list, in rotation
    worker_t *snext;       //  In the session's list
};

//  A request handed to a worker, or waiting for one

struct request {
    struct {
        uint64_t session;          //  Who asked
        char id[ARGOS_ID_MAX + 1]; //  Under which id; directly behind
    } key;
    argos_core_t *core;           //  Ours
    service_t *service;           //  Asked of; NULL when asked of an actor
    uint64_t worker;              //  Session that works on it; 0 = waits
    argos_timer_t timer;          //  Deadline
    argos_frame_t *header, *body; //  While it waits
    request_t *prev, *next;       //  In the service's waiting list or the worker's held list
    UT_hash_handle hh;            //  By key
};

//  A declared service

struct service {
    argos_core_t *core;                     //  Ours
    char name[ARGOS_NAME_MAX + 1];          //  Name
    bool stored;                            //  Its declaration is in the store
    bool paused;                            //  Nothing is handed out
    int busy;                               //  Parts and changes with the store that refer to it
    int64_t hold_max_ms;                    //  Longest lease, 0 = any
    argos_core_limit_t limit, lane_limit;   //  What may wait for it, and in one lane
    lane_t *lanes;                          //  By key
    lane_t *ready[2];                       //  Lanes whose head can be leased: urgent, ordinary
    lane_t *unmatched;                      //  Lanes whose head no free worker takes
    entry_t *later;                         //  Rows whose not_before is to come
    worker_t *workers;                      //  In rotation
    request_t *requests;                    //  Waiting for a worker
    int64_t requests_count, requests_bytes; //  How many, how large
    int64_t waiting;                        //  Rows, leased ones included
    int64_t bytes;                          //  Of these
    int64_t urgent;                         //  Urgent ones of these
    int64_t leased;                         //  Leased rows
    argos_age_t ages;                       //  Of its rows that are in a lane, in AGE_MS
    int64_t in, done, refused;              //  Messages and requests since the start
    bool dispatching;                       //  Guards against recursion
    UT_hash_handle hh;                      //  By name
};

//  A time of the wall clock that something waits for

typedef struct {
    argos_timer_t timer; //  Set for it, as the clock was then
    int64_t wall;        //  Wall msec
} deadline_t;

//  A row of the queue, as the index knows it

struct entry {
    int64_t seq;          //  Row
    const char *type;     //  Interned
    lane_t *lane;         //  Where it stands; NULL while not_before is to come
    service_t *service;   //  Its service
    int64_t until;        //  Wall msec, 0 = never
    sender_t *sender;     //  Whose it is
    deadline_t *deadline; //  until or not_before; NULL = none
    char *key;            //  Only while not_before is to come
    uint32_t bytes;       //  Of header and body
    uint8_t strikes;      //  So far
    bool side, urgent;    //  Flags
    bool shown;           //  Side: shown, or being shown, to the present holder
    int32_t born;         //  When it came, for the ages of its service
    entry_t *prev, *next; //  In the lane
};

typedef enum {
    LANE_EMPTY,  //  No entries; exists only while something is on its way
    LANE_READY,  //  In one of the service's ready lists or the unmatched list
    LANE_PARKED, //  Waits for park_until or a side message
    LANE_ASKED,  //  A lease of the head is with the store
    LANE_LEASED  //  The head is leased
} lane_state_t;

struct lane {
    service_t *service;     //  Its service
    char *key;              //  Its key, ours
    lane_state_t state;     //  See above
    lane_t **list;          //  List that it stands in; NULL = none
    lane_t *prev, *next;    //  In that list
    entry_t *entries;       //  In order of seq
    int64_t count, bytes;   //  Of them
    int64_t urgent;         //  Urgent entries among them
    int inserting;          //  Requests to the store that refer to it
    int64_t park_until;     //  Mono msec, 0 = not parked
    int64_t park_wall;      //  Wall msec that park_until was made from at start, 0 = from none
    bool careful;           //  Parked because of strikes: side messages don't end it
    bool alone;             //  Counted in the core's alone
    int64_t hold_until;     //  LEASED: mono msec, 0 = for ever
    argos_timer_t timer;    //  PARKED: its end. LEASED: the end of the lease, when there is one
    uint64_t session;       //  LEASED, ASKED: holder; 0 = not connected since our start
    int64_t head, lease;    //  LEASED, ASKED: row and lease number
    int64_t shown;          //  LEASED: side messages shown and not taken
    int mailing;            //  Side messages that are being read, to be shown
    UT_hash_handle hh;      //  In the service, by key
    UT_hash_handle hh_head; //  LEASED: in the core, by head
};

typedef enum { SLOT_PENDING, SLOT_READY, SLOT_SKIPPED } slot_t;

//  An entry of a topic in memory

typedef struct ring_entry {
    int64_t count;                  //  Number within this boot
    slot_t state;                   //  Waits for its commit; can go out; is no entry
    bool kept, keyframe, last;      //  Flags
    int64_t at;                     //  Wall msec
    char from[ARGOS_NAME_MAX + 1];  //  Publisher
    uint64_t session;               //  Its session; 0 = may publish to topics of others
    argos_frame_t *header, *body;   //  As published
    struct ring_entry *prev, *next; //  In order of count
} ring_entry_t;

struct topic {
    argos_core_t *core;             //  Ours
    char name[ARGOS_TO_MAX + 1];    //  Name
    char owner[ARGOS_NAME_MAX + 1]; //  Base name of who made it, "" = not known
    bool based;                     //  base is known
    int64_t base;                   //  Complete number = base + count
    bool looked;                    //  The store has been asked about it
    bool asking;                    //  and has not answered yet
    int64_t kept;                   //  No kept number of an earlier boot is greater, -1 = none
    int64_t newest;                 //  Newest kept number when the store was asked, -1 = none
    int64_t counter;                //  Next count
    bool closed;                    //  The last entry is out
    int busy;                       //  Requests to the store that refer to it
    ring_entry_t *ring;             //  In order
    ring_entry_t *key;              //  Newest key frame of these that is ready, NULL = none known
    int64_t entries, bytes;         //  In the ring
    int64_t dropped;                //  Counts below this were dropped from the ring
    subscription_t *subscriptions;  //  Readers
    int64_t readers;                //  Those by its name
    argos_timer_t timer;            //  End of the linger
    UT_hash_handle hh;              //  By name
};

//  A reader's place in a topic

struct subscription {
    session_t *session;                   //  Reader
    topic_t *topic;                       //  What it reads
    pattern_t *pattern;                   //  By which pattern, NULL = by name
    char id[ARGOS_ID_MAX + 1];            //  By name: id of the subscribe
    int64_t next;                         //  Next complete number
    int64_t live;                         //  By pattern: count it begins with, until base is known
    bool ended;                           //  `end` has been sent
    bool paging;                          //  A page of the journal is on its way
    bool stuck;                           //  In its session's stuck list
    argos_timer_t timer;                  //  While it takes nothing of what waits: its end
    subscription_t *prev, *next_of_topic; //  In the topic's list
    subscription_t *sprev, *snext;        //  In the session's list
    subscription_t *wprev, *wnext;        //  In the session's stuck list
};

//  A subscription by pattern: has one of the above on each topic that fits

struct pattern {
    session_t *session;          //  Reader
    char id[ARGOS_ID_MAX + 1];   //  Id of the subscribe
    char text[ARGOS_TO_MAX + 1]; //  The pattern
    pattern_t *prev, *next;      //  With the same text
    pattern_t *sprev, *snext;    //  In the session's list
};

//  A peer, without instance number and node, that has messages in the queue

struct sender {
    int64_t messages, bytes;       //  That wait
    UT_hash_handle hh;             //  By name
    char name[ARGOS_NAME_MAX + 1]; //  Base name
};

//  A peer that an operator has drained

typedef struct drained {
    UT_hash_handle hh;             //  By name
    char name[ARGOS_NAME_MAX + 1]; //  Full name
} drained_t;

//  A peer that was put out and can't come back yet

typedef struct {
    char name[ARGOS_NAME_MAX + 1]; //  Full name
    int64_t until;                 //  Mono msec
} outcast_t;

#define OUTCASTS 64

typedef enum { CUT_CREDIT, CUT_SLOW, CUT_NOISE, CUT_COUNT } cut_t;

struct argos_core {
    argos_core_config_t config;       //  Copy
    char store_id[33];                //  Copy
    argos_core_io_t io;               //  Where things go
    int64_t offset;                   //  wall - mono that the deadlines were set with
    int64_t mono, wall, started;      //  The time, msec; mono at start
    argos_timers_t timers;            //  All timers
    argos_access_t *access;           //  Roles
    argos_keyring_t *keyring;         //  Keys
    argos_frame_t *magic;             //  "AR1"
    argos_frame_t *empty;             //  No bytes
    argos_writer_t text;              //  For words being built
    session_t *sessions;              //  By connection
    session_t *numbers;               //  By number
    session_t *names;                 //  By name
    uint64_t last_session;            //  Last number given
    session_t *self;                  //  The core's own place in the store queue; no connection
    session_t *rings[CLASS_COUNT];    //  Sessions with items, by class
    item_t *outstanding;              //  With the store, by tag
    size_t outstanding_count;         //  How many
    uint64_t last_tag;                //  Last tag given
    service_t *services;              //  By name
    lane_t *heads;                    //  Leased lanes, by head
    request_t *requests;              //  By requester and id
    topic_t *topics;                  //  By name
    argos_trie_t *patterns;           //  Lists of pattern_t by text
    argos_trace_t *trace;             //  What happened; NULL = not kept
    json_t *snapshot;                 //  Settings that nodes take over; NULL = none
    traffic_t traffic;                //  Of all, also those that are gone
    int64_t stored;                   //  Answers of the store
    int64_t rings_bytes;              //  All rings together
    struct intern *types;             //  Interned type names
    lane_t *careful;                  //  Lanes that wait for the turn of a suspect message
    int64_t careful_until;            //  Before this no message with 8 strikes is leased
    int64_t alone;                    //  Leases of such messages: one at most, but after a restart
    sender_t *senders;                //  By base name
    drained_t *drained;               //  By full name
    outcast_t outcasts[OUTCASTS];     //  In no order
    int64_t slow_sessions;            //  Whose connection takes nothing
    int64_t cuts[CUT_COUNT];          //  Peers put out, by reason
    int64_t refused[ARGOS_ERR_COUNT]; //  How often each code was sent
    uint64_t affinity[4096];          //  Last worker (session) of a lane, by hash
};

//  argos_core.c
//  The body of a word of the broker, checked by its schema; new. NULL when it has been refused.
json_t *argos_core_body (
    argos_core_t *self, uint64_t conn, const argos_header_t *header, const argos_frame_t *frame);
void argos_core_word (
    argos_core_t *self, uint64_t conn, const char *type, const char *re, const char *body);
void argos_core_word_on (argos_core_t *self, uint64_t conn, const char *type, const char *re,
    int64_t seq, int64_t lease, const char *body);
void argos_core_refuse (argos_core_t *self, uint64_t conn, const char *re, argos_err_t code,
    const char *reason, int part, bool sent);
int argos_core_put (argos_core_t *self, uint64_t conn, argos_frame_t *header, const char *meta,
    size_t meta_size, argos_frame_t *body);
//  The session behind a connection, NULL = none.
session_t *argos_core_session (argos_core_t *self, uint64_t conn);
int64_t argos_core_bytes (argos_frame_t **frames, size_t count);
void argos_core_count_in (argos_core_t *self, session_t *session, int64_t bytes);
const char *argos_core_intern (argos_core_t *self, const char *type);
void argos_core_forget_type (argos_core_t *self, const char *type);

//  argos_hello.c
void argos_hello (argos_core_t *self, uint64_t conn, const argos_who_t *who,
    const argos_header_t *header, argos_frame_t *body);
void argos_hello_recheck (argos_core_t *self);
void argos_hello_stored (argos_core_t *self, item_t *item, argos_storage_ans_t *ans);

//  argos_session.c
session_t *argos_session_find (argos_core_t *self, uint64_t number);
session_t *argos_session_named (argos_core_t *self, const char *name);
//  That, or any instance of that name on any node
session_t *argos_session_instance (argos_core_t *self, const char *name);
void argos_session_end (session_t **session_p, int strikes);
void argos_session_watch (session_t *session);
void argos_session_heard (session_t *session);
void argos_session_settle (session_t *session, int64_t bytes);
void argos_session_grant (session_t *session);
void argos_session_tell_grant (session_t *session);
void argos_session_wake (session_t *session);
bool argos_session_may_send (
    const session_t *session, argos_to_t to, const char *name, const argos_header_t *header);
bool argos_session_any_topic (const session_t *session);
bool argos_session_may_say (
    const session_t *session, const argos_header_t *header, const argos_frame_t *body);
bool argos_session_may_serve (const session_t *session, const char *service);
bool argos_session_may_read (const session_t *session, const char *topic, bool pattern);
void argos_session_cut (session_t *session, cut_t why, int strikes);
session_t *argos_session_new (argos_core_t *core, uint64_t conn, const char *name);
void argos_session_free (session_t *session);

//  argos_service.c
service_t *argos_service_find (argos_core_t *self, const char *name);
service_t *argos_service_declare (argos_core_t *self, const char *name, bool stored);
void argos_service_serve (session_t *session, const argos_header_t *header, argos_frame_t *body);
void argos_service_dispatch (service_t *service);
worker_t *argos_service_worker (service_t *service, session_t *session);
worker_t *argos_service_pick (service_t *service, const char *key, const char *type);
void argos_service_leave (session_t *session);
void argos_service_free_slot (service_t *service, uint64_t session);
void argos_service_woken (session_t *session);
bool argos_service_lighter (const worker_t *worker, const worker_t *other);
void argos_service_forget (service_t *service, const char *key);
void argos_service_pause (session_t *session, const argos_header_t *header, const json_t *body);
void argos_service_drop (session_t *session, const argos_header_t *header, const json_t *body);
void argos_service_changed (argos_core_t *self, item_t *item, const argos_storage_ans_t *ans);

//  argos_limit.c
void argos_limit_service (service_t *service);
void argos_limit_add (entry_t *entry, const char *base);
void argos_limit_remove (entry_t *entry);
sender_t *argos_limit_sender (argos_core_t *self, const char *base);
const char *argos_limit_refuses (
    session_t *session, const service_t *service, const char *key, bool urgent, int64_t bytes);
bool argos_limit_soft (const argos_core_limit_t *limit, int64_t messages, int64_t bytes);

//  argos_drain.c
void argos_drain_order (session_t *session, const argos_header_t *header, const json_t *body);
bool argos_drain_holds (argos_core_t *self, const char *name);
void argos_drain_free (argos_core_t *self);

//  argos_penalty.c
#define COST_WORD 1    //  A word that counts in no window
#define COST_NONE 48   //  What is no message
#define COST_HELLO 480 //  Each is a commit
bool argos_penalty_charge (session_t *session, int cost);
noise_t argos_penalty_of (argos_core_t *self, uint64_t conn);
void argos_penalty_begin (argos_core_t *self, const char *name);
bool argos_penalty_holds (const argos_core_t *self, const char *name);

//  argos_slow.c
void argos_slow_begin (session_t *session, bool owed);
void argos_slow_end (session_t *session);
void argos_slow_over (session_t *session);

//  argos_request.c
void argos_request_new (session_t *session, const argos_header_t *header, argos_frame_t **frames);
void argos_request_reply (session_t *session, const argos_header_t *header, argos_frame_t **frames);
void argos_request_dispatch (service_t *service);
void argos_request_leave (session_t *session);
void argos_request_free (request_t *request);

//  argos_entry.c
entry_t *argos_entry_insert (service_t *service, const char *key, const argos_storage_row_t *row);
void argos_entry_rows (argos_core_t *self, const argos_storage_ans_t *ans);
entry_t *argos_entry_find (entry_t *entries, int64_t seq);
void argos_entry_end (entry_t *entry);
//  The wall clock was set: what waits for a time of it waits anew.
void argos_entry_clock_set (argos_core_t *self);

//  argos_lane.c
lane_t *argos_lane_get (service_t *service, const char *key);
lane_t *argos_lane_find (const service_t *service, const char *key);
void argos_lane_leased (lane_t *lane, int64_t seq, int64_t lease, uint64_t session);
void argos_lane_freed (lane_t *lane, int strikes);
void argos_lane_consume (lane_t *lane, const int64_t *gone, size_t count);
void argos_lane_settle (lane_t *lane);
void argos_lane_park (lane_t *lane, int64_t until_mono);
void argos_lane_alone (lane_t *lane);
void argos_lane_not_alone (lane_t *lane);
bool argos_lane_hold_back (lane_t *lane);
bool argos_lane_may_show (const lane_t *lane);
void argos_lane_show (lane_t *lane);
void argos_lane_unshow (lane_t *lane, int64_t seq);
void argos_lane_unlink (lane_t *lane);
lane_t *argos_lane_of_head (argos_core_t *self, int64_t seq);
void argos_lane_lost (lane_t *lane);
void argos_lane_adopt (lane_t *lane, uint64_t session);

//  argos_lease.c
void argos_lease_ask (lane_t *lane, worker_t *worker);
void argos_lease_answered (argos_core_t *self, item_t *item, argos_storage_ans_t *ans);
void argos_lease_send (lane_t *lane, const char *from, int64_t attempt, int64_t hops, int64_t at,
    const char *cause, argos_frame_t *header, argos_frame_t *body);
void argos_lease_given_back (session_t *session, const argos_header_t *header, argos_frame_t *body);
void argos_lease_give_back (argos_core_t *self, lane_t *lane, int strikes, bool clean);
void argos_lease_end (lane_t *lane);
void argos_lease_released (argos_core_t *self, item_t *item, argos_storage_ans_t *ans);
void argos_lease_mail (lane_t *lane, entry_t *entry);
void argos_lease_mail_now (entry_t *entry, const char *from, int64_t hops, const char *cause,
    int64_t at, argos_frame_t *header, argos_frame_t *body);
void argos_lease_mailed (argos_core_t *self, item_t *item, argos_storage_ans_t *ans);
void argos_lease_expire (entry_t *entry);

//  argos_commit.c
bool argos_commit_new (
    session_t *session, const argos_header_t *header, argos_frame_t **frames, size_t count);
void argos_commit_stored (argos_core_t *self, item_t *item, const argos_storage_ans_t *ans);

//  argos_intake.c
void argos_intake_unreserve (part_t *part);
void argos_intake_drop_part (part_t *part);
item_t *argos_intake_item (argos_core_t *self, argos_storage_op_t op, size_t part_count);
bool argos_intake_read (session_t *session, const argos_header_t *header, argos_frame_t **frames);
void argos_intake_queue (session_t *session, item_t *item);
void argos_intake_pump (argos_core_t *self);
void argos_intake_back (argos_core_t *self, const item_t *item);
void argos_intake_answered (argos_core_t *self, item_t *item, argos_storage_ans_t *ans);
void argos_intake_forget (session_t *session);
void argos_intake_free (item_t *item);

//  argos_topic.c
topic_t *argos_topic_get (argos_core_t *self, const char *name);
ring_entry_t *argos_topic_append (topic_t *topic, const session_t *session,
    const argos_header_t *header, argos_frame_t *head, argos_frame_t *body);
void argos_topic_publish (session_t *session, const argos_header_t *header, argos_frame_t **frames);
void argos_topic_settled (
    topic_t *topic, ring_entry_t *slot, bool stored, int64_t number, const char *owner);
void argos_topic_answered (argos_core_t *self, item_t *item, argos_storage_ans_t *ans);
void argos_topic_look (topic_t *topic);
bool argos_topic_known (const topic_t *topic);
int64_t argos_topic_ring_first (const topic_t *topic);
int64_t argos_topic_newest (const topic_t *topic);
void argos_topic_maybe_free (topic_t *topic);
void argos_topic_free (topic_t *topic);

//  argos_reader.c
subscription_t *argos_reader_new (session_t *session, topic_t *topic, pattern_t *pattern);
void argos_reader_drop (subscription_t *sub); //  The topic stays
void argos_reader_free (subscription_t *sub); //  The topic may go
void argos_reader_pump (subscription_t *sub);
void argos_reader_pump_all (topic_t *topic);
void argos_reader_end_all (topic_t *topic);
void argos_reader_say_end (const session_t *session, const char *id, int64_t newest, bool closed);
void argos_reader_paged (argos_core_t *self, item_t *item, argos_storage_ans_t *ans);
void argos_reader_credit (session_t *session);

//  argos_subscribe.c
void argos_subscribe_begin (session_t *session, const argos_header_t *header, argos_frame_t *body);
void argos_subscribe_end (session_t *session, const argos_header_t *header);
void argos_subscribe_join (topic_t *topic);
void argos_subscribe_part (topic_t *topic);
void argos_subscribe_leave (session_t *session);
void argos_subscribe_free_pattern (pattern_t *pattern);

//  argos_admin.c
void argos_admin_request (
    session_t *session, const argos_header_t *header, const argos_frame_t *frame);

void argos_admin_done (session_t *session, const char *id);

//  argos_stats.c
void argos_stats_note (argos_core_t *self, argos_trace_note_t note);
int32_t argos_stats_tick (const argos_core_t *self, int64_t wall);
json_t *argos_stats_answer (session_t *session, json_t *asked);
json_t *argos_stats_trace (session_t *session, json_t *asked);

//  argos_snapshot.c
json_t *argos_snapshot_answer (session_t *session, json_t *asked);

//  argos_status.c
json_t *argos_status_answer (session_t *session, json_t *asked);

#endif
