//  argos_job - the row of a job.
//
//  Invariant: a job ends once; what was decided then stays. Limits: those of the header.

#include "argos_job.h"

#include "argos_json_get.h"
#include "argos_utf8.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROCESS_PREFIX "proc_" //  Before the id of a process
#define WORKDIR_MAX 4096       //  Bytes
#define PATTERNS_MAX 16        //  Watch patterns of a job
#define PATTERN_MAX 256        //  Bytes of one
#define CODE_BAD 1             //  Exit code of a damaged record

static char *
s_copy (const char *text)
{
    char *copy = strdup (text ? text : "");
    if (!copy)
        abort ();
    return copy;
}

//  The first characters of a command.

static char *
s_preview (const char *command)
{
    size_t length = 0;
    for (int characters = 0; command && command[length]; length++) {
        bool begins = ((unsigned char) command[length] & 0xC0) != 0x80;
        if (begins && characters++ == ARGOS_JOB_PREVIEW)
            break;
    }
    char *copy = command ? strndup (command, length) : strdup ("");
    if (!copy)
        abort ();
    return copy;
}

argos_job_t *
argos_job_new (
    const char *id, const char *session, const char *owner, const char *run, const char *command)
{
    argos_job_t *self = calloc (1, sizeof *self);
    if (!self)
        abort ();
    snprintf (self->id, sizeof self->id, "%s", id);
    self->session = s_copy (session);
    self->owner = s_copy (owner);
    self->run = s_copy (run);
    self->command = s_preview (command);
    self->workdir = s_copy (NULL);
    self->followup = s_copy (NULL);
    self->node = s_copy (NULL);
    self->max_runtime_s = ARGOS_JOB_RUNTIME_S;
    self->pidfd = -1;
    self->round = 1;
    self->notify = true;
    return self;
}

void
argos_job_destroy (argos_job_t **self_p)
{
    if (!self_p || !*self_p)
        return;
    argos_job_t *self = *self_p;
    free (self->session);
    free (self->owner);
    free (self->run);
    free (self->command);
    free (self->workdir);
    free (self->followup);
    free (self->node);
    free (self);
    *self_p = NULL;
}

//  ------------------------------------------------------------------------------------------------
//  The record

static const char *const s_status[] = { "running", "done", "failed" };

//  Flags that are there when they are true

static const struct {
    const char *name; //  Member
    size_t offset;    //  In the struct
} s_flags[] = {
    { "killed", offsetof (argos_job_t, killed) },
    { "timed_out", offsetof (argos_job_t, timed_out) },
    { "died", offsetof (argos_job_t, died) },
    { "killing", offsetof (argos_job_t, killing) },
    { "process", offsetof (argos_job_t, process) },
    { "input", offsetof (argos_job_t, input) },
    { "seen", offsetof (argos_job_t, seen) },
    { "patterns", offsetof (argos_job_t, patterns) },
};

#define FLAG_COUNT (sizeof s_flags / sizeof *s_flags)

static void
s_set_number (json_t *object, const char *name, int64_t value)
{
    if (value)
        json_object_set_new (object, name, json_integer ((json_int_t) value));
}

static void
s_set_text (json_t *object, const char *name, const char *text)
{
    if (*text)
        json_object_set_new (object, name, json_string (text));
}

json_t *
argos_job_record (const argos_job_t *self)
{
    bool over = self->status != ARGOS_JOB_RUNNING;
    json_t *value = json_pack ("{s:s, s:s, s:s, s:I, s:o, s:o, s:I, s:b, s:b, s:i}", "id", self->id,
        "command", self->command, "status", s_status[self->status], "started_at",
        (json_int_t) self->started_at, "ended_at",
        over ? json_integer ((json_int_t) self->ended_at) : json_null (), "exit_code",
        over ? json_integer (self->exit_code) : json_null (), "max_runtime_s",
        (json_int_t) self->max_runtime_s, "followed_up", self->followed_up, "notify", self->notify,
        "round", self->round);
    s_set_text (value, "session_id", self->session);
    s_set_text (value, "owner", self->owner);
    s_set_text (value, "run_id", self->run);
    s_set_text (value, "workdir", self->workdir);
    s_set_text (value, "followup", self->followup);
    s_set_text (value, "node", self->node);
    for (size_t i = 0; i < FLAG_COUNT; i++)
        if (*(const bool *) ((const char *) self + s_flags[i].offset))
            json_object_set_new (value, s_flags[i].name, json_true ());
    if (over && !self->started)
        json_object_set_new (value, "not_started", json_true ());
    s_set_number (value, "pid", self->keeper.pid);
    s_set_number (value, "signal", self->number);
    s_set_number (value, "output_bytes", self->total);
    s_set_number (value, "output_dropped", self->dropped);
    s_set_number (value, "left", self->left);
    json_t *survivors = json_array ();
    for (size_t i = 0; i < ARGOS_JOB_SURVIVORS && self->survivors[i]; i++)
        json_array_append_new (survivors, json_integer (self->survivors[i]));
    if (json_array_size (survivors))
        json_object_set (value, "survivors", survivors);
    json_decref (survivors);
    return value;
}

