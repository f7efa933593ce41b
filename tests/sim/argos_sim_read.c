//  argos_sim_read - readers of topics, short of credit, that resume where they were.
//
//  Invariant: numbers of a topic only rise, over all reconnects and restarts; at the end each kept
//  entry was seen once (argos_sim_check).

#include "argos_sim_world.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define CREDIT_LOW 4 //  Entries left when more is granted

//  A new session: nothing is subscribed, credit begins at 0.

void
argos_sim_reader_reset (peer_t *self)
{
    for (int i = 0; i < self->reading_count; i++)
        self->readings[i].subscribed = false;
    self->credit = self->received = 0;
}

void
argos_sim_reader_refused (peer_t *self, const char *topic)
{
    for (int i = 0; i < self->reading_count; i++)
        if (strcmp (self->readings[i].name, topic) == 0)
            self->readings[i].subscribed = false;
}

static void
s_grant (peer_t *self)
{
    char body[96];
    self->credit += 1 + argos_sim_random (self->world, 2 * CREDIT_LOW);
    snprintf (body, sizeof body, "{\"messages\":%" PRId64 ",\"bytes\":100000000}", self->credit);
    argos_sim_peer_send (self, argos_sim_frame_new ("{\"type\":\"credit\"}", body));
}

static void
s_subscribe (peer_t *self, reading_t *reading)
{
    char header[128], body[64];
    snprintf (header, sizeof header,
        "{\"type\":\"subscribe\",\"id\":\"sub.%s\",\"to\":\"topic:%s\"}", reading->name,
        reading->name);
    snprintf (body, sizeof body, "{\"from\":%" PRId64 "}", reading->next);
    reading->subscribed = true;
    argos_sim_trace (self->world, "%s: %s from %" PRId64, self->name, reading->name, reading->next);
    argos_sim_peer_send (self, argos_sim_frame_new (header, body));
}

void
argos_sim_reader_act (peer_t *self)
{
    if (self->reading_count == 0)
        return;
    //  One after the other; all at once where hours go by between two acts
    int first = argos_sim_random (self->world, self->reading_count);
    for (int i = 0; i < (self->world->calm ? self->reading_count : 1); i++) {
        reading_t *reading = &self->readings[(first + i) % self->reading_count];
        if (!reading->subscribed)
            s_subscribe (self, reading);
    }
    if (self->credit - self->received < CREDIT_LOW)
        s_grant (self);
}

void
argos_sim_reader_entry (peer_t *self, const argos_sim_msg_t *msg)
{
    const char *name = argos_sim_text (msg->meta, "topic");
    int64_t n = argos_sim_int (msg->meta, "n");
    self->received++;
    if (self->received > self->credit)
        argos_sim_wrong (self->world, "%s: more entries than credit", self->name);
    for (int i = 0; i < self->reading_count; i++) {
        reading_t *reading = &self->readings[i];
        if (strcmp (reading->name, name) != 0)
            continue;
        if (n < reading->next)
            argos_sim_wrong (self->world,
                "%s: topic %s: %" PRId64 " came when %" PRId64 " was the next", self->name, name, n,
                reading->next);
        argos_sim_trace (self->world, "%s: %s %" PRId64, self->name, name, n);
        reading->next = n + 1;
        if (json_is_true (json_object_get (msg->meta, "kept"))) {
            reading->kept++;
            reading->sum += n;
        }
    }
}

//  Whether it has been given all kept entries; the check tells whether they are the right ones.

bool
argos_sim_reader_done (const peer_t *self)
{
    for (int i = 0; i < self->reading_count; i++) {
        char sql[256];
        snprintf (sql, sizeof sql,
            "SELECT count (*) FROM journal WHERE topic = (SELECT id FROM topics WHERE name = '%s')",
            self->readings[i].name);
        int64_t there = argos_sim_net_number (self->world->net, sql);
        if (there <= self->readings[i].kept)
            continue;
        argos_sim_trace (self->world,
            "%s: %s has %" PRId64 " kept entries, %" PRId64 " came, next %" PRId64, self->name,
            self->readings[i].name, there, self->readings[i].kept, self->readings[i].next);
        return false;
    }
    return true;
}
