//  argos_hooks_actor - see the header.
//
//  Invariant: the settings may change under way: what a hook runs goes on, and what waits for it
//  finds the new program; a hook that is no more is ended.

#include "argos_actor.h"
#include "argos_hook_event.h"
#include "argos_hooks_priv.h"

#include <sys/epoll.h>
#include <unistd.h>
#include <utlist.h>

#define QUESTIONS_MAX 64 //  Commands that are asked about at a time
#define EVENTS_MAX 32    //  Taken from epoll at once

//  ------------------------------------------------------------------------------------------------
//  The folder

static void
s_warn (void *arg, const char *sentence)
{
    (void) arg;
    argos_log (ARGOS_LOG_WARN, HOOKS_NAME, "warning", "reason=\"%s\"", sentence);
}

//  Where in the list a hook is that was called so; when it is gone, *ret_gone and where the one
//  behind it is.

static size_t
s_place (const hooks_t *self, const char *name, bool *ret_gone)
{
    size_t place = 0;
    while (place < self->count && strcoll (self->list[place].name, name) < 0)
        place++;
    *ret_gone = place == self->count || !streq (self->list[place].name, name);
    return place;
}

//  Takes over what the hooks of the list before were at.

static void
s_take_over (hooks_t *self, const argos_hook_t *before, size_t count)
{
    runner_t runners[ARGOS_HOOKS_MAX];
    question_t *question, *next;
    bool gone;
    memcpy (runners, self->runners, count * sizeof *runners);
    for (size_t i = 0; i < self->count; i++)
        self->runners[i] = (runner_t){ .hooks = self, .index = i, .input_fd = -1 };
    for (size_t i = 0; i < count; i++) {
        size_t place = s_place (self, before[i].name, &gone);
        runners[i].index = place;
        if (gone)
            runner_clear (&runners[i]);
        else
            self->runners[place] = runners[i];
    }
    DL_FOREACH_SAFE (self->questions, question, next) {
        question->hook = s_place (self, before[question->hook].name, &gone);
        if (gone)
            hooks_ask_next (self, question);
    }
}

static void
s_load (hooks_t *self)
{
    argos_hook_t *before = self->list;
    size_t count = self->count;
    self->count = argos_hook_load (self->home, &self->list, s_warn, NULL);
    s_take_over (self, before, count);
    argos_hook_free (&before, count);
    for (size_t i = 0; i < self->count; i++)
        argos_log (ARGOS_LOG_INFO, HOOKS_NAME, "hook", "name=%s", self->list[i].name);
    if (self->count && !self->subscribed)
        argos_peer_subscribe (argos_shell_peer (self->shell), ARGOS_HOOK_TOPIC, 0);
    self->subscribed = self->subscribed || self->count;
    hooks_arm (self);
}

//  ------------------------------------------------------------------------------------------------
//  The loop

static void
s_turn (hooks_t *self)
{
    int64_t now = argos_shell_now ();
    for (size_t i = 0; i < self->count; i++) {
        runner_t *runner = &self->runners[i];
        if (runner->broken) {
            runner->broken = false;
            runner_over (runner, "", true);
        }
        else if (runner->terminal) {
            argos_terminal_turn (runner->terminal, now);
            if (argos_terminal_over (runner->terminal))
                runner_finish (runner);
        }
    }
    hooks_arm (self);
}

static void
s_on_due (void *arg)
{
    s_turn (arg);
}

void
hooks_arm (hooks_t *self)
{
    int64_t due = INT64_MAX;
    for (size_t i = 0; i < self->count; i++) {
        const argos_terminal_t *terminal = self->runners[i].terminal;
        if (self->runners[i].broken)
            due = 0;
        else if (terminal && argos_terminal_due (terminal) < due)
            due = argos_terminal_due (terminal);
    }
    argos_shell_timer (self->shell, due < INT64_MAX ? due : -1, s_on_due, self);
}

static void
s_on_events (void *arg)
{
    hooks_t *self = arg;
    struct epoll_event events[EVENTS_MAX];
    if (epoll_wait (self->epoll_fd, events, EVENTS_MAX, 0) > 0)
        s_turn (self);
}

//  An event for all hooks that want it. Of commands they are asked, so the entry is not for them.

static void
s_on_entry (void *ctx, const char *topic, const argos_peer_msg_t *msg)
{
    (void) topic;
    hooks_t *self = ctx;
    const char *event = json_string_value (json_object_get (msg->body, "event"));
    if (!self->live || !event || strncmp (event, "command:", 8) == 0)
        return;
    for (size_t i = 0; i < self->count; i++)
        if (argos_hook_wants (&self->list[i], event)) {
            if (self->runners[i].count < HOOKS_QUEUE_MAX)
                runner_job (&self->runners[i], msg->body, NULL);
            else
                argos_log (ARGOS_LOG_WARN, HOOKS_NAME, "dropped", "hook=%s event=%s",
                    self->list[i].name, event);
        }
}

