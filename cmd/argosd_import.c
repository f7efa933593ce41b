//  argosd_import - `argos import`, as far as it reads another program's database: into lines for
//  argos, or with --dry-run to see what would come.

#include "argos_import.h"
#include "argos_json_get.h"
#include "argos_route_key.h"
#include "argos_store_hermes.h"
#include "argosd_host.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    FILE *file;                     //  For the lines, NULL = they are only counted
    int error;                      //  errno of the first line that could not be written
    argos_import_report_t *skipped; //  What was left out
} import_t;

//  A route gets the key that a message from there has here.

static void
s_key (json_t *route)
{
    char key[ARGOS_ROUTE_KEY_MAX + 1];
    argos_route_policy_t policy;
    argos_route_policy_init (&policy);
    if (argos_route_key (json_object_get (route, "source"), &policy, key, sizeof key) == 0)
        json_object_set_new (route, "key", json_string (key));
}

static bool
s_line (void *arg, json_t *line)
{
    import_t *self = arg;
    json_t *route = json_object_get (line, "route"), *skipped = json_object_get (line, "skipped");
    if (skipped)
        argos_import_skip (self->skipped, argos_json_text (skipped, "what"),
            argos_json_text (skipped, "id"), argos_json_text (skipped, "why"));
    if (!self->file)
        return true;
    if (route)
        s_key (route);
    if (json_dumpf (line, self->file, JSON_COMPACT) == 0 && putc ('\n', self->file) != EOF)
        return true;
    self->error = errno;
    return false;
}

int
argosd_command_import (argos_cli_t *self, int argc, char **argv)
{
    argos_store_hermes_report_t report;
    argos_import_report_t seen = { .skipped = json_array () };
    import_t import = { .skipped = &seen };
    char scratch[PATH_MAX + 64], reason[ARGOS_STORE_HERMES_REASON] = "";
    bool lines = argc == 4 && strcmp (argv[2], "--to") == 0;
    if (argc < 3 || strcmp (argv[0], "hermes") != 0 ||
        (!lines && strcmp (argv[2], "--dry-run") != 0))
        return argos_cli_usage (self, "import takes: hermes PATH, and perhaps --dry-run");
    snprintf (scratch, sizeof scratch, "%s/run/import.%ld.db", self->home, (long) getpid ());
    if (lines && !(import.file = fopen (argv[3], "we")))
        return argos_cli_error (self, CLI_FAILED, "internal", "%s: %s", argv[3], strerror (errno));
    int rc = argos_store_hermes_read (argv[1], scratch, s_line, &import, &report, reason);
    if (import.file && fclose (import.file) != 0 && !import.error)
        import.error = errno;
    if (rc == 0 && import.error) {
        snprintf (reason, sizeof reason, "%.300s: %s", argv[3], strerror (import.error));
        rc = -1;
    }
    if (rc == 0 && !lines) {
        seen.sessions = report.sessions;
        seen.messages = report.messages;
        seen.routes = report.routes;
        argos_import_print (self, &seen);
    }
    json_decref (seen.skipped);
    return rc == 0 ? CLI_OK : argos_cli_error (self, CLI_FAILED, "invalid", "%s", reason);
}