argos_job_t *
argos_job_load (const json_t *value)
{
    char id[ARGOS_JOB_ID_SIZE];
    const char *status = argos_json_find_text (value, "status");
    if (!argos_json_find_text (value, "id") ||
        !argos_job_id (argos_json_find_text (value, "id"), id) || !status)
        return NULL;
    argos_job_t *self = argos_job_new (id, argos_json_find_text (value, "session_id"),
        argos_json_find_text (value, "owner"), argos_json_find_text (value, "run_id"),
        argos_json_find_text (value, "command"));
    free (self->workdir);
    free (self->followup);
    free (self->node);
    self->node = s_copy (argos_json_find_text (value, "node"));
    self->workdir = s_copy (argos_json_find_text (value, "workdir"));
    self->followup = s_copy (argos_json_find_text (value, "followup"));
    for (size_t i = 0; i < sizeof s_status / sizeof *s_status; i++)
        if (strcmp (status, s_status[i]) == 0)
            self->status = (argos_job_status_t) i;
    for (size_t i = 0; i < FLAG_COUNT; i++)
        *(bool *) ((char *) self + s_flags[i].offset) =
            json_is_true (json_object_get (value, s_flags[i].name));
    self->started = !json_is_true (json_object_get (value, "not_started"));
    self->followed_up = json_is_true (json_object_get (value, "followed_up"));
    self->notify = json_is_true (json_object_get (value, "notify"));
    self->round = (int) argos_json_int (value, "round");
    self->exit_code = (int) argos_json_int (value, "exit_code");
    self->number = (int) argos_json_int (value, "signal");
    self->started_at = argos_json_int (value, "started_at");
    self->ended_at = argos_json_int (value, "ended_at");
    self->max_runtime_s = argos_json_int (value, "max_runtime_s");
    self->total = argos_json_int (value, "output_bytes");
    self->dropped = argos_json_int (value, "output_dropped");
    self->left = argos_json_int (value, "left");
    const json_t *survivors = json_object_get (value, "survivors");
    for (size_t i = 0; i < ARGOS_JOB_SURVIVORS; i++)
        self->survivors[i] = (int) json_integer_value (json_array_get (survivors, i));
    return self;
}

bool
argos_job_id (const char *text, char target[static ARGOS_JOB_ID_SIZE])
{
    if (strncmp (text, PROCESS_PREFIX, strlen (PROCESS_PREFIX)) == 0)
        text += strlen (PROCESS_PREFIX);
    size_t length = strspn (text, "0123456789abcdef");
    if (length != ARGOS_JOB_ID_SIZE - 1 || text[length])
        return false;
    memcpy (target, text, ARGOS_JOB_ID_SIZE);
    return true;
}

//  ------------------------------------------------------------------------------------------------
//  The end

//  A whole number that fills the line, else false.

static bool
s_line_number (const char *text, long long *ret_value)
{
    char *end;
    *ret_value = strtoll (text, &end, 10);
    return end != text && (*end == '\n' || !*end);
}

static void
s_read_survivors (const char *text, argos_job_end_t *end)
{
    for (size_t i = 0; i < ARGOS_JOB_SURVIVORS && *text == ' '; i++) {
        char *rest;
        end->survivors[i] = (int) strtol (text, &rest, 10);
        text = rest;
    }
}

