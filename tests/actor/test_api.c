//  test_api - the API actor between real HTTP clients and the real broker and store; see api_kit.h.

#include "api_kit.h"
#include "argos_actor.h"
#include "argos_api_actor.h"
#include "argos_shell.h"
#include "schema_group.h"

#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <cmocka.h>

#define READERS 1000 //  On one run

static void
c042_a_thousand_readers_get_each_delta_and_one_that_does_not_read_delays_nobody (void **state)
{
    (void) state;
    static int fds[READERS];
    char path[128];
    api_world_t *self = api_begin (0, 0);
    api_post (self, "", 202);
    api_bind (self);
    api_path (self, "/events", path);
    int deaf = api_ask (self, "GET", path, "", "");
    for (int i = 0; i < READERS; i++) {
        char hello[4096] = "";
        fds[i] = api_ask (self, "GET", path, "", "");
        assert_int_equal (api_answer (fds[i], "retry: 2000", hello, sizeof hello), 200);
    }
    api_delta (self, "one", "one");
    api_finish (self, "one", false);
    for (int i = 0; i < READERS; i++) {
        char rest[4096] = "";
        (void) api_answer (fds[i], NULL, rest, sizeof rest);
        assert_non_null (strstr (rest, "\"delta\":\"one\""));
        assert_non_null (strstr (rest, "run.completed"));
        assert_non_null (strstr (rest, ": stream closed"));
        close (fds[i]);
    }
    close (deaf);
    api_end (self);
}

static void
a_reader_goes_on_after_the_event_it_names_and_stays_away_after_the_last (void **state)
{
    (void) state;
    char path[128], answer[8192] = "";
    api_world_t *self = api_begin (0, 0);
    api_post (self, "", 202);
    api_bind (self);
    api_path (self, "/events", path);
    int fd = api_ask (self, "GET", path, "", "");
    api_delta (self, "one ", "one ");
    (void) argos_peer_turn (self->peer);
    (void) api_answer (fd, "id: 0\n", answer, sizeof answer);
    close (fd);
    api_delta (self, "two", NULL);
    api_finish (self, "one two", false);
    assert_int_equal (
        api_call (self, "GET", path, "Last-Event-ID: 0\r\n", "", answer, sizeof answer), 200);
    assert_null (strstr (answer, "id: 0\n"));
    assert_non_null (strstr (answer, "id: 1\n"));
    assert_non_null (strstr (answer, "\"delta\":\"two\""));
    assert_null (strstr (answer, "stream.gap"));
    assert_int_equal (
        api_call (self, "GET", path, "Last-Event-ID: 3\r\n", "", answer, sizeof answer), 204);
    assert_int_equal (
        api_call (self, "GET", path, "Last-Event-ID: x\r\n", "", answer, sizeof answer), 200);
    assert_non_null (strstr (answer, "one "));
    api_end (self);
}

static void
c052_a_stop_that_comes_before_the_gateway_holds (void **state)
{
    (void) state;
    char path[128], answer[4096] = "";
    api_world_t *self = api_begin (0, 0);
    api_post (self, "", 202);
    api_lease (self, "message.inbound"); //  The gateway has it, and no more
    api_path (self, "/stop", path);
    int fd = api_ask (self, "POST", path, "", "");
    api_bind (self);
    api_until (self, &self->mails, 1);
    assert_int_equal (api_answer (fd, NULL, answer, sizeof answer), 200);
    assert_non_null (strstr (answer, "\"status\":\"stopping\""));
    close (fd);
    assert_int_equal (api_call (self, "POST", path, "", "", answer, sizeof answer), 200);
    api_path (self, "", path);
    assert_int_equal (api_call (self, "GET", path, "", "", answer, sizeof answer), 200);
    assert_non_null (strstr (answer, "\"status\":\"stopping\""));
    assert_int_equal (self->mails, 1);
    api_finish (self, "x", true); //  The agent returns when it likes, and then it is cancelled
    assert_int_equal (api_call (self, "GET", path, "", "", answer, sizeof answer), 200);
    assert_non_null (strstr (answer, "\"status\":\"cancelled\""));
    api_end (self);
}

static void
a_finished_run_can_not_be_stopped_and_an_unknown_one_is_not_there (void **state)
{
    (void) state;
    char path[128], answer[4096];
    api_world_t *self = api_begin (0, 0);
    api_post (self, "", 202);
    api_bind (self);
    api_finish (self, "x", false);
    api_path (self, "/stop", path);
    assert_int_equal (api_call (self, "POST", path, "", "", answer, sizeof answer), 404);
    assert_non_null (strstr (answer, "run_not_found"));
    const char *const unknown[] = { "/v1/runs/x", "/v1/runs/run_00000000000000000000000000000000",
        "/v1/runs/run_00000000000000000000000000000000/events" };
    for (size_t i = 0; i < 3; i++)
        assert_int_equal (api_call (self, "GET", unknown[i], "", "", answer, sizeof answer), 404);
    api_end (self);
}

