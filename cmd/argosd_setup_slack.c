//  argosd_setup_slack - tries the two tokens of an app of Slack, and says what is in the way.
//  Limits: two calls.

#include "argos_slack.h"
#include "argosd_setup.h"

#include <stdio.h>
#include <string.h>

//  Calls a method with that token: the word for what is wrong, "" = nothing
static const char *
s_call (const argosd_setup_t *setup, const char *method, const char *token,
    argosd_setup_answer_t *ret_answer)
{
    char url[700], authorization[600];
    const char *base = setup->base_url ? setup->base_url : ARGOS_SLACK_URL;
    size_t size = strlen (base);
    while (size > 0 && base[size - 1] == '/')
        size--;
    snprintf (url, sizeof url, "%.*s/%s", (int) size, base, method);
    snprintf (authorization, sizeof authorization, "Authorization: Bearer %.500s", token);
    const char *headers[] = { authorization, NULL };
    argosd_setup_call (url, headers, token, false, ret_answer);
    explicit_bzero (authorization, sizeof authorization);
    const char *error = json_string_value (json_object_get (ret_answer->body, "error"));
    return error ? error : "";
}

static int
s_failed (
    argos_cli_t *self, const argosd_setup_answer_t *answer, const char *which, const char *error)
{
    static const char *const words[][2] = {
        { "missing_scope", "it lacks a scope: see the manifest in docs/platforms/slack.md" },
        { "not_allowed_token_type", "it is the other kind of token" },
        { "token_revoked", "it was revoked: install the app anew" },
        { "account_inactive", "the app was removed from its workspace: install it anew" },
        { "invalid_auth", "Slack does not know it: it was mistyped, or made anew since" },
    };
    if (!answer->status)
        return argos_cli_error (self, CLI_FAILED, "gone",
            "Slack can't be reached: %s (is there a network, a proxy?)", answer->error);
    if (!*error)
        return argos_cli_error (self, CLI_FAILED, "gone",
            "what answers there (status %d) is not the API of Slack", answer->status);
    const char *why = error;
    for (size_t at = 0; at < sizeof words / sizeof words[0]; at++)
        if (strcmp (words[at][0], error) == 0)
            why = words[at][1];
    return argos_cli_error (self, CLI_FAILED, "denied", "the token of the %s: %s", which, why);
}

int
argosd_setup_slack (argos_cli_t *self, argosd_setup_t *setup)
{
    argosd_setup_answer_t answer;
    if (strncmp (setup->token, "xoxb-", 5) != 0 || strncmp (setup->second, "xapp-", 5) != 0)
        return argos_cli_error (self, CLI_FAILED, "invalid",
            "the token of the bot begins with xoxb-, that of the app with xapp-");
    const char *error = s_call (setup, "auth.test", setup->token, &answer);
    const char *name = json_string_value (json_object_get (answer.body, "user"));
    int rc = CLI_OK;
    if (name)
        snprintf (setup->user_name, sizeof setup->user_name, "%s", name);
    else
        rc = s_failed (self, &answer, "bot", error);
    json_decref (answer.body);
    if (rc != CLI_OK)
        return rc;
    error = s_call (setup, "apps.connections.open", setup->second, &answer);
    if (!json_string_value (json_object_get (answer.body, "url")))
        rc = s_failed (self, &answer, "app", error);
    json_decref (answer.body);
    return rc;
}
