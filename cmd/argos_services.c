//  argos_services - `argos services`: what waits where, since when, and who works on it; and the
//  orders to pause, resume and drop one.

#include "argos_cli.h"
#include "argos_rows.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

//  The orders

static const struct {
    const char *word; //  On the command line
    const char *type; //  Message
    int on;           //  Its member; -1 = it has none
    const char *said; //  When it is done
} orders[] = {
    { "pause", "service.pause", 1, "is paused: messages wait" },
    { "resume", "service.pause", 0, "goes on" },
    { "drop", "service.drop", -1, "is forgotten" },
};

static int
s_order (argos_cli_t *self, size_t order, const char *name)
{
    int rc = argos_cli_connect_plain (self);
    if (rc != CLI_OK)
        return rc;
    json_t *body = json_pack ("{s:s}", "service", name);
    if (orders[order].on >= 0)
        json_object_set_new (body, "on", json_boolean (orders[order].on));
    argos_err_t code = argos_cli_ask (self, "actor:broker", orders[order].type, body, NULL);
    if (code != ARGOS_OK)
        return argos_cli_fail (self, name, code);
    if (self->json)
        argos_cli_print (json_pack ("{s:s,s:s}", "service", name, "order", orders[order].word));
    else
        printf ("%s %s\n", name, orders[order].said);
    return CLI_OK;
}

int
argos_command_services (argos_cli_t *self, int argc, char **argv)
{
    json_t *stats = NULL;
    for (size_t i = 0; argc == 2 && i < sizeof orders / sizeof *orders; i++)
        if (strcmp (orders[i].word, argv[0]) == 0)
            return s_order (self, i, argv[1]);
    if (argc > 1 || (argc == 1 && strcmp (argv[0], "list") != 0))
        return argos_cli_usage (self, "services [list] | services pause|resume|drop NAME");
    int rc = argos_cli_connect_plain (self);
    if (rc != CLI_OK)
        return rc;
    argos_err_t code = argos_cli_ask (
        self, "actor:broker", "broker.stats", json_pack ("{s:i}", "limit", 4096), &stats);
    if (code != ARGOS_OK)
        return argos_cli_fail (self, "services", code);
    json_t *list = argos_rows_sorted (json_object_get (stats, "services"), "name");
    if (self->json)
        argos_cli_print (json_pack ("{s:O}", "services", list));
    else
        argos_rows_services (stdout, list, false, SIZE_MAX, SIZE_MAX);
    json_decref (list);
    json_decref (stats);
    return CLI_OK;
}
