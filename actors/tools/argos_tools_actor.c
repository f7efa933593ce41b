//  argos_tools_actor - the shell around argos_terminal and argos_fetch: requests in, results out.
//
//  Invariant: each call in the list has a command or a fetch and is answered once, when that is
//  over. All descriptors of all commands are in one epoll set. Limits: 32 slots; 64 commands,
//  counting those whose requester waits no longer, and fetches.

#include "argos_tools_actor.h"

#include "argos_actor.h"
#include "argos_fetch.h"
#include "argos_header.h"
#include "argos_jobs_tool.h"
#include "argos_log.h"
#include "argos_offers.h"
#include "argos_registry.h"
#include "argos_sendfile.h"
#include "argos_setting.h"
#include "argos_shell.h"
#include "argos_terminal.h"
#include "argos_terminal_args.h"
#include "argos_toolbox.h"

#include <limits.h>
#include <sys/epoll.h>
#include <unistd.h>
#include <utlist.h>

#define NAME "tools"
#define TERMINAL "tool.terminal"
#define ATTACHMENT "tool.attachment"
#define OFFERS "tools"      //  Service that takes tool.offer
#define SLOTS 32            //  Commands at a time
#define OFFER_SLOTS 8       //  Offers at a time
#define FETCHES 8           //  Files at a time
#define CALLS_MAX 64        //  Commands at a time
#define EVENTS_MAX 32       //  Taken from epoll at once
#define READY_MS 10000      //  The broker has to welcome us within this
#define READ_TTL_MS 10000   //  Patience with the store
#define LAUNCH_TTL_MS 30000 //  Patience with the start of a background job

typedef struct call call_t;
typedef struct tools tools_t;

struct call {
    tools_t *tools;                //  Whose
    argos_terminal_t *terminal;    //  Its command, or NULL
    argos_fetch_t *fetch;          //  Its file, or NULL
    char from[ARGOS_NAME_MAX + 1]; //  Who asked
    char id[ARGOS_ID_MAX + 1];     //  With which id
    call_t *prev, *next;           //  In the list
};

struct tools {
    zsock_t *pipe;                   //  Command pipe to our owner
    argos_shell_t *shell;            //  The loop
    int epoll_fd;                    //  All descriptors of all commands
    call_t *calls;                   //  Under way
    int count;                       //  How many
    char *workdir;                   //  Where commands run that name no place, NULL = home
    int64_t timeout_ms;              //  Of commands that state none
    size_t output_max;               //  Bytes of output of one command
    char *files;                     //  Folder for files of the store, NULL = that is not served
    argos_registry_t *registry;      //  The tools that are offered
    argos_approval_policy_t *policy; //  What is never run, read or written
    argos_toolbox_t *box;            //  Tools for files and the web
    argos_sendfile_t *sendfile;      //  Files that go out, NULL = that is not served
    bool ready;                      //  READY has been said
    bool stopping;                   //  The peer is going away: send nothing more
};

static void s_on_due (void *arg);

//  ---------------------------------------------------------------------------------------------
//  Calls

static void
s_call_destroy (tools_t *self, call_t **call_p)
{
    DL_DELETE (self->calls, *call_p);
    self->count--;
    argos_terminal_destroy (&(*call_p)->terminal);
    argos_fetch_abandon (&(*call_p)->fetch);
    free (*call_p);
    *call_p = NULL;
}

//  Set the timer to the earliest deadline of all commands.

static void
s_set_timer (tools_t *self)
{
    int64_t due = INT64_MAX;
    call_t *call;
    DL_FOREACH (self->calls, call)
        if (call->terminal && argos_terminal_due (call->terminal) < due)
            due = argos_terminal_due (call->terminal);
    if (self->ready)
        argos_shell_timer (self->shell, due < INT64_MAX ? due : -1, s_on_due, self);
}

//  Give every command its turn, answer for those that are over.

static void
s_turn (tools_t *self, const argos_terminal_t *only)
{
    call_t *call, *next;
    int64_t now = argos_shell_now ();
    DL_FOREACH_SAFE (self->calls, call, next) {
        if (!call->terminal || (only && call->terminal != only))
            continue;
        argos_terminal_turn (call->terminal, now);
        if (!argos_terminal_over (call->terminal))
            continue;
        argos_peer_reply_to (argos_shell_peer (self->shell), call->from, call->id, "tool.result",
            argos_terminal_result (call->terminal));
        s_call_destroy (self, &call);
    }
    s_set_timer (self);
}

static void
s_on_due (void *arg)
{
    s_turn (arg, NULL);
}

static void
s_on_events (void *arg)
{
    tools_t *self = arg;
    struct epoll_event events[EVENTS_MAX];
    int count = epoll_wait (self->epoll_fd, events, EVENTS_MAX, 0);
    //  A command can be named twice; once it is over it is found no more
    for (int i = 0; i < count; i++)
        s_turn (self, events[i].data.ptr);
}

//  ---------------------------------------------------------------------------------------------
//  Requests

