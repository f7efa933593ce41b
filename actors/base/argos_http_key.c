//  argos_http_key - the keys of the HTTP interface beside HOME/api-key.
//
//  Invariant: the file holds SHA-256 of 32 random bytes each, so that who reads it has no key; a
//  revoked record never becomes good again and its name is never used again. Written aside, synced
//  and renamed, under a lock of its own. Limits: 1,000 records, a file of 1 MiB.

#include "argos_http_key.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define S_RECORDS_MAX 1000   //  Records, revoked ones too
#define S_FILE_MAX (1 << 20) //  Bytes of the file
#define S_TOKEN_BYTES 32     //  Random bytes of a key

static const struct {
    const char *name; //  As it is written
    unsigned bit;     //  What it means
} s_scopes[] = {
    { "runs", ARGOS_HTTP_RUNS },
    { "chat", ARGOS_HTTP_CHAT },
    { "read", ARGOS_HTTP_READ },
    { "admin", ARGOS_HTTP_ADMIN },
};

#define S_SCOPES (sizeof s_scopes / sizeof *s_scopes)

static unsigned
s_scope (const char *word, size_t size)
{
    for (size_t i = 0; i < S_SCOPES; i++)
        if (strlen (s_scopes[i].name) == size && memcmp (s_scopes[i].name, word, size) == 0)
            return s_scopes[i].bit;
    return 0;
}

unsigned
argos_http_key_scopes (const char *text)
{
    unsigned bits = 0;
    while (true) {
        size_t size = strcspn (text, ",");
        unsigned bit = s_scope (text, size);
        if (!bit)
            return 0;
        bits |= bit;
        if (!text[size])
            return bits;
        text += size + 1;
    }
}

int
argos_http_key_name_valid (const char *text)
{
    size_t size = strlen (text);
    return size >= 1 && size <= ARGOS_HTTP_OWNER_MAX && *text >= 'a' && *text <= 'z' &&
           strspn (text, "abcdefghijklmnopqrstuvwxyz0123456789._-") == size;
}

void
argos_http_key_hash (const char *token, size_t size, char ret_sha256[static 65])
{
    unsigned char digest[crypto_hash_sha256_BYTES];
    crypto_hash_sha256 (digest, (const unsigned char *) token, size);
    (void) sodium_bin2hex (ret_sha256, 65, digest, sizeof digest);
}

//  ------------------------------------------------------------------------------------------------
//  The file

//  Its records, new; an empty array when there is no file, NULL when it is no such file (errno).

