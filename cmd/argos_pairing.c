//  argos_pairing - `argos pairing`: who waits to be let in, and letting in.

#include "argos_cli.h"

#include <stdio.h>
#include <string.h>

#define GATEWAY "actor:gateway"

static void
s_print_pending (const json_t *list)
{
    size_t index;
    json_t *row;
    json_array_foreach (list, index, row) {
        if (!index)
            puts (
                "WAITING    SINCE               UNTIL               USER                     NAME");
        printf ("%-10s %-19s %-19s %-24s %s\n", argos_cli_text (row, "platform"),
            argos_cli_time (json_integer_value (json_object_get (row, "at"))),
            argos_cli_time (json_integer_value (json_object_get (row, "expires_at"))),
            argos_cli_text (row, "user_id"), argos_cli_text (row, "name"));
    }
}

static void
s_print_approved (const json_t *list, bool head)
{
    size_t index;
    json_t *row;
    if (head && json_array_size (list))
        puts ("PAIRED     SINCE               BY                  USER                     NAME");
    json_array_foreach (list, index, row)
        printf ("%-10s %-19s %-19s %-24s %s\n", argos_cli_text (row, "platform"),
            argos_cli_time (json_integer_value (json_object_get (row, "at"))),
            argos_cli_text (row, "by"), argos_cli_text (row, "user_id"),
            argos_cli_text (row, "name"));
}

//  One page; *after is its `next`, new, NULL behind the last. all: with --json, what it is added
//  to.

static int
s_page (argos_cli_t *self, json_t **after, bool first, json_t *all)
{
    json_t *reply = NULL, *body = *after ? json_pack ("{s:O}", "after", *after) : NULL;
    argos_err_t code = argos_cli_ask (self, GATEWAY, "pairing.list", body, &reply);
    json_decref (*after);
    *after = NULL;
    if (code != ARGOS_OK)
        return argos_cli_fail (self, "pairing list", code);
    const json_t *pending = json_object_get (reply, "pending");
    const json_t *approved = json_object_get (reply, "approved");
    *after = json_incref (json_object_get (reply, "next"));
    if (self->json) {
        json_array_extend (json_object_get (all, "pending"), json_object_get (reply, "pending"));
        json_array_extend (json_object_get (all, "approved"), json_object_get (reply, "approved"));
    }
    else if (first && !json_array_size (pending) && !json_array_size (approved))
        puts ("nobody waits, and nobody is paired");
    else {
        s_print_pending (pending);
        s_print_approved (approved, first);
    }
    json_decref (reply);
    return CLI_OK;
}

static int
s_list (argos_cli_t *self)
{
    json_t *after = NULL, *all = json_pack ("{s:[], s:[]}", "pending", "approved");
    int rc = s_page (self, &after, true, all);
    while (rc == CLI_OK && after)
        rc = s_page (self, &after, false, all);
    if (rc == CLI_OK && self->json)
        argos_cli_print (json_incref (all));
    json_decref (all);
    return rc;
}

//  Ask for a change; the text says what became of it. body is stolen. total (NULL = it is printed)
//  grows by how many it were.

static int
s_change (argos_cli_t *self, const char *verb, json_t *body, const char *text, json_int_t *total)
{
    char type[32], what[32];
    json_t *reply = NULL;
    snprintf (type, sizeof type, "pairing.%s", verb);
    snprintf (what, sizeof what, "pairing %s", verb);
    argos_err_t code = argos_cli_ask (self, GATEWAY, type, body, &reply);
    if (code != ARGOS_OK)
        return argos_cli_fail (self, what, code);
    if (total)
        *total += json_integer_value (json_object_get (reply, "count"));
    else if (self->json)
        argos_cli_print (json_incref (reply));
    else if (json_object_get (reply, "user_id"))
        printf ("%s %s\n", argos_cli_text (reply, "user_id"), text);
    else
        printf ("%s %s\n", argos_cli_text (reply, "count"), text);
    json_decref (reply);
    return CLI_OK;
}

//  Every platform on which somebody waits.

static int
s_clear_all (argos_cli_t *self)
{
    json_t *reply = NULL, *row, *done = json_object ();
    json_int_t total = 0;
    argos_err_t code = argos_cli_ask (self, GATEWAY, "pairing.list", NULL, &reply);
    int rc = code == ARGOS_OK ? CLI_OK : argos_cli_fail (self, "pairing clear", code);
    size_t index;
    json_array_foreach (json_object_get (reply, "pending"), index, row) {
        json_t *platform = json_object_get (row, "platform");
        const char *name = json_string_value (platform);
        if (rc != CLI_OK || json_object_get (done, name))
            continue;
        json_object_set_new (done, name, json_true ());
        rc = s_change (self, "clear", json_pack ("{s:O}", "platform", platform), "", &total);
    }
    if (rc == CLI_OK && self->json)
        argos_cli_print (json_pack ("{s:I}", "count", total));
    else if (rc == CLI_OK)
        printf ("%lld dropped\n", (long long) total);
    json_decref (done);
    json_decref (reply);
    return rc;
}

int
argos_command_pairing (argos_cli_t *self, int argc, char **argv)
{
    const char *verb = argc > 0 ? argv[0] : "list";
    bool list = strcmp (verb, "list") == 0 && argc <= 1;
    bool clear = strcmp (verb, "clear") == 0 && argc <= 2;
    bool approve = strcmp (verb, "approve") == 0 && argc == 3;
    bool revoke = strcmp (verb, "revoke") == 0 && argc == 3;
    if (!list && !clear && !approve && !revoke)
        return argos_cli_usage (self, "pairing list, pairing approve PLATFORM CODE, pairing revoke "
                                      "PLATFORM USER, or pairing clear [PLATFORM]");
    int rc = argos_cli_connect_plain (self);
    if (rc != CLI_OK)
        return rc;
    if (list)
        return s_list (self);
    if (clear && argc == 1)
        return s_clear_all (self);
    if (clear)
        return s_change (self, verb, json_pack ("{s:s}", "platform", argv[1]), "dropped", NULL);
    return s_change (self, verb,
        json_pack ("{s:s, s:s}", "platform", argv[1], approve ? "code" : "user_id", argv[2]),
        approve ? "may speak now" : "may not speak any more", NULL);
}
