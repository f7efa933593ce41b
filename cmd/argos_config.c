//  argos_config - `argos config reload`: the daemon reads its settings again. All else about them
//  is argosd's.

#include "argos_cli.h"

#include <stdio.h>
#include <string.h>

static void
s_print_list (const json_t *reply, const char *name, const char *said)
{
    const json_t *list = json_object_get (reply, name);
    for (size_t i = 0; i < json_array_size (list); i++)
        printf ("%s%s", json_string_value (json_array_get (list, i)), said);
}

static int
s_reload (argos_cli_t *self)
{
    json_t *reply = NULL;
    int rc = argos_cli_connect_plain (self);
    if (rc != CLI_OK)
        return rc;
    argos_err_t code = argos_cli_ask (self, "actor:daemon", "config.reload", NULL, &reply);
    if (code != ARGOS_OK)
        return argos_cli_fail (self, "reload", code);
    bool applied = json_is_true (json_object_get (reply, "applied"));
    const char *reason = json_string_value (json_object_get (reply, "reason"));
    if (self->json)
        argos_cli_print (json_incref (reply));
    else if (applied) {
        s_print_list (reply, "warnings", "\n");
        s_print_list (reply, "changed", ": holds\n");
        s_print_list (reply, "restart", ": holds after a restart of argosd\n");
        if (!json_array_size (json_object_get (reply, "changed")) &&
            !json_array_size (json_object_get (reply, "restart")))
            puts ("nothing has changed");
    }
    else
        argos_cli_error (
            self, CLI_FAILED, "invalid", "the old settings stay: %s", reason ? reason : "");
    json_decref (reply);
    return applied ? CLI_OK : CLI_FAILED;
}

int
argos_command_config (argos_cli_t *self, int argc, char **argv)
{
    if (argc == 1 && strcmp (argv[0], "reload") == 0)
        return s_reload (self);
    return argos_cli_become (self, argc + 1, argv - 1); //  argv[-1] is the word config
}
