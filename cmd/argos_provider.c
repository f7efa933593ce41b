//  argos_provider - `argos provider test`: one short question to the provider.
//
//  A provider that the settings of the home name is asked by argosd (cmd/argosd_provider.c), once
//  and without a daemon. The rehearsal provider lives in the daemon, and so may a key that this
//  environment does not have: then a turn goes the way of every turn (gateway, agent, provider),
//  with an empty history. Limits: TEST_MS for the answer.

#include "argos_say_provider.h"

#include <stdio.h>
#include <string.h>

//  The test under way

typedef struct {
    argos_cli_t *cli; //  Ours
    bool there;       //  The run has ended
    bool failed;      //  so
    char text[1024];  //  with this
} test_t;

static void
s_on_welcome (void *ctx, bool new_store)
{
    (void) new_store;
    argos_cli_welcome (((test_t *) ctx)->cli);
}

static void
s_on_final (void *ctx, argos_err_t code, const char *reason)
{
    argos_cli_final (((test_t *) ctx)->cli, code, reason);
}

static void
s_finish (test_t *self, bool failed, const char *text)
{
    if (self->there)
        return;
    self->there = true;
    self->failed = failed;
    snprintf (self->text, sizeof self->text, "%s", text ? text : "");
    argos_loop_stop (self->cli->loop);
}

static void
s_on_entry (void *ctx, const char *topic, const argos_loop_msg_t *msg)
{
    test_t *self = (test_t *) ctx;
    (void) topic;
    if (strcmp (msg->type, "run.completed") == 0)
        s_finish (self, false, json_string_value (json_object_get (msg->body, "output")));
    else if (strcmp (msg->type, "run.failed") == 0)
        s_finish (self, true, json_string_value (json_object_get (msg->body, "error")));
    else if (strcmp (msg->type, "run.cancelled") == 0)
        s_finish (self, true, "the turn was stopped");
}

//  The delivery, or a refusal of the gateway, which makes no run

static void
s_on_work (void *ctx, const argos_loop_msg_t *msg)
{
    test_t *self = (test_t *) ctx;
    const char *kind = json_string_value (json_object_get (msg->body, "kind"));
    if (kind && strcmp (kind, "error") == 0 && !json_object_get (msg->body, "run_id"))
        s_finish (self, true, json_string_value (json_object_get (msg->body, "text")));
    argos_loop_part_t part = {
        .type = "receipt.put", .to = "store", .body = json_pack ("{s:s}", "state", "sent")
    };
    argos_loop_done (msg->work, &part);
}

static void
s_on_sent (void *arg, const argos_loop_answer_t *answer)
{
    if (answer->code != ARGOS_OK && answer->code != ARGOS_GONE)
        s_finish ((test_t *) arg, true, answer->reason);
}

static void
s_on_timeout (void *arg)
{
    s_finish ((test_t *) arg, true, "no answer came in time");
}

static void
s_ask (test_t *self)
{
    char run_id[37] = "run_", topic[48];
    argos_cli_random_hex (run_id + 4, 16);
    snprintf (topic, sizeof topic, "run.%s", run_id);
    argos_loop_serve (self->cli->loop, "deliver.local.provider-test", 1);
    argos_loop_subscribe (self->cli->loop, topic, 0);
    argos_loop_part_t part = { .type = "message.inbound",
        .to = "service:gateway",
        .id = run_id,
        .key = "local:provider-test",
        .durable = true,
        .body = json_pack ("{s:{s:s,s:s,s:s,s:s,s:s},s:s,s:s,s:[]}", "source", "platform", "local",
            "account", "provider-test", "chat_id", "provider-test", "chat_type", "dm", "user_id",
            "provider-test", "text", TEST_TEXT, "run_id", run_id, "history") };
    argos_err_t code = argos_loop_send (self->cli->loop, &part, s_on_sent, self);
    if (code != ARGOS_OK) {
        s_finish (self, true, argos_err_text (code));
        return;
    }
    argos_loop_timer (self->cli->loop, argos_loop_now () + TEST_MS, s_on_timeout, self);
    argos_loop_run (self->cli->loop);
    argos_loop_timer (self->cli->loop, -1, NULL, NULL);
}

static int
s_test (argos_cli_t *self, test_t *test)
{
    json_t *agent = NULL;
    argos_err_t code = argos_cli_ask (self, "actor:agent", "agent.status", NULL, &agent);
    if (code != ARGOS_OK)
        return argos_cli_fail (self, "provider test", code);
    int64_t before = argos_loop_now ();
    const char *problem = json_string_value (json_object_get (agent, "problem"));
    if (problem && *problem)
        s_finish (test, true, problem); //  No turn can succeed
    else
        s_ask (test);
    if (!test->there)
        s_finish (test, true, self->final ? self->reason : "interrupted");
    argos_say_provider (self, agent, !test->failed, test->text, argos_loop_now () - before);
    json_decref (agent);
    return test->failed ? CLI_FAILED : CLI_OK;
}

int
argos_command_provider (argos_cli_t *self, int argc, char **argv)
{
    test_t test = { .cli = self };
    if (argc != 1 || strcmp (argv[0], "test") != 0)
        return argos_cli_usage (self, "provider knows one word: test");
    argos_loop_handlers_t handlers = { .ctx = &test,
        .on_welcome = s_on_welcome,
        .on_final = s_on_final,
        .on_entry = s_on_entry,
        .on_work = s_on_work };
    char word[] = "provider", *words[] = { word, argv[0] };
    int rc = argos_cli_run (self, 2, words);
    if (rc != CLI_ELSEWHERE)
        return rc;
    rc = argos_cli_connect (self, "cli.provider-test", &handlers);
    if (rc == CLI_OK)
        rc = s_test (self, &test);
    argos_cli_disconnect (self); //  Before `test` is gone
    return rc;
}
