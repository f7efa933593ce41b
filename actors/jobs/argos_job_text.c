//  argos_job_text - the words for a job, for models and people.
//
//  Invariant: all of them are made of the row and the output alone, so the same job reads the same
//  wherever it is asked for. Limits: the characters named below.

#include "argos_job.h"

#include "argos_output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_CHARACTERS 80       //  Of the command in a list
#define TAIL_CHARACTERS 2000     //  Of the output of a process whose end is told
#define RUNNING_CHARACTERS 500   //  Of the output of one that runs, for people
#define FINISHED_CHARACTERS 1000 //  Of one that is over, for people
#define UTF8_MAX 4               //  Bytes of a character
#define TRUNCATED "\n…[truncated]…\n"

static char *s_print (const char *format, ...) __attribute__ ((format (printf, 1, 2)));

static char *
s_print (const char *format, ...)
{
    char *text;
    va_list args;
    va_start (args, format);
    if (vasprintf (&text, format, args) < 0)
        abort ();
    va_end (args);
    return text;
}

//  Bytes of the first so many characters.

static size_t
s_bytes (const char *text, size_t characters)
{
    size_t length = 0;
    for (size_t count = 0; text[length]; length++)
        if (((unsigned char) text[length] & 0xC0) != 0x80 && count++ == characters)
            break;
    return length;
}

const char *
argos_job_tail (const char *text, size_t characters)
{
    const char *from = text + strlen (text);
    for (size_t count = 0; from > text && count < characters; count++)
        do
            from--;
        while (from > text && ((unsigned char) *from & 0xC0) == 0x80);
    return from;
}

char *
argos_job_middle_cut (const char *text, size_t characters)
{
    size_t half = characters / 2;
    if (!text[s_bytes (text, characters)])
        return s_print ("%s", text);
    return s_print (
        "%.*s" TRUNCATED "%s", (int) s_bytes (text, half), text, argos_job_tail (text, half));
}

char *
argos_job_middle_fit (const char *text, size_t characters, size_t bytes)
{
    char *cut = argos_job_middle_cut (text, characters);
    if (strlen (cut) <= bytes)
        return cut;
    free (cut);
    return argos_job_middle_cut (text, (bytes - strlen (TRUNCATED)) / UTF8_MAX);
}

char *
argos_job_clean (const char *data, size_t size)
{
    argos_output_t *output = argos_output_new (ARGOS_OUTPUT_LIMIT);
    argos_output_add (output, data, size);
    char *text = argos_output_text (output);
    argos_output_destroy (&output);
    return text;
}

void
argos_job_label (const argos_job_t *self, char target[static 32])
{
    if (self->status == ARGOS_JOB_RUNNING)
        snprintf (target, 32, "running");
    else if (self->killed)
        snprintf (target, 32, "killed");
    else if (self->timed_out)
        snprintf (target, 32, "timed out");
    else if (self->died)
        snprintf (target, 32, "died");
    else
        snprintf (target, 32, "%s (exit %d)", self->status == ARGOS_JOB_DONE ? "done" : "failed",
            self->exit_code);
}

void
argos_job_age (const argos_job_t *self, int64_t now, char target[static 32])
{
    int64_t end = self->status == ARGOS_JOB_RUNNING ? now : self->ended_at;
    //  A clock that was set back makes no negative ages
    int64_t seconds = end > self->started_at ? (end - self->started_at) / 1000 : 0;
    if (!self->started_at)
        snprintf (target, 32, "?");
    else if (seconds < 60)
        snprintf (target, 32, "%llds", (long long) seconds);
    else if (seconds < 3600)
        snprintf (target, 32, "%lldm", (long long) seconds / 60);
    else
        snprintf (
            target, 32, "%lldh%lldm", (long long) seconds / 3600, (long long) seconds / 60 % 60);
}

//  The first line of a command, at most so many characters.

static int
s_first_line (const char *command)
{
    size_t line = strcspn (command, "\r\n"), cut = s_bytes (command, LINE_CHARACTERS);
    return (int) (line < cut ? line : cut);
}

