//  argosd_doctor_host - what `argos doctor` looks at around the home: settings, database, disk,
//  clock, descriptors, ports, adapters, the provider.
//
//  Invariant: nothing here changes anything. The provider gets one request without a key and
//  without a turn; any answer of it is enough. Limits: REACH_S for that.

#include "argos_secret.h"
#include "argos_store.h"
#include "argosd_doctor.h"

#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#define REACH_S 8              //  Patience with the provider
#define SPACE_MIN (64LL << 20) //  Less, and the store takes nothing new
#define SPACE_LOW (1LL << 30)  //  Less, and it may soon be so
#define FILES_MIN 1024         //  Descriptors without which argosd is of no use
#define FILES_LOW 8192         //  Less, and it takes fewer connections than it could
#define CLOCK_S 60             //  How far the clock may be behind what was written
#define SQLITE_MIN "3.37.0"    //  The first with STRICT tables
#define DEPTH_MAX 16           //  Of the settings

//  ------------------------------------------------------------------------------------------------
//  Settings

static void
s_warn (void *arg, const char *sentence)
{
    argosd_doctor_say (arg, DOCTOR_WARNING, "correct it, or take it out", "%s", sentence);
}

void
argosd_doctor_settings (doctor_t *self)
{
    char reason[1024] = "";
    self->config = argos_config_load (self->cli->home, s_warn, self, reason, sizeof reason);
    if (!self->config)
        argosd_doctor_say (self, DOCTOR_FAULT,
            "correct that line; `argos config check` says whether it is good", "%s", reason);
}

//  One reference to a secret. A variable may be set where argosd is started, and not here.

static void
s_look_at_secret (doctor_t *self, const char *path, const char *ref)
{
    char reason[512];
    bool variable = strncmp (ref, "env:", 4) == 0;
    if (!variable && strncmp (ref, "file:", 5) != 0)
        return;
    char *secret = argos_secret_read (self->cli->home, ref, reason, sizeof reason);
    if (!secret)
        argosd_doctor_say (self, variable && self->held ? DOCTOR_WARNING : DOCTOR_FAULT,
            variable ? "set it where argosd is started" : "put the secret there, mode 0600",
            "%s: %s", path, reason);
    argos_secret_free (&secret);
}

//  NOLINTBEGIN(misc-no-recursion): at most DEPTH_MAX deep

static void
s_look_for_secrets (doctor_t *self, json_t *object, const char *path, int depth)
{
    const char *name;
    json_t *value;
    json_object_foreach (object, name, value) {
        char inner[512];
        snprintf (inner, sizeof inner, "%.380s%s%.120s", path, *path ? "." : "", name);
        if (json_is_object (value) && depth < DEPTH_MAX)
            s_look_for_secrets (self, value, inner, depth + 1);
        else if (json_is_string (value) && (strstr (name, "token") || strstr (name, "secret")))
            s_look_at_secret (self, inner, json_string_value (value));
    }
}

//  NOLINTEND(misc-no-recursion)

void
argosd_doctor_secrets (doctor_t *self)
{
    if (!self->config)
        return;
    json_t *all = json_deep_copy (self->config->settings);
    s_look_for_secrets (self, all, "", 0);
    json_decref (all);
}

//  ------------------------------------------------------------------------------------------------
//  Database, disk, clock, descriptors

