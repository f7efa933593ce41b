//  agent_kit - store, broker, rehearsal provider and agent in this process, and one peer that plays
//  gateway, chat platform and tool at the same time.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent_kit.h"
#include "argos_question.h"

#include "argos_actor.h"
#include "argos_broker_actor.h"
#include "argos_rehearsal_actor.h"
#include "argos_schema.h"
#include "argos_store_actor.h"

#include <curl/curl.h>

#define SERVICE "deliver.test.main"

static akit_run_t *
s_run (akit_t *self, const char *run_id)
{
    for (size_t i = 0; i < self->run_count; i++)
        if (streq (self->runs[i].run_id, run_id))
            return &self->runs[i];
    return NULL;
}

static void
s_on_answer (void *arg, const argos_peer_answer_t *answer)
{
    akit_t *self = (akit_t *) arg;
    self->answers++;
    self->code = answer->code;
    self->seq = answer->seq;
    json_decref (self->reply);
    self->reply = json_incref (answer->body);
}

//  A delivery is noted and done
static void
s_on_lease (void *ctx, const argos_peer_msg_t *msg)
{
    akit_t *self = (akit_t *) ctx;
    const char *run_id = json_string_value (json_object_get (msg->body, "run_id"));
    akit_run_t *run = run_id ? s_run (self, run_id) : NULL;
    if (run) {
        run->deliveries++;
        snprintf (run->kind, sizeof run->kind, "%s",
            json_string_value (json_object_get (msg->body, "kind")));
        snprintf (run->delivered, sizeof run->delivered, "%s",
            json_string_value (json_object_get (msg->body, "text")));
    }
    argos_lease_done (msg->lease, NULL, 0, NULL, 0, NULL, NULL);
}

static void
s_on_request (void *ctx, const argos_peer_msg_t *msg)
{
    akit_t *self = (akit_t *) ctx;
    if (streq (msg->type, "tool.cancel")) {
        assert_string_equal (msg->re, self->tool_id);
        self->tool_cancels++;
        return;
    }
    if (streq (msg->type, "task.home")) {
        argos_peer_reply (self->peer, msg, "task.home.result", json_pack ("{s:s}", "home", "core"));
        return;
    }
    self->tool_calls++;
    snprintf (self->tool_from, sizeof self->tool_from, "%s", msg->from);
    snprintf (self->tool_id, sizeof self->tool_id, "%s", msg->id);
    json_decref (self->tool_body);
    self->tool_body = json_incref (msg->body);
    if (!self->tool_silent)
        argos_peer_reply (self->peer, msg, "tool.result",
            json_pack ("{s:s, s:i, s:n}", "output", "tool says hi", "exit_code", 0, "error"));
}

static void
s_on_entry (void *ctx, const char *topic, const argos_peer_msg_t *msg)
{
    akit_t *self = (akit_t *) ctx;
    akit_run_t *run = s_run (self, topic + strlen ("run."));
    assert_non_null (run);
    if (streq (msg->type, "turn.delta")) {
        const char *delta = json_string_value (json_object_get (msg->body, "delta"));
        argos_text_add (&run->delta, delta, strlen (delta));
        run->deltas++;
        return;
    }
    argos_text_add (&run->log, msg->type, strlen (msg->type));
    argos_text_add (&run->log, " ", 1);
    if (streq (msg->type, "turn.restarted"))
        argos_text_reset (&run->delta);
    if (streq (msg->type, "turn.text")) {
        json_decref (run->text);
        run->text = json_incref (msg->body);
    }
    if (strncmp (msg->type, "run.", 4) == 0) {
        run->last = json_incref (msg->body);
        snprintf (run->ended, sizeof run->ended, "%s", msg->type);
    }
}

static void
s_on_refused (void *ctx, const char *id, argos_err_t code, const char *reason)
{
    (void) ctx;
    print_message ("refused %s %s %s\n", id, argos_err_name (code), reason);
}

static void
s_start_core (akit_t *self)
{
    static const char *const services[] = { "gateway", "turn", SERVICE, "tools",
        "tool.terminal@core", "tool.read_file@core", NULL };
    char path[96], reason[256];
    snprintf (path, sizeof path, "%s/argos.db", self->folder);
    argos_store_actor_config_t store = {
        .path = path, .endpoint = ARGOS_STORE_INPROC, .reason = reason
    };
    self->store = argos_actor_start ("store", argos_store_actor, &store);
    assert_non_null (self->store);
    argos_broker_config_t broker = { .services = services };
    argos_core_config_init (&broker.core);
    self->broker = argos_actor_start ("broker", argos_broker_actor, &broker);
    assert_non_null (self->broker);
}

