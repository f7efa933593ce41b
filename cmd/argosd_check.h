//  argosd_check - `argos adapter-check`: a core that is none, to drive an adapter or a worker.
//
//  A check_t is one case under way: the ROUTER socket of the fake core, the program under test, and
//  what it has said so far. Single-threaded. A function that fails leaves one sentence in `reason`
//  and returns -1 (or false).

#ifndef ARGOSD_CHECK_H
#define ARGOSD_CHECK_H

#include "argos_header.h"

#include <jansson.h>
#include <sys/types.h>

#define CHECK_WAIT_MS 10000 //  Patience with a step of the program
#define CHECK_PARTS 64      //  Parts of a commit that are looked at

//  A message of the program under test

typedef struct {
    argos_header_t header; //  Read
    json_t *body;          //  Its body, {} when empty
    json_t *parts;         //  Of a commit: [{"type","to","body"}]
} check_msg_t;

//  What the core has leased out

typedef struct {
    int64_t seq, lease; //  Row and number of the lease
    int64_t n;          //  Number of the next commit
} check_lease_t;

typedef struct {
    //  What is asked for
    const char *command;  //  Program, for the shell; NULL: somebody else starts it
    const char *platform; //  Of an adapter
    const char *account;  //  .
    char service[65];     //  That it is to serve, "" = the first one that it does
    const char *type;     //  Of the messages for it
    const json_t *body;   //  Of the messages for it
    bool verbose;         //  Show what the program prints

    //  The core
    char folder[64];        //  Ours, with the socket; "" = none
    char endpoint[256];     //  Where we listen
    void *context, *socket; //  ØMQ
    int64_t seq, lease;     //  Newest numbers given out
    int64_t window;         //  Messages that a welcome grants
    int64_t settled;        //  Of the session, dealt with at once: granted again
    int64_t ping_ms;        //  Pings that a welcome asks for
    check_lease_t held[4];  //  Leased out; seq 0 = free
    bool quiet;             //  Does not answer commits: the case does

    //  The program
    pid_t pid;                  //  Of its process group, 0 = not running
    int pid_fd;                 //  Tells of its end, -1 = none
    int input_fd;               //  Its standard input, -1 = none
    unsigned char peer[256];    //  Routing id of its connection
    size_t peer_size;           //  0 = no session
    char name[65];              //  As in its hello
    int64_t instance;           //  As in its hello
    json_t *hello;              //  Body of its newest hello
    json_t *serve;              //  Body of its serve for the service
    int hellos, pings, commits; //  Since the case began
    char reason[512];           //  Why the case failed
} check_t;

//  argosd_check_core.c

//  Binds a new fake core and starts the program, if there is one to be started.
int argos_check_open (check_t *self);

//  Ends both. Idempotent.
void argos_check_close (check_t *self);

//  Cuts the connection: the socket is closed and bound anew; whoever speaks without a hello is
//  answered no_session.
int argos_check_cut (check_t *self);

//  Reads what comes until deadline (of argos_check_now) and answers hello, serve, ping, subscribe
//  and messages as a core does, and commits unless `quiet`. Returns 1 with a commit, done, release
//  or bye in *msg, 0 at the deadline, -1 when the program broke the protocol or ended.
int argos_check_next (check_t *self, check_msg_t *msg, int64_t deadline);
void argos_check_msg_clear (check_msg_t *msg);
int64_t argos_check_now (void);

//  Waits until the program has said hello and serves the service.
int argos_check_up (check_t *self);

//  A message to whoever has that routing id.
void argos_check_put (check_t *self, const void *peer, size_t peer_size, const char *header,
    const char *meta, const char *body);

//  A word of the core about a message: re NULL = about none. body is JSON text.
void argos_check_word (check_t *self, const char *type, const char *re, const char *body);

//  One more message has been dealt with: the window moves on.
void argos_check_settle (check_t *self);

//  Fails with a sentence; returns -1.
int argos_check_fail (check_t *self, const char *format, ...)
    __attribute__ ((format (printf, 2, 3)));

//  argosd_check_lease.c

//  A new message leased out, NULL = four are; a second lease of the same one (attempt > 1).
check_lease_t *argos_check_lease (check_t *self, const char *type, const char *body);
int argos_check_lease_again (
    check_t *self, check_lease_t *lease, const char *type, const char *body, int64_t attempt);

//  Waits for the end of that lease by `done` (or, when may_release, by a release) and answers it.
//  Returns 0; ret_rejected (may be NULL) says whether it was released with a reject.
int argos_check_ends (check_t *self, check_lease_t *lease, bool may_release, bool *ret_rejected);

//  argosd_check_program.c

//  Starts the program, if there is one to be started; kills it (by -9, with its children).
int argos_check_start (check_t *self);
void argos_check_kill (check_t *self);

//  Fails with how it has ended; returns -1.
int argos_check_ended (check_t *self);

//  argosd_check_cases.c

typedef struct {
    const char *name;       //  For --only
    const char *what;       //  For people
    bool needs_command;     //  The program has to be started anew
    int (*run) (check_t *); //  0, or -1 with a reason
} check_case_t;

extern const check_case_t argos_check_cases[];
extern const size_t argos_check_case_count;

#endif
