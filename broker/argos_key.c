//  argos_key - see the header.
//
//  Invariant: a key that was read is complete: both halves of the pair are valid Z85. Limit: a file
//  of 4 KiB.

#include "argos_key.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MAX 4096

bool
argos_key_valid (const char *text)
{
    static const char alphabet[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                   ".-:+=^!/*?&<>()[]{}@%$#";
    return strlen (text) == ARGOS_KEY_Z85 && strspn (text, alphabet) == ARGOS_KEY_Z85;
}

//  The text of a file that only its owner can read; its size, or -1 with a sentence.

static ssize_t
s_read_file (const char *path, char *text, char *reason, size_t size)
{
    struct stat info;
    int fd = open (path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0) {
        snprintf (reason, size, "key file %s: %s", path, strerror (errno));
        return -1;
    }
    ssize_t got = -1;
    if (fstat (fd, &info) != 0 || !S_ISREG (info.st_mode))
        snprintf (reason, size, "key file %s: not a regular file", path);
    else if (info.st_mode & 077)
        snprintf (reason, size, "key file %s: others can read it; set its mode to 0600", path);
    else if ((got = read (fd, text, FILE_MAX + 1)) < 0 || got > FILE_MAX) {
        snprintf (reason, size, "key file %s: can't be read, or is larger than 4 KiB", path);
        got = -1;
    }
    close (fd);
    return got;
}

//  Copies a string member that fits. Returns false when it is wrong; absent is "" unless needed.

static bool
s_member (const json_t *object, const char *name, bool needed, char *target, size_t room)
{
    const json_t *value = json_object_get (object, name);
    const char *text = json_string_value (value);
    target[0] = 0;
    if (!value)
        return !needed;
    if (!text || strlen (text) >= room || strlen (text) != json_string_length (value))
        return false;
    memcpy (target, text, strlen (text) + 1);
    return true;
}

int
argos_key_parse (argos_key_t *self, const char *text, size_t size)
{
    memset (self, 0, sizeof *self);
    json_t *file = json_loadb (text, size, JSON_REJECT_DUPLICATES, NULL);
    bool good = s_member (file, "name", true, self->name, sizeof self->name) &&
                s_member (file, "role", false, self->role, sizeof self->role) &&
                s_member (file, "public", true, self->public_key, sizeof self->public_key) &&
                s_member (file, "secret", true, self->secret_key, sizeof self->secret_key) &&
                s_member (file, "server", false, self->server_key, sizeof self->server_key) &&
                s_member (file, "token", false, self->token, sizeof self->token) &&
                argos_name_valid (self->name) && argos_key_valid (self->public_key) &&
                argos_key_valid (self->secret_key) &&
                (!*self->server_key || argos_key_valid (self->server_key));
    json_decref (file);
    if (good)
        return 0;
    argos_key_wipe (self);
    return -1;
}

int
argos_key_read (argos_key_t *self, const char *path, char *reason, size_t size)
{
    char text[FILE_MAX + 1];
    memset (self, 0, sizeof *self);
    ssize_t got = s_read_file (path, text, reason, size);
    if (got < 0)
        return -1;
    int rc = argos_key_parse (self, text, (size_t) got);
    sodium_memzero (text, sizeof text);
    if (rc != 0)
        snprintf (reason, size, "key file %s: not of the form that `argos keys new` writes", path);
    return rc;
}

void
argos_key_wipe (argos_key_t *self)
{
    sodium_memzero (self, sizeof *self);
}
