//  argosd_doctor_home - what `argos doctor` looks at in the home: folders, permissions, the lock,
//  leftovers, keys.
//
//  Invariant: what it changes with --fix is in these tables (permissions, missing folders, files
//  that a killed process has left); nothing is followed through a link.

#include "argos_key.h"
#include "argos_keys.h"
#include "argosd_doctor.h"
#include "argosd_home.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LEFT_S 3600      //  A file that is written aside, and older, was left
#define KEY_MIN 16       //  Characters of an API key
#define FOREIGN 077      //  Rights of others
#define GROUP_ENTERS 010 //  What ipc_group needs of a folder

//  A path in the home; too long ones are cut, and not found then.

static const char *
s_inside (const doctor_t *self, const char *name, char path[static PATH_MAX + 300])
{
    snprintf (path, PATH_MAX + 300, "%s%s%s", self->cli->home, *name ? "/" : "", name);
    return path;
}

void
argosd_doctor_home (doctor_t *self)
{
    char path[PATH_MAX + 300];
    struct stat info;
    const char *home = self->cli->home;
    if (stat (home, &info) != 0) {
        self->absent = true;
        argosd_doctor_say (self, DOCTOR_WARNING, "argosd makes it at its first start", "%s: %s",
            home, strerror (errno));
        return;
    }
    if (!S_ISDIR (info.st_mode)) {
        self->absent = true;
        argosd_doctor_say (
            self, DOCTOR_FAULT, "name another one with --home", "%s is no folder", home);
        return;
    }
    if (info.st_uid != getuid ())
        argosd_doctor_say (self, DOCTOR_FAULT, "run argos and argosd as its owner",
            "%s belongs to uid %lu, not to us", home, (unsigned long) info.st_uid);
    if (access (home, R_OK | W_OK | X_OK) != 0)
        argosd_doctor_say (self, DOCTOR_FAULT, "mount it so that it can be written", "%s: %s", home,
            strerror (errno));
    if (lstat (s_inside (self, "run", path), &info) != 0 && errno == ENOENT) {
        int rc = self->fix ? mkdir (path, 0700) : -1;
        argosd_doctor_curable (
            self, DOCTOR_WARNING, rc, "make it by hand", "there is no folder %s", path);
    }
}

//  ------------------------------------------------------------------------------------------------
//  Permissions

//  One file or folder: nobody else's, and ours to read and write.

static void
s_look_at (doctor_t *self, const char *name, doctor_level_t level, uid_t owner, bool shared)
{
    char path[PATH_MAX + 300];
    struct stat info;
    if (lstat (s_inside (self, name, path), &info) != 0)
        return;
    bool link = S_ISLNK (info.st_mode);
    if (link && stat (path, &info) != 0)
        return;
    if (info.st_uid != owner)
        argosd_doctor_say (self, DOCTOR_FAULT, "chown it to the owner of the home",
            "%s belongs to uid %lu", path, (unsigned long) info.st_uid);
    mode_t own = S_ISDIR (info.st_mode) ? 0700 : 0600;
    mode_t allowed = own | 0700 | (shared ? GROUP_ENTERS : 0), mode = info.st_mode & 0777;
    doctor_level_t found = mode & FOREIGN ? level : DOCTOR_FAULT;
    if ((mode & own) == own && !(mode & ~allowed))
        return;
    if (link) {
        argosd_doctor_say (self, found, "chmod what the link leads to, as its owner",
            "%s leads to what has the permissions %03o, not %03o", path, (unsigned) mode,
            (unsigned) own);
        return;
    }
    int rc =
        self->fix ? fchmodat (AT_FDCWD, path, (mode & allowed) | own, AT_SYMLINK_NOFOLLOW) : -1;
    argosd_doctor_curable (self, found, rc, "chmod it, as its owner",
        "%s has the permissions %03o, not %03o", path, (unsigned) mode, (unsigned) own);
}

//  Calls fn for the files of a folder of the home whose name ends in suffix.

