//  argos_adapter_turns - what becomes of the messages of this account: typing marks, and drafts
//  that grow with the text of a run.
//
//  Invariant: a turn is known from its first word until its answer has taken the draft, or a while
//  after its end; of each turn at most one draft is on its way, and a newer text waits for it, so
//  that edits fold into one. Nothing here is promised: a draft that fails is left as it is, and
//  after three failures the turn has none. A first draft that was perhaps sent (by a life before
//  this one, too) is `unclear` until its id is known: the platform, or who delivers the answer, is
//  told. A turn that ends without an answer leaves its draft without the mark of what is being
//  written. Limits: 1,024 turns, 64 KiB of text of each.

#include "argos_adapter_priv.h"

#include "argos_setting.h"
#include "argos_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TURNS_MAX 1024           //  Turns at a time
#define TEXT_MAX 65536           //  Bytes of a draft
#define FAILURES_MAX 3           //  Then there is no draft
#define ENDED_MS 60000           //  How long a turn is known after its end
#define READ_TTL_MS 10000        //  Patience with the store
#define NOTICE ".notice"         //  Ends the id of a delivery that is no answer
#define LEAST 24                 //  Bytes of a text that is shown
#define DRAFT_KEEP_MS 86400000LL //  A record of a draft

static argos_adapter_turn_t *
s_find (argos_adapter_t *self, const char *run_id)
{
    argos_adapter_turn_t *turn = NULL;
    HASH_FIND_STR (self->turns, run_id, turn);
    return turn;
}

bool
argos_adapter_drafts (const argos_adapter_t *self)
{
    const json_t *wish = argos_adapter_setting (self, "drafts", false);
    return self->kind->draft && !json_is_false (wish);
}

static void
s_follow (argos_adapter_turn_t *turn, bool on)
{
    char topic[64];
    snprintf (topic, sizeof topic, "run.%s", turn->run_id);
    if (on && !turn->followed && argos_adapter_drafts (turn->adapter))
        argos_peer_subscribe (turn->adapter->peer, topic, 0);
    else if (!on && turn->followed && !turn->adapter->closing)
        argos_peer_unsubscribe (turn->adapter->peer, topic);
    turn->followed = on;
}

static void
s_free (argos_adapter_turn_t *turn)
{
    argos_adapter_t *self = turn->adapter;
    s_follow (turn, false);
    argos_due_set (&self->due, &turn->typing.node, -1);
    argos_due_set (&self->due, &turn->draft.node, -1);
    HASH_DEL (self->turns, turn);
    free (turn->chat_id);
    free (turn->thread_id);
    free (turn->reply_to);
    free (turn->text);
    free (turn->id);
    free (turn);
}

void
argos_adapter_turns_free (argos_adapter_t *self)
{
    argos_adapter_turn_t *turn, *next;
    HASH_ITER (hh, self->turns, turn, next)
        s_free (turn);
}

//  ------------------------------------------------------------------------------------------------
//  Typing

static void
s_on_typing (void *arg)
{
    argos_adapter_turn_t *turn = arg;
    argos_adapter_t *self = turn->adapter;
    int64_t now = argos_shell_now ();
    if (!turn->running || turn->ended || !self->kind->typing || !self->serving)
        return;
    //  One mark of a chat, however many of its messages wait
    char mark[512];
    snprintf (mark, sizeof mark, "typing/%.240s/%.240s", turn->chat_id, turn->thread_id);
    if (argos_rate_due (self->rate, turn->chat_id, now) <= now &&
        argos_rate_due (self->rate, mark, now) <= now) {
        argos_rate_hold (self->rate, mark, now + self->kind->typing_ms / 2);
        self->kind->typing (self->platform, turn->chat_id, turn->thread_id);
    }
    argos_adapter_timer (self, &turn->typing, now + self->kind->typing_ms);
}

static void
s_run (argos_adapter_turn_t *turn)
{
    if (turn->running || turn->ended)
        return;
    turn->running = true;
    s_follow (turn, true);
    if (turn->adapter->kind->typing_ms)
        argos_adapter_timer (turn->adapter, &turn->typing, argos_shell_now ());
}

