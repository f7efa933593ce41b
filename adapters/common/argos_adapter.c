//  argos_adapter - see the header. This file is the actor: its loop, its settings, its requests.
//
//  Invariant: READY is said once, with the first welcome, whatever the platform thinks of the
//  settings; a platform that can't work serves nothing, and its reason is told by probe. The one
//  timer of the loop is the earliest of libcurl's and of the heap. Limits: 64 requests at a time.

#include "argos_adapter_priv.h"

#include "argos_actor.h"
#include "argos_secret.h"
#include "argos_setting.h"
#include "argos_token_lock.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <utlist.h>

#define SLOTS 16       //  Deliveries at a time
#define ASKS_MAX 64    //  Requests at a time
#define LATE_MS 5000   //  Say that the broker has not welcomed us
#define QUIET_MS 2000  //  Without work, before memory is given back
#define TIMERS_MAX 256 //  Served before sockets have their turn

char *
argos_adapter_copy (const char *text)
{
    char *copy = text ? strdup (text) : NULL;
    if (text && !copy)
        abort ();
    return copy;
}

const char *
argos_adapter_member (const json_t *object, const char *name)
{
    const char *text = json_string_value (json_object_get (object, name));
    return text ? text : "";
}

//  ------------------------------------------------------------------------------------------------
//  Timers and HTTP

static void
s_on_timer (void *arg)
{
    argos_adapter_t *self = arg;
    int64_t now = argos_shell_now ();
    argos_due_node_t *node;
    for (int i = 0; i < TIMERS_MAX && (node = argos_due_pop (&self->due, now)); i++) {
        argos_adapter_timer_t *timer = node->owner;
        timer->fn (timer->arg);
    }
    int64_t http_ms = argos_http_client_due (self->http);
    if (http_ms >= 0 && http_ms <= now)
        argos_http_client_turn (self->http, now);
    argos_adapter_arm (self);
}

void
argos_adapter_arm (argos_adapter_t *self)
{
    if (self->closing || !self->started)
        return;
    int64_t due_ms = argos_due_first (&self->due);
    int64_t http_ms = argos_http_client_due (self->http);
    if (http_ms >= 0 && (due_ms < 0 || http_ms < due_ms))
        due_ms = http_ms;
    argos_shell_timer (self->shell, due_ms, s_on_timer, self);
}

static void
s_on_http (void *arg)
{
    argos_adapter_t *self = arg;
    argos_http_client_turn (self->http, argos_shell_now ());
    argos_adapter_arm (self);
}

void
argos_adapter_timer (argos_adapter_t *self, argos_adapter_timer_t *timer, int64_t due_ms)
{
    if (self->closing && due_ms >= 0)
        return;
    timer->node.owner = timer;
    argos_due_set (&self->due, &timer->node, due_ms);
    argos_adapter_arm (self);
}

//  What a burst of calls has taken lies about in pieces: a process that does nothing else gives it
//  back when it is over. In the broker's process that would hold up others.

static void
s_on_quiet (void *arg)
{
    (void) arg;
    malloc_trim (0);
}

void
argos_adapter_worked (argos_adapter_t *self)
{
    if (self->apart)
        argos_adapter_timer (self, &self->quiet, argos_shell_now () + QUIET_MS);
}

argos_http_call_t *
argos_adapter_http (
    argos_adapter_t *self, const argos_http_request_t *request, argos_http_fn *fn, void *arg)
{
    if (self->closing)
        return NULL;
    argos_http_call_t *call =
        argos_http_client_call (self->http, request, fn, arg, argos_shell_now ());
    argos_adapter_arm (self);
    argos_adapter_worked (self);
    return call;
}

uint32_t
argos_adapter_random (argos_adapter_t *self)
{
    self->random = self->random * 1664525U + 1013904223U;
    return self->random >> 8;
}

//  ------------------------------------------------------------------------------------------------
//  What the platform asks for

const char *
argos_adapter_platform (const argos_adapter_t *self)
{
    return self->kind->name;
}

