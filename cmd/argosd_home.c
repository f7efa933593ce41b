//  argosd_home - the folder of one argosd.
//
//  Invariant: nothing in a home is written by a process that does not hold its lock, but the
//  folders and the lock file themselves. Files that must not be seen half written are written aside
//  and renamed. Limits: PATH_MAX; an address of 100 bytes, because a socket's name has 108.

#include "argosd_home.h"

#include "argos_keys.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define SOCKET_PATH_MAX 100 //  Longer paths get another place
#define KEY_BYTES 32        //  Random bytes of a new key
#define PID_TRIES 100       //  How often a lock without a pid is looked at again …
#define PID_WAIT_MS 10      //  … and how long in between

int
argosd_home_default (char *path, size_t size)
{
    const char *own = getenv ("ARGOS_HOME"), *user = getenv ("HOME");
    int length = -1;
    if (own && *own)
        length = snprintf (path, size, "%s", own);
    else if (user && *user)
        length = snprintf (path, size, "%s/.argos", user);
    return length < 0 || (size_t) length >= size ? -1 : 0;
}

//  ---------------------------------------------------------------------------------------------
//  Folders and files

//  A path inside the home. Returns -1 when it is too long.

static int
s_inside (const argosd_home_t *self, const char *name, char *path, size_t size)
{
    int length = snprintf (path, size, "%s/%s", self->path, name);
    return length < 0 || (size_t) length >= size ? -1 : 0;
}

//  Make a folder and those above it, mode 0700. Returns 0 or -1 with errno.

static int
s_make_folders (const char *path)
{
    char part[PATH_MAX];
    if (snprintf (part, sizeof part, "%s", path) >= (int) sizeof part) {
        errno = ENAMETOOLONG;
        return -1;
    }
    for (char *slash = strchr (part + 1, '/'); slash; slash = strchr (slash + 1, '/')) {
        *slash = 0;
        if (mkdir (part, 0700) != 0 && errno != EEXIST)
            return -1;
        *slash = '/';
    }
    return mkdir (part, 0700) == 0 || errno == EEXIST ? 0 : -1;
}

//  Write a new file in one step, mode 0600. Returns 0 or -1 with errno.

