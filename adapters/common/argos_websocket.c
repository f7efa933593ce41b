//  argos_websocket - see the header.
//
//  Invariant: on_end is told exactly once, unless the object is destroyed before; nothing is told
//  after it. The curl handle stays in its multi handle for its whole life: libcurl closes the
//  connection of one that is taken out.

#include "argos_websocket.h"

#include "argos_websocket_priv.h"

#include <sodium.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define CONNECT_MS 15000               //  To connect and upgrade
#define GOODBYE_MS 5000                //  For the answer to a close
#define HEAD_MAX 16384                 //  Bytes of the answer's head
#define MESSAGE_MAX ((size_t) 4 << 20) //  Default of bytes of a message
#define WAITING_MAX ((size_t) 4 << 20) //  Bytes that may wait to be sent
#define WAITING_COUNT 8192             //  Answers to pings, too, which wslay queues by itself
#define TURN_BYTES ((size_t) 1 << 20)  //  Read in one turn

//  ------------------------------------------------------------------------------------------------
//  The end

static void
s_leave (argos_websocket_t *self)
{
    self->depth--;
    if (self->destroyed && self->depth == 0) {
        self->destroyed = false;
        argos_websocket_t *gone = self;
        argos_websocket_destroy (&gone);
    }
}

static void
s_end (argos_websocket_t *self, int code, const char *reason, int status, int64_t retry_after_ms)
{
    if (self->state == WEBSOCKET_ENDED)
        return;
    self->state = WEBSOCKET_ENDED;
    self->deadline = -1;
    argos_websocket_end_t end = {
        .code = code, .reason = reason, .status = status, .retry_after_ms = retry_after_ms
    };
    if (!self->destroyed && self->config.on_end)
        self->config.on_end (self->config.arg, self->config.generation, &end);
}

//  It broke: 1006 with our sentence
static void
s_break (argos_websocket_t *self, const char *why)
{
    s_end (self, 1006, self->why[0] ? self->why : why, 0, -1);
}

//  ------------------------------------------------------------------------------------------------
//  Bytes, both ways

static ssize_t
s_read (argos_websocket_t *self, void *data, size_t room)
{
    if (self->budget == 0) {
        self->more = true;
        return 0;
    }
    size_t count = 0;
    CURLcode code =
        curl_easy_recv (self->easy, data, room < self->budget ? room : self->budget, &count);
    if (code == CURLE_AGAIN)
        return 0;
    if (code != CURLE_OK || count == 0) {
        self->dead = true;
        return -1;
    }
    self->budget -= count;
    self->heard_ms = self->now;
    self->pinged = false;
    return (ssize_t) count;
}

static ssize_t
s_on_recv (wslay_event_context_ptr frames, uint8_t *data, size_t room, int flags, void *arg)
{
    (void) flags;
    argos_websocket_t *self = arg;
    size_t left = self->in.size - self->in_place;
    if (left) {
        size_t count = left < room ? left : room;
        memcpy (data, self->in.data + self->in_place, count);
        self->in_place += count;
        return (ssize_t) count;
    }
    ssize_t count = s_read (self, data, room);
    if (count <= 0)
        wslay_event_set_error (
            frames, count == 0 ? WSLAY_ERR_WOULDBLOCK : WSLAY_ERR_CALLBACK_FAILURE);
    return count > 0 ? count : -1;
}

static ssize_t
s_on_send (wslay_event_context_ptr frames, const uint8_t *data, size_t size, int flags, void *arg)
{
    (void) flags;
    argos_websocket_t *self = arg;
    size_t count = 0;
    CURLcode code = curl_easy_send (self->easy, data, size, &count);
    if (code == CURLE_OK)
        return (ssize_t) count;
    if (code != CURLE_AGAIN)
        self->dead = true;
    wslay_event_set_error (
        frames, code == CURLE_AGAIN ? WSLAY_ERR_WOULDBLOCK : WSLAY_ERR_CALLBACK_FAILURE);
    return -1;
}

static int
s_on_mask (wslay_event_context_ptr frames, uint8_t *data, size_t size, void *arg)
{
    (void) frames;
    (void) arg;
    randombytes_buf (data, size);
    return 0;
}

