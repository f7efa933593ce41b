//  argosd_config - `argos config show|get|set|unset|check`: the settings of the home, where each
//  comes from, and the ones that a program may write. Files and environment only; `argos config
//  reload` is what makes a running daemon read them.
//
//  Invariant: a secret is never printed: what looks like one by its name is hidden, unless it is a
//  reference (env:, file:).

#include "argosd_host.h"

#include "argos_config.h"
#include "argos_setting.h"
#include "argos_yaml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_MAX_BYTES 512 //  Bytes of a path
#define HIDDEN "\"***\""   //  What is shown of a secret

typedef struct {
    argos_cli_t *cli;             //  How to print
    const argos_config_t *config; //  Whose
    const char *prefix;           //  Only what begins with it; "" = all
    json_t *json;                 //  Where it is collected with --json
    size_t count;                 //  Shown so far
} show_t;

static void
s_warn (void *arg, const char *sentence)
{
    (void) arg;
    fprintf (stderr, "argos: warning: %s\n", sentence);
}

static argos_config_t *
s_load (argos_cli_t *self, argos_config_warn_fn *warn)
{
    return argos_config_load (self->home, warn, NULL, self->reason, sizeof self->reason);
}

//  Whether the value of this key is to be hidden.

static bool
s_is_secret (const char *path, const json_t *value)
{
    static const char *const words[] = { "token", "secret", "password", "key" };
    const char *last = strrchr (path, '.'), *text = json_string_value (value);
    last = last ? last + 1 : path;
    if (!text || strncmp (text, "env:", 4) == 0 || strncmp (text, "file:", 5) == 0)
        return false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcasestr (last, words[i]))
            return true;
    return false;
}

//  The value as JSON text, new.

static char *
s_text (const char *path, const json_t *value)
{
    char *text = s_is_secret (path, value) ? strdup (HIDDEN)
                                           : json_dumps (value, JSON_ENCODE_ANY | JSON_COMPACT);
    if (!text)
        abort ();
    return text;
}

static bool
s_is_below (const char *path, const char *prefix)
{
    size_t size = strlen (prefix);
    return !size || (strncmp (path, prefix, size) == 0 && (!path[size] || path[size] == '.'));
}

static void
s_show_leaf (show_t *self, const char *path, const json_t *value)
{
    if (!s_is_below (path, self->prefix))
        return;
    char *text = s_text (path, value);
    const char *origin = argos_config_origin (self->config, path);
    self->count++;
    if (self->json)
        json_object_set_new (self->json, path,
            json_pack (
                "{s:o, s:s}", "value", json_loads (text, JSON_DECODE_ANY, NULL), "from", origin));
    else {
        argos_cli_write (path, strlen (path));
        fputs (": ", stdout);
        argos_cli_write (text, strlen (text));
        printf ("  # %s\n", origin);
    }
    free (text);
}

//  NOLINTBEGIN(misc-no-recursion): as deep as YAML may be

static void
s_show_all (show_t *self, json_t *object, const char *path)
{
    const char *name;
    json_t *value;
    json_object_foreach (object, name, value) {
        char inner[PATH_MAX_BYTES];
        snprintf (inner, sizeof inner, "%.380s%s%.128s", path, *path ? "." : "", name);
        if (json_object_size (value))
            s_show_all (self, value, inner);
        else
            s_show_leaf (self, inner, value);
    }
}

//  NOLINTEND(misc-no-recursion)

static int
s_show (argos_cli_t *self, int argc, char **argv)
{
    argos_config_t *config = s_load (self, s_warn);
    if (!config)
        return argos_cli_fail (self, "show", ARGOS_INVALID);
    show_t show = { self, config, argc ? argv[0] : "", self->json ? json_object () : NULL, 0 };
    json_t *all = json_deep_copy (config->settings);
    s_show_all (&show, all, "");
    json_decref (all);
    argos_config_destroy (&config);
    if (self->json)
        argos_cli_print (show.json);
    if (show.count)
        return CLI_OK;
    snprintf (self->reason, sizeof self->reason, "nothing is set there");
    return argos_cli_fail (self, show.prefix, ARGOS_NOT_FOUND);
}

