//  argos_runs - `argos runs`: list, show, events, stop.

#include "argos_cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RUN_ID_SIZE 36 //  run_ and 32 hex digits

//  A run being watched

typedef struct {
    argos_cli_t *cli; //  Ours
    bool finished;    //  The row says it is over: nothing comes behind the end
} watch_t;

static bool
s_is_run_id (const char *text)
{
    return strlen (text) == RUN_ID_SIZE && strncmp (text, "run_", 4) == 0 &&
           strspn (text + 4, "0123456789abcdef") == RUN_ID_SIZE - 4;
}

static int
s_list (argos_cli_t *self)
{
    json_t *reply = NULL, *item;
    size_t index;
    argos_err_t code = argos_cli_ask (self, "store", "run.list", NULL, &reply);
    if (code != ARGOS_OK)
        return argos_cli_fail (self, "runs list", code);
    const json_t *list = json_object_get (reply, "runs");
    if (self->json)
        argos_cli_print (json_incref (reply));
    else if (json_array_size (list) == 0)
        puts ("there are no runs");
    else {
        puts ("RUN                                  STATE      CREATED             SESSION");
        json_array_foreach (list, index, item)
            printf ("%-36s %-10s %-19s %s\n", argos_cli_text (item, "run_id"),
                argos_cli_text (item, "state"),
                argos_cli_time (json_integer_value (json_object_get (item, "created_at"))),
                argos_cli_text (item, "session_id"));
    }
    json_decref (reply);
    return CLI_OK;
}

//  The row of a run, new; or NULL after a failure has been printed.

static json_t *
s_get (argos_cli_t *self, const char *what, const char *id)
{
    json_t *reply = NULL;
    argos_err_t code =
        argos_cli_ask (self, "store", "run.get", json_pack ("{s:s}", "run_id", id), &reply);
    json_t *run = json_incref (json_object_get (reply, "run"));
    json_decref (reply);
    if (code == ARGOS_OK && json_is_object (run))
        return run;
    json_decref (run);
    if (code == ARGOS_OK) {
        code = ARGOS_NOT_FOUND;
        snprintf (self->reason, sizeof self->reason, "there is no run %s", id);
    }
    argos_cli_fail (self, what, code);
    return NULL;
}

static bool
s_is_finished (const json_t *run)
{
    const char *state = json_string_value (json_object_get (run, "state"));
    return state && (strcmp (state, "completed") == 0 || strcmp (state, "failed") == 0 ||
                        strcmp (state, "cancelled") == 0);
}

static void
s_print_long (const json_t *run, const char *name)
{
    const char *text = json_string_value (json_object_get (run, name));
    if (!text || !*text)
        return;
    printf ("%s:\n", name);
    argos_cli_write (text, strlen (text));
    putchar ('\n');
}

static int
s_show (argos_cli_t *self, const char *id)
{
    json_t *run = s_get (self, "runs show", id);
    if (!run)
        return CLI_FAILED;
    if (self->json) {
        argos_cli_print (run);
        return CLI_OK;
    }
    const json_t *usage = json_object_get (run, "usage");
    printf ("run       %s\n", id);
    printf ("state     %s\n", argos_cli_text (run, "state"));
    printf ("session   %s\n", argos_cli_text (run, "session_id"));
    printf ("owner     %s\n", argos_cli_text (run, "owner"));
    printf ("model     %s\n", argos_cli_text (run, "model"));
    printf ("created   %s\n",
        argos_cli_time (json_integer_value (json_object_get (run, "created_at"))));
    printf ("updated   %s\n",
        argos_cli_time (json_integer_value (json_object_get (run, "updated_at"))));
    if (usage)
        printf ("tokens    %s in, %s out\n", argos_cli_text (usage, "input_tokens"),
            argos_cli_text (usage, "output_tokens"));
    s_print_long (run, "output");
    s_print_long (run, "error");
    json_decref (run);
    return CLI_OK;
}

//  ------------------------------------------------------------------------------------------------
//  Events

static void
s_on_welcome (void *ctx, bool new_store)
{
    (void) new_store;
    argos_cli_welcome (((watch_t *) ctx)->cli);
}

static void
s_on_final (void *ctx, argos_err_t code, const char *reason)
{
    argos_cli_final (((watch_t *) ctx)->cli, code, reason);
}