static json_t *
s_load (const char *path)
{
    int fd = open (path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    struct stat info;
    if (fd < 0)
        return errno == ENOENT ? json_array () : NULL;
    json_t *root = NULL;
    if (fstat (fd, &info) == 0 && S_ISREG (info.st_mode) && info.st_size <= S_FILE_MAX)
        root = json_loadfd (fd, JSON_REJECT_DUPLICATES, NULL);
    close (fd);
    json_t *keys = json_incref (json_object_get (root, "keys"));
    json_decref (root);
    if (!json_is_array (keys)) {
        json_decref (keys);
        keys = NULL;
        errno = EBADMSG;
    }
    return keys;
}

static int
s_save (const char *path, json_t *keys)
{
    char aside[PATH_MAX];
    json_t *root = json_pack ("{s:O}", "keys", keys);
    if (!root || snprintf (aside, sizeof aside, "%s.new", path) >= (int) sizeof aside) {
        json_decref (root);
        errno = ENAMETOOLONG;
        return -1;
    }
    int fd = open (aside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR);
    bool good = fd >= 0 && fchmod (fd, 0600) == 0 && json_dumpfd (root, fd, JSON_INDENT (1)) == 0 &&
                fsync (fd) == 0;
    if (fd >= 0)
        close (fd);
    json_decref (root);
    return good ? rename (aside, path) : -1;
}

static json_t *
s_find (json_t *keys, const char *name)
{
    size_t index;
    json_t *key;
    json_array_foreach (keys, index, key) {
        const char *each = json_string_value (json_object_get (key, "name"));
        if (each && strcmp (each, name) == 0)
            return key;
    }
    return NULL;
}

//  The path of the file, and the lock; -1 with a reason.

static int
s_lock (const char *home, char path[static PATH_MAX], char *reason, size_t size)
{
    char lock[PATH_MAX];
    int fd = -1;
    if (snprintf (path, PATH_MAX, "%s/" ARGOS_HTTP_KEYS, home) < PATH_MAX &&
        snprintf (lock, sizeof lock, "%s/.http-keys.lock", home) < (int) sizeof lock)
        fd = open (lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR);
    if (fd >= 0 && flock (fd, LOCK_EX) == 0)
        return fd;
    (void) snprintf (reason, size, "%.150s: %s", home, strerrordesc_np (errno));
    if (fd >= 0)
        close (fd);
    return -1;
}

//  ------------------------------------------------------------------------------------------------
//  Changes

static json_t *
s_words (unsigned scopes)
{
    json_t *words = json_array ();
    for (size_t i = 0; i < S_SCOPES; i++)
        if (scopes & s_scopes[i].bit)
            (void) json_array_append_new (words, json_string (s_scopes[i].name));
    return words;
}

static const char *
s_wrong (json_t *keys, const char *name, const char *owner, unsigned scopes)
{
    if (!argos_http_key_name_valid (name) || !argos_http_key_name_valid (owner))
        return "a name or an owner has 1 to 32 of a-z 0-9 . _ - and begins with a letter";
    if (!scopes)
        return "the scopes of an HTTP key are runs, chat, read and admin, with commas between them";
    if (s_find (keys, name) || strcmp (name, ARGOS_HTTP_MAIN) == 0)
        return "that name is used, or was: take another";
    if (json_array_size (keys) >= S_RECORDS_MAX)
        return "there are 1,000 keys already";
    return NULL;
}

int
argos_http_key_make (const char *home, const char *name, const char *owner, unsigned scopes,
    int64_t now, char token[static ARGOS_HTTP_TOKEN_SIZE], char *reason, size_t size)
{
    char path[PATH_MAX], sha256[65];
    unsigned char bytes[S_TOKEN_BYTES];
    int lock = sodium_init () < 0 ? -1 : s_lock (home, path, reason, size), rc = -1;
    if (lock < 0)
        return -1;
    owner = owner ? owner : name;
    json_t *keys = s_load (path);
    const char *wrong = keys ? s_wrong (keys, name, owner, scopes) : strerrordesc_np (errno);
    if (wrong)
        (void) snprintf (reason, size, "%s", wrong);
    else {
        randombytes_buf (bytes, sizeof bytes);
        (void) snprintf (token, ARGOS_HTTP_TOKEN_SIZE, "argos_");
        (void) sodium_bin2base64 (token + 6, ARGOS_HTTP_TOKEN_SIZE - 6, bytes, sizeof bytes,
            sodium_base64_VARIANT_URLSAFE_NO_PADDING);
        sodium_memzero (bytes, sizeof bytes);
        argos_http_key_hash (token, strlen (token), sha256);
        (void) json_array_append_new (
            keys, json_pack ("{s:s,s:s,s:o,s:s,s:I}", "name", name, "owner", owner, "scopes",
                      s_words (scopes), "sha256", sha256, "created_at", (json_int_t) now));
        rc = s_save (path, keys);
        if (rc != 0)
            (void) snprintf (reason, size, "%.150s: %s", path, strerrordesc_np (errno));
    }
    json_decref (keys);
    close (lock);
    return rc;
}

int
argos_http_key_revoke (const char *home, const char *name, int64_t now, char *reason, size_t size)
{
    char path[PATH_MAX];
    int lock = s_lock (home, path, reason, size), rc = -1;
    if (lock < 0)
        return -1;
    json_t *keys = s_load (path), *key = s_find (keys, name);
    if (!key)
        (void) snprintf (reason, size, "there is no HTTP key of that name");
    else if (json_object_get (key, "revoked_at"))
        rc = 0;
    else {
        (void) json_object_set_new (key, "revoked_at", json_integer (now));
        rc = s_save (path, keys);
        if (rc != 0)
            (void) snprintf (reason, size, "%.150s: %s", path, strerrordesc_np (errno));
    }
    json_decref (keys);
    close (lock);
    return rc;
}

json_t *
argos_http_key_list (const char *home, char *reason, size_t size)
{
    char path[PATH_MAX];
    (void) snprintf (path, sizeof path, "%s/" ARGOS_HTTP_KEYS, home);
    json_t *keys = s_load (path), *key;
    size_t index;
    if (!keys)
        (void) snprintf (reason, size, "%.150s: %s", path, strerrordesc_np (errno));
    json_array_foreach (keys, index, key)
        (void) json_object_del (key, "sha256");
    return keys;
}

//  ------------------------------------------------------------------------------------------------
//  The server's side

static bool
s_take (const json_t *record, argos_http_key_t *key)
{
    const char *owner = json_string_value (json_object_get (record, "owner"));
    const char *sha256 = json_string_value (json_object_get (record, "sha256"));
    size_t index;
    json_t *word;
    if (!owner || !argos_http_key_name_valid (owner) || !sha256 || strlen (sha256) != 64 ||
        json_object_get (record, "revoked_at"))
        return false;
    (void) snprintf (key->owner, sizeof key->owner, "%s", owner);
    memcpy (key->sha256, sha256, sizeof key->sha256);
    key->scopes = 0;
    json_array_foreach (json_object_get (record, "scopes"), index, word)
        if (json_is_string (word))
            key->scopes |= s_scope (json_string_value (word), json_string_length (word));
    return key->scopes != 0;
}

argos_http_key_t *
argos_http_key_read (const char *path, size_t *ret_count)
{
    json_t *keys = s_load (path), *record;
    size_t index, count = 0;
    argos_http_key_t *all = NULL;
    if (json_array_size (keys) > 0)
        all = calloc (json_array_size (keys), sizeof *all);
    json_array_foreach (keys, index, record)
        if (all && s_take (record, &all[count]))
            count++;
    json_decref (keys);
    *ret_count = count;
    return all;
}
