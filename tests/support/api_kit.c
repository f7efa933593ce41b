//  api_kit - see the header.

#include "api_kit.h"

#include "argos_actor.h"
#include "argos_api_actor.h"
#include "argos_broker_actor.h"
#include "argos_peer.h"
#include "argos_schema.h"
#include "argos_shell.h"
#include "argos_store_actor.h"

#include <arpa/inet.h>
#include <ftw.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <cmocka.h>

//  --------------------------------------------------------------------------
//  The worker's side

static void
s_on_lease (void *ctx, const argos_peer_msg_t *msg)
{
    api_world_t *self = ctx;
    const char *run = json_string_value (json_object_get (msg->body, "run_id"));
    //  There are two services with a slot each, and which one is first is not ours to say
    if (self->wanted && strcmp (msg->type, self->wanted) == 0) {
        self->lease = msg->lease;
        (void) snprintf (self->run_id, sizeof self->run_id, "%s", run);
        self->wanted = NULL;
        return;
    }
    api_other_t *other = &self->others[self->others[0].lease != NULL];
    assert_null (other->lease);
    other->lease = msg->lease;
    (void) snprintf (other->type, sizeof other->type, "%s", msg->type);
    (void) snprintf (other->run, sizeof other->run, "%s", run);
}

static void
s_on_mail (void *ctx, const argos_peer_msg_t *msg)
{
    api_world_t *self = ctx;
    assert_string_equal (msg->type, "turn.stop");
    assert_string_equal (
        json_string_value (json_object_get (msg->body, "reason")), "Stop requested via API");
    self->mails++;
}

static void
s_on_answer (void *arg, const argos_peer_answer_t *answer)
{
    api_world_t *self = arg;
    self->answers++;
    self->code = answer->code;
}

//  Turn the peer until *value reaches target.

void
api_until (api_world_t *self, const int *value, int target)
{
    int64_t deadline = argos_shell_now () + WAIT_MS;
    while (*value < target) {
        assert_true (argos_shell_now () < deadline);
        int64_t pause = argos_peer_turn (self->peer);
        if (*value >= target)
            return;
        zmq_pollitem_t item = { .socket = argos_peer_socket (self->peer), .events = ZMQ_POLLIN };
        zmq_poll (&item, 1, pause < 0 || pause > 50 ? 50 : (long) pause);
    }
}

void
api_lease (api_world_t *self, const char *type)
{
    int64_t deadline = argos_shell_now () + WAIT_MS;
    for (size_t i = 0; i < 2; i++) {
        api_other_t *other = &self->others[i];
        if (!other->lease || strcmp (other->type, type) != 0)
            continue;
        self->lease = other->lease;
        other->lease = NULL;
        (void) snprintf (self->run_id, sizeof self->run_id, "%s", other->run);
        return;
    }
    self->wanted = type;
    while (!self->lease) {
        assert_true (argos_shell_now () < deadline);
        (void) argos_peer_turn (self->peer);
        zmq_pollitem_t item = { .socket = argos_peer_socket (self->peer), .events = ZMQ_POLLIN };
        if (!self->lease)
            zmq_poll (&item, 1, 50);
    }
}

static void
s_done (api_world_t *self, const argos_peer_part_t *parts, size_t count)
{
    int before = self->answers;
    argos_lease_t *lease = self->lease;
    self->lease = NULL; //  The next one may come with the answer
    assert_int_equal (argos_lease_done (lease, parts, count, NULL, 0, s_on_answer, self), ARGOS_OK);
    api_until (self, &self->answers, before + 1);
    assert_int_equal (self->code, ARGOS_OK);
}

//  What the gateway does with a run: bind it, queue its turn. Then take the turn.

void
api_bind (api_world_t *self)
{
    api_lease (self, "message.inbound");
    (void) snprintf (self->session, sizeof self->session, "s-%.40s", self->run_id);
    const argos_peer_part_t parts[] = {
        { .type = "session.create",
            .to = "store",
            .body = json_pack ("{s:s}", "id", self->session) },
        { .type = "run.bind",
            .to = "store",
            .body = json_pack ("{s:s,s:s}", "run_id", self->run_id, "session_id", self->session) },
        { .type = "turn.request",
            .to = "service:turn",
            .id = self->run_id,
            .key = self->session,
            .durable = true,
            .body = json_pack ("{s:s,s:s,s:s,s:{s:s,s:s,s:s}}", "run_id", self->run_id,
                "session_id", self->session, "text", "t", "source", "platform", "api_server",
                "account", "main", "chat_type", "dm") },
    };
    s_done (self, parts, 3);
    api_lease (self, "turn.request");
}

void
api_delta (api_world_t *self, const char *text, const char *whole)
{
    char to[128];
    (void) snprintf (to, sizeof to, "topic:run.%s", self->run_id);
    const argos_peer_part_t part = { .type = "turn.delta",
        .to = to,
        .keyframe = whole != NULL,
        .body = json_pack ("{s:i,s:s,s:s*}", "segment", 0, "delta", text, "text", whole) };
    assert_int_equal (argos_peer_publish (self->peer, self->lease, &part), ARGOS_OK);
}

