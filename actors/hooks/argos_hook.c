//  argos_hook - see the header.
//
//  Invariant: a hook in the array has a good manifest, and a program that was executable when it
//  was read. Limits: ARGOS_HOOKS_MAX hooks, those behind are left out; a manifest of 64 KiB.

#include "argos_hook.h"

#include "argos_commands.h"
#include "argos_embedded.h"
#include "argos_schema.h"
#include "argos_yaml.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MANIFEST "hook.yaml"
#define MANIFEST_MAX 65536 //  Bytes of one
#define SENTENCE_MAX 512   //  Bytes of a sentence

typedef struct {
    argos_schema_t *schema;   //  Of a manifest
    argos_hook_warn_fn *warn; //  May be NULL
    void *arg;                //  Its argument
    char problem[256];        //  First one of the manifest at work
} loader_t;

static void
s_leave_out (const loader_t *self, const char *name, const char *why)
{
    char sentence[SENTENCE_MAX];
    snprintf (sentence, sizeof sentence, "hook %.64s is left out: %.400s", name, why);
    if (self->warn)
        self->warn (self->arg, sentence);
}

static void
s_problem (void *arg, const char *path, const char *expected, bool unknown)
{
    loader_t *self = arg;
    if (self->problem[0])
        return;
    if (unknown)
        snprintf (self->problem, sizeof self->problem, MANIFEST ": %.100s: unknown key", path);
    else
        snprintf (self->problem, sizeof self->problem, MANIFEST ": %.100s: expected %.100s", path,
            expected);
}

//  Whether nobody but its owner, who is us or root, can write it.

static bool
s_is_ours (const char *path, struct stat *about)
{
    return stat (path, about) == 0 && (about->st_uid == geteuid () || about->st_uid == 0) &&
           !(about->st_mode & (S_IWGRP | S_IWOTH));
}

//  The manifest in a folder, checked; new, or NULL with a problem.

static json_t *
s_read (loader_t *self, const char *folder)
{
    char path[PATH_MAX], text[MANIFEST_MAX];
    snprintf (path, sizeof path, "%.3900s/" MANIFEST, folder);
    int fd = open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t size = fd < 0 ? -1 : read (fd, text, sizeof text);
    if (fd >= 0)
        close (fd);
    if (size < 0 || size == sizeof text) {
        snprintf (self->problem, sizeof self->problem,
            "expected a readable " MANIFEST " of less than %d bytes", MANIFEST_MAX);
        return NULL;
    }
    json_t *manifest =
        argos_yaml_load (MANIFEST, text, (size_t) size, NULL, self->problem, sizeof self->problem);
    if (manifest && argos_schema_validate (self->schema, manifest, s_problem, self) != 0) {
        json_decref (manifest);
        manifest = NULL;
    }
    return manifest;
}

//  What a manifest wants to hear, new: other names of commands have become their own, which is what
//  events are called by.

static json_t *
s_events (const json_t *patterns)
{
    static const char prefix[] = "command:";
    json_t *events = json_array (), *pattern;
    size_t index;
    json_array_foreach (patterns, index, pattern) {
        const char *text = json_string_value (pattern), *word = text + sizeof prefix - 1;
        bool command = strncmp (text, prefix, sizeof prefix - 1) == 0;
        const argos_commands_row_t *row = command ? argos_commands_find (word) : NULL;
        json_array_append_new (
            events, row ? json_sprintf ("%s%s", prefix, row->name) : json_incref (pattern));
    }
    return events;
}

//  Fills a hook from its folder. Returns 0, or -1 with a problem.

