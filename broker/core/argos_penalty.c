//  argos_penalty - peers that are a nuisance: how much of what counts in no window is borne, and
//  how long who was put out for its doings stays out.
//
//  Invariant: a session's noise is that of its connection, so a further hello does not begin anew.
//  Our own actors are not charged. Limits: 50,000 points in 10 s; a word costs one, what is no
//  message 48, a hello 480. 64 names are kept out at a time, 5 s each; one more takes the place of
//  the oldest.

#include "argos_core_priv.h"

#include <string.h>

#define NOISE_MAX 50000
#define NOISE_MS 10000
#define OUT_MS 5000

//  Charges a session. Returns false when that was too much: it has been put out, and is gone.

bool
argos_penalty_charge (session_t *session, int cost)
{
    argos_core_t *self = session->core;
    noise_t *noise = &session->noise;
    if (argos_role_all (session->role))
        return true;
    if (self->mono - noise->since > NOISE_MS)
        *noise = (noise_t){ .since = self->mono };
    noise->points += cost;
    if (noise->points <= NOISE_MAX)
        return true;
    argos_session_cut (session, CUT_NOISE, -1);
    return false;
}

//  What a connection has on its account, for its next session.

noise_t
argos_penalty_of (argos_core_t *self, uint64_t conn)
{
    const session_t *session = argos_core_session (self, conn);
    return session ? session->noise : (noise_t){ 0 };
}

//  Whoever bears that name stays out for a while.

void
argos_penalty_begin (argos_core_t *self, const char *name)
{
    outcast_t *oldest = &self->outcasts[0];
    for (size_t i = 1; i < OUTCASTS; i++)
        if (self->outcasts[i].until < oldest->until)
            oldest = &self->outcasts[i];
    memcpy (oldest->name, name, strlen (name) + 1);
    oldest->until = self->mono + OUT_MS;
}

bool
argos_penalty_holds (const argos_core_t *self, const char *name)
{
    for (size_t i = 0; i < OUTCASTS; i++)
        if (self->outcasts[i].until > self->mono && strcmp (self->outcasts[i].name, name) == 0)
            return true;
    return false;
}
