//  argos_slow - sessions whose connection takes nothing.
//
//  Invariant: from the first message that a connection does not take, its session gets nothing new;
//  a word is tried once a second, and after slow_ms the peer is put out. When an answer was lost,
//  the session ends as soon as the connection takes something: the peer says hello again and
//  repeats what was not answered, so that no answer is lost by having been sent in vain. Limits:
//  none of its own.

#include "argos_core_priv.h"

#define PROBE_MS 1000 //  Between two tries

//  The connection takes messages again. Who has lost an answer says hello again, which settles
//  everything.

void
argos_slow_over (session_t *session)
{
    argos_timer_clear (&session->core->timers, &session->probe);
    if (!session->owed) {
        argos_session_wake (session);
        return;
    }
    argos_core_refuse (session->core, session->conn, "", ARGOS_NO_SESSION,
        "an answer could not be sent to you; say hello again", -1, false);
    argos_session_end (&session, -2);
}

static void
s_probe (void *arg)
{
    session_t *session = arg;
    argos_core_t *self = session->core;
    if (session->slow && self->mono - session->slow >= self->config.slow_ms) {
        argos_session_cut (session, CUT_SLOW, -2);
        return;
    }
    if (session->slow)
        argos_session_tell_grant (session); //  It says nothing new; whether it is taken counts
    if (session->slow)
        argos_timer_set (&self->timers, &session->probe, self->mono + PROBE_MS, s_probe, session);
    else
        argos_slow_over (session);
}

//  The connection has not taken a message; owed: that was an answer which nobody will send again.

void
argos_slow_begin (session_t *session, bool owed)
{
    argos_core_t *self = session->core;
    session->quiet = true;
    session->owed |= owed;
    if (session->slow || !session->open)
        return;
    session->slow = self->mono ? self->mono : 1;
    self->slow_sessions++;
    argos_timer_set (&self->timers, &session->probe, self->mono + PROBE_MS, s_probe, session);
}

//  It has taken one. What follows from that is done at the end of the message or by the probe, not
//  in the midst of a call.

void
argos_slow_end (session_t *session)
{
    if (!session->slow)
        return;
    session->slow = 0;
    session->core->slow_sessions--;
}
