//  argosd_doctor - `argos doctor [--fix]`: looks at all that argosd needs, with or without one that
//  runs, and says of each fault how it is cured.
//
//  Invariant: without --fix nothing is changed. Exit codes: 0 no fault is left (there may be
//  warnings), 1 there is one, 2 usage.

#include "argosd_doctor.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;         //  What is looked at
    doctor_check_t *function; //  Which looks
    bool home;                //  Only when there is a home
} checks[] = {
    { "home", argosd_doctor_home, false },
    { "settings", argosd_doctor_settings, false },
    { "permissions", argosd_doctor_permissions, true },
    { "daemon", argosd_doctor_daemon, true },
    { "leftovers", argosd_doctor_leftovers, true },
    { "keys", argosd_doctor_keys, true },
    { "secrets", argosd_doctor_secrets, false },
    { "database", argosd_doctor_database, true },
    { "disk", argosd_doctor_disk, true },
    { "clock", argosd_doctor_clock, true },
    { "descriptors", argosd_doctor_descriptors, false },
    { "ports", argosd_doctor_ports, false },
    { "adapters", argosd_doctor_adapters, false },
    { "provider", argosd_doctor_provider, false },
};

static const char *const words[] = { "ok", "warning", "fault", "cured" };

static void
s_note (doctor_t *self, doctor_level_t level, const char *cure, const char *text)
{
    json_t *sentence = json_string (text);
    self->count[level]++;
    json_array_append_new (self->findings,
        json_pack ("{s:s,s:s,s:o,s:s*,s:b}", "check", self->check, "level", words[level], "text",
            sentence ? sentence : json_string ("the sentence is not UTF-8"), "cure", cure,
            "curable", cure && strcmp (cure, DOCTOR_FIX) == 0));
    if (self->cli->json)
        return;
    printf ("%-8s %-12s ", words[level], self->check);
    argos_cli_write (text, strlen (text));
    putchar ('\n');
    if (cure)
        printf ("%-21s -> %s\n", "", cure);
}

void
argosd_doctor_say (doctor_t *self, doctor_level_t level, const char *cure, const char *format, ...)
{
    char text[PATH_MAX + 1024];
    va_list list;
    va_start (list, format);
    vsnprintf (text, sizeof text, format, list); // NOLINT(clang-analyzer-valist.*)
    va_end (list);
    s_note (self, level, cure, text);
}

void
argosd_doctor_curable (
    doctor_t *self, doctor_level_t level, int rc, const char *other, const char *format, ...)
{
    char text[PATH_MAX + 1024];
    va_list list;
    va_start (list, format);
    vsnprintf (text, sizeof text, format, list); // NOLINT(clang-analyzer-valist.*)
    va_end (list);
    if (rc == 0)
        s_note (self, DOCTOR_CURED, NULL, text);
    else
        s_note (self, level, self->fix ? other : DOCTOR_FIX, text);
}

static void
s_summary (const doctor_t *self)
{
    if (self->cli->json)
        argos_cli_print (json_pack ("{s:b,s:i,s:i,s:i,s:O}", "ok", self->count[DOCTOR_FAULT] == 0,
            "faults", self->count[DOCTOR_FAULT], "warnings", self->count[DOCTOR_WARNING], "cured",
            self->count[DOCTOR_CURED], "findings", self->findings));
    else
        printf ("%d faults, %d warnings, %d cured\n", self->count[DOCTOR_FAULT],
            self->count[DOCTOR_WARNING], self->count[DOCTOR_CURED]);
}

int
argosd_command_doctor (argos_cli_t *cli, int argc, char **argv)
{
    doctor_t self = { .cli = cli };
    for (int i = 0; i < argc; i++) {
        if (strcmp (argv[i], "--fix") != 0)
            return argos_cli_usage (cli, "doctor knows --fix, not %s", argv[i]);
        self.fix = true;
    }
    self.findings = json_array ();
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        self.check = checks[i].name;
        if (checks[i].home && self.absent)
            continue;
        int before = self.count[DOCTOR_WARNING] + self.count[DOCTOR_FAULT] +
                     self.count[DOCTOR_CURED] + self.count[DOCTOR_GOOD];
        checks[i].function (&self);
        if (before == self.count[DOCTOR_WARNING] + self.count[DOCTOR_FAULT] +
                          self.count[DOCTOR_CURED] + self.count[DOCTOR_GOOD])
            argosd_doctor_say (&self, DOCTOR_GOOD, NULL, "nothing to complain about");
    }
    s_summary (&self);
    argos_config_destroy (&self.config);
    json_decref (self.findings);
    return self.count[DOCTOR_FAULT] ? CLI_FAILED : CLI_OK;
}
