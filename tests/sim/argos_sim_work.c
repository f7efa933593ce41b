//  argos_sim_work - what is done under a lease: the gateway passes on, agents and relays write and
//  pass on, delivery keeps a receipt; with commits in between, side messages, parking, rejects.
//
//  Invariant: an effect outside that believes to be the first (attempt 1) happens once per row. A
//  lease has at most one question on its way.

#include "argos_sim_world.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEP_BEGIN, STEP_LOAD, STEP_EFFECT, STEP_COMMIT, STEP_DONE };

#define DELAY_MAX 300 //  Msec that a lane is parked at most

work_t *
argos_sim_work_find (peer_t *self, int64_t lease)
{
    work_t *work;
    DL_FOREACH (self->works, work)
        if (work->lease == lease)
            return work;
    return NULL;
}

void
argos_sim_work_drop (peer_t *self, work_t *work)
{
    pending_t *pending, *next;
    DL_FOREACH_SAFE (self->pending, pending, next)
        if (pending->lease == work->lease)
            argos_sim_peer_drop (self, pending);
    DL_DELETE (self->works, work);
    free (work);
}

//  Nothing but a done: notices, and side messages that nobody has taken.

static bool
s_plain (const work_t *work)
{
    return strcmp (work->type, "message.dead") == 0 || strcmp (work->type, "turn.stop") == 0 ||
           work->id[0] == 'x';
}

void
argos_sim_work_new (peer_t *self, const argos_sim_msg_t *msg)
{
    int64_t lease = argos_sim_int (msg->meta, "lease");
    if (argos_sim_work_find (self, lease)) {
        argos_sim_wrong (self->world, "%s: lease %" PRId64 " came twice", self->name, lease);
        return;
    }
    work_t *work = calloc (1, sizeof *work);
    if (!work)
        abort ();
    work->lease = lease;
    work->seq = argos_sim_int (msg->meta, "seq");
    work->attempt = argos_sim_int (msg->meta, "attempt");
    work->serial = (int) argos_sim_int (msg->body, "i");
    snprintf (work->type, sizeof work->type, "%s", argos_sim_text (msg->header, "type"));
    snprintf (work->key, sizeof work->key, "%s", argos_sim_text (msg->header, "key"));
    snprintf (work->own, sizeof work->own, "%s", argos_sim_text (msg->header, "id"));
    snprintf (work->id, sizeof work->id, "%s", argos_sim_text (msg->body, "id"));
    DL_APPEND (self->works, work);
    argos_sim_trace (self->world,
        "%s: leased %s (row %" PRId64 ", lease %" PRId64 ", attempt %" PRId64 ")", self->name,
        work->own, work->seq, lease, work->attempt);
}

void
argos_sim_work_mail (peer_t *self, const argos_sim_msg_t *msg)
{
    work_t *work = argos_sim_work_find (self, argos_sim_int (msg->meta, "lease"));
    int64_t seq = argos_sim_int (msg->meta, "seq");
    if (!work)
        return;
    for (size_t i = 0; i < work->side_count; i++)
        if (work->sides[i] == seq)
            return; //  Shown again after a resume
    if (work->side_count == ARGOS_SIM_SIDES)
        abort ();
    work->sides[work->side_count++] = seq;
    if (!json_object_get (msg->header, "not_before")) {
        if (seq < work->prompt)
            argos_sim_wrong (self->world,
                "%s: row %" PRId64 " is shown behind the later side message %" PRId64, self->name,
                seq, work->prompt);
        work->prompt = seq;
    }
    if (seq > work->newest)
        work->newest = seq;
}

//  ------------------------------------------------------------------------------------------------
//  What is sent under a lease

static void
s_topic (const peer_t *self, const work_t *work, char *target, size_t size)
{
    if (self->kind == KIND_AGENT)
        snprintf (target, size, "run.%s", work->id);
    else
        snprintf (target, size, "conv.%s", work->key);
}

static void
s_publish (peer_t *self, const work_t *work)
{
    char header[ARGOS_SIM_TEXT], topic[128];
    if (self->used >= self->granted)
        return;
    self->used++;
    s_topic (self, work, topic, sizeof topic);
    snprintf (header, sizeof header,
        "{\"type\":\"delta\",\"to\":\"topic:%s\",\"seq\":%" PRId64 ",\"lease\":%" PRId64 "%s}",
        topic, work->seq, work->lease,
        argos_sim_random (self->world, 3) == 0 ? ",\"keyframe\":true" : "");
    argos_sim_peer_send (self, argos_sim_frame_new (header, NULL));
}

