//  argosd_setup_telegram - tries the token of a bot, and says what is in the way. Limits: two
//  calls.

#include "argos_telegram.h"
#include "argosd_setup.h"

#include <stdio.h>
#include <string.h>

static void
s_call (const argosd_setup_t *setup, const char *method, argosd_setup_answer_t *ret_answer)
{
    char url[1024];
    const char *base = setup->base_url ? setup->base_url : ARGOS_TELEGRAM_URL;
    size_t size = strlen (base);
    while (size > 0 && base[size - 1] == '/')
        size--;
    snprintf (url, sizeof url, "%.*s/bot%.300s/%s", (int) size, base, setup->token, method);
    argosd_setup_call (url, NULL, setup->token, false, ret_answer);
    explicit_bzero (url, sizeof url);
}

//  What is no mistake, but may surprise

static void
s_hint (argos_cli_t *self, const argosd_setup_t *setup, const json_t *me)
{
    argosd_setup_answer_t answer;
    if (self->json)
        return;
    if (!json_is_true (json_object_get (me, "can_read_all_group_messages")))
        fputs (
            "In groups the bot hears only commands, replies to it and mentions (its privacy mode; "
            "@BotFather, /setprivacy).\n",
            stderr);
    s_call (setup, "getWebhookInfo", &answer);
    const char *url =
        json_string_value (json_object_get (json_object_get (answer.body, "result"), "url"));
    if (url && *url)
        fputs ("Its messages go to a webhook of another program, which argosd will take off.\n",
            stderr);
    json_decref (answer.body);
}

int
argosd_setup_telegram (argos_cli_t *self, argosd_setup_t *setup)
{
    const char *token = setup->token;
    size_t digits = strspn (token, "0123456789");
    argosd_setup_answer_t answer;
    if (!digits || token[digits] != ':' || strlen (token + digits + 1) < 3 ||
        strspn (token + digits + 1,
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") !=
            strlen (token + digits + 1))
        return argos_cli_error (self, CLI_FAILED, "invalid",
            "that is no token of a bot: digits, a colon, and letters behind it");
    s_call (setup, "getMe", &answer);
    const json_t *me = json_object_get (answer.body, "result");
    const char *name = json_string_value (json_object_get (me, "username"));
    int rc = CLI_OK;
    if (!answer.status)
        rc = argos_cli_error (self, CLI_FAILED, "gone",
            "Telegram can't be reached: %s (is there a network, a proxy?)", answer.error);
    else if (answer.status == 401 || answer.status == 404)
        rc = argos_cli_error (self, CLI_FAILED, "denied",
            "Telegram does not know this token, which was mistyped, or revoked (@BotFather, "
            "/token)");
    else if (!name)
        rc = argos_cli_error (self, CLI_FAILED, "gone",
            "what answers there (status %d) is not the Bot API", answer.status);
    else {
        snprintf (setup->user_name, sizeof setup->user_name, "%s", name);
        s_hint (self, setup, me);
    }
    json_decref (answer.body);
    return rc;
}
