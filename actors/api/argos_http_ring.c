//  argos_http_ring - the keys that a server knows.
//
//  Invariant: no key is kept, only its digest under a secret that lives as long as the process.

#include "argos_http_ring.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define S_KEY_MIN 16 //  Bytes of the own key

typedef struct {
    char owner[ARGOS_HTTP_OWNER_MAX + 1];           //  Whose
    unsigned scopes;                                //  What for
    unsigned char digest[crypto_generichash_BYTES]; //  Of its SHA-256, under the secret
} s_key_t;

struct argos_http_ring {
    unsigned char secret[crypto_generichash_KEYBYTES]; //  Random
    bool keyed;                                        //  own is there
    s_key_t own;                                       //  The own key
    s_key_t *keys;                                     //  Those of the file
    size_t count;                                      //  How many
    char *path;                                        //  The file, NULL = none
    struct stat seen;                                  //  What it was when it was read
};

static void
s_digest (const argos_http_ring_t *self, const char *sha256, unsigned char *target)
{
    (void) crypto_generichash (target, crypto_generichash_BYTES, (const unsigned char *) sha256, 64,
        self->secret, sizeof self->secret);
}

static bool
s_is_weak (const char *key)
{
    size_t size = strlen (key);
    bool varied = false;
    for (size_t i = 1; i < size; i++)
        varied = varied || key[i] != key[0];
    return size < S_KEY_MIN || !varied;
}

argos_http_ring_t *
argos_http_ring_new (const char *key, const char *path, char *reason)
{
    char sha256[65];
    if (key && *key && s_is_weak (key)) {
        (void) snprintf (reason, 256,
            "http: the key is too weak, %d characters are needed (api_server_key_invalid)",
            S_KEY_MIN);
        return NULL;
    }
    argos_http_ring_t *self = calloc (1, sizeof *self);
    if (!self)
        abort ();
    randombytes_buf (self->secret, sizeof self->secret);
    self->path = path ? strdup (path) : NULL;
    self->keyed = key && *key;
    if (self->keyed) {
        argos_http_key_hash (key, strlen (key), sha256);
        s_digest (self, sha256, self->own.digest);
        memcpy (self->own.owner, ARGOS_HTTP_MAIN, sizeof ARGOS_HTTP_MAIN);
        self->own.scopes = ARGOS_HTTP_ALL;
    }
    return self;
}

void
argos_http_ring_destroy (argos_http_ring_t **self_p)
{
    argos_http_ring_t *self = self_p ? *self_p : NULL;
    if (!self)
        return;
    *self_p = NULL;
    free (self->keys);
    free (self->path);
    sodium_memzero (self, sizeof *self);
    free (self);
}

bool
argos_http_ring_keyed (const argos_http_ring_t *self)
{
    return self->keyed;
}

//  Read the file when it is not the one that was read.

static void
s_refresh (argos_http_ring_t *self)
{
    struct stat now = { 0 };
    if (!self->path)
        return;
    if (stat (self->path, &now) != 0)
        memset (&now, 0, sizeof now);
    if (now.st_ino == self->seen.st_ino && now.st_size == self->seen.st_size &&
        now.st_mtim.tv_sec == self->seen.st_mtim.tv_sec &&
        now.st_mtim.tv_nsec == self->seen.st_mtim.tv_nsec)
        return;
    self->seen = now;
    argos_http_key_t *records = argos_http_key_read (self->path, &self->count);
    free (self->keys);
    self->keys = self->count ? calloc (self->count, sizeof *self->keys) : NULL;
    if (self->count && !self->keys)
        abort ();
    for (size_t i = 0; i < self->count; i++) {
        memcpy (self->keys[i].owner, records[i].owner, sizeof self->keys[i].owner);
        self->keys[i].scopes = records[i].scopes;
        s_digest (self, records[i].sha256, self->keys[i].digest);
    }
    free (records);
}

bool
argos_http_ring_find (
    argos_http_ring_t *self, const char *token, size_t size, char *ret_owner, unsigned *ret_scopes)
{
    char sha256[65];
    unsigned char digest[crypto_generichash_BYTES];
    const s_key_t *found = NULL;
    s_refresh (self);
    argos_http_key_hash (token, size, sha256);
    s_digest (self, sha256, digest);
    for (size_t i = 0; i < self->count; i++)
        if (sodium_memcmp (digest, self->keys[i].digest, sizeof digest) == 0)
            found = &self->keys[i];
    if (sodium_memcmp (digest, self->own.digest, sizeof digest) == 0 && self->keyed)
        found = &self->own;
    if (!found)
        return false;
    memcpy (ret_owner, found->owner, sizeof found->owner);
    *ret_scopes = found->scopes;
    return true;
}