static void
s_each (doctor_t *self, const char *folder, const char *suffix,
    void (*fn) (doctor_t *self, const char *name, void *arg), void *arg)
{
    char path[PATH_MAX + 300], name[600];
    DIR *stream = opendir (s_inside (self, folder, path));
    const struct dirent *entry;
    while (stream && (entry = readdir (stream)) != NULL) { // NOLINT(concurrency-mt-unsafe)
        size_t size = strlen (entry->d_name), tail = strlen (suffix);
        if (entry->d_name[0] == '.' || size < tail ||
            strcmp (entry->d_name + size - tail, suffix) != 0)
            continue;
        snprintf (name, sizeof name, "%s%s%s", folder, *folder ? "/" : "", entry->d_name);
        fn (self, name, arg);
    }
    if (stream)
        closedir (stream);
}

static void
s_look_at_key (doctor_t *self, const char *name, void *arg)
{
    s_look_at (self, name, DOCTOR_FAULT, *(const uid_t *) arg, false);
}

void
argosd_doctor_permissions (doctor_t *self)
{
    static const struct {
        const char *name;     //  In the home
        doctor_level_t level; //  When others may read it
        bool shared;          //  With ipc_group its group may pass
    } places[] = { { "", DOCTOR_FAULT, true }, { "run", DOCTOR_FAULT, true },
        { "keys", DOCTOR_FAULT, false }, { "backups", DOCTOR_WARNING, false },
        { "api-key", DOCTOR_FAULT, false }, { "http-keys.json", DOCTOR_FAULT, false },
        { "run/operator.token", DOCTOR_FAULT, false }, { "run/argosd.lock", DOCTOR_WARNING, false },
        { "argos.db", DOCTOR_FAULT, false }, { "argos.db-wal", DOCTOR_FAULT, false },
        { "argos.db-shm", DOCTOR_WARNING, false }, { "argos.yaml", DOCTOR_WARNING, false },
        { "local.yaml", DOCTOR_WARNING, false }, { "node.json", DOCTOR_WARNING, false },
        { "argosd.log", DOCTOR_WARNING, false }, { "argosd.log.1", DOCTOR_WARNING, false },
        { "chat_history", DOCTOR_WARNING, false } };
    struct stat home;
    if (stat (self->cli->home, &home) != 0)
        return;
    bool group = self->config && *self->config->ipc_group;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        s_look_at (self, places[i].name, places[i].level, home.st_uid, group && places[i].shared);
    s_each (self, "keys", "", s_look_at_key, &home.st_uid);
}

//  ------------------------------------------------------------------------------------------------
//  The lock and the socket

//  Whether an argosd has the lock; *ret_pid is its pid, 0 = unknown.

