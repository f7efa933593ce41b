//  argos_sim_world - what the files of the simulator share: the world, its peers, what is known of
//  the messages.
//
//  A step of the world does one random thing: carries one frame over one link, lets one peer act,
//  runs a batch of the store, lets time pass, or breaks something. Everything random comes from the
//  seed, so a seed is a run.

#ifndef ARGOS_SIM_WORLD_H
#define ARGOS_SIM_WORLD_H

#include "argos_sim_disk.h"
#include "argos_sim_net.h"
#include "argos_sim_shadow.h"

#include <uthash.h>
#include <utlist.h>

#define ARGOS_SIM_TEXT 1024    //  Bytes of a header or a body that is built
#define ARGOS_SIM_PARTS 4      //  Parts of a commit
#define ARGOS_SIM_STREAMS 3    //  Conversations of a sender
#define ARGOS_SIM_PEERS 16     //  Peers at most
#define ARGOS_SIM_SIDES 16     //  Side messages that a holder remembers
#define ARGOS_SIM_TOPICS 16    //  Topics of a reader
#define ARGOS_SIM_SERVICES 6   //  Services that the workers serve
#define ARGOS_SIM_LEASE_MS 800 //  Silence that ends leases
#define ARGOS_SIM_QUIET_MS 300 //  Silence after which nothing is leased
#define ARGOS_SIM_PING_MS 100  //  Distance of pings
#define ARGOS_SIM_NODES 3      //  Hosts; 0 is the core's
#define ARGOS_SIM_STARVE 12000 //  Msec in which a lane with something due has to get on

typedef struct world world_t;
typedef struct peer peer_t;

//  A message of a peer

typedef struct frame {
    char *header, *body;                 //  Texts; body may be NULL
    char *part_headers[ARGOS_SIM_PARTS]; //  Parts of a commit
    char *part_bodies[ARGOS_SIM_PARTS];  //  Theirs
    size_t part_count;                   //  How many
    int64_t at;                          //  When it arrives, mono msec
    struct frame *prev, *next;           //  On the link
} frame_t;

typedef enum {
    ASK_MESSAGE, //  A durable message of a stream
    ASK_AGAIN,   //  The same once more, long after
    ASK_READ,    //  A read of the store
    ASK_COMMIT,  //  A commit under a lease
    ASK_DONE,    //  The last one
    ASK_RELEASE, //  The lease is given back
    ASK_REDRIVE  //  A dead letter is sent again
} ask_t;

//  Something that a peer has sent and wants an answer to; sent again after each reconnect

typedef struct pending {
    ask_t ask;                   //  What it is
    char id[96];                 //  Its id
    frame_t *frame;              //  As sent
    bool counted;                //  In the send window
    bool sent;                   //  In this session
    int64_t at;                  //  When, msec
    int64_t lease;               //  Under which lease, 0 = none
    int stream, serial;          //  MESSAGE: of the sender
    struct pending *prev, *next; //  In order of sending
} pending_t;

//  A lease in hand

typedef struct work {
    int64_t seq, lease, attempt;    //  From meta
    int64_t n;                      //  Commits accepted
    char type[32], key[64], id[96]; //  From the header; id of the message at the start of the chain
    char own[96];                   //  Its own id
    int serial;                     //  Place in its conversation
    int step;                       //  What comes next
    int commits;                    //  Commits to come before the done
    int64_t length;                 //  Agent: messages in the transcript, as we think
    bool waits;                     //  For an answer
    bool plain;                     //  Gateway: without session.create
    bool resigned;                  //  Gateway: expects nothing any more
    int64_t sides[ARGOS_SIM_SIDES]; //  Side messages shown and not taken
    size_t side_count;              //  How many
    int64_t newest;                 //  Newest side message shown
    int64_t prompt;                 //  Newest side message of those that were not sent for later
    int64_t taking[ARGOS_SIM_SIDES]; //  Taken by the commit on its way
    size_t taking_count;             //  How many
    struct work *prev, *next;        //  In the peer's list
} work_t;

typedef enum {
    KIND_SENDER,
    KIND_GATEWAY,
    KIND_AGENT,
    KIND_RELAY,
    KIND_DELIVER,
    KIND_READER,
    KIND_ASKER,
    KIND_ANSWERER,
    KIND_OPERATOR
} kind_t;

typedef enum { PEER_DOWN, PEER_HELLO, PEER_OPEN } peer_state_t;

//  A conversation of a sender

typedef struct {
    char key[32];  //  Ordering key
    bool relay;    //  Straight to the relay, not through gateway and agent
    int total;     //  Messages to be sent
    int next;      //  Serial of the next one
    int unsettled; //  Sent and not answered
    int sides;     //  Side messages sent
} stream_t;

//  A topic as a reader sees it

