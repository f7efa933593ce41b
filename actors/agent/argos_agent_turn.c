//  argos_agent_turn - the life of a turn: makes it, moves it by the table, ends it.
//
//  Invariant: turn_event is the only way to change the state; the action of an event is done before
//  it returns. A turn is freed when it is OVER and refs is 0; who uses it after an event holds a
//  reference.

#include "argos_agent_priv.h"
#include "argos_hook_event.h"
#include "argos_out.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#define PAUSE_MS 1000 //  Until a lease that was given back for now is tried again

turn_t *
turn_new (agent_t *agent, const argos_peer_msg_t *msg)
{
    turn_t *self = (turn_t *) calloc (1, sizeof *self);
    if (!self)
        abort ();
    self->agent = agent;
    self->lease = msg->lease;
    self->seq = msg->seq;
    self->attempt = msg->attempt;
    self->resumed = msg->attempt > 1;
    self->due.owner = self;
    self->body = json_incref (msg->body);
    self->settings = json_incref (agent->settings);
    self->user = turn_user_new (msg->body);
    self->rows = json_array ();
    self->open = json_object ();
    self->unknown = json_array ();
    self->queued = json_array ();
    self->finish = "stop";
    self->begun_ms = argos_shell_now ();
    self->compact = strcmp (msg->type, "session.compress") == 0;
    self->user_stored = self->compact; //  Nobody says anything
    self->back = agent_back_first (agent, argos_shell_now ());
    snprintf (self->key, sizeof self->key, "%s", msg->key);
    const char *session = json_string_value (json_object_get (msg->body, "session_id"));
    const char *run_id = json_string_value (json_object_get (msg->body, "run_id"));
    snprintf (self->session, sizeof self->session, "%s", session ? session : msg->key);
    if (strcmp (msg->type, "turn.request") == 0)
        snprintf (self->run_id, sizeof self->run_id, "%s", run_id ? run_id : "");
    argos_lease_set_data (msg->lease, self);
    DL_APPEND (agent->turns, self);
    agent->turn_count++;
    return self;
}

static void
s_free (turn_t *self)
{
    turn_clear_tools (self);
    turn_clear_steers (self);
    turn_clear_replies (self);
    free (self->tools);
    free (self->mails);
    json_decref (self->open);
    json_decref (self->grants);
    json_decref (self->smaller);
    json_decref (self->thought);
    free (self->begun);
    json_decref (self->body);
    json_decref (self->settings);
    json_decref (self->prompt);
    json_decref (self->chosen);
    json_decref (self->user);
    json_decref (self->images);
    json_decref (self->fetching);
    json_decref (self->rows);
    json_decref (self->unknown);
    json_decref (self->queued);
    free (self->text);
    free (self->error);
    free (self);
}

//  Out of every list; freed with the last reference, at the earliest by turn_event
static void
s_end (turn_t *self)
{
    turn_abort_call (self);
    turn_cancel_tools (self, "");
    argos_due_set (&self->agent->due, &self->due, -1);
    argos_due_set (&self->agent->watch, &self->watch, -1);
    if (self->lease)
        argos_lease_set_data (self->lease, NULL);
    self->lease = NULL;
    self->want = JOB_NONE;
    turn_let_go (self);
    DL_DELETE (self->agent->turns, self);
    self->agent->turn_count--;
    agent_drained (self->agent);
}

void
turn_unref (turn_t *self)
{
    assert (self->refs > 0);
    if (--self->refs == 0 && self->state == ARGOS_TURN_OVER)
        s_free (self);
}

//  The start of a turn is no commit (adr/0003), so this is a passing entry: who subscribes later,
//  or after a restart of the broker, finds the kept `queued` and takes what comes. A task beside
//  the chat is not shown as its turn: no draft of it may stand above the words of its start.

