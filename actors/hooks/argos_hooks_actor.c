//  argos_hooks_actor - see the header.
//
//  Invariant: a hook runs at most one program; what waits for it is in its queue. A question is
//  with one hook at a time, in the order of their names, and is answered once. The settings may
//  change under way: hooks of the old set run to their end first (s_reload).

#include "argos_hooks_actor.h"

#include "argos_actor.h"
#include "argos_header.h"
#include "argos_hook.h"
#include "argos_hook_event.h"
#include "argos_log.h"
#include "argos_shell.h"
#include "argos_terminal.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>
#include <utlist.h>

#define NAME "hooks"
#define QUEUE_MAX 64      //  Events that wait for one hook
#define QUESTIONS_MAX 64  //  Commands that are asked about at a time
#define EVENTS_MAX 32     //  Taken from epoll at once
#define OUTPUT_MAX 65536  //  Bytes of output that are looked at
#define COMMAND_MAX 12288 //  Bytes of a line for the shell

typedef struct hooks hooks_t;

//  A command that hooks are asked about

typedef struct question {
    char from[ARGOS_NAME_MAX + 1]; //  Who asked
    char id[ARGOS_ID_MAX + 1];     //  With which id
    json_t *event;                 //  What the programs get
    size_t hook;                   //  The one that has it, or is next
    int64_t due;                   //  Until then, mono msec
    struct question *prev, *next;  //  In the list
} question_t;

typedef struct job {
    char *input;             //  JSON, for the program
    question_t *question;    //  NULL = an event
    struct job *prev, *next; //  In the queue
} job_t;

typedef struct {
    hooks_t *hooks;             //  Whose
    size_t index;               //  Of its argos_hook_t
    argos_terminal_t *terminal; //  What runs, NULL = nothing
    job_t *jobs;                //  The first one is what runs
    size_t count;               //  How many
    int input_fd;               //  Of what runs, -1 = none
    bool broken;                //  The first job could not be started: it is over at the next turn
} runner_t;

struct hooks {
    zsock_t *pipe;                     //  To the owner
    argos_shell_t *shell;              //  The loop
    char *home;                        //  Folder
    int epoll_fd;                      //  Descriptors of what runs
    bool ready;                        //  READY has been said
    bool live;                         //  What was there before us has been passed over
    bool subscribed;                   //  To the topics
    bool reload;                       //  Read the folder again once nothing runs
    argos_hook_t *list;                //  The hooks
    size_t count;                      //  How many
    runner_t runners[ARGOS_HOOKS_MAX]; //  One each
    question_t *questions;             //  Under way
    size_t question_count;             //  How many
};

static void s_ask_next (hooks_t *self, question_t *question);
static void s_start (runner_t *self);
static void s_arm (hooks_t *self);

//  ------------------------------------------------------------------------------------------------
//  Questions

static void
s_answer (hooks_t *self, question_t *question, json_t *body)
{
    argos_peer_reply_to (
        argos_shell_peer (self->shell), question->from, question->id, "hook.command.result", body);
    DL_DELETE (self->questions, question);
    self->question_count--;
    json_decref (question->event);
    free (question);
}

static void
s_job_new (runner_t *self, json_t *event, question_t *question)
{
    job_t *job = calloc (1, sizeof *job);
    char *input = json_dumps (event, JSON_COMPACT);
    if (!job || !input)
        abort ();
    job->input = input;
    job->question = question;
    DL_APPEND (self->jobs, job);
    self->count++;
    s_start (self);
}

//  Asks the next hook that wants to hear of it; when there is none, or no time, it may run.

static void
s_ask_next (hooks_t *self, question_t *question)
{
    const char *event = json_string_value (json_object_get (question->event, "event"));
    for (; question->hook < self->count; question->hook++) {
        runner_t *runner = &self->runners[question->hook];
        if (!argos_hook_wants (&self->list[question->hook], event))
            continue;
        if (argos_shell_now () >= question->due || runner->count >= QUEUE_MAX)
            break;
        s_job_new (runner, question->event, question);
        return;
    }
    if (question->hook < self->count)
        argos_log (ARGOS_LOG_WARN, NAME, "not asked", "hook=%s event=%s",
            self->list[question->hook].name, event);
    s_answer (self, question, json_pack ("{s:s}", "decision", "allow"));
}

