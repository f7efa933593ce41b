//  argos_api_cap - at most max_concurrent_runs runs of the API execute at once.
//
//  `slots` holds the runs that executed when last heard of. It may hold too many (nobody tells us
//  when a run ends that no one reads), never too few. So a post that finds room starts at once, and
//  one that finds none makes us read the rows of those runs first: 429 is always said on what the
//  store says now. Limit: one check at a time; posts wait for it.

#include "argos_api_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define S_LOAD_MAX 1000 //  Newest runs looked at after a start

typedef struct {
    argos_api_t *api;                   //  Owner
    char run_id[ARGOS_API_RUN_ID_SIZE]; //  Which run is looked at
} s_check_t;

static argos_api_slot_t *
s_slot (argos_api_t *self, const char *run_id)
{
    argos_api_slot_t *slot;
    HASH_FIND_STR (self->slots, run_id, slot);
    return slot;
}

static void
s_slot_new (argos_api_t *self, const char *run_id, bool stored)
{
    argos_api_slot_t *slot = s_slot (self, run_id);
    if (slot)
        return;
    slot = calloc (1, sizeof *slot);
    if (!slot)
        abort ();
    (void) snprintf (slot->run_id, sizeof slot->run_id, "%s", run_id);
    slot->stored = stored;
    HASH_ADD_STR (self->slots, run_id, slot);
}

void
argos_api_slot_free (argos_api_t *self, const char *run_id)
{
    argos_api_slot_t *slot = s_slot (self, run_id);
    if (!slot)
        return;
    HASH_DEL (self->slots, slot);
    free (slot);
}

void
argos_api_slot_stored (argos_api_t *self, const char *run_id, bool ok)
{
    argos_api_slot_t *slot = s_slot (self, run_id);
    if (slot && ok)
        slot->stored = true;
    else
        argos_api_slot_free (self, run_id);
}

void
argos_api_slots_clear (argos_api_t *self)
{
    argos_api_slot_t *slot, *next;
    //  NOLINTBEGIN(clang-analyzer-unix.Malloc): the macro relinks before anything is freed
    HASH_ITER (hh, self->slots, slot, next) {
        HASH_DEL (self->slots, slot);
        free (slot);
    }
    //  NOLINTEND(clang-analyzer-unix.Malloc)
    self->loaded = self->max_runs == 0;
}

//  --------------------------------------------------------------------------
//  Who waits

static void
s_refuse (argos_api_call_t *call)
{
    char message[128];
    (void) snprintf (
        message, sizeof message, "Too many concurrent runs (max %d).", call->api->max_runs);
    argos_http_set (call->req, "Retry-After", "1");
    argos_http_error (call->req, 429, "rate_limit_error", "rate_limit_exceeded", NULL, message);
    argos_api_call_destroy (&call);
}

static bool
s_has_room (const argos_api_t *self)
{
    return self->max_runs == 0 || HASH_COUNT (self->slots) < (unsigned) self->max_runs;
}

static void
s_start (argos_api_call_t *call)
{
    if (call->api->max_runs)
        s_slot_new (call->api, call->run_id, false);
    argos_api_start (call);
}

static void
s_settle (argos_api_t *self)
{
    argos_api_call_t *call, *next;
    argos_api_call_t *waiting = self->admission;
    self->admission = NULL;
    DL_FOREACH_SAFE (waiting, call, next) {
        DL_DELETE (waiting, call);
        if (s_has_room (self))
            s_start (call);
        else
            s_refuse (call);
    }
}

//  --------------------------------------------------------------------------
//  Reading

static void
s_on_check (void *arg, const argos_peer_answer_t *answer)
{
    s_check_t *check = arg;
    argos_api_t *self = check->api;
    const json_t *row = argos_api_row (answer, NULL);
    if (answer->code == ARGOS_OK && (!row || argos_api_row_terminal (row)))
        argos_api_slot_free (self, check->run_id);
    free (check);
    if (--self->checks == 0)
        s_settle (self);
}

//  Read the rows of all slots; those that wait are settled when the last answer is in.

static void
s_check (argos_api_t *self)
{
    argos_api_slot_t *slot, *next;
    self->checks = 1; //  Held until all have been asked, for an answer may come within the call
    HASH_ITER (hh, self->slots, slot, next) {
        s_check_t *check = slot->stored ? calloc (1, sizeof *check) : NULL;
        if (!check)
            continue;
        check->api = self;
        memcpy (check->run_id, slot->run_id, sizeof check->run_id);
        self->checks++;
        argos_api_read (
            self, "run.get", json_pack ("{s:s}", "run_id", check->run_id), s_on_check, check);
    }
    if (--self->checks == 0)
        s_settle (self);
}

void
argos_api_admit (argos_api_call_t *call)
{
    argos_api_t *self = call->api;
    if (self->loaded && !self->admission && s_has_room (self)) {
        s_start (call);
        return;
    }
    DL_APPEND (self->admission, call);
    if (self->loaded && self->checks == 0)
        s_check (self);
    else if (!self->loaded && !self->loading)
        argos_api_slots_load (self);
}

static void
s_on_load (void *arg, const argos_peer_answer_t *answer)
{
    argos_api_t *self = arg;
    json_t *row;
    size_t index;
    self->loading = false;
    self->loaded = answer->code == ARGOS_OK;
    json_array_foreach (json_object_get (answer->body, "runs"), index, row) {
        const char *run_id = json_string_value (json_object_get (row, "run_id"));
        const char *owner = json_string_value (json_object_get (row, "owner"));
        bool ours = owner && strncmp (owner, ARGOS_API_NAME, sizeof ARGOS_API_NAME - 1) == 0;
        if (run_id && ours && !argos_api_row_terminal (row))
            s_slot_new (self, run_id, true);
    }
    if (self->loaded && self->admission && self->checks == 0)
        s_check (self);
    if (!self->loaded)
        argos_api_calls_refuse (&self->admission, answer->code);
}

void
argos_api_slots_load (argos_api_t *self)
{
    self->loading = true;
    argos_api_read (self, "run.list", json_pack ("{s:i}", "limit", S_LOAD_MAX), s_on_load, self);
}
