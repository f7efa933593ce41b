//  argos_adapters - `argos adapters`: the accounts of chat platforms, whether they work, and
//  pauses.
//
//  An account is a service deliver.<platform>.<account>; what serves it tells what it can do, and
//  answers a probe. Limit: PROBE_MAX accounts are probed for `status`, one after the other.

#include "argos_cli.h"

#include <stdio.h>
#include <string.h>

#define SERVICE "deliver."         //  In front of platform and account
#define TERMINALS SERVICE "local." //  Chats at terminals: no platform
#define PROBE_MAX 64               //  Accounts
#define NAME_MAX_BYTES 64          //  Of a service

//  broker.stats, new; NULL after the error was printed.

static json_t *
s_stats (argos_cli_t *self, int *ret_rc)
{
    json_t *reply = NULL;
    argos_err_t code = argos_cli_ask (
        self, "actor:broker", "broker.stats", json_pack ("{s:i}", "limit", 4096), &reply);
    *ret_rc = code == ARGOS_OK ? CLI_OK : argos_cli_fail (self, "adapters", code);
    return reply;
}

//  Of the peers that tell of themselves the one that serves this account; NULL = nobody does.

static const json_t *
s_peer (const json_t *stats, const char *account)
{
    size_t i;
    const json_t *peer;
    json_array_foreach (json_object_get (stats, "peers"), i, peer) {
        const json_t *told = json_object_get (peer, "capabilities");
        const char *platform = json_string_value (json_object_get (told, "platform"));
        const char *own = json_string_value (json_object_get (told, "account"));
        char name[NAME_MAX_BYTES + 1];
        if (!platform || !own)
            continue;
        snprintf (name, sizeof name, "%.30s.%.30s", platform, own);
        if (strcmp (name, account) == 0)
            return peer;
    }
    return NULL;
}

//  What a peer says of its account; new.

static json_t *
s_probe (argos_cli_t *self, const char *account)
{
    char to[NAME_MAX_BYTES + 32];
    json_t *reply = NULL;
    snprintf (to, sizeof to, "service:" SERVICE "%s", account);
    argos_err_t code = argos_cli_ask (self, to, "probe", NULL, &reply);
    if (code == ARGOS_OK)
        return reply;
    json_decref (reply);
    return json_pack (
        "{s:b,s:s}", "ok", 0, "problem", *self->reason ? self->reason : argos_err_text (code));
}

//  One row for each account, as JSON; new. probe: with what each says of itself.

static json_t *
s_rows (argos_cli_t *self, const json_t *stats, bool probe)
{
    json_t *rows = json_array (), *service;
    size_t i, probed = 0;
    json_array_foreach (json_object_get (stats, "services"), i, service) {
        const char *name = json_string_value (json_object_get (service, "name"));
        if (!name || strncmp (name, SERVICE, strlen (SERVICE)) != 0 ||
            strncmp (name, TERMINALS, strlen (TERMINALS)) == 0)
            continue;
        const char *account = name + strlen (SERVICE);
        const json_t *peer = s_peer (stats, account);
        json_t *row = json_pack ("{s:s,s:O?,s:O?,s:O?,s:b}", "name", account, "waiting",
            json_object_get (service, "waiting"), "done", json_object_get (service, "done"), "peer",
            json_object_get (peer, "name"), "served",
            json_integer_value (json_object_get (service, "workers")) > 0);
        if (json_is_true (json_object_get (service, "paused")))
            json_object_set_new (row, "paused", json_true ());
        if (peer)
            json_object_set (row, "capabilities", json_object_get (peer, "capabilities"));
        if (probe && json_is_true (json_object_get (row, "served")) && probed++ < PROBE_MAX)
            json_object_set_new (row, "probe", s_probe (self, account));
        json_array_append_new (rows, row);
    }
    return rows;
}

static void
s_print (const json_t *rows, bool probe)
{
    size_t i;
    json_t *row;
    if (!json_array_size (rows))
        puts ("no account of a chat platform (argos setup telegram makes one)");
    json_array_foreach (rows, i, row) {
        const json_t *said = json_object_get (row, "probe");
        if (!i)
            printf ("%-24s %-10s %8s %8s %s\n", "ACCOUNT", "STATE", "WAITING", "SENT",
                probe ? "SAYS" : "");
        const char *state = json_object_get (row, "paused")                        ? "paused"
                            : !json_is_true (json_object_get (row, "served"))      ? "away"
                            : said && !json_is_true (json_object_get (said, "ok")) ? "problem"
                                                                                   : "serving";
        printf ("%-24s %-10s %8s %8s %s%s\n", argos_cli_text (row, "name"), state,
            argos_cli_text (row, "waiting"), argos_cli_text (row, "done"),
            !said                                         ? ""
            : json_is_true (json_object_get (said, "ok")) ? "@"
                                                          : "",
            !said                                         ? ""
            : json_is_true (json_object_get (said, "ok")) ? argos_cli_text (said, "user_name")
                                                          : argos_cli_text (said, "problem"));
    }
}

static int
s_list (argos_cli_t *self, bool probe)
{
    int rc;
    json_t *stats = s_stats (self, &rc);
    if (rc == CLI_OK) {
        json_t *rows = s_rows (self, stats, probe);
        if (self->json)
            argos_cli_print (json_pack ("{s:O}", "adapters", rows));
        else
            s_print (rows, probe);
        json_decref (rows);
    }
    json_decref (stats);
    return rc;
}

static int
s_one (argos_cli_t *self, const char *account)
{
    json_t *said = s_probe (self, account);
    bool ok = json_is_true (json_object_get (said, "ok"));
    if (self->json)
        argos_cli_print (json_incref (said));
    else if (ok)
        printf ("%s works: we are @%s there\n", account, argos_cli_text (said, "user_name"));
    else
        fprintf (stderr, "argos: %s: %s\n", account, argos_cli_text (said, "problem"));
    json_decref (said);
    return ok ? CLI_OK : CLI_FAILED;
}

static int
s_pause (argos_cli_t *self, const char *account, bool on)
{
    json_t *reply = NULL;
    argos_err_t code = argos_cli_ask (self, "actor:broker", "service.pause",
        json_pack ("{s:o,s:b}", "service", json_sprintf (SERVICE "%s", account), "on", on), &reply);
    json_decref (reply);
    if (code != ARGOS_OK)
        return argos_cli_fail (self, account, code);
    if (self->json)
        argos_cli_print (json_pack ("{s:s,s:b}", "name", account, "paused", on));
    else
        printf ("%s %s\n", account, on ? "is paused: what is to be sent waits" : "goes on");
    return CLI_OK;
}

int
argos_command_adapters (argos_cli_t *self, int argc, char **argv)
{
    const char *word = argc ? argv[0] : "list";
    bool list = strcmp (word, "list") == 0, status = strcmp (word, "status") == 0;
    bool known = ((list || status) && argc <= 1) ||
                 (argc == 2 && strlen (argv[1]) < NAME_MAX_BYTES &&
                     (strcmp (word, "probe") == 0 || strcmp (word, "pause") == 0 ||
                         strcmp (word, "resume") == 0));
    if (!known)
        return argos_cli_usage (self, "adapters [list|status] | probe|pause|resume ACCOUNT");
    int rc = argos_cli_connect_plain (self);
    if (rc != CLI_OK)
        return rc;
    if (list || status)
        return s_list (self, status);
    if (strcmp (word, "probe") == 0)
        return s_one (self, argv[1]);
    return s_pause (self, argv[1], strcmp (word, "pause") == 0);
}