static void
the_cap_counts_what_executes_and_forgets_what_has_ended (void **state)
{
    (void) state;
    api_world_t *self = api_begin (2, 0);
    api_post (self, "", 202);
    api_post (self, "Idempotency-Key: k\r\n", 202);
    api_post (self, "", 429);
    api_post (self, "Idempotency-Key: k\r\n", 202); //  A repeat is no new run
    api_bind (self);
    api_finish (self, "x", false);
    api_post (self, "", 202);
    api_post (self, "", 429);
    api_end (self);
}

static void
one_key_makes_one_run (void **state)
{
    (void) state;
    char answer[4096], first[37];
    api_world_t *self = api_begin (0, 0);
    const char *header = "Idempotency-Key: abc\r\n";
    assert_int_equal (
        api_call (self, "POST", "/v1/runs", header, "{\"input\":\"hi\"}", answer, sizeof answer),
        202);
    assert_non_null (strstr (answer, "\"replayed\":false"));
    memcpy (first, strstr (answer, "run_"), 36);
    first[36] = 0;
    assert_int_equal (api_call (self, "POST", "/v1/runs", header, " {\"input\" : \"hi\" } ", answer,
                          sizeof answer),
        202);
    assert_non_null (strstr (answer, "\"replayed\":true"));
    assert_non_null (strstr (answer, "Idempotency-Replayed: true"));
    assert_non_null (strstr (answer, "\"status\":\"queued\""));
    assert_non_null (strstr (answer, first));
    assert_int_equal (
        api_call (self, "POST", "/v1/runs", header, "{\"input\":\"ho\"}", answer, sizeof answer),
        409);
    assert_non_null (strstr (answer, "idempotency_key_conflict"));
    api_end (self);
}

static void
it_stops_with_streams_and_requests_open (void **state)
{
    (void) state;
    char path[128], answer[4096] = "";
    api_world_t *self = api_begin (0, 0);
    api_post (self, "", 202);
    api_lease (self, "message.inbound");
    api_path (self, "/events", path);
    int stream = api_ask (self, "GET", path, "", "");
    (void) api_answer (stream, "retry", answer, sizeof answer);
    api_path (self, "/stop", path);
    int stop = api_ask (self, "POST", path, "", "");
    assert_int_equal (argos_actor_stop (&self->api, WAIT_MS), 0);
    *answer = 0;
    int status = api_answer (stop, NULL, answer, sizeof answer);
    assert_true (status == 503 || !*answer);
    close (stop);
    close (stream);
    argos_api_config_t api = { .port = self->port, .key = KEY };
    self->api = argos_actor_start ("api", argos_api_actor, &api);
    assert_non_null (self->api);
    api_end (self);
}

static void
a_weak_key_and_a_taken_port_are_refused (void **state)
{
    (void) state;
    api_world_t *self = api_begin (0, 0);
    argos_api_config_t api = { .port = self->port, .key = KEY };
    assert_null (argos_actor_start ("api", argos_api_actor, &api));
    api = (argos_api_config_t){ .key = "short" };
    assert_null (argos_actor_start ("api", argos_api_actor, &api));
    api = (argos_api_config_t){ .host = "0.0.0.0", .allow_unauthenticated_loopback = true };
    assert_null (argos_actor_start ("api", argos_api_actor, &api));
    api_end (self);
}

int
main (void)
{
    struct rlimit files;
    (void) getrlimit (RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max < 8192 ? files.rlim_max : 8192;
    (void) setrlimit (RLIMIT_NOFILE, &files);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (a_reader_goes_on_after_the_event_it_names_and_stays_away_after_the_last),
        cmocka_unit_test (c052_a_stop_that_comes_before_the_gateway_holds),
        cmocka_unit_test (a_finished_run_can_not_be_stopped_and_an_unknown_one_is_not_there),
        cmocka_unit_test (the_cap_counts_what_executes_and_forgets_what_has_ended),
        cmocka_unit_test (one_key_makes_one_run),
        cmocka_unit_test (it_stops_with_streams_and_requests_open),
        cmocka_unit_test (a_weak_key_and_a_taken_port_are_refused),
        cmocka_unit_test (
            c042_a_thousand_readers_get_each_delta_and_one_that_does_not_read_delays_nobody),
    };
    return SCHEMA_GROUP ("api", tests, NULL, NULL);
}
