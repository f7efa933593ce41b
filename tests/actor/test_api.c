//  test_api - the API actor between real HTTP clients and the real broker and store; the test
//  itself is the gateway and the agent, so that it decides when a run is bound, what is published,
//  and when it ends.

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

#define WAIT_MS 10000 //  Patience with anything
#define KEY "test-key-of-the-api"
#define READERS 1000 //  On one run

typedef struct {
    zactor_t *store, *broker, *api; //  The real ones
    argos_peer_t *peer;             //  Gateway and agent
    int port;                       //  Of the API
    char folder[64];                //  Home of the database
    char run_id[64], session[64];   //  Of the last lease
    argos_lease_t *lease;           //  In hand
    argos_lease_t *other;           //  Came while another was wanted
    char other_type[64];            //  Its type
    char other_run[64];             //  Its run
    const char *wanted;             //  Type that is waited for, NULL = none
    int mails;                      //  turn.stop seen
    int answers;                    //  Commits answered
    argos_err_t code;               //  The last answer
} world_t;

//  --------------------------------------------------------------------------
//  The worker's side

static void
s_on_lease (void *ctx, const argos_peer_msg_t *msg)
{
    world_t *self = ctx;
    const char *run = json_string_value (json_object_get (msg->body, "run_id"));
    //  There are two services with a slot each, and which one is first is not ours to say
    bool ours = self->wanted && strcmp (msg->type, self->wanted) == 0;
    assert_true (ours || !self->other);
    if (ours) {
        self->lease = msg->lease;
        (void) snprintf (self->run_id, sizeof self->run_id, "%s", run);
        self->wanted = NULL;
        return;
    }
    self->other = msg->lease;
    (void) snprintf (self->other_type, sizeof self->other_type, "%s", msg->type);
    (void) snprintf (self->other_run, sizeof self->other_run, "%s", run);
}

static void
s_on_mail (void *ctx, const argos_peer_msg_t *msg)
{
    world_t *self = ctx;
    assert_string_equal (msg->type, "turn.stop");
    assert_string_equal (
        json_string_value (json_object_get (msg->body, "reason")), "Stop requested via API");
    self->mails++;
}

static void
s_on_answer (void *arg, const argos_peer_answer_t *answer)
{
    world_t *self = arg;
    self->answers++;
    self->code = answer->code;
}

//  Turn the peer until *value reaches target.

static void
s_until (world_t *self, const int *value, int target)
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