void
turn_tell (turn_t *self, const char *state)
{
    char to[ARGOS_TO_MAX + 1];
    const char *service = json_string_value (json_object_get (self->body, "deliver"));
    if ((self->told && strcmp (self->told, state) == 0) || !self->lease || !*self->run_id ||
        json_object_get (self->body, "task") || argos_out_topic (service, to, sizeof to) != 0)
        return;
    self->told = state;
    argos_peer_part_t part = { .type = ARGOS_OUT_TYPE,
        .to = to,
        .body = argos_out_body (json_object_get (self->body, "source"),
            json_string_value (json_object_get (self->body, "reply_to")), self->run_id, state,
            NULL) };
    argos_peer_publish (self->agent->peer, self->lease, &part);
}

//  What hooks hear of every event, new.

static json_t *
s_event (const turn_t *self, const char *event)
{
    json_t *body = argos_hook_event_new (event, json_object_get (self->body, "source"));
    argos_hook_event_text (body, "session_id", self->session);
    argos_hook_event_text (body, "run_id", self->run_id);
    return body;
}

static void
s_publish (turn_t *self, json_t *body)
{
    argos_peer_part_t part = { .type = ARGOS_HOOK_EVENT, .to = ARGOS_HOOK_TOPIC, .body = body };
    argos_peer_publish (self->agent->peer, NULL, &part);
}

void
turn_look_step (turn_t *self)
{
    json_t *body = s_event (self, "agent:step"), *names = json_array ();
    for (size_t i = 0; i < self->tool_count; i++)
        json_array_append_new (names, json_string (self->tools[i].name));
    json_object_set_new (body, "tool_names", names);
    json_object_set_new (body, "iteration", json_integer (self->iterations));
    s_publish (self, body);
}

void
turn_look_smaller (turn_t *self)
{
    s_publish (self, s_event (self, "session:compress"));
}

void
turn_look (turn_t *self, const char *event)
{
    if (!*self->run_id)
        return;
    json_t *body = s_event (self, event);
    argos_hook_event_text (
        body, "message", json_string_value (json_object_get (self->body, "text")));
    if (self->flying_last) {
        argos_hook_event_text (body, "state",
            self->flying_last == JOB_STOP ? "cancelled"
            : self->error                 ? "failed"
                                          : "completed");
        argos_hook_event_text (body, "response", self->text);
    }
    s_publish (self, body);
}

static void
s_release (turn_t *self, const char *reject)
{
    if (!reject)
        turn_tell (self, "queued");
    if (self->lease)
        argos_lease_set_data (self->lease, NULL);
    argos_lease_release (&self->lease, reject ? 0 : PAUSE_MS, !reject && !self->effects, reject);
    s_end (self);
}

//  The whole turn anew, with what the store knows now
static void
s_reload (turn_t *self)
{
    turn_abort_call (self);
    turn_clear_tools (self);
    self->epoch++;
    self->resumed = true;
    self->user_stored = self->compact;
    self->shown = false;
    self->load_after = 0;
    self->segment = 0;
    self->iterations = self->repeats = 0;
    self->continued = self->nudges = 0;
    self->recalled = false;
    self->scaffold = 0;
    free (self->begun);
    self->begun = NULL;
    json_decref (self->images);
    json_decref (self->fetching);
    self->images = self->fetching = NULL;
    self->image_bytes = 0;
    json_array_clear (self->rows);
    json_array_clear (self->unknown);
    free (self->error);
    self->error = NULL;
    turn_load (self);
}