const char *
argos_adapter_account (const argos_adapter_t *self)
{
    return self->account;
}

const char *
argos_adapter_name (const argos_adapter_t *self)
{
    return self->name;
}

argos_shell_t *
argos_adapter_shell (argos_adapter_t *self)
{
    return self->shell;
}

argos_peer_t *
argos_adapter_peer (argos_adapter_t *self)
{
    return self->peer;
}

argos_rate_t *
argos_adapter_rate (argos_adapter_t *self)
{
    return self->rate;
}

const json_t *
argos_adapter_settings (const argos_adapter_t *self)
{
    return self->settings;
}

const json_t *
argos_adapter_setting (const argos_adapter_t *self, const char *path, bool own)
{
    json_t *platform =
        json_object_get (json_object_get (self->settings, "platforms"), self->kind->name);
    json_t *account = json_object_get (json_object_get (platform, "accounts"), self->account);
    const json_t *value = account ? argos_setting_at (account, path) : NULL;
    if (!value && platform && (!own || strcmp (self->account, "main") == 0))
        value = argos_setting_at (platform, path);
    return value;
}

char *
argos_adapter_secret (
    argos_adapter_t *self, const char *path, bool locked, char *reason, size_t size)
{
    const char *ref = json_string_value (argos_adapter_setting (self, path, true));
    if (!ref) {
        snprintf (reason, size, "platforms.%s.%s is not set", self->kind->name, path);
        return NULL;
    }
    char *secret = argos_secret_read (self->home, ref, reason, size);
    if (!secret || !locked)
        return secret;
    int fd = argos_token_lock (self->kind->name, secret, reason, size);
    if (fd < 0)
        argos_secret_free (&secret);
    else if (self->lock_fd >= 0)
        close (fd);
    else
        self->lock_fd = fd;
    return secret;
}

//  Requests also when deliveries have to wait: so that a probe finds us.

static void
s_serve (argos_adapter_t *self)
{
    static const char *const types[] = { "probe", "thread.create", "chat.info", "deliver.request",
        NULL };
    static const char *const requests[] = { "probe", "thread.create", "chat.info", NULL };
    argos_peer_serve (self->peer, self->service, SLOTS, self->serving ? types : requests);
}

void
argos_adapter_serve (argos_adapter_t *self)
{
    if (self->serving || *self->problem || self->closing)
        return;
    self->serving = true;
    argos_adapter_worked (self); //  The start of libraries and schemas has left holes
    argos_log (ARGOS_LOG_INFO, self->name, "serving", NULL);
    s_serve (self);
    argos_adapter_turns_begin (self);
}

void
argos_adapter_problem (argos_adapter_t *self, const char *problem)
{
    if (!problem) {
        if (*self->problem)
            argos_log (ARGOS_LOG_WARN, self->name, "works again", NULL);
        *self->problem = 0;
        return;
    }
    if (strcmp (problem, self->problem) != 0)
        argos_log (ARGOS_LOG_ERROR, self->name, "can't work", "reason=\"%s\"", problem);
    snprintf (self->problem, sizeof self->problem, "%s", problem);
    if (self->serving) {
        self->serving = false;
        s_serve (self);
    }
}

const char *
argos_adapter_problem_now (const argos_adapter_t *self)
{
    return self->problem;
}

//  ------------------------------------------------------------------------------------------------
//  Requests

static void
s_ask_free (argos_adapter_ask_t *ask)
{
    DL_DELETE (ask->adapter->asks, ask);
    ask->adapter->ask_count--;
    free (ask->from);
    free (ask->id);
    free (ask);
}

void
argos_adapter_answer (argos_adapter_ask_t *ask, const char *type, json_t *body)
{
    argos_peer_reply_to (ask->adapter->peer, ask->from, ask->id, type, body);
    s_ask_free (ask);
}

static json_t *
s_error (argos_err_t code, const char *reason)
{
    return json_pack ("{s:s,s:s}", "code", argos_err_name (code), "reason",
        reason && *reason ? reason : argos_err_text (code));
}