void
api_finish (api_world_t *self, const char *text, bool cancelled)
{
    char to[128];
    (void) snprintf (to, sizeof to, "topic:run.%s", self->run_id);
    json_t *usage =
        json_pack ("{s:i,s:i,s:i}", "input_tokens", 1, "output_tokens", 2, "total_tokens", 3);
    const argos_peer_part_t parts[] = {
        { .type = "turn.text",
            .to = to,
            .durable = true,
            .body = json_pack ("{s:i,s:s}", "segment", 0, "text", text) },
        { .type = "run.finish",
            .to = "store",
            .body = json_pack ("{s:s,s:s,s:s,s:O}", "run_id", self->run_id, "state",
                cancelled ? "cancelled" : "completed", "output", text, "usage", usage) },
        { .type = cancelled ? "run.cancelled" : "run.completed",
            .to = to,
            .durable = true,
            .last = true,
            .body = cancelled ? json_object ()
                              : json_pack ("{s:s,s:O}", "output", text, "usage", usage) },
    };
    json_decref (usage);
    s_done (self, parts, 3);
}

//  --------------------------------------------------------------------------
//  The client's side

static int
s_connect (const api_world_t *self)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
        .sin_port = htons ((uint16_t) self->port),
        .sin_addr.s_addr = htonl (INADDR_LOOPBACK) };
    int fd = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true (fd >= 0);
    const struct timeval patience = { .tv_sec = WAIT_MS / 1000 };
    (void) setsockopt (fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    assert_int_equal (connect (fd, (const struct sockaddr *) &address, sizeof address), 0);
    return fd;
}

int
api_ask (const api_world_t *self, const char *method, const char *path, const char *more,
    const char *body)
{
    char request[2048];
    int size = snprintf (request, sizeof request,
        "%s %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " KEY
        "\r\nConnection: close\r\n%sContent-Length: %zu\r\n\r\n%s",
        method, path, more, strlen (body), body);
    int fd = s_connect (self);
    assert_int_equal (send (fd, request, (size_t) size, MSG_NOSIGNAL), size);
    return fd;
}

//  Read until the peer closes or `until` has come. Returns the status; the whole answer is in
//  target.

int
api_answer (int fd, const char *until, char *target, size_t size)
{
    size_t used = strlen (target);
    while (used + 1 < size && !(until && strstr (target, until))) {
        ssize_t got = recv (fd, target + used, size - used - 1, 0);
        assert_true (got >= 0);
        if (got == 0)
            break;
        used += (size_t) got;
        target[used] = 0;
    }
    return (int) strtol (target + 9, NULL, 10);
}

int
api_call (const api_world_t *self, const char *method, const char *path, const char *more,
    const char *body, char *target, size_t size)
{
    int fd = api_ask (self, method, path, more, body);
    *target = 0;
    int status = api_answer (fd, NULL, target, size);
    close (fd);
    return status;
}

void
api_path (const api_world_t *self, const char *tail, char target[128])
{
    (void) snprintf (target, 128, "/v1/runs/%s%s", self->run_id, tail);
}

void
api_post (api_world_t *self, const char *more, int status)
{
    char answer[4096];
    assert_int_equal (
        api_call (self, "POST", "/v1/runs", more, "{\"input\":\"hi\"}", answer, sizeof answer),
        status);
}

//  --------------------------------------------------------------------------
//  The world

static int
s_free_port (void)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
        .sin_addr.s_addr = htonl (INADDR_LOOPBACK) };
    socklen_t size = sizeof address;
    int fd = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal (bind (fd, (struct sockaddr *) &address, size), 0);
    assert_int_equal (getsockname (fd, (struct sockaddr *) &address, &size), 0);
    close (fd);
    return ntohs (address.sin_port);
}

api_world_t *
api_begin (int max_runs, int64_t keepalive_ms)
{
    static const char *const services[] = { "gateway", "turn", NULL };
    char path[96], reason[256] = "";
    api_world_t *self = calloc (1, sizeof *self);
    assert_non_null (self);
    (void) snprintf (self->folder, sizeof self->folder, "/tmp/argos-api-XXXXXX");
    assert_non_null (mkdtemp (self->folder));
    (void) snprintf (path, sizeof path, "%s/argos.db", self->folder);
    argos_store_info_t info;
    argos_store_actor_config_t store = {
        .path = path, .endpoint = ARGOS_STORE_INPROC, .info = &info, .reason = reason
    };
    self->store = argos_actor_start ("store", argos_store_actor, &store);
    assert_non_null (self->store);
    argos_broker_config_t broker = { .services = services };
    argos_core_config_init (&broker.core);
    self->broker = argos_actor_start ("broker", argos_broker_actor, &broker);
    assert_non_null (self->broker);
    self->port = s_free_port ();
    argos_api_config_t api = { .port = self->port,
        .key = KEY,
        .max_concurrent_runs = max_runs,
        .keepalive_ms = keepalive_ms };
    self->api = argos_actor_start ("api", argos_api_actor, &api);
    assert_non_null (self->api);
    argos_peer_config_t peer = { .name = "gateway",
        .endpoint = ARGOS_BROKER_INPROC,
        .handlers = { .ctx = self, .on_lease = s_on_lease, .on_mail = s_on_mail } };
    self->peer = argos_peer_new (&peer);
    assert_non_null (self->peer);
    argos_peer_serve (self->peer, "gateway", 1, NULL);
    argos_peer_serve (self->peer, "turn", 1, NULL);
    return self;
}

static int
s_unlink (const char *path, const struct stat *status, int flag, struct FTW *ftw)
{
    (void) status;
    (void) flag;
    (void) ftw;
    return remove (path);
}

void
api_end (api_world_t *self)
{
    assert_int_equal (argos_actor_stop (&self->api, WAIT_MS), 0);
    argos_peer_destroy (&self->peer);
    assert_int_equal (argos_actor_stop (&self->broker, WAIT_MS), 0);
    assert_int_equal (argos_actor_stop (&self->store, WAIT_MS), 0);
    (void) nftw (self->folder, s_unlink, 8, FTW_DEPTH | FTW_PHYS);
    free (self);
}