static bool
s_is_held (const doctor_t *self, long *ret_pid)
{
    char path[PATH_MAX + 300], text[32];
    *ret_pid = 0;
    int fd = open (s_inside (self, "run/argosd.lock", path), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    bool held = fd >= 0 && flock (fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    ssize_t size = held ? pread (fd, text, sizeof text - 1, 0) : 0;
    text[size < 0 ? 0 : size] = 0;
    if (held)
        *ret_pid = strtol (text, NULL, 10);
    if (fd >= 0)
        close (fd);
    return held;
}

//  Under the lock, so that none of an argosd that has begun meanwhile is taken away

static int
s_remove_socket (const doctor_t *self, const char *path)
{
    argosd_home_t home;
    char reason[PATH_MAX + 256];
    if (argosd_home_hold (&home, self->cli->home, reason, sizeof reason) != 0)
        return -1;
    int rc = argos_cli_is_listening (self->cli) ? -1 : unlink (path);
    argosd_home_close (&home);
    return rc;
}

void
argosd_doctor_daemon (doctor_t *self)
{
    long pid = 0;
    struct stat info;
    bool listening = argos_cli_is_listening (self->cli), ipc;
    const char *path = self->cli->endpoint + strlen ("ipc://");
    ipc = strncmp (self->cli->endpoint, "ipc://", strlen ("ipc://")) == 0;
    self->held = s_is_held (self, &pid);
    if (argos_cli_elsewhere (self->cli, &self->node))
        argosd_doctor_say (self, DOCTOR_GOOD, NULL,
            "node %s runs with pid %ld; its core is at %s, where the rest is asked",
            self->node.name, self->node.pid, self->node.broker);
    else if (self->held && listening)
        argosd_doctor_say (self, DOCTOR_GOOD, NULL, "argosd runs with pid %ld", pid);
    else if (self->held)
        argosd_doctor_say (self, DOCTOR_FAULT,
            "look at its log; when it stays so, end that process and start argosd again",
            "argosd with pid %ld has the lock of the home, and its socket does not answer", pid);
    else if (ipc && lstat (path, &info) == 0 && S_ISSOCK (info.st_mode)) {
        int rc = self->fix ? s_remove_socket (self, path) : -1;
        argosd_doctor_curable (self, DOCTOR_WARNING, rc, "start argosd, which takes its place",
            "no argosd runs, and %s was left", path);
    }
    else
        argosd_doctor_say (self, DOCTOR_GOOD, NULL, "no argosd runs here");
}

static void
s_look_at_left (doctor_t *self, const char *name, void *arg)
{
    char path[PATH_MAX + 300];
    struct stat info;
    struct timespec now;
    (void) arg;
    clock_gettime (CLOCK_REALTIME, &now);
    if (lstat (s_inside (self, name, path), &info) != 0 || !S_ISREG (info.st_mode) ||
        now.tv_sec - info.st_mtim.tv_sec < LEFT_S)
        return;
    int rc = self->fix ? unlink (path) : -1;
    argosd_doctor_curable (self, DOCTOR_WARNING, rc, "remove it by hand",
        "%s was left by a process that was killed while it wrote", path);
}

void
argosd_doctor_leftovers (doctor_t *self)
{
    static const struct {
        const char *folder; //  In the home
        const char *suffix; //  Of what is written aside there
    } places[] = { { "", ".new" }, { "run", ".new" }, { "keys", ".new" }, { "backups", ".part" } };
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        s_each (self, places[i].folder, places[i].suffix, s_look_at_left, NULL);
}

//  ------------------------------------------------------------------------------------------------
//  Keys

static void
s_look_at_bundle (doctor_t *self, const char *name, void *arg)
{
    char path[PATH_MAX + 300], reason[512];
    argos_key_t key;
    (void) arg;
    if (strcmp (name, "keys/server.key") == 0)
        return; //  Of another form
    if (argos_key_read (&key, s_inside (self, name, path), reason, sizeof reason) != 0)
        argosd_doctor_say (self, DOCTOR_FAULT,
            "argos keys revoke that name, then argos keys new with another", "%s", reason);
    argos_key_wipe (&key);
}

static void
s_look_at_records (doctor_t *self)
{
    char reason[512];
    json_t *record, *list = argos_keys_list (self->cli->home, reason, sizeof reason);
    size_t index;
    if (!list)
        argosd_doctor_say (
            self, DOCTOR_FAULT, "make the folder readable, as its owner", "%s", reason);
    json_array_foreach (list, index, record)
        if (json_object_get (record, "problem"))
            argosd_doctor_say (self, DOCTOR_FAULT,
                "remove it, or put it back from a copy; its peer is not let in", "keys/%s.pub: %s",
                argos_cli_text (record, "name"), argos_cli_text (record, "problem"));
    json_decref (list);
}

void
argosd_doctor_keys (doctor_t *self)
{
    char path[PATH_MAX + 300], text[256];
    struct stat info;
    if (stat (s_inside (self, "keys", path), &info) == 0) {
        s_look_at_records (self);
        s_each (self, "keys", ".key", s_look_at_bundle, NULL);
    }
    int fd = open (s_inside (self, "api-key", path), O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return; //  argosd makes it
    ssize_t size = read (fd, text, sizeof text - 1);
    close (fd);
    text[size < 0 ? 0 : size] = 0;
    if (strcspn (text + strspn (text, " \t\r\n"), " \t\r\n") < KEY_MIN)
        argosd_doctor_say (self, DOCTOR_FAULT, "remove it: argosd writes a new one at its start",
            "%s has no key of at least %d characters", path, KEY_MIN);
    explicit_bzero (text, sizeof text);
}