static void
s_add_entry (peer_t *self, const work_t *work, frame_t *frame)
{
    char header[ARGOS_SIM_TEXT], body[ARGOS_SIM_TEXT], topic[128];
    s_topic (self, work, topic, sizeof topic);
    snprintf (
        header, sizeof header, "{\"type\":\"entry\",\"to\":\"topic:%s\",\"durable\":true}", topic);
    snprintf (
        body, sizeof body, "{\"lease\":%" PRId64 ",\"n\":%" PRId64 "}", work->lease, work->n + 1);
    argos_sim_frame_part (frame, header, body);
}

static void
s_add_row (
    const work_t *work, frame_t *frame, const char *type, const char *prefix, const char *service)
{
    char header[ARGOS_SIM_TEXT], body[ARGOS_SIM_TEXT];
    snprintf (header, sizeof header,
        "{\"type\":\"%s\",\"id\":\"%s.%s\",\"to\":\"service:%s\",\"key\":\"%s\",\"durable\":true}",
        type, prefix, work->id, service, work->key);
    snprintf (body, sizeof body, "{\"kind\":\"answer\",\"text\":\"t\",\"id\":\"%s\",\"i\":%d}",
        work->id, work->serial);
    argos_sim_frame_part (frame, header, body);
}

static void
s_add_append (const work_t *work, frame_t *frame, bool final)
{
    char body[ARGOS_SIM_TEXT];
    snprintf (body, sizeof body,
        "{\"session_id\":\"%s\",\"messages\":[{\"role\":\"assistant\",\"content\":\"%" PRId64
        " %s %d %s\"}]}",
        work->key, work->length, work->id, work->serial, final ? "final" : "step");
    argos_sim_frame_part (frame, "{\"type\":\"session.append\",\"to\":\"store\"}", body);
}

static void
s_add_store (const work_t *work, frame_t *frame, const char *type)
{
    char header[ARGOS_SIM_TEXT], body[ARGOS_SIM_TEXT];
    snprintf (header, sizeof header, "{\"type\":\"%s\",\"to\":\"store\"}", type);
    if (strcmp (type, "session.create") == 0)
        snprintf (body, sizeof body, "{\"id\":\"%s\"}", work->key);
    else if (strcmp (type, "receipt.put") == 0)
        snprintf (body, sizeof body, "{\"state\":\"sent\",\"platform_ids\":[\"%s\"]}", work->id);
    else
        snprintf (body, sizeof body, "{\"name\":\"last\",\"value\":%" PRId64 "}", work->seq);
    argos_sim_frame_part (frame, header, body);
}

//  Nothing, or little, waits where it will be put.

static void
s_add_expect (peer_t *self, const work_t *work, frame_t *frame)
{
    char body[ARGOS_SIM_TEXT];
    snprintf (body, sizeof body,
        "{\"row\":\"lane\",\"service\":\"turn\",\"key\":\"%s\",\"max\":%d}", work->key,
        argos_sim_random (self->world, 3));
    argos_sim_frame_part (frame, "{\"type\":\"expect\",\"to\":\"store\"}", body);
}

static void
s_add_parts (peer_t *self, const work_t *work, frame_t *frame, bool done)
{
    if (s_plain (work))
        return;
    if (self->kind == KIND_GATEWAY && done && !work->resigned)
        s_add_expect (self, work, frame);
    if (self->kind == KIND_GATEWAY && done && !work->plain)
        s_add_store (work, frame, "session.create");
    if (self->kind == KIND_GATEWAY && done)
        s_add_row (work, frame, "turn.request", "t", "turn");
    if (self->kind == KIND_AGENT)
        s_add_append (work, frame, done);
    if (self->kind == KIND_AGENT || self->kind == KIND_RELAY)
        s_add_entry (self, work, frame);
    if (self->kind == KIND_AGENT && done)
        s_add_row (work, frame, "deliver.request", "d", "deliver.a");
    if (self->kind == KIND_RELAY && done)
        s_add_row (work, frame, "deliver.request", "d", "deliver.b");
    if (self->kind == KIND_DELIVER && done)
        s_add_store (work, frame, "receipt.put");
    if (self->kind == KIND_DELIVER && !done)
        s_add_store (work, frame, "cursor.put");
}

//  "take" with all that was shown, or nothing

static void
s_taking (peer_t *self, work_t *work, char *target, size_t size)
{
    work->taking_count = argos_sim_random (self->world, 2) ? work->side_count : 0;
    memcpy (work->taking, work->sides, work->taking_count * sizeof work->taking[0]);
    size_t used = 0;
    target[0] = 0;
    for (size_t i = 0; i < work->taking_count; i++)
        used += (size_t) snprintf (target + used, size - used, "%s%" PRId64,
            i == 0 ? ",\"take\":[" : ",", work->taking[i]);
    if (work->taking_count)
        snprintf (target + used, size - used, "]");
}

