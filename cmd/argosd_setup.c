//  argosd_setup - `argos setup PLATFORM`: asks for the token of an account, tries it with the
//  platform, and only then writes it down.
//
//  The token goes to HOME/secrets/<platform>.<account>, which nobody else can read, and a reference
//  to it into local.yaml. A row of the table per platform: what a person has to do there, and a
//  function that tries the token. Limits: one line of input, 30 s of patience with the platform.

#include "argosd_setup.h"

#include "argos_config.h"
#include "argos_http_client.h"
#include "argos_setting.h"
#include "argos_shell.h"

#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#define TOKEN_MAX ARGOSD_SETUP_TEXT
#define BASE_MAX 512  //  Bytes of an address, as the settings have it
#define WAIT_MS 30000 //  Patience with the platform

static const struct {
    const char *platform;   //  Its name
    const char *how;        //  What a person does there
    const char *what;       //  Prompt
    const char *second;     //  Prompt of its second secret, NULL = there is none
    argosd_setup_fn *check; //  Tries the token
    const char *then;       //  What is to be done afterwards
} platforms[] = {
    { "telegram",
        "Open a chat with @BotFather in Telegram, send it /newbot, and answer its two questions.\n"
        "It then shows a token such as 123456789:AAE... Nobody else may see it.\n",
        "Token of the bot: ", NULL, argosd_setup_telegram,
        "Write to the bot; it answers with a code, and `argos pairing approve telegram CODE` lets "
        "you in." },
    { "discord",
        "Open discord.com/developers/applications, make an application, and on its page Bot turn "
        "on\nMessage Content Intent and reset the token. Nobody else may see it.\n",
        "Token of the bot: ", NULL, argosd_setup_discord,
        "Write to the bot; it answers with a code, and `argos pairing approve discord CODE` lets "
        "you in." },
    { "slack",
        "Open api.slack.com/apps, make an app from the manifest in docs/platforms/slack.md, and "
        "install it.\nIt has two tokens: of the bot (Install App, xoxb-...) and of the app "
        "(Basic Information,\nApp-Level Tokens, with connections:write, xapp-...).\n",
        "Token of the bot: ", "Token of the app: ", argosd_setup_slack,
        "Write to the app; it answers with a code, and `argos pairing approve slack CODE` lets "
        "you in." },
};

#define PLATFORMS (sizeof platforms / sizeof *platforms)

//  ------------------------------------------------------------------------------------------------
//  Asking the platform

typedef struct {
    bool over;                  //  It has ended
    argosd_setup_answer_t *out; //  What it said
} wait_t;

static void
s_on_answer (void *arg, const argos_http_answer_t *answer)
{
    wait_t *wait = arg;
    wait->over = true;
    wait->out->status = answer->phase == ARGOS_HTTP_ANSWERED ? answer->status : 0;
    wait->out->body = json_loadb (answer->body, answer->size, 0, NULL);
    snprintf (wait->out->error, sizeof wait->out->error, "%s", answer->error);
}

void
argosd_setup_call (const char *url, const char *const *headers, const char *secret, bool get,
    argosd_setup_answer_t *ret_answer)
{
    argos_http_client_t *http = argos_http_client_new ();
    argos_http_request_t request = { .url = url,
        .headers = headers,
        .body = get ? NULL : "{}",
        .size = get ? 0 : 2,
        .secret = secret,
        .timeout_ms = WAIT_MS };
    wait_t wait = { .out = ret_answer };
    *ret_answer = (argosd_setup_answer_t){ 0 };
    snprintf (ret_answer->error, sizeof ret_answer->error, "the call can't be made");
    if (!http || !argos_http_client_call (http, &request, s_on_answer, &wait, argos_shell_now ()))
        wait.over = true;
    while (!wait.over) {
        struct pollfd fd = { .fd = argos_http_client_fd (http), .events = POLLIN };
        int64_t due_ms = argos_http_client_due (http), now = argos_shell_now ();
        poll (&fd, 1, due_ms < 0 ? 1000 : due_ms > now ? (int) (due_ms - now) : 0);
        argos_http_client_turn (http, argos_shell_now ());
    }
    argos_http_client_destroy (&http);
}

//  ------------------------------------------------------------------------------------------------
//  Asking the person

