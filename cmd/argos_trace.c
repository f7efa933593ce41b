//  argos_trace - `argos trace ID`: the path of one message through all hops.
//
//  What the broker remembers of the message, of what led to it and of all that followed, in order
//  of time; messages that followed from another stand to the right of it.

#include "argos_cli.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define DEPTH_MAX 8 //  Steps to the right

static void
s_print (const json_t *records)
{
    size_t i;
    json_t *record;
    json_int_t first = json_integer_value (json_object_get (json_array_get (records, 0), "at"));
    printf (
        "began %s\n      MS  EVENT      TYPE                     PEER                     SEQ      "
        "LEASE    ID\n",
        argos_cli_time (first));
    json_array_foreach (records, i, record) {
        int depth = (int) json_integer_value (json_object_get (record, "depth"));
        depth = depth < DEPTH_MAX ? depth : DEPTH_MAX;
        const char *code = argos_cli_text (record, "code");
        printf ("%8" PRId64 "  %-10s %*s%-*s %-24s %-8s %-8s %s%s%s\n",
            (int64_t) (json_integer_value (json_object_get (record, "at")) - first),
            argos_cli_text (record, "event"), depth, "", 24 - depth,
            argos_cli_text (record, "type"), argos_cli_text (record, "peer"),
            argos_cli_text (record, "seq"), argos_cli_text (record, "lease"),
            argos_cli_text (record, "id"), strcmp (code, "-") == 0 ? "" : " ",
            strcmp (code, "-") == 0 ? "" : code);
    }
}

int
argos_command_trace (argos_cli_t *self, int argc, char **argv)
{
    json_t *reply = NULL;
    if (argc != 1)
        return argos_cli_usage (self, "trace needs the id of a message");
    int rc = argos_cli_connect_plain (self);
    if (rc != CLI_OK)
        return rc;
    argos_err_t code = argos_cli_ask (
        self, "actor:broker", "broker.trace", json_pack ("{s:s}", "id", argv[0]), &reply);
    if (code != ARGOS_OK)
        return argos_cli_fail (self, "trace", code);
    const json_t *records = json_object_get (reply, "records");
    if (json_array_size (records) == 0) {
        snprintf (self->reason, sizeof self->reason,
            "the broker remembers no message %.128s: it was before the last start of argosd, or so "
            "long ago that newer ones took its place, or never; `argos runs show` and `argos "
            "deliveries show` tell what is stored",
            argv[0]);
        rc = argos_cli_fail (self, "trace", ARGOS_NOT_FOUND);
    }
    else if (self->json)
        argos_cli_print (json_incref (reply));
    else {
        s_print (records);
        if (json_is_true (json_object_get (reply, "more")))
            puts ("         and more");
    }
    json_decref (reply);
    return rc;
}