void
argosd_doctor_database (doctor_t *self)
{
    static const char magic[16] = "SQLite format 3";
    char path[PATH_MAX + 32], reason[256], head[sizeof magic];
    snprintf (path, sizeof path, "%s/argos.db", self->cli->home);
    if (strverscmp (argos_store_library (), SQLITE_MIN) < 0)
        argosd_doctor_say (self, DOCTOR_FAULT, "install a newer libsqlite3",
            "this SQLite is %s, and %s is needed", argos_store_library (), SQLITE_MIN);
    if (!argos_store_place_check (path, reason))
        argosd_doctor_say (
            self, DOCTOR_FAULT, "move the home to a local disk (--home)", "%s", reason);
    int fd = open (path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return; //  argosd makes it
    ssize_t size = fd < 0 ? -1 : read (fd, head, sizeof head);
    if (size < 0)
        argosd_doctor_say (
            self, DOCTOR_FAULT, "make it readable, as its owner", "%s: %s", path, strerror (errno));
    else if (size && (size != sizeof head || memcmp (head, magic, sizeof magic) != 0))
        argosd_doctor_say (self, DOCTOR_FAULT, "argos db restore FILE, with a backup",
            "%s is no database any more", path);
    else
        argosd_doctor_say (self, DOCTOR_GOOD, NULL, "%s, SQLite %s", path, argos_store_library ());
    if (fd >= 0)
        close (fd);
}

void
argosd_doctor_disk (doctor_t *self)
{
    struct statvfs info;
    if (statvfs (self->cli->home, &info) != 0) {
        argosd_doctor_say (self, DOCTOR_FAULT, "look at that disk", "%s", strerror (errno));
        return;
    }
    long long bytes = (long long) info.f_bavail * (long long) info.f_frsize;
    doctor_level_t level = bytes < SPACE_MIN   ? DOCTOR_FAULT
                           : bytes < SPACE_LOW ? DOCTOR_WARNING
                                               : DOCTOR_GOOD;
    argosd_doctor_say (self, level,
        level == DOCTOR_GOOD ? NULL : "make room; argos sessions prune and argos db compact help",
        "%lld MiB are free", bytes >> 20);
    if (info.f_files && info.f_favail < 1000)
        argosd_doctor_say (self, DOCTOR_FAULT, "remove files on that disk",
            "only %llu more files can be made", (unsigned long long) info.f_favail);
    if (info.f_flag & ST_RDONLY)
        argosd_doctor_say (
            self, DOCTOR_FAULT, "mount it for writing", "the disk is mounted read-only");
}

//  Whether a file is from a time that is still to come.

static void
s_look_at_time (doctor_t *self, const char *path, time_t now)
{
    struct stat info;
    if (stat (path, &info) == 0 && info.st_mtim.tv_sec - now > CLOCK_S)
        argosd_doctor_say (self, DOCTOR_FAULT, "set the clock; systemd-timesyncd or chrony keep it",
            "the clock is behind: %s was written %lld s in the future", path,
            (long long) (info.st_mtim.tv_sec - now));
}

void
argosd_doctor_clock (doctor_t *self)
{
    char path[PATH_MAX + 32];
    struct timespec now;
    clock_gettime (CLOCK_REALTIME, &now);
    snprintf (path, sizeof path, "%s/argos.db", self->cli->home);
    s_look_at_time (self, path, now.tv_sec);
    s_look_at_time (self, "/proc/self/exe", now.tv_sec);
}

void
argosd_doctor_descriptors (doctor_t *self)
{
    struct rlimit files;
    if (getrlimit (RLIMIT_NOFILE, &files) != 0)
        return;
    doctor_level_t level = files.rlim_max < FILES_MIN   ? DOCTOR_FAULT
                           : files.rlim_max < FILES_LOW ? DOCTOR_WARNING
                                                        : DOCTOR_GOOD;
    argosd_doctor_say (self, level,
        level == DOCTOR_GOOD ? NULL : "ulimit -Hn, or LimitNOFILE= of the service: 65536",
        "a process may have %llu descriptors", (unsigned long long) files.rlim_max);
}

//  ------------------------------------------------------------------------------------------------
//  Ports

//  Tries to listen there, or to connect. Returns 0 or errno.

static int
s_try (const char *host, const char *port, bool listening)
{
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE };
    struct addrinfo *found = NULL;
    if (getaddrinfo (strcmp (host, "*") == 0 ? NULL : host, port, &hints, &found) != 0)
        return EADDRNOTAVAIL;
    int on = 1, problem = 0;
    int fd = socket (found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0)
        setsockopt (fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (fd < 0 ||
        (listening ? connect (fd, found->ai_addr, found->ai_addrlen) != 0
                   : bind (fd, found->ai_addr, found->ai_addrlen) != 0 || listen (fd, 1) != 0))
        problem = errno;
    if (fd >= 0)
        close (fd);
    freeaddrinfo (found);
    return problem;
}

static void
s_look_at_port (doctor_t *self, const char *what, const char *host, const char *port)
{
    int problem = s_try (host, port, self->held);
    if (!problem)
        argosd_doctor_say (self, DOCTOR_GOOD, NULL, "%s: %s:%s %s", what, host, port,
            self->held ? "answers" : "is free");
    else if (self->held)
        argosd_doctor_say (self, DOCTOR_WARNING,
            "argosd --port may say another; else look at its log", "%s: nobody listens at %s:%s",
            what, host, port);
    else
        argosd_doctor_say (self, DOCTOR_FAULT,
            "end what listens there (ss -ltnp shows it), or take another address in argos.yaml",
            "%s: %s:%s: %s", what, host, port, strerror (problem));
}

static void
s_look_at_bind (doctor_t *self, const char *endpoint)
{
    char host[256];
    const char *port = strrchr (endpoint, ':');
    if (strncmp (endpoint, "tcp://", 6) != 0 || port < endpoint + 6 || strchr (endpoint, '['))
        return;
    snprintf (host, sizeof host, "%.*s", (int) (port - endpoint - 6), endpoint + 6);
    s_look_at_port (self, "broker", host, port + 1);
}

//  Whether the HTTP API is here: a node has it when the settings place it there.

static bool
s_has_api (const doctor_t *self)
{
    const argos_config_t *config = self->config;
    for (size_t i = 0; self->node.pid && i < config->node_count; i++)
        for (size_t at = 0; at < config->nodes[i].place_count; at++)
            if (strcmp (config->nodes[i].name, self->node.name) == 0 &&
                strcmp (config->nodes[i].places[at].actor, "api") == 0)
                return true;
    return !self->node.pid;
}

void
argosd_doctor_ports (doctor_t *self)
{
    char port[16];
    const argos_config_t *config = self->config;
    if (!config)
        return;
    snprintf (port, sizeof port, "%d", config->http.port);
    if (config->http.enabled && config->http.port && s_has_api (self))
        s_look_at_port (self, "http", config->http.host, port);
    for (const char **bind = config->bind; !self->node.pid && bind && *bind; bind++)
        s_look_at_bind (self, *bind);
}

//  ------------------------------------------------------------------------------------------------
//  Adapters and the provider

static bool
s_can_run (const char *word)
{
    char path[PATH_MAX];
    if (strchr (word, '/'))
        return access (word, X_OK) == 0;
    const char *folder = getenv ("PATH");
    while (folder && *folder) {
        size_t size = strcspn (folder, ":");
        snprintf (path, sizeof path, "%.*s/%s", (int) size, folder, word);
        if (access (path, X_OK) == 0)
            return true;
        folder += size + (folder[size] == ':');
    }
    return false;
}

void
argosd_doctor_adapters (doctor_t *self)
{
    const argos_config_t *config = self->config;
    for (size_t i = 0; config && i < config->adapter_count; i++)
        if (!s_can_run (config->adapters[i].command[0]))
            argosd_doctor_say (self, DOCTOR_FAULT,
                "install it, or correct adapters: in argos.yaml; argos adapter-check tries it",
                "%s.%s: %s can't be run", config->adapters[i].platform, config->adapters[i].account,
                config->adapters[i].command[0]);
}

//  As libcurl wants it. NOLINTBEGIN(readability-non-const-parameter)
static size_t
s_swallow (char *bytes, size_t size, size_t count, void *arg)
{
    (void) bytes;
    (void) arg;
    return size * count;
}

//  NOLINTEND(readability-non-const-parameter)

//  Whether anything answers at that address. Returns CURLE_OK, or what is wrong.

static CURLcode
s_reach (const char *address)
{
    curl_global_init (CURL_GLOBAL_DEFAULT);
    CURL *curl = curl_easy_init ();
    CURLcode code = curl ? CURLE_OK : CURLE_OUT_OF_MEMORY;
    if (curl) {
        curl_easy_setopt (curl, CURLOPT_URL, address);
        curl_easy_setopt (curl, CURLOPT_NOBODY, 1L);
        curl_easy_setopt (curl, CURLOPT_NOSIGNAL, 1L);
        curl_easy_setopt (curl, CURLOPT_TIMEOUT, (long) REACH_S);
        curl_easy_setopt (curl, CURLOPT_PROTOCOLS_STR, "http,https");
        curl_easy_setopt (curl, CURLOPT_WRITEFUNCTION, s_swallow);
        code = curl_easy_perform (curl);
        curl_easy_cleanup (curl);
    }
    curl_global_cleanup ();
    return code;
}

void
argosd_doctor_provider (doctor_t *self)
{
    const argos_config_provider_t *provider = self->config ? &self->config->provider : NULL;
    if (!provider)
        return;
    if (*provider->problem)
        argosd_doctor_say (self, self->held ? DOCTOR_WARNING : DOCTOR_FAULT,
            "set the key where argosd is started; argos provider test tries it", "%s",
            provider->problem);
    if (provider->kind == ARGOS_PROVIDER_REHEARSAL) {
        argosd_doctor_say (
            self, DOCTOR_GOOD, NULL, "no model is configured: the rehearsal provider answers");
        return;
    }
    const char *host = strstr (provider->base_url, "://"), *at = strrchr (provider->base_url, '@');
    host = at ? at + 1 : host ? host + 3 : provider->base_url;
    CURLcode code = s_reach (provider->base_url);
    if (code == CURLE_OK)
        argosd_doctor_say (
            self, DOCTOR_GOOD, NULL, "%s answers; argos provider test asks it", host);
    else
        argosd_doctor_say (self, DOCTOR_FAULT,
            "look at provider.base_url, the network, the proxy (https_proxy) and its certificate",
            "%s: %s", host, curl_easy_strerror (code));
}
