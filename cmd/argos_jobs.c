//  argos_jobs - `argos jobs`: commands in the background, which outlive the daemon.

#include "argos_cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RENEW_MS 30000 //  A follower asks again after so long
#define SERVICE "service:job"

//  What is followed

typedef struct {
    argos_cli_t *cli; //  Whose
    int64_t next;     //  Number of the byte that comes next
    bool over;        //  The job has ended
    bool asking;      //  An answer is on its way; entries that come first may say the same
    bool missed;      //  Such an entry has come
} follow_t;

static int
s_list (argos_cli_t *self)
{
    json_t *reply = NULL, *job;
    size_t index;
    argos_err_t code = argos_cli_ask (self, SERVICE, "job.list", NULL, &reply);
    if (code != ARGOS_OK)
        return argos_cli_fail (self, "jobs list", code);
    const json_t *list = json_object_get (reply, "jobs");
    if (self->json)
        argos_cli_print (json_incref (reply));
    else if (json_array_size (list) == 0)
        puts ("no background jobs");
    else {
        puts ("ID           STATUS   CODE STARTED             SESSION                  COMMAND");
        json_array_foreach (list, index, job)
            printf ("%-12s %-8s %-4s %-19s %-24.24s %s\n", argos_cli_text (job, "id"),
                argos_cli_text (job, "status"), argos_cli_text (job, "exit_code"),
                argos_cli_time (json_integer_value (json_object_get (job, "started_at"))),
                argos_cli_text (job, "session_id"), argos_cli_short (job, "command", 60));
    }
    json_decref (reply);
    return CLI_OK;
}

//  The job with a piece of its output, new; NULL after the error was printed.

static json_t *
s_get (argos_cli_t *self, const char *what, const char *id, int64_t from, bool follow)
{
    json_t *reply = NULL, *body = json_pack ("{s:s, s:b}", "id", id, "follow", follow);
    if (from >= 0)
        json_object_set_new (body, "from", json_integer ((json_int_t) from));
    argos_err_t code = argos_cli_ask (self, SERVICE, "job.output", body, &reply);
    if (code == ARGOS_OK)
        return reply;
    argos_cli_fail (self, what, code);
    json_decref (reply);
    return NULL;
}

//  Why a job failed, "" when that is no more than its code.

static const char *
s_why (const json_t *job)
{
    static const char *const flags[] = { "killed", "timed_out", "died", "not_started" };
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (json_is_true (json_object_get (job, flags[i])))
            return flags[i];
    return "";
}

static int
s_show (argos_cli_t *self, const char *id)
{
    json_t *reply = s_get (self, "jobs show", id, -1, false);
    const json_t *job = json_object_get (reply, "job");
    if (!reply)
        return CLI_FAILED;
    if (self->json) {
        argos_cli_print (reply);
        return CLI_OK;
    }
    static const char *const members[] = { "id", "status", "exit_code", "pid", "session_id",
        "owner", "run_id", "followup", "workdir", "max_runtime_s", "signal" };
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (json_object_get (job, members[i]))
            printf ("%-14s %s%s%s\n", members[i], argos_cli_text (job, members[i]),
                i == 1 && *s_why (job) ? ", " : "", i == 1 ? s_why (job) : "");
    printf ("%-14s %s\n", "started",
        argos_cli_time (json_integer_value (json_object_get (job, "started_at"))));
    printf ("%-14s %s\n", "ended",
        argos_cli_time (json_integer_value (json_object_get (job, "ended_at"))));
    printf ("%-14s %s bytes, %s not kept\n", "output", argos_cli_text (reply, "total"),
        argos_cli_text (reply, "dropped"));
    printf ("%-14s ", "command");
    const char *command = json_string_value (json_object_get (reply, "command"));
    argos_cli_write (command ? command : "", command ? strlen (command) : 0);
    putchar ('\n');
    json_decref (reply);
    return CLI_OK;
}

//  ------------------------------------------------------------------------------------------------
//  Output

static void
s_print (follow_t *self, const json_t *piece)
{
    const char *text = json_string_value (json_object_get (piece, "text"));
    int64_t from = json_integer_value (json_object_get (piece, "from"));
    if (from > self->next)
        fprintf (stderr, "argos: %lld bytes are not kept\n", (long long) (from - self->next));
    self->next = json_integer_value (json_object_get (piece, "next"));
    argos_cli_write (text ? text : "", text ? strlen (text) : 0);
    fflush (stdout);
}

