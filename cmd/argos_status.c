//  argos_status - `argos status`.
//
//  What broker, store and agent say of themselves, side by side. An agent that is not there is
//  shown as such; it is no failure of the command.

#include "argos_cli.h"

#include <stdio.h>
#include <string.h>

static void
s_print_agent (const json_t *agent)
{
    if (!agent) {
        puts ("agent     none is connected");
        return;
    }
    printf ("agent     %s, model %s, %s turns in flight\n", argos_cli_text (agent, "kind"),
        argos_cli_text (agent, "model"), argos_cli_text (agent, "turns"));
    if (json_is_true (json_object_get (agent, "rehearsal")))
        puts ("          the rehearsal provider serves: no model is configured, its answers are "
              "scripted");
    if (json_is_string (json_object_get (agent, "problem")))
        printf ("          problem: %s\n", argos_cli_text (agent, "problem"));
}

static void
s_print_store (const json_t *store)
{
    printf ("store     %s, boot %s, %s bytes\n", argos_cli_text (store, "store"),
        argos_cli_text (store, "boot"), argos_cli_text (store, "bytes"));
    printf ("          %s queued, %s dead, %s sessions, %s runs\n", argos_cli_text (store, "queue"),
        argos_cli_text (store, "dead"), argos_cli_text (store, "sessions"),
        argos_cli_text (store, "runs"));
}

static void
s_print_broker (const json_t *broker)
{
    size_t index;
    json_t *item;
    printf ("broker    up %lld s\n",
        (long long) json_integer_value (json_object_get (broker, "uptime_ms")) / 1000);
    puts ("\nPEER                             ROLE   LEASES  IDLE MS");
    json_array_foreach (json_object_get (broker, "sessions"), index, item)
        printf ("%-32s %-6s %6s %8s\n", argos_cli_text (item, "name"),
            argos_cli_text (item, "role"), argos_cli_text (item, "leases"),
            argos_cli_text (item, "idle_ms"));
    puts ("\nSERVICE                          WAITING LEASED WORKERS SLOTS");
    json_array_foreach (json_object_get (broker, "services"), index, item)
        printf ("%-32s %7s %6s %7s %5s\n", argos_cli_text (item, "name"),
            argos_cli_text (item, "waiting"), argos_cli_text (item, "leased"),
            argos_cli_text (item, "workers"), argos_cli_text (item, "slots"));
}

int
argos_command_status (argos_cli_t *self, int argc, char **argv)
{
    json_t *broker = NULL, *store = NULL, *agent = NULL;
    if (argc > 0)
        return argos_cli_usage (self, "status takes no %s", argv[0]);
    int rc = argos_cli_connect_plain (self);
    if (rc != CLI_OK)
        return rc;
    argos_err_t code = argos_cli_ask (self, "actor:broker", "broker.status", NULL, &broker);
    if (code == ARGOS_OK)
        code = argos_cli_ask (self, "store", "status.get", NULL, &store);
    if (code != ARGOS_OK)
        rc = argos_cli_fail (self, "status", code);
    else {
        argos_cli_ask (self, "actor:agent", "agent.status", NULL, &agent);
        if (self->json)
            argos_cli_print (
                json_pack ("{s:O,s:O,s:O?}", "broker", broker, "store", store, "agent", agent));
        else {
            s_print_agent (agent);
            s_print_store (store);
            s_print_broker (broker);
        }
    }
    json_decref (broker);
    json_decref (store);
    json_decref (agent);
    return rc;
}