static void
s_lease (world_t *self, const char *type)
{
    int64_t deadline = argos_shell_now () + WAIT_MS;
    if (self->other && strcmp (self->other_type, type) == 0) {
        self->lease = self->other;
        self->other = NULL;
        (void) snprintf (self->run_id, sizeof self->run_id, "%s", self->other_run);
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
s_done (world_t *self, const argos_peer_part_t *parts, size_t count)
{
    int before = self->answers;
    argos_lease_t *lease = self->lease;
    self->lease = NULL; //  The next one may come with the answer
    assert_int_equal (argos_lease_done (lease, parts, count, NULL, 0, s_on_answer, self), ARGOS_OK);
    s_until (self, &self->answers, before + 1);
    assert_int_equal (self->code, ARGOS_OK);
}

//  What the gateway does with a run: bind it, queue its turn. Then take the turn.

static void
s_bind (world_t *self)
{
    s_lease (self, "message.inbound");
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
    s_lease (self, "turn.request");
}

static void
s_delta (world_t *self, const char *text, const char *whole)
{
    char to[128];
    (void) snprintf (to, sizeof to, "topic:run.%s", self->run_id);
    const argos_peer_part_t part = { .type = "turn.delta",
        .to = to,
        .keyframe = whole != NULL,
        .body = json_pack ("{s:i,s:s,s:s*}", "segment", 0, "delta", text, "text", whole) };
    assert_int_equal (argos_peer_publish (self->peer, self->lease, &part), ARGOS_OK);
}

static void
s_finish (world_t *self, const char *text, bool cancelled)
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
s_connect (const world_t *self)
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

static int
s_ask (
    const world_t *self, const char *method, const char *path, const char *more, const char *body)
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

static int
s_answer (int fd, const char *until, char *target, size_t size)
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

static int
s_call (const world_t *self, const char *method, const char *path, const char *more,
    const char *body, char *target, size_t size)
{
    int fd = s_ask (self, method, path, more, body);
    *target = 0;
    int status = s_answer (fd, NULL, target, size);
    close (fd);
    return status;
}

static void
s_path (const world_t *self, const char *tail, char target[128])
{
    (void) snprintf (target, 128, "/v1/runs/%s%s", self->run_id, tail);
}

static void
s_post (world_t *self, const char *more, int status)
{
    char answer[4096];
    assert_int_equal (
        s_call (self, "POST", "/v1/runs", more, "{\"input\":\"hi\"}", answer, sizeof answer),
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

static world_t *
s_begin (int max_runs)
{
    static const char *const services[] = { "gateway", "turn", NULL };
    char path[96], reason[256] = "";
    world_t *self = calloc (1, sizeof *self);
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
    argos_api_config_t api = { .port = self->port, .key = KEY, .max_concurrent_runs = max_runs };
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

static void
s_end (world_t *self)
{
    assert_int_equal (argos_actor_stop (&self->api, WAIT_MS), 0);
    argos_peer_destroy (&self->peer);
    assert_int_equal (argos_actor_stop (&self->broker, WAIT_MS), 0);
    assert_int_equal (argos_actor_stop (&self->store, WAIT_MS), 0);
    (void) nftw (self->folder, s_unlink, 8, FTW_DEPTH | FTW_PHYS);
    free (self);
}

//  --------------------------------------------------------------------------
//  Cases

static void
a_thousand_readers_get_each_delta_and_one_that_does_not_read_delays_nobody (void **state)
{
    (void) state;
    static int fds[READERS];
    char path[128];
    world_t *self = s_begin (0);
    s_post (self, "", 202);
    s_bind (self);
    s_path (self, "/events", path);
    int deaf = s_ask (self, "GET", path, "", "");
    for (int i = 0; i < READERS; i++) {
        char hello[4096] = "";
        fds[i] = s_ask (self, "GET", path, "", "");
        assert_int_equal (s_answer (fds[i], "retry: 2000", hello, sizeof hello), 200);
    }
    s_delta (self, "one", "one");
    s_finish (self, "one", false);
    for (int i = 0; i < READERS; i++) {
        char rest[4096] = "";
        (void) s_answer (fds[i], NULL, rest, sizeof rest);
        assert_non_null (strstr (rest, "\"delta\":\"one\""));
        assert_non_null (strstr (rest, "run.completed"));
        assert_non_null (strstr (rest, ": stream closed"));
        close (fds[i]);
    }
    close (deaf);
    s_end (self);
}

static void
a_reader_goes_on_after_the_event_it_names_and_stays_away_after_the_last (void **state)
{
    (void) state;
    char path[128], answer[8192] = "";
    world_t *self = s_begin (0);
    s_post (self, "", 202);
    s_bind (self);
    s_path (self, "/events", path);
    int fd = s_ask (self, "GET", path, "", "");
    s_delta (self, "one ", "one ");
    (void) argos_peer_turn (self->peer);
    (void) s_answer (fd, "id: 0\n", answer, sizeof answer);
    close (fd);
    s_delta (self, "two", NULL);
    s_finish (self, "one two", false);
    assert_int_equal (
        s_call (self, "GET", path, "Last-Event-ID: 0\r\n", "", answer, sizeof answer), 200);
    assert_null (strstr (answer, "id: 0\n"));
    assert_non_null (strstr (answer, "id: 1\n"));
    assert_non_null (strstr (answer, "\"delta\":\"two\""));
    assert_null (strstr (answer, "stream.gap"));
    assert_int_equal (
        s_call (self, "GET", path, "Last-Event-ID: 3\r\n", "", answer, sizeof answer), 204);
    assert_int_equal (
        s_call (self, "GET", path, "Last-Event-ID: x\r\n", "", answer, sizeof answer), 200);
    assert_non_null (strstr (answer, "one "));
    s_end (self);
}

static void
a_stop_that_comes_before_the_gateway_holds (void **state)
{
    (void) state;
    char path[128], answer[4096] = "";
    world_t *self = s_begin (0);
    s_post (self, "", 202);
    s_lease (self, "message.inbound"); //  The gateway has it, and no more
    s_path (self, "/stop", path);
    int fd = s_ask (self, "POST", path, "", "");
    s_bind (self);
    s_until (self, &self->mails, 1);
    assert_int_equal (s_answer (fd, NULL, answer, sizeof answer), 200);
    assert_non_null (strstr (answer, "\"status\":\"stopping\""));
    close (fd);
    assert_int_equal (s_call (self, "POST", path, "", "", answer, sizeof answer), 200);
    s_path (self, "", path);
    assert_int_equal (s_call (self, "GET", path, "", "", answer, sizeof answer), 200);
    assert_non_null (strstr (answer, "\"status\":\"stopping\""));
    assert_int_equal (self->mails, 1);
    s_end (self);
}

static void
a_finished_run_can_not_be_stopped_and_an_unknown_one_is_not_there (void **state)
{
    (void) state;
    char path[128], answer[4096];
    world_t *self = s_begin (0);
    s_post (self, "", 202);
    s_bind (self);
    s_finish (self, "x", false);
    s_path (self, "/stop", path);
    assert_int_equal (s_call (self, "POST", path, "", "", answer, sizeof answer), 404);
    assert_non_null (strstr (answer, "run_not_found"));
    const char *const unknown[] = { "/v1/runs/x", "/v1/runs/run_00000000000000000000000000000000",
        "/v1/runs/run_00000000000000000000000000000000/events" };
    for (size_t i = 0; i < 3; i++)
        assert_int_equal (s_call (self, "GET", unknown[i], "", "", answer, sizeof answer), 404);
    s_end (self);
}

static void
the_cap_counts_what_executes_and_forgets_what_has_ended (void **state)
{
    (void) state;
    world_t *self = s_begin (2);
    s_post (self, "", 202);
    s_post (self, "Idempotency-Key: k\r\n", 202);
    s_post (self, "", 429);
    s_post (self, "Idempotency-Key: k\r\n", 202); //  A repeat is no new run
    s_bind (self);
    s_finish (self, "x", false);
    s_post (self, "", 202);
    s_post (self, "", 429);
    s_end (self);
}

static void
one_key_makes_one_run (void **state)
{
    (void) state;
    char answer[4096], first[37];
    world_t *self = s_begin (0);
    const char *header = "Idempotency-Key: abc\r\n";
    assert_int_equal (
        s_call (self, "POST", "/v1/runs", header, "{\"input\":\"hi\"}", answer, sizeof answer),
        202);
    assert_non_null (strstr (answer, "\"replayed\":false"));
    memcpy (first, strstr (answer, "run_"), 36);
    first[36] = 0;
    assert_int_equal (
        s_call (self, "POST", "/v1/runs", header, " {\"input\" : \"hi\" } ", answer, sizeof answer),
        202);
    assert_non_null (strstr (answer, "\"replayed\":true"));
    assert_non_null (strstr (answer, "Idempotency-Replayed: true"));
    assert_non_null (strstr (answer, "\"status\":\"queued\""));
    assert_non_null (strstr (answer, first));
    assert_int_equal (
        s_call (self, "POST", "/v1/runs", header, "{\"input\":\"ho\"}", answer, sizeof answer),
        409);
    assert_non_null (strstr (answer, "idempotency_key_conflict"));
    s_end (self);
}

static void
it_stops_with_streams_and_requests_open (void **state)
{
    (void) state;
    char path[128], answer[4096] = "";
    world_t *self = s_begin (0);
    s_post (self, "", 202);
    s_lease (self, "message.inbound");
    s_path (self, "/events", path);
    int stream = s_ask (self, "GET", path, "", "");
    (void) s_answer (stream, "retry", answer, sizeof answer);
    s_path (self, "/stop", path);
    int stop = s_ask (self, "POST", path, "", "");
    assert_int_equal (argos_actor_stop (&self->api, WAIT_MS), 0);
    *answer = 0;
    int status = s_answer (stop, NULL, answer, sizeof answer);
    assert_true (status == 503 || !*answer);
    close (stop);
    close (stream);
    argos_api_config_t api = { .port = self->port, .key = KEY };
    self->api = argos_actor_start ("api", argos_api_actor, &api);
    assert_non_null (self->api);
    s_end (self);
}

static void
a_weak_key_and_a_taken_port_are_refused (void **state)
{
    (void) state;
    world_t *self = s_begin (0);
    argos_api_config_t api = { .port = self->port, .key = KEY };
    assert_null (argos_actor_start ("api", argos_api_actor, &api));
    api = (argos_api_config_t){ .key = "short" };
    assert_null (argos_actor_start ("api", argos_api_actor, &api));
    api = (argos_api_config_t){ .host = "0.0.0.0", .allow_unauthenticated_loopback = true };
    assert_null (argos_actor_start ("api", argos_api_actor, &api));
    s_end (self);
}

int
main (void)
{
    char reason[256];
    struct rlimit files;
    zsys_handler_set (NULL);
    if (argos_schema_init (reason) != 0) {
        (void) fprintf (stderr, "%s\n", reason);
        return 1;
    }
    (void) getrlimit (RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max < 8192 ? files.rlim_max : 8192;
    (void) setrlimit (RLIMIT_NOFILE, &files);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (a_reader_goes_on_after_the_event_it_names_and_stays_away_after_the_last),
        cmocka_unit_test (a_stop_that_comes_before_the_gateway_holds),
        cmocka_unit_test (a_finished_run_can_not_be_stopped_and_an_unknown_one_is_not_there),
        cmocka_unit_test (the_cap_counts_what_executes_and_forgets_what_has_ended),
        cmocka_unit_test (one_key_makes_one_run),
        cmocka_unit_test (it_stops_with_streams_and_requests_open),
        cmocka_unit_test (a_weak_key_and_a_taken_port_are_refused),
        cmocka_unit_test (
            a_thousand_readers_get_each_delta_and_one_that_does_not_read_delays_nobody),
    };
    int rc = cmocka_run_group_tests (tests, NULL, NULL);
    argos_schema_term ();
    return rc;
}