static void
s_on_message (
    wslay_event_context_ptr frames, const struct wslay_event_on_msg_recv_arg *message, void *arg)
{
    (void) frames;
    argos_websocket_t *self = arg;
    if (message->opcode != WSLAY_TEXT_FRAME || self->destroyed || self->state != WEBSOCKET_OPEN)
        return;
    char *text = malloc (message->msg_length + 1);
    if (!text)
        abort ();
    memcpy (text, message->msg, message->msg_length);
    text[message->msg_length] = '\0';
    //  A NUL is no text of any protocol
    if (strlen (text) == message->msg_length)
        self->config.on_text (self->config.arg, self->config.generation, text, message->msg_length);
    free (text);
}

//  ------------------------------------------------------------------------------------------------
//  Connecting

//  Asks the connection's socket for what we wait for
static void
s_watch (argos_websocket_t *self, bool writes)
{
    curl_socket_t fd = CURL_SOCKET_BAD;
    curl_easy_getinfo (self->easy, CURLINFO_ACTIVESOCKET, &fd);
    if (fd == CURL_SOCKET_BAD)
        return;
    struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };
    if (writes)
        event.events |= EPOLLOUT;
    if (epoll_ctl (self->curl.fd, EPOLL_CTL_MOD, fd, &event) < 0)
        epoll_ctl (self->curl.fd, EPOLL_CTL_ADD, fd, &event);
    self->writes = writes;
}

static void
s_on_connected (void *transfer, CURLcode code)
{
    argos_websocket_t *self = transfer;
    if (code != CURLE_OK) {
        s_break (self, curl_easy_strerror (code));
        return;
    }
    self->state = WEBSOCKET_UPGRADING;
    self->curl.due_ms = -1;
    s_watch (self, true);
}

static void
s_connect (argos_websocket_t *self)
{
    argos_curl_turn (&self->curl, self->now, s_on_connected);
}

static int
s_write_request (argos_websocket_t *self)
{
    while (self->out.size) {
        size_t count = 0;
        CURLcode code = curl_easy_send (self->easy, self->out.data, self->out.size, &count);
        if (code == CURLE_AGAIN)
            return 0;
        if (code != CURLE_OK)
            return -1;
        argos_text_shift (&self->out, count);
    }
    if (self->writes)
        s_watch (self, false);
    return 0;
}

static void
s_open (argos_websocket_t *self)
{
    static const struct wslay_event_callbacks callbacks = { .recv_callback = s_on_recv,
        .send_callback = s_on_send,
        .genmask_callback = s_on_mask,
        .on_msg_recv_callback = s_on_message };
    if (wslay_event_context_client_init (&self->frames, &callbacks, self) != 0)
        abort ();
    wslay_event_config_set_max_recv_msg_length (self->frames, self->config.message_max);
    self->state = WEBSOCKET_OPEN;
    self->deadline = -1;
    self->heard_ms = self->now;
    if (self->config.on_open)
        self->config.on_open (self->config.arg, self->config.generation);
}

static void
s_upgrade (argos_websocket_t *self)
{
    if (s_write_request (self) < 0) {
        s_break (self, "the connection broke while it was upgraded");
        return;
    }
    char buffer[2048];
    for (;;) {
        int status = 0;
        int64_t retry_after_ms = -1;
        int accepted = argos_websocket_accept (self, &status, &retry_after_ms);
        if (accepted > 0)
            s_open (self);
        else if (accepted < 0)
            s_end (self, 1006, self->why, status, retry_after_ms);
        if (accepted != 0)
            return;
        ssize_t count = s_read (self, buffer, sizeof buffer);
        if (count == 0)
            return;
        if (count < 0 || argos_text_add (&self->in, buffer, (size_t) count) < 0) {
            s_break (self, count < 0 ? "the connection broke while it was upgraded"
                                     : "the head of the answer is too long");
            return;
        }
    }
}

//  ------------------------------------------------------------------------------------------------
//  Frames

