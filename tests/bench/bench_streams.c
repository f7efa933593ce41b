//  bench_streams - 1,000 streamed answers at a time in one thread: the provider of an agent against
//  a bare loop of libcurl, from the same server.
//
//  The server is this program again (--streams): when all have asked it sends each stream a delta
//  in 100 ms, spread over the time, with the moment in it. Base: libcurl's sockets in an epoll set,
//  a callback that looks for the moment. Limits: one delta is one write; what the broker costs to
//  publish it is not in it.

#include "bench.h"
#include "bench_daemon.h"

#include "argos_agent_priv.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <malloc.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define STREAMS BENCH_STREAMS
#define DELTAS BENCH_DELTAS
#define A_TICK 10       //  Streams served in a msec
#define WAIT_MS 60000   //  Until a round counts as failed
#define BODY_LOW 64     //  Bytes of a read of a request that count as one
#define MOMENT_BYTES 21 //  Of a moment in the text: '@' and twenty digits

typedef struct {
    bench_samples_t latency; //  From the server's write to our callback
    int64_t deltas;          //  How many came
    int ended;               //  Streams that are over
    int failed;              //  Of these not as wanted
    double cpu_us;           //  Of a delta
    double memory;           //  Bytes of a stream while all run
    size_t before;           //  In use before
} round_t;

static void
s_allow_descriptors (void)
{
    struct rlimit limit;
    if (getrlimit (RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit (RLIMIT_NOFILE, &limit);
    }
}

//  ------------------------------------------------------------------------------------------------
//  The server

static int
s_listen (void)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
        .sin_addr.s_addr = htonl (INADDR_LOOPBACK) };
    socklen_t size = sizeof address;
    int listener = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener < 0 || bind (listener, (struct sockaddr *) &address, size) != 0 ||
        listen (listener, STREAMS) != 0 ||
        getsockname (listener, (struct sockaddr *) &address, &size) != 0)
        return -1;
    printf ("%d\n", ntohs (address.sin_port));
    fflush (stdout);
    return listener;
}

static bool
s_send (int fd, const char *text)
{
    return send (fd, text, strlen (text), MSG_NOSIGNAL) == (ssize_t) strlen (text);
}

static bool
s_send_delta (int fd)
{
    char event[160];
    snprintf (event, sizeof event,
        "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,"
        "\"delta\":{\"content\":\"@%020lld\"}}]}\n\n",
        (long long) bench_now ());
    return s_send (fd, event);
}

