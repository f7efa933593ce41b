//  argosd_provider - `argos provider test`, from here: one short question, by the code that the
//  agent uses.
//
//  What only the daemon can answer is left to it (CLI_ELSEWHERE): the rehearsal provider lives
//  there, and so may a key that this environment does not have.

#include "argos_config.h"
#include "argos_provider_probe.h"
#include "argos_say_provider.h"
#include "argosd_host.h"

#include <curl/curl.h>
#include <string.h>

static int
s_probe (argos_cli_t *self, const argos_config_t *config)
{
    static const char *const kinds[] = { "openai", "anthropic", "rehearsal" };
    argos_provider_settings_t settings;
    argos_provider_probe_t result;
    argos_provider_settings_init (&settings, &config->provider);
    curl_global_init (CURL_GLOBAL_DEFAULT);
    argos_provider_probe (&settings, TEST_TEXT, TEST_MS, &result);
    curl_global_cleanup ();
    explicit_bzero (settings.key, sizeof settings.key);
    json_t *agent = json_pack ("{s:s,s:s,s:b,s:s}", "kind", kinds[settings.kind], "model",
        settings.model, "rehearsal", 0, "base_url", settings.base_url);
    argos_say_provider (self, agent, result.ok, result.text, result.total_ms);
    json_decref (agent);
    return result.ok ? CLI_OK : CLI_FAILED;
}

int
argosd_command_provider (argos_cli_t *self, int argc, char **argv)
{
    char reason[512] = "";
    if (argc != 1 || strcmp (argv[0], "test") != 0)
        return argos_cli_usage (self, "provider knows one word: test");
    argos_config_t *config = argos_config_load (self->home, NULL, NULL, reason, sizeof reason);
    if (!config)
        return argos_cli_error (self, CLI_FAILED, "invalid", "%s", reason);
    bool known = config->provider.kind != ARGOS_PROVIDER_REHEARSAL &&
                 (!*config->provider.problem || !argos_cli_is_listening (self));
    int rc = known ? s_probe (self, config) : CLI_ELSEWHERE;
    argos_config_destroy (&config);
    return rc;
}