bool
argosd_setup_read (const char *prompt, bool secret, char text[static ARGOSD_SETUP_TEXT + 1])
{
    struct termios before, quiet;
    bool tty = isatty (STDIN_FILENO) && tcgetattr (STDIN_FILENO, &before) == 0;
    if (tty) {
        quiet = before;
        if (secret)
            quiet.c_lflag &= (tcflag_t) ~ECHO;
        fputs (prompt, stderr);
        tcsetattr (STDIN_FILENO, TCSAFLUSH, &quiet);
    }
    char *line = fgets (text, ARGOSD_SETUP_TEXT + 1, stdin);
    if (tty) {
        tcsetattr (STDIN_FILENO, TCSAFLUSH, &before);
        if (secret || !line)
            fputc ('\n', stderr);
    }
    if (!line)
        *text = 0;
    size_t lead = strspn (text, " \t\r\n"), size = strlen (text);
    while (size > lead && strchr (" \t\r\n", text[size - 1]))
        size--;
    text[size] = 0;
    memmove (text, text + lead, size - lead + 1);
    return line != NULL;
}

//  ------------------------------------------------------------------------------------------------
//  Writing it down

int
argosd_setup_secret (argos_cli_t *self, const char *name, const char *token)
{
    char folder[PATH_MAX], path[PATH_MAX], part[PATH_MAX];
    bool fits =
        snprintf (folder, sizeof folder, "%s/secrets", self->home) < PATH_MAX - 80 &&
        snprintf (path, sizeof path, "%.*s/%s", PATH_MAX - 80, folder, name) < PATH_MAX - 8 &&
        snprintf (part, sizeof part, "%.*s.new", PATH_MAX - 8, path) < PATH_MAX;
    if (!fits || (mkdir (folder, 0700) != 0 && errno != EEXIST))
        return -1;
    int fd = open (part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return -1;
    ssize_t size = (ssize_t) strlen (token);
    bool good = write (fd, token, (size_t) size) == size && fsync (fd) == 0;
    good = close (fd) == 0 && good;
    if (good && rename (part, path) == 0)
        return 0;
    unlink (part);
    return -1;
}

//  One secret into its file, and the reference to it into the settings
static int
s_write_token (argos_cli_t *self, const char *platform, const char *account, const char *member,
    const char *token)
{
    char name[96], key[160], ref[128];
    bool second = strcmp (member, "token") != 0, main_account = strcmp (account, "main") == 0;
    snprintf (name, sizeof name, "%.32s.%.24s%s", platform, account, second ? ".app" : "");
    snprintf (ref, sizeof ref, "file:secrets/%s", name);
    if (argosd_setup_secret (self, name, token) != 0)
        return argos_cli_error (self, CLI_FAILED, "internal", "%s/secrets/%s can't be written: %s",
            self->home, name, strerrordesc_np (errno));
    if (main_account)
        snprintf (key, sizeof key, "platforms.%s.%s", platform, member);
    else
        snprintf (key, sizeof key, "platforms.%s.accounts.%s.%s", platform, account, member);
    if (argos_config_set (self->home, key, json_string (ref), self->reason, sizeof self->reason) !=
        0)
        return argos_cli_error (self, CLI_FAILED, "invalid", "%s", self->reason);
    return CLI_OK;
}

static int
s_write (argos_cli_t *self, const char *platform, const argosd_setup_t *setup, const char *base_url)
{
    char key[160];
    bool main_account = strcmp (setup->account, "main") == 0;
    int rc = s_write_token (self, platform, setup->account, "token", setup->token);
    if (rc == CLI_OK && *setup->second)
        rc = s_write_token (self, platform, setup->account, "app_token", setup->second);
    if (rc != CLI_OK)
        return rc;
    snprintf (key, sizeof key,
        main_account ? "platforms.%s.base_url" : "platforms.%s.accounts.%s.base_url", platform,
        setup->account);
    if (base_url && argos_config_set (self->home, key, json_string (base_url), self->reason,
                        sizeof self->reason) != 0)
        return argos_cli_error (self, CLI_FAILED, "invalid", "%s", self->reason);
    return CLI_OK;
}

//  Where the settings say that this account's API is, when nobody else has said it. -1: they can't
//  be read.
static int
s_read_base (argos_cli_t *self, const char *platform, argosd_setup_t *setup, char url[BASE_MAX + 1])
{
    char path[96];
    if (setup->base_url)
        return 0;
    argos_config_t *config =
        argos_config_load (self->home, NULL, NULL, self->reason, sizeof self->reason);
    if (!config)
        return -1;
    snprintf (path, sizeof path, "accounts.%s.base_url", setup->account);
    const char *set = argos_setting_text (config->settings, platform, NULL, path);
    if (!set && strcmp (setup->account, "main") == 0)
        set = argos_setting_text (config->settings, platform, NULL, "base_url");
    if (set && snprintf (url, BASE_MAX + 1, "%s", set) <= BASE_MAX)
        setup->base_url = url;
    argos_config_destroy (&config);
    return 0;
}

//  Asks for one secret, or for both. Returns what is missing, NULL = nothing.

static const char *
s_read_tokens (size_t row, char token[static TOKEN_MAX + 1], char second[static TOKEN_MAX + 1])
{
    if (!argosd_setup_read (platforms[row].what, true, token) || !*token)
        return "no token was given";
    if (platforms[row].second &&
        (!argosd_setup_read (platforms[row].second, true, second) || !*second))
        return "no second token was given";
    return NULL;
}

static int
s_run (argos_cli_t *self, size_t row, argosd_setup_t *setup)
{
    char token[TOKEN_MAX + 1] = "", second[TOKEN_MAX + 1] = "", base[BASE_MAX + 1];
    const char *platform = platforms[row].platform;
    const char *wish = setup->base_url; //  Only that one is written down
    if (s_read_base (self, platform, setup, base) != 0)
        return argos_cli_error (self, CLI_FAILED, "invalid", "%s", self->reason);
    if (!self->json)
        fputs (platforms[row].how, stderr);
    const char *missing = s_read_tokens (row, token, second);
    setup->token = token;
    setup->second = second;
    int rc = missing ? argos_cli_error (self, CLI_FAILED, "invalid", "%s", missing)
                     : platforms[row].check (self, setup);
    if (rc == CLI_OK)
        rc = s_write (self, platform, setup, wish);
    setup->base_url = wish;
    setup->token = setup->second = "";
    explicit_bzero (token, sizeof token);
    explicit_bzero (second, sizeof second);
    if (rc != CLI_OK)
        return rc;
    if (self->json)
        argos_cli_print (
            json_pack ("{s:s,s:s,s:s,s:b}", "platform", platform, "account", setup->account,
                "user_name", setup->user_name, "restart", argos_cli_is_listening (self)));
    else
        printf ("@%s is set up as %s.%s.\n%s%s\n", setup->user_name, platform, setup->account,
            argos_cli_is_listening (self) ? "Restart argosd. " : "Start argosd. ",
            platforms[row].then);
    return CLI_OK;
}

static size_t
s_find (const char *platform)
{
    size_t row = 0;
    while (row < PLATFORMS && strcmp (platforms[row].platform, platform) != 0)
        row++;
    return row;
}

int
argosd_setup_platform (argos_cli_t *self, const char *platform)
{
    argosd_setup_t setup = { .account = "main" };
    size_t row = s_find (platform);
    return row < PLATFORMS ? s_run (self, row, &setup) : CLI_USAGE;
}

static int
s_one (argos_cli_t *self, int argc, char **argv)
{
    argosd_setup_t setup = { .account = "main" };
    size_t row = s_find (argv[0]);
    bool good = argc % 2 == 1;
    for (int i = 1; good && i + 1 < argc; i += 2) {
        if (strcmp (argv[i], "--account") == 0)
            setup.account = argv[i + 1];
        else if (strcmp (argv[i], "--base-url") == 0)
            setup.base_url = argv[i + 1];
        else
            good = false;
    }
    size_t length = strlen (setup.account);
    good = good && row < PLATFORMS && length >= 1 && length <= 24 &&
           strspn (setup.account, "abcdefghijklmnopqrstuvwxyz0123456789_-") == length;
    if (!good)
        return argos_cli_usage (
            self, "setup [telegram|discord|slack [--account NAME] [--base-url URL]]");
    return s_run (self, row, &setup);
}

int
argosd_command_setup (argos_cli_t *self, int argc, char **argv)
{
    curl_global_init (CURL_GLOBAL_DEFAULT);
    int rc = argc > 0 && argv[0][0] != '-' ? s_one (self, argc, argv)
                                           : argosd_setup_first (self, argc, argv);
    curl_global_cleanup ();
    return rc;
}
