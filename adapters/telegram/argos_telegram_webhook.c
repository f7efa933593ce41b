//  argos_telegram_webhook - updates that are brought to us: an HTTP server of 127.0.0.1 behind a
//  proxy that has TLS.
//
//  Invariant: a request without our secret is answered 401 and never read; one with it is answered
//  200 after its update is stored, so that what is lost on the way is brought again. Albums and
//  texts that were cut stay what they are here: the next part is brought only after the answer.
//  Limits: 1 MiB a request, 64 connections.

#include "argos_telegram_priv.h"

#include "argos_json.h"
#include "argos_text.h"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#define BODY_MAX 1048576   //  Bytes of a request
#define CONNECTIONS_MAX 64 //  At a time
#define IDLE_S 60          //  A connection that says nothing for so long is closed
#define SECRET "X-Telegram-Bot-Api-Secret-Token"

typedef struct request request_t;

struct request {
    tg_webhook_t *webhook;       //  Whose; NULL once the server goes
    struct MHD_Connection *conn; //  Connection
    argos_text_t body;           //  So far
    bool denied, asleep, stored; //  What is known of it
    request_t *prev, *next;      //  In the list
};

struct tg_webhook {
    telegram_t *telegram;      //  Whose
    struct MHD_Daemon *daemon; //  Server
    int fd;                    //  Its epoll set
    char *secret;              //  That a request has to show
    request_t *requests;       //  All that are not over
};

static void
s_run (void *arg)
{
    tg_webhook_t *self = arg;
    MHD_run (self->daemon);
}

static enum MHD_Result
s_answer (struct MHD_Connection *conn, unsigned status)
{
    static char nothing[1] = "";
    struct MHD_Response *response =
        MHD_create_response_from_buffer (0, nothing, MHD_RESPMEM_PERSISTENT);
    if (!response)
        return MHD_NO;
    enum MHD_Result rc = MHD_queue_response (conn, status, response);
    MHD_destroy_response (response);
    return rc;
}

static bool
s_is_ours (const tg_webhook_t *self, struct MHD_Connection *conn)
{
    const char *shown = MHD_lookup_connection_value (conn, MHD_HEADER_KIND, SECRET);
    size_t size = strlen (self->secret);
    return shown && strlen (shown) == size && sodium_memcmp (shown, self->secret, size) == 0;
}

static void
s_on_stored (void *arg, int64_t last, bool held)
{
    request_t *request = arg;
    (void) last;
    (void) held;
    request->stored = true;
    if (!request->webhook) { //  Its connection is gone
        argos_text_clear (&request->body);
        free (request);
        return;
    }
    if (request->asleep)
        MHD_resume_connection (request->conn);
    request->asleep = false;
    MHD_run (request->webhook->daemon);
}

static enum MHD_Result
s_take (tg_webhook_t *self, request_t *request)
{
    json_t *update =
        argos_json_load_mended (argos_text_str (&request->body), request->body.size, 0, NULL);
    if (!json_is_object (update)) {
        json_decref (update);
        return s_answer (request->conn, MHD_HTTP_BAD_REQUEST);
    }
    json_t *updates = json_pack ("[o]", update);
    request->asleep = true;
    MHD_suspend_connection (request->conn);
    tg_batch (self->telegram, updates, true, s_on_stored, request);
    json_decref (updates);
    return MHD_YES;
}

static enum MHD_Result
s_on_request (void *arg, struct MHD_Connection *conn, const char *url, const char *method,
    const char *version, const char *data, size_t *size, void **context)
{
    tg_webhook_t *self = arg;
    request_t *request = *context;
    (void) url;
    (void) version;
    if (!request) {
        *context = request = calloc (1, sizeof *request);
        if (!request)
            abort ();
        request->webhook = self;
        request->conn = conn;
        argos_text_init (&request->body, BODY_MAX);
        DL_APPEND (self->requests, request);
        request->denied = !s_is_ours (self, conn);
        return request->denied ? s_answer (conn, MHD_HTTP_UNAUTHORIZED) : MHD_YES;
    }
    if (*size) {
        if (!request->denied && argos_text_add (&request->body, data, *size) != 0)
            return MHD_NO;
        *size = 0;
        return MHD_YES;
    }
    if (request->denied || request->asleep)
        return MHD_YES;
    if (request->stored)
        return s_answer (conn, MHD_HTTP_OK);
    if (strcmp (method, "POST") != 0)
        return s_answer (conn, MHD_HTTP_METHOD_NOT_ALLOWED);
    return s_take (self, request);
}

static void
s_on_over (
    void *arg, struct MHD_Connection *conn, void **context, enum MHD_RequestTerminationCode code)
{
    tg_webhook_t *self = arg;
    request_t *request = *context;
    (void) conn;
    (void) code;
    if (!request)
        return;
    DL_DELETE (self->requests, request);
    request->webhook = NULL;
    if (request->asleep) //  s_on_stored frees it
        return;
    argos_text_clear (&request->body);
    free (request);
}

tg_webhook_t *
tg_webhook_new (telegram_t *telegram, int port, const char *secret, char *reason, size_t size)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
        .sin_port = htons ((uint16_t) port),
        .sin_addr.s_addr = htonl (INADDR_LOOPBACK) };
    tg_webhook_t *self = calloc (1, sizeof *self);
    if (!self)
        abort ();
    self->telegram = telegram;
    self->secret = strdup (secret);
    self->daemon = MHD_start_daemon (MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL,
        s_on_request, self, MHD_OPTION_SOCK_ADDR, &address, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned) CONNECTIONS_MAX, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned) IDLE_S,
        MHD_OPTION_NOTIFY_COMPLETED, s_on_over, self, MHD_OPTION_END);
    const union MHD_DaemonInfo *info =
        self->daemon ? MHD_get_daemon_info (self->daemon, MHD_DAEMON_INFO_EPOLL_FD) : NULL;
    if (!info) {
        snprintf (reason, size, "the webhook can't listen on 127.0.0.1:%d", port);
        tg_webhook_destroy (&self);
        return NULL;
    }
    self->fd = info->epoll_fd;
    info = MHD_get_daemon_info (self->daemon, MHD_DAEMON_INFO_BIND_PORT);
    argos_log (ARGOS_LOG_INFO, argos_adapter_name (telegram->adapter), "webhook listens", "port=%d",
        info ? (int) info->port : port);
    argos_shell_fd (argos_adapter_shell (telegram->adapter), self->fd, s_run, self);
    return self;
}

void
tg_webhook_destroy (tg_webhook_t **self_p)
{
    if (!self_p || !*self_p)
        return;
    tg_webhook_t *self = *self_p;
    request_t *request, *next;
    if (self->fd > 0)
        argos_shell_fd (argos_adapter_shell (self->telegram->adapter), self->fd, NULL, NULL);
    DL_FOREACH_SAFE (self->requests, request, next)
        if (request->asleep) {
            request->asleep = false;
            MHD_resume_connection (request->conn);
        }
    if (self->daemon)
        MHD_stop_daemon (self->daemon);
    if (self->secret)
        sodium_memzero (self->secret, strlen (self->secret));
    free (self->secret);
    free (self);
    *self_p = NULL;
}