char *
argos_job_line (const argos_job_t *self, int64_t now)
{
    char label[32], age[32];
    argos_job_label (self, label);
    argos_job_age (self, now, age);
    return s_print (
        "[%s] %s | %s | %.*s", self->id, label, age, s_first_line (self->command), self->command);
}

//  How it ended, in one sentence.

static char *
s_ending (const argos_job_t *self)
{
    if (self->killed && self->survivors[0])
        return s_print ("The job was killed, but some of its processes could not be ended.");
    if (self->killed)
        return s_print ("The job was killed.");
    if (self->timed_out)
        return s_print ("The job timed out after %lld s.", (long long) self->max_runtime_s);
    if (self->died)
        return s_print ("The job died unexpectedly; there is no exit code.");
    if (!self->started)
        return s_print ("The job could not be started.");
    return s_print ("The job finished with exit code %d.", self->exit_code);
}

char *
argos_job_result_text (const argos_job_t *self, const char *command, const char *output)
{
    char *ending = s_ending (self);
    char *text =
        s_print ("%s\nCommand: %s\nOutput:\n%s", ending, command, *output ? output : "(no output)");
    free (ending);
    return text;
}

//  Of a process: how it ended, as in a bracket.

static char *
s_process_ending (const argos_job_t *self)
{
    if (self->timed_out)
        return s_print ("terminated by its time limit (exit code %d)", self->exit_code);
    if (self->died || !self->started)
        return s_print ("%s (no exit code)", self->died ? "was lost" : "could not be started");
    if (self->number)
        return s_print ("exited (exit code %d, SIG%s)", self->exit_code,
            sigabbrev_np (self->number) ? sigabbrev_np (self->number) : "?");
    return s_print (
        "%s (exit code %d)", self->exit_code ? "exited" : "completed normally", self->exit_code);
}

char *
argos_job_followup_text (
    const argos_job_t *self, const char *command, const char *output, size_t count)
{
    if (self->process) {
        char *ending = s_process_ending (self);
        char *text =
            s_print ("[IMPORTANT: Background process proc_%s %s.\nCommand: %s\nOutput:\n%s]",
                self->id, ending, command, argos_job_tail (output, TAIL_CHARACTERS));
        free (ending);
        return text;
    }
    char *result = argos_job_result_text (self, command, output);
    char *text = s_print ("[Background job %s finished]\n%s%s", self->id, result,
        count == 1 ? "\n\nGo on with what this was for, without repeating work that is done. When "
                     "nothing more is to be done, give the final result."
                   : "");
    free (result);
    return text;
}

char *
argos_job_notice_text (const argos_job_t *self, const char *output)
{
    const char *prefix = self->process ? "proc_" : "";
    if (self->status == ARGOS_JOB_RUNNING)
        return s_print ("[Background process %s%s is still running. New output:\n%s]", prefix,
            self->id, argos_job_tail (output, RUNNING_CHARACTERS));
    char label[32];
    argos_job_label (self, label);
    if (self->timed_out || self->died || !self->started)
        return s_print ("[Background process %s%s %s. Its last output:\n%s]", prefix, self->id,
            label, argos_job_tail (output, FINISHED_CHARACTERS));
    return s_print ("[Background process %s%s finished with exit code %d. Its last output:\n%s]",
        prefix, self->id, self->exit_code, argos_job_tail (output, FINISHED_CHARACTERS));
}

char *
argos_job_launch_text (const argos_job_t *self)
{
    const char *prefix = self->process ? "proc_" : "";
    if (self->notify)
        return s_print (
            "Background job `%s%s` was started. You will be called again with its result when it "
            "is over: do not wait for it and do not poll. Tell the user that it runs, and go on or "
            "end your turn. When the user wants to know about it or stop it, call the tool "
            "manage_bg_jobs yourself (action output or kill, job_id `%s`); do not print a call as "
            "text.",
            prefix, self->id, self->id);
    return s_print ("Background job `%s%s` was started. Nothing will call you when it is over.",
        prefix, self->id);
}
