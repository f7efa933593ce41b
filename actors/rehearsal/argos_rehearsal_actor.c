//  argos_rehearsal_actor - the HTTP shell around the rehearsal script.
//
//  One thread, no lock: libmicrohttpd's epoll descriptor, the set of watched hanging connections
//  and the pipe stand in one poll. Invariant: a suspended connection is in exactly one list (slow,
//  in order of its next token; or hanging); both are resumed before the daemon is stopped.

#include "argos_rehearsal_actor.h"

#include "argos_actor.h"
#include "argos_log.h"
#include "argos_rehearsal_script.h"

#include <arpa/inet.h>
#include <assert.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>
#include <utlist.h>

#define BODY_MAX 16777216      //  Bytes of a request
#define CONNECTIONS_MAX 4096   //  At once
#define CONNECTION_BYTES 16384 //  Of a connection: its head, and a piece of its body
#define BLOCK_SIZE 4096        //  Bytes that a reader is asked for at once

typedef struct s_self s_self_t;
typedef struct s_stream s_stream_t;

//  An answer that is not sent at once

struct s_stream {
    s_self_t *self;                //  Its server
    struct MHD_Connection *conn;   //  Connection
    argos_rehearsal_reply_t reply; //  What is sent
    argos_text_t out;              //  Bytes ready to go
    int64_t token;                 //  Next token
    int64_t due_ms;                //  When, monotonic
    bool ended;                    //  The tail has been put into out
    bool gone;                     //  The client went away, or we stop
    s_stream_t **list;             //  List of suspended streams that it is in, NULL = running
    s_stream_t *prev, *next;       //  In that list
};

//  A request whose body is being read

typedef struct {
    argos_text_t body; //  So far
    bool too_big;      //  Over the limit
} s_upload_t;

struct s_self {
    zsock_t *pipe;                    //  To the owner
    struct MHD_Daemon *daemon;        //  HTTP server
    argos_rehearsal_script_t *script; //  What is answered
    s_stream_t *slow;                 //  Suspended until due, in order
    s_stream_t *hanging;              //  Suspended until the client goes
    int hang_fd;                      //  epoll set of the hanging ones' sockets
    bool terminated;                  //  $TERM was read
};

static int64_t
s_now (void)
{
    return zclock_mono ();
}

