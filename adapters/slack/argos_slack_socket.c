//  argos_slack_socket - the connections of Socket Mode.
//
//  One works; when Slack says that it will end it, another one is opened, and the first is left
//  when the second has said hello: events come by both, and each is acknowledged where it came.
//  Invariant: at most two sockets; a try to connect is under way, or timed, whenever none that
//  stays is there.

#include "argos_slack_priv.h"

#include "argos_json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define IDLE_MS 20000   //  Silence before a ping, and behind it: a zombie is seen in 40 s
#define QUIET_MS 900000 //  Without an event: a call
#define DEAD_MS 3600000 //  Without an event: a new connection
#define JUMP_MS 60000   //  The machine was asleep
#define FATAL_MS 300000 //  Until what can't work is looked at again

static int64_t
s_awake_ms (void)
{
    struct timespec now;
    clock_gettime (CLOCK_BOOTTIME, &now);
    return (int64_t) now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void
s_later (slack_t *self, int64_t wait_ms)
{
    if (wait_ms < 0)
        wait_ms = argos_backoff_failed (
            &self->backoff, argos_shell_now (), argos_adapter_random (self->adapter));
    argos_adapter_timer (self->adapter, &self->timer, argos_shell_now () + wait_ms);
}

//  One that is there to stay, or is being opened
static bool
s_staying (const slack_t *self)
{
    for (size_t at = 0; at < SL_SOCKETS_MAX; at++)
        if (self->sockets[at].socket && !self->sockets[at].leaving)
            return true;
    return false;
}

static void
s_close (sl_socket_t *place)
{
    argos_adapter_t *adapter = place->slack->adapter;
    argos_adapter_timer (adapter, &place->timer, -1);
    if (!place->socket)
        return;
    argos_shell_fd (argos_adapter_shell (adapter), argos_websocket_fd (place->socket), NULL, NULL);
    argos_websocket_close (place->socket, 1000, "", argos_shell_now ());
    argos_websocket_destroy (&place->socket);
    place->live = place->leaving = false;
}

void
sl_disconnect (slack_t *self)
{
    for (size_t at = 0; at < SL_SOCKETS_MAX; at++)
        if (self->sockets[at].slack)
            s_close (&self->sockets[at]);
}

static sl_socket_t *
s_place (slack_t *self, uint32_t generation)
{
    for (size_t at = 0; at < SL_SOCKETS_MAX; at++)
        if (self->sockets[at].socket && self->sockets[at].generation == generation)
            return &self->sockets[at];
    return NULL;
}

static void
s_turn (void *arg)
{
    sl_socket_t *place = arg;
    uint32_t generation = place->generation;
    if (!place->socket)
        return;
    argos_websocket_turn (place->socket, argos_shell_now ());
    //  It may be gone, or another one
    if (place->socket && place->generation == generation)
        argos_adapter_timer (
            place->slack->adapter, &place->timer, argos_websocket_due (place->socket));
}

//  ------------------------------------------------------------------------------------------------
//  What is heard

static void
s_on_live_time (void *arg)
{
    slack_t *self = arg;
    argos_liveness_act_t act = argos_liveness_look (&self->live, s_awake_ms ());
    int64_t wait = argos_liveness_due (&self->live) - s_awake_ms ();
    argos_adapter_timer (
        self->adapter, &self->live_timer, argos_shell_now () + (wait > 0 ? wait : 1));
    if (act == ARGOS_PROBE)
        sl_api (self, "auth.test", json_object (), true, false, sl_ignore, NULL);
    if (act != ARGOS_RECONNECT)
        return;
    argos_log (
        ARGOS_LOG_WARN, argos_adapter_name (self->adapter), "quiet for too long", "what=reconnect");
    for (size_t at = 0; at < SL_SOCKETS_MAX; at++)
        self->sockets[at].leaving = self->sockets[at].socket != NULL;
    sl_connect (self);
}

static void
s_on_hello (sl_socket_t *place)
{
    slack_t *self = place->slack;
    place->live = true;
    for (size_t at = 0; at < SL_SOCKETS_MAX; at++)
        if (&self->sockets[at] != place && self->sockets[at].leaving)
            s_close (&self->sockets[at]);
    argos_log (ARGOS_LOG_INFO, argos_adapter_name (self->adapter), "connected",
        "user=\"%s\" team=%s", self->name, self->team);
    argos_backoff_good (&self->backoff, argos_shell_now ());
    self->live = (argos_liveness_t){ .quiet_ms = QUIET_MS, .dead_ms = DEAD_MS, .jump_ms = JUMP_MS };
    argos_liveness_event (&self->live, s_awake_ms ());
    self->live_timer.fn = s_on_live_time;
    self->live_timer.arg = self;
    argos_adapter_timer (self->adapter, &self->live_timer, argos_shell_now () + 60000);
    argos_adapter_problem (self->adapter, NULL);
    argos_adapter_serve (self->adapter);
}

//  warning and refresh_requested: it ends soon; link_disabled: Socket Mode was turned off
static void
s_on_disconnect (sl_socket_t *place, const char *reason)
{
    slack_t *self = place->slack;
    argos_log (ARGOS_LOG_INFO, argos_adapter_name (self->adapter), "connection will end",
        "reason=%.40s", reason);
    place->leaving = true;
    if (strcmp (reason, "link_disabled") == 0) {
        argos_adapter_problem (self->adapter, sl_help (reason));
        s_close (place);
        s_later (self, FATAL_MS);
        return;
    }
    sl_connect (self);
}

static void
s_on_text (void *arg, uint32_t generation, const char *text, size_t size)
{
    slack_t *self = arg;
    sl_socket_t *place = s_place (self, generation);
    if (!place)
        return;
    json_t *envelope = argos_json_load_mended (text, size, 0, NULL);
    const char *type = sl_member (envelope, "type");
    if (strcmp (type, "hello") == 0)
        s_on_hello (place);
    else if (strcmp (type, "disconnect") == 0)
        s_on_disconnect (place, sl_member (envelope, "reason"));
    else if (*sl_member (envelope, "envelope_id")) {
        argos_liveness_event (&self->live, s_awake_ms ());
        sl_hear (self, generation, envelope);
    }
    json_decref (envelope);
}

static void
s_on_end (void *arg, uint32_t generation, const argos_websocket_end_t *end)
{
    slack_t *self = arg;
    sl_socket_t *place = s_place (self, generation);
    if (!place)
        return;
    bool expected = place->leaving;
    argos_log (expected ? ARGOS_LOG_INFO : ARGOS_LOG_WARN, argos_adapter_name (self->adapter),
        "connection ended", "code=%d reason=\"%.150s\"", end->code, end->reason);
    s_close (place);
    if (!s_staying (self) && !self->asking)
        s_later (self, -1);
}

void
sl_acknowledge (slack_t *self, uint32_t generation, const char *envelope, bool answers)
{
    sl_socket_t *place = s_place (self, generation);
    if (!place)
        return; //  Slack sends it again, by another connection
    json_t *message = json_pack ("{s:s}", "envelope_id", envelope);
    if (answers)
        json_object_set_new (message, "payload",
            json_pack ("{s:s,s:s}", "response_type", "ephemeral", "text", "\u2705"));
    size_t size = 0;
    char *text = argos_json_dumps (message, &size);
    json_decref (message);
    if (!text)
        abort ();
    argos_websocket_send (place->socket, text, size, argos_shell_now ());
    argos_adapter_timer (self->adapter, &place->timer, argos_websocket_due (place->socket));
    free (text);
}

//  ------------------------------------------------------------------------------------------------
//  Connecting

static void
s_open (slack_t *self, sl_socket_t *place, const char *url)
{
    place->slack = self;
    place->generation = ++self->generation;
    place->live = place->leaving = false;
    place->timer.fn = s_turn;
    place->timer.arg = place;
    argos_websocket_config_t config = { .url = url,
        .generation = place->generation,
        .idle_ms = IDLE_MS,
        .arg = self,
        .on_text = s_on_text,
        .on_end = s_on_end };
    place->socket = argos_websocket_new (&config, argos_shell_now ());
    if (!place->socket) {
        s_later (self, -1);
        return;
    }
    argos_shell_fd (
        argos_adapter_shell (self->adapter), argos_websocket_fd (place->socket), s_turn, place);
    argos_adapter_timer (self->adapter, &place->timer, argos_shell_now ());
}

static void
s_on_url (void *arg, const sl_answer_t *answer)
{
    slack_t *self = arg;
    self->asking = false;
    const char *url = sl_member (answer->body, "url"), *help = sl_help (answer->error);
    sl_socket_t *place = NULL;
    for (size_t at = 0; at < SL_SOCKETS_MAX && !place; at++)
        if (!self->sockets[at].socket)
            place = &self->sockets[at];
    if (self->closing)
        return;
    if (answer->ok && *url && place)
        s_open (self, place, url);
    else if (!answer->ok && help) {
        argos_adapter_problem (self->adapter, help);
        s_later (self, FATAL_MS);
    }
    else {
        argos_log (ARGOS_LOG_WARN, argos_adapter_name (self->adapter), "no connection",
            "reason=\"%.150s\"", answer->error);
        s_later (self, answer->wait_ms > 0 ? answer->wait_ms : -1);
    }
}

static void
s_on_time (void *arg)
{
    sl_connect (arg);
}

void
sl_connect (slack_t *self)
{
    self->timer.fn = s_on_time;
    self->timer.arg = self;
    if (self->asking || s_staying (self))
        return;
    self->asking =
        sl_api (self, "apps.connections.open", json_object (), true, false, s_on_url, self);
    if (!self->asking)
        s_later (self, 1000);
}
