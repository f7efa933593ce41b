//  argos_files - files as tools see them.
//
//  Invariant: what is written appears whole or not at all (written beside, synced, renamed), and
//  nothing is opened before its name and what the name leads to were looked at. Limits: files of
//  ARGOS_FILES_MAX bytes; whoever else may write in these folders can change them between the look
//  and the opening.

#include "argos_files.h"

#include "argos_text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

//  ------------------------------------------------------------------------------------------------
//  The call

const char *
argos_tool_text (const argos_tool_call_t *call, const char *name)
{
    const json_t *value = json_object_get (call->arguments, name);
    const char *text = json_string_value (value);
    return text && strlen (text) == json_string_length (value) ? text : NULL;
}

int64_t
argos_tool_number (
    const argos_tool_call_t *call, const char *name, int64_t fallback, int64_t min, int64_t max)
{
    const json_t *value = json_object_get (call->arguments, name);
    int64_t number = json_is_integer (value) ? json_integer_value (value) : fallback;
    return number < min ? min : number > max ? max : number;
}

bool
argos_tool_flag (const argos_tool_call_t *call, const char *name)
{
    return json_is_true (json_object_get (call->arguments, name));
}

json_t *
argos_tool_string (const char *data, size_t size)
{
    json_t *string = json_stringn (data, size);
    if (string)
        return string;
    argos_text_t text;
    argos_text_init (&text, 3 * size + 1);
    argos_utf8_add (&text, data, size);
    string = json_stringn (argos_text_str (&text), text.size);
    argos_text_clear (&text);
    return string;
}

void
argos_tool_fail (argos_tool_call_t *call, const char *format, ...)
{
    char text[2048];
    va_list arguments;
    va_start (arguments, format);
    int size = vsnprintf (text, sizeof text, format, arguments);
    va_end (arguments);
    json_decref (call->result);
    call->result = json_object ();
    json_object_set_new (call->result, "error",
        argos_tool_string (text, size < (int) sizeof text ? (size_t) size : sizeof text - 1));
    call->failed = true;
}

//  ------------------------------------------------------------------------------------------------
//  Paths

int
argos_files_path (const char *root, const char *home, const char *given, char path[PATH_MAX])
{
    char whole[2 * PATH_MAX];
    bool is_home = given[0] == '~' && (given[1] == '/' || !given[1]);
    const char *base = given[0] == '/' ? "" : is_home ? home : root;
    const char *rest = is_home ? given + 1 : given;
    if (!*given || strlen (base) + strlen (rest) + 2 > sizeof whole)
        return -1;
    snprintf (whole, sizeof whole, "%s/%s", base, rest);
    size_t used = 0;
    for (const char *at = whole; *at;) {
        at += strspn (at, "/");
        size_t size = strcspn (at, "/");
        if (size == 2 && at[0] == '.' && at[1] == '.') {
            while (used && path[--used] != '/')
                continue;
        }
        else if (size && !(size == 1 && *at == '.')) {
            if (used + size + 2 > PATH_MAX)
                return -1;
            path[used++] = '/';
            memcpy (path + used, at, size);
            used += size;
        }
        at += size;
    }
    if (!used)
        path[used++] = '/';
    path[used] = '\0';
    return 0;
}

//  Where the path leads, as far as it exists.

static void
s_real (const char *path, char real[PATH_MAX])
{
    char part[PATH_MAX], found[PATH_MAX];
    snprintf (part, sizeof part, "%s", path);
    while (!realpath (part, found)) {
        char *slash = strrchr (part, '/');
        if (!slash || slash == part) {
            snprintf (real, PATH_MAX, "%s", path);
            return;
        }
        *slash = '\0';
    }
    if (snprintf (real, PATH_MAX, "%s%s", strcmp (found, "/") == 0 ? "" : found,
            path + strlen (part)) >= PATH_MAX ||
        !*real)
        snprintf (real, PATH_MAX, "%s", path);
}

//  /proc/<pid>/environ and its like, devices, the inputs of programs.

static bool
s_is_device (const char *path)
{
    static const char *const names[] = { "/environ", "/cmdline", "/maps", "/mem", "/fd", "/fd/" };
    if (strncmp (path, "/dev/", 5) == 0)
        return true;
    if (strncmp (path, "/proc/", 6) != 0)
        return false;
    size_t size = strlen (path);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *found = strstr (path, names[i]);
        if (found && ((size_t) (found - path) + strlen (names[i]) == size || i == 5))
            return true;
    }
    return false;
}

bool
argos_files_may_read (argos_tool_call_t *call)
{
    char real[PATH_MAX];
    argos_approval_t why;
    struct stat state;
    s_real (call->path, real);
    if (s_is_device (call->path) || s_is_device (real))
        argos_tool_fail (
            call, "%s is a device or a secret of a process; it is not read", call->path);
    else if (argos_approval_secret (call->policy, call->path, call->home, call->state, &why) ||
             argos_approval_secret (call->policy, real, call->home, call->state, &why))
        argos_tool_fail (call, "%s is not read: %s", call->path, why.text);
    else if (stat (call->path, &state) == 0 && !S_ISREG (state.st_mode))
        argos_tool_fail (call, "%s is %s", call->path,
            S_ISDIR (state.st_mode) ? "a folder; search_files lists it" : "no regular file");
    return !call->failed;
}

