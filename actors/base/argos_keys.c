//  argos_keys - makes, lists and revokes the keys of a home.
//
//  Invariant: a record never becomes good again, and a secret is in one file only, which the owner
//  alone can read. A file is written aside, synced and renamed. Limits: those of argos_key_record.

#include "argos_keys.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zmq.h>

#define SERVER "server"
#define TOKEN_LEAST 32 //  Characters of a token that is good
#define TOKEN_BYTES 32 //  Random bytes of a token

//  ------------------------------------------------------------------------------------------------
//  Files

//  Opens the folder, made when it is missing, and locks it. Returns a descriptor, or -1 with a
//  reason.

static int
s_open_folder (const char *home, char *reason, size_t size)
{
    char path[PATH_MAX];
    struct stat info;
    int fd = -1;
    if (snprintf (path, sizeof path, "%s/" ARGOS_KEY_FOLDER, home) >= (int) sizeof path)
        errno = ENAMETOOLONG;
    else if (mkdir (path, 0700) == 0 || errno == EEXIST)
        fd = open (path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (fd >= 0 && (fstat (fd, &info) != 0 || ((info.st_mode & 077) && fchmod (fd, 0700) != 0) ||
                       flock (fd, LOCK_EX) != 0)) {
        int problem = errno;
        close (fd);
        errno = problem;
        fd = -1;
    }
    if (fd < 0)
        snprintf (reason, size, "%s/" ARGOS_KEY_FOLDER ": %s", home, strerror (errno));
    return fd;
}

//  Writes text as the file of that name, whole or not at all. Returns 0 or -1 with errno.

static int
s_write (int folder, const char *name, const char *text)
{
    char aside[NAME_MAX + 1];
    snprintf (aside, sizeof aside, ".%.200s.new", name);
    int fd = openat (
        folder, aside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR);
    if (fd < 0)
        return -1;
    ssize_t length = (ssize_t) strlen (text);
    bool good =
        fchmod (fd, 0600) == 0 && write (fd, text, (size_t) length) == length && fsync (fd) == 0;
    int problem = good ? 0 : errno ? errno : EIO;
    close (fd);
    if (good && renameat (folder, aside, folder, name) == 0)
        return fsync (folder);
    if (!good)
        errno = problem;
    problem = errno;
    unlinkat (folder, aside, 0);
    errno = problem;
    return -1;
}

//  The same for a JSON object, which is stolen; its text is wiped.

static int
s_write_json (int folder, const char *name, const char *suffix, json_t *object)
{
    char file[NAME_MAX + 1];
    snprintf (file, sizeof file, "%.64s%s", name, suffix);
    char *text = json_dumps (object, JSON_INDENT (2));
    json_decref (object);
    if (!text) {
        errno = ENOMEM;
        return -1;
    }
    int rc = s_write (folder, file, text);
    sodium_memzero (text, strlen (text));
    free (text);
    return rc;
}

static int
s_write_bundle (int folder, const argos_key_t *key)
{
    json_t *object = json_pack (
        "{s:s,s:s,s:s}", "name", key->name, "public", key->public_key, "secret", key->secret_key);
    if (*key->role)
        json_object_set_new (object, "role", json_string (key->role));
    if (*key->server_key)
        json_object_set_new (object, "server", json_string (key->server_key));
    if (*key->token)
        json_object_set_new (object, "token", json_string (key->token));
    return s_write_json (folder, key->name, ".key", object);
}

//  ------------------------------------------------------------------------------------------------
//  Keys and tokens

//  Makes the token when it is empty, and its hash.

static void
s_make_token (char token[static ARGOS_TOKEN_MAX + 1], char hash[static ARGOS_HASH_HEX + 1])
{
    unsigned char bytes[TOKEN_BYTES], digest[crypto_hash_sha256_BYTES];
    if (!*token) {
        randombytes_buf (bytes, sizeof bytes);
        sodium_bin2base64 (token, ARGOS_TOKEN_MAX + 1, bytes, sizeof bytes,
            sodium_base64_VARIANT_URLSAFE_NO_PADDING);
        sodium_memzero (bytes, sizeof bytes);
    }
    crypto_hash_sha256 (digest, (const unsigned char *) token, strlen (token));
    sodium_bin2hex (hash, ARGOS_HASH_HEX + 1, digest, sizeof digest);
}

//  The folder is locked. Returns 0 or -1 with a reason.

static int
s_server (int folder, const char *home, argos_key_t *ret_key, char *reason, size_t size)
{
    char path[PATH_MAX];
    if (snprintf (path, sizeof path, "%s/" ARGOS_KEY_FOLDER "/" SERVER ".key", home) >=
        (int) sizeof path) {
        snprintf (reason, size, "the path of the home is too long");
        return -1;
    }
    if (faccessat (folder, SERVER ".key", F_OK, 0) == 0)
        return argos_key_read (ret_key, path, reason, size);
    memset (ret_key, 0, sizeof *ret_key);
    memcpy (ret_key->name, SERVER, sizeof SERVER);
    if (zmq_curve_keypair (ret_key->public_key, ret_key->secret_key) == 0 &&
        s_write_bundle (folder, ret_key) == 0)
        return 0;
    snprintf (reason, size, "%s: %s", path, strerror (errno));
    argos_key_wipe (ret_key);
    return -1;
}

int
argos_keys_server (const char *home, argos_key_t *ret_key, char *reason, size_t size)
{
    int folder = sodium_init () < 0 ? -1 : s_open_folder (home, reason, size);
    if (folder < 0)
        return -1;
    int rc = s_server (folder, home, ret_key, reason, size);
    close (folder);
    return rc;
}

//  Whether the wanted key is one that can be. Returns NULL, or why not.

static const char *
s_wrong (int folder, const argos_keys_new_t *wanted)
{
    char file[NAME_MAX + 1];
    const char *platform = wanted->platform ? wanted->platform : "";
    const char *account = wanted->account ? wanted->account : "";
    if (!argos_key_name_valid (wanted->name))
        return "a name has 1 to 48 of a-z 0-9 . _ -, begins with a letter, does not end in a "
               "number of its own, and is no actor of the core, nor a name of ours (cmd, cli, "
               "server, "
               "operator)";
    if (!argos_name_valid (wanted->role) || strlen (wanted->role) > 32)
        return "a role has a name of a-z 0-9 _ -";
    if (*platform && !argos_key_platform_valid (platform))
        return "a platform has " ARGOS_PLATFORM_RULE;
    if (strspn (account, ARGOS_KEY_NAME_CHARS) != strlen (account) ||
        strlen (account) > ARGOS_NAME_MAX)
        return "an account has 1 to 64 of a-z 0-9 . _ -";
    if (*account && !*platform)
        return "an account belongs to a platform";
    snprintf (file, sizeof file, "%.64s" ARGOS_KEY_SUFFIX, wanted->name);
    if (faccessat (folder, file, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        return "that name is used, or was: take another";
    return NULL;
}

static int
s_make (int folder, const argos_keys_new_t *wanted, const char *server)
{
    argos_key_t key = { .name = "" };
    argos_key_record_t record = { .created_at = wanted->now };
    snprintf (key.name, sizeof key.name, "%s", wanted->name);
    snprintf (key.role, sizeof key.role, "%s", wanted->role);
    snprintf (key.server_key, sizeof key.server_key, "%s", server);
    snprintf (record.name, sizeof record.name, "%s", wanted->name);
    snprintf (record.role, sizeof record.role, "%s", wanted->role);
    snprintf (
        record.platform, sizeof record.platform, "%s", wanted->platform ? wanted->platform : "");
    snprintf (record.account, sizeof record.account, "%s", wanted->account ? wanted->account : "");
    s_make_token (key.token, record.token_sha256);
    int rc = zmq_curve_keypair (key.public_key, key.secret_key);
    memcpy (record.public_key, key.public_key, sizeof record.public_key);
    //  The bundle first: a record without one is a name that nobody can use
    if (rc == 0)
        rc = s_write_bundle (folder, &key);
    argos_key_wipe (&key);
    if (rc == 0)
        rc = s_write_json (folder, record.name, ARGOS_KEY_SUFFIX, argos_key_record_json (&record));
    return rc;
}

int
argos_keys_make (const char *home, const argos_keys_new_t *wanted, char *path, size_t path_size,
    char *reason, size_t size)
{
    argos_key_t server;
    int folder = sodium_init () < 0 ? -1 : s_open_folder (home, reason, size);
    if (folder < 0)
        return -1;
    const char *wrong = s_wrong (folder, wanted);
    int rc = -1;
    if (wrong)
        snprintf (reason, size, "%s", wrong);
    else if (s_server (folder, home, &server, reason, size) == 0) {
        rc = s_make (folder, wanted, server.public_key);
        argos_key_wipe (&server);
        if (rc != 0)
            snprintf (reason, size, "%s/" ARGOS_KEY_FOLDER ": %s", home, strerror (errno));
    }
    if (rc == 0)
        snprintf (path, path_size, "%s/" ARGOS_KEY_FOLDER "/%s.key", home, wanted->name);
    close (folder);
    return rc;
}

int
argos_keys_put (const char *home, const argos_key_t *key, char *reason, size_t size)
{
    char file[NAME_MAX + 1];
    int folder = s_open_folder (home, reason, size), rc = -1;
    if (folder < 0)
        return -1;
    snprintf (file, sizeof file, "%.64s.key", key->name);
    if (!argos_key_name_valid (key->name))
        snprintf (reason, size, "that is no name of a key");
    else if (faccessat (folder, file, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        snprintf (reason, size, "%s/" ARGOS_KEY_FOLDER "/%s is there already", home, file);
    else if ((rc = s_write_bundle (folder, key)) != 0)
        snprintf (reason, size, "%s/" ARGOS_KEY_FOLDER "/%s: %s", home, file, strerror (errno));
    close (folder);
    return rc;
}

//  ------------------------------------------------------------------------------------------------
//  List and revoke

static const char *
s_name_at (const json_t *list, size_t place)
{
    return json_string_value (json_object_get (json_array_get (list, place), "name"));
}

//  Puts a record in its place in the list, by name.

static void
s_list_one (void *arg, int folder, const char *file)
{
    argos_key_record_t record;
    json_t *object;
    size_t length = strlen (file) - strlen (ARGOS_KEY_SUFFIX);
    if (argos_key_record_load (&record, folder, file) == 0)
        object = argos_key_record_json (&record);
    else
        object = json_pack ("{s:o,s:s}", "name", json_stringn (file, length), "problem",
            "not a record that `argos keys new` writes, or others can change it");
    size_t place = json_array_size (arg);
    const char *name = json_string_value (json_object_get (object, "name"));
    while (name && place > 0 && strcmp (s_name_at (arg, place - 1), name) > 0)
        place--;
    if (name)
        json_array_insert_new (arg, place, object);
    else
        json_decref (object);
}

json_t *
argos_keys_list (const char *home, char *reason, size_t size)
{
    int folder = s_open_folder (home, reason, size);
    if (folder < 0)
        return NULL;
    json_t *list = json_array ();
    argos_key_record_each (folder, s_list_one, list);
    close (folder);
    return list;
}

int
argos_keys_revoke (const char *home, const char *name, int64_t now, char *reason, size_t size)
{
    argos_key_record_t record;
    char file[NAME_MAX + 1];
    int folder = s_open_folder (home, reason, size);
    if (folder < 0)
        return -1;
    int rc = -1;
    snprintf (file, sizeof file, "%.64s" ARGOS_KEY_SUFFIX, name);
    if (!argos_key_name_valid (name) || argos_key_record_load (&record, folder, file) != 0)
        snprintf (reason, size, "there is no key %.64s", name);
    else if (record.revoked_at)
        rc = 0;
    else {
        record.revoked_at = now;
        rc = s_write_json (folder, name, ARGOS_KEY_SUFFIX, argos_key_record_json (&record));
        if (rc != 0)
            snprintf (reason, size, "%s/" ARGOS_KEY_FOLDER ": %s", home, strerror (errno));
    }
    if (rc == 0) {
        snprintf (file, sizeof file, "%.64s.key", name);
        unlinkat (folder, file, 0);
    }
    close (folder);
    return rc;
}

//  ------------------------------------------------------------------------------------------------
//  The token of a start

int
argos_keys_token (const char *path, char hash[static ARGOS_HASH_HEX + 1])
{
    char token[ARGOS_TOKEN_MAX + 1] = "", folder_path[PATH_MAX];
    const char *name = strrchr (path, '/');
    if (!name || snprintf (folder_path, sizeof folder_path, "%.*s", (int) (name - path), path) >=
                     (int) sizeof folder_path) {
        errno = EINVAL;
        return -1;
    }
    int folder = open (folder_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0 || sodium_init () < 0)
        return -1;
    bool there = argos_keys_token_read (path, token) == 0;
    s_make_token (token, hash);
    int rc = there ? 0 : s_write (folder, name + 1, token);
    sodium_memzero (token, sizeof token);
    close (folder);
    return rc;
}

int
argos_keys_token_read (const char *path, char token[static ARGOS_TOKEN_MAX + 1])
{
    struct stat info;
    int fd = open (path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    ssize_t size = -1;
    if (fd >= 0 && fstat (fd, &info) == 0 && !(info.st_mode & 077))
        size = read (fd, token, ARGOS_TOKEN_MAX);
    if (fd >= 0)
        close (fd);
    token[size < 0 ? 0 : size] = 0;
    token[strcspn (token, " \t\r\n")] = 0;
    if (strlen (token) >= TOKEN_LEAST)
        return 0;
    *token = 0;
    return -1;
}