akit_t *
akit_new (void)
{
    char reason[256];
    akit_t *self = (akit_t *) calloc (1, sizeof *self);
    assert_non_null (self);
    zsys_handler_set (NULL);
    curl_global_init (CURL_GLOBAL_DEFAULT);
    assert_int_equal (argos_schema_init (reason), 0);
    snprintf (self->folder, sizeof self->folder, "/tmp/argos-test-XXXXXX");
    assert_non_null (mkdtemp (self->folder));
    s_start_core (self);
    self->rehearsal = argos_actor_start ("rehearsal", argos_rehearsal_actor, NULL);
    int port = argos_rehearsal_port (self->rehearsal, 2000);
    self->config.provider.kind = ARGOS_PROVIDER_REHEARSAL;
    snprintf (self->config.provider.base_url, sizeof self->config.provider.base_url,
        "http://127.0.0.1:%d/v1", port);
    snprintf (self->config.provider.model, sizeof self->config.provider.model, "rehearsal");
    argos_peer_config_t peer = { .name = "kit",
        .endpoint = ARGOS_BROKER_INPROC,
        .handlers = { .ctx = self,
            .on_lease = s_on_lease,
            .on_request = s_on_request,
            .on_entry = s_on_entry,
            .on_refused = s_on_refused } };
    self->peer = argos_peer_new (&peer);
    assert_non_null (self->peer);
    argos_peer_serve (self->peer, SERVICE, 100, NULL);
    argos_peer_serve (self->peer, "tools", 100, NULL);
    argos_peer_serve (self->peer, "tool.terminal@core", 100, NULL);
    argos_peer_serve (self->peer, "tool.read_file@core", 100, NULL);
    akit_agent_start (self);
    return self;
}

void
akit_agent_start (akit_t *self)
{
    self->agent = argos_actor_start ("agent", argos_agent_actor, &self->config);
    assert_non_null (self->agent);
}

void
akit_agent_stop (akit_t *self)
{
    assert_int_equal (argos_actor_stop (&self->agent, 5000), 0);
}

void
akit_destroy (akit_t **self_p)
{
    akit_t *self = *self_p;
    akit_agent_stop (self);
    argos_peer_destroy (&self->peer);
    assert_int_equal (argos_actor_stop (&self->rehearsal, 5000), 0);
    assert_int_equal (argos_actor_stop (&self->broker, 5000), 0);
    assert_int_equal (argos_actor_stop (&self->store, 5000), 0);
    for (size_t i = 0; i < self->run_count; i++) {
        json_decref (self->runs[i].last);
        json_decref (self->runs[i].text);
        argos_text_clear (&self->runs[i].log);
        argos_text_clear (&self->runs[i].delta);
    }
    json_decref (self->reply);
    json_decref (self->tool_body);
    zdir_t *folder = zdir_new (self->folder, NULL);
    zdir_remove (folder, true);
    zdir_destroy (&folder);
    argos_schema_term ();
    curl_global_cleanup ();
    free (self);
    *self_p = NULL;
}

void
akit_turn (akit_t *self, int timeout_ms)
{
    int64_t due_ms = argos_peer_turn (self->peer);
    if (due_ms >= 0 && due_ms < timeout_ms)
        timeout_ms = (int) due_ms;
    zmq_pollitem_t item = { .socket = argos_peer_socket (self->peer), .events = ZMQ_POLLIN };
    zmq_poll (&item, 1, timeout_ms);
    argos_peer_turn (self->peer);
}

void
akit_until (akit_t *self, const int *counter, int wanted)
{
    int64_t deadline = zclock_mono () + AKIT_WAIT_MS;
    while (*counter < wanted && zclock_mono () < deadline)
        akit_turn (self, 100);
    assert_true (*counter >= wanted);
}

void
akit_until_ended (akit_t *self, akit_run_t *run)
{
    int64_t deadline = zclock_mono () + AKIT_WAIT_MS;
    while (!*run->ended && zclock_mono () < deadline)
        akit_turn (self, 100);
    assert_true (*run->ended);
}

void
akit_until_delivered (akit_t *self, akit_run_t *run)
{
    akit_until (self, &run->deliveries, 1);
    akit_until_ended (self, run);
}

void
akit_until_deltas (akit_t *self, akit_run_t *run, int wanted)
{
    akit_until (self, &run->deltas, wanted);
}

static bool
s_is_new (const akit_t *self, const char *session)
{
    for (size_t i = 0; i + 1 < self->run_count; i++)
        if (streq (self->runs[i].session, session))
            return false;
    return true;
}

