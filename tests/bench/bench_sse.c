//  bench_sse - many readers of one run over HTTP: what an idle one costs, how soon one event is
//  with a thousand, how soon it is noticed that a thousand have gone.
//
//  Invariant: all readers follow one run that waits for its model; the base of the fan-out are as
//  many plain sends of the same bytes, taken by the same loop. Limits: a head of an answer and an
//  event fit into 4 KiB.

#include "bench_daemon.h"
#include "bench_load.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define IDLE 5000     //  Streams
#define GONE 1000     //  of them leave
#define READERS 1000  //  Of one event
#define ANSWER 4096   //  Bytes of an answer that are kept
#define WAIT_MS 10000 //  Patience

static int
s_connect (int port)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
        .sin_port = htons ((uint16_t) port),
        .sin_addr.s_addr = htonl (INADDR_LOOPBACK) };
    int fd = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect (fd, (struct sockaddr *) &address, sizeof address) != 0) {
        perror ("bench: connect");
        exit (1);
    }
    return fd;
}

//  Reads until the text is there. Returns whether it came.

static bool
s_read_until (int fd, const char *text, char answer[static ANSWER])
{
    size_t size = 0;
    answer[0] = '\0';
    while (!strstr (answer, text)) {
        struct pollfd item = { fd, POLLIN, 0 };
        ssize_t count =
            poll (&item, 1, WAIT_MS) > 0 ? read (fd, answer + size, ANSWER - 1 - size) : 0;
        if (count <= 0)
            return false;
        size += (size_t) count;
        answer[size] = '\0';
    }
    return true;
}

static int
s_ask (const bench_daemon_t *daemon, const char *method, const char *path, const char *body)
{
    char text[512];
    int fd = s_connect (daemon->port);
    int size = snprintf (text, sizeof text,
        "%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\nContent-Length: "
        "%zu\r\n\r\n%s",
        method, path, daemon->key, strlen (body), body);
    if (write (fd, text, (size_t) size) != size) {
        perror ("bench: write");
        exit (1);
    }
    return fd;
}

//  A run that waits for its model; its path.

static bool
s_hang (const bench_daemon_t *daemon, char path[static 64])
{
    char answer[ANSWER];
    int fd = s_ask (daemon, "POST", "/v1/runs", "{\"input\":\"!hang\"}");
    bool good = s_read_until (fd, "\"status\"", answer);
    const char *run = strstr (answer, "run_id\":\"");
    close (fd);
    if (!good || !run)
        return false;
    snprintf (path, 64, "/v1/runs/%.36s", run + 9);
    return true;
}

//  That many readers who have had their first bytes

static bool
s_open (const bench_daemon_t *daemon, const char *run, int *fds, int count)
{
    char path[80], answer[ANSWER];
    bool good = true;
    snprintf (path, sizeof path, "%s/events", run);
    for (int i = 0; i < count; i++)
        fds[i] = s_ask (daemon, "GET", path, "");
    for (int i = 0; i < count; i++)
        good = s_read_until (fds[i], "retry: 2000", answer) && good;
    return good;
}

static void
s_close (int *fds, int count)
{
    for (int i = 0; i < count; i++)
        close (fds[i]);
}

//  How many streams argosd says that it has open

static int
s_streams (const bench_daemon_t *daemon)
{
    static const char name[] = "\nargos_http_streams ";
    char text[16384] = "", *found;
    size_t size = 0;
    int fd = s_ask (daemon, "GET", "/metrics", "");
    do {
        ssize_t count = read (fd, text + size, sizeof text - 1 - size);
        size += count > 0 ? (size_t) count : 0;
        text[size] = '\0';
        found = strstr (text, name);
        if (count <= 0)
            break;
    } while (!found || !strchr (found + sizeof name - 1, '\n'));
    close (fd);
    return found ? (int) strtol (found + sizeof name - 1, NULL, 10) : -1;
}