//  ------------------------------------------------------------------------------------------------
//  Drafts

static void
s_arm_draft (argos_adapter_turn_t *turn)
{
    //  While we are told of what was before us the end of this turn may still be to come
    if (turn->adapter->late && !turn->busy && turn->dirty && (!turn->ended || turn->last) &&
        turn->failures < FAILURES_MAX)
        argos_adapter_timer (turn->adapter, &turn->draft, turn->next_ms);
}

//  Something that was on its way has arrived: who waits for it goes on, else the next draft.

static void
s_arrived (argos_adapter_turn_t *turn)
{
    argos_delivery_t *waiter = turn->waiter;
    turn->busy = false;
    turn->waiter = NULL;
    if (waiter)
        argos_delivery_go (waiter); //  Takes the draft
    else
        s_arm_draft (turn);
}

//  A turn that began before us may have a message already.

static void
s_on_looked (void *arg, const argos_peer_answer_t *answer)
{
    argos_adapter_turn_t *turn = arg;
    const json_t *record = json_object_get (answer->body, "record");
    const char *id = argos_adapter_member (json_object_get (record, "value"), "id");
    if (turn->adapter->closing)
        return;
    turn->old = false;
    if (answer->code == ARGOS_OK && *id && !turn->id)
        turn->id = argos_adapter_copy (id);
    turn->unclear = !turn->id;
    s_arrived (turn);
}

static void
s_look (argos_adapter_turn_t *turn)
{
    argos_adapter_t *self = turn->adapter;
    argos_peer_part_t part = { .type = "record.get",
        .to = "store",
        .ttl_ms = READ_TTL_MS,
        .body = json_pack ("{s:s,s:o}", "space", self->space, "key",
            json_sprintf ("%s/draft/%s", self->account, turn->run_id)) };
    turn->busy = true;
    if (argos_peer_send (self->peer, &part, s_on_looked, turn) != ARGOS_OK) {
        argos_peer_answer_t answer = { .code = ARGOS_BUSY, .reason = "", .part = -1, .type = "" };
        s_on_looked (turn, &answer);
    }
}

static void
s_on_draft (void *arg)
{
    argos_adapter_turn_t *turn = arg;
    argos_adapter_t *self = turn->adapter;
    int64_t now = argos_shell_now ();
    bool nothing = turn->last ? !turn->id : turn->ended || turn->size < LEAST;
    if (nothing || turn->busy || !self->serving || !turn->text)
        return;
    if (turn->old && !turn->last) {
        s_look (turn);
        return;
    }
    int64_t due_ms = argos_rate_due (self->rate, turn->chat_id, now);
    if (due_ms > now) {
        turn->next_ms = due_ms;
        s_arm_draft (turn);
        return;
    }
    char answer_id[ARGOS_ID_MAX + 1];
    snprintf (answer_id, sizeof answer_id, "%s.answer", turn->run_id);
    argos_draft_t draft = { .chat_id = turn->chat_id,
        .thread_id = turn->thread_id,
        .reply_to = turn->reply_to,
        .run_id = turn->run_id,
        .answer_id = answer_id,
        .text = turn->text,
        .id = turn->id ? turn->id : "",
        .unclear = turn->unclear,
        .last = turn->last,
        .handle = turn };
    turn->busy = true;
    turn->dirty = false;
    turn->next_ms = now + self->kind->draft_ms;
    self->kind->draft (self->platform, &draft);
}

//  The record of a draft's message: whoever delivers the answer after a restart finds it.

static void
s_keep (argos_adapter_turn_t *turn)
{
    argos_adapter_t *self = turn->adapter;
    json_t *body = json_pack ("{s:s,s:o,s:{s:s,s:s},s:I}", "space", self->space, "key",
        json_sprintf ("%s/draft/%s", self->account, turn->run_id), "value", "id", turn->id,
        "chat_id", turn->chat_id, "expires_at", (json_int_t) (argos_shell_wall () + DRAFT_KEEP_MS));
    argos_peer_part_t part = { .type = "record.put", .to = "store", .durable = true, .body = body };
    argos_peer_send (self->peer, &part, NULL, NULL);
}

