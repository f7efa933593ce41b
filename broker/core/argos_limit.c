//  argos_limit - what may wait for a service, in a lane and from a peer, in messages and bytes.
//
//  Invariant: the counts are those of the index. A hard limit refuses what comes from outside a
//  lease with a sentence that names it; what follows from accepted work is counted and always
//  taken. From half of a limit on, the peer that sends there gets a narrow window, and nobody else
//  does. Limits: urgent messages have one of their own and no other. What is on its way to the
//  store is not counted: the windows bound it.

#include "argos_core_priv.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define URGENT_MAX 1024 //  Urgent messages that wait for one service

static bool
s_full (const argos_core_limit_t *limit, int64_t messages, int64_t bytes, int64_t more)
{
    return messages >= limit->messages || bytes + more > limit->bytes;
}

bool
argos_limit_soft (const argos_core_limit_t *limit, int64_t messages, int64_t bytes)
{
    return messages > limit->messages / 2 || bytes > limit->bytes / 2;
}

//  A service is new: its limits are those of all, or its own.

void
argos_limit_service (service_t *service)
{
    const argos_core_config_t *config = &service->core->config;
    service->limit = config->service;
    service->lane_limit = config->lane;
    for (size_t i = 0; i < config->service_count; i++) {
        const argos_core_service_t *own = &config->services[i];
        if (strcmp (own->service, service->name) != 0)
            continue;
        service->hold_max_ms = own->hold_max_ms;
        if (own->max)
            service->limit.messages = own->max;
        if (own->lane_max)
            service->lane_limit.messages = own->lane_max;
    }
}

sender_t *
argos_limit_sender (argos_core_t *self, const char *base)
{
    sender_t *sender;
    HASH_FIND_STR (self->senders, base, sender);
    return sender;
}

static sender_t *
s_sender (argos_core_t *self, const char *base)
{
    sender_t *sender = argos_limit_sender (self, base);
    if (sender)
        return sender;
    sender = calloc (1, sizeof *sender);
    assert (sender);
    memcpy (sender->name, base, strlen (base) + 1);
    HASH_ADD_STR (self->senders, name, sender);
    return sender;
}

//  A row that came from base.

void
argos_limit_add (entry_t *entry, const char *base)
{
    entry->sender = s_sender (entry->service->core, base);
    entry->sender->messages++;
    entry->sender->bytes += entry->bytes;
    entry->service->waiting++;
    entry->service->bytes += entry->bytes;
    entry->service->urgent += entry->urgent;
}

//  And its end. The last one takes the sender's record with it.

void
argos_limit_remove (entry_t *entry)
{
    argos_core_t *self = entry->service->core;
    sender_t *sender = entry->sender;
    entry->service->waiting--;
    entry->service->bytes -= entry->bytes;
    entry->service->urgent -= entry->urgent;
    sender->bytes -= entry->bytes;
    if (--sender->messages == 0) {
        HASH_DEL (self->senders, sender);
        free (sender);
    }
}

//  Whether an admission has to be refused: NULL, or a sentence that names the limit. Notes in the
//  session whether its window has to be narrow.

const char *
argos_limit_refuses (
    session_t *session, const service_t *service, const char *key, bool urgent, int64_t bytes)
{
    const argos_core_limit_t *peer = &session->core->config.peer;
    if (urgent)
        return service->urgent < URGENT_MAX
                   ? NULL
                   : "1024 urgent messages wait for the service: its limit is reached";
    const lane_t *lane = argos_lane_find (service, key);
    const sender_t *sender = argos_limit_sender (session->core, session->base);
    int64_t lane_count = lane ? lane->count : 0, lane_bytes = lane ? lane->bytes : 0;
    int64_t peer_count = sender ? sender->messages : 0, peer_bytes = sender ? sender->bytes : 0;
    session->pressed = argos_limit_soft (&service->limit, service->waiting, service->bytes) ||
                       argos_limit_soft (&service->lane_limit, lane_count, lane_bytes) ||
                       argos_limit_soft (peer, peer_count, peer_bytes);
    if (!session->pressed)
        return NULL; //  Half of each at most, and a message is smaller than the other half
    if (s_full (&service->limit, service->waiting, service->bytes, bytes))
        return "the service has reached its limit of waiting messages or bytes";
    if (s_full (&service->lane_limit, lane_count, lane_bytes, bytes))
        return "the lane has reached its limit of waiting messages or bytes";
    if (s_full (peer, peer_count, peer_bytes, bytes))
        return "this peer has reached its limit of waiting messages or bytes";
    return NULL;
}