static int
s_load_one (loader_t *self, const char *home, const char *name, argos_hook_t *hook)
{
    char folder[PATH_MAX], program[PATH_MAX];
    struct stat about;
    self->problem[0] = 0;
    snprintf (folder, sizeof folder, "%.3800s/hooks/%.64s", home, name);
    if (!s_is_ours (folder, &about) || !S_ISDIR (about.st_mode)) {
        snprintf (self->problem, sizeof self->problem, "expected a folder that only we can write");
        return -1;
    }
    json_t *manifest = s_read (self, folder);
    if (!manifest)
        return -1;
    const char *word = json_string_value (json_object_get (manifest, "program"));
    json_t *timeout = json_object_get (manifest, "timeout_ms");
    snprintf (program, sizeof program, "%.3900s/%.64s", folder, word ? word : "run");
    if (!s_is_ours (program, &about) || !S_ISREG (about.st_mode) || access (program, X_OK) != 0) {
        snprintf (self->problem, sizeof self->problem,
            "%.64s: expected an executable file that only we can write", word ? word : "run");
        json_decref (manifest);
        return -1;
    }
    *hook = (argos_hook_t){ .name = strdup (name),
        .folder = strdup (folder),
        .program = strdup (program),
        .events = s_events (json_object_get (manifest, "events")),
        .timeout_ms = timeout ? json_integer_value (timeout) : 5000 };
    json_decref (manifest);
    if (!hook->name || !hook->folder || !hook->program)
        abort ();
    return 0;
}

static int
s_is_visible (const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static argos_schema_t *
s_schema (void)
{
    char reason[256];
    const argos_embedded_t *file = argos_embedded_find ("hook.schema.json");
    json_t *json = json_loadb (file->data, file->size, 0, NULL);
    argos_schema_t *schema = argos_schema_compile (json, reason, sizeof reason);
    json_decref (json);
    if (!schema)
        abort (); //  It is in this program
    return schema;
}

size_t
argos_hook_load (const char *home, argos_hook_t **ret_hooks, argos_hook_warn_fn *warn, void *arg)
{
    char path[PATH_MAX];
    struct dirent **entries = NULL;
    loader_t loader = { .schema = s_schema (), .warn = warn, .arg = arg };
    size_t count = 0;
    *ret_hooks = calloc (ARGOS_HOOKS_MAX, sizeof **ret_hooks);
    if (!*ret_hooks)
        abort ();
    snprintf (path, sizeof path, "%.3900s/hooks", home);
    int found = scandir (path, &entries, s_is_visible, alphasort);
    for (int i = 0; i < found; i++) {
        const char *name = entries[i]->d_name;
        if (strlen (name) > 64)
            s_leave_out (&loader, name, "its name has more than 64 bytes");
        else if (count == ARGOS_HOOKS_MAX)
            s_leave_out (&loader, name, "there are too many");
        else if (s_load_one (&loader, home, name, &(*ret_hooks)[count]) == 0)
            count++;
        else
            s_leave_out (&loader, name, loader.problem);
        free (entries[i]);
    }
    free (entries);
    argos_schema_destroy (&loader.schema);
    return count;
}

void
argos_hook_free (argos_hook_t **hooks_p, size_t count)
{
    for (size_t i = 0; *hooks_p && i < count; i++) {
        free ((*hooks_p)[i].name);
        free ((*hooks_p)[i].folder);
        free ((*hooks_p)[i].program);
        json_decref ((*hooks_p)[i].events);
    }
    free (*hooks_p);
    *hooks_p = NULL;
}

bool
argos_hook_wants (const argos_hook_t *self, const char *event)
{
    for (size_t i = 0; i < json_array_size (self->events); i++) {
        const char *pattern = json_string_value (json_array_get (self->events, i));
        size_t size = strlen (pattern);
        if (pattern[size - 1] == '*' ? strncmp (pattern, event, size - 1) == 0
                                     : strcmp (pattern, event) == 0)
            return true;
    }
    return false;
}

json_t *
argos_hook_decision (const char *output, char *reason, size_t size)
{
    json_t *found = NULL, *body = NULL;
    while (*output) {
        size_t length = strcspn (output, "\n");
        json_t *line = json_loadb (output, length, JSON_REJECT_DUPLICATES, NULL);
        if (json_is_object (line)) {
            json_decref (found);
            found = json_incref (line);
        }
        json_decref (line);
        output += length + (output[length] == '\n');
    }
    if (!found)
        return json_pack ("{s:s}", "decision", "allow");
    if (argos_schema_check ("hook.command.result", found, reason, size) == ARGOS_OK)
        body = json_incref (found);
    const char *word = json_string_value (json_object_get (body, "decision"));
    if (word && strcmp (word, "rewrite") == 0 && !json_object_get (body, "command")) {
        snprintf (reason, size, "rewrite without a command");
        json_decref (body);
        body = NULL;
    }
    json_decref (found);
    return body;
}