static bool
s_is_below (const char *path, const char *folder)
{
    size_t size = strlen (folder);
    return strncmp (path, folder, size) == 0 && (path[size] == '/' || !path[size]);
}

bool
argos_files_may_write (argos_tool_call_t *call, const char *path)
{
    char real[PATH_MAX], root[PATH_MAX];
    argos_approval_t why;
    s_real (path, real);
    if (argos_approval_path (call->policy, path, call->home, call->state, &why) ||
        argos_approval_path (call->policy, real, call->home, call->state, &why))
        argos_tool_fail (call, "Writing %s is denied: %s", path, why.text);
    else if (*call->write_root && argos_files_path ("/", call->home, call->write_root, root) == 0) {
        char real_root[PATH_MAX];
        s_real (root, real_root);
        if (!s_is_below (real, real_root))
            argos_tool_fail (call, "Writing %s is denied: it is outside of %s", path, root);
    }
    return !call->failed;
}

//  ------------------------------------------------------------------------------------------------
//  Reading and writing

bool
argos_files_is_binary (const char *data, size_t size)
{
    size_t wrong = 0, looked = size < 65536 ? size : 65536;
    for (size_t at = 0; at < looked;) {
        size_t length = argos_utf8_length ((const unsigned char *) data + at, size - at);
        if (!data[at])
            return true;
        wrong += length ? 0 : 1;
        at += length ? length : 1;
    }
    return wrong > 8 && wrong > looked / 20;
}

char *
argos_files_read (argos_tool_call_t *call, const char *path, size_t *ret_size)
{
    struct stat state;
    int fd = open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || fstat (fd, &state) != 0) {
        argos_tool_fail (call, "%s: %s", path, strerrordesc_np (errno));
        if (fd >= 0)
            close (fd);
        return NULL;
    }
    char *data = NULL;
    size_t used = 0, room = (size_t) (state.st_size > 0 ? state.st_size : 0) + 65536;
    if (!S_ISREG (state.st_mode))
        argos_tool_fail (call, "%s is no regular file", path);
    else if (state.st_size > (int64_t) ARGOS_FILES_MAX)
        argos_tool_fail (call, "%s has %lld bytes, more than %zu; use the terminal", path,
            (long long) state.st_size, ARGOS_FILES_MAX);
    else if (!(data = malloc (room)))
        abort ();
    //  Files of /proc have more than they say
    for (ssize_t size = 1; data && size > 0 && used + 1 < room; used += (size_t) size)
        if ((size = read (fd, data + used, room - used - 1)) < 0) {
            argos_tool_fail (call, "%s: %s", path, strerrordesc_np (errno));
            free (data);
            data = NULL;
            size = 0;
        }
    close (fd);
    if (data)
        data[used] = '\0';
    *ret_size = used;
    return data;
}

static int
s_make_folders (const char *path, bool *ret_made)
{
    char part[PATH_MAX];
    *ret_made = false;
    snprintf (part, sizeof part, "%s", path);
    for (char *slash = strchr (part + 1, '/'); slash; slash = strchr (slash + 1, '/')) {
        *slash = '\0';
        if (mkdir (part, 0777) == 0)
            *ret_made = true;
        else if (errno != EEXIST)
            return -1;
        *slash = '/';
    }
    return 0;
}

static int
s_write_all (int fd, const char *data, size_t size)
{
    while (size) {
        ssize_t done = write (fd, data, size);
        if (done < 0 && errno != EINTR)
            return -1;
        if (done > 0) {
            data += done;
            size -= (size_t) done;
        }
    }
    return fsync (fd);
}

int
argos_files_write (
    argos_tool_call_t *call, const char *path, const char *data, size_t size, bool *ret_dirs)
{
    char real[PATH_MAX], part[PATH_MAX + 16];
    struct stat state;
    s_real (path, real); //  What a link leads to is written, not the link
    bool exists = stat (real, &state) == 0;
    if (exists && !S_ISREG (state.st_mode)) {
        argos_tool_fail (call, "%s is no regular file", path);
        return -1;
    }
    snprintf (part, sizeof part, "%s.XXXXXX", real);
    int fd = s_make_folders (real, ret_dirs) == 0 ? mkostemp (part, O_CLOEXEC) : -1;
    mode_t mask = umask (0);
    umask (mask);
    bool good = fd >= 0 && fchmod (fd, exists ? state.st_mode & 07777 : 0666 & ~mask) == 0 &&
                s_write_all (fd, data, size) == 0;
    int error = errno;
    if (fd >= 0)
        close (fd);
    if (good && rename (part, real) == 0)
        return 0;
    error = good ? errno : error;
    if (fd >= 0)
        unlink (part);
    argos_tool_fail (call, "%s can't be written: %s", path, strerrordesc_np (error));
    return -1;
}

void
argos_files_note (argos_tool_call_t *call)
{
    struct stat state;
    if (*call->path && stat (call->path, &state) == 0) {
        call->modified_ns = state.st_mtim.tv_sec * INT64_C (1000000000) + state.st_mtim.tv_nsec;
        call->size = state.st_size;
    }
}