//  The code and text of the close that came last, as far as wslay has them
static void
s_over (argos_websocket_t *self)
{
    int code = wslay_event_get_close_received (self->frames)
                   ? (int) wslay_event_get_status_code_received (self->frames)
                   : 1006;
    if (code == 0)
        code = 1005;
    const char *why = "the other side has closed the connection";
    if (code == 1006 && wslay_event_get_close_sent (self->frames))
        why = "the other side did not keep to the protocol";
    else if (code == 1006)
        why = "the connection broke";
    s_end (self, code, self->why[0] ? self->why : why, 0, -1);
}

static void
s_flush (argos_websocket_t *self)
{
    if (!self->dead && wslay_event_want_write (self->frames) &&
        wslay_event_send (self->frames) != 0)
        self->dead = true;
    if (wslay_event_get_queued_msg_count (self->frames) > WAITING_COUNT) {
        snprintf (self->why, sizeof self->why, "the other side takes nothing");
        self->dead = true;
    }
    bool waits = !self->dead && wslay_event_want_write (self->frames);
    if (waits != self->writes)
        s_watch (self, waits);
}

static void
s_frames (argos_websocket_t *self)
{
    struct epoll_event events[2];
    epoll_wait (self->curl.fd, events, 2, 0); //  Level-triggered: only who is ready counts
    if (wslay_event_want_read (self->frames) && wslay_event_recv (self->frames) != 0)
        self->dead = true;
    if (self->destroyed || self->state == WEBSOCKET_ENDED)
        return;
    s_flush (self);
    bool closed =
        wslay_event_get_close_received (self->frames) && wslay_event_get_close_sent (self->frames);
    bool refused = !wslay_event_want_read (self->frames) && !wslay_event_want_write (self->frames);
    if (closed || refused || self->dead)
        s_over (self);
}

//  When the silence is over, -1 = never
static int64_t
s_silence (const argos_websocket_t *self)
{
    if (self->state != WEBSOCKET_OPEN || self->config.idle_ms <= 0)
        return -1;
    return self->heard_ms + self->config.idle_ms * (self->pinged ? 2 : 1);
}

static void
s_check_silence (argos_websocket_t *self)
{
    int64_t silence = s_silence (self);
    if (silence < 0 || self->now < silence)
        return;
    if (self->pinged) {
        s_break (self, "nothing has come, not even an answer to a ping");
        return;
    }
    struct wslay_event_msg ping = { .opcode = WSLAY_PING };
    wslay_event_queue_msg (self->frames, &ping);
    self->pinged = true;
    s_flush (self);
}

//  ------------------------------------------------------------------------------------------------
//  For the owner

static char *
s_copy (const char *text)
{
    char *copy = strdup (text);
    if (!copy)
        abort ();
    return copy;
}