typedef struct {
    char name[64];   //  Name
    int64_t next;    //  First number not seen
    int64_t kept;    //  Kept entries seen
    int64_t sum;     //  Sum of their numbers
    bool subscribed; //  In this session
} reading_t;

//  A request: of an asker that has no answer yet, of an answerer that has not answered yet

typedef struct question {
    char id[96];                  //  Its id
    char from[64];                //  Answerer: who asks
    bool over;                    //  Asker: answered. Answerer: will not be
    struct question *prev, *next; //  In order
} question_t;

struct peer {
    world_t *world;                       //  Ours
    kind_t kind;                          //  What it does
    argos_sim_role_t role;                //  Through which door
    char name[32];                        //  Its name
    int64_t instance;                     //  Start of its process
    int node;                             //  Host that it runs on
    uint64_t conn;                        //  Its connection
    peer_state_t state;                   //  How far it is
    char hello[96];                       //  Id of the hello on its way
    int64_t hello_at;                     //  When it was sent
    int64_t stalled;                      //  Does nothing before this time
    int64_t pinged, heard;                //  Time of the last frame sent, received
    int pings;                            //  Sent since something was received
    int64_t used, granted;                //  Send window
    int ids;                              //  Ids made
    frame_t *out;                         //  On the way to the core
    argos_sim_msg_t *in;                  //  On the way from it
    pending_t *pending;                   //  Not answered
    work_t *works;                        //  Leases in hand
    const char *services[2];              //  What it serves
    int slots;                            //  How many at a time
    stream_t streams[ARGOS_SIM_STREAMS];  //  Sender
    int stream_count;                     //  How many
    reading_t readings[ARGOS_SIM_TOPICS]; //  Reader
    int reading_count;                    //  How many
    int64_t credit, received;             //  Reader: granted, got in this session
    question_t *questions;                //  Asker, answerer: under way
    int questions_left;                   //  Asker: not asked yet
};

//  What happened to a row outside: effects that believed to be the first

typedef struct {
    int64_t seq;       //  Row
    int clean;         //  Effects at attempt 1
    UT_hash_handle hh; //  By seq
} effect_t;

//  An accepted message, as its sender knows it

typedef struct {
    char id[96];        //  Its id
    char key[32];       //  Its conversation
    int serial;         //  Its place there
    bool relay;         //  Its way
    bool side;          //  A side message
    int64_t not_before; //  When it joins its lane, 0 = at once
    bool redriven;      //  Was among the dead letters: has lost its place
    int ttl;            //  Msec until it is too late, 0 = never
    int64_t seq;        //  As accepted, 0 = not yet
    UT_hash_handle hh;  //  By id
} message_t;

//  How often things go wrong, per 10,000 steps, and other choices of a seed

typedef struct {
    int crash, kill, cut, stall; //  Faults
    int power;                   //  Crashes that are of the whole host, per 100
    int part, slow;              //  Links: cut one way or both, slow
    int jump, full;              //  Jumps of the wall clock, a full disk
    int late;                    //  Msec until a message joins its lane, at most
    int again, park, reject;     //  Impatience, releases
    int side;                    //  Side messages, per 100
    int ttl;                     //  Messages with a deadline, per 100
    int redrive;                 //  Dead letters sent again
    int batch;                   //  Requests of a batch at most
    int pipeline;                //  Unsettled messages of a conversation
    int steps;                   //  Steps with faults
} odds_t;

//  The way between a host and the core

typedef struct {
    int64_t up, down; //  Nothing arrives before this time: at the core, at the peers; mono msec
    int delay;        //  Msec that a frame takes, at most
} link_t;

//  How long a lane has been as it is

typedef struct {
    char name[160];    //  Service and key
    char state[96];    //  What would change if it got on
    int64_t since;     //  Mono msec
    int look;          //  Number of the look that saw it last
    UT_hash_handle hh; //  By name
} standing_t;

struct world {
    uint64_t seed, random;          //  Seed, state of the generator
    bool trace;                     //  Print what happens
    bool failed;                    //  Something was wrong
    bool calm;                      //  No more faults
    bool served;                    //  Each service has been served once
    int step;                       //  Steps so far
    odds_t odds;                    //  Of this seed
    argos_sim_net_t *net;           //  Core and store
    argos_sim_shadow_t *shadow;     //  What the store should know
    link_t links[ARGOS_SIM_NODES];  //  By node
    int64_t full_until;             //  The disk is full before this time, mono msec
    standing_t *standings;          //  Lanes with something due
    int look;                       //  Looks at them
    peer_t *peers[ARGOS_SIM_PEERS]; //  Everybody
    int peer_count;                 //  How many
    uint64_t last_conn;             //  Last connection number
    effect_t *effects;              //  By row
    message_t *messages;            //  By id
    int crashes, kills, expiries;   //  For the report
};

