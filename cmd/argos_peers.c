//  argos_peers - `argos peers`: who is connected, and what each does; and the order to drain one.

#include "argos_cli.h"
#include "argos_rows.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static int
s_order (argos_cli_t *self, const char *name, bool on)
{
    int rc = argos_cli_connect_plain (self);
    if (rc != CLI_OK)
        return rc;
    argos_err_t code = argos_cli_ask (self, "actor:broker", "peer.drain",
        json_pack ("{s:s,s:b}", "name", name, "on", (int) on), NULL);
    if (code != ARGOS_OK)
        return argos_cli_fail (self, name, code);
    if (self->json)
        argos_cli_print (json_pack ("{s:s,s:b}", "name", name, "drained", (int) on));
    else
        printf ("%s %s\n", name, on ? "is drained: nothing new goes to it" : "gets work again");
    return CLI_OK;
}

int
argos_command_peers (argos_cli_t *self, int argc, char **argv)
{
    json_t *stats = NULL;
    bool drain = argc == 2 && strcmp (argv[0], "drain") == 0;
    if (drain || (argc == 2 && strcmp (argv[0], "resume") == 0))
        return s_order (self, argv[1], drain);
    if (argc > 1 || (argc == 1 && strcmp (argv[0], "list") != 0))
        return argos_cli_usage (self, "peers [list] | peers drain NAME | peers resume NAME");
    int rc = argos_cli_connect_plain (self);
    if (rc != CLI_OK)
        return rc;
    argos_err_t code = argos_cli_ask (
        self, "actor:broker", "broker.stats", json_pack ("{s:i}", "limit", 4096), &stats);
    if (code != ARGOS_OK)
        return argos_cli_fail (self, "peers", code);
    json_t *list = argos_rows_sorted (json_object_get (stats, "peers"), "name");
    if (self->json)
        argos_cli_print (json_pack ("{s:O}", "peers", list));
    else
        argos_rows_peers (stdout, list, false, SIZE_MAX, SIZE_MAX);
    json_decref (list);
    json_decref (stats);
    return CLI_OK;
}
