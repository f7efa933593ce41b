//  argos_discord_socket - the shell around the table of argos_dc_gateway: the socket, heartbeats,
//  pauses.
//
//  Invariant: there is at most one socket, and what an older one still says is not heard (its
//  generation). A heartbeat that is not answered in ACK_MS, or when the next one is due, ends the
//  connection, so that a dead one is noticed within a minute. A new session is asked for at most
//  every five seconds.

#include "argos_discord_priv.h"

#include "argos_json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define INTENTS 46593        //  Servers, messages and reactions there and direct, what they say
#define ACK_MS 15000         //  For the answer to a heartbeat: they are some 41 s apart
#define GREETING_MS 30000    //  For op 10, READY, RESUMED
#define IDENTIFY_GAP_MS 5500 //  Between two new sessions
#define STOPPED_MS 300000    //  Until what can't work is looked at again
#define QUIET_MS 900000      //  Without an event: a call
#define DEAD_MS 1800000      //  Without an event: a new connection
#define JUMP_MS 60000        //  The machine was asleep
#define CODE_LEAVE 4900      //  Keeps the session

static void s_on_state_time (void *arg);

static int64_t
s_awake_ms (void)
{
    struct timespec now;
    clock_gettime (CLOCK_BOOTTIME, &now);
    return (int64_t) now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void
s_deadline (discord_t *self, int64_t wait_ms)
{
    argos_adapter_timer (
        self->adapter, &self->state_timer, wait_ms < 0 ? -1 : argos_shell_now () + wait_ms);
}

//  ------------------------------------------------------------------------------------------------
//  The socket

static void
s_turn (void *arg)
{
    discord_t *self = arg;
    argos_websocket_t *socket = self->socket;
    if (!socket)
        return;
    uint32_t generation = self->generation;
    argos_websocket_turn (socket, argos_shell_now ());
    //  It may be gone, or another one
    if (self->socket && self->generation == generation)
        argos_adapter_timer (
            self->adapter, &self->socket_timer, argos_websocket_due (self->socket));
}

void
dc_leave (discord_t *self)
{
    argos_adapter_timer (self->adapter, &self->beat_timer, -1);
    argos_adapter_timer (self->adapter, &self->socket_timer, -1);
    if (!self->socket)
        return;
    argos_shell_fd (
        argos_adapter_shell (self->adapter), argos_websocket_fd (self->socket), NULL, NULL);
    argos_websocket_close (self->socket, CODE_LEAVE, "", argos_shell_now ());
    argos_websocket_destroy (&self->socket);
}

static void
s_say (discord_t *self, json_t *message)
{
    size_t size = 0;
    char *text = argos_json_dumps (message, &size);
    json_decref (message);
    if (!text)
        abort ();
    argos_websocket_send (self->socket, text, size, argos_shell_now ());
    explicit_bzero (text, size);
    free (text);
    argos_adapter_timer (self->adapter, &self->socket_timer, argos_websocket_due (self->socket));
}

static void
s_beat (discord_t *self)
{
    self->acked = false;
    self->ack_due = argos_shell_now () + (self->beat_ms < ACK_MS ? self->beat_ms : ACK_MS);
    s_say (self,
        json_pack ("{s:i,s:o}", "op", 1, "d", self->seq ? json_integer (self->seq) : json_null ()));
}

//  The next beat, or the end of our patience with the last one
static void
s_arm_beat (discord_t *self)
{
    bool sooner = !self->acked && self->ack_due < self->beat_due;
    argos_adapter_timer (self->adapter, &self->beat_timer, sooner ? self->ack_due : self->beat_due);
}

static void
s_on_beat_time (void *arg)
{
    discord_t *self = arg;
    int64_t now = argos_shell_now ();
    if (!self->acked && now >= self->ack_due) {
        argos_log (ARGOS_LOG_WARN, argos_adapter_name (self->adapter), "heartbeat not answered",
            "beat_ms=%" PRId64, self->beat_ms);
        dc_event (self, DC_SILENT);
        return;
    }
    if (now >= self->beat_due) {
        s_beat (self);
        self->beat_due = now + self->beat_ms;
    }
    s_arm_beat (self);
}

static void
s_start_beat (discord_t *self)
{
    self->acked = true;
    self->beat_timer.fn = s_on_beat_time;
    self->beat_due =
        argos_shell_now () + argos_adapter_random (self->adapter) % (uint32_t) self->beat_ms;
    s_arm_beat (self);
}

//  ------------------------------------------------------------------------------------------------
//  What is heard

static void
s_on_hello (discord_t *self, const json_t *data)
{
    self->beat_ms = json_integer_value (json_object_get (data, "heartbeat_interval"));
    if (self->beat_ms < 100 || self->beat_ms > 600000)
        self->beat_ms = 41250;
    dc_event (self, *self->session ? DC_HELLO_OLD : DC_HELLO_NEW);
}

static void
s_on_ready (discord_t *self, const json_t *data)
{
    const json_t *app = json_object_get (data, "application");
    snprintf (self->session, sizeof self->session, "%s", dc_member (data, "session_id"));
    snprintf (
        self->resume_url, sizeof self->resume_url, "%s", dc_member (data, "resume_gateway_url"));
    if (*dc_member (app, "id"))
        snprintf (self->app, sizeof self->app, "%s", dc_member (app, "id"));
    if (app && !(json_integer_value (json_object_get (app, "flags")) & (3 << 18)))
        argos_log (ARGOS_LOG_WARN, argos_adapter_name (self->adapter), "messages may be empty",
            "hint=\"turn on Message Content Intent in the developer portal\"");
    //  A process that is killed before a message comes has to find the session that heard it
    if (argos_inbox_count (self->inbox) == 0)
        argos_adapter_store (self->adapter, NULL, self->cursor, dc_place (self), NULL, NULL);
    dc_event (self, DC_READY);
}

static void
s_on_dispatch (discord_t *self, const char *type, const json_t *data, int64_t seq)
{
    if (seq > 0)
        self->seq = seq;
    argos_liveness_event (&self->live, s_awake_ms ());
    if (strcmp (type, "READY") == 0)
        s_on_ready (self, data);
    else if (strcmp (type, "RESUMED") == 0)
        dc_event (self, DC_RESUMED);
    dc_dispatch (self, type, data);
}

static void
s_on_text (void *arg, uint32_t generation, const char *text, size_t size)
{
    discord_t *self = arg;
    if (generation != self->generation)
        return;
    json_t *message = argos_json_load_mended (text, size, 0, NULL);
    const json_t *data = json_object_get (message, "d");
    json_t *op = json_object_get (message, "op");
    switch (json_is_integer (op) ? json_integer_value (op) : -1) {
    case 0:
        s_on_dispatch (self, dc_member (message, "t"), data,
            json_integer_value (json_object_get (message, "s")));
        break;
    case 1:
        s_beat (self);
        s_arm_beat (self);
        break;
    case 7:
        dc_event (self, DC_RECONNECT);
        break;
    case 9:
        dc_event (self, json_is_true (data) ? DC_INVALID_OLD : DC_INVALID);
        break;
    case 10:
        s_on_hello (self, data);
        break;
    case 11:
        self->acked = true;
        argos_backoff_good (&self->backoff, argos_shell_now ());
        break;
    default:
        break;
    }
    json_decref (message);
}

static void
s_on_open (void *arg, uint32_t generation)
{
    discord_t *self = arg;
    if (generation == self->generation)
        dc_event (self, DC_OPEN);
}

static void
s_on_end (void *arg, uint32_t generation, const argos_websocket_end_t *end)
{
    discord_t *self = arg;
    if (generation != self->generation)
        return;
    const char *help = argos_dc_gateway_help (end->code);
    argos_log (ARGOS_LOG_WARN, argos_adapter_name (self->adapter), "gateway closed",
        "code=%d reason=\"%.150s\"", end->code, end->reason);
    if (help)
        argos_adapter_problem (self->adapter, help);
    dc_event (self, argos_dc_gateway_cut (end->code));
}

//  ------------------------------------------------------------------------------------------------
//  Actions

static void
s_connect (discord_t *self)
{
    char url[320];
    bool old = *self->session && *self->resume_url;
    const char *from = old ? self->resume_url : self->gateway_url;
    size_t size = strlen (from);
    bool slash = size && from[size - 1] == '/';
    snprintf (url, sizeof url, "%s%s?v=10&encoding=json", from, slash ? "" : "/");
    argos_websocket_config_t config = { .url = url,
        .agent = DC_AGENT,
        .generation = ++self->generation,
        .message_max = (size_t) 16 << 20,
        .arg = self,
        .on_open = s_on_open,
        .on_text = s_on_text,
        .on_end = s_on_end };
    self->socket = argos_websocket_new (&config, argos_shell_now ());
    if (!self->socket)
        return; //  The deadline of the state ends it
    self->socket_timer.fn = s_turn;
    argos_shell_fd (
        argos_adapter_shell (self->adapter), argos_websocket_fd (self->socket), s_turn, self);
    argos_adapter_timer (self->adapter, &self->socket_timer, argos_shell_now ());
}

static void
s_on_asked (void *arg, const dc_answer_t *answer)
{
    discord_t *self = arg;
    const char *url = dc_member (answer->body, "url");
    const json_t *limit = json_object_get (answer->body, "session_start_limit");
    const json_t *left = json_object_get (limit, "remaining");
    if (answer->http->phase == ARGOS_HTTP_ANSWERED && answer->http->status == 401) {
        argos_adapter_problem (self->adapter, argos_dc_gateway_help (4004));
        dc_event (self, DC_ASK_REFUSED);
    }
    else if (!answer->ok || strncmp (url, "ws", 2) != 0)
        dc_event (self, DC_ASK_FAILED);
    else if (json_is_integer (left) && json_integer_value (left) <= 0) {
        dc_event (self, DC_ASK_FAILED);
        s_deadline (self, json_integer_value (json_object_get (limit, "reset_after")));
        argos_log (ARGOS_LOG_ERROR, argos_adapter_name (self->adapter), "no session left today",
            "hint=\"Discord allows a thousand new sessions a day\"");
    }
    else {
        snprintf (self->gateway_url, sizeof self->gateway_url, "%s", url);
        dc_event (self, DC_ASKED);
    }
}

static void
s_ask (discord_t *self)
{
    if (!dc_api (self, "GET", "/gateway/bot", NULL, NULL, s_on_asked, self))
        s_deadline (self, 1000);
}

static void
s_identify (discord_t *self)
{
    self->identified_ms = argos_shell_now ();
    self->seq = 0;
    s_start_beat (self);
    s_say (self, json_pack ("{s:i,s:{s:s,s:i,s:{s:s,s:s,s:s},s:b,s:i}}", "op", 2, "d", "token",
                     self->token, "intents", INTENTS, "properties", "os", "linux", "browser",
                     "argos", "device", "argos", "compress", 0, "large_threshold", 50));
}

static void
s_resume (discord_t *self)
{
    s_start_beat (self);
    s_say (self, json_pack ("{s:i,s:{s:s,s:s,s:I}}", "op", 6, "d", "token", self->token,
                     "session_id", self->session, "seq", (json_int_t) self->seq));
}

static void
s_on_probe (void *arg, const dc_answer_t *answer)
{
    discord_t *self = arg;
    argos_log (ARGOS_LOG_INFO, argos_adapter_name (self->adapter), "quiet for long", "api=%s",
        answer->ok ? "answers" : "silent");
}

static void
s_on_live_time (void *arg)
{
    discord_t *self = arg;
    argos_liveness_act_t act = argos_liveness_look (&self->live, s_awake_ms ());
    int64_t wait = argos_liveness_due (&self->live) - s_awake_ms ();
    argos_adapter_timer (
        self->adapter, &self->live_timer, argos_shell_now () + (wait > 0 ? wait : 1));
    if (act == ARGOS_PROBE)
        dc_api (self, "GET", "/users/@me", NULL, NULL, s_on_probe, self);
    else if (act == ARGOS_RECONNECT)
        dc_event (self, DC_SILENT);
}

static void
s_serve (discord_t *self)
{
    argos_log (ARGOS_LOG_INFO, argos_adapter_name (self->adapter), "connected", "user=\"%s\"",
        self->username);
    self->live = (argos_liveness_t){ .quiet_ms = QUIET_MS, .dead_ms = DEAD_MS, .jump_ms = JUMP_MS };
    argos_liveness_event (&self->live, s_awake_ms ());
    self->live_timer.fn = s_on_live_time;
    argos_adapter_timer (self->adapter, &self->live_timer, argos_shell_now () + 60000);
    argos_adapter_problem (self->adapter, NULL);
    argos_adapter_serve (self->adapter);
}

static void
s_pause (discord_t *self, unsigned actions)
{
    int64_t now = argos_shell_now ();
    uint32_t random = argos_adapter_random (self->adapter);
    int64_t wait_ms = STOPPED_MS;
    if (actions & DC_DO_SOON)
        wait_ms = 100;
    else if (actions & DC_DO_REST)
        wait_ms = 1000 + random % 4000;
    else if (actions & DC_DO_PAUSE)
        wait_ms = argos_backoff_failed (&self->backoff, now, random);
    //  Two new sessions are far enough apart
    if (!*self->session && self->identified_ms &&
        now + wait_ms < self->identified_ms + IDENTIFY_GAP_MS)
        wait_ms = self->identified_ms + IDENTIFY_GAP_MS - now;
    s_deadline (self, wait_ms);
}

//  How long a state may last
static int64_t
s_patience (dc_state_t state)
{
    switch (state) {
    case DC_OPENING:
    case DC_GREETING:
    case DC_IDENTIFYING:
    case DC_RESUMING:
        return GREETING_MS;
    default:
        return -1; //  The call has a deadline, a pause its end, and then heartbeats are
    }
}

void
dc_event (discord_t *self, dc_event_t event)
{
    dc_transition_t step = argos_dc_gateway (self->state, event);
    bool moved = step.next != self->state;
    self->state = step.next;
    if (moved)
        s_deadline (self, s_patience (step.next) > 0 ? s_patience (step.next) : -1);
    if (step.actions & DC_DO_FORGET) {
        self->session[0] = '\0';
        self->seq = 0;
    }
    if (step.actions & DC_DO_LEAVE) {
        argos_adapter_timer (self->adapter, &self->live_timer, -1);
        dc_leave (self);
    }
    if (step.actions & DC_DO_ASK)
        s_ask (self);
    if (step.actions & DC_DO_CONNECT)
        s_connect (self);
    if (step.actions & DC_DO_IDENTIFY)
        s_identify (self);
    if (step.actions & DC_DO_RESUME)
        s_resume (self);
    if (step.actions & DC_DO_SERVE)
        s_serve (self);
    if (step.actions & (DC_DO_PAUSE | DC_DO_REST | DC_DO_SOON | DC_DO_PROBLEM))
        s_pause (self, step.actions);
}

static void
s_on_state_time (void *arg)
{
    discord_t *self = arg;
    if (self->state == DC_PAUSED || self->state == DC_STOPPED)
        dc_event (self, *self->session ? DC_BEGIN_OLD : DC_BEGIN_NEW);
    else if (self->state == DC_ASKING)
        dc_event (self, DC_ASK_FAILED);
    else
        dc_event (self, DC_SILENT);
}

void
dc_begin (discord_t *self)
{
    self->state_timer.fn = s_on_state_time;
    self->state = DC_PAUSED;
    dc_event (self, *self->session ? DC_BEGIN_OLD : DC_BEGIN_NEW);
}