static void
s_on_entry (void *ctx, const char *topic, const argos_loop_msg_t *msg)
{
    const watch_t *self = (const watch_t *) ctx;
    (void) topic;
    if (self->cli->json)
        argos_cli_print (json_pack ("{s:I,s:I,s:s,s:O}", "n", (json_int_t) msg->n, "at",
            (json_int_t) msg->at, "type", msg->type, "body", msg->body));
    else {
        char *body = json_dumps (msg->body, JSON_COMPACT);
        printf ("%lld %s %s %s\n", (long long) msg->n, argos_cli_time (msg->at), msg->type,
            body ? body : "");
        fflush (stdout);
        free (body);
    }
    if (msg->last)
        argos_loop_stop (self->cli->loop);
}

static void
s_on_end (void *ctx, const char *topic, int64_t n, bool closed)
{
    const watch_t *self = (const watch_t *) ctx;
    (void) topic;
    (void) n;
    if (closed || self->finished)
        argos_loop_stop (self->cli->loop);
}

static void
s_on_refused (void *ctx, const char *id, argos_err_t code, const char *reason)
{
    const watch_t *self = (const watch_t *) ctx;
    (void) id;
    snprintf (self->cli->reason, sizeof self->cli->reason, "%s", reason);
    argos_cli_fail (self->cli, "runs events", code);
    self->cli->final = true;
    argos_loop_stop (self->cli->loop);
}

static int
s_events (argos_cli_t *self, watch_t *watch, const char *id)
{
    char topic[RUN_ID_SIZE + 5];
    json_t *run = s_get (self, "runs events", id);
    if (!run)
        return CLI_FAILED;
    watch->finished = s_is_finished (run);
    json_decref (run);
    snprintf (topic, sizeof topic, "run.%s", id);
    argos_loop_subscribe (self->loop, topic, 0);
    argos_loop_run (self->loop);
    return self->final ? CLI_FAILED : CLI_OK;
}

static int
s_stop (argos_cli_t *self, const char *id)
{
    json_t *run = s_get (self, "runs stop", id);
    if (!run)
        return CLI_FAILED;
    const char *session = json_string_value (json_object_get (run, "session_id"));
    argos_err_t code = ARGOS_CONFLICT;
    if (s_is_finished (run))
        snprintf (self->reason, sizeof self->reason, "the run is over: %s",
            argos_cli_text (run, "state"));
    else if (!session || !*session)
        snprintf (self->reason, sizeof self->reason,
            "the run has not reached its session yet; try again");
    else {
        argos_loop_part_t part = { .type = "turn.stop",
            .to = "service:turn",
            .key = session,
            .durable = true,
            .side = true,
            .urgent = true,
            .body = json_pack ("{s:s,s:s}", "run_id", id, "reason", "stopped by the user") };
        code = argos_cli_send (self, &part);
    }
    json_decref (run);
    if (code != ARGOS_OK)
        return argos_cli_fail (self, "runs stop", code);
    if (self->json)
        argos_cli_print (json_pack ("{s:s}", "stopping", id));
    else
        printf ("stopping %s\n", id);
    return CLI_OK;
}

int
argos_command_runs (argos_cli_t *self, int argc, char **argv)
{
    const char *verb = argc > 0 ? argv[0] : "list";
    bool list = strcmp (verb, "list") == 0, show = strcmp (verb, "show") == 0;
    bool events = strcmp (verb, "events") == 0;
    if (!list && !show && !events && strcmp (verb, "stop") != 0)
        return argos_cli_usage (
            self, "runs list, or runs show, events or stop and the id of a run");
    if (list && argc > 1)
        return argos_cli_usage (self, "runs list takes nothing more");
    if (!list && argc != 2)
        return argos_cli_usage (self, "runs %s needs the id of a run", verb);
    if (!list && !s_is_run_id (argv[1]))
        return argos_cli_usage (
            self, "%s is not the id of a run (run_ and 32 hex digits)", argv[1]);
    watch_t watch = { .cli = self };
    argos_loop_handlers_t handlers = { .ctx = &watch,
        .on_welcome = s_on_welcome,
        .on_final = s_on_final,
        .on_entry = s_on_entry,
        .on_end = s_on_end,
        .on_refused = s_on_refused };
    char name[64];
    snprintf (name, sizeof name, "cmd.%ld", (long) getpid ());
    int rc = argos_cli_connect (self, name, &handlers);
    if (rc != CLI_OK)
        return rc;
    if (list)
        rc = s_list (self);
    else if (show)
        rc = s_show (self, argv[1]);
    else
        rc = events ? s_events (self, &watch, argv[1]) : s_stop (self, argv[1]);
    argos_cli_disconnect (self); //  Before `watch` is gone
    return rc;
}
