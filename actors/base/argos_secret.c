//  argos_secret - see the header. Reads the environment of this process, which nothing here
//  changes.

#include "argos_secret.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static const char *const s_placeholders[] = { "changeme", "change-me", "your-token-here",
    "your_token_here", "your-api-key", "your_api_key", "your-api-key-here", "your_api_key_here" };

//  The secret in bytes (size of them), without white space at its end; NULL when they are none

static char *
s_take (const char *bytes, size_t size)
{
    while (size && strchr (" \t\r\n", bytes[size - 1]))
        size--;
    if (size == 0 || size > ARGOS_SECRET_MAX)
        return NULL;
    for (size_t at = 0; at < size; at++)
        if (bytes[at] <= 0x20 || bytes[at] > 0x7e)
            return NULL;
    char *secret = strndup (bytes, size);
    if (!secret)
        abort ();
    bool placeholder = false;
    for (size_t i = 0; i < sizeof s_placeholders / sizeof *s_placeholders; i++)
        placeholder |= strcasecmp (secret, s_placeholders[i]) == 0;
    if (placeholder)
        argos_secret_free (&secret);
    return secret;
}

static char *
s_from_variable (const char *name, char *reason, size_t size)
{
    const char *value = getenv (name);
    char *secret = value && value[0] ? s_take (value, strlen (value)) : NULL;
    if (!value || !value[0])
        snprintf (reason, size, "the environment variable %s is not set", name);
    else if (!secret)
        snprintf (reason, size, "the environment variable %s does not hold a key", name);
    return secret;
}

static char *
s_from_file (const char *home, const char *name, char *reason, size_t size)
{
    char path[4096], bytes[ARGOS_SECRET_MAX + 2], *secret = NULL;
    bool absolute = name[0] == '/';
    snprintf (path, sizeof path, "%s%s%s", absolute ? "" : home, absolute ? "" : "/", name);
    int fd = open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t got = fd < 0 ? -1 : read (fd, bytes, sizeof bytes);
    int cause = errno;
    if (fd >= 0)
        close (fd);
    if (got < 0)
        snprintf (reason, size, "%s: %s", path, strerror (cause)); //  NOLINT(concurrency-mt-unsafe)
    else {
        secret = s_take (bytes, (size_t) got);
        if (!secret)
            snprintf (reason, size, "the file %s does not hold a key", path);
    }
    explicit_bzero (bytes, sizeof bytes);
    return secret;
}

char *
argos_secret_read (const char *home, const char *ref, char *reason, size_t size)
{
    if (strncmp (ref, "env:", 4) == 0)
        return s_from_variable (ref + 4, reason, size);
    if (strncmp (ref, "file:", 5) == 0)
        return s_from_file (home, ref + 5, reason, size);
    snprintf (reason, size, "expected env:NAME or file:PATH");
    return NULL;
}

void
argos_secret_free (char **secret_p)
{
    if (!secret_p || !*secret_p)
        return;
    explicit_bzero (*secret_p, strlen (*secret_p));
    free (*secret_p);
    *secret_p = NULL;
}
