//  argos_sim_ask - requests: who asks, who answers; and an operator who sends dead letters again.
//
//  Invariant: a request is answered once, by its answer or by a refusal, as long as the session of
//  the asker lasts; nobody hears of a request of another.

#include "argos_sim_world.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TTL_MAX 2000    //  Msec until a request is too late, at most
#define UNDER_WAY_MAX 4 //  Requests of an asker at a time

static question_t *
s_find (peer_t *self, const char *id)
{
    question_t *question;
    DL_FOREACH (self->questions, question)
        if (strcmp (question->id, id) == 0)
            return question;
    return NULL;
}

static void
s_add (peer_t *self, const char *id, const char *from)
{
    question_t *question = calloc (1, sizeof *question);
    if (!question)
        abort ();
    snprintf (question->id, sizeof question->id, "%s", id);
    snprintf (question->from, sizeof question->from, "%s", from);
    DL_APPEND (self->questions, question);
}

static void
s_drop (peer_t *self, question_t *question)
{
    DL_DELETE (self->questions, question);
    free (question);
}

void
argos_sim_ask_reset (peer_t *self)
{
    while (self->questions)
        s_drop (self, self->questions);
}

static int
s_open (const peer_t *self)
{
    const question_t *question;
    int count = 0;
    DL_FOREACH (self->questions, question)
        count += !question->over;
    return count;
}

bool
argos_sim_ask_open (const peer_t *self)
{
    return s_open (self) > 0;
}

void
argos_sim_asker_act (peer_t *self)
{
    char id[96], header[ARGOS_SIM_TEXT], body[ARGOS_SIM_TEXT];
    int count = s_open (self);
    if (!self->questions_left || count == UNDER_WAY_MAX || !self->world->served ||
        self->used >= self->granted)
        return;
    self->used++;
    self->questions_left--;
    argos_sim_peer_make_id (self, id, sizeof id);
    snprintf (header, sizeof header,
        "{\"type\":\"question\",\"id\":\"%s\",\"to\":\"service:ask\",\"ttl_ms\":%d}", id,
        1 + argos_sim_random (self->world, TTL_MAX));
    snprintf (body, sizeof body, "{\"id\":\"%s\"}", id);
    argos_sim_trace (self->world, "%s: asks %s", self->name, id);
    s_add (self, id, "");
    argos_sim_peer_send (self, argos_sim_frame_new (header, body));
}

void
argos_sim_answerer_act (peer_t *self)
{
    char header[ARGOS_SIM_TEXT], body[ARGOS_SIM_TEXT];
    question_t *question = self->questions;
    while (question && question->over)
        question = question->next;
    if (!question || argos_sim_random (self->world, 3) || self->used >= self->granted)
        return;
    //  Now and then it says nothing, and the deadline has to end it
    question->over = argos_sim_random (self->world, 8) == 0;
    if (question->over)
        return;
    self->used++;
    snprintf (header, sizeof header, "{\"type\":\"answer\",\"to\":\"actor:%s\",\"re\":\"%s\"}",
        question->from, question->id);
    snprintf (body, sizeof body, "{\"id\":\"%s\"}", question->id);
    s_drop (self, question);
    argos_sim_peer_send (self, argos_sim_frame_new (header, body));
}

//  An answer or a refusal. What was asked in an earlier session may still arrive: its id is not in
//  the list, and that of this one is there once.

