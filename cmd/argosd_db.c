//  argosd_db - `argos db`, as far as it works on files: all of it while no daemon runs, and the
//  looks at copies.
//
//  Invariant: the database itself is touched only under the lock of the home; what is looked at is
//  a copy. A file that somebody names is only read, and nothing is made beside it. A backup gets
//  its name when it is on the disk and has been checked. What is made on the way goes with us
//  (argosd_scratch).

#include "argos_say_db.h"
#include "argos_store_file.h"
#include "argos_store_scratch.h"
#include "argosd_home.h"
#include "argosd_host.h"
#include "argosd_scratch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

typedef struct {
    argos_cli_t *cli;                     //  Ours
    const char *what;                     //  Said with the progress
    json_t *findings;                     //  Of a check
    json_t *tables;                       //  Of a salvage
    int64_t rows;                         //  Of a query
    char path[PATH_MAX];                  //  Of the database
    char reason[ARGOS_STORE_FILE_REASON]; //  Why not
} self_t;

static int
s_fail (const self_t *self)
{
    return argos_cli_error (self->cli, CLI_FAILED, "internal", "%s", self->reason);
}

static bool
s_progress (void *arg, int64_t done, int64_t total)
{
    const self_t *self = arg;
    argos_say_db_progress (self->cli, self->what, done, total);
    return true;
}

//  A path in HOME/backups. Returns 0 or -1 with a reason.

static int
s_in_backups (self_t *self, const char *prefix, char *path, size_t size)
{
    char name[64];
    int length = snprintf (path, size, "%s/" DB_FOLDER, self->cli->home);
    if (length > 0 && (size_t) length < size && (mkdir (path, 0700) == 0 || errno == EEXIST) &&
        argos_say_db_name (prefix, name, sizeof name) == 0) {
        length = snprintf (path, size, "%s/" DB_FOLDER "/%s", self->cli->home, name);
        if (length > 0 && (size_t) length < size)
            return 0;
    }
    snprintf (self->reason, sizeof self->reason, "%.400s can't be used", path);
    return -1;
}

//  What is to be read of a file that somebody names: that file; or, when it has a log or would be
//  written to (copied), a copy in HOME/backups that stands alone, whose name is in copy. NULL with
//  a reason.

static const char *
s_foreign (self_t *self, const char *file, bool copied, char copy[static PATH_MAX])
{
    *copy = 0;
    if (argos_store_scratch_in_use (file, self->reason))
        return NULL;
    if (!copied && !argos_store_scratch_needed (file))
        return file;
    if (s_in_backups (self, DB_LOOK, copy, PATH_MAX) != 0) {
        snprintf (self->reason, sizeof self->reason,
            "to read %.200s a copy is needed, for which %.200s/" DB_FOLDER " can't be used", file,
            self->cli->home);
        *copy = 0;
        return NULL;
    }
    argosd_scratch_add (copy);
    if (argos_store_scratch_make (file, copy, false, self->reason) != 0 ||
        argos_store_file_settle (copy, self->reason) != 0)
        return NULL;
    return copy;
}

//  ------------------------------------------------------------------------------------------------

static void
s_finding (void *arg, const char *finding)
{
    json_t *text = json_string (finding);
    json_array_append_new (((self_t *) arg)->findings, text ? text : json_string ("?"));
}

//  Says what is found in the file at path, by what is read for it.

static int
s_check_file (self_t *self, const char *path, const char *read, bool own, bool deep)
{
    int64_t schema = 0;
    struct stat info;
    json_t *finding;
    size_t index;
    self->findings = json_array ();
    int count = argos_store_file_check (read, own, deep, s_finding, self, &schema, self->reason);
    int64_t bytes = stat (path, &info) == 0 ? info.st_size : 0;
    if (count < 0) {
        json_decref (self->findings);
        return s_fail (self);
    }
    if (self->cli->json)
        argos_cli_print (json_pack ("{s:b, s:O, s:I, s:I}", "ok", count == 0, "findings",
            self->findings, "schema", (json_int_t) schema, "bytes", (json_int_t) bytes));
    else {
        json_array_foreach (self->findings, index, finding)
            printf ("%s\n", json_string_value (finding));
        printf ("%s, schema %lld, %lld bytes\n", count ? "damaged" : "ok", (long long) schema,
            (long long) bytes);
    }
    json_decref (self->findings);
    return count ? CLI_FAILED : CLI_OK;
}

