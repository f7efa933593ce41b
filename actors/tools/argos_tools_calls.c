//  argos_tools_calls - calls of commands and files of the tools actor.
//
//  Invariant: each call in the list has a command, a fetch or a question to the jobs and is
//  answered once, when that is over.

#include "argos_asks.h"
#include "argos_files.h"
#include "argos_jobs_tool.h"
#include "argos_log.h"
#include "argos_terminal_args.h"
#include "argos_tools_priv.h"

#include <limits.h>
#include <sys/epoll.h>
#include <utlist.h>

#define CALLS_MAX 64        //  Commands at a time
#define EVENTS_MAX 32       //  Taken from epoll at once
#define LAUNCH_TTL_MS 30000 //  Patience with the start of a background job

static void s_on_due (void *arg);

//  ---------------------------------------------------------------------------------------------
//  Calls

void
tools_call_destroy (tools_t *self, call_t **call_p)
{
    DL_DELETE (self->calls, *call_p);
    self->count--;
    argos_terminal_destroy (&(*call_p)->terminal);
    argos_fetch_abandon (&(*call_p)->fetch);
    free ((*call_p)->command);
    free (*call_p);
    *call_p = NULL;
}

//  Set the timer to the earliest deadline of all commands.

void
tools_set_timer (tools_t *self)
{
    int64_t due = INT64_MAX;
    call_t *call;
    //  NOLINTBEGIN(clang-analyzer-unix.Malloc): what is destroyed has left the list
    DL_FOREACH (self->calls, call)
        if (call->terminal && argos_terminal_due (call->terminal) < due)
            due = argos_terminal_due (call->terminal);
    //  NOLINTEND(clang-analyzer-unix.Malloc)
    if (self->ready)
        argos_shell_timer (self->shell, due < INT64_MAX ? due : -1, s_on_due, self);
}

//  More than the result tells stands in a file, which the result names.

static void
s_keep (const tools_t *self, const call_t *call, json_t *result)
{
    char path[PATH_MAX];
    char *text = self->box && *call->session ? argos_terminal_long (call->terminal) : NULL;
    if (text &&
        argos_places_keep (argos_toolbox_places (self->box), call->session, call->id, text, path))
        json_object_set_new (result, "full_output", json_string (path));
    free (text);
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
        json_t *result = argos_terminal_result (call->terminal);
        json_int_t code = json_integer_value (json_object_get (result, "exit_code"));
        const char *meaning =
            call->command ? argos_terminal_meaning (call->command, (int) code) : NULL;
        if (meaning)
            json_object_set_new (result, "exit_code_meaning", json_string (meaning));
        s_keep (self, call, result);
        argos_peer_reply_to (
            argos_shell_peer (self->shell), call->from, call->id, "tool.result", result);
        tools_call_destroy (self, &call);
    }
    tools_set_timer (self);
}

static void
s_on_due (void *arg)
{
    s_turn (arg, NULL);
}

void
tools_on_events (void *arg)
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

void
tools_refuse (tools_t *self, const argos_peer_msg_t *msg, const char *reason)
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
    tools_call_destroy (self, &call);
}

//  A command for the background is that of the jobs beside us, whose answer is ours.

static void
s_launch (tools_t *self, const argos_peer_msg_t *msg)
{
    if (self->count >= CALLS_MAX) {
        tools_refuse (self, msg, "too many commands run already");
        return;
    }
    char job[ARGOS_NAME_MAX + 1], to[ARGOS_TO_MAX + 1];
    argos_node_service ("job", self->node, job);
    snprintf (to, sizeof to, "service:%s", job);
    call_t *call = s_call_new (self, msg);
    argos_peer_part_t part = {
        .type = "tool.call", .to = to, .ttl_ms = LAUNCH_TTL_MS, .body = json_incref (msg->body)
    };
    argos_err_t code = argos_peer_send (argos_shell_peer (self->shell), &part, s_on_launched, call);
    if (code != ARGOS_OK) {
        argos_peer_answer_t answer = { .code = code };
        s_on_launched (call, &answer);
    }
}

//  Where the state of the session's shell is kept ("" = nowhere), and where a command begins: in
//  the folder that it names, else where the last one has ended, else in that of the session.