//  Answer a call that was not begun.

static void
s_refuse (tools_t *self, const argos_peer_msg_t *msg, const char *reason)
{
    argos_peer_reply (argos_shell_peer (self->shell), msg, "tool.result",
        json_pack ("{s:s, s:i, s:s, s:s}", "output", "", "exit_code", -1, "error", reason, "status",
            "error"));
}

//  A call in the list; what it does is set by who asked for it.

static call_t *
s_call_new (tools_t *self, const argos_peer_msg_t *msg)
{
    call_t *call = calloc (1, sizeof *call);
    if (!call)
        abort ();
    call->tools = self;
    snprintf (call->from, sizeof call->from, "%s", msg->from);
    snprintf (call->id, sizeof call->id, "%s", msg->id);
    DL_APPEND (self->calls, call);
    self->count++;
    return call;
}

static void
s_on_launched (void *arg, const argos_peer_answer_t *answer)
{
    call_t *call = arg;
    tools_t *self = call->tools;
    char error[256];
    snprintf (error, sizeof error, "The background job was not started (%s).",
        argos_err_name (answer->code));
    if (!self->stopping)
        argos_peer_reply_to (argos_shell_peer (self->shell), call->from, call->id, "tool.result",
            answer->code == ARGOS_OK ? json_incref (answer->body) : argos_jobs_tool_error (error));
    s_call_destroy (self, &call);
}

//  A command for the background is the jobs actor's, whose answer is ours.

static void
s_launch (tools_t *self, const argos_peer_msg_t *msg)
{
    if (self->count >= CALLS_MAX) {
        s_refuse (self, msg, "too many commands run already");
        return;
    }
    call_t *call = s_call_new (self, msg);
    argos_peer_part_t part = { .type = "tool.call",
        .to = "service:job",
        .ttl_ms = LAUNCH_TTL_MS,
        .body = json_incref (msg->body) };
    argos_err_t code = argos_peer_send (argos_shell_peer (self->shell), &part, s_on_launched, call);
    if (code != ARGOS_OK) {
        argos_peer_answer_t answer = { .code = code };
        s_on_launched (call, &answer);
    }
}

static void
s_handle_tool_call (tools_t *self, const argos_peer_msg_t *msg)
{
    bool marked;
    const json_t *arguments = json_object_get (msg->body, "arguments");
    if (argos_jobs_is_background (arguments, &marked)) {
        s_launch (self, msg);
        return;
    }
    const char *problem = argos_terminal_problem (msg->body, self->timeout_ms);
    const char *workdir = json_string_value (json_object_get (arguments, "workdir"));
    char reason[256];
    if (!problem && self->count >= CALLS_MAX)
        problem = "too many commands run already";
    if (problem) {
        s_refuse (self, msg, problem);
        return;
    }
    argos_terminal_task_t task = {
        .command = json_string_value (json_object_get (arguments, "command")),
        .workdir = workdir && *workdir ? workdir : self->workdir,
        .timeout_ms = argos_terminal_timeout (msg->body, self->timeout_ms),
        .output_max = self->output_max,
    };
    argos_terminal_t *terminal =
        argos_terminal_new (self->epoll_fd, &task, argos_shell_now (), reason, sizeof reason);
    if (!terminal) {
        argos_log (ARGOS_LOG_WARN, NAME, "command not started", "reason=\"%s\"", reason);
        s_refuse (self, msg, reason);
        return;
    }
    s_call_new (self, msg)->terminal = terminal;
    s_set_timer (self);
}

static void
s_on_fetched (void *arg, argos_fetch_t *fetch, json_t *result)
{
    (void) fetch;
    call_t *call = arg;
    tools_t *self = call->tools;
    call->fetch = NULL; //  Frees itself
    argos_peer_reply_to (
        argos_shell_peer (self->shell), call->from, call->id, "tool.result", result);
    s_call_destroy (self, &call);
}

static void
s_handle_attachment (tools_t *self, const argos_peer_msg_t *msg)
{
    const json_t *arguments = json_object_get (msg->body, "arguments");
    const char *blob = json_string_value (json_object_get (arguments, "blob"));
    const char *session = json_string_value (json_object_get (msg->body, "session_id"));
    char reason[256] = "`blob` is missing: a string with the id of the file";
    if (self->count >= CALLS_MAX)
        snprintf (reason, sizeof reason, "too many commands run already");
    else if (blob && session) {
        call_t *call = s_call_new (self, msg);
        argos_fetch_task_t task = { .blob = blob,
            .folder = self->files,
            .session = session,
            .name = json_string_value (json_object_get (arguments, "name")) };
        call->fetch = argos_fetch_new (
            argos_shell_peer (self->shell), &task, s_on_fetched, call, reason, sizeof reason);
        if (call->fetch)
            return;
        s_call_destroy (self, &call);
    }
    s_refuse (self, msg, reason);
}

//  A request names its service only by its address; the body says which tool.

