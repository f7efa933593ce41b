//  argos_tools_actor - the shell around argos_terminal and argos_fetch: requests in, results out.
//
//  Invariant: each call in the list has a command or a fetch and is answered once, when that is
//  over. All descriptors of all commands are in one epoll set. Limits: 32 slots for tasks and 32
//  for others; 64 commands, counting those whose requester waits no longer, and fetches.

#include "argos_tools_actor.h"

#include "argos_actor.h"
#include "argos_asks.h"
#include "argos_claim.h"
#include "argos_log.h"
#include "argos_offers.h"
#include "argos_setting.h"
#include "argos_tools_priv.h"

#include <sys/epoll.h>
#include <unistd.h>
#include <utlist.h>

#define TERMINAL "tool.terminal"
#define ATTACHMENT "tool.attachment"
#define OFFERS "tools"    //  Service that takes tool.offer
#define SLOTS 32          //  Commands at a time
#define OFFER_SLOTS 8     //  Offers at a time
#define FETCHES 8         //  Files at a time
#define LATE_MS 5000      //  Say that the broker has not welcomed us
#define READ_TTL_MS 10000 //  Patience with the store

//  What is held for a task is let go.

static void
s_handle_close (tools_t *self, const argos_peer_msg_t *msg)
{
    const char *task = json_string_value (json_object_get (msg->body, "task_id"));
    if (self->box && task)
        argos_toolbox_close (self->box, task);
    argos_peer_reply (argos_shell_peer (self->shell), msg, "task.closed", NULL);
}

static void
s_on_lease (void *ctx, const argos_peer_msg_t *msg)
{
    tools_t *self = ctx;
    argos_sendfile_lease (self->sendfile, msg);
}

static void
s_on_lost (void *ctx, argos_lease_t *lease)
{
    tools_t *self = ctx;
    argos_sendfile_lost (self->sendfile, lease);
}

static void
s_on_request (void *ctx, const argos_peer_msg_t *msg)
{
    tools_t *self = ctx;
    if (streq (msg->type, "tool.cancel") || streq (msg->type, "cancel"))
        tools_cancel (self, msg);
    else if (streq (msg->type, "tool.offer"))
        argos_offers_take (
            argos_shell_peer (self->shell), msg, argos_registry_set (self->registry));
    else if (streq (msg->type, "task.home"))
        argos_claim_take (argos_shell_peer (self->shell), msg, self->node);
    else if (streq (msg->type, "task.close"))
        s_handle_close (self, msg);
    else if (streq (msg->type, "tool.call"))
        tools_call (self, msg);
    else if (*msg->id && !*msg->re)
        tools_refuse (self, msg, "no such request");
}

//  ---------------------------------------------------------------------------------------------
//  Lifecycle

//  Commands from now on have the new settings.

static void
s_on_command (void *arg, zmsg_t *msg)
{
    tools_t *self = arg;
    json_t *config = argos_actor_settings (msg);
    if (!config)
        return;
    const char *workdir = argos_setting_text (config, NULL, NULL, "tools.terminal.workdir");
    self->timeout_ms = argos_setting_int (config, NULL, NULL, "tools.terminal.timeout_s") * 1000;
    self->output_max = (size_t) argos_setting_int (config, NULL, NULL, "tools.terminal.output_max");
    free (self->workdir);
    self->workdir = workdir && *workdir ? strdup (workdir) : NULL;
    if (self->sendfile)
        argos_sendfile_settings (self->sendfile, config);
    if (self->box)
        argos_toolbox_settings (self->box, config);
    json_decref (config);
}

//  The store answers in order, so that the service is declared when this has been answered.

static void
s_on_declared (void *arg, const argos_peer_answer_t *answer)
{
    tools_t *self = arg;
    if (self->stopping || self->ready)
        return;
    self->ready = answer->code == ARGOS_OK;
    tools_set_timer (self);
    argos_actor_ready (self->pipe, self->ready);
    if (!self->ready)
        argos_shell_stop (self->shell);
}

static void
s_on_welcome (void *ctx, bool new_store)
{
    (void) new_store;
    tools_t *self = ctx;
    argos_peer_part_t part = { .type = "status.get", .to = "store", .ttl_ms = READ_TTL_MS };
    argos_registry_welcome (self->registry);
    if (!self->ready)
        argos_peer_send (argos_shell_peer (self->shell), &part, s_on_declared, self);
}

static void
s_on_entry (void *ctx, const char *topic, const argos_peer_msg_t *msg)
{
    tools_t *self = ctx;
    (void) msg;
    argos_registry_entry (self->registry, topic);
}

//  A node may be there before its core, or while nothing comes through: it waits, and says so once.

static void
s_on_late (void *arg)
{
    (void) arg;
    argos_log (ARGOS_LOG_WARN, TOOLS_NAME, "waiting", "reason=\"the broker has not answered yet\"");
}