//  What a program has said about a command

static void
s_decide (runner_t *self, question_t *question, const char *output, bool failed)
{
    char reason[256] = "";
    const char *name = self->hooks->list[self->index].name;
    json_t *body = failed ? NULL : argos_hook_decision (output, reason, sizeof reason);
    const char *word = json_string_value (json_object_get (body, "decision"));
    if (*reason)
        argos_log (ARGOS_LOG_WARN, NAME, "no decision", "hook=%s reason=\"%s\"", name, reason);
    if (!word || streq (word, "allow")) {
        json_decref (body);
        question->hook++;
        s_ask_next (self->hooks, question);
        return;
    }
    json_object_set_new (body, "hook", json_string (name));
    argos_log (ARGOS_LOG_INFO, NAME, "decision", "hook=%s decision=%s", name, word);
    s_answer (self->hooks, question, body);
}

//  ------------------------------------------------------------------------------------------------
//  Programs

static void
s_job_free (runner_t *self, job_t *job)
{
    DL_DELETE (self->jobs, job);
    self->count--;
    free (job->input);
    free (job);
}

//  Takes the first job out and goes on with what it was about.

static void
s_over (runner_t *self, const char *output, bool failed)
{
    job_t *job = self->jobs;
    question_t *question = job->question;
    argos_terminal_destroy (&self->terminal);
    if (self->input_fd >= 0)
        close (self->input_fd);
    self->input_fd = -1;
    s_job_free (self, job);
    if (question)
        s_decide (self, question, output, failed);
    s_start (self);
}

//  The input in a file that has no name, which the shell opens for the program. Returns 0 or an
//  errno.

static int
s_open_input (runner_t *self, const char *input)
{
    size_t size = strlen (input), used = 0;
    self->input_fd = memfd_create ("argos-hook", MFD_CLOEXEC);
    while (self->input_fd >= 0 && used < size) {
        ssize_t done = write (self->input_fd, input + used, size - used);
        if (done < 0)
            return errno;
        used += (size_t) done;
    }
    return self->input_fd < 0 ? errno : 0;
}

//  A word for the shell, as it is.

static void
s_quote (FILE *out, const char *word)
{
    fputc ('\'', out);
    for (; *word; word++)
        if (*word == '\'')
            fputs ("'\\''", out);
        else
            fputc (*word, out);
    fputc ('\'', out);
}

//  The line for the shell that runs a program with its input. Returns 0 or an errno.

static int
s_line (runner_t *self, const argos_hook_t *hook, char line[static COMMAND_MAX])
{
    int error = s_open_input (self, self->jobs->input);
    FILE *out = error ? NULL : fmemopen (line, COMMAND_MAX, "w");
    if (!out)
        return error ? error : errno;
    fputs ("exec ", out);
    s_quote (out, hook->program);
    fprintf (out, " </proc/%ld/fd/%d", (long) getpid (), self->input_fd);
    return fclose (out) == 0 ? 0 : errno;
}

//  Starts the first job, unless something runs. What can't be started is over at the next turn.

static void
s_start (runner_t *self)
{
    const argos_hook_t *hook = &self->hooks->list[self->index];
    const job_t *job = self->jobs;
    char line[COMMAND_MAX] = "", reason[256] = "no time is left";
    if (!job || self->terminal || self->broken)
        return;
    int64_t now = argos_shell_now (), patience = hook->timeout_ms;
    if (job->question && job->question->due - now < patience)
        patience = job->question->due - now;
    argos_terminal_task_t task = {
        .command = line, .workdir = hook->folder, .timeout_ms = patience, .output_max = OUTPUT_MAX
    };
    int error = patience > 0 ? s_line (self, hook, line) : 0;
    if (error)
        snprintf (reason, sizeof reason, "its input can't be made (errno %d)", error);
    else if (patience > 0)
        self->terminal =
            argos_terminal_new (self->hooks->epoll_fd, &task, now, reason, sizeof reason);
    self->broken = !self->terminal;
    if (self->broken)
        argos_log (
            ARGOS_LOG_WARN, NAME, "not started", "hook=%s reason=\"%s\"", hook->name, reason);
    s_arm (self->hooks);
}

