//  bench_http - POST /v1/runs: how many a second are accepted, and how long one takes to its end;
//  a chat completion: when its first token comes.
//
//  Invariant: the base of runs is a libmicrohttpd handler that reads the body and answers 202; both
//  get the same bytes over as many keep-alive connections from the same loop. The base of a chat is
//  the provider itself, asked directly; argosd asks the same one. Limits: answers of at most 64
//  KiB.

#include "argos_actor.h"
#include "argos_rehearsal_actor.h"
#include "bench_daemon.h"
#include "bench_load.h"
#include "bench_sqlite.h"

#include <arpa/inet.h>
#include <czmq.h>
#include <microhttpd.h>
#include <netinet/tcp.h>
#include <poll.h>

#define CONNECTIONS 64
#define ROUND_NS 1000000000
#define ALONE 100
#define WAIT_MS 10000

typedef struct {
    int fd;           //  Connection
    char text[65536]; //  What has come
    size_t size;      //  How much of it
} client_t;

static enum MHD_Result
s_handle (void *arg, struct MHD_Connection *connection, const char *url, const char *method,
    const char *version, const char *upload, size_t *upload_size, void **state)
{
    static char answer[] = "{\"run_id\":\"run_0\",\"status\":\"started\"}";
    static int begun;
    (void) arg;
    (void) url;
    (void) method;
    (void) version;
    (void) upload;
    if (!*state || *upload_size) {
        *state = &begun;
        *upload_size = 0;
        return MHD_YES;
    }
    struct MHD_Response *response =
        MHD_create_response_from_buffer (sizeof answer - 1, answer, MHD_RESPMEM_PERSISTENT);
    enum MHD_Result rc = MHD_queue_response (connection, 202, response);
    MHD_destroy_response (response);
    return rc;
}

static int
s_connect (int port)
{
    const int one = 1;
    struct sockaddr_in address = { .sin_family = AF_INET,
        .sin_port = htons ((uint16_t) port),
        .sin_addr.s_addr = htonl (INADDR_LOOPBACK) };
    int fd = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect (fd, (struct sockaddr *) &address, sizeof address) != 0) {
        perror ("bench: connect");
        exit (1);
    }
    setsockopt (fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return fd;
}

static void
s_write (const client_t *client, const char *text)
{
    size_t size = strlen (text);
    if (write (client->fd, text, size) != (ssize_t) size) {
        perror ("bench: write");
        exit (1);
    }
}

static void
s_post (client_t *client, const char *key)
{
    static const char body[] = "{\"input\":\"hello\"}";
    char text[512];
    snprintf (text, sizeof text,
        "POST /v1/runs HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\n"
        "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
        key, sizeof body - 1, body);
    s_write (client, text);
}

//  Reads what is there. Returns whether the text holds a whole answer with a length; it is cut off
//  by the next s_begin.

static bool
s_read (client_t *client)
{
    ssize_t count =
        read (client->fd, client->text + client->size, sizeof client->text - 1 - client->size);
    if (count <= 0) {
        fprintf (stderr, "bench: the connection has ended: %.300s\n", client->text);
        exit (1);
    }
    client->size += (size_t) count;
    client->text[client->size] = '\0';
    const char *body = strstr (client->text, "\r\n\r\n");
    const char *length = strcasestr (client->text, "content-length:");
    return body && length &&
           client->size >= (size_t) (body + 4 - client->text) + strtoul (length + 15, NULL, 10);
}

static void
s_begin (client_t *client)
{
    client->size = 0;
    client->text[0] = '\0';
}

//  Accepted runs per second over all connections

static double
s_rate (int port, const char *key)
{
    client_t *clients = calloc (CONNECTIONS, sizeof *clients);
    struct pollfd items[CONNECTIONS];
    int64_t start = bench_now (), done = 0;
    bool told = false;
    for (int i = 0; i < CONNECTIONS; i++) {
        clients[i].fd = s_connect (port);
        items[i] = (struct pollfd){ clients[i].fd, POLLIN, 0 };
        s_post (&clients[i], key);
    }
    while (bench_now () - start < ROUND_NS && poll (items, CONNECTIONS, WAIT_MS) > 0)
        for (int i = 0; i < CONNECTIONS; i++) {
            if (!items[i].revents || !s_read (&clients[i]))
                continue;
            if (!strstr (clients[i].text, " 202 ") && !told)
                fprintf (stderr, "bench: %.400s\n", clients[i].text);
            told = told || !strstr (clients[i].text, " 202 ");
            done += strstr (clients[i].text, " 202 ") != NULL;
            s_begin (&clients[i]);
            s_post (&clients[i], key);
        }
    double rate = (double) done * 1e9 / (double) (bench_now () - start);
    for (int i = 0; i < CONNECTIONS; i++)
        close (clients[i].fd);
    free (clients);
    return rate;
}

//  One run from POST to run.completed in its events

static double
s_one (client_t *client, client_t *events, const char *key)
{
    char text[512], run[64];
    int64_t start = bench_now ();
    s_begin (client);
    s_post (client, key);
    while (!s_read (client))
        continue;
    const char *id = strstr (client->text, "\"run_id\"");
    id = id ? strstr (id + 8, "run_") : NULL;
    if (!id)
        return -1;
    snprintf (run, sizeof run, "%.*s", (int) strcspn (id, "\""), id);
    snprintf (text, sizeof text,
        "GET /v1/runs/%s/events HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\n\r\n",
        run, key);
    s_begin (events);
    s_write (events, text);
    do
        s_read (events);
    while (!strstr (events->text, "run.completed") && !strstr (events->text, "run.failed"));
    return (double) (bench_now () - start) / 1e6;
}

