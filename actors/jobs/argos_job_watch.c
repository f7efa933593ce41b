//  argos_job_watch - looks for patterns in the output of a job.
//
//  Invariant: what matches is told or counted, never both and never neither. Limit: LINE_MAX bytes
//  of a line are looked at.

#include "argos_job_watch.h"

#include "argos_job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_MAX 4096 //  Bytes of a line

struct argos_job_watch {
    char id[ARGOS_JOB_ID_SIZE];            //  Job
    char **patterns;                       //  They
    size_t count;                          //  How many
    char line[LINE_MAX];                   //  The newest line so far
    size_t line_size;                      //  Bytes of it
    char found[ARGOS_JOB_WATCH_BYTES + 1]; //  Lines that match
    size_t found_size, found_lines;        //  How much; how many
    int matches;                           //  Lines that match, also those that are not kept
    const char *pattern;                   //  The first that did, borrowed
    int64_t next;                          //  From when on a notice may be given, 0 = none was
    bool dropped;                          //  Something was in this window
    argos_job_watch_state_t state;         //  See the header
};

argos_job_watch_t *
argos_job_watch_new (const char *id, const json_t *patterns)
{
    argos_job_watch_t *self = calloc (1, sizeof *self);
    size_t size = json_array_size (patterns);
    if (self)
        self->patterns = calloc (size + 1, sizeof *self->patterns);
    if (!self || !self->patterns)
        abort ();
    snprintf (self->id, sizeof self->id, "%s", id);
    for (size_t i = 0; i < size; i++)
        if (json_string_length (json_array_get (patterns, i))) {
            self->patterns[self->count] = strdup (json_string_value (json_array_get (patterns, i)));
            if (!self->patterns[self->count++])
                abort ();
        }
    return self;
}

void
argos_job_watch_destroy (argos_job_watch_t **self_p)
{
    if (!self_p || !*self_p)
        return;
    for (size_t i = 0; i < (*self_p)->count; i++)
        free ((*self_p)->patterns[i]);
    free ((*self_p)->patterns);
    free (*self_p);
    *self_p = NULL;
}

argos_job_watch_state_t
argos_job_watch_state (const argos_job_watch_t *self)
{
    return self->state;
}

//  ------------------------------------------------------------------------------------------------
//  Lines

//  A line is complete: is it one of those?

static void
s_end_line (argos_job_watch_t *self)
{
    size_t size = self->line_size;
    self->line_size = 0;
    for (size_t i = 0; i < self->count; i++) {
        const char *pattern = self->patterns[i];
        if (!memmem (self->line, size, pattern, strlen (pattern)))
            continue;
        if (!self->matches++)
            self->pattern = pattern;
        size_t room = ARGOS_JOB_WATCH_BYTES - self->found_size;
        if (self->found_lines == ARGOS_JOB_WATCH_LINES || room < 2)
            return;
        size_t kept = size < room - 1 ? size : room - 1;
        memcpy (self->found + self->found_size, self->line, kept);
        self->found_size += kept;
        self->found[self->found_size++] = '\n';
        self->found_lines++;
        return;
    }
}

static void
s_take (argos_job_watch_t *self, const char *data, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (data[i] == '\n')
            s_end_line (self);
        else if (self->line_size < LINE_MAX)
            self->line[self->line_size++] = data[i];
}

//  ------------------------------------------------------------------------------------------------
//  Notices

static void
s_say (argos_job_watch_fn *fn, void *arg, char *text)
{
    if (!text)
        abort ();
    fn (arg, text);
    free (text);
}

//  Whether all jobs together may say one more.

static bool
s_passes (argos_job_breaker_t *breaker, int64_t now, argos_job_watch_fn *fn, void *arg)
{
    char *text;
    if (breaker->until && now >= breaker->until) {
        if (asprintf (&text,
                "[IMPORTANT: Watch notices are given again; %lld matches were not told meanwhile.]",
                (long long) breaker->dropped) < 0)
            abort ();
        s_say (fn, arg, text);
        *breaker = (argos_job_breaker_t){ 0 };
    }
    if (!breaker->until) {
        if (!breaker->since || now - breaker->since > ARGOS_JOB_BREAKER_MS)
            *breaker = (argos_job_breaker_t){ .since = now };
        if (breaker->count++ < ARGOS_JOB_BREAKER_COUNT)
            return true;
        breaker->until = now + ARGOS_JOB_BREAKER_REST_MS;
        if (asprintf (&text,
                "[IMPORTANT: Too many watch notices: more than %d in %d s. None are given for %d "
                "s.]",
                ARGOS_JOB_BREAKER_COUNT, ARGOS_JOB_BREAKER_MS / 1000,
                ARGOS_JOB_BREAKER_REST_MS / 1000) < 0)
            abort ();
        s_say (fn, arg, text);
    }
    breaker->dropped++;
    return false;
}

static void
s_say_match (argos_job_watch_t *self, argos_job_watch_fn *fn, void *arg)
{
    char *text, earlier[96] = "";
    char *lines = argos_job_clean (self->found, self->found_size ? self->found_size - 1 : 0);
    if (self->state.suppressed)
        snprintf (earlier, sizeof earlier, "\n(%d earlier matches were suppressed)",
            self->state.suppressed);
    if (asprintf (&text,
            "[IMPORTANT: Background process proc_%s matched watch pattern \"%s\".%s\nMatched "
            "output:\n%s]",
            self->id, self->pattern, earlier, lines) < 0)
        abort ();
    free (lines);
    s_say (fn, arg, text);
}

//  The watch is over.

static void
s_disable (argos_job_watch_t *self, argos_job_watch_fn *fn, void *arg)
{
    char *text;
    self->state.disabled = true;
    if (asprintf (&text,
            "[IMPORTANT: The watch of background process proc_%s has ended, because it matches too "
            "often. Its end will be told instead (notify_on_complete).]",
            self->id) < 0)
        abort ();
    s_say (fn, arg, text);
}

//  A match inside the window: counted. The first of a window is a strike.

static void
s_drop (argos_job_watch_t *self, argos_job_watch_fn *fn, void *arg)
{
    self->state.suppressed += self->matches;
    if (self->dropped)
        return;
    self->dropped = true;
    if (++self->state.strikes >= ARGOS_JOB_WATCH_STRIKES)
        s_disable (self, fn, arg);
}

static void
s_deliver (argos_job_watch_t *self, argos_job_breaker_t *breaker, int64_t now,
    argos_job_watch_fn *fn, void *arg)
{
    if (self->next && !self->dropped)
        self->state.strikes = 0; //  A window without drops
    if (!s_passes (breaker, now, fn, arg)) {
        self->state.suppressed += self->matches;
        return;
    }
    s_say_match (self, fn, arg);
    self->state.suppressed = 0;
    self->dropped = false;
    self->next = now + ARGOS_JOB_WATCH_MS;
    if (++self->state.hits >= ARGOS_JOB_WATCH_NOTICES)
        s_disable (self, fn, arg);
}

bool
argos_job_watch_feed (argos_job_watch_t *self, argos_job_breaker_t *breaker, const char *data,
    size_t size, int64_t now, argos_job_watch_fn *fn, void *arg)
{
    if (self->state.disabled || !self->count)
        return false;
    self->matches = 0;
    self->found_size = self->found_lines = 0;
    s_take (self, data, size);
    if (!self->matches)
        return false;
    if (self->next && now < self->next)
        s_drop (self, fn, arg);
    else
        s_deliver (self, breaker, now, fn, arg);
    return self->state.disabled;
}