static void
s_idle (const bench_daemon_t *daemon, const char *run)
{
    static int fds[IDLE];
    int warm[GONE / 10];
    if (!s_open (daemon, run, warm, GONE / 10)) //  What is made once is not of a stream
        return;
    double before = (double) bench_rss (daemon->pid);
    if (!s_open (daemon, run, fds, IDLE)) {
        fprintf (stderr, "bench: the streams do not open\n");
        return;
    }
    double each = ((double) bench_rss (daemon->pid) - before) / IDLE;
    bench_print (
        &(bench_row_t){ .name = "memory of an idle event stream, 5,000 of them, target 16 KiB",
            .unit = "KiB",
            .ours = each,
            .target = 16,
            .at_most = true });
    int all = s_streams (daemon);
    int64_t start = bench_now ();
    s_close (fds, GONE);
    while (s_streams (daemon) > all - GONE && bench_now () - start < (int64_t) WAIT_MS * 1000000)
        continue;
    bench_print (&(bench_row_t){ .name = "1,000 of them have gone: noticed within, target 2 s",
        .unit = "ms",
        .ours = (double) (bench_now () - start) / 1e6,
        .target = 2000,
        .at_most = true });
    s_close (fds + GONE, IDLE - GONE);
    s_close (warm, GONE / 10);
}

//  From now until each has the text, msec

static double
s_until_all_have (int *fds, const char *text)
{
    static char answers[READERS][ANSWER];
    static size_t sizes[READERS];
    static struct pollfd items[READERS];
    int64_t start = bench_now ();
    int open = READERS;
    memset (sizes, 0, sizeof sizes);
    for (int i = 0; i < READERS; i++)
        items[i] = (struct pollfd){ fds[i], POLLIN, 0 };
    while (open > 0 && poll (items, READERS, WAIT_MS) > 0)
        for (int i = 0; i < READERS; i++) {
            if (!items[i].revents)
                continue;
            ssize_t count = read (fds[i], answers[i] + sizes[i], ANSWER - 1 - sizes[i]);
            sizes[i] += count > 0 ? (size_t) count : 0;
            answers[i][sizes[i]] = '\0';
            if (count > 0 && !strstr (answers[i], text))
                continue;
            items[i].fd = -1;
            open--;
        }
    return (double) (bench_now () - start) / 1e6;
}

//  The same bytes by as many sends on connections of our own

static double
s_bare_fanout (void)
{
    static const char frame[] = "data: {\"event\":\"run.cancelled\",\"run_id\":\"run_0\"}\n\n";
    static int fds[READERS], peers[READERS];
    struct sockaddr_in address = { .sin_family = AF_INET,
        .sin_addr.s_addr = htonl (INADDR_LOOPBACK) };
    socklen_t size = sizeof address;
    int listening = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind (listening, (struct sockaddr *) &address, size) != 0 || listen (listening, 128) != 0 ||
        getsockname (listening, (struct sockaddr *) &address, &size) != 0)
        return 0;
    for (int i = 0; i < READERS; i++) {
        fds[i] = s_connect (ntohs (address.sin_port));
        peers[i] = accept (listening, NULL, NULL);
    }
    int64_t start = bench_now ();
    for (int i = 0; i < READERS; i++)
        if (send (peers[i], frame, sizeof frame - 1, MSG_NOSIGNAL) < 0)
            perror ("bench: send");
    double sent = (double) (bench_now () - start) / 1e6;
    sent += s_until_all_have (fds, "run.cancelled");
    s_close (fds, READERS);
    s_close (peers, READERS);
    close (listening);
    return sent;
}

static void
s_fanout (const bench_daemon_t *daemon)
{
    static int fds[READERS];
    double base[BENCH_ROUNDS], ours[BENCH_ROUNDS];
    char run[64], path[80];
    for (int round = 0; round < BENCH_ROUNDS; round++) {
        if (!s_hang (daemon, run) || !s_open (daemon, run, fds, READERS))
            return;
        snprintf (path, sizeof path, "%s/stop", run);
        base[round] = s_bare_fanout ();
        int stop = s_ask (daemon, "POST", path, "");
        ours[round] = s_until_all_have (fds, "run.cancelled");
        close (stop);
        s_close (fds, READERS);
    }
    double bare = bench_median (base);
    bench_print (
        &(bench_row_t){ .name = "a stop is with 1,000 readers of the run, target base + 250 ms",
            .unit = "ms",
            .base = bare,
            .ours = bench_median (ours),
            .target = (bare + 250) / bare,
            .at_most = true,
            .remark = "base: 1,000 plain sends" });
}

void
bench_sse (void)
{
    bench_daemon_t daemon = { 0 };
    struct rlimit files;
    char run[64];
    signal (SIGPIPE, SIG_IGN);
    (void) getrlimit (RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    (void) setrlimit (RLIMIT_NOFILE, &files);
    if (bench_daemon_start (&daemon) != 0)
        return;
    if (s_hang (&daemon, run))
        s_idle (&daemon, run);
    s_fanout (&daemon);
    bench_daemon_stop (&daemon);
}