static void
s_place (const tools_t *self, const json_t *body, char root[PATH_MAX], char file[PATH_MAX],
    char workdir[PATH_MAX])
{
    const char *session = json_string_value (json_object_get (body, "session_id"));
    const char *given =
        json_string_value (json_object_get (json_object_get (body, "arguments"), "workdir"));
    const char *home = getenv ("HOME");
    const char *base = self->workdir ? self->workdir : home ? home : "/";
    *file = '\0';
    if (self->box && session) {
        base = argos_places_work (argos_toolbox_places (self->box), session, self->workdir, root);
        argos_places_shell (argos_toolbox_places (self->box), session, file);
    }
    if (!given || argos_files_path (base, home ? home : "/", given, workdir) != 0)
        snprintf (workdir, PATH_MAX, "%s", base);
}

//  Whether the floor forbids the command; asked again here, whoever has called.

static bool
s_is_floor (
    const tools_t *self, const json_t *arguments, const char *workdir, argos_approval_t *ret)
{
    const argos_approval_call_t call = { .tool = "terminal",
        .arguments = arguments,
        .mode = ARGOS_APPROVAL_OFF,
        .home = getenv ("HOME"),
        .state = self->state,
        .workdir = workdir };
    ret->verdict = ARGOS_APPROVAL_ALLOW;
    if (self->policy)
        argos_approval_judge (self->policy, &call, ret);
    return ret->verdict == ARGOS_APPROVAL_DENY;
}

static void
s_handle_tool_call (tools_t *self, const argos_peer_msg_t *msg)
{
    const char *problem = argos_terminal_problem (msg->body, self->timeout_ms);
    const json_t *arguments = json_object_get (msg->body, "arguments");
    char reason[256], root[PATH_MAX], file[PATH_MAX], workdir[PATH_MAX];
    argos_approval_t floor;
    bool marked;
    const char *command = json_string_value (json_object_get (arguments, "command"));
    s_place (self, msg->body, root, file, workdir);
    if (s_is_floor (self, arguments, workdir, &floor)) {
        argos_peer_reply (argos_shell_peer (self->shell), msg, "tool.result",
            json_pack ("{s:s, s:i, s:s, s:o}", "output", "", "exit_code", -1, "status", "blocked",
                "error", json_sprintf ("BLOCKED: %s. It is never run.", floor.text)));
        return;
    }
    if (argos_jobs_is_background (arguments, &marked)) {
        s_launch (self, msg);
        return;
    }
    if (!problem && self->count >= CALLS_MAX)
        problem = "too many commands run already";
    if (problem) {
        tools_refuse (self, msg, problem);
        return;
    }
    char *whole = *file
                      ? argos_terminal_wrap (command, file, json_object_get (arguments, "workdir"))
                      : strdup (command);
    argos_terminal_task_t task = {
        .command = whole,
        .workdir = workdir,
        .timeout_ms = argos_terminal_timeout (msg->body, self->timeout_ms),
        .output_max = self->output_max,
    };
    argos_terminal_t *terminal =
        argos_terminal_new (self->epoll_fd, &task, argos_shell_now (), reason, sizeof reason);
    free (whole);
    if (!terminal) {
        argos_log (ARGOS_LOG_WARN, TOOLS_NAME, "command not started", "reason=\"%s\"", reason);
        tools_refuse (self, msg, reason);
        return;
    }
    call_t *call = s_call_new (self, msg);
    call->terminal = terminal;
    call->command = strdup (command);
    snprintf (call->session, sizeof call->session, "%s",
        json_string_value (json_object_get (msg->body, "session_id")));
    tools_set_timer (self);
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
    tools_call_destroy (self, &call);
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
        tools_call_destroy (self, &call);
    }
    tools_refuse (self, msg, reason);
}

//  A request names its service only by its address; the body says which tool.

void
tools_call (tools_t *self, const argos_peer_msg_t *msg)
{
    char root[PATH_MAX];
    const char *name = json_string_value (json_object_get (msg->body, "name"));
    const char *session = json_string_value (json_object_get (msg->body, "session_id"));
    const argos_toolset_t *set = argos_registry_set (self->registry);
    if (self->box && session) {
        if (argos_toolbox_take (self->box, msg, set,
                argos_places_work (argos_toolbox_places (self->box), session, self->workdir, root)))
            return;
        argos_toolbox_other (self->box, session);
    }
    if (session && argos_asks_take (argos_shell_peer (self->shell), msg, set, &self->stopping))
        return;
    if (self->files && name && streq (name, "attachment"))
        s_handle_attachment (self, msg);
    else
        s_handle_tool_call (self, msg);
}

void
tools_cancel (tools_t *self, const argos_peer_msg_t *msg)
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
            tools_call_destroy (self, &call);
        }
    }
    tools_set_timer (self);
}
