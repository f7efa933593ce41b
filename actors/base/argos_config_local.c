//  argos_config_local - local.yaml: what programs write, laid over what people have written.
//
//  Invariant: the file is replaced as a whole, by a rename, and only by one that the schema lets in
//  together with argos.yaml. Limits: those of argos_yaml; its comments are lost.

#include "argos_config_priv.h"

#include "argos_setting.h"
#include "argos_yaml.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define HEADER                                                                                     \
    "# Written by argos config set; laid over argos.yaml. The environment is laid over both.\n"

//  A name as it is when nothing in it means something, else in quotes.

static void
s_write_name (FILE *out, const char *name)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    json_t *text = argos_config_must (json_string (name));
    char *quoted = argos_config_must (json_dumps (text, JSON_ENCODE_ANY));
    bool word = name[0] >= 'a' && name[0] <= 'z' && strspn (name, plain) == strlen (name) &&
                strcmp (name, "null") != 0 && strcmp (name, "true") != 0 &&
                strcmp (name, "false") != 0;
    fputs (word ? name : quoted, out);
    free (quoted);
    json_decref (text);
}

static void
s_write (FILE *out, json_t *object, int indent) //  NOLINT(misc-no-recursion): as deep as YAML
{
    const char *name;
    json_t *value;
    json_object_foreach (object, name, value) {
        fprintf (out, "%*s", indent, "");
        s_write_name (out, name);
        if (json_object_size (value)) {
            fputs (":\n", out);
            s_write (out, value, indent + 2);
            continue;
        }
        char *text = argos_config_must (json_dumps (value, JSON_ENCODE_ANY));
        fprintf (out, ": %s\n", text);
        free (text);
    }
}

char *
argos_config_yaml (json_t *tree)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = argos_config_must (open_memstream (&text, &size));
    fputs (HEADER, out);
    s_write (out, tree, 0);
    fclose (out);
    return argos_config_must (text);
}

//  Writes text to the file beside it, then renames that. Returns 0 or an errno.

static int
s_replace (const char *home, const char *text)
{
    char path[4096], next[4096 + 8];
    snprintf (path, sizeof path, "%s/" ARGOS_CONFIG_LOCAL, home);
    snprintf (next, sizeof next, "%s.new", path);
    size_t size = strlen (text), used = 0;
    int fd = open (next, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    int error = fd < 0 ? errno : 0;
    while (!error && used < size) {
        ssize_t done = write (fd, text + used, size - used);
        if (done < 0 && errno != EINTR)
            error = errno;
        else if (done > 0)
            used += (size_t) done;
    }
    if (!error && fsync (fd) != 0)
        error = errno;
    if (fd >= 0)
        close (fd);
    if (!error && rename (next, path) != 0)
        error = errno;
    return error;
}

//  A warning about local.yaml is of what is to be written: there an unknown key is an error.

typedef struct {
    char reason[512]; //  The first one; "" = none
} strict_t;

static void
s_warned (void *arg, const char *sentence)
{
    strict_t *self = arg;
    if (!self->reason[0] &&
        strncmp (sentence, ARGOS_CONFIG_LOCAL, strlen (ARGOS_CONFIG_LOCAL)) == 0)
        snprintf (self->reason, sizeof self->reason, "%s", sentence);
}

//  The whole sentence without the place in a file that was never written

static void
s_reason (char *reason, size_t size, const char *sentence)
{
    const char *key = strstr (sentence, ": ");
    bool local = strncmp (sentence, ARGOS_CONFIG_LOCAL, strlen (ARGOS_CONFIG_LOCAL)) == 0;
    snprintf (reason, size, "%s", local && key ? key + 2 : sentence);
}

static int
s_put (const char *home, const char *path, json_t *value, char *reason, size_t size)
{
    char why[512] = "";
    strict_t strict = { "" };
    json_t *origins = argos_config_must (json_object ());
    json_t *local = argos_config_read_one (home, ARGOS_CONFIG_LOCAL, origins, why, sizeof why);
    json_decref (origins);
    bool unset = !value;
    int rc = -1;
    char *text = NULL;
    argos_config_t *config = NULL;
    if (!local)
        json_decref (value);
    else if (!json_is_object (local)) {
        json_decref (value);
        snprintf (why, sizeof why, ARGOS_CONFIG_LOCAL ": expected an object");
    }
    else if (argos_setting_put (local, path, value) != 0 && !unset)
        snprintf (why, sizeof why, "%.256s: no key can be there", path);
    else {
        text = argos_config_yaml (local);
        config = argos_config_try (home, text, s_warned, &strict, why, sizeof why);
    }
    if (config && strict.reason[0])
        snprintf (why, sizeof why, "%s", strict.reason);
    else if (config) {
        int error = s_replace (home, text);
        rc = error ? -1 : 0;
        if (error)
            snprintf (why, sizeof why, "%s/" ARGOS_CONFIG_LOCAL " can't be written (errno %d)",
                home, error);
    }
    s_reason (reason, size, why);
    argos_config_destroy (&config);
    free (text);
    json_decref (local);
    return rc;
}

int
argos_config_set (const char *home, const char *path, json_t *value, char *reason, size_t size)
{
    //  One writer at a time; the lock goes with the descriptor
    int fd = open (home, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || flock (fd, LOCK_EX) != 0) {
        snprintf (reason, size, "%s: expected a folder of argosd", home);
        json_decref (value);
        if (fd >= 0)
            close (fd);
        return -1;
    }
    int rc = s_put (home, path, value, reason, size);
    fsync (fd);
    close (fd);
    return rc;
}