static void
s_alone (const bench_daemon_t *daemon, bench_samples_t *samples)
{
    client_t *client = calloc (1, sizeof *client), *events = calloc (1, sizeof *events);
    client->fd = s_connect (daemon->port);
    for (int i = 0; i < ALONE; i++) {
        events->fd = s_connect (daemon->port);
        double ms = s_one (client, events, daemon->key);
        if (ms >= 0)
            bench_sample (samples, (int64_t) (ms * 1e6));
        close (events->fd);
    }
    close (client->fd);
    free (client);
    free (events);
}

//  From the request of a streamed chat to the first token of its answer, msec

static double
s_first_token (int port, const char *key)
{
    static const char body[] = "{\"model\":\"rehearsal\",\"stream\":true,\"messages\":"
                               "[{\"role\":\"user\",\"content\":\"hello\"}]}";
    client_t *client = calloc (1, sizeof *client);
    char text[512];
    client->fd = s_connect (port);
    snprintf (text, sizeof text,
        "POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\n"
        "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
        key, sizeof body - 1, body);
    int64_t start = bench_now (), first = 0;
    s_write (client, text);
    while (!strstr (client->text, "[DONE]")) {
        s_read (client);
        if (!first && strstr (client->text, "\"content\":\"You"))
            first = bench_now ();
    }
    if (!first)
        fprintf (stderr, "bench: no token: %.600s\n", strstr (client->text, "data:"));
    close (client->fd);
    free (client);
    return first ? (double) (first - start) : -1;
}

static void
s_first_tokens (void)
{
    bench_samples_t direct = { 0 }, ours = { 0 };
    zactor_t *provider = argos_actor_start ("rehearsal", argos_rehearsal_actor, NULL);
    int port = provider ? argos_rehearsal_port (provider, WAIT_MS) : -1;
    bench_daemon_t daemon = { .provider_port = port };
    setenv ("OPENAI_API_KEY", "none", 1); //  It is wanted, and not looked at
    if (port > 0 && bench_daemon_start (&daemon) == 0) {
        for (int i = 0; i < ALONE; i++) {
            bench_sample (&direct, (int64_t) s_first_token (port, "none"));
            bench_sample (&ours, (int64_t) s_first_token (daemon.port, daemon.key));
        }
        double base = bench_percentile (&direct, 0.5);
        bench_print (&(bench_row_t){ .name = "chat completion, first token p50, target base + 5 ms",
            .unit = "ms",
            .base = base,
            .ours = bench_percentile (&ours, 0.5),
            .target = (base + 5) / base,
            .at_most = true,
            .remark = "base: the provider itself" });
        bench_print (&(bench_row_t){
            .name = "  p99", .unit = "ms", .ours = bench_percentile (&ours, 0.99) });
        bench_daemon_stop (&daemon);
    }
    bench_samples_clear (&direct);
    bench_samples_clear (&ours);
    argos_actor_stop (&provider, WAIT_MS);
}

static void
s_print_alone (bench_samples_t *samples, const load_t *store, double commit_ms)
{
    bench_print (&(bench_row_t){ .name = "POST -> run.completed alone p50, target 1.5 ms",
        .unit = "ms",
        .base = commit_ms,
        .ours = bench_percentile (samples, 0.5),
        .target = 1.5 / commit_ms,
        .at_most = true,
        .batch = store->batch,
        .syncs = store->syncs,
        .remark = "base: one bare commit" });
    bench_print (
        &(bench_row_t){ .name = "  p99", .unit = "ms", .ours = bench_percentile (samples, 0.99) });
}

static void
s_print_rate (const double *base, const double *ours, const load_t *store)
{
    double bare = bench_median (base);
    bench_print (&(bench_row_t){ .name = "POST /v1/runs -> 202, 64 connections, target 6,500/s",
        .unit = "/s",
        .base = bare,
        .ours = bench_median (ours),
        .target = 6500 / bare,
        .batch = store->batch,
        .syncs = store->syncs,
        .remark = "base: a handler that does nothing" });
}

void
bench_http (void)
{
    bench_daemon_t daemon = { 0 };
    bench_samples_t samples = { 0 };
    load_t store = { 0 }; //  Sends nothing; counts commits
    double base[BENCH_ROUNDS], ours[BENCH_ROUNDS];
    signal (SIGPIPE, SIG_IGN);
    struct MHD_Daemon *bare = MHD_start_daemon (MHD_USE_EPOLL_INTERNAL_THREAD, 0, NULL, NULL,
        s_handle, NULL, MHD_OPTION_CONNECTION_LIMIT, 1024u, MHD_OPTION_END);
    if (!bare || bench_daemon_start (&daemon) != 0)
        return;
    int port = MHD_get_daemon_info (bare, MHD_DAEMON_INFO_BIND_PORT)->port;
    void *context = zmq_ctx_new ();
    if (load_open (&store, &daemon, context, "http") != 0)
        return;
    bench_sqlite_t *disk = bench_sqlite_new ();
    double commit_ms = bench_sqlite_commit_ms (disk, 100, NULL);
    bench_sqlite_destroy (&disk);
    load_mark (&store);
    s_alone (&daemon, &samples);
    load_measure (&store);
    s_print_alone (&samples, &store, commit_ms);
    for (int round = 0; round < BENCH_ROUNDS; round++) {
        base[round] = s_rate (port, daemon.key);
        load_mark (&store);
        ours[round] = s_rate (daemon.port, daemon.key);
        load_measure (&store);
    }
    s_print_rate (base, ours, &store);
    load_close (&store);
    zmq_ctx_term (context);
    bench_samples_clear (&samples);
    bench_daemon_stop (&daemon);
    MHD_stop_daemon (bare);
    s_first_tokens ();
}