static void
s_commit (peer_t *self, work_t *work, bool done)
{
    char header[ARGOS_SIM_TEXT], take[ARGOS_SIM_TEXT / 2], id[96];
    argos_sim_peer_make_id (self, id, sizeof id);
    s_taking (self, work, take, sizeof take);
    snprintf (header, sizeof header,
        "{\"type\":\"%s\",\"id\":\"%s\",\"seq\":%" PRId64 ",\"lease\":%" PRId64 ",\"n\":%" PRId64
        ",\"seen\":%" PRId64 "%s}",
        done ? "done" : "commit", id, work->seq, work->lease, work->n + 1, work->newest, take);
    frame_t *frame = argos_sim_frame_new (header, NULL);
    s_add_parts (self, work, frame, done);
    argos_sim_trace (self->world, "%s: %s", self->name, header);
    argos_sim_peer_ask (self, done ? ASK_DONE : ASK_COMMIT, id, frame, true)->lease = work->lease;
    work->waits = true;
}

static void
s_release (peer_t *self, work_t *work, const char *body)
{
    char header[ARGOS_SIM_TEXT], id[96];
    argos_sim_peer_make_id (self, id, sizeof id);
    snprintf (header, sizeof header,
        "{\"type\":\"release\",\"id\":\"%s\",\"seq\":%" PRId64 ",\"lease\":%" PRId64 "}", id,
        work->seq, work->lease);
    argos_sim_trace (self->world, "%s: %s %s", self->name, header, body);
    argos_sim_peer_ask (self, ASK_RELEASE, id, argos_sim_frame_new (header, body), false)->lease =
        work->lease;
    work->waits = true;
}

static void
s_load (peer_t *self, work_t *work)
{
    char header[ARGOS_SIM_TEXT], body[ARGOS_SIM_TEXT], id[96];
    argos_sim_peer_make_id (self, id, sizeof id);
    snprintf (
        header, sizeof header, "{\"type\":\"session.load\",\"id\":\"%s\",\"to\":\"store\"}", id);
    snprintf (body, sizeof body, "{\"id\":\"%s\"}", work->key);
    argos_sim_peer_ask (self, ASK_READ, id, argos_sim_frame_new (header, body), true)->lease =
        work->lease;
    work->waits = true;
}

static void
s_effect (peer_t *self, const work_t *work)
{
    effect_t *effect;
    if (work->attempt != 1)
        return;
    HASH_FIND (hh, self->world->effects, &work->seq, sizeof work->seq, effect);
    if (!effect) {
        effect = calloc (1, sizeof *effect);
        if (!effect)
            abort ();
        effect->seq = work->seq;
        HASH_ADD (hh, self->world->effects, seq, sizeof effect->seq, effect);
    }
    if (++effect->clean > 1)
        argos_sim_wrong (self->world, "%s: row %" PRId64 " had a second effect without a mark",
            self->name, work->seq);
}

//  A lease that was lost while its holder slept: some holders write once more, in vain.

static void
s_write_in_vain (peer_t *self, work_t *work)
{
    char header[ARGOS_SIM_TEXT];
    snprintf (header, sizeof header,
        "{\"type\":\"commit\",\"id\":\"vain-%" PRId64 "\",\"seq\":%" PRId64 ",\"lease\":%" PRId64
        ",\"n\":%d}",
        work->lease, work->seq, work->lease, 1 + argos_sim_random (self->world, 2));
    frame_t *frame = argos_sim_frame_new (header, NULL);
    s_add_parts (self, work, frame, false);
    self->used++;
    argos_sim_peer_send (self, frame);
}

void
argos_sim_work_verdict (peer_t *self, int64_t lease, const char *state)
{
    work_t *work = argos_sim_work_find (self, lease);
    argos_sim_trace (self->world, "%s: lease %" PRId64 " is %s", self->name, lease, state);
    if (!work || strcmp (state, "valid") == 0)
        return;
    if (strcmp (state, "lost") == 0 && self->used < self->granted)
        s_write_in_vain (self, work);
    argos_sim_work_drop (self, work);
}

//  ------------------------------------------------------------------------------------------------
//  Steps

