//  argosd_keys - `argos keys`: who may connect, and as what. Files only; a daemon that runs sees
//  them.

#include "argosd_host.h"

#include "argos_access.h"
#include "argos_config.h"
#include "argos_keys.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static int64_t
s_wall_ms (void)
{
    struct timespec now;
    clock_gettime (CLOCK_REALTIME, &now);
    return (int64_t) now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

//  Whether the daemon of this home will know that role. Returns false with a reason.

static bool
s_is_role (argos_cli_t *self, const char *role)
{
    char wrong[ARGOS_REASON_MAX];
    bool found = false;
    argos_config_t *config =
        argos_config_load (self->home, NULL, NULL, self->reason, sizeof self->reason);
    if (!config)
        return false;
    json_t *roles = json_loads (config->roles, 0, NULL);
    argos_access_t *access = argos_access_new (roles, config->ipc_roles, wrong);
    found = access && argos_access_role (access, role);
    if (!found)
        snprintf (self->reason, sizeof self->reason,
            "there is no role %.64s; core, adapter, worker, tool, client, observer and operator "
            "are built in, `roles:` of the configuration adds others",
            role);
    argos_access_destroy (&access);
    json_decref (roles);
    argos_config_destroy (&config);
    return found;
}

//  Takes --role, --platform and --account out of the words behind `new`. Returns NULL, or what is
//  wrong.

static const char *
s_read_new (argos_keys_new_t *wanted, int argc, char **argv)
{
    const struct {
        const char *name;    //  Option
        const char **target; //  Its place
    } options[] = { { "--role", &wanted->role }, { "--platform", &wanted->platform },
        { "--account", &wanted->account } };
    for (int i = 0; i < argc; i++) {
        size_t option = 0;
        while (option < 3 && strcmp (argv[i], options[option].name) != 0)
            option++;
        if (option < 3) {
            if (++i == argc)
                return "an option without its value";
            *options[option].target = argv[i];
        }
        else if (*argv[i] == '-' || wanted->name)
            return "one name, --role, --platform and --account are all that it takes";
        else
            wanted->name = argv[i];
    }
    return wanted->name && wanted->role ? NULL : "a name and --role are needed";
}

static int
s_new (argos_cli_t *self, int argc, char **argv)
{
    char path[PATH_MAX];
    argos_keys_new_t wanted = { .now = s_wall_ms () };
    const char *wrong = s_read_new (&wanted, argc, argv);
    if (wrong)
        return argos_cli_usage (self, "keys new: %s", wrong);
    if (!s_is_role (self, wanted.role) || argos_keys_make (self->home, &wanted, path, sizeof path,
                                              self->reason, sizeof self->reason) != 0)
        return argos_cli_fail (self, "keys new", ARGOS_INVALID);
    if (self->json)
        argos_cli_print (
            json_pack ("{s:s,s:s,s:s}", "name", wanted.name, "role", wanted.role, "file", path));
    else
        printf ("%s\nCarry this file to where %s runs; whoever has it is %s.\n", path, wanted.name,
            wanted.name);
    return CLI_OK;
}

static const char *
s_scope (const json_t *key)
{
    static char text[160];
    if (!json_object_get (key, "platform"))
        return "-";
    snprintf (text, sizeof text, "%s %s", argos_cli_text (key, "platform"),
        json_object_get (key, "account") ? argos_cli_text (key, "account") : "");
    return text;
}

static int
s_list (argos_cli_t *self)
{
    json_t *list = argos_keys_list (self->home, self->reason, sizeof self->reason), *key;
    size_t index;
    if (!list)
        return argos_cli_fail (self, "keys list", ARGOS_INTERNAL);
    if (self->json) {
        argos_cli_print (json_pack ("{s:o}", "keys", list));
        return CLI_OK;
    }
    if (json_array_size (list) == 0)
        puts ("no keys");
    else
        puts ("NAME                     ROLE         FOR                      MADE"
              "                STATE");
    json_array_foreach (list, index, key) {
        const json_t *revoked = json_object_get (key, "revoked_at");
        printf ("%-24s %-12s %-24s %-19s %s\n", argos_cli_text (key, "name"),
            argos_cli_text (key, "role"), s_scope (key),
            argos_cli_time (json_integer_value (json_object_get (key, "created_at"))),
            json_object_get (key, "problem") ? argos_cli_text (key, "problem")
            : revoked                        ? "revoked"
                                             : "good");
    }
    json_decref (list);
    return CLI_OK;
}

static int
s_revoke (argos_cli_t *self, const char *name)
{
    if (argos_keys_revoke (self->home, name, s_wall_ms (), self->reason, sizeof self->reason) != 0)
        return argos_cli_fail (self, "keys revoke", ARGOS_NOT_FOUND);
    if (self->json)
        argos_cli_print (json_pack ("{s:s}", "revoked", name));
    else
        printf ("%s is revoked\n", name);
    return CLI_OK;
}

int
argosd_command_keys (argos_cli_t *self, int argc, char **argv)
{
    const char *verb = argc > 0 ? argv[0] : "list";
    if (strcmp (verb, "new") == 0)
        return s_new (self, argc - 1, argv + 1);
    if (strcmp (verb, "list") == 0 && argc <= 1)
        return s_list (self);
    if (strcmp (verb, "revoke") == 0 && argc == 2 && *argv[1] != '-')
        return s_revoke (self, argv[1]);
    return argos_cli_usage (self,
        "keys list, keys revoke NAME, or keys new NAME --role ROLE [--platform P --account A]");
}
