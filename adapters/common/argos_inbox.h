//  argos_inbox - messages of a socket on their way into the store: in order of each lane, their
//  files fetched first, and the cursor never in front of one that is not stored.
//
//  A message is entered when it is heard (its place in the order), and becomes ready when it is
//  known what it says. What is ready is stored in batches, one at a time, with the cursor of the
//  newest entry before which everything is stored. Limits: 20 messages a batch, 32 MiB a file, two
//  tries of each.

#ifndef ARGOS_INBOX_H
#define ARGOS_INBOX_H

#include "argos_adapter.h"

typedef struct argos_inbox argos_inbox_t;
typedef struct argos_inbox_entry argos_inbox_entry_t;

//  Told when the entry is in the store, or held nothing.
typedef void (argos_inbox_fn) (void *arg, const char *tag);

typedef struct {
    argos_adapter_t *adapter; //  Whose
    const char *cursor;       //  Name of the cursor, static; NULL = there is none
    argos_inbox_fn *fn;       //  Told of each entry; NULL = nobody
    void *arg;                //  Its argument
    //  The headers for a download ("Name: value", NULL-terminated, borrowed), and whether this
    //  address may be asked; NULL headers = none.
    const char *const *(*file_headers) (void *arg, const char *url);
    bool (*file_allowed) (void *arg, const char *url);
} argos_inbox_config_t;

argos_inbox_t *argos_inbox_new (const argos_inbox_config_t *config);

//  NULL-safe, idempotent. Nothing is told.
void argos_inbox_destroy (argos_inbox_t **self_p);

//  A new entry behind all others. lane: what has to stay in order. cursor (stolen, NULL = none)
//  holds when all up to this entry is stored. tag is told again; copied.
argos_inbox_entry_t *argos_inbox_add (
    argos_inbox_t *self, const char *lane, json_t *cursor, const char *tag);

//  What it says: {"id","key","body"} (stolen; NULL = nothing is stored), and its files, an array of
//  {"url","kind","name","media_type"?} (stolen; NULL = none). A file that can't be had becomes a
//  sentence in the text.
void argos_inbox_ready (
    argos_inbox_t *self, argos_inbox_entry_t *entry, json_t *message, json_t *files);

//  Whether a message with this id is entered and not stored; entries made so have no message yet.
bool argos_inbox_has (const argos_inbox_t *self, const char *id);

//  Entries that are not stored.
size_t argos_inbox_count (const argos_inbox_t *self);

#endif