static void
s_act (turn_t *self, argos_turn_action_t action)
{
    switch (action) {
    case ARGOS_TURN_DO_OPEN:
        turn_want (self, JOB_OPEN);
        break;
    case ARGOS_TURN_DO_CALL:
        turn_tell (self, "running");
        turn_call (self);
        break;
    case ARGOS_TURN_DO_ARM:
        turn_tell (self, "waiting");
        turn_arm_backoff (self);
        break;
    case ARGOS_TURN_DO_COMPRESS:
        turn_compress (self);
        break;
    case ARGOS_TURN_DO_COMPACT:
        turn_want (self, JOB_COMPACT);
        break;
    case ARGOS_TURN_DO_DECIDE:
        turn_decide (self);
        break;
    case ARGOS_TURN_DO_CALLS:
        turn_want (self, JOB_CALLS);
        break;
    case ARGOS_TURN_DO_RUN:
        turn_run_tools (self);
        break;
    case ARGOS_TURN_DO_STORE:
        turn_want (self, JOB_RESULTS);
        break;
    case ARGOS_TURN_DO_CHECK:
        turn_check_results (self);
        break;
    case ARGOS_TURN_DO_FINISH:
        turn_want (self, JOB_FINISH);
        break;
    case ARGOS_TURN_DO_CANCEL:
        turn_want (self, JOB_CLEAR);
        break;
    case ARGOS_TURN_DO_STOP:
        turn_want (self, JOB_STOP);
        break;
    case ARGOS_TURN_DO_AWAIT:
        turn_await_mail (self);
        break;
    case ARGOS_TURN_DO_HALT:
        turn_halt (self);
        break;
    case ARGOS_TURN_DO_LIST:
        turn_list (self);
        break;
    case ARGOS_TURN_DO_RELOAD:
        s_reload (self);
        break;
    case ARGOS_TURN_DO_REJECT:
        s_release (self, "conflict");
        break;
    case ARGOS_TURN_DO_PARK:
        turn_park (self);
        s_end (self);
        break;
    case ARGOS_TURN_DO_RELEASE:
        s_release (self, NULL);
        break;
    case ARGOS_TURN_DO_FREE:
        s_end (self);
        break;
    default:
        break; //  IGNORE and NOTE
    }
}

void
turn_event (turn_t *self, argos_turn_event_t event)
{
    self->refs++; //  The action may end the turn
    self->active_ms = argos_shell_now ();
    argos_turn_state_t before = self->state;
    argos_turn_action_t action = argos_turn_step (&self->state, event);
    argos_log (ARGOS_LOG_DEBUG, self->agent->name, "turn", "seq=%lld state=%s event=%s action=%s",
        (long long) self->seq, argos_turn_state_name (before), argos_turn_event_name (event),
        argos_turn_action_name (action));
    s_act (self, action);
    turn_unref (self);
}

void
turn_begin (turn_t *self)
{
    turn_watch (self);
    const argos_provider_settings_t *provider = &self->agent->config.provider;
    turn_tell (self, "running");
    turn_look (self, "agent:start");
    if (self->attempt > 1 && argos_shell_wall () < self->agent->config.looping_until)
        turn_fail (self, "The turn was interrupted by a restart. There have been several within a "
                         "minute, so it was not taken up again");
    else if (!self->agent->backs[self->back].provider) {
        char sentence[1024];
        argos_provider_error_t error = { .class = ARGOS_PE_CREDENTIALS };
        snprintf (error.message, sizeof error.message, "%s", provider->problem);
        argos_provider_error_text (&error, sentence, sizeof sentence);
        turn_fail (self, sentence);
    }
    else
        turn_load (self);
}

void
turn_fail (turn_t *self, const char *sentence)
{
    char clean[2048]; //  A provider may echo the key it refuses
    argos_text_t text;
    argos_log_redact (sentence, clean, sizeof clean);
    argos_text_init (&text, sizeof clean);
    argos_utf8_add (&text, clean, strlen (clean));
    free (self->error);
    self->error = strdup (argos_text_str (&text));
    argos_text_clear (&text);
    turn_event (self, ARGOS_TURN_FAIL);
}

//  The delta that is due, or the end of a backoff
void
turn_timer (turn_t *self)
{
    if (self->state == ARGOS_TURN_BACKOFF)
        turn_event (self, self->shown ? ARGOS_TURN_TIMER_OPEN : ARGOS_TURN_TIMER);
    else if (self->state == ARGOS_TURN_TOOLING)
        turn_wait_over (self);
    else
        turn_publish (self, false);
}

void
turn_lost (turn_t *self)
{
    if (self->lease)
        argos_lease_set_data (self->lease, NULL); //  on_lost may follow
    self->lease = NULL;
    turn_event (self, ARGOS_TURN_LOST);
}
