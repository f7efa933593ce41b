//  argos_agent_steer - what the user says to a running turn.
//
//  A turn.request that is a side message is shown to the holder of its lane. The commit that stores
//  the last results of a round of tools takes it: its text becomes a message of the user behind the
//  results, its run is over. Invariant: whatever is not taken stays in the lane, where it is a
//  turn in its place. Limits: AGENT_STEERS_MAX at a time, AGENT_USER_MAX
//  bytes of a commit; more stay in the lane.

#include "argos_agent_priv.h"

#include <string.h>

void
turn_steer (turn_t *self, const argos_peer_msg_t *msg)
{
    for (size_t i = 0; i < self->steer_count; i++)
        if (self->steers[i].seq == msg->seq)
            return; //  Told twice
    self->steers_seen++;
    self->sides++;
    if (self->steer_count < AGENT_STEERS_MAX)
        self->steers[self->steer_count++] =
            (steer_t){ .seq = msg->seq, .body = json_incref (msg->body) };
}

//  A user message may stand only behind the results of all calls. So many are taken that the commit
//  stays within its limits; what alone is too long is a turn in its place.
void
turn_mark_steers (turn_t *self)
{
    bool last = true;
    size_t bytes = 0;
    for (size_t i = 0; i < self->tool_count; i++)
        last = last && (self->tools[i].stored || self->tools[i].storing);
    for (size_t i = 0; i < self->steer_count; i++) {
        steer_t *steer = &self->steers[i];
        size_t more = json_string_length (json_object_get (steer->body, "text"));
        bytes += more;
        steer->storing = last = last && bytes <= AGENT_USER_MAX; //  None overtakes another
    }
}

size_t
turn_takes_steers (const turn_t *self, int64_t *takes)
{
    size_t count = 0;
    for (size_t i = 0; i < self->steer_count; i++)
        if (self->steers[i].storing)
            takes[count++] = self->steers[i].seq;
    return count;
}

json_t *
steer_row (const turn_t *self, const steer_t *steer)
{
    return json_pack ("{s:s, s:o, s:s}", "role", "user", "content", turn_user_new (steer->body),
        "run_id", self->run_id);
}

void
turn_steers_settled (turn_t *self, bool stored)
{
    size_t kept = 0;
    for (size_t i = 0; i < self->steer_count; i++) {
        steer_t *steer = &self->steers[i];
        if (steer->storing && stored) {
            json_array_append_new (self->rows, steer_row (self, steer));
            json_decref (steer->body);
            self->sides--;
            continue;
        }
        steer->storing = false;
        self->steers[kept++] = *steer;
    }
    self->steer_count = kept;
}

void
turn_clear_steers (turn_t *self)
{
    for (size_t i = 0; i < self->steer_count; i++)
        json_decref (self->steers[i].body);
    self->steer_count = 0;
}