static int
s_check (self_t *self, const argos_db_line_t *line)
{
    char copy[PATH_MAX] = "";
    const char *path = line->file ? line->file : self->path, *read = path;
    if (line->file && !line->own)
        read = s_foreign (self, path, line->deep, copy);
    int rc = read ? s_check_file (self, path, read, !line->file, line->deep) : s_fail (self);
    argosd_scratch_drop (copy);
    return rc;
}

//  A name on another file system is that of one more copy.

static int
s_copy_over (self_t *self, const char *part, const char *target)
{
    argosd_scratch_add (target);
    if (argos_store_file_copy (part, target, s_progress, self, self->reason) != 0 ||
        argos_store_file_settle (target, self->reason) != 0)
        return -1;
    argosd_scratch_keep (target);
    return 0;
}

//  A new file gets its name: on the disk, without a finding, and then linked; over the border of a
//  file system it is copied once more. Returns 0 or -1 with a reason.

static int
s_name_file (self_t *self, const char *part, const char *target, int64_t *ret_schema)
{
    self->findings = json_array ();
    int rc = argos_store_file_settle (part, self->reason);
    int count = rc == 0 ? argos_store_file_check (
                              part, false, false, s_finding, self, ret_schema, self->reason)
                        : -1;
    if (count > 0)
        snprintf (self->reason, sizeof self->reason, "the copy is damaged: %.300s",
            json_string_value (json_array_get (self->findings, 0)));
    json_decref (self->findings);
    rc = count == 0 ? 0 : -1;
    if (rc == 0 && link (part, target) != 0) {
        snprintf (self->reason, sizeof self->reason, "%.300s: %s", target, strerror (errno));
        rc = errno == EXDEV || errno == EPERM ? s_copy_over (self, part, target) : -1;
    }
    argosd_scratch_drop (part);
    return rc;
}

static int
s_finish_copy (self_t *self, const char *part, const char *target)
{
    int64_t schema = 0;
    struct stat info;
    if (s_name_file (self, part, target, &schema) != 0)
        return s_fail (self);
    int64_t bytes = stat (target, &info) == 0 ? info.st_size : 0;
    if (self->cli->json)
        argos_cli_print (json_pack ("{s:s, s:I, s:I}", "backup", target, "schema",
            (json_int_t) schema, "bytes", (json_int_t) bytes));
    else
        printf ("%s (%lld bytes)\n", target, (long long) bytes);
    return CLI_OK;
}

static int
s_finish (self_t *self, const argos_db_line_t *line)
{
    argosd_scratch_add (line->words[0]);
    return s_finish_copy (self, line->words[0], line->words[1]);
}

//  Where a new file goes, and its name until it is whole. Returns 0, or -1 with a reason.

static int
s_new_file (self_t *self, const argos_db_line_t *line, const char *prefix, char *target, char *part)
{
    if (line->count)
        snprintf (target, PATH_MAX, "%s", line->words[0]);
    else if (s_in_backups (self, prefix, target, PATH_MAX) != 0)
        return -1;
    if (access (target, F_OK) == 0) {
        snprintf (self->reason, sizeof self->reason, "%.300s is there already", target);
        return -1;
    }
    snprintf (part, PATH_MAX + 8, "%s.part", target);
    argosd_scratch_add (part);
    return 0;
}

static int
s_backup (self_t *self, const argos_db_line_t *line)
{
    char target[PATH_MAX], part[PATH_MAX + 8];
    self->what = "backup";
    if (s_new_file (self, line, "argos", target, part) != 0)
        return argos_cli_error (self->cli, CLI_FAILED, "conflict", "%s", self->reason);
    if (argos_store_file_copy (self->path, part, s_progress, self, self->reason) != 0)
        return s_fail (self);
    return s_finish_copy (self, part, target);
}