static void
s_finish (runner_t *self)
{
    json_t *result = argos_terminal_result (self->terminal);
    const char *output = json_string_value (json_object_get (result, "output"));
    const char *status = json_string_value (json_object_get (result, "status"));
    json_int_t code = json_integer_value (json_object_get (result, "exit_code"));
    bool failed = code != 0 || !streq (status, "ok");
    if (failed)
        argos_log (ARGOS_LOG_WARN, NAME, "failed", "hook=%s status=%s code=%d output=\"%.200s\"",
            self->hooks->list[self->index].name, status, (int) code, output);
    s_over (self, output, failed);
    json_decref (result);
}

//  ------------------------------------------------------------------------------------------------
//  The folder

static void
s_warn (void *arg, const char *sentence)
{
    (void) arg;
    argos_log (ARGOS_LOG_WARN, NAME, "warning", "reason=\"%s\"", sentence);
}

static bool
s_is_busy (const hooks_t *self)
{
    for (size_t i = 0; i < self->count; i++)
        if (self->runners[i].count)
            return true;
    return false;
}

static void
s_load (hooks_t *self)
{
    self->reload = false;
    argos_hook_free (&self->list, self->count);
    self->count = argos_hook_load (self->home, &self->list, s_warn, NULL);
    for (size_t i = 0; i < self->count; i++) {
        self->runners[i] = (runner_t){ .hooks = self, .index = i, .input_fd = -1 };
        argos_log (ARGOS_LOG_INFO, NAME, "hook", "name=%s", self->list[i].name);
    }
    if (self->count && !self->subscribed)
        argos_peer_subscribe (argos_shell_peer (self->shell), ARGOS_HOOK_TOPIC, 0);
    self->subscribed = self->subscribed || self->count;
}

static void
s_reload (hooks_t *self)
{
    if (self->reload && !s_is_busy (self))
        s_load (self);
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
            s_over (runner, "", true);
        }
        else if (runner->terminal) {
            argos_terminal_turn (runner->terminal, now);
            if (argos_terminal_over (runner->terminal))
                s_finish (runner);
        }
    }
    s_reload (self);
    s_arm (self);
}

static void
s_on_due (void *arg)
{
    s_turn (arg);
}

static void
s_arm (hooks_t *self)
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
            if (self->runners[i].count < QUEUE_MAX)
                s_job_new (&self->runners[i], msg->body, NULL);
            else
                argos_log (
                    ARGOS_LOG_WARN, NAME, "dropped", "hook=%s event=%s", self->list[i].name, event);
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
    if (self->question_count >= QUESTIONS_MAX)
        question->hook = self->count; //  Nobody is asked
    DL_APPEND (self->questions, question);
    self->question_count++;
    s_ask_next (self, question);
}

static void
s_on_command (void *arg, zmsg_t *msg)
{
    hooks_t *self = arg;
    json_t *settings = argos_actor_settings (msg);
    if (settings)
        self->reload = true;
    json_decref (settings);
    s_reload (self);
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
    if (self->ready)
        argos_actor_fail (self->pipe, reason);
    argos_shell_stop (self->shell);
}

static void
s_destroy (hooks_t *self)
{
    for (size_t i = 0; i < self->count; i++) {
        runner_t *runner = &self->runners[i];
        argos_terminal_destroy (&runner->terminal);
        if (runner->input_fd >= 0)
            close (runner->input_fd);
        while (runner->jobs)
            s_job_free (runner, runner->jobs);
    }
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
    argos_link_apply (&settings->link, NAME, &peer, name);
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