static void
s_begin (peer_t *self, work_t *work)
{
    world_t *world = self->world;
    bool calm = world->calm;
    if (s_plain (work))
        work->step = STEP_DONE;
    else if (!calm && argos_sim_random (world, 100) < world->odds.park) {
        char body[96];
        snprintf (body, sizeof body, "{\"delay_ms\":%d,\"clean\":true}",
            argos_sim_random (world, DELAY_MAX));
        s_release (self, work, body);
    }
    else if (!calm && argos_sim_random (world, 1000) < world->odds.reject)
        s_release (self, work, "{\"reject\":\"invalid\"}");
    else
        work->step = self->kind == KIND_AGENT ? STEP_LOAD : STEP_EFFECT;
}

static void
s_step (peer_t *self, work_t *work)
{
    switch (work->step) {
    case STEP_BEGIN:
        s_begin (self, work);
        break;
    case STEP_LOAD:
        s_load (self, work);
        break;
    case STEP_EFFECT:
        s_effect (self, work);
        work->commits = argos_sim_random (self->world, 3);
        work->step = work->commits ? STEP_COMMIT : STEP_DONE;
        break;
    case STEP_COMMIT:
        if ((self->kind == KIND_AGENT || self->kind == KIND_RELAY) &&
            argos_sim_random (self->world, 2))
            s_publish (self, work);
        s_commit (self, work, false);
        if ((self->kind == KIND_AGENT || self->kind == KIND_RELAY) &&
            argos_sim_random (self->world, 2))
            s_publish (self, work);
        break;
    default:
        s_commit (self, work, true);
    }
}

void
argos_sim_work_act (peer_t *self)
{
    work_t *work;
    int count = 0;
    DL_COUNT (self->works, work, count);
    int skip = argos_sim_random (self->world, count);
    DL_FOREACH (self->works, work)
        if (skip-- == 0 && !work->waits)
            s_step (self, work);
}

//  ------------------------------------------------------------------------------------------------
//  Answers

static void
s_forget_taken (work_t *work)
{
    size_t left = 0;
    for (size_t i = 0; i < work->side_count; i++) {
        bool taken = false;
        for (size_t j = 0; j < work->taking_count; j++)
            taken = taken || work->taking[j] == work->sides[i];
        if (!taken)
            work->sides[left++] = work->sides[i];
    }
    work->side_count = left;
    work->taking_count = 0;
}

static void
s_committed (peer_t *self, work_t *work)
{
    work->n++;
    if (self->kind == KIND_AGENT && !s_plain (work))
        work->length++;
    s_forget_taken (work);
    if (--work->commits <= 0)
        work->step = STEP_DONE;
}

static void
s_accepted (peer_t *self, work_t *work, ask_t ask, const argos_sim_msg_t *msg)
{
    if (ask == ASK_DONE || ask == ASK_RELEASE) {
        argos_sim_work_drop (self, work);
        return;
    }
    work->waits = false;
    if (ask == ASK_COMMIT)
        s_committed (self, work);
    else if (work->step == STEP_LOAD) {
        work->length = (int64_t) json_array_size (json_object_get (msg->body, "messages"));
        work->step = STEP_EFFECT;
    }
}

static void
s_refused (peer_t *self, work_t *work, ask_t ask, const argos_sim_msg_t *msg)
{
    const char *code = argos_sim_text (msg->body, "code");
    bool conflict = strcmp (code, "conflict") == 0 && self->kind == KIND_GATEWAY &&
                    (!work->plain || !work->resigned);
    bool fenced = strcmp (code, "fenced") == 0;
    argos_sim_trace (
        self->world, "%s: lease %" PRId64 " refused %s", self->name, work->lease, code);
    if (fenced || (ask == ASK_RELEASE && strcmp (code, "not_found") == 0))
        argos_sim_work_drop (self, work);
    else if (ask == ASK_DONE && (conflict || strcmp (code, "mail") == 0)) {
        bool first = argos_sim_int (msg->body, "part") == 0;
        work->plain = work->plain || (conflict && !(first && !work->resigned));
        work->resigned = work->resigned || (conflict && first);
        work->waits = false;
    }
    else if (strcmp (code, "no_space") == 0)
        work->waits = false;
    else {
        argos_sim_wrong (self->world, "%s: %s refused %s: %s", self->name, work->own, code,
            argos_sim_text (msg->body, "reason"));
        argos_sim_work_drop (self, work);
    }
}

void
argos_sim_work_answered (peer_t *self, pending_t *pending, const argos_sim_msg_t *msg)
{
    work_t *work = argos_sim_work_find (self, pending->lease);
    ask_t ask = pending->ask;
    argos_sim_peer_drop (self, pending);
    if (!work)
        return;
    if (strcmp (argos_sim_text (msg->header, "type"), "refused") == 0)
        s_refused (self, work, ask, msg);
    else
        s_accepted (self, work, ask, msg);
}