//  An entry that does not follow on what was printed makes the loop ask for what is missing.

static void
s_on_entry (void *ctx, const char *topic, const argos_loop_msg_t *msg)
{
    follow_t *self = ctx;
    (void) topic;
    bool ended = strcmp (msg->type, "job.ended") == 0;
    if (self->asking)
        self->missed = true;
    else if (!ended && json_integer_value (json_object_get (msg->body, "from")) == self->next)
        s_print (self, msg->body);
    else if (ended || json_integer_value (json_object_get (msg->body, "next")) > self->next)
        argos_loop_stop (self->cli->loop);
}

static void
s_on_due (void *arg)
{
    argos_loop_stop (((follow_t *) arg)->cli->loop);
}

static json_t *
s_ask (follow_t *self, const char *id, int64_t from, bool follow)
{
    self->missed = false;
    self->asking = true;
    json_t *reply = s_get (self->cli, "jobs output", id, from, follow);
    self->asking = false;
    return reply;
}

//  All that is there from self->next on. Returns CLI_OK, or the exit code.

static int
s_read (follow_t *self, const char *id, bool follow)
{
    for (;;) {
        json_t *reply = s_ask (self, id, self->next, follow);
        if (!reply)
            return CLI_FAILED;
        int64_t total = json_integer_value (json_object_get (reply, "total")), was = self->next;
        const char *status =
            json_string_value (json_object_get (json_object_get (reply, "job"), "status"));
        self->over = status && strcmp (status, "running") != 0;
        s_print (self, reply);
        json_decref (reply);
        if (self->next >= total || self->next == was)
            return CLI_OK;
    }
}

//  Hears of what is written from now on; id may be the beginning of one.

static int
s_subscribe (follow_t *self, const char *id)
{
    char topic[64];
    json_t *reply = s_ask (self, id, -1, true);
    if (!reply)
        return CLI_FAILED;
    snprintf (topic, sizeof topic, "job.%s", argos_cli_text (json_object_get (reply, "job"), "id"));
    argos_loop_subscribe (self->cli->loop, topic, 0);
    json_decref (reply);
    return CLI_OK;
}

static int
s_output (follow_t *self, const char *id, bool follow)
{
    argos_cli_t *cli = self->cli;
    if (cli->json) {
        json_t *reply = s_get (cli, "jobs output", id, -1, false);
        if (reply)
            argos_cli_print (reply);
        return reply ? CLI_OK : CLI_FAILED;
    }
    if (follow && s_subscribe (self, id) != CLI_OK)
        return CLI_FAILED;
    for (;;) {
        int rc = s_read (self, id, follow);
        if (rc != CLI_OK || !follow || self->over || cli->interrupted || cli->final)
            return rc;
        if (self->missed)
            continue;
        argos_loop_timer (cli->loop, argos_loop_now () + RENEW_MS, s_on_due, self);
        argos_loop_run (cli->loop);
    }
}

//  ------------------------------------------------------------------------------------------------

static int
s_kill (argos_cli_t *self, const char *id)
{
    json_t *reply = NULL;
    argos_err_t code =
        argos_cli_ask (self, SERVICE, "job.kill", json_pack ("{s:s}", "id", id), &reply);
    if (code != ARGOS_OK)
        return argos_cli_fail (self, "jobs kill", code);
    const char *outcome = argos_cli_text (reply, "outcome");
    bool survivors = strcmp (outcome, "survivors") == 0;
    if (self->json)
        argos_cli_print (json_incref (reply));
    else if (survivors)
        puts ("some of its processes could not be ended");
    else if (strcmp (outcome, "killed") == 0)
        printf ("job %s: killed\n", argos_cli_text (json_object_get (reply, "job"), "id"));
    else
        printf ("job %s is over: %s\n", argos_cli_text (json_object_get (reply, "job"), "id"),
            argos_cli_text (json_object_get (reply, "job"), "status"));
    json_decref (reply);
    return survivors ? CLI_FAILED : CLI_OK;
}

//  The words as one line for the shell: one is a line already, several are quoted.