static int
s_get (argos_cli_t *self, int argc, char **argv)
{
    (void) argc;
    argos_config_t *config = s_load (self, NULL);
    if (!config)
        return argos_cli_fail (self, "get", ARGOS_INVALID);
    const json_t *value = argos_setting_at (config->settings, argv[0]);
    char *text = value ? s_text (argv[0], value) : NULL;
    if (text && !self->json && json_is_string (value) && strcmp (text, HIDDEN) != 0)
        printf ("%s\n", json_string_value (value));
    else if (text)
        printf ("%s\n", text);
    free (text);
    argos_config_destroy (&config);
    if (text)
        return CLI_OK;
    snprintf (self->reason, sizeof self->reason, "it is not set, and has no default");
    return argos_cli_fail (self, argv[0], ARGOS_NOT_FOUND);
}

static int
s_check (argos_cli_t *self, int argc, char **argv)
{
    (void) argc;
    (void) argv;
    argos_config_t *config = s_load (self, s_warn);
    if (!config)
        return argos_cli_fail (self, "check", ARGOS_INVALID);
    if (*config->provider.problem)
        s_warn (NULL, config->provider.problem);
    if (self->json)
        argos_cli_print (json_pack ("{s:b}", "valid", 1));
    else
        puts ("the settings are valid");
    argos_config_destroy (&config);
    return CLI_OK;
}

//  What the new value means: who else has a say, and when it holds.

static void
s_say (argos_cli_t *self, const char *path, const json_t *before)
{
    argos_config_t *config = s_load (self, NULL);
    if (!config)
        return;
    json_t *changed = json_array (), *restart = json_array ();
    const char *origin = argos_config_origin (config, path);
    argos_config_diff (before, config->settings, changed, restart);
    bool late = json_array_size (restart) > 0, none = !late && !json_array_size (changed);
    if (self->json)
        argos_cli_print (json_pack ("{s:s, s:s, s:b, s:b}", "key", path, "from", origin, "changed",
            !none, "restart", late));
    else if (none)
        printf ("%s: nothing changes (%s)\n", path, origin);
    else
        printf ("%s: %s\n", path,
            late ? "holds after a restart of argosd" : "holds after `argos config reload`");
    json_decref (changed);
    json_decref (restart);
    argos_config_destroy (&config);
}

static int
s_write (argos_cli_t *self, const char *path, json_t *value, const char *text)
{
    char first[sizeof self->reason];
    argos_config_t *before = s_load (self, NULL);
    bool other = value && !json_is_string (value);
    int rc = argos_config_set (self->home, path, value, self->reason, sizeof self->reason);
    memcpy (first, self->reason, sizeof first);
    //  What looks like a number may be meant as a text
    if (rc != 0 && other)
        rc = argos_config_set (
            self->home, path, json_string (text), self->reason, sizeof self->reason);
    if (rc != 0)
        memcpy (self->reason, first, sizeof first);
    else
        s_say (self, path, before ? before->settings : NULL);
    argos_config_destroy (&before);
    return rc == 0 ? CLI_OK : argos_cli_fail (self, path, ARGOS_INVALID);
}

static int
s_set (argos_cli_t *self, int argc, char **argv)
{
    (void) argc;
    json_t *value = argos_yaml_load (
        "value", argv[1], strlen (argv[1]), NULL, self->reason, sizeof self->reason);
    if (!value || json_is_null (value)) {
        json_decref (value);
        value = json_string (argv[1]);
    }
    if (!value) {
        snprintf (self->reason, sizeof self->reason, "the value is not UTF-8");
        return argos_cli_fail (self, argv[0], ARGOS_INVALID);
    }
    return s_write (self, argv[0], value, argv[1]);
}

static int
s_unset (argos_cli_t *self, int argc, char **argv)
{
    (void) argc;
    return s_write (self, argv[0], NULL, "");
}

static const struct {
    const char *word;              //  Behind `config`
    int least, most;               //  Words behind it
    argos_cli_command_t *function; //  What it does
} verbs[] = {
    { "show", 0, 1, s_show },
    { "get", 1, 1, s_get },
    { "set", 2, 2, s_set },
    { "unset", 1, 1, s_unset },
    { "check", 0, 0, s_check },
};

int
argosd_command_config (argos_cli_t *self, int argc, char **argv)
{
    for (size_t i = 0; argc && i < sizeof verbs / sizeof *verbs; i++)
        if (strcmp (verbs[i].word, argv[0]) == 0 && argc - 1 >= verbs[i].least &&
            argc - 1 <= verbs[i].most)
            return verbs[i].function (self, argc - 1, argv + 1);
    return argos_cli_usage (
        self, "config show [KEY] | get KEY | set KEY VALUE | unset KEY | check | reload");
}
