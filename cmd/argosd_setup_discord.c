//  argosd_setup_discord - tries the token of a bot of Discord, and says what is in the way. Limits:
//  two calls.

#include "argos_discord.h"
#include "argosd_setup.h"

#include <stdio.h>
#include <string.h>

#define PERMISSIONS "326417525824" //  See, write, threads, files, links, history, reactions

static void
s_call (const argosd_setup_t *setup, const char *path, argosd_setup_answer_t *ret_answer)
{
    char url[700], authorization[600];
    const char *base = setup->base_url ? setup->base_url : ARGOS_DISCORD_URL;
    size_t size = strlen (base);
    while (size > 0 && base[size - 1] == '/')
        size--;
    snprintf (url, sizeof url, "%.*s%s", (int) size, base, path);
    snprintf (authorization, sizeof authorization, "Authorization: Bot %.500s", setup->token);
    const char *headers[] = { authorization, "User-Agent: DiscordBot (https://argos.invalid, 0.1)",
        NULL };
    argosd_setup_call (url, headers, setup->token, true, ret_answer);
    explicit_bzero (authorization, sizeof authorization);
}

//  Whether it may read messages, and where it is let into a server
static int
s_check_application (argos_cli_t *self, const argosd_setup_t *setup)
{
    argosd_setup_answer_t answer;
    int rc = CLI_OK;
    s_call (setup, "/applications/@me", &answer);
    const char *id = json_string_value (json_object_get (answer.body, "id"));
    json_int_t flags = json_integer_value (json_object_get (answer.body, "flags"));
    if (answer.status == 200 && id && !(flags & (3 << 18)))
        rc = argos_cli_error (self, CLI_FAILED, "denied",
            "the bot may not read messages: turn on Message Content Intent on the page Bot of the "
            "application, then set it up again");
    else if (id && !self->json)
        fprintf (stderr,
            "Let it into a server: "
            "https://discord.com/oauth2/"
            "authorize?client_id=%s&scope=bot+applications.commands&permissions=" PERMISSIONS "\n",
            id);
    json_decref (answer.body);
    return rc;
}

int
argosd_setup_discord (argos_cli_t *self, argosd_setup_t *setup)
{
    argosd_setup_answer_t answer;
    size_t length = strlen (setup->token);
    if (length < 20 || length > 500 ||
        strspn (setup->token,
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-") != length)
        return argos_cli_error (self, CLI_FAILED, "invalid",
            "that is no token of a bot: three parts with dots between them");
    s_call (setup, "/users/@me", &answer);
    const char *name = json_string_value (json_object_get (answer.body, "username"));
    int rc = CLI_OK;
    if (!answer.status)
        rc = argos_cli_error (self, CLI_FAILED, "gone",
            "Discord can't be reached: %s (is there a network, a proxy?)", answer.error);
    else if (answer.status == 401)
        rc = argos_cli_error (self, CLI_FAILED, "denied",
            "Discord does not know this token, which was mistyped, or reset since (page Bot)");
    else if (!name)
        rc = argos_cli_error (self, CLI_FAILED, "gone",
            "what answers there (status %d) is not the API of Discord", answer.status);
    else {
        snprintf (setup->user_name, sizeof setup->user_name, "%s", name);
        rc = s_check_application (self, setup);
    }
    json_decref (answer.body);
    return rc;
}
