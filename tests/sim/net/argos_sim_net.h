//  argos_sim_net - the real broker core and the real store in one thread, with the network, the
//  clocks and the crashes in the hands of a test.
//
//  What the core sends is collected per connection; what it asks of the store waits until the test
//  runs a batch. Nothing happens by itself, so a run is repeatable.

#ifndef ARGOS_SIM_NET_H
#define ARGOS_SIM_NET_H

#include "argos_core.h"
#include "argos_store.h"

#include <jansson.h>

#define ARGOS_SIM_QUERIES 16 //  Different queries
#define ARGOS_SIM_COLUMNS 8  //  Of one

//  A message of the core to a connection

typedef struct argos_sim_msg {
    uint64_t conn;                     //  To whom
    json_t *header, *meta, *body;      //  Parsed frames; never NULL
    int64_t at;                        //  For the test: when it arrives
    struct argos_sim_msg *prev, *next; //  In the order of sending
} argos_sim_msg_t;

typedef struct {
    argos_core_t *core;             //  The broker
    argos_store_t *store;           //  Its store
    char path[256];                 //  Of the database
    bool memory;                    //  The database is on argos_sim_disk
    int marks;                      //  Transactions that were marked
    argos_core_config_t config;     //  For the next start
    int64_t mono, wall;             //  The clocks, msec
    argos_storage_req_t **requests; //  With the store
    size_t count, room;             //  How many, room for
    argos_sim_msg_t *sent;          //  Not yet received
    //  Called for each executed request in order, also when its answer is then lost; NULL = not. It
    //  may make a refusal of the answer
    void (*executed) (void *arg, const argos_storage_req_t *req, argos_storage_ans_t *ans);
    bool (*deaf) (void *arg, uint64_t conn); //  Whether a connection takes nothing; NULL = all do
    void *arg;                               //  For both
    char reason[256];                        //  Why the store has failed
    struct {
        const char *sql;           //  Text, by address
        struct sqlite3_stmt *stmt; //  Compiled; NULL = free
    } queries[ARGOS_SIM_QUERIES];  //  Asked so far of this store
} argos_sim_net_t;

//  Through which door a peer comes; one of this host has the roles adapter, worker, tool and
//  operator

typedef enum { ARGOS_ROLE_CORE, ARGOS_ROLE_LOCAL } argos_sim_role_t;

//  A part of a commit: header and body as texts of JSON (body NULL = empty)

typedef struct {
    const char *header; //  One object
    const char *body;   //  Any, or NULL
} argos_sim_part_t;

//  Starts core and store on a new database: at path, or for the path "memory" on argos_sim_disk.
//  The caller's.
argos_sim_net_t *argos_sim_net_new (const char *path);
void argos_sim_net_destroy (argos_sim_net_t **self_p);

//  Everything but the rows is lost; then a new start, with the index from the rows.
void argos_sim_net_crash (argos_sim_net_t *self);

//  A batch of up to max requests during which, just before the write or sync after the next `after`
//  ones (or at its end), the power goes; then a new start. random(arg, limit) < limit decides what
//  is left of writes that were not synced. Returns whether the batch is on the disk: only then
//  `executed` is called. A database on a real disk sees a crash without a batch, true.
bool argos_sim_net_power (
    argos_sim_net_t *self, size_t max, int after, int (*random) (void *arg, int limit), void *arg);

//  A message from a connection. Texts of JSON; body NULL = empty.
void argos_sim_net_send (argos_sim_net_t *self, uint64_t conn, argos_sim_role_t role,
    const char *header, const char *body);
void argos_sim_net_commit (argos_sim_net_t *self, uint64_t conn, argos_sim_role_t role,
    const char *header, const argos_sim_part_t *parts, size_t count);
//  The same from raw frames: sizes may be anything.
void argos_sim_net_frames (argos_sim_net_t *self, uint64_t conn, argos_sim_role_t role,
    const char *const *frames, const size_t *sizes, size_t count);

//  Executes the first requests, max at most (1 to 64), and hands the answers to the core; with
//  answer false they are lost, and the caller has to crash next. Returns how many.
size_t argos_sim_net_batch (argos_sim_net_t *self, size_t max, bool answer);

//  Batches until nothing waits.
void argos_sim_net_settle (argos_sim_net_t *self);

//  One chore of the store: a checkpoint or a slice of pruning.
void argos_sim_net_chore (argos_sim_net_t *self);

//  Both clocks go on, timers run, the rest settles.
void argos_sim_net_sleep (argos_sim_net_t *self, int64_t ms);

//  The next message for a connection, the caller's; NULL = none.
argos_sim_msg_t *argos_sim_net_recv (argos_sim_net_t *self, uint64_t conn);
void argos_sim_msg_destroy (argos_sim_msg_t **self_p);

//  Whether the core has asked for nothing that is not answered.
bool argos_sim_net_quiet (const argos_sim_net_t *self);

//  Compares the index of the core, its leases and its slots with the rows. NULL = they agree, else
//  a sentence (static). Only when quiet.
const char *argos_sim_net_difference (argos_sim_net_t *self);

//  Whether the core has more in memory than it may. NULL = no, else a sentence (static).
const char *argos_sim_net_excess (const argos_sim_net_t *self);

//  What waits for a connection is lost.
void argos_sim_net_cut (argos_sim_net_t *self, uint64_t conn);

//  One number from the database (the store is the only one with access while it is open, so this
//  goes through it); absent = -1.
int64_t argos_sim_net_number (argos_sim_net_t *self, const char *sql);

//  Calls fn for each row of a query with the texts of its columns. A parameter ?1 is the wall
//  clock. The text is a constant, known by its address. fn may ask other queries.
void argos_sim_net_query (argos_sim_net_t *self, const char *sql,
    void (*fn) (void *arg, int columns, char **values), void *arg);

//  Members of JSON objects that are there: else "" and -1.
const char *argos_sim_text (const json_t *object, const char *name);
int64_t argos_sim_int (const json_t *object, const char *name);

#endif