static akit_run_t *
s_ask (akit_t *self, const char *session, const char *text, json_t *more, bool side)
{
    assert_true (self->run_count < AKIT_RUNS);
    akit_run_t *run = &self->runs[self->run_count++];
    snprintf (run->run_id, sizeof run->run_id, "run_%032zx", self->run_count);
    snprintf (run->session, sizeof run->session, "%s", session);
    argos_text_init (&run->log, 1048576);
    argos_text_init (&run->delta, 16777216);
    char topic[64];
    snprintf (topic, sizeof topic, "run.%s", run->run_id);
    json_t *body = json_pack ("{s:s, s:s, s:s, s:s, s:s, s:{s:s, s:s, s:s, s:s}}", "run_id",
        run->run_id, "session_id", session, "text", text, "deliver", SERVICE, "reply_to", "m1",
        "source", "platform", "test", "account", "main", "chat_type", "dm", "chat_id", "c1");
    if (more)
        json_object_update (body, more);
    json_decref (more);
    argos_peer_part_t parts[3];
    size_t count = 0;
    if (s_is_new (self, session))
        parts[count++] = (argos_peer_part_t){
            .type = "session.create", .to = "store", .body = json_pack ("{s:s}", "id", session)
        };
    parts[count++] = (argos_peer_part_t){ .type = "run.create",
        .to = "store",
        .body = json_pack ("{s:s, s:s}", "run_id", run->run_id, "session_id", session) };
    parts[count++] = (argos_peer_part_t){ .type = "turn.request",
        .to = "service:turn",
        .id = run->run_id,
        .key = session,
        .durable = true,
        .side = side,
        .body = body };
    int before = self->answers;
    argos_peer_commit (self->peer, NULL, parts, count, s_on_answer, self);
    argos_peer_subscribe (self->peer, topic, 0);
    akit_until (self, &self->answers, before + 1);
    assert_int_equal (self->code, ARGOS_OK);
    return run;
}

akit_run_t *
akit_ask (akit_t *self, const char *session, const char *text, json_t *more)
{
    return s_ask (self, session, text, more, false);
}

akit_run_t *
akit_steer (akit_t *self, const char *session, const char *text)
{
    return s_ask (self, session, text, NULL, true);
}

static void
s_side (akit_t *self, const char *session, const char *type, json_t *body)
{
    argos_peer_part_t part = { .type = type,
        .to = "service:turn",
        .key = session,
        .durable = true,
        .side = true,
        .urgent = true,
        .body = body };
    int before = self->answers;
    argos_peer_send (self->peer, &part, s_on_answer, self);
    akit_until (self, &self->answers, before + 1);
    assert_int_equal (self->code, ARGOS_OK);
}

void
akit_stop (akit_t *self, const char *session, const akit_run_t *run)
{
    json_t *body = json_pack ("{s:s}", "reason", "test");
    if (run)
        json_object_set_new (body, "run_id", json_string (run->run_id));
    s_side (self, session, "turn.stop", body);
}

void
akit_end (akit_t *self, const char *session)
{
    s_side (self, session, "session.end",
        json_pack ("{s:s, s:s}", "session_id", session, "reason", "new"));
}

json_t *
akit_request (akit_t *self, const char *to, const char *type, json_t *body)
{
    argos_peer_part_t part = { .type = type, .to = to, .body = body };
    int before = self->answers;
    assert_int_equal (argos_peer_send (self->peer, &part, s_on_answer, self), ARGOS_OK);
    akit_until (self, &self->answers, before + 1);
    assert_int_equal (self->code, ARGOS_OK);
    return self->reply;
}

argos_err_t
akit_answer (
    akit_t *self, const char *session, const json_t *record, const char *choice, const char *text)
{
    json_t *value = json_object_get (record, "value");
    const char *id = json_string_value (json_object_get (value, "id"));
    json_t *settled = argos_question_settle (value, "answered", choice, text, "u1");
    argos_peer_part_t parts[] = {
        { .type = "record.put",
            .to = "store",
            .body = argos_question_put (
                settled, json_integer_value (json_object_get (record, "version"))) },
        { .type = "question.answer",
            .to = "service:turn",
            .key = session,
            .durable = true,
            .side = true,
            .body = argos_question_answer (id, choice, text, "u1") }
    };
    json_decref (settled);
    int before = self->answers;
    argos_peer_commit (self->peer, NULL, parts, 2, s_on_answer, self);
    akit_until (self, &self->answers, before + 1);
    return self->code;
}

json_t *
akit_question (akit_t *self, const char *session, const char *state)
{
    int64_t deadline = zclock_mono () + AKIT_WAIT_MS;
    while (zclock_mono () < deadline) {
        json_t *result = akit_request (self, "store", "record.list",
            json_pack ("{s:s, s:s+}", "space", ARGOS_QUESTION_SPACE, "prefix", session, "/"));
        size_t i;
        json_t *record;
        json_array_foreach (json_object_get (result, "records"), i, record)
            if (streq (json_string_value (
                           json_object_get (json_object_get (record, "value"), "state")),
                    state))
                return json_incref (record);
        akit_turn (self, 20);
    }
    fail_msg ("no question of %s is %s", session, state);
    return NULL;
}

char *
akit_transcript (akit_t *self, const char *session)
{
    json_t *result =
        akit_request (self, "store", "session.load", json_pack ("{s:s}", "id", session));
    argos_text_t text;
    argos_text_init (&text, 16777216);
    size_t i;
    json_t *row;
    json_array_foreach (json_object_get (result, "messages"), i, row) {
        const char *role = json_string_value (json_object_get (row, "role"));
        const char *content = json_string_value (json_object_get (row, "content"));
        argos_text_add (&text, role, strlen (role));
        argos_text_add (&text, ":", 1);
        argos_text_add (&text, content ? content : "", content ? strlen (content) : 0);
        argos_text_add (&text, "|", 1);
    }
    char *copy = strdup (argos_text_str (&text));
    argos_text_clear (&text);
    return copy;
}