void
argos_job_end_read (const char *text, argos_job_end_t *end)
{
    long long value;
    *end = (argos_job_end_t){ .code = CODE_BAD, .reason = "exited" };
    if (s_line_number (text, &value) && value >= -1 && value <= 255)
        end->code = (int) value;
    for (const char *line = strchr (text, '\n'); line; line = strchr (line, '\n')) {
        line++;
        if (strncmp (line, "reason ", 7) == 0)
            snprintf (
                end->reason, sizeof end->reason, "%.*s", (int) strcspn (line + 7, "\n"), line + 7);
        else if (strncmp (line, "signal ", 7) == 0 && s_line_number (line + 7, &value))
            end->number = value > 0 && value < 128 ? (int) value : 0;
        else if (strncmp (line, "ended ", 6) == 0 && s_line_number (line + 6, &value))
            end->ended_at = value;
        else if (strncmp (line, "left ", 5) == 0 && s_line_number (line + 5, &value))
            end->left = value > 0 ? value : 0;
        else if (strncmp (line, "survivors", 9) == 0)
            s_read_survivors (line + 9, end);
    }
}

//  Nobody waits for a word about its end.

static void
s_settle (argos_job_t *self)
{
    if (self->killed || !*self->session || self->seen)
        self->followed_up = true;
}

bool
argos_job_finish (argos_job_t *self, const argos_job_end_t *end, int64_t now)
{
    if (self->status != ARGOS_JOB_RUNNING)
        return false;
    bool stopped = strcmp (end->reason, "killed") == 0;
    self->killed = self->killing && stopped;
    self->timed_out = strcmp (end->reason, "timed_out") == 0;
    self->started = strcmp (end->reason, "not_started") != 0;
    self->exit_code = self->killed || self->timed_out ? -1 : end->code;
    self->status = self->exit_code == 0 ? ARGOS_JOB_DONE : ARGOS_JOB_FAILED;
    self->number = end->number;
    self->left = end->left;
    memcpy (self->survivors, end->survivors, sizeof self->survivors);
    self->ended_at = end->ended_at > 0 ? end->ended_at : now;
    self->killing = false;
    s_settle (self);
    return true;
}

bool
argos_job_lose (argos_job_t *self, bool started, int64_t now)
{
    if (self->status != ARGOS_JOB_RUNNING)
        return false;
    self->killed = self->killing;
    self->died = started && !self->killed;
    self->started = started;
    self->exit_code = -1;
    self->status = ARGOS_JOB_FAILED;
    self->ended_at = now;
    self->killing = false;
    s_settle (self);
    return true;
}

bool
argos_job_pending (const argos_job_t *self)
{
    return self->status != ARGOS_JOB_RUNNING && !self->followed_up;
}

//  ------------------------------------------------------------------------------------------------
//  What is asked for

static const char *
s_command_problem (const json_t *command)
{
    const char *text = json_string_value (command);
    if (!text || !text[strspn (text, " \t\r\n")])
        return "`command` is missing: a string with the command line";
    if (json_string_length (command) != strlen (text))
        return "`command` contains a NUL";
    if (strlen (text) > ARGOS_JOB_COMMAND_MAX)
        return "`command` is too long: at most 16384 bytes; put it into a file";
    return NULL;
}

static const char *
s_patterns_problem (const json_t *patterns)
{
    size_t index;
    const json_t *pattern;
    if (patterns && (!json_is_array (patterns) || json_array_size (patterns) > PATTERNS_MAX))
        return "`watch_patterns` is a list of at most 16 strings";
    json_array_foreach (patterns, index, pattern)
        if (!json_is_string (pattern) || !json_string_length (pattern) ||
            json_string_length (pattern) > PATTERN_MAX ||
            json_string_length (pattern) != strlen (json_string_value (pattern)))
            return "a pattern of `watch_patterns` is a string of 1 to 256 bytes";
    return NULL;
}

const char *
argos_job_problem (const json_t *body)
{
    const json_t *runtime = json_object_get (body, "max_runtime_s");
    const json_t *workdir = json_object_get (body, "workdir");
    const char *problem = s_command_problem (json_object_get (body, "command"));
    if (!problem)
        problem = s_patterns_problem (json_object_get (body, "watch_patterns"));
    if (problem)
        return problem;
    if (runtime && (!json_is_integer (runtime) || json_integer_value (runtime) < 1 ||
                       json_integer_value (runtime) > ARGOS_JOB_RUNTIME_MAX_S))
        return "`max_runtime_s` is out of range: 1 to 604800 seconds";
    if (workdir && (!json_is_string (workdir) || json_string_length (workdir) > WORKDIR_MAX ||
                       json_string_length (workdir) != strlen (json_string_value (workdir))))
        return "`workdir` is not a path";
    return NULL;
}
