//  argos_agent_stop - side messages: stops of this turn, of queued runs, and the end of a session.
//
//  A stop that concerns this turn moves it (HALT, LISTING, CLEARING, STOPPING). A stop of another
//  run is settled beside the turn by a commit of its own. Invariant: a side message leaves the list
//  only when a commit that takes it has been accepted.

#include "argos_agent_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    turn_t *turn;   //  Holds a reference
    unsigned epoch; //  Of the turn when it was asked
    bool side;      //  For a side job
} s_ticket_t;

static bool
s_stopping (const turn_t *self)
{
    return self->state == ARGOS_TURN_LISTING || self->state == ARGOS_TURN_CLEARING ||
           self->state == ARGOS_TURN_STOPPING || self->state == ARGOS_TURN_PAUSING;
}

//  The side message that stops this turn, for its reason; NULL when there is none
const mail_t *
turn_own_mail (const turn_t *self)
{
    for (size_t i = 0; i < self->mail_count; i++)
        if (self->mails[i].own)
            return &self->mails[i];
    return self->mail_count ? &self->mails[0] : NULL;
}

static mail_t *
s_add_mail (turn_t *self, const argos_peer_msg_t *msg)
{
    for (size_t i = 0; i < self->mail_count; i++)
        if (self->mails[i].seq == msg->seq)
            return NULL; //  Told twice
    if (self->mail_count == AGENT_MAILS_MAX)
        return NULL;
    if (!self->mails)
        self->mails = (mail_t *) malloc (AGENT_MAILS_MAX * sizeof *self->mails);
    if (!self->mails)
        abort ();
    mail_t *mail = &self->mails[self->mail_count++];
    *mail = (mail_t){ .seq = msg->seq, .end = strcmp (msg->type, "session.end") == 0 };
    const char *run_id = json_string_value (json_object_get (msg->body, "run_id"));
    const char *reason = json_string_value (json_object_get (msg->body, "reason"));
    snprintf (mail->run_id, sizeof mail->run_id, "%s", run_id && !mail->end ? run_id : "");
    snprintf (mail->reason, sizeof mail->reason, "%s", reason ? reason : "");
    mail->quiet = json_is_true (json_object_get (msg->body, "quiet"));
    bool all = !*mail->run_id && (mail->end || strcmp (msg->type, "turn.stop") == 0);
    mail->own = (all && mail->seq > self->seq) ||
                (*mail->run_id && strcmp (mail->run_id, self->run_id) == 0);
    return mail;
}

//  A steer changes nothing by itself: it is taken when tools have answered, or is the next turn. A
//  done that was refused because of it can be sent again.
static void
s_steer (turn_t *self, const argos_peer_msg_t *msg)
{
    turn_steer (self, msg);
    turn_event (self, s_stopping (self) ? ARGOS_TURN_STOP : ARGOS_TURN_CLEAR);
}

static bool
s_is_reply (const argos_peer_msg_t *msg)
{
    return strcmp (msg->type, "question.answer") == 0 || strcmp (msg->type, "delegate.result") == 0;
}

//  The same holds for an answer that no call waits for
static void
s_reply (turn_t *self, const argos_peer_msg_t *msg)
{
    turn_reply (self, msg);
    turn_event (self, s_stopping (self) ? ARGOS_TURN_STOP : ARGOS_TURN_CLEAR);
}

void
turn_mail (turn_t *self, const argos_peer_msg_t *msg)
{
    if (s_is_reply (msg)) {
        s_reply (self, msg);
        return;
    }
    if (strcmp (msg->type, "turn.request") == 0) {
        s_steer (self, msg);
        return;
    }
    mail_t *mail = s_add_mail (self, msg);
    if (!mail)
        return;
    if (mail->own && self->state == ARGOS_TURN_LOADING) {
        turn_skip_images (self);
        return; //  What is open is to be known first, so that it can be closed
    }
    if (mail->own || s_stopping (self))
        turn_event (self, ARGOS_TURN_STOP);
    else
        turn_side (self);
}

//  The head of the lane is a stop itself: there is no turn to be stopped, only what is older. An
//  answer that nobody waits for is of no use.
void
turn_head_mail (turn_t *self, const argos_peer_msg_t *msg)
{
    if (!s_is_reply (msg))
        s_add_mail (self, msg);
    turn_event (self, ARGOS_TURN_STOP);
}

//  Everything of the lane below this place is to be cancelled
static int64_t
s_upto (const turn_t *self)
{
    int64_t upto = 0;
    for (size_t i = 0; i < self->mail_count; i++)
        if (!*self->mails[i].run_id && self->mails[i].seq > upto)
            upto = self->mails[i].seq;
    return upto;
}

static bool
s_names (const turn_t *self, const char *run_id, bool side)
{
    for (size_t i = 0; i < self->mail_count; i++)
        if (!(side && self->mails[i].left) && strcmp (self->mails[i].run_id, run_id) == 0)
            return true;
    return false;
}

//  The queued turns that the side messages cancel, at most so many as one commit holds
static void
s_pick (turn_t *self, const json_t *messages, bool side)
{
    int64_t upto = side ? 0 : s_upto (self);
    size_t i;
    json_t *message;
    json_array_clear (self->queued);
    json_array_foreach (messages, i, message) {
        int64_t seq = json_integer_value (json_object_get (message, "seq"));
        const char *type = json_string_value (json_object_get (message, "type"));
        const char *id = json_string_value (json_object_get (message, "id"));
        if (!type || !id || seq == self->seq || strcmp (type, "turn.request") != 0)
            continue;
        if ((seq < upto || s_names (self, id, side)) &&
            json_array_size (self->queued) < AGENT_CLEAR_MAX)
            json_array_append (self->queued, message);
    }
}

