//  argos_secret - a secret that the settings refer to: env:NAME or file:PATH. The secret itself is
//  never in a file of settings.

#ifndef ARGOS_SECRET_H
#define ARGOS_SECRET_H

#include <stddef.h>

#define ARGOS_SECRET_MAX 4096 //  Bytes of a secret

//  The secret that ref names, new, the caller's (argos_secret_free). file: below home when the path
//  has no slash at its beginning. NULL with a sentence in reason (size bytes) when there is none,
//  when it is not printable ASCII without space (so that it can't break out of a header line), or
//  when it is what examples have in its place ("changeme").
char *argos_secret_read (const char *home, const char *ref, char *reason, size_t size);

//  Wipes and frees it. NULL-safe, idempotent.
void argos_secret_free (char **secret_p);

#endif