void
argos_adapter_drafted (argos_adapter_t *self, void *handle, const char *id, int64_t wait_ms)
{
    argos_adapter_turn_t *turn = handle;
    int64_t now = argos_shell_now ();
    turn->busy = false;
    if (self->closing)
        return;
    if (id)
        turn->unclear = false;
    if (id && *id && !turn->id) {
        turn->id = argos_adapter_copy (id);
        s_keep (turn);
    }
    turn->failures = id ? 0 : turn->failures + 1;
    turn->dirty = turn->dirty || (turn->last && (!id || wait_ms > 0));
    if (wait_ms > 0 && now + wait_ms > turn->next_ms)
        turn->next_ms = now + wait_ms;
    s_arrived (turn);
    argos_adapter_arm (self);
}

void
argos_adapter_draft_lost (argos_adapter_t *self, void *handle)
{
    argos_adapter_turn_t *turn = handle;
    turn->unclear = !turn->id;
    argos_adapter_drafted (self, handle, NULL, 0);
}

int
argos_adapter_turns_take (
    argos_adapter_t *self, const char *run_id, argos_delivery_t *delivery, const char **ret_id)
{
    argos_adapter_turn_t *turn = s_find (self, run_id);
    *ret_id = NULL;
    if (!turn)
        return -1;
    turn->ended = true;
    s_follow (turn, false);
    if (turn->busy) {
        turn->waiter = delivery;
        return 0;
    }
    turn->taken = true;
    if (turn->over) //  Nobody asks for it any more
        argos_adapter_timer (self, &turn->typing, argos_shell_now ());
    if (turn->old || turn->unclear)
        return -1;
    *ret_id = turn->id;
    return 1;
}

//  ------------------------------------------------------------------------------------------------
//  What is heard

static void
s_set_text (argos_adapter_turn_t *turn, const char *text, size_t size)
{
    size = argos_utf8_cut (text, size, TEXT_MAX);
    free (turn->text);
    turn->text = malloc (size + 1);
    if (!turn->text)
        abort ();
    memcpy (turn->text, text, size);
    turn->text[size] = 0;
    turn->size = size;
}

static void
s_add_text (argos_adapter_turn_t *turn, const char *text, size_t size)
{
    if (turn->size + size > TEXT_MAX)
        return;
    turn->text = realloc (turn->text, turn->size + size + 1);
    if (!turn->text)
        abort ();
    memcpy (turn->text + turn->size, text, size);
    turn->size += size;
    turn->text[turn->size] = 0;
}

static void
s_on_text (argos_adapter_turn_t *turn, const argos_peer_msg_t *msg)
{
    int64_t segment = json_integer_value (json_object_get (msg->body, "segment"));
    const json_t *whole = json_object_get (msg->body, "text");
    const json_t *delta = json_object_get (msg->body, "delta");
    bool same = segment == turn->segment && turn->text;
    if (whole)
        s_set_text (turn, json_string_value (whole), json_string_length (whole));
    else if (delta && same)
        s_add_text (turn, json_string_value (delta), json_string_length (delta));
    else if (delta && (msg->keyframe || segment != turn->segment))
        s_set_text (turn, json_string_value (delta), json_string_length (delta));
    else
        return; //  The beginning is not known: the next key frame has it
    turn->segment = segment;
    turn->dirty = true;
    s_arm_draft (turn);
}

