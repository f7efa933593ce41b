//  argos_session_home - see the header.
//
//  Limit: nothing is carried over. The files stay where they are.

#include "argos_session_home.h"

#include <stdio.h>
#include <string.h>

//  A node that has never had tools is most likely a slip.

static argos_err_t
s_check (argos_cli_t *self, const char *node)
{
    char service[96];
    json_t *status = NULL, *row;
    size_t index;
    argos_err_t code = argos_cli_ask (self, "actor:broker", "broker.status", NULL, &status);
    bool known = strcmp (node, "none") == 0;
    snprintf (service, sizeof service, "tool.terminal@%.64s", node);
    json_array_foreach (json_object_get (status, "services"), index, row)
        known = known || strcmp (argos_cli_text (row, "name"), service) == 0;
    json_decref (status);
    if (code != ARGOS_OK || known)
        return code;
    snprintf (self->reason, sizeof self->reason, "no node %.64s has had tools", node);
    return ARGOS_NOT_FOUND;
}

int
argos_session_home (argos_cli_t *self, const char *id, const char *node)
{
    argos_err_t code = s_check (self, node);
    if (code == ARGOS_OK) {
        json_t *body = json_pack ("{s:s, s:b}", "id", id, "move", 1);
        if (strcmp (node, "none") != 0)
            json_object_set_new (body, "home", json_string (node));
        argos_loop_part_t part = {
            .type = "session.home", .to = "store", .durable = true, .body = body
        };
        code = argos_cli_send (self, &part);
    }
    if (code != ARGOS_OK)
        return argos_cli_fail (self, "sessions home", code);
    if (self->json)
        argos_cli_print (json_pack ("{s:s, s:s}", "session_id", id, "home", node));
    return CLI_OK;
}
