//  argos_storage - what the broker core asks of the store, and what it gets back.
//
//  Core and store are two threads of one part; between them runs a private PAIR. Requests are
//  executed in order, up to 64 in one transaction, each in its own savepoint; all answers of a
//  transaction come after its commit, in order. The same structs serve in process (simulator) and,
//  flattened to frames, through the PAIR.
//
//  Ownership: whoever creates a request or an answer destroys it; frames inside are counted
//  references.

#ifndef ARGOS_STORAGE_H
#define ARGOS_STORAGE_H

#include "argos_frame.h"
#include "argos_header.h"

typedef enum {
    ARGOS_ST_COMMIT,  //  Parts; under a lease when seq != 0; `done` also consumes
    ARGOS_ST_LEASE,   //  Lease row seq to holder
    ARGOS_ST_RELEASE, //  End the lease of row seq (lease), by its holder or by the broker (no
                      //  holder); the broker also rejects a row that has none (lease 0)
    ARGOS_ST_HELLO,   //  Reconcile the leases of a name: declared list in pairs
    ARGOS_ST_MAIL,    //  Read the row seq (a side message), for the holder of its lane
    ARGOS_ST_READ,    //  A store read: one part
    ARGOS_ST_TOPIC,   //  Look up a topic, make it when absent and an owner is named: owner, boot of
                      //  its making, newest kept number, closed
    ARGOS_ST_JOURNAL, //  Kept entries of a topic with number >= number, up to 64 or 256 KiB
    ARGOS_ST_SERVICE, //  Change the declaration of a service (idempotent)
    ARGOS_ST_INDEX    //  At start: rows with seq > req->seq, up to 512, in rows[] (more: there are
                      //  more), declared services as rows with seq 0 in the first page; owner = id
                      //  of the store, boot = number of this start
} argos_storage_op_t;

//  A part of a commit, the message of a read, a row of the queue, or an entry of a journal

typedef struct {
    argos_frame_t *header;         //  The sender's header
    argos_frame_t *body;           //  The sender's body; NULL = empty
    char holder[ARGOS_HOLDER_MAX]; //  Request, durable to a service: lease it to this session on
                                   //  insert; "" = don't
    bool undeclared;               //  Request: a delivery under a lease to a service that nobody
                                   //  has declared: a dead letter from birth
    int64_t number;                //  Request, entry of a topic: its number within this boot; the
                                   //  store adds (boot - boot of the topic's making) << 32
                                   //  Answer, commit: lease number given on insert, 0 = none
                                   //  Answer, entry of a topic, journal: the complete number
    int64_t seq;                   //  Answer, commit: seq of the inserted row (0: not a queue part)
    int64_t at;                    //  Answer: wall clock of storing, msec
    char from[ARGOS_NAME_MAX + 1]; //  Answer, journal: publisher; commit, entry of a topic: the
                                   //  topic's owner
} argos_storage_part_t;

typedef struct {
    int64_t seq, lease; //  A lease that a hello declares
    int verdict;        //  Answer: 'v' valid, 'd' done, 'l' lost
} argos_storage_pair_t;

//  What becomes of a service

typedef enum {
    ARGOS_SERVICE_DECLARE, //  It is there
    ARGOS_SERVICE_PAUSE,   //  It is paused, also after a restart
    ARGOS_SERVICE_RESUME,  //  It is not
    ARGOS_SERVICE_DROP     //  It is forgotten; refused `busy` while it has rows
} argos_service_change_t;

typedef struct {
    argos_storage_op_t op;
    uint64_t tag; //  Copied to the answer
    int64_t now;  //  Wall clock, msec: the store reads no clock
    char from[ARGOS_NAME_MAX +
              1]; //  Full name of the sender; ids are known under argos_name_base (from)
    char holder[ARGOS_HOLDER_MAX]; //  The session that acts (COMMIT under a lease, LEASE, RELEASE,
                                   //  HELLO)
    char
        id[ARGOS_ID_MAX + 1]; //  COMMIT without a lease: the id of the unit; TOPIC, JOURNAL: unused
    char name[ARGOS_TO_MAX + 1]; //  TOPIC, JOURNAL: topic. SERVICE: service. HELLO: the peer's name
    char owner[ARGOS_NAME_MAX + 1]; //  TOPIC: owner if it has to be made
    int64_t seq, lease, n, seen;    //  COMMIT, LEASE, RELEASE, MAIL: as in the header
    bool done;                      //  COMMIT: consumes the row
    bool trusted;   //  COMMIT: the sender has role core: bodies are not checked again
    bool any_topic; //  COMMIT: may write to topics of other owners
    argos_service_change_t change; //  SERVICE: what is asked
    int64_t boot;                  //  TOPIC: the current boot
    int64_t number;                //  JOURNAL: from
    int64_t delay_until;           //  RELEASE: wall clock, 0 = none
    bool clean;                    //  RELEASE: attempt is taken back
    int strikes;     //  RELEASE: -1 = 4, or 1 if something was committed under the lease; else this
                     //  many
    char reject[32]; //  RELEASE: code for the dead letter, "" = none
    size_t take_count;            //  COMMIT
    int64_t take[ARGOS_TAKE_MAX]; //  COMMIT: rows of the same lane consumed as well
    size_t part_count;            //  COMMIT, READ
    argos_storage_part_t *parts;  //  part_count of them
    size_t pair_count;            //  HELLO
    argos_storage_pair_t *pairs;  //  pair_count of them
} argos_storage_req_t;

