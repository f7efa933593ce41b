//  argos_broker - `argos peers` and `argos services`: who is connected and what waits where, and
//  the orders that the broker takes about them.
//
//  Lists and orders are data: a row of `orders` is a word of the command line and a message.

#include "argos_cli.h"
#include "argos_rows.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef void (table_fn) (FILE *out, const json_t *list, bool live, size_t rows, size_t width);

static const struct {
    const char *list;   //  Command
    const char *word;   //  Behind it
    const char *type;   //  Message
    const char *member; //  That names the thing
    int on;             //  Member `on`; -1 = it has none
    const char *said;   //  When it is done
} orders[] = {
    { "peers", "drain", "peer.drain", "name", 1, "is drained: nothing new goes to it" },
    { "peers", "resume", "peer.drain", "name", 0, "gets work again" },
    { "services", "pause", "service.pause", "service", 1, "is paused: messages wait" },
    { "services", "resume", "service.pause", "service", 0, "goes on" },
    { "services", "drop", "service.drop", "service", -1, "is forgotten" },
};

static int
s_order (argos_cli_t *self, size_t order, const char *name)
{
    int rc = argos_cli_connect_plain (self);
    if (rc != CLI_OK)
        return rc;
    json_t *body = json_pack ("{s:s}", orders[order].member, name);
    if (orders[order].on >= 0)
        json_object_set_new (body, "on", json_boolean (orders[order].on));
    argos_err_t code = argos_cli_ask (self, "actor:broker", orders[order].type, body, NULL);
    if (code != ARGOS_OK)
        return argos_cli_fail (self, name, code);
    if (self->json)
        argos_cli_print (
            json_pack ("{s:s,s:s}", orders[order].member, name, "order", orders[order].word));
    else
        printf ("%s %s\n", name, orders[order].said);
    return CLI_OK;
}

static int
s_list (argos_cli_t *self, const char *what, table_fn *table)
{
    json_t *stats = NULL;
    int rc = argos_cli_connect_plain (self);
    if (rc != CLI_OK)
        return rc;
    argos_err_t code = argos_cli_ask (
        self, "actor:broker", "broker.stats", json_pack ("{s:i}", "limit", 4096), &stats);
    if (code != ARGOS_OK)
        return argos_cli_fail (self, what, code);
    json_t *list = argos_rows_sorted (json_object_get (stats, what), "name");
    if (self->json)
        argos_cli_print (json_pack ("{s:O}", what, list));
    else
        table (stdout, list, false, SIZE_MAX, SIZE_MAX);
    json_decref (list);
    json_decref (stats);
    return CLI_OK;
}

static int
s_command (
    argos_cli_t *self, int argc, char **argv, const char *what, table_fn *table, const char *usage)
{
    for (size_t i = 0; argc == 2 && i < sizeof orders / sizeof *orders; i++)
        if (strcmp (orders[i].list, what) == 0 && strcmp (orders[i].word, argv[0]) == 0)
            return s_order (self, i, argv[1]);
    if (argc > 1 || (argc == 1 && strcmp (argv[0], "list") != 0))
        return argos_cli_usage (self, "%s", usage);
    return s_list (self, what, table);
}

int
argos_command_peers (argos_cli_t *self, int argc, char **argv)
{
    return s_command (
        self, argc, argv, "peers", argos_rows_peers, "peers [list] | peers drain|resume NAME");
}

int
argos_command_services (argos_cli_t *self, int argc, char **argv)
{
    return s_command (self, argc, argv, "services", argos_rows_services,
        "services [list] | services pause|resume|drop NAME");
}
