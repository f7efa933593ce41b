//  argos_dead - `argos dead`: messages that were given up.

#include "argos_cli.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int
s_list (argos_cli_t *self)
{
    json_t *reply = NULL, *item;
    size_t index;
    argos_err_t code = argos_cli_ask (self, "store", "dead.list", NULL, &reply);
    if (code != ARGOS_OK)
        return argos_cli_fail (self, "dead list", code);
    const json_t *list = json_object_get (reply, "dead");
    if (self->json)
        argos_cli_print (json_incref (reply));
    else if (json_array_size (list) == 0)
        puts ("no message was given up");
    else {
        puts ("SEQ        DIED                CODE       SERVICE                  TYPE             "
              "FROM");
        json_array_foreach (list, index, item)
            printf ("%-10s %-19s %-10s %-24s %-16s %s\n", argos_cli_text (item, "seq"),
                argos_cli_time (json_integer_value (json_object_get (item, "died_at"))),
                argos_cli_text (item, "code"), argos_cli_text (item, "service"),
                argos_cli_text (item, "type"), argos_cli_text (item, "from"));
    }
    json_decref (reply);
    return CLI_OK;
}

static int
s_show (argos_cli_t *self, int64_t seq)
{
    json_t *reply = NULL;
    argos_err_t code = argos_cli_ask (
        self, "store", "dead.show", json_pack ("{s:I}", "seq", (json_int_t) seq), &reply);
    if (code != ARGOS_OK)
        return argos_cli_fail (self, "dead show", code);
    json_t *dead = json_object_get (reply, "dead");
    if (!json_is_object (dead)) {
        json_decref (reply);
        snprintf (
            self->reason, sizeof self->reason, "there is no dead message %lld", (long long) seq);
        return argos_cli_fail (self, "dead show", ARGOS_NOT_FOUND);
    }
    if (self->json)
        argos_cli_print (json_incref (dead));
    else {
        json_dumpf (dead, stdout, JSON_INDENT (2));
        putchar ('\n');
    }
    json_decref (reply);
    return CLI_OK;
}

static int
s_write (argos_cli_t *self, const char *verb, int64_t seq)
{
    char type[32], what[32];
    snprintf (type, sizeof type, "dead.%s", verb);
    snprintf (what, sizeof what, "dead %s", verb);
    argos_loop_part_t part = { .type = type,
        .to = "store",
        .durable = true,
        .body = json_pack ("{s:I}", "seq", (json_int_t) seq) };
    argos_err_t code = argos_cli_send (self, &part);
    if (code != ARGOS_OK)
        return argos_cli_fail (self, what, code);
    if (self->json)
        argos_cli_print (json_pack ("{s:I}", verb, (json_int_t) seq));
    else
        printf ("message %lld: %s\n", (long long) seq,
            strcmp (verb, "drop") == 0 ? "dropped" : "queued again");
    return CLI_OK;
}

int
argos_command_dead (argos_cli_t *self, int argc, char **argv)
{
    const char *verb = argc > 0 ? argv[0] : "list";
    char *end = NULL;
    bool list = strcmp (verb, "list") == 0 && argc <= 1, show = strcmp (verb, "show") == 0;
    if (!list && !show && strcmp (verb, "redrive") != 0 && strcmp (verb, "drop") != 0)
        return argos_cli_usage (self, "dead list, or dead show, redrive or drop and a number");
    errno = 0;
    long long seq = argc == 2 ? strtoll (argv[1], &end, 10) : 0;
    if (!list && (argc != 2 || errno != 0 || end == argv[1] || *end || seq < 1))
        return argos_cli_usage (self, "dead %s needs the number of a message", verb);
    int rc = argos_cli_connect_plain (self);
    if (rc != CLI_OK)
        return rc;
    if (list)
        return s_list (self);
    return show ? s_show (self, seq) : s_write (self, verb, seq);
}