//  The address for libcurl: the same host by http or https, to connect to only
static int
s_setup (argos_websocket_t *self)
{
    const char *url = self->config.url;
    bool secure = strncmp (url, "wss://", 6) == 0;
    if (!secure && strncmp (url, "ws://", 5) != 0)
        return -1;
    self->easy = curl_easy_init ();
    if (argos_curl_init (&self->curl, 0) < 0 || !self->easy || argos_websocket_prepare (self) < 0)
        return -1;
    char *address = NULL;
    if (asprintf (&address, "%s://%s/", secure ? "https" : "http", self->host) < 0)
        abort ();
    curl_easy_setopt (self->easy, CURLOPT_URL, address);
    free (address);
    curl_easy_setopt (self->easy, CURLOPT_CONNECT_ONLY, 1L);
    curl_easy_setopt (self->easy, CURLOPT_HTTP_VERSION, (long) CURL_HTTP_VERSION_1_1);
    curl_easy_setopt (self->easy, CURLOPT_SSL_ENABLE_ALPN, 0L);
    curl_easy_setopt (self->easy, CURLOPT_HTTPPROXYTUNNEL, 1L);
    curl_easy_setopt (self->easy, CURLOPT_CONNECTTIMEOUT_MS, (long) CONNECT_MS);
    curl_easy_setopt (self->easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt (self->easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt (self->easy, CURLOPT_PRIVATE, self);
    self->curl.now = self->now;
    return curl_multi_add_handle (self->curl.multi, self->easy) == CURLM_OK ? 0 : -1;
}

argos_websocket_t *
argos_websocket_new (const argos_websocket_config_t *config, int64_t now)
{
    argos_websocket_t *self = calloc (1, sizeof *self);
    if (!self)
        abort ();
    self->config = *config;
    self->config.url = self->url = s_copy (config->url);
    self->config.agent = self->agent = s_copy (config->agent ? config->agent : "argos");
    if (!config->message_max)
        self->config.message_max = MESSAGE_MAX;
    self->curl = (argos_curl_t){ .fd = -1, .due_ms = -1 };
    self->now = now;
    self->deadline = now + CONNECT_MS;
    argos_text_init (&self->out, HEAD_MAX);
    argos_text_init (&self->in, HEAD_MAX);
    if (s_setup (self) < 0)
        argos_websocket_destroy (&self);
    return self;
}

void
argos_websocket_destroy (argos_websocket_t **self_p)
{
    if (!self_p || !*self_p)
        return;
    argos_websocket_t *self = *self_p;
    *self_p = NULL;
    if (self->depth) {
        self->destroyed = true;
        return;
    }
    if (self->frames)
        wslay_event_context_free (self->frames);
    if (self->curl.multi && self->easy)
        curl_multi_remove_handle (self->curl.multi, self->easy);
    curl_easy_cleanup (self->easy);
    argos_curl_clear (&self->curl);
    argos_text_clear (&self->out);
    argos_text_clear (&self->in);
    free (self->url);
    free (self->agent);
    free (self->host);
    free (self->path);
    free (self);
}

int
argos_websocket_fd (const argos_websocket_t *self)
{
    return self->curl.fd;
}

int64_t
argos_websocket_due (const argos_websocket_t *self)
{
    if (self->state == WEBSOCKET_ENDED)
        return -1;
    if (self->more)
        return self->now;
    int64_t times[] = { self->curl.due_ms, self->deadline, s_silence (self) };
    int64_t due = -1;
    for (size_t at = 0; at < 3; at++)
        if (times[at] >= 0 && (due < 0 || times[at] < due))
            due = times[at];
    return due;
}

void
argos_websocket_turn (argos_websocket_t *self, int64_t now)
{
    self->now = now;
    self->more = false;
    self->budget = TURN_BYTES;
    self->depth++;
    if (self->state == WEBSOCKET_CONNECTING)
        s_connect (self);
    if (self->state == WEBSOCKET_UPGRADING)
        s_upgrade (self);
    if ((self->state == WEBSOCKET_OPEN || self->state == WEBSOCKET_CLOSING) && !self->destroyed)
        s_frames (self);
    if (self->state == WEBSOCKET_OPEN && !self->destroyed)
        s_check_silence (self);
    if (self->deadline >= 0 && now >= self->deadline && !self->destroyed)
        s_break (self, self->state == WEBSOCKET_CLOSING ? "our goodbye was not answered"
                                                        : "it could not be opened in time");
    s_leave (self);
}

int
argos_websocket_send (argos_websocket_t *self, const char *text, size_t size, int64_t now)
{
    if (self->state != WEBSOCKET_OPEN || self->dead ||
        wslay_event_get_queued_msg_length (self->frames) + size > WAITING_MAX)
        return -1;
    self->now = now;
    struct wslay_event_msg message = {
        .opcode = WSLAY_TEXT_FRAME, .msg = (const uint8_t *) text, .msg_length = size
    };
    if (wslay_event_queue_msg (self->frames, &message) != 0)
        return -1;
    s_flush (self);
    //  Its end is told in the next turn
    self->more = self->more || self->dead;
    return self->dead ? -1 : 0;
}

void
argos_websocket_close (argos_websocket_t *self, int code, const char *reason, int64_t now)
{
    self->now = now;
    if (self->state != WEBSOCKET_OPEN)
        return;
    wslay_event_queue_close (
        self->frames, (uint16_t) code, (const uint8_t *) reason, strlen (reason));
    self->state = WEBSOCKET_CLOSING;
    self->deadline = now + GOODBYE_MS;
    s_flush (self);
    self->more = self->more || self->dead;
}

bool
argos_websocket_is_open (const argos_websocket_t *self)
{
    return self && self->state == WEBSOCKET_OPEN;
}

uint32_t
argos_websocket_generation (const argos_websocket_t *self)
{
    return self->config.generation;
}