//  argos_sim_world.c
world_t *argos_sim_world_new (uint64_t seed, const char *path, bool trace);
void argos_sim_world_destroy (world_t **self_p);
//  Runs the seed to its end. Returns whether all was well.
bool argos_sim_world_run (world_t *self);
//  A number below limit (0 for limit 0); true with that chance in ten thousand.
int argos_sim_random (world_t *self, int limit);
bool argos_sim_chance (world_t *self, int in_ten_thousand);
void argos_sim_wrong (world_t *self, const char *format, ...)
    __attribute__ ((format (printf, 2, 3)));
void argos_sim_trace (world_t *self, const char *format, ...)
    __attribute__ ((format (printf, 2, 3)));

//  argos_sim_fault.c: what breaks, and heals
void argos_sim_fault (world_t *world);
//  What is over by itself is over: a full disk.
void argos_sim_fault_pass (world_t *world);
//  Everything is whole from now on.
void argos_sim_fault_heal (world_t *world);
//  When a frame that is sent now arrives over the link.
int64_t argos_sim_fault_arrival (world_t *world, const peer_t *peer);

//  argos_sim_peer.c: the rules that every peer follows
peer_t *argos_sim_peer_new (world_t *world, kind_t kind, argos_sim_role_t role, const char *name);
void argos_sim_peer_destroy (peer_t **self_p);
void argos_sim_peer_act (peer_t *self);
void argos_sim_peer_receive (peer_t *self, argos_sim_msg_t *msg);
//  The connection is another one; the peer says hello at once, or has not noticed.
void argos_sim_peer_cut (peer_t *self, bool noticed);
//  kill -9 and a new process.
void argos_sim_peer_kill (peer_t *self);
//  Whether it has nothing to do any more.
bool argos_sim_peer_idle (const peer_t *self);
void argos_sim_frame_destroy (frame_t **self_p);
frame_t *argos_sim_frame_new (const char *header, const char *body);
void argos_sim_frame_part (frame_t *self, const char *header, const char *body);
//  Send once, without wanting an answer.
void argos_sim_peer_send (peer_t *self, frame_t *frame);
//  Send until answered.
pending_t *argos_sim_peer_ask (
    peer_t *self, ask_t ask, const char *id, frame_t *frame, bool counted);
void argos_sim_peer_drop (peer_t *self, pending_t *pending);
void argos_sim_peer_make_id (peer_t *self, char *target, size_t size);

//  argos_sim_send.c: senders
void argos_sim_sender_new (world_t *world, int number);
void argos_sim_sender_act (peer_t *self);
void argos_sim_sender_answered (peer_t *self, pending_t *pending, const argos_sim_msg_t *msg);

//  argos_sim_work.c: gateway, agents, relays, delivery
void argos_sim_work_new (peer_t *self, const argos_sim_msg_t *msg);
void argos_sim_work_mail (peer_t *self, const argos_sim_msg_t *msg);
void argos_sim_work_act (peer_t *self);
void argos_sim_work_answered (peer_t *self, pending_t *pending, const argos_sim_msg_t *msg);
void argos_sim_work_verdict (peer_t *self, int64_t lease, const char *state);
void argos_sim_work_drop (peer_t *self, work_t *work);
work_t *argos_sim_work_find (peer_t *self, int64_t lease);

//  argos_sim_ask.c: requests, their answers, and who sends dead letters again
void argos_sim_asker_act (peer_t *self);
void argos_sim_answerer_act (peer_t *self);
//  Returns whether the message was about a request.
bool argos_sim_ask_receive (peer_t *self, const argos_sim_msg_t *msg);
//  A new session: requests are not repeated, and those of others are over.
void argos_sim_ask_reset (peer_t *self);
//  Whether it waits for an answer, or owes one.
bool argos_sim_ask_open (const peer_t *self);
void argos_sim_operator_act (peer_t *self);
void argos_sim_operator_answered (peer_t *self, pending_t *pending, const argos_sim_msg_t *msg);

//  argos_sim_read.c: readers of topics
void argos_sim_reader_act (peer_t *self);
void argos_sim_reader_entry (peer_t *self, const argos_sim_msg_t *msg);
void argos_sim_reader_reset (peer_t *self);
//  A subscription did not come about.
void argos_sim_reader_refused (peer_t *self, const char *topic);
bool argos_sim_reader_done (const peer_t *self);

//  argos_sim_stand.c: whether every lane gets on, when nothing breaks any more
void argos_sim_stand (world_t *world);
void argos_sim_stand_forget (world_t *world);

//  argos_sim_check.c: at the end, when nothing is on its way
void argos_sim_check (world_t *world);

#endif