//  ------------------------------------------------------------------------------------------------

static void
s_salvaged (void *arg, const argos_store_salvage_t *table)
{
    json_array_append_new (((self_t *) arg)->tables,
        json_pack ("{s:s, s:I, s:I, s:I, s:b}", "table", table->name, "copied",
            (json_int_t) table->copied, "lost", (json_int_t) table->lost, "made",
            (json_int_t) table->made, "more", table->more));
}

//  A line of each table that has something to say.

static void
s_say_tables (const json_t *tables)
{
    size_t index;
    json_t *table;
    json_array_foreach (tables, index, table) {
        long long copied = json_integer_value (json_object_get (table, "copied"));
        long long lost = json_integer_value (json_object_get (table, "lost"));
        long long made = json_integer_value (json_object_get (table, "made"));
        bool more = json_is_true (json_object_get (table, "more"));
        if (!copied && !lost && !made && !more)
            continue;
        printf ("%s: %lld copied", json_string_value (json_object_get (table, "table")), copied);
        if (lost)
            printf (", %lld lost", lost);
        if (made)
            printf (", %lld made anew from their messages", made);
        printf ("%s\n", more ? ", and it is damaged: more may be lost" : "");
    }
}

static int
s_salvage (self_t *self, const argos_db_line_t *line)
{
    char target[PATH_MAX], part[PATH_MAX + 8], work[PATH_MAX + 16];
    int64_t schema = 0;
    self->what = "salvage";
    if (s_new_file (self, line, "salvaged", target, part) != 0)
        return argos_cli_error (self->cli, CLI_FAILED, "conflict", "%s", self->reason);
    if (line->file && argos_store_scratch_in_use (line->file, self->reason))
        return s_fail (self);
    snprintf (work, sizeof work, "%s.work", part);
    argosd_scratch_add (work);
    self->tables = json_array ();
    int rc = argos_store_file_salvage (
        line->file ? line->file : self->path, part, s_progress, self, s_salvaged, self->reason);
    if (rc == 0)
        rc = s_name_file (self, part, target, &schema);
    if (rc == 0 && self->cli->json)
        argos_cli_print (json_pack ("{s:s, s:I, s:O}", "salvaged", target, "schema",
            (json_int_t) schema, "tables", self->tables));
    else if (rc == 0) {
        s_say_tables (self->tables);
        printf (
            "%s\nto put it in the place of the database: argos db restore %s\n", target, target);
    }
    json_decref (self->tables);
    return rc == 0 ? CLI_OK : s_fail (self);
}

//  ------------------------------------------------------------------------------------------------

static void
s_cell (const json_t *value)
{
    if (json_is_string (value)) {
        const char *text = json_string_value (value);
        for (const char *line = text; *line; line++)
            putchar ((unsigned char) *line < ' ' || *line == 0x7f ? ' ' : *line);
        return;
    }
    char *text = json_dumps (value, JSON_ENCODE_ANY);
    fputs (json_is_null (value) ? "" : text, stdout);
    free (text);
}

static void
s_row (void *arg, json_t *row)
{
    self_t *self = arg;
    const char *name, *tab = "";
    json_t *value;
    if (self->cli->json) {
        argos_cli_print (json_incref (row));
        return;
    }
    if (self->rows++ == 0) {
        json_object_foreach (row, name, value) {
            printf ("%s%s", tab, name);
            tab = "\t";
        }
        putchar ('\n');
    }
    tab = "";
    json_object_foreach (row, name, value) {
        fputs (tab, stdout);
        s_cell (value);
        tab = "\t";
    }
    putchar ('\n');
}

//  The copy of the database that a query asks. NULL with a reason.

static const char *
s_snapshot (self_t *self, char copy[static PATH_MAX])
{
    self->what = "snapshot";
    if (s_in_backups (self, DB_LOOK, copy, PATH_MAX) != 0) {
        *copy = 0;
        return NULL;
    }
    argosd_scratch_add (copy);
    if (argos_store_file_copy (self->path, copy, s_progress, self, self->reason) != 0)
        return NULL;
    return copy;
}

