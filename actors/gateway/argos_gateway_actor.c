//  argos_gateway_actor - the loop around the messages of argos_gateway_job.
//
//  Invariant: requests to us (argos_gateway_ask) and messages share the loop and the settings,
//  nothing else. Limit: 64 messages at a time.

#include "argos_gateway_actor.h"

#include "argos_actor.h"
#include "argos_allow.h"
#include "argos_approval.h"
#include "argos_expire.h"
#include "argos_gateway_ask.h"
#include "argos_gateway_job.h"
#include "argos_log.h"

#include <string.h>

#define NAME "gateway"
#define SLOTS 64          //  Messages in hand
#define READ_TTL_MS 10000 //  Patience with the store
#define LATE_MS 5000      //  Say that the broker has not welcomed us

typedef struct {
    zsock_t *pipe;                     //  Command pipe to our owner
    argos_gateway_desk_t desk;         //  What messages in hand share
    argos_approval_policy_t *approval; //  Rules for calls of tools, NULL = none
    char *profile;                     //  Own copy
    bool ready;                        //  READY has been said
} gateway_t;

//  The settings from now on; config is stolen and may be NULL.

static void
s_set_settings (gateway_t *self, const argos_gateway_policy_t *policy, json_t *config)
{
    argos_gateway_settings_unref (&self->desk.settings);
    self->desk.settings =
        argos_gateway_settings_new (policy, config, self->profile, self->approval);
}

static void
s_on_command (void *arg, zmsg_t *msg)
{
    argos_gateway_policy_t policy;
    json_t *config = argos_actor_settings (msg);
    if (!config)
        return;
    argos_gateway_policy_read (&policy, config);
    s_set_settings (arg, &policy, config);
}

//  ---------------------------------------------------------------------------------------------
//  Handlers of the peer

static void
s_on_lease (void *ctx, const argos_peer_msg_t *msg)
{
    gateway_t *self = ctx;
    argos_gateway_job_begin (&self->desk, msg);
}

static void
s_on_request (void *ctx, const argos_peer_msg_t *msg)
{
    gateway_t *self = ctx;
    argos_gateway_ask (argos_shell_peer (self->desk.shell),
        argos_gateway_settings_policy (self->desk.settings), msg);
}

static void
s_on_lost (void *ctx, argos_lease_t *lease)
{
    (void) ctx;
    argos_gateway_job_lost (lease);
}

//  The store answers in order, so that the service is declared when this has been answered.

static void
s_on_declared (void *arg, const argos_peer_answer_t *answer)
{
    gateway_t *self = arg;
    if (self->desk.stopping || self->ready)
        return;
    self->ready = answer->code == ARGOS_OK;
    argos_shell_timer (self->desk.shell, -1, NULL, NULL);
    argos_actor_ready (self->pipe, self->ready);
    if (!self->ready)
        argos_shell_stop (self->desk.shell);
}

static void
s_on_welcome (void *ctx, bool new_store)
{
    (void) new_store;
    gateway_t *self = ctx;
    argos_peer_part_t part = { .type = "status.get", .to = "store", .ttl_ms = READ_TTL_MS };
    if (!self->ready)
        argos_peer_send (argos_shell_peer (self->desk.shell), &part, s_on_declared, self);
}

//  A node may be there before its core, or while nothing comes through: it waits, and says so once.

static void
s_on_late (void *arg)
{
    (void) arg;
    argos_log (ARGOS_LOG_WARN, NAME, "waiting", "reason=\"the broker has not answered yet\"");
}

static void
s_on_final (void *ctx, argos_err_t code, const char *reason)
{
    (void) code;
    gateway_t *self = ctx;
    argos_actor_fail (self->pipe, reason);
    argos_shell_stop (self->desk.shell);
}

//  ---------------------------------------------------------------------------------------------
//  Lifecycle

void
argos_gateway_actor (zsock_t *pipe, void *config)
{
    static const char *const types[] = { "message.inbound", "message.dead", ARGOS_EXPIRE_TYPE,
        NULL };
    const argos_gateway_config_t *settings = config;
    gateway_t self = { .pipe = pipe };
    char name[ARGOS_NAME_MAX + 1];
    argos_peer_config_t peer = { .handlers = { .ctx = &self,
                                     .on_welcome = s_on_welcome,
                                     .on_lease = s_on_lease,
                                     .on_lost = s_on_lost,
                                     .on_request = s_on_request,
                                     .on_final = s_on_final } };
    argos_link_apply (&settings->link, NAME, &peer, name);
    if (settings->policy.route.profile)
        self.profile = strdup (settings->policy.route.profile);
    self.approval = argos_gateway_rules ();
    s_set_settings (&self, &settings->policy, json_deep_copy (settings->policy.config));
    if (argos_allow_is_unset (argos_gateway_settings_policy (self.desk.settings)->config))
        argos_log (ARGOS_LOG_WARN, NAME, "nobody is let in",
            "hint=\"platforms.<name>.allowed_users, or argos pairing approve\"");
    self.desk.shell = argos_shell_new (pipe, &peer);
    if (self.desk.shell) {
        argos_peer_serve (argos_shell_peer (self.desk.shell), NAME, SLOTS, types);
        argos_shell_on_command (self.desk.shell, s_on_command, &self);
        argos_shell_timer (self.desk.shell, argos_shell_now () + LATE_MS, s_on_late, &self);
        argos_shell_run (self.desk.shell);
    }
    else
        argos_actor_ready (pipe, false);
    self.desk.stopping =
        true; //  Jobs that wait for an answer are freed by the peer's last words to them
    argos_shell_destroy (&self.desk.shell);
    argos_gateway_settings_unref (&self.desk.settings);
    argos_approval_policy_destroy (&self.approval);
    free (self.profile);
}
