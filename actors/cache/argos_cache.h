//  argos_cache - the agents that are kept between turns, ordered by last use.
//
//  Pure: time and ids are arguments; nothing is sent, closed or read from the system here. An entry
//  never holds the only copy of anything: to lose one costs a rebuild. What is taken out is handed
//  to the caller as a list of dropped entries, so that nothing that can wait happens in between.
//
//  An entry is mid-turn (running) from its acquire to its release. Such a one is never dropped by
//  the limit, by idleness or for memory; nothing newer is dropped in its place.

#ifndef ARGOS_CACHE_H
#define ARGOS_CACHE_H

#include "argos_signature.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uthash.h>

#define ARGOS_CACHE_KEY_SIZE 257    //  Of a session, with its end
#define ARGOS_CACHE_ID_SIZE 33      //  Of an agent
#define ARGOS_CACHE_WORKER_SIZE 129 //  Name of a peer

typedef struct argos_cache argos_cache_t;

//  A prompt that some entries share

typedef struct {
    char hash[ARGOS_SHA256_SIZE]; //  Of the bytes
    json_t *prompt;               //  System prompt and tools, as they are sent
    size_t refs;                  //  Entries that have it
    size_t bytes;                 //  Of it
    UT_hash_handle hh;            //  By hash
} argos_cache_prompt_t;

typedef struct argos_cache_entry {
    char key[ARGOS_CACHE_KEY_SIZE];        //  Of the conversation
    char agent_id[ARGOS_CACHE_ID_SIZE];    //  The agent
    char session_id[ARGOS_CACHE_KEY_SIZE]; //  Its session then
    char worker[ARGOS_CACHE_WORKER_SIZE];  //  Who has it, or had it last
    char signature[ARGOS_SIGNATURE_SIZE];  //  What it was built of
    bool running;                          //  Mid-turn
    bool client;                           //  Its worker holds a connection for it
    int64_t count;          //  Messages of the session as of its last turn; -1 = not known
    int64_t flushed;        //  How many of them are stored
    int64_t active_ms;      //  Last activity, monotonic msec; -1 = none
    int64_t held_ms;        //  Since when it is running, monotonic msec
    const char *activity;   //  What that was; static
    int64_t calls;          //  Of the model, in this turn
    int64_t max_iterations; //  As of its last turn; 0 = not said
    int64_t bytes;          //  What its worker says that it takes
    int64_t hits, turns;    //  Lookups that found it; turns that ended
    int64_t input_tokens, output_tokens;   //  Of all its turns
    int64_t cache_read_tokens;             //  Of these, read from the provider's cache
    argos_cache_prompt_t *prompt;          //  Frozen; NULL = none yet
    const char *why;                       //  Dropped: why; static
    struct argos_cache_entry *prev, *next; //  Older, newer; next dropped
    UT_hash_handle hh;                     //  By key
    UT_hash_handle hh_agent;               //  By agent
} argos_cache_entry_t;

typedef struct {
    size_t max;       //  Entries
    int64_t idle_ms;  //  A silence that ends one
    int64_t hold_ms;  //  A turn that is longer has lost its worker
    size_t pass_max;  //  Dropped by one pass for memory
    size_t protected; //  The newest, which such a pass leaves alone
} argos_cache_limits_t;

//  Who asks for the agent of a conversation. All borrowed.

typedef struct {
    const char *key;         //  Conversation
    const char *session_id;  //  Its session; NULL = the key
    const char *signature;   //  What the agent would be built of now
    const char *worker;      //  Who asks
    const char *agent_id;    //  Of a new one
    const char *prompt_hash; //  Of the prompt as it would be built now; NULL = it is not said
    int64_t count;           //  Messages of the session now; -1 = not known
    bool unreadable;         //  They can't be counted, or that session not read: no reason to drop
    int ended;               //  Whether the entry's other session has ended; -1 = not known
    int depth;               //  0 = a new turn, more = an interrupted one goes on
    bool client;             //  It opens a connection for the agent
    int64_t max_iterations;  //  Of this turn
    int64_t now;             //  Monotonic msec
} argos_cache_ask_t;

