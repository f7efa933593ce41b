//  argos_hooks_run - the programs of hooks: what each has to do, and what it says about commands.
//
//  Invariant: a hook runs at most one program; what waits for it is in its queue. A question is
//  with one hook at a time, in the order of their names, and is answered once.

#include "argos_hooks_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <utlist.h>

#define OUTPUT_MAX 65536  //  Bytes of output that are looked at
#define COMMAND_MAX 12288 //  Bytes of a line for the shell

static void s_start (runner_t *self);

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

void
runner_job (runner_t *self, json_t *event, question_t *question)
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

void
hooks_ask_next (hooks_t *self, question_t *question)
{
    const char *event = json_string_value (json_object_get (question->event, "event"));
    for (; question->hook < self->count; question->hook++) {
        runner_t *runner = &self->runners[question->hook];
        if (!argos_hook_wants (&self->list[question->hook], event))
            continue;
        if (argos_shell_now () >= question->due || runner->count >= HOOKS_QUEUE_MAX)
            break;
        runner_job (runner, question->event, question);
        return;
    }
    if (question->hook < self->count)
        argos_log (ARGOS_LOG_WARN, HOOKS_NAME, "not asked", "hook=%s event=%s",
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
        argos_log (
            ARGOS_LOG_WARN, HOOKS_NAME, "no decision", "hook=%s reason=\"%s\"", name, reason);
    if (!word || streq (word, "allow")) {
        json_decref (body);
        question->hook++;
        hooks_ask_next (self->hooks, question);
        return;
    }
    json_object_set_new (body, "hook", json_string (name));
    argos_log (ARGOS_LOG_INFO, HOOKS_NAME, "decision", "hook=%s decision=%s", name, word);
    s_answer (self->hooks, question, body);
}

//  ------------------------------------------------------------------------------------------------
//  Programs

void
runner_job_free (runner_t *self, job_t *job)
{
    DL_DELETE (self->jobs, job);
    self->count--;
    free (job->input);
    free (job);
}

//  Ends what runs, if anything does.

static void
s_end (runner_t *self)
{
    argos_terminal_destroy (&self->terminal);
    if (self->input_fd >= 0)
        close (self->input_fd);
    self->input_fd = -1;
    self->broken = false;
}

void
runner_clear (runner_t *self)
{
    s_end (self);
    while (self->jobs)
        runner_job_free (self, self->jobs);
}

//  Takes the first job out and goes on with what it was about.

void
runner_over (runner_t *self, const char *output, bool failed)
{
    job_t *job = self->jobs;
    question_t *question = job->question;
    s_end (self);
    runner_job_free (self, job);
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
            ARGOS_LOG_WARN, HOOKS_NAME, "not started", "hook=%s reason=\"%s\"", hook->name, reason);
    hooks_arm (self->hooks);
}

void
runner_finish (runner_t *self)
{
    json_t *result = argos_terminal_result (self->terminal);
    const char *output = json_string_value (json_object_get (result, "output"));
    const char *status = json_string_value (json_object_get (result, "status"));
    json_int_t code = json_integer_value (json_object_get (result, "exit_code"));
    bool failed = code != 0 || !streq (status, "ok");
    if (failed)
        argos_log (ARGOS_LOG_WARN, HOOKS_NAME, "failed",
            "hook=%s status=%s code=%d output=\"%.200s\"", self->hooks->list[self->index].name,
            status, (int) code, output);
    runner_over (self, output, failed);
    json_decref (result);
}