static enum MHD_Result
s_queue (struct MHD_Connection *conn, int status, const char *type, struct MHD_Response *response)
{
    if (!response)
        return MHD_NO;
    MHD_add_response_header (response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    enum MHD_Result rc = MHD_queue_response (conn, (unsigned) status, response);
    MHD_destroy_response (response);
    return rc;
}

static enum MHD_Result
s_say (struct MHD_Connection *conn, int status, const char *text)
{
    char *copy = strdup (text); //  Given to the response, which frees it
    if (!copy)
        abort ();
    struct MHD_Response *response =
        MHD_create_response_from_buffer (strlen (text), copy, MHD_RESPMEM_MUST_FREE);
    return s_queue (conn, status, "application/json", response);
}

static void
s_wake (s_stream_t *stream)
{
    assert (stream->list);
    DL_DELETE (*stream->list, stream);
    stream->list = NULL;
    MHD_resume_connection (stream->conn);
}

//  Behind the last one that is due before it.

static void
s_sleep (s_stream_t *stream, s_stream_t **list)
{
    s_stream_t *before = *list ? (*list)->prev : NULL;
    while (before && before->due_ms > stream->due_ms)
        before = before == *list ? NULL : before->prev;
    stream->list = list;
    DL_APPEND_ELEM (*list, before, stream);
    MHD_suspend_connection (stream->conn);
}

//  Tells us when the client of a hanging answer goes away; nothing is ever written to it
static void
s_watch (s_stream_t *stream)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info (stream->conn, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct epoll_event event = { .events = EPOLLRDHUP | EPOLLONESHOT, .data.ptr = stream };
    if (info)
        epoll_ctl (stream->self->hang_fd, EPOLL_CTL_ADD, info->connect_fd, &event);
}

//  Puts into `out` what is due. Returns false when nothing is and the stream has to sleep.
static bool
s_advance (s_stream_t *stream)
{
    if (stream->ended || stream->reply.pace != ARGOS_REHEARSAL_SLOW)
        return false;
    if (stream->token == stream->reply.tokens) {
        argos_text_add (
            &stream->out, argos_text_str (&stream->reply.tail), stream->reply.tail.size);
        stream->ended = true;
        return true;
    }
    int64_t now = s_now ();
    if (stream->token == 0)
        stream->due_ms = now;
    if (now < stream->due_ms)
        return false;
    argos_rehearsal_script_token (stream->token++, &stream->out);
    stream->due_ms += stream->reply.token_ms; //  An answer takes as long as it says, late or not
    return true;
}

static ssize_t
s_read_stream (void *arg, uint64_t position, char *buffer, size_t size)
{
    (void) position;
    s_stream_t *stream = (s_stream_t *) arg;
    if (stream->gone)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    if (!stream->out.size && !s_advance (stream)) {
        if (stream->reply.pace == ARGOS_REHEARSAL_CUT)
            return MHD_CONTENT_READER_END_WITH_ERROR;
        if (stream->ended)
            return MHD_CONTENT_READER_END_OF_STREAM;
        bool hangs = stream->reply.pace == ARGOS_REHEARSAL_HANG;
        if (hangs)
            s_watch (stream);
        s_sleep (stream, hangs ? &stream->self->hanging : &stream->self->slow);
        return 0;
    }
    size_t count = stream->out.size < size ? stream->out.size : size;
    memcpy (buffer, argos_text_str (&stream->out), count);
    argos_text_shift (&stream->out, count);
    return (ssize_t) count;
}

static void
s_free_stream (void *arg)
{
    s_stream_t *stream = (s_stream_t *) arg;
    if (stream->list)
        DL_DELETE (*stream->list, stream);
    argos_rehearsal_reply_clear (&stream->reply);
    argos_text_clear (&stream->out);
    free (stream);
}

static enum MHD_Result
s_stream (s_self_t *self, struct MHD_Connection *conn, argos_rehearsal_reply_t *reply)
{
    s_stream_t *stream = (s_stream_t *) calloc (1, sizeof *stream);
    if (!stream)
        abort ();
    stream->self = self;
    stream->conn = conn;
    stream->reply = *reply;
    argos_text_init (&stream->out, 16777216);
    argos_text_add (&stream->out, argos_text_str (&reply->text), reply->text.size);
    struct MHD_Response *response = MHD_create_response_from_callback (
        MHD_SIZE_UNKNOWN, BLOCK_SIZE, s_read_stream, stream, s_free_stream);
    if (!response)
        s_free_stream (stream);
    return s_queue (conn, 200, "text/event-stream", response);
}

static enum MHD_Result
s_answer (s_self_t *self, struct MHD_Connection *conn, const s_upload_t *upload)
{
    argos_rehearsal_reply_t reply;
    argos_rehearsal_script_answer (
        self->script, argos_text_str (&upload->body), upload->body.size, &reply);
    if (reply.pace != ARGOS_REHEARSAL_WHOLE)
        return s_stream (self, conn, &reply);
    char *data = reply.text.data; //  Given to the response, which frees it
    size_t size = reply.text.size;
    reply.text.data = NULL;
    struct MHD_Response *response = MHD_create_response_from_buffer (
        size, data ? (void *) data : strdup (""), MHD_RESPMEM_MUST_FREE);
    enum MHD_Result rc = s_queue (conn, reply.status, reply.content_type, response);
    argos_rehearsal_reply_clear (&reply);
    return rc;
}

static enum MHD_Result
s_handle_request (void *arg, struct MHD_Connection *conn, const char *url, const char *method,
    const char *version, const char *data, size_t *data_size, void **context)
{
    (void) version;
    s_self_t *self = (s_self_t *) arg;
    s_upload_t *upload = (s_upload_t *) *context;
    if (!upload) {
        upload = (s_upload_t *) calloc (1, sizeof *upload);
        if (!upload)
            abort ();
        argos_text_init (&upload->body, BODY_MAX);
        *context = upload;
        return MHD_YES;
    }
    if (*data_size) {
        if (argos_text_add (&upload->body, data, *data_size) < 0)
            upload->too_big = true;
        *data_size = 0;
        return MHD_YES;
    }
    if (upload->too_big)
        return s_say (conn, 413, "{\"error\":{\"message\":\"request over 16 MiB\"}}");
    bool post = strcmp (method, MHD_HTTP_METHOD_POST) == 0;
    if (post && strcmp (url, "/v1/chat/completions") == 0)
        return s_answer (self, conn, upload);
    if (!post && strcmp (url, "/v1/models") == 0)
        return s_say (conn, 200,
            "{\"object\":\"list\",\"data\":[{\"id\":\"rehearsal\",\"object\":\"model\","
            "\"created\":0,\"owned_by\":\"argos\"}]}");
    return s_say (conn, 404, "{\"error\":{\"message\":\"no such route\"}}");
}

static void
s_handle_end (
    void *arg, struct MHD_Connection *conn, void **context, enum MHD_RequestTerminationCode code)
{
    (void) arg;
    (void) conn;
    (void) code;
    s_upload_t *upload = (s_upload_t *) *context;
    if (upload)
        argos_text_clear (&upload->body);
    free (upload);
    *context = NULL;
}

static void
s_self_destroy (s_self_t **self_p)
{
    s_self_t *self = *self_p;
    if (!self)
        return;
    while (self->slow || self->hanging) {
        s_stream_t *stream = self->slow ? self->slow : self->hanging;
        stream->gone = true;
        s_wake (stream);
    }
    if (self->daemon) {
        MHD_run (self->daemon);
        MHD_stop_daemon (self->daemon);
    }
    argos_rehearsal_script_destroy (&self->script);
    if (self->hang_fd >= 0)
        close (self->hang_fd);
    free (self);
    *self_p = NULL;
}

static s_self_t *
s_self_new (zsock_t *pipe, const argos_rehearsal_config_t *config)
{
    s_self_t *self = (s_self_t *) calloc (1, sizeof *self);
    if (!self)
        abort ();
    self->pipe = pipe;
    self->script = argos_rehearsal_script_new ();
    self->hang_fd = epoll_create1 (EPOLL_CLOEXEC);
    struct sockaddr_in address = { .sin_family = AF_INET,
        .sin_port = htons ((uint16_t) (config ? config->port : 0)),
        .sin_addr.s_addr = htonl (INADDR_LOOPBACK) };
    if (self->hang_fd >= 0)
        self->daemon = MHD_start_daemon (MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL,
            s_handle_request, self, MHD_OPTION_SOCK_ADDR, (struct sockaddr *) &address,
            MHD_OPTION_CONNECTION_LIMIT, (unsigned) CONNECTIONS_MAX,
            MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t) CONNECTION_BYTES,
            MHD_OPTION_NOTIFY_COMPLETED, s_handle_end, NULL, MHD_OPTION_LISTEN_BACKLOG_SIZE,
            (unsigned) 1024, MHD_OPTION_END);
    if (!self->daemon)
        s_self_destroy (&self);
    return self;
}