void
argos_adapter_answer_error (argos_adapter_ask_t *ask, argos_err_t code, const char *reason)
{
    argos_adapter_answer (ask, "error", s_error (code, reason));
}

static void
s_on_request (void *ctx, const argos_peer_msg_t *msg)
{
    argos_adapter_t *self = ctx;
    if (*msg->re || !*msg->id || self->closing)
        return;
    bool probe = strcmp (msg->type, "probe") == 0;
    bool known =
        probe || strcmp (msg->type, "thread.create") == 0 || strcmp (msg->type, "chat.info") == 0;
    if (probe && *self->problem)
        argos_peer_reply (self->peer, msg, "probe.result",
            json_pack ("{s:b,s:s}", "ok", 0, "problem", self->problem));
    else if (!known)
        argos_peer_reply (self->peer, msg, "error", s_error (ARGOS_UNSUPPORTED, NULL));
    else if (*self->problem || self->ask_count >= ASKS_MAX)
        argos_peer_reply (self->peer, msg, "error", s_error (ARGOS_BUSY, self->problem));
    else {
        argos_adapter_ask_t *ask = calloc (1, sizeof *ask);
        if (!ask)
            abort ();
        ask->adapter = self;
        ask->from = argos_adapter_copy (msg->from);
        ask->id = argos_adapter_copy (msg->id);
        DL_APPEND (self->asks, ask);
        self->ask_count++;
        self->kind->ask (self->platform, ask, msg->type, msg->body);
    }
    argos_adapter_arm (self);
}

//  ------------------------------------------------------------------------------------------------
//  The actor

static void
s_on_lease (void *ctx, const argos_peer_msg_t *msg)
{
    argos_delivery_begin (ctx, msg);
    argos_adapter_arm (ctx);
}

static void
s_on_lost (void *ctx, argos_lease_t *lease)
{
    argos_delivery_lost (ctx, lease);
}

static void
s_on_entry (void *ctx, const char *topic, const argos_peer_msg_t *msg)
{
    argos_adapter_turns_entry (ctx, topic, msg);
    argos_adapter_arm (ctx);
}

static void
s_on_end (void *ctx, const char *topic, int64_t n, bool closed)
{
    (void) n;
    (void) closed;
    argos_adapter_turns_end (ctx, topic);
    argos_adapter_arm (ctx);
}

static void
s_on_refused (void *ctx, const char *id, argos_err_t code, const char *reason)
{
    argos_adapter_t *self = ctx;
    argos_log (ARGOS_LOG_WARN, self->name, "refused", "id=%s code=%s reason=\"%s\"", id,
        argos_err_name (code), reason);
}

static void
s_on_welcome (void *ctx, bool new_store)
{
    (void) new_store;
    argos_adapter_t *self = ctx;
    if (!self->told)
        argos_actor_ready (self->pipe, true);
    self->told = true;
    if (self->started)
        return;
    self->started = true;
    s_serve (self);
    if (self->platform)
        self->kind->start (self->platform);
    argos_adapter_arm (self);
}

static void
s_on_final (void *ctx, argos_err_t code, const char *reason)
{
    argos_adapter_t *self = ctx;
    argos_log (ARGOS_LOG_ERROR, self->name, "ended by the broker", "code=%s reason=\"%s\"",
        argos_err_name (code), reason);
    argos_actor_fail (self->pipe, reason);
    argos_shell_stop (self->shell);
}

//  A node may be there before its core, or while nothing comes through: it waits, and says so once.

static void
s_on_late (void *arg)
{
    const argos_adapter_t *self = arg;
    argos_log (ARGOS_LOG_WARN, self->name, "waiting", "reason=\"the broker has not answered yet\"");
}

static void
s_on_command (void *arg, zmsg_t *msg)
{
    argos_adapter_t *self = arg;
    json_t *settings = argos_actor_settings (msg);
    if (!settings)
        return;
    json_decref (self->settings);
    self->settings = settings;
    if (self->platform && self->kind->settings)
        self->kind->settings (self->platform);
}

