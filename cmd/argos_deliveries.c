//  argos_deliveries - `argos deliveries`: what was sent to people, what waits, what nobody knows.

#include "argos_cli.h"

#include <stdio.h>
#include <string.h>

#define PAGE 50            //  Deliveries of a list
#define PREVIEW 80         //  Bytes of a text in it
#define TEXT_MAX 262144    //  Bytes of a text
#define SERVICE "deliver." //  In front of platform and account
#define AGAIN                                                                                      \
    "♻️ Sent again, may be a duplicate:\n" //  In front of what may have arrived before

//  What `gone` and `waiting` have that others don't stands at the end.

static void
s_print (const json_t *list)
{
    size_t index;
    json_t *row;
    json_array_foreach (list, index, row) {
        const char *to = argos_cli_text (row, "service");
        if (!index)
            puts ("STATE    WHEN                TO                       ID                        "
                  "               TEXT");
        if (strncmp (to, SERVICE, strlen (SERVICE)) == 0)
            to += strlen (SERVICE);
        const char *error = argos_cli_text (row, "error"),
                   *text = argos_cli_short (row, "preview", PREVIEW);
        char chat[64];
        snprintf (chat, sizeof chat, "%.30s:%s", to, argos_cli_short (row, "key", 30));
        printf ("%-8s %-19s %-24s %-40s %s%s%s\n", argos_cli_text (row, "state"),
            argos_cli_time (json_integer_value (json_object_get (row, "at"))), chat,
            argos_cli_text (row, "id"), text, strcmp (error, "-") == 0 ? "" : " — ",
            strcmp (error, "-") == 0 ? "" : error);
    }
}

//  Adds one list to rows; state NULL = all that has an outcome.

static int
s_list (argos_cli_t *self, const char *state, json_t *rows)
{
    json_t *reply = NULL, *body = json_pack ("{s:i}", "limit", PAGE);
    if (state)
        json_object_set_new (body, "state", json_string (state));
    argos_err_t code = argos_cli_ask (self, "store", "delivery.list", body, &reply);
    if (code != ARGOS_OK)
        return argos_cli_fail (self, "deliveries list", code);
    json_array_extend (rows, json_object_get (reply, "deliveries"));
    json_decref (reply);
    return CLI_OK;
}

static int
s_lists (argos_cli_t *self, const char *state)
{
    json_t *rows = json_array ();
    int rc = CLI_OK;
    if (!state) //  What waits first
        rc = s_list (self, "waiting", rows);
    if (rc == CLI_OK)
        rc = s_list (self, state, rows);
    if (rc == CLI_OK && self->json)
        argos_cli_print (json_pack ("{s:O}", "deliveries", rows));
    else if (rc == CLI_OK && !json_array_size (rows))
        puts ("no deliveries");
    else if (rc == CLI_OK)
        s_print (rows);
    json_decref (rows);
    return rc;
}

//  The delivery of that id, new; NULL when the failure has been printed.

static json_t *
s_get (argos_cli_t *self, const char *what, const char *id)
{
    json_t *reply = NULL;
    argos_err_t code =
        argos_cli_ask (self, "store", "delivery.show", json_pack ("{s:s}", "id", id), &reply);
    json_t *delivery = json_incref (json_object_get (reply, "delivery"));
    json_decref (reply);
    if (code == ARGOS_OK && json_is_object (delivery))
        return delivery;
    json_decref (delivery);
    if (code == ARGOS_OK) {
        snprintf (self->reason, sizeof self->reason, "there is no delivery %.128s", id);
        code = ARGOS_NOT_FOUND;
    }
    argos_cli_fail (self, what, code);
    return NULL;
}

static int
s_show (argos_cli_t *self, const char *id)
{
    json_t *delivery = s_get (self, "deliveries show", id);
    if (!delivery)
        return CLI_FAILED;
    if (self->json)
        argos_cli_print (json_incref (delivery));
    else {
        json_dumpf (delivery, stdout, JSON_INDENT (2));
        putchar ('\n');
    }
    json_decref (delivery);
    return CLI_OK;
}

//  What may have arrived says that it is sent again. Returns the body, new.

static json_t *
s_again (const json_t *delivery)
{
    json_t *body = json_copy (json_object_get (delivery, "body"));
    const char *text = json_string_value (json_object_get (body, "text"));
    const char *op = json_string_value (json_object_get (body, "op"));
    bool said = !op || strcmp (op, "send") == 0;
    if (said && text && strlen (text) + sizeof AGAIN < TEXT_MAX &&
        strcmp (argos_cli_text (delivery, "state"), "unknown") == 0)
        json_object_set_new (body, "text", json_sprintf ("%s%s", AGAIN, text));
    return body;
}

static int
s_resend (argos_cli_t *self, const char *id)
{
    char to[80], digits[33], fresh[48];
    json_t *delivery = s_get (self, "deliveries resend", id);
    if (!delivery)
        return CLI_FAILED;
    const char *state = argos_cli_text (delivery, "state");
    if (strcmp (state, "refused") != 0 && strcmp (state, "unknown") != 0) {
        int rc = argos_cli_error (self, CLI_FAILED, "conflict",
            "that delivery is %s: only what was refused or is unknown can be sent again", state);
        json_decref (delivery);
        return rc;
    }
    argos_cli_random_hex (digits, 16);
    snprintf (fresh, sizeof fresh, "again_%s", digits);
    snprintf (to, sizeof to, "service:%s", argos_cli_text (delivery, "service"));
    argos_loop_part_t part = { .type = "deliver.request",
        .to = to,
        .id = fresh,
        .key = json_string_value (json_object_get (delivery, "key")),
        .durable = true,
        .body = s_again (delivery) };
    argos_err_t code = argos_cli_send (self, &part);
    json_decref (delivery);
    if (code != ARGOS_OK)
        return argos_cli_fail (self, "deliveries resend", code);
    if (self->json)
        argos_cli_print (json_pack ("{s:s}", "id", fresh));
    else
        printf ("on its way again: %s\n", fresh);
    return CLI_OK;
}

int
argos_command_deliveries (argos_cli_t *self, int argc, char **argv)
{
    static const char *const states[] = { "waiting", "sent", "refused", "unknown", "gone" };
    const char *verb = argc > 0 ? argv[0] : "list", *state = argc > 1 ? argv[1] : NULL;
    bool list = strcmp (verb, "list") == 0 && argc <= 2, known = !state;
    bool show = strcmp (verb, "show") == 0 && argc == 2;
    bool resend = strcmp (verb, "resend") == 0 && argc == 2;
    for (size_t i = 0; list && state && i < sizeof states / sizeof *states; i++)
        known = known || strcmp (states[i], state) == 0;
    if ((!list && !show && !resend) || (list && !known))
        return argos_cli_usage (self, "deliveries list [waiting|sent|refused|unknown|gone], "
                                      "deliveries show ID, or deliveries resend ID");
    int rc = argos_cli_connect_plain (self);
    if (rc != CLI_OK)
        return rc;
    if (list)
        return s_lists (self, state);
    return show ? s_show (self, argv[1]) : s_resend (self, argv[1]);
}