typedef enum {
    ARGOS_CACHE_HIT,        //  The entry is the one that was there
    ARGOS_CACHE_MISS,       //  It is new
    ARGOS_CACHE_NEED_COUNT, //  Ask again with count; nothing has changed
    ARGOS_CACHE_NEED_ENDED  //  Ask again with ended; nothing has changed
} argos_cache_verdict_t;

//  How a turn has ended. All borrowed.

typedef struct {
    const char *agent_id;   //  Whose
    const char *worker;     //  Who says so; NULL = whoever has it. Of another one nothing is taken
    const char *session_id; //  Session now; NULL = as it was
    int64_t count;          //  Messages of the session now; -1 = not known: as it was
    int64_t unflushed;      //  How many of them are not stored
    int64_t bytes;          //  What the agent takes; -1 = as it was
    int64_t calls;          //  Of the model, in this turn
    int64_t input_tokens, output_tokens, cache_read_tokens; //  Of this turn
    bool failed;                                            //  It failed
    bool fallback; //  Another model than asked for has ended it
    int64_t now;   //  Monotonic msec
} argos_cache_report_t;

argos_cache_t *argos_cache_new (const argos_cache_limits_t *limits);

//  NULL-safe, idempotent.
void argos_cache_destroy (argos_cache_t **self_p);

//  Other limits from now on; what is too much goes with the next entry.
void argos_cache_set_limits (argos_cache_t *self, const argos_cache_limits_t *limits);

//  The entry for ask, running from now on; *ret_entry is borrowed until the next call, NULL when
//  something is still to be read. *dropped gets the entry that did not fit. *ret_why says of a miss
//  what was wrong with the old one, NULL = there was none; static.
argos_cache_verdict_t argos_cache_acquire (argos_cache_t *self, const argos_cache_ask_t *ask,
    argos_cache_entry_t **ret_entry, argos_cache_entry_t **dropped, const char **ret_why);

//  A turn is over. Returns whether the agent is kept; when not, it is in *dropped, or is not known.
bool argos_cache_release (
    argos_cache_t *self, const argos_cache_report_t *report, argos_cache_entry_t **dropped);

//  What the worker has begun and not ended is not mid-turn any more: it has just started.
void argos_cache_forget (argos_cache_t *self, const char *worker);

//  Base the entry on what is in the store now, so that the session's own messages never look
//  foreign. Does nothing when it is of another session.
void argos_cache_rebase (
    argos_cache_t *self, const char *key, const char *session_id, int64_t count);

//  Take the entry of a conversation out. Returns whether there was one; a running one goes too,
//  with its running flag set, and its turn keeps what it has.
bool argos_cache_evict (argos_cache_t *self, const char *key, argos_cache_entry_t **dropped);

//  Take out what is beyond the limit; after each acquire and release. Returns how many of these
//  candidates were left because they are mid-turn.
size_t argos_cache_enforce (argos_cache_t *self, argos_cache_entry_t **dropped);

//  Take out what is idle for too long. Returns how many.
size_t argos_cache_sweep (argos_cache_t *self, int64_t now, argos_cache_entry_t **dropped);

//  The process takes more memory than it should: take some out. Returns how many.
size_t argos_cache_shed (argos_cache_t *self, argos_cache_entry_t **dropped);

//  The prompt with this hash becomes that of the entry. Returns false when it is not known: then it
//  has to come with argos_cache_freeze.
bool argos_cache_use (argos_cache_t *self, argos_cache_entry_t *entry, const char *hash);

//  The prompt of the entry, unless it has one.
void argos_cache_freeze (argos_cache_t *self, argos_cache_entry_t *entry, json_t *prompt);

//  NULL = there is none. Borrowed until the next call that changes something.
argos_cache_entry_t *argos_cache_find (const argos_cache_t *self, const char *key);
argos_cache_entry_t *argos_cache_agent (const argos_cache_t *self, const char *agent_id);

//  The oldest; their next is newer. NULL = there is none.
argos_cache_entry_t *argos_cache_first (const argos_cache_t *self);
size_t argos_cache_size (const argos_cache_t *self);

//  Frees a list of dropped entries; *dropped is NULL afterwards.
void argos_cache_free (argos_cache_t *self, argos_cache_entry_t **dropped);

#endif
