//  argos_core_state - what the core knows: the structs that the files of broker/core share.
//
//  What refers to what: a session owns its store queue, its workers and its subscriptions; a
//  service owns its lanes; a lane owns its entries. Things that may end while the store works for
//  them are named by number (session) or counted (lane, topic).

#ifndef ARGOS_CORE_STATE_H
#define ARGOS_CORE_STATE_H

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
    int protocol;                          //  Version that both speak
    bool packs;                            //  What is sent to it may be packed
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
    int64_t topics;                          //  That it has made and not closed
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
    argos_timer_t timer;          //  Deadline, or the end of the patience with nobody there
    int64_t deadline;             //  Of its answer, monotonic
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
    int64_t sides;          //  Side messages among them
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
    uint64_t maker;                 //  Session that counts it as made; 0 = none
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
    struct closing *closings;         //  Connections that are closed soon
    int64_t refused[ARGOS_ERR_COUNT]; //  How often each code was sent
    uint64_t affinity[4096];          //  Last worker (session) of a lane, by hash
};

#endif