//  A row that entered the queue without being a part of the request: the notice of a dead letter,
//  or a redriven one

typedef struct {
    int64_t seq, not_before;          //  Row, when due (0 = now)
    int64_t at;                       //  Stored at, wall msec; 0 = now
    bool side, urgent;                //  Flags
    char type[ARGOS_TYPE_MAX + 1];    //  Message type
    char service[ARGOS_NAME_MAX + 1]; //  Service
    char key[ARGOS_KEY_MAX + 1];      //  Lane
    char from[ARGOS_NAME_MAX + 1];    //  Base name of the sender
    bool paused;                      //  Index at start, a declared service: it is paused
    int64_t lease;                    //  Index at start: lease number, 0 = none
    char holder[ARGOS_HOLDER_MAX];    //  Index at start: holder
    int64_t delay_until;              //  Index at start: parked until, wall clock
    int64_t until;                    //  Expires at (wall clock msec), 0 = never
    int strikes;                      //  Strikes so far
    int64_t bytes;                    //  Size of header and body
} argos_storage_row_t;

typedef struct {
    int64_t seq; //  A row whose lease a hello has ended
    int strikes; //  Of the row, after
} argos_storage_freed_t;

typedef struct {
    argos_storage_op_t op; //  As asked
    uint64_t tag;          //  As asked
    argos_err_t code;      //  ARGOS_OK, or why nothing was changed
    char reason[160];      //  Sentence for a refusal
    int part;              //  COMMIT: failing part, -1 = the commit as a whole
    int64_t seq, lease; //  LEASE, RELEASE, COMMIT under a lease: as asked; COMMIT without: seq of
                        //  the first queued part (also of a repeat)
    bool repeat;        //  COMMIT: was executed before; nothing was changed now
    int64_t attempt, hops;          //  LEASE, MAIL: of the row. COMMIT under a lease: its hops
    int strikes;                    //  LEASE, RELEASE: of the row, after
    bool dead;                      //  RELEASE: the row was buried
    int64_t at;                     //  LEASE, MAIL: stored at
    char from[ARGOS_NAME_MAX + 1];  //  LEASE, MAIL: sender
    char cause[ARGOS_ID_MAX + 1];   //  LEASE, MAIL: id of the message whose commit made it, "" =
                                    //  none. COMMIT under a lease: id of the leased message
    bool closed;                    //  TOPIC, JOURNAL: closed
    int64_t boot;                   //  TOPIC: boot of its making
    int64_t number;                 //  TOPIC: newest kept number, -1 = none
    bool more;                      //  JOURNAL: there is more
    char owner[ARGOS_NAME_MAX + 1]; //  TOPIC
    size_t part_count; //  COMMIT: as in the request (seq, number filled); LEASE, MAIL, READ: 1;
                       //  JOURNAL: the page
    argos_storage_part_t *parts; //  part_count of them. READ: body = the result
    size_t pair_count;           //  HELLO: the verdicts
    argos_storage_pair_t *pairs; //  pair_count of them
    size_t gone_count;  //  COMMIT: rows consumed. RELEASE: the row if dead. HELLO: rows buried
    int64_t *gone;      //  gone_count seqs
    size_t freed_count; //  HELLO: rows whose lease was ended and that wait again (not buried)
    argos_storage_freed_t *freed; //  freed_count of them
    size_t row_count;             //  Rows that entered the queue otherwise
    argos_storage_row_t *rows;    //  row_count of them
} argos_storage_ans_t;

//  Free a request or an answer with all that it holds. NULL-safe, idempotent.
void argos_storage_req_destroy (argos_storage_req_t **self_p);
void argos_storage_ans_destroy (argos_storage_ans_t **self_p);

//  A new empty request or answer; the caller's. Room for count parts.
argos_storage_req_t *argos_storage_req_new (argos_storage_op_t op, size_t part_count);
argos_storage_ans_t *argos_storage_ans_new (const argos_storage_req_t *req);

#endif
