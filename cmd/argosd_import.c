//  argosd_import - `argos import`, as far as it reads another program's database: into lines for
//  argos, or with --dry-run to see what would come.
//
//  Invariant: a route has the key that the gateway asks for, by the settings of the home. Limit:
//  settings that argosd has not read yet count already.

#include "argos_config.h"
#include "argos_gateway.h"
#include "argos_import.h"
#include "argos_json_get.h"
#include "argos_store_hermes.h"
#include "argosd_host.h"
#include "argosd_scratch.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    argos_gateway_policy_t policy;  //  Who shares a session
    FILE *file;                     //  For the lines, NULL = they are only counted
    int error;                      //  errno of the first line that could not be written
    argos_import_report_t *skipped; //  What was left out
} import_t;

//  A route gets the key that the gateway makes for a message from there.

static void
s_key (const import_t *self, json_t *route)
{
    char key[ARGOS_ROUTE_KEY_MAX + 1];
    if (argos_route_key (json_object_get (route, "source"), &self->policy.route, key, sizeof key) ==
        0)
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
        s_key (self, route);
    if (json_dumpf (line, self->file, JSON_COMPACT) == 0 && putc ('\n', self->file) != EOF)
        return true;
    self->error = errno;
    return false;
}

//  The file for the lines, and what their keys depend on. Returns 0, or the exit code.

static int
s_begin (argos_cli_t *self, import_t *import, const char *path)
{
    char reason[512] = "";
    argos_config_t *config = argos_config_load (self->home, NULL, NULL, reason, sizeof reason);
    if (!config)
        return argos_cli_error (self, CLI_FAILED, "invalid", "%s", reason);
    argos_gateway_policy_read (&import->policy, config->settings);
    import->policy.config = NULL; //  It goes now
    argos_config_destroy (&config);
    import->file = fopen (path, "we");
    return import->file
               ? CLI_OK
               : argos_cli_error (self, CLI_FAILED, "internal", "%s: %s", path, strerror (errno));
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
    int rc = lines ? s_begin (self, &import, argv[3]) : CLI_OK;
    if (rc != CLI_OK)
        return rc;
    if (lines)
        argosd_scratch_follow ();
    argosd_scratch_sweep (self->home, false);
    argosd_scratch_add (scratch);
    rc = argos_store_hermes_read (argv[1], scratch, s_line, &import, &report, reason);
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