//  All that have asked. A request comes in few pieces; its end is not looked for.
static bool
s_gather (int listener, int *fds)
{
    char request[8192];
    struct pollfd items[] = { { .fd = listener, .events = POLLIN },
        { .fd = STDIN_FILENO, .events = POLLIN } };
    if (poll (items, 2, -1) < 1 || items[1].revents)
        return false; //  The end of stdin is ours
    for (int i = 0; i < STREAMS; i++) {
        fds[i] = accept4 (listener, NULL, NULL, SOCK_CLOEXEC);
        if (fds[i] < 0)
            return false;
    }
    for (int i = 0; i < STREAMS; i++)
        if (recv (fds[i], request, sizeof request, 0) < BODY_LOW ||
            !s_send (fds[i], "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                             "Connection: close\r\n\r\n"))
            return false;
    return true;
}

static void
s_serve (const int *fds)
{
    char rest[1024];
    struct itimerspec tick = { { 0, 1000000 }, { 0, 1000000 } };
    int timer = timerfd_create (CLOCK_MONOTONIC, TFD_CLOEXEC);
    timerfd_settime (timer, 0, &tick, NULL);
    uint64_t late = 0;
    for (int at = 0; at < STREAMS * DELTAS; at += A_TICK) {
        if (!late && read (timer, &late, sizeof late) != sizeof late)
            break;
        late--; //  Ticks that were missed are made up for
        for (int i = 0; i < A_TICK; i++)
            s_send_delta (fds[(at + i) % STREAMS]);
    }
    close (timer);
    for (int i = 0; i < STREAMS; i++) {
        s_send (fds[i], "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]"
                        "}\n\ndata: [DONE]\n\n");
        while (recv (fds[i], rest, sizeof rest, MSG_DONTWAIT) > 0)
            continue; //  Closed with unread bytes, TCP takes the answer back
        close (fds[i]);
    }
}

int
bench_streams_server (void)
{
    static int fds[STREAMS];
    s_allow_descriptors ();
    int listener = s_listen ();
    while (listener >= 0 && s_gather (listener, fds))
        s_serve (fds);
    return 1;
}

//  ------------------------------------------------------------------------------------------------
//  What both sides do

static double
s_cpu_us (void)
{
    struct rusage usage;
    getrusage (RUSAGE_THREAD, &usage);
    return (double) (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e6 +
           (double) (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static void
s_count (round_t *self, const char *moment)
{
    bench_sample (&self->latency, bench_now () - strtoll (moment + 1, NULL, 10));
    if (++self->deltas == STREAMS * DELTAS / 2)
        self->memory = (double) (mallinfo2 ().uordblks - self->before) / STREAMS;
}

//  ------------------------------------------------------------------------------------------------
//  Ours

static void
s_on_text (void *arg, const argos_answer_t *answer)
{
    if (answer->visible >= MOMENT_BYTES)
        s_count ((round_t *) arg, argos_text_str (&answer->text) + answer->visible - MOMENT_BYTES);
}

static void
s_on_end (void *arg, argos_answer_t *answer, argos_answer_kind_t kind,
    const argos_provider_error_t *error)
{
    round_t *round = (round_t *) arg;
    (void) answer;
    (void) error;
    round->ended++;
    round->failed += kind != ARGOS_ANSWER_TEXT;
}

static void
s_ours (round_t *self, const char *url)
{
    static const argos_call_handlers_t handlers = { s_on_text, s_on_end };
    argos_provider_settings_t settings = { .kind = ARGOS_PROVIDER_OPENAI, .model = "m" };
    snprintf (settings.base_url, sizeof settings.base_url, "%s", url);
    argos_provider_t *provider = argos_provider_new (&settings);
    json_t *messages = json_pack ("[{s:s, s:s}]", "role", "user", "content", "hello");
    argos_request_t request = { .messages = messages };
    int64_t until = bench_now () + WAIT_MS * INT64_C (1000000);
    self->before = mallinfo2 ().uordblks;
    double begun = s_cpu_us ();
    for (int i = 0; provider && i < STREAMS; i++)
        argos_provider_call (provider, &request, "seed", &handlers, self, bench_now () / 1000000);
    while (provider && self->ended < STREAMS && bench_now () < until) {
        int64_t now = bench_now () / 1000000, due = argos_provider_due (provider);
        struct pollfd item = { .fd = argos_provider_fd (provider), .events = POLLIN };
        poll (&item, 1, due < 0 || due > now + 1000 ? 1000 : due > now ? (int) (due - now) : 0);
        argos_provider_turn (provider, bench_now () / 1000000, 0);
    }
    self->cpu_us = (s_cpu_us () - begun) / (STREAMS * DELTAS);
    json_decref (messages);
    argos_provider_destroy (&provider);
}

//  ------------------------------------------------------------------------------------------------
//  The base

typedef struct {
    CURLM *multi; //  All transfers
    int set;      //  epoll set
    long due_ms;  //  When libcurl wants to be called: so long from now, -1 = never
} bare_t;

static size_t
s_on_bytes (char *data, size_t one, size_t count, void *arg)
{
    char *at = (char *) memchr (data, '@', count);
    (void) one;
    while (at && data + count - at >= MOMENT_BYTES) {
        s_count ((round_t *) arg, at);
        at += MOMENT_BYTES;
        at = (char *) memchr (at, '@', (size_t) (data + count - at));
    }
    return count;
}

static int
s_on_socket (CURL *easy, curl_socket_t fd, int what, void *arg, void *known)
{
    bare_t *bare = (bare_t *) arg;
    struct epoll_event event = { .data.fd = fd };
    (void) easy;
    event.events = (what & CURL_POLL_IN ? EPOLLIN : 0u) | (what & CURL_POLL_OUT ? EPOLLOUT : 0u);
    if (what == CURL_POLL_REMOVE)
        epoll_ctl (bare->set, EPOLL_CTL_DEL, fd, &event);
    else if (known)
        epoll_ctl (bare->set, EPOLL_CTL_MOD, fd, &event);
    else {
        epoll_ctl (bare->set, EPOLL_CTL_ADD, fd, &event);
        curl_multi_assign (bare->multi, fd, bare);
    }
    return 0;
}

static int
s_on_timer (CURLM *multi, long due_ms, void *arg)
{
    (void) multi;
    ((bare_t *) arg)->due_ms = due_ms;
    return 0;
}

static void
s_start_bare (bare_t *bare, round_t *round, const char *url)
{
    for (int i = 0; i < STREAMS; i++) {
        CURL *easy = curl_easy_init ();
        curl_easy_setopt (easy, CURLOPT_URL, url);
        curl_easy_setopt (easy, CURLOPT_POSTFIELDS,
            "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"hello\"}],"
            "\"stream\":true,\"stream_options\":{\"include_usage\":true}}");
        curl_easy_setopt (easy, CURLOPT_WRITEFUNCTION, s_on_bytes);
        curl_easy_setopt (easy, CURLOPT_WRITEDATA, round);
        curl_easy_setopt (easy, CURLOPT_NOSIGNAL, 1L);
        curl_multi_add_handle (bare->multi, easy);
    }
}

static void
s_end_bare (bare_t *bare, round_t *round)
{
    CURLMsg *message;
    int left;
    while ((message = curl_multi_info_read (bare->multi, &left)) != NULL) {
        CURL *easy = message->easy_handle;
        round->failed += message->data.result != CURLE_OK;
        round->ended++;
        curl_multi_remove_handle (bare->multi, easy);
        curl_easy_cleanup (easy);
    }
}

static void
s_bare_turn (bare_t *bare)
{
    struct epoll_event events[64];
    int running, count = epoll_wait (bare->set, events, 64,
                     bare->due_ms < 0 || bare->due_ms > 1000 ? 1000 : (int) bare->due_ms);
    if (count <= 0) {
        bare->due_ms = -1;
        curl_multi_socket_action (bare->multi, CURL_SOCKET_TIMEOUT, 0, &running);
    }
    for (int i = 0; i < count; i++)
        curl_multi_socket_action (bare->multi, events[i].data.fd,
            (events[i].events & EPOLLIN ? CURL_CSELECT_IN : 0) |
                (events[i].events & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
                (events[i].events & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0),
            &running);
}

static void
s_base (round_t *self, const char *url)
{
    char whole[256];
    bare_t bare = { curl_multi_init (), epoll_create1 (EPOLL_CLOEXEC), -1 };
    int64_t until = bench_now () + WAIT_MS * INT64_C (1000000);
    curl_multi_setopt (bare.multi, CURLMOPT_SOCKETFUNCTION, s_on_socket);
    curl_multi_setopt (bare.multi, CURLMOPT_SOCKETDATA, &bare);
    curl_multi_setopt (bare.multi, CURLMOPT_TIMERFUNCTION, s_on_timer);
    curl_multi_setopt (bare.multi, CURLMOPT_TIMERDATA, &bare);
    snprintf (whole, sizeof whole, "%s/chat/completions", url);
    self->before = mallinfo2 ().uordblks;
    double begun = s_cpu_us ();
    s_start_bare (&bare, self, whole);
    while (self->ended < STREAMS && bench_now () < until) {
        s_bare_turn (&bare);
        s_end_bare (&bare, self);
    }
    self->cpu_us = (s_cpu_us () - begun) / (STREAMS * DELTAS);
    curl_multi_cleanup (bare.multi);
    close (bare.set);
}

//  ------------------------------------------------------------------------------------------------
//  The table

static void
s_rounds (const char *url)
{
    double cpu[2][BENCH_ROUNDS], memory[2][BENCH_ROUNDS], late[2][BENCH_ROUNDS];
    for (int i = 0; i < 2 * BENCH_ROUNDS; i++) {
        round_t round = { .deltas = 0 };
        int ours = i % 2, at = i / 2;
        if (ours)
            s_ours (&round, url);
        else
            s_base (&round, url);
        if (round.failed || round.ended < STREAMS)
            fprintf (stderr, "bench: %d of %d streams came to their end, %d failed\n", round.ended,
                STREAMS, round.failed);
        cpu[ours][at] = round.cpu_us;
        memory[ours][at] = round.memory / 1024;
        late[ours][at] = bench_percentile (&round.latency, 0.99);
        bench_samples_clear (&round.latency);
    }
    bench_print (&(bench_row_t){ .name = "1,000 streams: deltas in a second of the processor",
        .unit = "/s",
        .base = 1e6 / bench_median (cpu[0]),
        .ours = 1e6 / bench_median (cpu[1]),
        .target = 0.6,
        .remark = "base: a bare loop of libcurl" });
    bench_print (&(bench_row_t){ .name = "  memory of a call and the state of its turn",
        .unit = "KiB",
        .ours = bench_median (memory[1]) + (double) sizeof (turn_t) / 1024,
        .target = 64,
        .at_most = true,
        .remark = "without the conversation" });
    bench_print (&(bench_row_t){
        .name = "  of a call of the bare loop", .unit = "KiB", .ours = bench_median (memory[0]) });
    bench_print (&(bench_row_t){ .name = "  delta -> handler p99, target 20 ms",
        .unit = "ms",
        .ours = bench_median (late[1]),
        .target = 20,
        .at_most = true });
    bench_print (&(bench_row_t){
        .name = "  of the bare loop", .unit = "ms", .ours = bench_median (late[0]) });
}

void
bench_streams (void)
{
    char program[] = "/proc/self/exe", flag[] = "--streams", url[64], port[16] = "";
    int in = -1, out = -1;
    char *const argv[] = { program, flag, NULL };
    s_allow_descriptors ();
    curl_global_init (CURL_GLOBAL_DEFAULT);
    pid_t pid = bench_spawn (argv, &in, &out, false);
    if (pid > 0 && read (out, port, sizeof port - 1) > 0) {
        snprintf (url, sizeof url, "http://127.0.0.1:%ld", strtol (port, NULL, 10));
        s_rounds (url);
    }
    if (pid > 0) {
        close (in);
        close (out);
        waitpid (pid, NULL, 0);
    }
    curl_global_cleanup ();
}