static void
s_on_final (void *ctx, argos_err_t code, const char *reason)
{
    (void) code;
    tools_t *self = ctx;
    argos_actor_fail (self->pipe, reason);
    argos_shell_stop (self->shell);
}

//  Kill what runs: all at once, then wait for each.

static void
s_kill_all (tools_t *self)
{
    call_t *call, *next;
    DL_FOREACH (self->calls, call)
        if (call->terminal)
            argos_terminal_cancel (call->terminal, argos_shell_now ());
    //  A launch is freed by its answer, which the end of the peer brings
    DL_FOREACH_SAFE (self->calls, call, next)
        if (call->terminal || call->fetch)
            tools_call_destroy (self, &call);
}

//  Files in and out.

static void
s_serve_files (tools_t *self, const json_t *settings)
{
    static const char *const types[] = { ARGOS_SENDFILE_TYPE, NULL };
    argos_peer_t *peer = argos_shell_peer (self->shell);
    char own[ARGOS_NAME_MAX + 1];
    argos_claim_serve (peer, ATTACHMENT, self->node, FETCHES);
    self->sendfile = argos_sendfile_new (peer, self->files, self->node);
    argos_sendfile_settings (self->sendfile, settings);
    argos_peer_serve (peer, ARGOS_SENDFILE_SERVICE, ARGOS_SENDFILE_SLOTS, types);
    argos_node_service (ARGOS_SENDFILE_SERVICE, self->node, own);
    argos_peer_serve (peer, own, ARGOS_SENDFILE_SLOTS, types);
}

//  The rules, and the tools that need them.

static void
s_open_box (tools_t *self, const argos_tools_config_t *settings)
{
    char reason[256], pids[64];
    const char *home = getenv ("HOME");
    snprintf (pids, sizeof pids, "%d|%d", getpid (), getppid () > 1 ? getppid () : getpid ());
    self->state = settings->state ? strdup (settings->state) : NULL;
    self->policy = argos_approval_policy_new (NULL, pids, reason, sizeof reason);
    argos_toolbox_config_t box = { .home = home ? home : "/",
        .state = settings->state,
        .files = self->files,
        .policy = self->policy,
        .node = self->node };
    if (self->policy)
        self->box = argos_toolbox_new (self->shell, &box);
    else
        argos_log (ARGOS_LOG_ERROR, TOOLS_NAME, "no rules", "reason=\"%s\"", reason);
    if (self->box)
        argos_toolbox_settings (self->box, settings->settings);
}

void
argos_tools_actor (zsock_t *pipe, void *config)
{
    const argos_tools_config_t *settings = config;
    tools_t self = {
        .pipe = pipe, .timeout_ms = settings->timeout_ms, .output_max = settings->output_max
    };
    char name[ARGOS_NAME_MAX + 1];
    argos_peer_config_t peer = { .handlers = { .ctx = &self,
                                     .on_welcome = s_on_welcome,
                                     .on_lease = s_on_lease,
                                     .on_lost = s_on_lost,
                                     .on_request = s_on_request,
                                     .on_entry = s_on_entry,
                                     .on_final = s_on_final } };
    argos_link_apply (&settings->link, TOOLS_NAME, &peer, name);
    snprintf (self.node, sizeof self.node, "%s", argos_node_of (&settings->link));
    if (settings->workdir && *settings->workdir)
        self.workdir = strdup (settings->workdir);
    if (settings->files && *settings->files)
        self.files = strdup (settings->files);
    self.epoll_fd = epoll_create1 (EPOLL_CLOEXEC);
    self.shell = self.epoll_fd < 0 ? NULL : argos_shell_new (pipe, &peer);
    if (self.shell) {
        self.registry = argos_registry_new (argos_shell_peer (self.shell), NULL, NULL);
        argos_peer_serve (argos_shell_peer (self.shell), OFFERS, OFFER_SLOTS, NULL);
        argos_claim_serve (argos_shell_peer (self.shell), TERMINAL, self.node, SLOTS);
        s_open_box (&self, settings);
        argos_asks_serve (argos_shell_peer (self.shell));
        if (self.files)
            s_serve_files (&self, settings->settings);
        argos_shell_on_command (self.shell, s_on_command, &self);
        argos_shell_fd (self.shell, self.epoll_fd, tools_on_events, &self);
        argos_shell_timer (self.shell, argos_shell_now () + LATE_MS, s_on_late, &self);
        argos_shell_run (self.shell);
    }
    else
        argos_actor_ready (pipe, false);
    self.stopping = true;
    if (self.sendfile)
        argos_sendfile_stop (self.sendfile);
    s_kill_all (&self);
    argos_toolbox_destroy (&self.box);
    argos_shell_destroy (&self.shell);
    argos_registry_destroy (&self.registry);
    argos_sendfile_destroy (&self.sendfile);
    argos_approval_policy_destroy (&self.policy);
    free (self.state);
    if (self.epoll_fd >= 0)
        close (self.epoll_fd);
    free (self.workdir);
    free (self.files);
}