static bool
s_answer (peer_t *self, const argos_sim_msg_t *msg, const char *re)
{
    question_t *question = s_find (self, re);
    if (!question)
        return strncmp (re, "asker-", 6) == 0 && strcmp (re, self->hello) != 0;
    const char *type = argos_sim_text (msg->header, "type");
    const char *code = argos_sim_text (msg->body, "code");
    argos_sim_trace (self->world, "%s: %s to %s %s", self->name, type, re, code);
    if (strcmp (type, "answer") == 0 && strcmp (argos_sim_text (msg->body, "id"), re) != 0)
        argos_sim_wrong (self->world, "%s: %s got the answer to another question", self->name, re);
    if (strcmp (type, "refused") == 0 && strcmp (code, "no_session") == 0)
        return false; //  The session's own
    bool unsent = json_is_false (json_object_get (msg->body, "sent"));
    if (strcmp (type, "refused") == 0 && strcmp (code, "expired") != 0 &&
        strcmp (code, "gone") != 0 && !(strcmp (code, "no_peer") == 0 && unsent))
        argos_sim_wrong (self->world, "%s: %s was refused %s", self->name, re, code);
    if (question->over)
        argos_sim_wrong (self->world, "%s: %s was answered twice", self->name, re);
    question->over = true;
    return true;
}

bool
argos_sim_ask_receive (peer_t *self, const argos_sim_msg_t *msg)
{
    const char *type = argos_sim_text (msg->header, "type");
    const char *re = argos_sim_text (msg->header, "re");
    if (self->kind == KIND_ASKER && *re)
        return s_answer (self, msg, re);
    if (self->kind != KIND_ANSWERER)
        return false;
    if (strcmp (type, "question") == 0) {
        if (s_find (self, argos_sim_text (msg->header, "id")))
            argos_sim_wrong (self->world, "%s: a question came twice", self->name);
        s_add (self, argos_sim_text (msg->header, "id"), argos_sim_text (msg->meta, "from"));
        return true;
    }
    if (strcmp (type, "cancel") != 0)
        return false;
    question_t *question = s_find (self, re);
    if (question)
        s_drop (self, question);
    return true;
}

//  ------------------------------------------------------------------------------------------------
//  Dead letters

//  Whom a dead letter goes back to: ID, t.ID or d.ID of its chain.

static message_t *
s_message (world_t *world, const char *id)
{
    message_t *message;
    HASH_FIND_STR (world->messages, id, message);
    if (!message && id[0] && id[1] == '.')
        HASH_FIND_STR (world->messages, id + 2, message);
    return message;
}

typedef struct {
    char seq[24]; //  Of a dead letter
    char id[96];  //  Its id
} dead_t;

static void
s_dead (void *arg, int columns, char **values)
{
    dead_t *dead = arg;
    (void) columns;
    snprintf (dead->seq, sizeof dead->seq, "%s", values[0]);
    snprintf (dead->id, sizeof dead->id, "%s", values[1]);
}

void
argos_sim_operator_act (peer_t *self)
{
    char id[96], header[ARGOS_SIM_TEXT], body[ARGOS_SIM_TEXT];
    dead_t dead = { "", "" };
    if (self->world->calm || self->pending ||
        !argos_sim_chance (self->world, self->world->odds.redrive))
        return;
    argos_sim_net_query (self->world->net,
        "SELECT seq, id FROM dead WHERE type <> 'message.dead' ORDER BY died_at, seq LIMIT 1",
        s_dead, &dead);
    message_t *message = s_message (self->world, dead.id);
    if (!message)
        return;
    message->redriven = true;
    argos_sim_peer_make_id (self, id, sizeof id);
    snprintf (header, sizeof header, "{\"type\":\"commit\",\"id\":\"%s\"}", id);
    snprintf (body, sizeof body, "{\"seq\":%s}", dead.seq);
    frame_t *frame = argos_sim_frame_new (header, NULL);
    argos_sim_frame_part (frame, "{\"type\":\"dead.redrive\",\"to\":\"store\"}", body);
    argos_sim_trace (self->world, "%s: sends %s again", self->name, dead.id);
    argos_sim_peer_ask (self, ASK_REDRIVE, id, frame, true);
}

void
argos_sim_operator_answered (peer_t *self, pending_t *pending, const argos_sim_msg_t *msg)
{
    const char *code = argos_sim_text (msg->body, "code");
    if (strcmp (code, "no_space") == 0)
        return; //  Again, when it has no patience any more
    if (*code)
        argos_sim_wrong (self->world, "%s: refused %s", self->name, code);
    argos_sim_peer_drop (self, pending);
}