//  Answers that still come while the peer ends find `closing`; what they belong to goes after it.

static void
s_destroy (argos_adapter_t **self_p)
{
    argos_adapter_t *self = *self_p;
    self->closing = true;
    if (self->http && self->shell)
        argos_shell_fd (self->shell, argos_http_client_fd (self->http), NULL, NULL);
    argos_http_client_destroy (&self->http);
    if (self->platform)
        self->kind->close (&self->platform);
    argos_shell_destroy (&self->shell);
    argos_delivery_free_all (self);
    argos_adapter_turns_free (self);
    argos_adapter_store_free (self);
    while (
        self->asks) //  The freed one has left the list. NOLINTNEXTLINE(clang-analyzer-unix.Malloc)
        s_ask_free (self->asks);
    argos_due_clear (&self->due);
    argos_rate_destroy (&self->rate);
    if (self->lock_fd >= 0)
        close (self->lock_fd);
    json_decref (self->settings);
    free (self->home);
    free (self);
    *self_p = NULL;
}

static void
s_tell (argos_adapter_t *self)
{
    json_t *told = self->kind->capabilities ();
    json_object_set_new (told, "platform", json_string (self->kind->name));
    json_object_set_new (told, "account", json_string (self->account));
    argos_peer_capabilities (self->peer, self->service, told);
}

static argos_adapter_t *
s_new (zsock_t *pipe, const argos_adapter_config_t *config)
{
    argos_adapter_t *self = calloc (1, sizeof *self);
    if (!self)
        abort ();
    self->pipe = pipe;
    self->kind = config->kind;
    self->lock_fd = -1;
    self->apart = config->link.endpoint != NULL;
    self->quiet.fn = s_on_quiet;
    self->random = (uint32_t) argos_shell_wall ();
    self->home = argos_adapter_copy (config->home);
    self->settings = json_deep_copy (config->settings);
    snprintf (self->account, sizeof self->account, "%s", config->account);
    snprintf (self->name, sizeof self->name, "%s.%s", self->kind->name, self->account);
    snprintf (self->service, sizeof self->service, "deliver.%s", self->name);
    snprintf (self->out, sizeof self->out, "out.%s", self->name);
    snprintf (self->space, sizeof self->space, "adapter.%.20s", self->kind->name);
    self->rate = argos_rate_new ();
    self->http = argos_http_client_new ();
    char peer_name[ARGOS_NAME_MAX + 1];
    argos_peer_config_t peer = { .handlers = { .ctx = self,
                                     .on_welcome = s_on_welcome,
                                     .on_lease = s_on_lease,
                                     .on_lost = s_on_lost,
                                     .on_request = s_on_request,
                                     .on_entry = s_on_entry,
                                     .on_end = s_on_end,
                                     .on_refused = s_on_refused,
                                     .on_final = s_on_final } };
    argos_link_apply (&config->link, self->name, &peer, peer_name);
    self->shell = self->http ? argos_shell_new (pipe, &peer) : NULL;
    if (!self->shell) {
        s_destroy (&self);
        return NULL;
    }
    self->peer = argos_shell_peer (self->shell);
    return self;
}

void
argos_adapter_actor (zsock_t *pipe, void *config)
{
    char reason[512] = "";
    argos_adapter_t *self = s_new (pipe, config);
    if (!self) {
        argos_actor_ready (pipe, false);
        return;
    }
    argos_shell_on_command (self->shell, s_on_command, self);
    argos_shell_fd (self->shell, argos_http_client_fd (self->http), s_on_http, self);
    s_tell (self);
    self->platform = self->kind->open (self, reason, sizeof reason);
    if (!self->platform)
        argos_adapter_problem (self, reason);
    argos_shell_timer (self->shell, argos_shell_now () + LATE_MS, s_on_late, self);
    argos_shell_run (self->shell);
    if (!self->told)
        argos_actor_ready (pipe, false);
    s_destroy (&self);
}
