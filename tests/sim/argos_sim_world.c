//  argos_sim_world - the world of one seed: who is there, what happens next, what breaks.
//
//  Invariant: nothing is random but through argos_sim_random. Frames of one link stay in order; all
//  else happens in any order.

#include "argos_sim_world.h"

#include "argos_buggify.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DRAIN_MAX 60000 //  Steps without faults before it is said that something is stuck
#define BATCH_MAX 64    //  Requests of one transaction

//  Local peers also pass answers on and deliver them, to services without an account

#define ROLES                                                                                      \
    "{\"sim\":{\"send\":[\"deliver.request service:deliver.>\"],\"lease\":[\"deliver.>\"]}}"

//  ------------------------------------------------------------------------------------------------
//  Chance

static uint64_t
s_next (uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

int
argos_sim_random (world_t *self, int limit)
{
    return limit > 0 ? (int) (s_next (&self->random) % (uint64_t) limit) : 0;
}

bool
argos_sim_chance (world_t *self, int in_ten_thousand)
{
    return argos_sim_random (self, 10000) < in_ten_thousand;
}

static void
s_print (const world_t *self, const char *mark, const char *text)
{
    printf ("%sseed %" PRIu64 " step %d %6" PRId64 " ms: %s\n", mark, self->seed, self->step,
        self->net ? self->net->mono - 1000 : 0, text);
}

void
argos_sim_trace (world_t *self, const char *format, ...)
{
    char text[2 * ARGOS_SIM_TEXT];
    va_list args;
    if (!self->trace)
        return;
    va_start (args, format);
    vsnprintf (text, sizeof text, format, args);
    va_end (args);
    s_print (self, "", text);
}

//  The first thing that is wrong is said; what follows from it is not.

void
argos_sim_wrong (world_t *self, const char *format, ...)
{
    char text[2 * ARGOS_SIM_TEXT];
    va_list args;
    if (self->failed && !self->trace)
        return;
    self->failed = true;
    va_start (args, format);
    vsnprintf (text, sizeof text, format, args);
    va_end (args);
    s_print (self, "WRONG: ", text);
}

static void
s_wrong (void *arg, const char *text)
{
    argos_sim_wrong (arg, "%s", text);
}

//  ------------------------------------------------------------------------------------------------
//  The world

static void
s_draw_odds (world_t *self)
{
    odds_t *odds = &self->odds;
    odds->steps = 200 + argos_sim_random (self, 1200);
    odds->crash = argos_sim_random (self, 60);
    odds->kill = argos_sim_random (self, 60);
    odds->cut = argos_sim_random (self, 80);
    odds->stall = argos_sim_random (self, 60);
    odds->again = argos_sim_random (self, 500);
    odds->park = argos_sim_random (self, 30);
    odds->reject = argos_sim_random (self, 40);
    odds->side = argos_sim_random (self, 60);
    odds->batch = argos_sim_random (self, 2) ? BATCH_MAX : 1 + argos_sim_random (self, 8);
    odds->pipeline = 1 + argos_sim_random (self, 3);
    odds->power = argos_sim_random (self, 2) ? argos_sim_random (self, 100) : 0;
    odds->part = argos_sim_random (self, 2) ? argos_sim_random (self, 40) : 0;
    odds->slow = argos_sim_random (self, 2) ? argos_sim_random (self, 40) : 0;
    odds->jump = argos_sim_random (self, 3) ? 0 : argos_sim_random (self, 40);
    odds->full = argos_sim_random (self, 4) ? 0 : argos_sim_random (self, 40);
    odds->ttl = argos_sim_random (self, 3) ? 0 : argos_sim_random (self, 30);
    odds->redrive = argos_sim_random (self, 300);
    odds->late = argos_sim_random (self, 4) ? 300 : 3000;
    if (odds->jump && argos_sim_random (self, 3) == 0)
        odds->late = 3 * ARGOS_SIM_STARVE;
    //  Who has sent a second message can't hold it back when the first one is refused
    if (odds->full)
        odds->pipeline = 1;
}

static void
s_worker (world_t *self, kind_t kind, argos_sim_role_t role, const char *name, const char *service,
    const char *second)
{
    peer_t *peer = argos_sim_peer_new (self, kind, role, name);
    peer->services[0] = service;
    peer->services[1] = second;
}

//  A reader of all topics that the senders' messages will lead to.

static void
s_reader (world_t *self, int senders)
{
    peer_t *reader = argos_sim_peer_new (self, KIND_READER, ARGOS_ROLE_LOCAL, "reader");
    for (int i = 0; i < senders; i++)
        for (int j = 0; j < self->peers[i]->stream_count; j++) {
            const stream_t *stream = &self->peers[i]->streams[j];
            int count = stream->relay ? 1 : stream->total;
            for (int k = 0; k < count && reader->reading_count < ARGOS_SIM_TOPICS; k++) {
                reading_t *reading = &reader->readings[reader->reading_count++];
                if (stream->relay)
                    snprintf (reading->name, sizeof reading->name, "conv.%s", stream->key);
                else
                    snprintf (reading->name, sizeof reading->name, "run.%s-%d", stream->key, k);
            }
        }
}

//  Of each point a seed decides whether it acts at all; then it does so now and then.

static world_t *s_world; //  The one at hand

static bool
s_buggify (const char *name)
{
    uint64_t choice = s_world->seed;
    for (const char *letter = name; *letter; letter++)
        choice = choice * 31 + (unsigned char) *letter;
    return !s_world->calm && s_next (&choice) % 4 == 0 && argos_sim_random (s_world, 8) == 0;
}

static bool
s_deaf (void *arg, uint64_t conn)
{
    world_t *self = arg;
    for (int i = 0; i < self->peer_count; i++)
        if (self->peers[i]->conn == conn)
            return false;
    return argos_sim_random (self, 2) != 0; //  The broker has noticed, or not yet
}

static void
s_executed (void *arg, const argos_storage_req_t *req, argos_storage_ans_t *ans)
{
    world_t *self = arg;
    argos_sim_trace (self,
        "store: op %d row %" PRId64 " lease %" PRId64 " n %" PRId64 " %s%s -> %s", (int) req->op,
        req->seq, ans->lease, req->n, req->holder, req->done ? " done" : "",
        ans->code == ARGOS_OK ? (ans->repeat ? "repeat" : "ok") : argos_err_name (ans->code));
    argos_sim_shadow_executed (self->shadow, req, ans);
}

static void
s_configure (world_t *self)
{
    static const char *const roles[] = { "adapter", "worker", "tool", "operator", "sim", NULL };
    argos_core_config_t *config = &self->net->config;
    config->roles = ROLES;
    config->ipc_roles = roles;
    config->lease_ms = ARGOS_SIM_LEASE_MS;
    config->quiet_ms = ARGOS_SIM_QUIET_MS;
    config->ping_ms = ARGOS_SIM_PING_MS;
    config->window_messages = 2 + argos_sim_random (self, 8);
    config->ring_entries = 2 + argos_sim_random (self, 16);
    config->ring_bytes = 2000 + argos_sim_random (self, 20000);
    config->linger_ms = 200;
    argos_sim_net_crash (self->net); //  The configuration is for the next start
    self->net->executed = s_executed;
    self->net->deaf = s_deaf;
    self->net->arg = self;
}

world_t *
argos_sim_world_new (uint64_t seed, const char *path, bool trace)
{
    world_t *self = calloc (1, sizeof *self);
    if (!self)
        abort ();
    self->seed = seed;
    self->random = seed * 0x2545f4914f6cdd1dU + 1;
    self->trace = trace;
    s_draw_odds (self);
    s_world = self;
    argos_buggify_fn = s_buggify;
    self->net = argos_sim_net_new (path);
    self->shadow = argos_sim_shadow_new (s_wrong, self);
    s_configure (self);
    int senders = 1 + argos_sim_random (self, 3);
    for (int i = 0; i < senders; i++)
        argos_sim_sender_new (self, i + 1);
    s_reader (self, senders);
    s_worker (self, KIND_GATEWAY, ARGOS_ROLE_CORE, "gateway", "gateway", NULL);
    s_worker (self, KIND_AGENT, ARGOS_ROLE_CORE, "agent", "turn", NULL);
    s_worker (self, KIND_AGENT, ARGOS_ROLE_CORE, "agent.2", "turn", NULL);
    s_worker (self, KIND_RELAY, ARGOS_ROLE_LOCAL, "relay.1", "relay", NULL);
    s_worker (self, KIND_RELAY, ARGOS_ROLE_LOCAL, "relay.2", "relay", NULL);
    s_worker (self, KIND_DELIVER, ARGOS_ROLE_LOCAL, "post", "deliver.a", "deliver.b");
    s_worker (self, KIND_ANSWERER, ARGOS_ROLE_LOCAL, "answer", "ask", NULL);
    argos_sim_peer_new (self, KIND_ASKER, ARGOS_ROLE_LOCAL, "asker")->questions_left =
        argos_sim_random (self, 20);
    argos_sim_peer_new (self, KIND_OPERATOR, ARGOS_ROLE_LOCAL, "operator");
    return self;
}

void
argos_sim_world_destroy (world_t **self_p)
{
    if (!self_p || !*self_p)
        return;
    world_t *self = *self_p;
    effect_t *effect, *next_effect;
    message_t *message, *next_message;
    *self_p = NULL;
    for (int i = 0; i < self->peer_count; i++)
        argos_sim_peer_destroy (&self->peers[i]);
    //  NOLINTBEGIN(clang-analyzer-unix.Malloc): HASH_ITER has the next one before this is freed
    HASH_ITER (hh, self->effects, effect, next_effect) {
        HASH_DEL (self->effects, effect);
        free (effect);
    }
    HASH_ITER (hh, self->messages, message, next_message) {
        HASH_DEL (self->messages, message);
        free (message);
    }
    //  NOLINTEND(clang-analyzer-unix.Malloc)
    argos_sim_stand_forget (self);
    argos_sim_net_destroy (&self->net);
    argos_sim_shadow_destroy (&self->shadow);
    argos_buggify_fn = NULL;
    free (self);
}

//  ------------------------------------------------------------------------------------------------
//  Carrying

//  What the core has sent goes onto the links; what is for a connection that is gone is lost.

static void
s_collect (world_t *self)
{
    argos_sim_msg_t *msg;
    while ((msg = self->net->sent)) {
        peer_t *peer = NULL;
        DL_DELETE (self->net->sent, msg);
        for (int i = 0; i < self->peer_count && !peer; i++)
            if (self->peers[i]->conn == msg->conn)
                peer = self->peers[i];
        if (peer) {
            msg->at = argos_sim_fault_arrival (self, peer);
            DL_APPEND (peer->in, msg);
        }
        else
            argos_sim_msg_destroy (&msg);
    }
}

//  A peer for which the test holds, beginning at a random place; NULL = none.

static peer_t *
s_some_peer (world_t *self, bool (*test) (const peer_t *peer))
{
    int first = argos_sim_random (self, self->peer_count);
    for (int i = 0; i < self->peer_count; i++) {
        peer_t *peer = self->peers[(first + i) % self->peer_count];
        if (test (peer))
            return peer;
    }
    return NULL;
}

static bool
s_awake (const peer_t *peer)
{
    return peer->stalled <= peer->world->net->mono;
}

static bool
s_has_out (const peer_t *peer)
{
    int64_t now = peer->world->net->mono;
    return peer->out && peer->out->at <= now && peer->world->links[peer->node].up <= now;
}

static bool
s_has_in (const peer_t *peer)
{
    int64_t now = peer->world->net->mono;
    return peer->in && peer->in->at <= now && peer->world->links[peer->node].down <= now &&
           s_awake (peer);
}

static void
s_carry_out (world_t *self)
{
    argos_sim_part_t parts[ARGOS_SIM_PARTS];
    peer_t *peer = s_some_peer (self, s_has_out);
    if (!peer)
        return;
    frame_t *frame = peer->out;
    DL_DELETE (peer->out, frame);
    for (size_t i = 0; i < frame->part_count; i++)
        parts[i] = (argos_sim_part_t){ frame->part_headers[i], frame->part_bodies[i] };
    if (frame->part_count)
        argos_sim_net_commit (
            self->net, peer->conn, peer->role, frame->header, parts, frame->part_count);
    else
        argos_sim_net_send (self->net, peer->conn, peer->role, frame->header, frame->body);
    argos_sim_frame_destroy (&frame);
}

static void
s_carry_in (world_t *self)
{
    peer_t *peer = s_some_peer (self, s_has_in);
    if (!peer)
        return;
    argos_sim_msg_t *msg = peer->in;
    DL_DELETE (peer->in, msg);
    argos_sim_peer_receive (peer, msg);
}

static void
s_act (world_t *self)
{
    peer_t *peer = s_some_peer (self, s_awake);
    if (peer)
        argos_sim_peer_act (peer);
}

static void
s_pass_time (world_t *self, int ms)
{
    self->net->mono += ms;
    self->net->wall += ms;
    argos_core_clock (self->net->core, self->net->mono, self->net->wall);
    if (argos_core_due (self->net->core) <= self->net->mono)
        argos_core_tick (self->net->core);
    argos_sim_fault_pass (self);
}

//  ------------------------------------------------------------------------------------------------
//  Steps

//  Nothing is on its way, nobody holds anything: only time can change something.

static bool
s_dull (const world_t *self)
{
    for (int i = 0; i < self->peer_count; i++)
        if (self->peers[i]->out || self->peers[i]->in || self->peers[i]->works ||
            argos_sim_ask_open (self->peers[i]))
            return false;
    return self->net->count == 0;
}

static void
s_step (world_t *self)
{
    int dice = argos_sim_random (self, 100);
    self->step++;
    if (self->calm && s_dull (self))
        s_pass_time (self, argos_sim_random (self, ARGOS_SIM_PING_MS));
    if (!self->calm)
        argos_sim_fault (self);
    if (dice < 25)
        s_carry_out (self);
    else if (dice < 50)
        s_carry_in (self);
    else if (dice < 82)
        s_act (self);
    else if (dice < 95)
        argos_sim_net_batch (
            self->net, 1 + (size_t) argos_sim_random (self, self->odds.batch), true);
    else
        s_pass_time (self, argos_sim_random (self, self->calm ? 60 : 20));
    if (argos_sim_chance (self, 20))
        argos_sim_net_chore (self->net);
    s_collect (self);
}

static void
s_compare (world_t *self)
{
    const char *excess = argos_sim_net_excess (self->net);
    if (excess)
        argos_sim_wrong (self, "%s", excess);
    argos_sim_shadow_compare (self->shadow, self->net);
    if (!argos_sim_net_quiet (self->net))
        return;
    const char *difference = argos_sim_net_difference (self->net);
    if (difference)
        argos_sim_wrong (self, "%s", difference);
}

static bool
s_idle (const world_t *self, bool readers)
{
    for (int i = 0; i < self->peer_count; i++)
        if ((self->peers[i]->kind == KIND_READER) == readers &&
            !argos_sim_peer_idle (self->peers[i]))
            return false;
    return true;
}

//  Cheap questions first

static bool
s_over (world_t *self)
{
    return s_idle (self, false) && argos_sim_net_quiet (self->net) &&
           argos_sim_net_number (self->net, "SELECT count (*) FROM queue") == 0 &&
           s_idle (self, true);
}

//  Who has what, when it does not end

static void
s_stuck (world_t *self)
{
    argos_sim_wrong (self, "it does not end: %" PRId64 " rows wait",
        argos_sim_net_number (self->net, "SELECT count (*) FROM queue"));
    for (int i = 0; i < self->peer_count && self->trace; i++) {
        const peer_t *peer = self->peers[i];
        argos_sim_trace (self, "%s: %s, state %d, pending %s, work %s", peer->name,
            argos_sim_peer_idle (peer) ? "idle" : "not done", (int) peer->state,
            peer->pending ? peer->pending->id : "-", peer->works ? peer->works->own : "-");
    }
}

bool
argos_sim_world_run (world_t *self)
{
    while (self->step < self->odds.steps && !self->failed) {
        s_step (self);
        if (self->step % 150 == 0)
            s_compare (self);
        if (self->step % 150 == 0 && s_over (self))
            break;
    }
    argos_sim_fault_heal (self);
    for (int i = 0; i < DRAIN_MAX && !self->failed; i++) {
        s_step (self);
        if (i % 50 == 0)
            argos_sim_stand (self);
        if (i % 50 == 0 && s_over (self))
            break;
    }
    if (!self->failed && !s_over (self))
        s_stuck (self);
    if (!self->failed) {
        s_compare (self);
        argos_sim_check (self);
    }
    return !self->failed;
}
