//  argos_services - `argos services`: what waits where, since when, and who works on it.

#include "argos_cli.h"
#include "argos_rows.h"

#include <stdint.h>
#include <string.h>

int
argos_command_services (argos_cli_t *self, int argc, char **argv)
{
    json_t *stats = NULL;
    if (argc > 1 || (argc == 1 && strcmp (argv[0], "list") != 0))
        return argos_cli_usage (self, "services [list]");
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
