//  argos_say_import - what has become of an import. Limit: SKIPPED_MAX of what was left out are
//  named.

#include "argos_import.h"

#include <stdio.h>

#define SKIPPED_MAX 100 //  That are named

void
argos_import_skip (argos_import_report_t *report, const char *what, const char *id, const char *why)
{
    report->skipped_count++;
    if (json_array_size (report->skipped) < SKIPPED_MAX)
        json_array_append_new (
            report->skipped, json_pack ("{s:s, s:s, s:s}", "what", what, "id", id, "why", why));
}

void
argos_import_print (const argos_cli_t *self, argos_import_report_t *report)
{
    json_t *line;
    size_t index;
    if (self->json)
        argos_cli_print (json_pack ("{s:I, s:I, s:I, s:I, s:I, s:O}", "sessions",
            (json_int_t) report->sessions, "messages", (json_int_t) report->messages, "routes",
            (json_int_t) report->routes, "present", (json_int_t) report->present, "skipped_count",
            (json_int_t) report->skipped_count, "skipped", report->skipped));
    else {
        printf ("%lld sessions, %lld messages and %lld routes came in, %lld were there already\n",
            (long long) report->sessions, (long long) report->messages, (long long) report->routes,
            (long long) report->present);
        json_array_foreach (report->skipped, index, line)
            printf ("left out: %s %s: %s\n", argos_cli_text (line, "what"),
                argos_cli_text (line, "id"), argos_cli_text (line, "why"));
        if (report->skipped_count > SKIPPED_MAX)
            printf ("and %lld more\n", (long long) report->skipped_count - SKIPPED_MAX);
    }
    json_decref (report->skipped);
    report->skipped = NULL;
}
