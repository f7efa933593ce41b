//  echo_adapter - a complete platform adapter: the platform is a pipe. A line read is a message
//  from a person, a line printed an answer.
//
//      echo_adapter [--home DIR] [PLATFORM [ACCOUNT]]
//
//  Each answer is leased, printed, ended with a receipt; after a kill it comes again. Limit: 4 KiB.

#include "argos.h"

#include <jansson.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SENT "{\"state\":\"sent\"}"
#define CANT "{\"state\":\"refused\",\"error\":\"unsupported\"}"
static argos_t *argos;
static char account[80];                          //  platform.account
static const char *words[2] = { "pipe", "main" }; //  Both
static int unanswered;
//  A message in. The id makes it the same message after a crash: a real platform has one for each.
static void
s_say (const char *text, int number)
{
    char id[160], key[96];
    snprintf (id, sizeof id, "%s:1:%lld.%d", account, (long long) time (NULL), number);
    snprintf (key, sizeof key, "%s:1", account);
    json_t *body = json_pack ("{s:{s:s,s:s,s:s,s:s,s:s},s:s,s:s}", "source", "platform", words[0],
        "account", words[1], "chat_id", "1", "chat_type", "dm", "user_id", "me", "text", text,
        "message_id", strrchr (id, ':') + 1);
    char *json = body ? json_dumps (body, JSON_COMPACT) : NULL;
    argos_part_t part = { "message.inbound", "service:gateway", id, key, .body = json };
    argos_err_t code = json ? argos_put (argos, &part, -1, NULL) : ARGOS_INVALID;
    if (code == ARGOS_OK)
        unanswered++;
    else //  Nothing has happened; a real platform would be asked to send it again
        fprintf (stderr, "not accepted: %s\n", json ? argos_reason (argos) : "no UTF-8");
    free (json);
    json_decref (body);
}

static void
s_on_work (void *ctx, const argos_msg_t *msg)
{
    argos_work_t *work = msg->work;
    json_t *body = json_loads (msg->body, 0, NULL);
    const char *text = NULL, *op = "send";
    json_unpack (body, "{s:s, s?s}", "text", &text, "op", &op);
    bool can = strcmp (op, "send") == 0; //  No edit, delete, react, prompt, media
    argos_part_t receipt = { "receipt.put", "store", .body = can ? SENT : CANT };
    if (!argos_live (argos)) //  The lease may have ended meanwhile: no effect may begin
        argos_work_release (&work, 0, true, NULL);
    else if (strcmp (msg->type, "deliver.request") != 0 || !text)
        argos_work_release (&work, 0, false, "unknown_type");
    else {
        if (can)
            printf ("%s%s\n", msg->attempt > 1 ? "(perhaps again) " : "", text);
        fflush (stdout);
        (*(int *) ctx)--;
        argos_work_done (work, &receipt, 1, NULL, 0, NULL, NULL);
    }
    json_decref (body);
}

static void
s_on_refused (void *ctx, const char *id, argos_err_t code, const char *reason)
{
    (void) ctx;
    fprintf (stderr, "echo_adapter: %s: %s: %s\n", id, argos_err_name (code), reason);
    if (strncmp (id, "service:", 8) == 0) //  Else a done: its message comes again
        exit (1);
}

int
main (int argc, char **argv)
{
    argos_options_t options = {
        .handlers = { .ctx = &unanswered, .on_work = s_on_work, .on_refused = s_on_refused }
    };
    char reason[512], service[96], line[4096];
    words[0] = getenv ("ARGOS_PLATFORM") ? getenv ("ARGOS_PLATFORM") : words[0];
    words[1] = getenv ("ARGOS_ACCOUNT") ? getenv ("ARGOS_ACCOUNT") : words[1];
    for (int i = 1, word = 0; i < argc; i++)
        if (strcmp (argv[i], "--home") == 0 && i + 1 < argc)
            options.home = argv[++i];
        else if (word < 2)
            words[word++] = argv[i];
    snprintf (account, sizeof account, "%s.%s", words[0], words[1]);
    snprintf (service, sizeof service, "deliver.%s", account);
    options.name = account;
    argos = argos_new (&options, reason, sizeof reason);
    if (!argos)
        return fputs (reason, stderr) >= 0;
    argos_serve (argos, service, 4, NULL);
    struct pollfd items[] = { { argos_fd (argos), POLLIN, 0 }, { 0, POLLIN, 0 } };
    setvbuf (stdin, NULL, _IONBF, 0); //  So that poll tells of every line
    for (int number = 0, ended = 0; !ended || unanswered > 0;) {
        poll (items, ended ? 1 : 2, -1);
        if (!ended && items[1].revents && !(ended = !fgets (line, sizeof line, stdin))) {
            line[strcspn (line, "\n")] = '\0';
            s_say (line, ++number);
        }
        if (argos_turn (argos, 0) != ARGOS_OK)
            return fputs (argos_reason (argos), stderr) >= 0;
    }
    argos_destroy (&argos);
    return 0;
}