static char *
s_line (int argc, char **argv)
{
    char *line = NULL;
    size_t size = 0;
    FILE *out = open_memstream (&line, &size);
    if (!out)
        abort ();
    for (int i = 0; i < argc; i++) {
        if (argc == 1) {
            fputs (argv[i], out);
            break;
        }
        fputs (i ? " '" : "'", out);
        for (const char *c = argv[i]; *c; c++)
            if (*c == '\'')
                fputs ("'\\''", out);
            else
                fputc (*c, out);
        fputc ('\'', out);
    }
    fclose (out);
    return line;
}

static int
s_start (argos_cli_t *self, int argc, char **argv)
{
    char workdir[PATH_MAX];
    json_t *reply = NULL;
    char *line = s_line (argc, argv);
    json_t *body = json_pack ("{s:s, s:b}", "command", line, "notify", 0);
    free (line);
    if (!body) {
        snprintf (self->reason, sizeof self->reason, "the command is not UTF-8");
        return argos_cli_fail (self, "jobs start", ARGOS_INVALID);
    }
    if (getcwd (workdir, sizeof workdir))
        json_object_set_new (body, "workdir", json_string (workdir));
    argos_err_t code = argos_cli_ask (self, SERVICE, "job.start", body, &reply);
    if (code != ARGOS_OK)
        return argos_cli_fail (self, "jobs start", code);
    if (self->json)
        argos_cli_print (json_incref (reply));
    else
        puts (argos_cli_text (json_object_get (reply, "job"), "id"));
    json_decref (reply);
    return CLI_OK;
}

static void
s_on_welcome (void *ctx, bool new_store)
{
    (void) new_store;
    argos_cli_welcome (((follow_t *) ctx)->cli);
}

static void
s_on_final (void *ctx, argos_err_t code, const char *reason)
{
    argos_cli_final (((follow_t *) ctx)->cli, code, reason);
}

//  What is wrong with the line, NULL = nothing. *ret_follow: output -f, *ret_id: which job.

static const char *
s_check (int argc, char **argv, bool *ret_follow, const char **ret_id)
{
    const char *verb = argc > 0 ? argv[0] : "list";
    if (strcmp (verb, "list") == 0)
        return argc > 1 ? "jobs list takes nothing more" : NULL;
    if (strcmp (verb, "start") == 0)
        return argc < 3 || strcmp (argv[1], "--") != 0
                   ? "jobs start needs -- and a command, such as jobs start -- make"
                   : NULL;
    bool output = strcmp (verb, "output") == 0;
    if (!output && strcmp (verb, "show") != 0 && strcmp (verb, "kill") != 0)
        return "jobs list, jobs show, output [-f] or kill and the id of a job, or jobs start -- "
               "COMMAND";
    for (int i = 1; i < argc; i++)
        if (output && strcmp (argv[i], "-f") == 0)
            *ret_follow = true;
        else if (*ret_id)
            return "one job at a time";
        else
            *ret_id = argv[i];
    return *ret_id && strspn (*ret_id, "0123456789abcdefproc_") == strlen (*ret_id)
               ? NULL
               : "that needs the id of a job (12 hex digits, or how it begins)";
}

int
argos_command_jobs (argos_cli_t *self, int argc, char **argv)
{
    bool follow = false;
    const char *id = NULL, *verb = argc > 0 ? argv[0] : "list";
    const char *problem = s_check (argc, argv, &follow, &id);
    if (problem)
        return argos_cli_usage (self, "%s", problem);
    follow_t state = { .cli = self };
    argos_loop_handlers_t handlers = {
        .ctx = &state, .on_welcome = s_on_welcome, .on_final = s_on_final, .on_entry = s_on_entry
    };
    char name[64];
    snprintf (name, sizeof name, "cmd.%ld", (long) getpid ());
    int rc = argos_cli_connect (self, name, &handlers);
    if (rc != CLI_OK)
        return rc;
    switch (*verb) {
    case 'l':
        rc = s_list (self);
        break;
    case 'o':
        rc = s_output (&state, id, follow);
        break;
    case 'k':
        rc = s_kill (self, id);
        break;
    default:
        rc = strcmp (verb, "show") == 0 ? s_show (self, id) : s_start (self, argc - 2, argv + 2);
    }
    argos_cli_disconnect (self); //  Before `state` is gone
    return rc;
}