static void
s_on_list (void *arg, const argos_peer_answer_t *answer)
{
    s_ticket_t *ticket = (s_ticket_t *) arg;
    turn_t *turn = ticket->turn;
    bool side = ticket->side;
    bool current = ticket->epoch == turn->epoch && turn->state != ARGOS_TURN_OVER;
    free (ticket);
    const json_t *messages =
        answer->code == ARGOS_OK ? json_object_get (answer->body, "messages") : NULL;
    if (side)
        turn->side_listing = false;
    if (current && side && json_is_array (messages)) {
        s_pick (turn, messages, true);
        turn->side_ready = true;
        turn_pump (turn);
    }
    else if (current && side)
        turn_side_settled (turn, false);
    else if (current && !json_is_array (messages))
        turn_event (turn, ARGOS_TURN_REFUSED);
    else if (current) {
        s_pick (turn, messages, false);
        turn_event (
            turn, json_array_size (turn->queued) ? ARGOS_TURN_LISTED_MORE : ARGOS_TURN_LISTED);
    }
    turn_unref (turn);
}

static bool
s_ask_list (turn_t *self, bool side)
{
    s_ticket_t *ticket = (s_ticket_t *) malloc (sizeof *ticket);
    if (!ticket)
        abort ();
    *ticket = (s_ticket_t){ self, self->epoch, side };
    argos_peer_part_t part = { .type = "lane.list",
        .to = "store",
        .body = json_pack ("{s:s, s:s}", "service", "turn", "key", self->key) };
    self->refs++;
    if (argos_peer_send (self->agent->peer, &part, s_on_list, ticket) == ARGOS_OK)
        return true;
    self->refs--;
    free (ticket);
    return false;
}

//  Only what names this run: nothing else in the lane is concerned
static bool
s_needs_list (const turn_t *self)
{
    for (size_t i = 0; i < self->mail_count; i++)
        if (strcmp (self->mails[i].run_id, self->run_id) != 0 || !*self->run_id)
            return true;
    return false;
}

void
turn_list (turn_t *self)
{
    if (!s_needs_list (self)) //  Nor when the head is an answer to nobody
        turn_event (self, ARGOS_TURN_LISTED);
    else if (!s_ask_list (self, false))
        turn_event (self, ARGOS_TURN_REFUSED);
}

//  At once: no provider, no tool; then see what else is to be cancelled
void
turn_halt (turn_t *self)
{
    turn_abort_call (self);
    turn_cancel_tools (self, "Cancelled by the user. Its outcome is not known.");
    self->epoch++;
    self->want = JOB_NONE;
    self->side_ready = self->side_listing = false;
    turn_list (self);
}

//  Stops of other runs that can't be settled now stay in the lane and become heads
static void
s_leave_others (turn_t *self)
{
    for (size_t i = 0; i < self->mail_count; i++) {
        mail_t *mail = &self->mails[i];
        mail->taking = false;
        if (!mail->own && !s_stopping (self))
            mail->left = true;
    }
    turn_event (self, ARGOS_TURN_CLEAR);
}

//  A done was refused for mail: it may be here already
void
turn_await_mail (turn_t *self)
{
    bool own = false, other = false;
    for (size_t i = 0; i < self->mail_count; i++) {
        own = own || self->mails[i].own;
        other = other || (!self->mails[i].own && !self->mails[i].left);
    }
    bool steer = self->steers_seen > self->steers_told;
    if (self->state == ARGOS_TURN_PAUSING ? self->mail_count > self->mails_told || steer : own)
        turn_event (self, ARGOS_TURN_STOP);
    else if (other)
        turn_side (self);
    else if (steer)
        turn_event (self, ARGOS_TURN_CLEAR);
}

//  Seqs that the commit of this job consumes beside the head
size_t
turn_takes (turn_t *self, job_t job, int64_t *takes)
{
    size_t count = 0, i;
    json_t *message;
    if (job == JOB_CLEAR || job == JOB_SIDE)
        json_array_foreach (self->queued, i, message)
            takes[count++] = json_integer_value (json_object_get (message, "seq"));
    for (i = 0; i < self->mail_count && count < 64; i++) {
        mail_t *mail = &self->mails[i];
        mail->taking = mail->seq != self->seq &&
                       (job == JOB_STOP || (job == JOB_SIDE && !mail->own && !mail->left));
        if (mail->taking)
            takes[count++] = mail->seq;
    }
    if (job == JOB_RESULTS)
        count += turn_takes_steers (self, takes + count);
    if (job == JOB_RESULTS || (job == JOB_STOP && count + AGENT_ANSWERS_MAX <= 64))
        count += turn_takes_replies (self, job == JOB_STOP, takes + count);
    return count;
}

//  A stop for another run: look for it in the lane, beside the turn
void
turn_side (turn_t *self)
{
    if (self->side_listing || self->side_ready || self->flying == JOB_SIDE)
        return; //  The one on its way is followed by another
    self->side_listing = s_ask_list (self, true);
    if (!self->side_listing)
        s_leave_others (self);
}

//  What was taken is gone; what could not be taken stays in the lane
void
turn_side_settled (turn_t *self, bool accepted)
{
    size_t kept = 0;
    bool more = false;
    if (!accepted) {
        s_leave_others (self);
        return;
    }
    for (size_t i = 0; i < self->mail_count; i++) {
        const mail_t *mail = &self->mails[i];
        if (mail->taking)
            continue;
        more = more || (!mail->own && !mail->left);
        self->mails[kept++] = *mail;
    }
    self->mail_count = kept;
    if (s_stopping (self) && self->state != ARGOS_TURN_PAUSING)
        return;
    if (more)
        turn_side (self);
    else
        turn_event (self, ARGOS_TURN_CLEAR);
}