static int
s_write_file (const char *path, const char *text)
{
    char aside[PATH_MAX];
    if (snprintf (aside, sizeof aside, "%s.new", path) >= (int) sizeof aside) {
        errno = ENAMETOOLONG;
        return -1;
    }
    int fd = open (aside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return -1;
    ssize_t size = (ssize_t) strlen (text);
    int rc = write (fd, text, (size_t) size) == size && fsync (fd) == 0 ? 0 : -1;
    close (fd);
    return rc == 0 ? rename (aside, path) : -1;
}

//  Takes a folder of ours from everybody else. One that is meant for many (/tmp) stays as it is.

static int
s_close_folder (const char *path)
{
    struct stat status;
    if (stat (path, &status) != 0)
        return -1;
    bool others = status.st_mode & 077 && !(status.st_mode & S_ISVTX);
    return others && status.st_uid == getuid () ? chmod (path, 0700) : 0;
}

//  Make the folders of the home, and know its path without links. Whoever can open the socket in
//  run/ speaks as this user.

static int
s_open_folders (argosd_home_t *self, const char *path)
{
    char folder[PATH_MAX];
    if (s_make_folders (path) != 0 || !realpath (path, self->path) ||
        s_inside (self, "run", folder, sizeof folder) != 0)
        return -1;
    if (mkdir (folder, 0700) != 0 && errno != EEXIST)
        return -1;
    if (s_close_folder (folder) != 0)
        return -1;
    return strcmp (self->path, "/") == 0 ? 0 : s_close_folder (self->path);
}

//  ---------------------------------------------------------------------------------------------
//  The lock

//  The pid in a lock that another process holds; it may be just about to write it. 0 = none.

static long
s_holder (int fd)
{
    char text[32];
    for (int i = 0; i < PID_TRIES; i++) {
        ssize_t size = pread (fd, text, sizeof text - 1, 0);
        if (size > 0 && memchr (text, '\n', (size_t) size)) {
            text[size] = 0;
            return strtol (text, NULL, 10);
        }
        poll (NULL, 0, PID_WAIT_MS);
    }
    return 0;
}

static int
s_lock (argosd_home_t *self, char *reason, size_t size)
{
    char path[PATH_MAX], text[32];
    if (s_inside (self, "run/argosd.lock", path, sizeof path) != 0) {
        snprintf (reason, size, "the path of the home is too long");
        return -1;
    }
    int fd = open (path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0 && flock (fd, LOCK_EX | LOCK_NB) == 0) {
        int length = snprintf (text, sizeof text, "%ld\n", (long) getpid ());
        self->lock_fd = fd;
        if (ftruncate (fd, 0) == 0 && pwrite (fd, text, (size_t) length, 0) == length)
            return 0;
    }
    if (fd >= 0 && errno == EWOULDBLOCK)
        snprintf (
            reason, size, "another argosd runs on %s with pid %ld", self->path, s_holder (fd));
    else
        snprintf (reason, size, "%s: %s", path, strerror (errno));
    if (fd >= 0 && self->lock_fd != fd)
        close (fd);
    return -1;
}

//  The pid stays what it is all the time: who reads it meanwhile finds it. When it can't be written
//  the core is not found, and all else is as it was.

void
argosd_home_elsewhere (const argosd_home_t *self, const char *node, const char *broker)
{
    char pid[32];
    if (self->lock_fd < 0)
        return; //  We only visit: the lock is that of another
    int length = snprintf (pid, sizeof pid, "%ld\n", (long) getpid ());
    if (ftruncate (self->lock_fd, length) == 0 && lseek (self->lock_fd, length, SEEK_SET) == length)
        dprintf (self->lock_fd, "%s %s\n", *node ? node : "-", broker);
}

//  ---------------------------------------------------------------------------------------------
//  Settings and key

static int
s_open_settings (const argosd_home_t *self, const char *template, char *reason, size_t size)
{
    char path[PATH_MAX];
    if (s_inside (self, "argos.yaml", path, sizeof path) == 0 &&
        (access (path, F_OK) == 0 || s_write_file (path, template) == 0))
        return 0;
    snprintf (reason, size, "%s: %s", path, strerror (errno));
    return -1;
}

//  Read the key file into self->key, without the white space around. Returns 0 or -1 with errno.

static int
s_read_key (argosd_home_t *self, const char *path)
{
    char text[sizeof self->key];
    int fd = open (path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : read (fd, text, sizeof text - 1);
    if (fd >= 0)
        close (fd);
    if (size < 0)
        return -1;
    text[size] = 0;
    const char *start = text + strspn (text, " \t\r\n");
    size_t length = strcspn (start, " \t\r\n");
    memcpy (self->key, start, length);
    self->key[length] = 0;
    sodium_memzero (text, sizeof text);
    return 0;
}

static int
s_open_key (argosd_home_t *self, char *reason, size_t size)
{
    char path[PATH_MAX], text[2 * KEY_BYTES + 2];
    unsigned char random[KEY_BYTES];
    struct stat status;
    int rc = s_inside (self, "api-key", path, sizeof path);
    if (rc == 0 && stat (path, &status) != 0 && errno == ENOENT) {
        randombytes_buf (random, sizeof random);
        sodium_bin2hex (text, sizeof text, random, sizeof random);
        memcpy (text + 2 * sizeof random, "\n", 2);
        rc = s_write_file (path, text);
        sodium_memzero (random, sizeof random);
        sodium_memzero (text, sizeof text);
    }
    if (rc == 0 && s_read_key (self, path) == 0)
        return 0;
    snprintf (reason, size, "%s: %s", path, strerror (errno));
    return -1;
}

//  ---------------------------------------------------------------------------------------------
//  The endpoint

//  A folder for the socket outside of the home: ours alone, or we do not use it. Returns 0 or -1
//  with errno.

static int
s_other_folder (char *folder, size_t size)
{
    struct stat status;
    const char *runtime = getenv ("XDG_RUNTIME_DIR");
    if (runtime && *runtime == '/' && strlen (runtime) < SOCKET_PATH_MAX / 2)
        snprintf (folder, size, "%s/argos", runtime);
    else
        snprintf (folder, size, "/tmp/argos-%lu", (unsigned long) getuid ());
    if (mkdir (folder, 0700) != 0 && errno != EEXIST)
        return -1;
    if (lstat (folder, &status) != 0)
        return -1;
    if (S_ISDIR (status.st_mode) && status.st_uid == getuid () && !(status.st_mode & 077))
        return 0;
    errno = EPERM;
    return -1;
}

//  Where peers connect: inside a short home, else in another folder, whose address is to be left in
//  the file `pointer` (NULL = somebody else does).

static int
s_find_endpoint (argosd_home_t *self, const char *pointer, char *reason, size_t size)
{
    char path[PATH_MAX], folder[SOCKET_PATH_MAX], hex[2 * crypto_generichash_BYTES_MIN + 1];
    unsigned char hash[crypto_generichash_BYTES_MIN];
    if (s_inside (self, "run/broker.sock", path, sizeof path) != 0) {
        snprintf (reason, size, "the path of the home is too long");
        return -1;
    }
    if (strlen (path) <= SOCKET_PATH_MAX) {
        if (pointer)
            unlink (pointer);
        snprintf (self->endpoint, sizeof self->endpoint, "ipc://%.*s", SOCKET_PATH_MAX, path);
        return 0;
    }
    crypto_generichash (
        hash, sizeof hash, (const unsigned char *) self->path, strlen (self->path), NULL, 0);
    sodium_bin2hex (hex, sizeof hex, hash, sizeof hash);
    if (s_other_folder (folder, sizeof folder) == 0) {
        snprintf (self->endpoint, sizeof self->endpoint, "ipc://%s/%s.sock", folder, hex);
        if (!pointer || s_write_file (pointer, self->endpoint) == 0)
            return 0;
    }
    snprintf (reason, size, "no safe place for the broker's socket: %s", strerror (errno));
    return -1;
}

static int
s_open_endpoint (argosd_home_t *self, char *reason, size_t size)
{
    char pointer[PATH_MAX];
    if (s_inside (self, "run/broker.endpoint", pointer, sizeof pointer) == 0)
        return s_find_endpoint (self, pointer, reason, size);
    snprintf (reason, size, "the path of the home is too long");
    return -1;
}

//  What the command line shows.

static int
s_open_token (argosd_home_t *self, char *reason, size_t size)
{
    char path[PATH_MAX];
    if (s_inside (self, ARGOS_OPERATOR_TOKEN, path, sizeof path) == 0 &&
        argos_keys_token (path, self->operator_sha256) == 0)
        return 0;
    snprintf (reason, size, "%s: %s", path, strerror (errno));
    return -1;
}

int
argosd_home_open (
    argosd_home_t *self, const char *path, const char *template, char *reason, size_t size)
{
    *self = (argosd_home_t){ .lock_fd = -1 };
    if (s_open_folders (self, path) != 0) {
        snprintf (reason, size, "%s: %s", path, strerror (errno));
        return -1;
    }
    if (s_lock (self, reason, size) == 0 && s_open_settings (self, template, reason, size) == 0 &&
        s_open_key (self, reason, size) == 0 && s_open_token (self, reason, size) == 0 &&
        s_open_endpoint (self, reason, size) == 0)
        return 0;
    argosd_home_close (self);
    return -1;
}

int
argosd_home_hold (argosd_home_t *self, const char *path, char *reason, size_t size)
{
    *self = (argosd_home_t){ .lock_fd = -1 };
    if (access (path, X_OK) != 0 || s_open_folders (self, path) != 0) {
        snprintf (reason, size, "%s: %s", path, strerror (errno));
        return -1;
    }
    return s_lock (self, reason, size);
}

int
argosd_home_visit (argosd_home_t *self, const char *path, char *reason, size_t size)
{
    char key[PATH_MAX];
    *self = (argosd_home_t){ .lock_fd = -1 };
    if (s_open_folders (self, path) != 0 || s_inside (self, "api-key", key, sizeof key) != 0) {
        snprintf (reason, size, "%s: %s", path, strerror (errno));
        return -1;
    }
    s_read_key (self, key);
    return s_find_endpoint (self, NULL, reason, size);
}

int
argosd_home_share (argosd_home_t *self, const char *group, char *reason, size_t size)
{
    char folder[PATH_MAX];
    self->group = 0;
    if (!*group)
        return 0;
    const struct group *found = getgrnam (group);
    if (!found || found->gr_gid == 0) {
        snprintf (reason, size, "argos.yaml: ipc_group: there is no group %s to share with", group);
        return -1;
    }
    size_t length = strlen (self->path);
    if (s_inside (self, "run", folder, sizeof folder) != 0 ||
        strncmp (self->endpoint + strlen ("ipc://"), self->path, length) != 0) {
        snprintf (reason, size, "argos.yaml: ipc_group: the path of the home is too long for it");
        return -1;
    }
    const char *const folders[] = { self->path, folder };
    for (size_t i = 0; i < 2; i++)
        if (chown (folders[i], (uid_t) -1, found->gr_gid) != 0 || chmod (folders[i], 0710) != 0) {
            snprintf (reason, size, "%s: %s", folders[i], strerror (errno));
            return -1;
        }
    self->group = found->gr_gid;
    return 0;
}

bool
argosd_home_has (const argosd_home_t *self, const char *name)
{
    char path[PATH_MAX];
    return s_inside (self, name, path, sizeof path) == 0 && access (path, F_OK) == 0;
}

int
argosd_home_put (const argosd_home_t *self, const char *name, const char *text)
{
    char path[PATH_MAX];
    return s_inside (self, name, path, sizeof path) == 0 ? s_write_file (path, text) : -1;
}

void
argosd_home_remove (const argosd_home_t *self, const char *name)
{
    char path[PATH_MAX];
    if (s_inside (self, name, path, sizeof path) == 0)
        unlink (path);
}

void
argosd_home_close (argosd_home_t *self)
{
    sodium_memzero (self->key, sizeof self->key);
    if (self->lock_fd >= 0)
        close (self->lock_fd);
    self->lock_fd = -1;
}