//  What the programs and the topic get for a command

static json_t *
s_command_event (const argos_peer_msg_t *msg)
{
    char name[128];
    const char *command = json_string_value (json_object_get (msg->body, "command"));
    json_t *event = json_copy (msg->body);
    snprintf (name, sizeof name, "command:%s", command);
    json_object_set_new (event, "event", json_string (name));
    return event;
}

static void
s_on_request (void *ctx, const argos_peer_msg_t *msg)
{
    hooks_t *self = ctx;
    if (*msg->re || !streq (msg->type, "hook.command"))
        return;
    json_t *event = s_command_event (msg);
    argos_peer_part_t part = {
        .type = ARGOS_HOOK_EVENT, .to = ARGOS_HOOK_TOPIC, .body = json_incref (event)
    };
    argos_peer_publish (argos_shell_peer (self->shell), NULL, &part);
    question_t *question = calloc (1, sizeof *question);
    if (!question)
        abort ();
    snprintf (question->from, sizeof question->from, "%s", msg->from);
    snprintf (question->id, sizeof question->id, "%s", msg->id);
    question->event = event;
    question->due = argos_shell_now () + ARGOS_HOOKS_DECIDE_MS;
    if (self->question_count >= QUESTIONS_MAX) {
        question->hook = self->count; //  Nobody is asked
        argos_log (ARGOS_LOG_WARN, HOOKS_NAME, "not asked", "reason=\"too many commands wait\"");
    }
    DL_APPEND (self->questions, question);
    self->question_count++;
    hooks_ask_next (self, question);
}

static void
s_on_command (void *arg, zmsg_t *msg)
{
    json_t *settings = argos_actor_settings (msg);
    if (settings)
        s_load (arg);
    json_decref (settings);
}

static void
s_ready (hooks_t *self)
{
    if (!self->ready)
        argos_actor_ready (self->pipe, true);
    self->ready = true;
}

//  What happens from READY on is heard: so the subscription is awaited, if there is one.

static void
s_on_welcome (void *ctx, bool new_store)
{
    (void) new_store;
    hooks_t *self = ctx;
    if (!self->subscribed)
        s_ready (self);
}

static void
s_on_end (void *ctx, const char *topic, int64_t n, bool closed)
{
    (void) topic;
    (void) n;
    (void) closed;
    ((hooks_t *) ctx)->live = true;
    s_ready (ctx);
}

static void
s_on_final (void *ctx, argos_err_t code, const char *reason)
{
    (void) code;
    hooks_t *self = ctx;
    argos_actor_fail (self->pipe, reason);
    argos_shell_stop (self->shell);
}

static void
s_destroy (hooks_t *self)
{
    for (size_t i = 0; i < self->count; i++)
        runner_clear (&self->runners[i]);
    question_t *question, *next;
    DL_FOREACH_SAFE (self->questions, question, next) {
        json_decref (question->event);
        free (question);
    }
    argos_hook_free (&self->list, self->count);
    argos_shell_destroy (&self->shell);
    if (self->epoll_fd >= 0)
        close (self->epoll_fd);
    free (self->home);
}

void
argos_hooks_actor (zsock_t *pipe, void *config)
{
    const argos_hooks_config_t *settings = config;
    hooks_t self = { .pipe = pipe, .home = strdup (settings->home) };
    char name[ARGOS_NAME_MAX + 1];
    argos_peer_config_t peer = { .handlers = { .ctx = &self,
                                     .on_welcome = s_on_welcome,
                                     .on_request = s_on_request,
                                     .on_entry = s_on_entry,
                                     .on_end = s_on_end,
                                     .on_final = s_on_final } };
    argos_link_apply (&settings->link, HOOKS_NAME, &peer, name);
    self.epoll_fd = epoll_create1 (EPOLL_CLOEXEC);
    self.shell = self.epoll_fd < 0 ? NULL : argos_shell_new (pipe, &peer);
    if (self.shell) {
        s_load (&self);
        argos_shell_fd (self.shell, self.epoll_fd, s_on_events, &self);
        argos_shell_on_command (self.shell, s_on_command, &self);
        argos_shell_run (self.shell);
    }
    if (!self.ready)
        argos_actor_ready (pipe, false);
    s_destroy (&self);
}
