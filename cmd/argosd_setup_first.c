//  argosd_setup_first - `argos setup`: the first settings of a home, by asking or by options.
//
//  It makes the home with its commented argos.yaml when there is none, tries the provider with one
//  short turn, and only then writes: the key to HOME/secrets/provider, which nobody else can read,
//  the rest to local.yaml. Then platforms, by argosd_setup_platform, each with its home channel.
//  With --non-interactive nothing is asked: options, else the key that the environment has, else
//  the rehearsal provider. Limits: a key of ARGOSD_SETUP_TEXT bytes.

#include "argos_provider_probe.h"
#include "argos_say_provider.h"
#include "argosd_home.h"
#include "argosd_setup.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECRET "provider" //  Its name in HOME/secrets
#define REHEARSAL "rehearsal"

typedef struct {
    argos_cli_t *cli;                     //  How to print; the home
    bool silent;                          //  --non-interactive
    bool unchecked;                       //  --no-check
    const char *provider;                 //  Name, NULL = not chosen yet
    const char *base_url;                 //  Of a provider elsewhere; NULL = at its usual place
    const char *model;                    //  NULL = its usual one
    const char *key_file;                 //  Where the key is, - = stdin; NULL = not in a file
    const argos_config_vendor_t *vendor;  //  Who it is, NULL = rehearsal
    char key[ARGOSD_SETUP_TEXT + 1];      //  Its key
    char words[2][ARGOSD_SETUP_TEXT + 1]; //  What was typed for base_url and model
} first_t;

static const argos_config_vendor_t *
s_named (const char *name)
{
    const argos_config_vendor_t *vendor;
    for (size_t i = 0; (vendor = argos_config_vendor (i)); i++)
        if (strcmp (vendor->name, name) == 0)
            return vendor;
    return NULL;
}

//  The one whose key the environment has, NULL = none

static const argos_config_vendor_t *
s_found (void)
{
    const argos_config_vendor_t *vendor;
    for (size_t i = 0; (vendor = argos_config_vendor (i)); i++) {
        const char *key = getenv (vendor->variable);
        if (key && *key)
            return vendor;
    }
    return NULL;
}

//  ------------------------------------------------------------------------------------------------
//  What is wanted

static bool
s_read_options (first_t *self, int argc, char **argv)
{
    const struct {
        const char *name, **target; //  An option with a value
    } options[] = { { "--provider", &self->provider }, { "--base-url", &self->base_url },
        { "--model", &self->model }, { "--key-file", &self->key_file } };
    const size_t count = sizeof options / sizeof *options;
    for (int i = 0; i < argc; i++) {
        size_t option = 0;
        while (option < count && strcmp (argv[i], options[option].name) != 0)
            option++;
        if (option < count && i + 1 < argc)
            *options[option].target = argv[++i];
        else if (strcmp (argv[i], "--non-interactive") == 0)
            self->silent = true;
        else if (strcmp (argv[i], "--no-check") == 0)
            self->unchecked = true;
        else
            return false;
    }
    return !self->provider || strcmp (self->provider, REHEARSAL) == 0 || s_named (self->provider);
}

//  A line that may be empty; NULL then.

static const char *
s_ask (const char *prompt, char text[static ARGOSD_SETUP_TEXT + 1])
{
    return argosd_setup_read (prompt, false, text) && *text ? text : NULL;
}

static int
s_choose (first_t *self)
{
    char prompt[256], answer[ARGOSD_SETUP_TEXT + 1];
    const argos_config_vendor_t *found = s_found ();
    const char *usual = found ? found->name : REHEARSAL;
    if (!self->provider && !self->silent) {
        snprintf (prompt, sizeof prompt,
            "Who answers: openai (or any server that speaks its protocol), openrouter, anthropic, "
            "or\nrehearsal (no model, it echoes)? [%s] ",
            usual);
        const char *said = s_ask (prompt, answer);
        while (said && strcmp (said, REHEARSAL) != 0 && !s_named (said)) {
            fprintf (stderr, "there is no provider %.60s\n", said);
            said = s_ask (prompt, answer);
        }
        self->vendor = s_named (said ? said : usual);
    }
    else
        self->vendor = s_named (self->provider ? self->provider : usual);
    if (!self->vendor || self->silent)
        return CLI_OK;
    snprintf (prompt, sizeof prompt, "Its address [%s] ", self->vendor->base_url);
    if (!self->base_url)
        self->base_url = s_ask (prompt, self->words[0]);
    snprintf (prompt, sizeof prompt, "Model [%s] ", self->vendor->model);
    if (!self->model)
        self->model = s_ask (prompt, self->words[1]);
    return CLI_OK;
}

static int
s_read_key (first_t *self)
{
    const char *variable = self->vendor->variable, *present = getenv (variable);
    FILE *file = NULL;
    if (self->key_file) {
        file = strcmp (self->key_file, "-") == 0 ? stdin : fopen (self->key_file, "re");
        if (!file || !fgets (self->key, sizeof self->key, file))
            *self->key = 0;
        if (file && file != stdin)
            fclose (file);
    }
    else if (present && *present)
        snprintf (self->key, sizeof self->key, "%s", present);
    else if (!self->silent)
        argosd_setup_read ("Its key (it is not shown): ", true, self->key);
    self->key[strcspn (self->key, " \t\r\n")] = 0;
    if (*self->key)
        return CLI_OK;
    return argos_cli_error (self->cli, CLI_FAILED, "invalid",
        "there is no key; set %s, or name the file that has it with --key-file", variable);
}

