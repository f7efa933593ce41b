//  argosd_adapter_check - `argos adapter-check COMMAND|ENDPOINT`: the conformance kit.
//
//  Runs the cases of argosd_check_cases.c against a program, each with a fake core of its own, and
//  tells a verdict for each. Needs no daemon. Exit code 0: every case that was run has passed.

#include "argos_key_record.h"
#include "argosd_check.h"
#include "argosd_host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

//  What the command line asks for

typedef struct {
    const char *only;                  //  Case, NULL = all
    const char *target;                //  Command or endpoint
    const char *service, *type, *body; //  Of a worker, NULL = an adapter's
    const char *platform, *account;    //  Of an adapter
    bool verbose;                      //  --verbose
} check_options_t;

static const struct {
    const char *name; //  Option with a value
    size_t offset;    //  Where it goes
} options[] = {
    { "--only", offsetof (check_options_t, only) },
    { "--service", offsetof (check_options_t, service) },
    { "--type", offsetof (check_options_t, type) },
    { "--body", offsetof (check_options_t, body) },
    { "--platform", offsetof (check_options_t, platform) },
    { "--account", offsetof (check_options_t, account) },
};

//  Returns false after a usage error has been told.

static bool
s_read_options (const argos_cli_t *cli, check_options_t *self, int argc, char **argv)
{
    const size_t count = sizeof options / sizeof *options;
    for (int i = 0; i < argc; i++) {
        size_t k = 0;
        while (k < count && strcmp (argv[i], options[k].name) != 0)
            k++;
        if (strcmp (argv[i], "--verbose") == 0)
            self->verbose = true;
        else if (k < count && i + 1 < argc)
            memcpy ((char *) self + options[k].offset, &argv[++i], sizeof (char *));
        else if (k < count || argv[i][0] == '-' || self->target) {
            argos_cli_usage (cli, "adapter-check: %s is not understood", argv[i]);
            return false;
        }
        else
            self->target = argv[i];
    }
    if (self->platform && !argos_key_platform_valid (self->platform)) {
        argos_cli_usage (cli, "adapter-check --platform has " ARGOS_PLATFORM_RULE);
        return false;
    }
    if (!self->target)
        argos_cli_usage (cli, "adapter-check needs a command (in quotes) or an endpoint");
    return self->target != NULL;
}

static bool
s_is_endpoint (const char *target)
{
    return strncmp (target, "ipc://", 6) == 0 || strncmp (target, "tcp://", 6) == 0;
}

//  One case from start to end. Returns its line of the report.

static json_t *
s_run_case (const check_options_t *options_, const json_t *body, const check_case_t *check)
{
    check_t self = { .command = s_is_endpoint (options_->target) ? NULL : options_->target,
        .platform = options_->platform ? options_->platform : "check",
        .account = options_->account ? options_->account : "main",
        .type = options_->type ? options_->type : "deliver.request",
        .body = body,
        .verbose = options_->verbose };
    int64_t before = argos_check_now ();
    if (options_->service)
        snprintf (self.service, sizeof self.service, "%s", options_->service);
    if (!self.command)
        snprintf (self.endpoint, sizeof self.endpoint, "%s", options_->target);
    if (!self.command && check->needs_command)
        return json_pack ("{s:s,s:s,s:s,s:i}", "case", check->name, "verdict", "skipped", "reason",
            "the program is started by somebody else", "ms", 0);
    int rc = argos_check_open (&self) == 0 ? check->run (&self) : -1;
    argos_check_close (&self);
    json_t *line = json_pack ("{s:s,s:s,s:I}", "case", check->name, "verdict",
        rc == 0 ? "passed" : "failed", "ms", (json_int_t) (argos_check_now () - before));
    if (rc != 0)
        json_object_set_new (line, "reason", json_string (self.reason));
    return line;
}

static void
s_print_line (const json_t *line, const check_case_t *check)
{
    const char *reason = json_string_value (json_object_get (line, "reason"));
    printf ("%-8s %-10s %s%s%s\n", argos_cli_text (line, "verdict"), check->name, check->what,
        reason ? ": " : "", reason ? reason : "");
    fflush (stdout);
}

//  All cases that were asked for. Returns the exit code.

static int
s_run (argos_cli_t *cli, const check_options_t *asked, const json_t *body)
{
    json_t *lines = json_array ();
    int passed = 0, failed = 0, skipped = 0;
    for (size_t i = 0; i < argos_check_case_count; i++) {
        const check_case_t *check = &argos_check_cases[i];
        if (asked->only && strcmp (asked->only, check->name) != 0)
            continue;
        json_t *line = s_run_case (asked, body, check);
        const char *verdict = json_string_value (json_object_get (line, "verdict"));
        passed += strcmp (verdict, "passed") == 0;
        failed += strcmp (verdict, "failed") == 0;
        skipped += strcmp (verdict, "skipped") == 0;
        if (!cli->json)
            s_print_line (line, check);
        json_array_append_new (lines, line);
    }
    if (passed + failed + skipped == 0) {
        json_decref (lines);
        return argos_cli_usage (cli, "adapter-check has no case %s", asked->only);
    }
    if (cli->json)
        argos_cli_print (json_pack ("{s:s,s:o,s:i,s:i,s:i}", "target", asked->target, "cases",
            lines, "passed", passed, "failed", failed, "skipped", skipped));
    else {
        printf ("%d passed, %d failed, %d skipped\n", passed, failed, skipped);
        json_decref (lines);
    }
    return failed == 0 ? CLI_OK : CLI_FAILED;
}

int
argosd_command_adapter_check (argos_cli_t *self, int argc, char **argv)
{
    check_options_t asked = { .only = NULL };
    if (!s_read_options (self, &asked, argc, argv))
        return CLI_USAGE;
    const char *text = asked.body ? asked.body
                                  : "{\"kind\":\"answer\",\"text\":\"adapter-check\",\"chat_id\":"
                                    "\"1\"}";
    json_t *body = json_loads (text, JSON_REJECT_DUPLICATES, NULL);
    if (!json_is_object (body)) {
        json_decref (body);
        return argos_cli_usage (self, "--body is a JSON object");
    }
    int rc = s_run (self, &asked, body);
    json_decref (body);
    return rc;
}
