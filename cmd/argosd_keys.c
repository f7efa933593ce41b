//  argosd_keys - `argos keys`: who may connect, and as what. Files only; a daemon that runs sees
//  them.

#include "argosd_host.h"

#include "argos_access.h"
#include "argos_config.h"
#include "argos_http_key.h"
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

//  The words behind `new`

typedef struct {
    argos_keys_new_t key; //  For a peer
    bool http;            //  For the HTTP interface instead
    const char *scopes;   //  Of that, NULL = none given
    const char *owner;    //  The same
} s_wanted_t;

//  Takes the options out of the words behind `new`. Returns NULL, or what is wrong.

static const char *
s_read_new (s_wanted_t *wanted, int argc, char **argv)
{
    const struct {
        const char *name;    //  Option
        const char **target; //  Its place
    } options[] = { { "--role", &wanted->key.role }, { "--platform", &wanted->key.platform },
        { "--account", &wanted->key.account }, { "--scope", &wanted->scopes },
        { "--owner", &wanted->owner } };
    const size_t count = sizeof options / sizeof *options;
    for (int i = 0; i < argc; i++) {
        size_t option = 0;
        while (option < count && strcmp (argv[i], options[option].name) != 0)
            option++;
        if (option < count) {
            if (++i == argc)
                return "an option without its value";
            *options[option].target = argv[i];
        }
        else if (strcmp (argv[i], "--http") == 0)
            wanted->http = true;
        else if (*argv[i] == '-' || wanted->key.name)
            return "one name, --role, --platform and --account, or --http, --scope and --owner, "
                   "are all that it takes";
        else
            wanted->key.name = argv[i];
    }
    if (wanted->http)
        return wanted->key.name && wanted->scopes && !wanted->key.role
                   ? NULL
                   : "a name and --scope are needed with --http, and no --role";
    return wanted->key.name && wanted->key.role && !wanted->scopes && !wanted->owner
               ? NULL
               : "a name and --role are needed, or --http";
}

//  A key of the HTTP interface is shown once and kept nowhere.

static int
s_new_http (argos_cli_t *self, const s_wanted_t *wanted)
{
    char token[ARGOS_HTTP_TOKEN_SIZE];
    const char *name = wanted->key.name;
    if (argos_http_key_make (self->home, name, wanted->owner,
            argos_http_key_scopes (wanted->scopes), wanted->key.now, token, self->reason,
            sizeof self->reason) != 0)
        return argos_cli_fail (self, "keys new", ARGOS_INVALID);
    if (self->json)
        argos_cli_print (json_pack ("{s:s,s:s,s:s,s:s}", "name", name, "owner",
            wanted->owner ? wanted->owner : name, "scopes", wanted->scopes, "key", token));
    else
        printf ("%s\nThis is shown once. Use it as: Authorization: Bearer KEY\n", token);
    memset (token, 0, sizeof token);
    return CLI_OK;
}

static int
s_new (argos_cli_t *self, int argc, char **argv)
{
    char path[PATH_MAX];
    s_wanted_t wanted = { .key = { .now = s_wall_ms () } };
    const char *wrong = s_read_new (&wanted, argc, argv);
    if (wrong)
        return argos_cli_usage (self, "keys new: %s", wrong);
    if (wanted.http)
        return s_new_http (self, &wanted);
    if (!s_is_role (self, wanted.key.role) ||
        argos_keys_make (
            self->home, &wanted.key, path, sizeof path, self->reason, sizeof self->reason) != 0)
        return argos_cli_fail (self, "keys new", ARGOS_INVALID);
    if (self->json)
        argos_cli_print (json_pack (
            "{s:s,s:s,s:s}", "name", wanted.key.name, "role", wanted.key.role, "file", path));
    else
        printf ("%s\nCarry this file to where %s runs; whoever has it is %s.\n", path,
            wanted.key.name, wanted.key.name);
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

//  Those of the HTTP interface; http is stolen.

static void
s_list_http (json_t *http)
{
    size_t index;
    json_t *key;
    if (json_array_size (http))
        puts ("HTTP KEY                 OWNER        SCOPES                   MADE"
              "                STATE");
    json_array_foreach (http, index, key) {
        char scopes[64] = "";
        json_t *word;
        size_t i;
        json_array_foreach (json_object_get (key, "scopes"), i, word) {
            size_t used = strlen (scopes);
            snprintf (scopes + used, sizeof scopes - used, "%s%s", used ? "," : "",
                json_string_value (word));
        }
        printf ("%-24s %-12s %-24s %-19s %s\n", argos_cli_text (key, "name"),
            argos_cli_text (key, "owner"), scopes,
            argos_cli_time (json_integer_value (json_object_get (key, "created_at"))),
            json_object_get (key, "revoked_at") ? "revoked" : "good");
    }
    json_decref (http);
}

static int
s_list (argos_cli_t *self)
{
    json_t *list = argos_keys_list (self->home, self->reason, sizeof self->reason), *key;
    json_t *http =
        list ? argos_http_key_list (self->home, self->reason, sizeof self->reason) : NULL;
    size_t index;
    if (!http) {
        json_decref (list);
        return argos_cli_fail (self, "keys list", ARGOS_INTERNAL);
    }
    if (self->json) {
        argos_cli_print (json_pack ("{s:o,s:o}", "keys", list, "http", http));
        return CLI_OK;
    }
    s_list_http (http);
    if (json_array_size (list) == 0)
        puts ("no keys of peers");
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
s_revoke (argos_cli_t *self, const char *name, bool http)
{
    int rc = http ? argos_http_key_revoke (
                        self->home, name, s_wall_ms (), self->reason, sizeof self->reason)
                  : argos_keys_revoke (
                        self->home, name, s_wall_ms (), self->reason, sizeof self->reason);
    if (rc != 0)
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
    bool http = argc == 3 && strcmp (argv[2], "--http") == 0;
    if (strcmp (verb, "revoke") == 0 && (argc == 2 || http) && *argv[1] != '-')
        return s_revoke (self, argv[1], http);
    return argos_cli_usage (self,
        "keys list, keys revoke NAME [--http], keys new NAME --role ROLE [--platform P --account "
        "A], or keys new NAME --http --scope runs,chat,read,admin [--owner OWNER]");
}