static int
s_query (self_t *self, const argos_db_line_t *line)
{
    char copy[PATH_MAX] = "";
    const char *read = line->own    ? line->file
                       : line->file ? s_foreign (self, line->file, false, copy)
                                    : s_snapshot (self, copy);
    int rc = read ? argos_store_file_query (read, line->words[0], s_row, self, self->reason) : -1;
    argosd_scratch_drop (copy);
    return rc == 0 ? CLI_OK : s_fail (self);
}

static int
s_compact (self_t *self, const argos_db_line_t *line)
{
    int64_t before = 0, after = 0;
    (void) line;
    if (argos_store_file_compact (self->path, &before, &after, self->reason) != 0)
        return s_fail (self);
    if (self->cli->json)
        argos_cli_print (
            json_pack ("{s:I, s:I}", "before", (json_int_t) before, "after", (json_int_t) after));
    else
        printf ("%lld bytes before, %lld after\n", (long long) before, (long long) after);
    return CLI_OK;
}

static int
s_restore (self_t *self, const argos_db_line_t *line)
{
    char *aside = NULL, copy[PATH_MAX] = "", fresh[PATH_MAX + 16];
    struct timespec now;
    clock_gettime (CLOCK_REALTIME, &now);
    self->what = "restore";
    snprintf (fresh, sizeof fresh, "%s" DB_FRESH, self->path);
    argosd_scratch_add (fresh);
    const char *read = s_foreign (self, line->words[0], false, copy);
    int rc = read ? argos_store_file_restore (read, self->path,
                        (int64_t) now.tv_sec * 1000 + now.tv_nsec / 1000000, s_progress, self,
                        &aside, self->reason)
                  : -1;
    argosd_scratch_drop (copy);
    if (rc != 0)
        return s_fail (self);
    if (self->cli->json)
        argos_cli_print (json_pack ("{s:s, s:s?}", "restored", line->words[0], "aside", aside));
    else {
        printf ("%s is restored\n", line->words[0]);
        if (aside)
            printf ("what was there is %s\n", aside);
    }
    free (aside);
    return CLI_OK;
}

//  ------------------------------------------------------------------------------------------------

int
argosd_command_db (argos_cli_t *cli, int argc, char **argv)
{
    static const struct {
        const char *verb;                                            //  Second word
        int (*function) (self_t *self, const argos_db_line_t *line); //  What it does
        bool needs;                                                  //  The database must be there
    } verbs[] = { { "check", s_check, true }, { "backup", s_backup, true },
        { "restore", s_restore, false }, { "compact", s_compact, true }, { "query", s_query, true },
        { "salvage", s_salvage, true }, { "finish", s_finish, false } };
    argos_db_line_t line;
    argosd_home_t home = { .lock_fd = -1 };
    self_t self = { .cli = cli };
    int rc = argos_say_db_line (cli, argc, argv, &line);
    if (rc != CLI_OK)
        return rc;
    size_t at = 0;
    while (strcmp (verbs[at].verb, line.verb) != 0)
        at++;
    snprintf (self.path, sizeof self.path, "%.*s/" DB_FILE, PATH_MAX - 32, cli->home);
    bool apart = line.file || verbs[at].function == s_finish; //  It touches copies only
    if (!apart && verbs[at].needs && access (self.path, F_OK) != 0)
        return argos_cli_error (cli, CLI_FAILED, "not_found", "there is no %s", self.path);
    if (!apart && argosd_home_hold (&home, cli->home, self.reason, sizeof self.reason) != 0)
        return s_fail (&self);
    argosd_scratch_sweep (cli->home, !apart);
    if (line.own)
        argosd_scratch_add (line.file);
    if (line.own || verbs[at].function == s_finish)
        argosd_scratch_follow ();
    rc = verbs[at].function (&self, &line);
    argosd_home_close (&home);
    return rc;
}