static void
s_handle_pipe (s_self_t *self)
{
    char *word = zstr_recv (self->pipe);
    if (!word || strcmp (word, "$TERM") == 0)
        self->terminated = true;
    freen (word);
}

//  Clients of hanging answers that have gone
static void
s_handle_hang (s_self_t *self)
{
    struct epoll_event events[64];
    int count = epoll_wait (self->hang_fd, events, 64, 0);
    for (int i = 0; i < count; i++) {
        s_stream_t *stream = (s_stream_t *) events[i].data.ptr;
        if (!stream->list)
            continue;
        stream->gone = true;
        s_wake (stream);
    }
}

static void
s_handle_timer (s_self_t *self)
{
    int64_t now = s_now ();
    while (self->slow && self->slow->due_ms <= now)
        s_wake (self->slow);
}

//  Msec until something is due by itself, -1 = never
static long
s_sleep_ms (s_self_t *self)
{
    MHD_UNSIGNED_LONG_LONG http_ms;
    long sleep_ms = -1;
    if (MHD_get_timeout (self->daemon, &http_ms) == MHD_YES)
        sleep_ms = http_ms > 60000 ? 60000 : (long) http_ms;
    if (self->slow) {
        int64_t left_ms = self->slow->due_ms - s_now ();
        if (left_ms < 0)
            left_ms = 0;
        if (sleep_ms < 0 || left_ms < sleep_ms)
            sleep_ms = (long) left_ms;
    }
    return sleep_ms;
}

static void
s_self_turn (s_self_t *self)
{
    const union MHD_DaemonInfo *info = MHD_get_daemon_info (self->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    zmq_pollitem_t items[] = { { .socket = zsock_resolve (self->pipe), .events = ZMQ_POLLIN },
        { .fd = info->epoll_fd, .events = ZMQ_POLLIN },
        { .fd = self->hang_fd, .events = ZMQ_POLLIN } };
    zmq_poll (items, 3, s_sleep_ms (self));
    if (items[0].revents)
        s_handle_pipe (self);
    if (items[2].revents)
        s_handle_hang (self);
    s_handle_timer (self);
    MHD_run (self->daemon);
}

void
argos_rehearsal_actor (zsock_t *pipe, void *config)
{
    zsock_set_sndtimeo (pipe, 0);
    s_self_t *self = s_self_new (pipe, (const argos_rehearsal_config_t *) config);
    argos_actor_ready (pipe, self != NULL);
    if (!self)
        return;
    const union MHD_DaemonInfo *info =
        MHD_get_daemon_info (self->daemon, MHD_DAEMON_INFO_BIND_PORT);
    char port[16];
    snprintf (port, sizeof port, "%u", info ? (unsigned) info->port : 0);
    zstr_sendx (pipe, "PORT", port, NULL);
    argos_log (ARGOS_LOG_INFO, "rehearsal", "serving", "port=%s", port);
    while (!self->terminated)
        s_self_turn (self);
    s_self_destroy (&self);
}

int
argos_rehearsal_port (zactor_t *actor, int timeout_ms)
{
    zsock_t *pipe = zactor_sock (actor);
    zmq_pollitem_t item = { .socket = zsock_resolve (pipe), .events = ZMQ_POLLIN };
    if (zmq_poll (&item, 1, timeout_ms) <= 0)
        return -1;
    zmsg_t *msg = zmsg_recv (pipe);
    char *word = msg ? zmsg_popstr (msg) : NULL;
    char *value = msg ? zmsg_popstr (msg) : NULL;
    int port = word && value && strcmp (word, "PORT") == 0 ? (int) strtol (value, NULL, 10) : -1;
    freen (word);
    freen (value);
    zmsg_destroy (&msg);
    return port;
}
