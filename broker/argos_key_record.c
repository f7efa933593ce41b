//  argos_key_record - see the header.
//
//  Invariant: a record that was read is complete and in bounds, so that nothing later has to look
//  again. Limit: 4 KiB a file.

#include "argos_key_record.h"

#include "argos_access.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEY_NAME_MAX 48 //  So that .instance and @node have room behind it

bool
argos_key_name_valid (const char *text)
{
    char base[ARGOS_NAME_MAX + 1];
    size_t size = strspn (text, ARGOS_KEY_NAME_CHARS);
    if (size == 0 || size > KEY_NAME_MAX || text[size] || *text < 'a' || *text > 'z' ||
        text[size - 1] == '.' || strstr (text, ".."))
        return false;
    argos_name_base (text, base);
    return strcmp (base, text) == 0 && !argos_access_reserved (text) &&
           strcmp (text, "server") != 0 && strcmp (text, "operator") != 0 &&
           strcmp (text, "cmd") != 0 && strcmp (text, "cli") != 0; //  `argos` itself is cmd.PID
}

bool
argos_key_platform_valid (const char *text)
{
    size_t size = strspn (text, "abcdefghijklmnopqrstuvwxyz0123456789_");
    return size >= 2 && size <= 32 && !text[size] && *text >= 'a' && *text <= 'z';
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

static bool
s_is_hash (const char *text)
{
    return !*text ||
           (strlen (text) == ARGOS_HASH_HEX && strspn (text, "0123456789abcdef") == ARGOS_HASH_HEX);
}

static bool
s_fill (argos_key_record_t *self, const json_t *file)
{
    memset (self, 0, sizeof *self);
    self->created_at = json_integer_value (json_object_get (file, "created_at"));
    self->revoked_at = json_integer_value (json_object_get (file, "revoked_at"));
    return s_member (file, "name", true, self->name, sizeof self->name) &&
           s_member (file, "role", true, self->role, sizeof self->role) &&
           s_member (file, "public", true, self->public_key, sizeof self->public_key) &&
           s_member (file, "token_sha256", false, self->token_sha256, sizeof self->token_sha256) &&
           s_member (file, "platform", false, self->platform, sizeof self->platform) &&
           s_member (file, "account", false, self->account, sizeof self->account) &&
           argos_key_name_valid (self->name) && argos_key_valid (self->public_key) &&
           s_is_hash (self->token_sha256) &&
           strspn (self->platform, ARGOS_KEY_NAME_CHARS) == strlen (self->platform) &&
           strspn (self->account, ARGOS_KEY_NAME_CHARS) == strlen (self->account);
}

int
argos_key_record_read (argos_key_record_t *self, const char *text, size_t size)
{
    json_t *file = json_loadb (text, size, JSON_REJECT_DUPLICATES, NULL);
    bool good = s_fill (self, file);
    json_decref (file);
    return good ? 0 : -1;
}

int
argos_key_record_load (argos_key_record_t *self, int folder, const char *file)
{
    char text[ARGOS_KEY_FILE_MAX + 1];
    struct stat info;
    size_t length = strlen (file), suffix = sizeof ARGOS_KEY_SUFFIX - 1;
    if (length <= suffix || strcmp (file + length - suffix, ARGOS_KEY_SUFFIX) != 0)
        return -1;
    int fd = openat (folder, file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return -1;
    ssize_t got = -1;
    if (fstat (fd, &info) == 0 && S_ISREG (info.st_mode) && !(info.st_mode & 022) &&
        (info.st_uid == geteuid () || info.st_uid == 0))
        got = read (fd, text, sizeof text);
    close (fd);
    if (got < 0 || got > ARGOS_KEY_FILE_MAX ||
        argos_key_record_read (self, text, (size_t) got) != 0)
        return -1;
    return strlen (self->name) == length - suffix && memcmp (self->name, file, length - suffix) == 0
               ? 0
               : -1;
}

json_t *
argos_key_record_json (const argos_key_record_t *self)
{
    json_t *object = json_pack ("{s:s,s:s,s:s,s:s}", "name", self->name, "role", self->role,
        "public", self->public_key, "token_sha256", self->token_sha256);
    if (*self->platform)
        json_object_set_new (object, "platform", json_string (self->platform));
    if (*self->account)
        json_object_set_new (object, "account", json_string (self->account));
    json_object_set_new (object, "created_at", json_integer (self->created_at));
    if (self->revoked_at)
        json_object_set_new (object, "revoked_at", json_integer (self->revoked_at));
    return object;
}

int
argos_key_record_each (int folder, void (*fn) (void *arg, int folder, const char *file), void *arg)
{
    int count = 0;
    int copy = openat (folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = copy >= 0 ? fdopendir (copy) : NULL;
    if (!dir) {
        if (copy >= 0)
            close (copy);
        return -1;
    }
    for (struct dirent *entry; (entry = readdir (dir)) && count < ARGOS_KEY_COUNT_MAX;) {
        size_t length = strlen (entry->d_name), suffix = sizeof ARGOS_KEY_SUFFIX - 1;
        if (length <= suffix || *entry->d_name == '.' ||
            strcmp (entry->d_name + length - suffix, ARGOS_KEY_SUFFIX) != 0)
            continue;
        count++;
        fn (arg, folder, entry->d_name);
    }
    closedir (dir);
    return count;
}
