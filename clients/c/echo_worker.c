//  echo_worker - a complete worker: answers requests, and works off durable messages, each once.
//
//      echo_worker [--home DIR] [SERVICE]
//
//  A request is answered with its own body. A durable message is done with a commit that keeps an
//  entry on the topic of the service's name: consuming it and saying so is one transaction, so
//  after a crash anywhere it is said once. Kill it at any time and start it again. Limit: 64 KiB a
//  body.

#include "argos.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BODY_SIZE 65536

typedef struct {
    argos_t *argos;      //  Our connection
    const char *service; //  What we serve
} worker_t;

static void
s_on_request (void *ctx, const argos_msg_t *msg)
{
    if (!*msg->re) //  With re: a word on a request, too late here
        argos_reply (((worker_t *) ctx)->argos, msg, "echo.reply", msg->body);
}

static void
s_on_work (void *ctx, const argos_msg_t *msg)
{
    worker_t *self = (worker_t *) ctx;
    argos_work_t *work = msg->work;
    char topic[128], body[BODY_SIZE];
    snprintf (topic, sizeof topic, "topic:%s", self->service);
    int size = snprintf (
        body, sizeof body, "{\"attempt\":%lld,\"job\":%s}", (long long) msg->attempt, msg->body);
    argos_part_t entry = { .type = "echo.done", .to = topic, .body = body };
    if (strcmp (msg->type, "echo.job") != 0 || size < 0 || (size_t) size >= sizeof body ||
        argos_work_done (work, &entry, 1, NULL, 0, NULL, NULL) != ARGOS_OK)
        argos_work_release (&work, 0, false, "invalid"); //  It can never be done: a dead letter
}

static void
s_on_refused (void *ctx, const char *id, argos_err_t code, const char *reason)
{
    (void) ctx;
    fprintf (stderr, "echo_worker: %s: %s: %s\n", id, argos_err_name (code), reason);
    if (strncmp (id, "service:", 8) == 0) //  Else a done: its message comes again
        exit (1);
}

int
main (int argc, char **argv)
{
    worker_t self = { .service = "echo" };
    char reason[512];
    argos_options_t options = { .name = getenv ("ARGOS_NAME"),
        .handlers = { .ctx = &self,
            .on_request = s_on_request,
            .on_work = s_on_work,
            .on_refused = s_on_refused } };
    for (int i = 1; i < argc; i++)
        if (strcmp (argv[i], "--home") == 0 && i + 1 < argc)
            options.home = argv[++i];
        else
            self.service = argv[i];
    if (!options.name) //  Without a key, a peer may serve what bears its name
        options.name = self.service;
    self.argos = argos_new (&options, reason, sizeof reason);
    if (!self.argos) {
        fprintf (stderr, "echo_worker: %s\n", reason);
        return 1;
    }
    argos_serve (self.argos, self.service, 8, NULL);
    printf ("serving %s as %s\n", self.service, options.name);
    fflush (stdout);
    while (argos_turn (self.argos, -1) == ARGOS_OK)
        ;
    fprintf (stderr, "echo_worker: %s\n", argos_reason (self.argos));
    argos_destroy (&self.argos);
    return 1;
}