static void
s_handle_call (tools_t *self, const argos_peer_msg_t *msg)
{
    char root[PATH_MAX];
    const char *name = json_string_value (json_object_get (msg->body, "name"));
    const char *session = json_string_value (json_object_get (msg->body, "session_id"));
    const argos_toolset_t *set = argos_registry_set (self->registry);
    if (self->box && session) {
        if (argos_toolbox_take (
                self->box, msg, set, argos_toolbox_root (self->box, session, self->workdir, root)))
            return;
        argos_toolbox_other (self->box, session);
    }
    if (self->files && name && streq (name, "attachment"))
        s_handle_attachment (self, msg);
    else
        s_handle_tool_call (self, msg);
}

static void
s_handle_tool_cancel (tools_t *self, const argos_peer_msg_t *msg)
{
    call_t *call, *next;
    if (self->box && argos_toolbox_cancel (self->box, msg->from, msg->re))
        return;
    DL_FOREACH_SAFE (self->calls, call, next) {
        if (!streq (call->id, msg->re) || !streq (call->from, msg->from))
            continue;
        if (call->terminal)
            argos_terminal_cancel (call->terminal, argos_shell_now ());
        else if (call->fetch) {
            argos_peer_reply_to (argos_shell_peer (self->shell), call->from, call->id,
                "tool.result",
                json_pack ("{s:s, s:s, s:s}", "output", "", "error", "cancelled", "status",
                    "interrupted"));
            s_call_destroy (self, &call);
        }
    }
    s_set_timer (self);
}

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
        s_handle_tool_cancel (self, msg);
    else if (streq (msg->type, "tool.offer"))
        argos_offers_take (
            argos_shell_peer (self->shell), msg, argos_registry_set (self->registry));
    else if (streq (msg->type, "task.close"))
        s_handle_close (self, msg);
    else if (streq (msg->type, "tool.call"))
        s_handle_call (self, msg);
    else if (*msg->id && !*msg->re)
        s_refuse (self, msg, "no such request");
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
    s_set_timer (self);
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

static void
s_on_late (void *arg)
{
    tools_t *self = arg;
    argos_actor_ready (self->pipe, false);
    argos_shell_stop (self->shell);
}

static void
s_on_final (void *ctx, argos_err_t code, const char *reason)
{
    (void) code;
    tools_t *self = ctx;
    if (self->ready)
        argos_actor_fail (self->pipe, reason);
    else
        argos_actor_ready (self->pipe, false);
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
            s_call_destroy (self, &call);
}

//  Files in and out.

static void
s_serve_files (tools_t *self, const json_t *settings)
{
    static const char *const types[] = { ARGOS_SENDFILE_TYPE, NULL };
    argos_peer_t *peer = argos_shell_peer (self->shell);
    argos_peer_serve (peer, ATTACHMENT, FETCHES, NULL);
    self->sendfile = argos_sendfile_new (peer, self->files);
    argos_sendfile_settings (self->sendfile, settings);
    argos_peer_serve (peer, ARGOS_SENDFILE_SERVICE, ARGOS_SENDFILE_SLOTS, types);
}

//  The rules, and the tools that need them.

static void
s_open_box (tools_t *self, const argos_tools_config_t *settings)
{
    char reason[256], pids[64];
    const char *home = getenv ("HOME");
    snprintf (pids, sizeof pids, "%d|%d", getpid (), getppid () > 1 ? getppid () : getpid ());
    self->policy = argos_approval_policy_new (NULL, pids, reason, sizeof reason);
    argos_toolbox_config_t box = { .home = home ? home : "/",
        .state = settings->state,
        .files = self->files,
        .policy = self->policy };
    if (self->policy)
        self->box = argos_toolbox_new (self->shell, &box);
    else
        argos_log (ARGOS_LOG_ERROR, NAME, "no rules", "reason=\"%s\"", reason);
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
    argos_link_apply (&settings->link, NAME, &peer, name);
    if (settings->workdir && *settings->workdir)
        self.workdir = strdup (settings->workdir);
    if (settings->files && *settings->files)
        self.files = strdup (settings->files);
    self.epoll_fd = epoll_create1 (EPOLL_CLOEXEC);
    self.shell = self.epoll_fd < 0 ? NULL : argos_shell_new (pipe, &peer);
    if (self.shell) {
        self.registry = argos_registry_new (argos_shell_peer (self.shell), NULL, NULL);
        argos_peer_serve (argos_shell_peer (self.shell), OFFERS, OFFER_SLOTS, NULL);
        argos_peer_serve (argos_shell_peer (self.shell), TERMINAL, SLOTS, NULL);
        s_open_box (&self, settings);
        if (self.files)
            s_serve_files (&self, settings->settings);
        argos_shell_on_command (self.shell, s_on_command, &self);
        argos_shell_fd (self.shell, self.epoll_fd, s_on_events, &self);
        argos_shell_timer (self.shell, argos_shell_now () + READY_MS, s_on_late, &self);
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
    if (self.epoll_fd >= 0)
        close (self.epoll_fd);
    free (self.workdir);
    free (self.files);
}
