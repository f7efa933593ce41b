//  argos_agent_grants - what people have allowed for good, or for this session.
//
//  A grant is a record of the space `grant`, key "<session id>/<pattern>" or "*/<pattern>". They
//  are read when a call would have to be asked for, once in a turn; an answer of this turn adds to
//  them. Limits: 200 of each kind.

#include "argos_agent_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    turn_t *turn;   //  Holds a reference
    unsigned epoch; //  Of the turn when it was asked
} s_ticket_t;

static void s_read (turn_t *self, bool all);

//  The patterns in the keys of records
static void
s_add (json_t *grants, const json_t *records)
{
    size_t i;
    json_t *record;
    json_array_foreach (records, i, record) {
        const char *key = json_string_value (json_object_get (record, "key"));
        const char *slash = key ? strrchr (key, '/') : NULL;
        if (slash)
            json_array_append_new (grants, json_string (slash + 1));
    }
}

static void
s_on_grants (void *arg, const argos_peer_answer_t *answer)
{
    s_ticket_t *ticket = (s_ticket_t *) arg;
    turn_t *turn = ticket->turn;
    bool current = ticket->epoch == turn->epoch && turn->state == ARGOS_TURN_DECIDING;
    free (ticket);
    if (current && answer->code != ARGOS_OK)
        turn_event (turn, ARGOS_TURN_PAUSE);
    else if (current) {
        bool first = !turn->grants;
        if (first)
            turn->grants = json_array ();
        s_add (turn->grants, json_object_get (answer->body, "records"));
        if (first)
            s_read (turn, true);
        else
            turn_decide (turn);
    }
    turn_unref (turn);
}

static void
s_read (turn_t *self, bool all)
{
    s_ticket_t *ticket = (s_ticket_t *) malloc (sizeof *ticket);
    if (!ticket)
        abort ();
    *ticket = (s_ticket_t){ self, self->epoch };
    argos_peer_part_t part = { .type = "record.list",
        .to = "store",
        .body = json_pack ("{s:s, s:s+, s:i}", "space", "grant", "prefix",
            all ? "*" : self->session, "/", "limit", 200) };
    self->refs++;
    if (argos_peer_send (self->agent->peer, &part, s_on_grants, ticket) == ARGOS_OK)
        return;
    self->refs--;
    free (ticket);
    turn_event (self, ARGOS_TURN_PAUSE);
}

void
turn_read_grants (turn_t *self)
{
    s_read (self, false);
}