static argos_adapter_turn_t *
s_new (argos_adapter_t *self, const json_t *body)
{
    if (HASH_COUNT (self->turns) >= TURNS_MAX)
        return NULL;
    argos_adapter_turn_t *turn = calloc (1, sizeof *turn);
    if (!turn)
        abort ();
    turn->adapter = self;
    turn->segment = -1;
    turn->old = !self->late;
    snprintf (turn->run_id, sizeof turn->run_id, "%s", argos_adapter_member (body, "turn"));
    turn->chat_id = argos_adapter_copy (argos_adapter_member (body, "chat_id"));
    turn->thread_id = argos_adapter_copy (argos_adapter_member (body, "thread_id"));
    turn->reply_to = argos_adapter_copy (argos_adapter_member (body, "reply_to"));
    turn->typing = (argos_adapter_timer_t){ .fn = s_on_typing, .arg = turn };
    turn->draft = (argos_adapter_timer_t){ .fn = s_on_draft, .arg = turn };
    HASH_ADD_STR (self->turns, run_id, turn);
    return turn;
}

static void
s_on_ended (void *arg)
{
    argos_adapter_turn_t *turn = arg;
    bool more = turn->last && turn->dirty && turn->id && turn->failures < FAILURES_MAX;
    if (turn->busy || turn->waiter || more)
        argos_adapter_timer (turn->adapter, &turn->typing, argos_shell_now () + ENDED_MS);
    else
        s_free (turn);
}

//  delivery: the id of what ends it, "" = nothing does. Of a notice the draft is no part.

static void
s_end (argos_adapter_turn_t *turn, const char *delivery)
{
    size_t size = strlen (delivery), notice = strlen (NOTICE);
    bool answer = size && !(size > notice && strcmp (delivery + size - notice, NOTICE) == 0);
    turn->ended = true;
    turn->over = true;
    turn->last = !answer && !turn->taken && turn->text && (turn->id || turn->busy);
    turn->dirty = turn->last;
    turn->failures = 0;
    if (turn->last)
        s_arm_draft (turn);
    else {
        free (turn->text);
        turn->text = NULL;
        turn->size = 0;
    }
    turn->typing.fn = s_on_ended;
    s_follow (turn, false);
    //  Who delivers the answer asks for the draft; otherwise it goes at once
    bool asked = turn->running && !turn->taken && argos_adapter_drafts (turn->adapter);
    argos_adapter_timer (turn->adapter, &turn->typing, argos_shell_now () + (asked ? ENDED_MS : 0));
}

static void
s_on_state (argos_adapter_t *self, const json_t *body)
{
    const char *state = argos_adapter_member (body, "state");
    argos_adapter_turn_t *turn = s_find (self, argos_adapter_member (body, "turn"));
    if (strcmp (state, "done") == 0) {
        if (turn)
            s_end (turn, argos_adapter_member (body, "delivery"));
        return;
    }
    if (!turn)
        turn = s_new (self, body);
    if (turn && (strcmp (state, "running") == 0 || strcmp (state, "waiting") == 0))
        s_run (turn);
}

void
argos_adapter_turns_entry (argos_adapter_t *self, const char *topic, const argos_peer_msg_t *msg)
{
    if (self->closing)
        return;
    if (strcmp (topic, self->out) == 0) {
        if (strcmp (msg->type, "out.state") == 0)
            s_on_state (self, msg->body);
        return;
    }
    argos_adapter_turn_t *turn = strncmp (topic, "run.", 4) == 0 ? s_find (self, topic + 4) : NULL;
    if (!turn || turn->ended)
        return;
    if (strcmp (msg->type, "turn.delta") == 0 || strcmp (msg->type, "turn.text") == 0)
        s_on_text (turn, msg);
    else if (strcmp (msg->type, "turn.restarted") == 0) {
        turn->size = 0;
        turn->segment = -1;
        free (turn->text);
        turn->text = NULL;
    }
}

void
argos_adapter_turns_end (argos_adapter_t *self, const char *topic)
{
    argos_adapter_turn_t *turn, *next;
    if (self->late || strcmp (topic, self->out) != 0)
        return;
    self->late = true;
    HASH_ITER (hh, self->turns, turn, next) {
        s_run (turn);
        s_arm_draft (turn);
    }
}

void
argos_adapter_turns_begin (argos_adapter_t *self)
{
    if (self->kind->typing || self->kind->draft)
        argos_peer_subscribe (self->peer, self->out, 0);
}