//  ------------------------------------------------------------------------------------------------
//  Trying it, and writing it down

static int
s_check (const first_t *self)
{
    argos_provider_settings_t settings;
    argos_provider_probe_t result;
    argos_config_provider_t provider = { .kind = self->vendor->kind,
        .configured = true,
        .base_url = self->base_url ? self->base_url : self->vendor->base_url,
        .model = self->model ? self->model : self->vendor->model,
        .key = self->key,
        .problem = "" };
    if (!self->cli->json)
        fprintf (stderr, "asking %s ...\n", provider.base_url);
    argos_provider_settings_init (&settings, &provider);
    argos_provider_probe (&settings, TEST_TEXT, TEST_MS, &result);
    explicit_bzero (settings.key, sizeof settings.key);
    return result.ok ? CLI_OK
                     : argos_cli_error (
                           self->cli, CLI_FAILED, "gone", "nothing was written: %s", result.text);
}

static int
s_write (const first_t *self)
{
    static const char *const kinds[] = { "openai", "anthropic", REHEARSAL };
    argos_cli_t *cli = self->cli;
    json_t *block =
        json_pack ("{s:s}", "kind", self->vendor ? kinds[self->vendor->kind] : REHEARSAL);
    if (self->vendor) {
        json_object_set_new (block, "base_url",
            json_string (self->base_url ? self->base_url : self->vendor->base_url));
        json_object_set_new (
            block, "model", json_string (self->model ? self->model : self->vendor->model));
        json_object_set_new (block, "key", json_string ("file:secrets/" SECRET));
        if (argosd_setup_secret (cli, SECRET, self->key) != 0) {
            json_decref (block);
            return argos_cli_error (cli, CLI_FAILED, "internal", "%s/secrets/" SECRET ": %s",
                cli->home, strerrordesc_np (errno));
        }
    }
    if (argos_config_set (cli->home, "provider", block, cli->reason, sizeof cli->reason) != 0)
        return argos_cli_error (cli, CLI_FAILED, "invalid", "%s", cli->reason);
    return CLI_OK;
}

//  ------------------------------------------------------------------------------------------------
//  Platforms

static int
s_platforms (first_t *self)
{
    char platform[ARGOSD_SETUP_TEXT + 1], chat[ARGOSD_SETUP_TEXT + 1], key[96];
    argos_cli_t *cli = self->cli;
    while (s_ask ("A chat platform: telegram, discord or slack? [none] ", platform) &&
           strcmp (platform, "none") != 0) {
        int rc = argosd_setup_platform (cli, platform);
        if (rc == CLI_USAGE)
            fprintf (stderr, "there is no platform %.60s\n", platform);
        if (rc != CLI_OK)
            continue; //  It has said why; once more, or none
        if (!s_ask ("The id of its home channel, if you know it; else say /sethome there: ", chat))
            continue;
        snprintf (key, sizeof key, "platforms.%.32s.home_channel", platform);
        if (argos_config_set (cli->home, key, json_pack ("{s:s}", "chat_id", chat), cli->reason,
                sizeof cli->reason) != 0)
            argos_cli_error (cli, CLI_FAILED, "invalid", "%s", cli->reason);
    }
    return CLI_OK;
}

//  The home, made by who would make it at the first start. One in use is there.

static int
s_open_home (argos_cli_t *cli)
{
    static argosd_home_t home;
    if (argos_cli_is_listening (cli))
        return CLI_OK;
    if (argosd_home_open (
            &home, cli->home, argos_config_template (), cli->reason, sizeof cli->reason) != 0)
        return argos_cli_error (cli, CLI_FAILED, "conflict", "%s", cli->reason);
    snprintf (cli->home, sizeof cli->home, "%s", home.path);
    argosd_home_close (&home);
    return CLI_OK;
}

static void
s_report (const first_t *self, bool checked)
{
    argos_cli_t *cli = self->cli;
    bool restart = argos_cli_is_listening (cli);
    const char *name = self->vendor ? self->vendor->name : REHEARSAL;
    const char *model = !self->vendor ? REHEARSAL : self->model ? self->model : self->vendor->model;
    if (cli->json)
        argos_cli_print (json_pack ("{s:s,s:s,s:s,s:b,s:b}", "home", cli->home, "provider", name,
            "model", model, "checked", checked, "restart", restart));
    else
        printf ("%s is set up: %s, model %s%s.\n%s, then: argos chat\n", cli->home, name, model,
            checked ? ", which has answered" : "", restart ? "Restart argosd" : "Start argosd");
}

int
argosd_setup_first (argos_cli_t *cli, int argc, char **argv)
{
    static first_t self;
    self.cli = cli;
    if (!s_read_options (&self, argc, argv))
        return argos_cli_usage (cli,
            "setup [--non-interactive] [--provider openai|openrouter|anthropic|rehearsal] "
            "[--base-url URL] [--model MODEL] [--key-file FILE|-] [--no-check]");
    int rc = s_choose (&self);
    if (rc == CLI_OK && self.vendor)
        rc = s_read_key (&self);
    bool check = self.vendor && !self.unchecked;
    if (rc == CLI_OK && check)
        rc = s_check (&self);
    if (rc == CLI_OK)
        rc = s_open_home (cli);
    if (rc == CLI_OK)
        rc = s_write (&self);
    explicit_bzero (self.key, sizeof self.key);
    if (rc == CLI_OK && !self.silent)
        rc = s_platforms (&self);
    if (rc == CLI_OK)
        s_report (&self, check);
    return rc;
}
