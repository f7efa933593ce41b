//  argos_sim_send - senders: conversations in order, each message with an id of its own, repeated
//  until it is answered and sometimes long after.
//
//  Invariant: a repeat of an id is answered with the number of the first time.

#include "argos_sim_world.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
argos_sim_sender_new (world_t *world, int number)
{
    char name[32];
    snprintf (name, sizeof name, "sender.s%d", number);
    peer_t *self = argos_sim_peer_new (world, KIND_SENDER, ARGOS_ROLE_LOCAL, name);
    self->stream_count = 1 + argos_sim_random (world, ARGOS_SIM_STREAMS);
    for (int i = 0; i < self->stream_count; i++) {
        stream_t *stream = &self->streams[i];
        stream->relay = argos_sim_random (world, 2) != 0;
        stream->total = 1 + argos_sim_random (world, 4);
        snprintf (stream->key, sizeof stream->key, "%c%d%d", stream->relay ? 'r' : 'c', number, i);
    }
}

static message_t *
s_message (world_t *world, const stream_t *stream, bool side)
{
    message_t *message = calloc (1, sizeof *message);
    if (!message)
        abort ();
    snprintf (message->id, sizeof message->id, "%s%s-%d", side ? "x" : "", stream->key,
        side ? stream->sides : stream->next);
    snprintf (message->key, sizeof message->key, "%s", stream->key);
    message->serial = side ? stream->sides : stream->next;
    message->relay = stream->relay;
    message->side = side;
    if (side && argos_sim_random (world, 3) == 0)
        message->not_before = world->net->wall + argos_sim_random (world, world->odds.late);
    else if (argos_sim_random (world, 100) < world->odds.ttl)
        message->ttl = 1 + argos_sim_random (world, 3000);
    HASH_ADD_STR (world->messages, id, message);
    return message;
}

static frame_t *
s_frame (const message_t *message, bool urgent)
{
    char header[ARGOS_SIM_TEXT], body[ARGOS_SIM_TEXT], late[64], ttl[32];
    const char *type = "job", *service = "relay";
    if (!message->relay) {
        type = message->side ? "turn.stop" : "message.inbound";
        service = message->side ? "turn" : "gateway";
    }
    snprintf (late, sizeof late, ",\"not_before\":%" PRId64, message->not_before);
    snprintf (ttl, sizeof ttl, ",\"ttl_ms\":%d", message->ttl);
    snprintf (header, sizeof header,
        "{\"type\":\"%s\",\"id\":\"%s\",\"to\":\"service:%s\",\"key\":\"%s\",\"durable\":true%s%s%"
        "s%s}",
        type, message->id, service, message->key, message->side ? ",\"side\":true" : "",
        urgent ? ",\"urgent\":true" : "", message->not_before ? late : "", message->ttl ? ttl : "");
    snprintf (body, sizeof body,
        "{\"source\":{\"platform\":\"sim\",\"account\":\"s\",\"chat_type\":\"dm\"},\"text\":\"t\","
        "\"reason\":\"r\","
        "\"id\":\"%s\",\"i\":%d,\"side\":%s}",
        message->id, message->serial, message->side ? "true" : "false");
    return argos_sim_frame_new (header, body);
}

static void
s_send (peer_t *self, int index, bool side)
{
    world_t *world = self->world;
    stream_t *stream = &self->streams[index];
    const message_t *message = s_message (world, stream, side);
    argos_sim_trace (world, "%s: sends %s", self->name, message->id);
    pending_t *pending = argos_sim_peer_ask (
        self, ASK_MESSAGE, message->id, s_frame (message, argos_sim_random (world, 4) == 0), true);
    pending->stream = index;
    pending->serial = message->serial;
    if (side)
        stream->sides++;
    else
        stream->next++;
    stream->unsettled++;
}

//  A message that was accepted long ago, once more.

static void
s_again (peer_t *self)
{
    const message_t *message = self->world->messages;
    int skip = argos_sim_random (self->world, (int) HASH_COUNT (self->world->messages));
    while (message && skip-- > 0)
        message = message->hh.next;
    if (!message || !message->seq)
        return;
    for (int i = 0; i < self->stream_count; i++)
        if (strcmp (message->key, self->streams[i].key) == 0)
            argos_sim_peer_ask (self, ASK_AGAIN, message->id, s_frame (message, false), true);
}

//  A service is known after its first serve, and for good.

static bool
s_all_served (world_t *world)
{
    if (!world->served)
        world->served = argos_sim_net_number (world->net, "SELECT count (*) FROM services") >=
                        ARGOS_SIM_SERVICES;
    return world->served;
}

void
argos_sim_sender_act (peer_t *self)
{
    world_t *world = self->world;
    if (!s_all_served (world))
        return;
    int index = argos_sim_random (world, self->stream_count);
    stream_t *stream = &self->streams[index];
    if (argos_sim_chance (world, world->odds.again) && !world->calm)
        s_again (self);
    if (stream->unsettled >= world->odds.pipeline)
        return;
    if (stream->next < stream->total)
        s_send (self, index,
            argos_sim_random (world, 100) < world->odds.side && stream->sides < ARGOS_SIM_SIDES);
}

void
argos_sim_sender_answered (peer_t *self, pending_t *pending, const argos_sim_msg_t *msg)
{
    message_t *message;
    int64_t seq = argos_sim_int (msg->body, "seq");
    if (strcmp (argos_sim_text (msg->body, "code"), "no_space") == 0)
        return; //  Again, when it has no patience any more
    HASH_FIND_STR (self->world->messages, pending->id, message);
    if (!message || strcmp (argos_sim_text (msg->header, "type"), "accepted") != 0)
        argos_sim_wrong (self->world, "%s: %s was refused %s", self->name, pending->id,
            argos_sim_text (msg->body, "code"));
    else if (message->seq && message->seq != seq)
        argos_sim_wrong (self->world, "%s: %s was accepted as %" PRId64 " and as %" PRId64,
            self->name, pending->id, message->seq, seq);
    else
        message->seq = seq;
    if (pending->ask == ASK_MESSAGE)
        self->streams[pending->stream].unsettled--;
    argos_sim_peer_drop (self, pending);
}
