//  argos_provider - `argos provider test`: one short question to the provider.
//
//  A provider that the settings of the home name is asked from here, once and without a daemon, by
//  the code that the agent uses. The rehearsal provider lives in the daemon, and so may a key that
//  this environment does not have: then a turn goes the way of every turn (gateway, agent,
//  provider), with an empty history. Limits: TEST_MS for the answer.

#include "argos_cli.h"
#include "argos_provider_probe.h"

#include <curl/curl.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#define TEST_MS 120000 //  Patience with the answer
#define TEST_TEXT "Answer with the single word: ready"

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
    unsigned char noise[16];
    char run_id[37] = "run_", topic[48];
    randombytes_buf (noise, sizeof noise);
    sodium_bin2hex (run_id + 4, sizeof run_id - 4, noise, sizeof noise);
    snprintf (topic, sizeof topic, "run.%s", run_id);
    argos_loop_serve (self->cli->loop, "deliver.cli.provider-test", 1);
    argos_loop_subscribe (self->cli->loop, topic, 0);
    argos_loop_part_t part = { .type = "message.inbound",
        .to = "service:gateway",
        .id = run_id,
        .key = "cli:provider-test",
        .durable = true,
        .body = json_pack ("{s:{s:s,s:s,s:s,s:s,s:s},s:s,s:s,s:[]}", "source", "platform", "cli",
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

static void
s_print (const test_t *self, const json_t *agent, int64_t took_ms)
{
    if (self->cli->json) {
        argos_cli_print (json_pack ("{s:b,s:O,s:s,s:I}", "ok", !self->failed, "agent", agent,
            self->failed ? "error" : "answer", self->text, "took_ms", (json_int_t) took_ms));
        return;
    }
    printf ("provider  %s, model %s%s\n", argos_cli_text (agent, "kind"),
        argos_cli_text (agent, "model"),
        json_is_true (json_object_get (agent, "rehearsal")) ? " (rehearsal: no model is configured)"
                                                            : "");
    printf ("%s", self->failed ? "failed    " : "answer    ");
    argos_cli_write (self->text, strlen (self->text));
    printf ("\ntook      %lld ms\n", (long long) took_ms);
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
    s_print (test, agent, argos_loop_now () - before);
    json_decref (agent);
    return test->failed ? CLI_FAILED : CLI_OK;
}

//  ------------------------------------------------------------------------------------------------
//  From here

static int
s_probe (argos_cli_t *self, const argos_config_t *config)
{
    static const char *const kinds[] = { "openai", "anthropic", "rehearsal" };
    argos_provider_settings_t settings;
    argos_provider_probe_t result;
    sigset_t set;
    argos_provider_settings_init (&settings, &config->provider);
    //  The probe blocks: a signal ends it, and us
    sigemptyset (&set);
    sigaddset (&set, SIGINT);
    sigaddset (&set, SIGTERM);
    sigaddset (&set, SIGHUP);
    sigprocmask (SIG_UNBLOCK, &set, NULL);
    curl_global_init (CURL_GLOBAL_DEFAULT);
    argos_provider_probe (&settings, TEST_TEXT, TEST_MS, &result);
    curl_global_cleanup ();
    explicit_bzero (settings.key, sizeof settings.key);
    json_t *agent = json_pack ("{s:s,s:s,s:b,s:s}", "kind", kinds[settings.kind], "model",
        settings.model, "rehearsal", 0, "base_url", settings.base_url);
    test_t test = { .cli = self, .failed = !result.ok };
    snprintf (test.text, sizeof test.text, "%s", result.text);
    s_print (&test, agent, result.total_ms);
    json_decref (agent);
    return result.ok ? CLI_OK : CLI_FAILED;
}

//  Whether the test was made from here; then *ret_rc is the exit code.

static bool
s_test_from_here (argos_cli_t *self, int *ret_rc)
{
    char reason[512] = "";
    argos_config_t *config = argos_config_load (self->home, NULL, NULL, reason, sizeof reason);
    if (!config) {
        *ret_rc = argos_cli_error (self, CLI_FAILED, "invalid", "%s", reason);
        return true;
    }
    bool known = config->provider.kind != ARGOS_PROVIDER_REHEARSAL &&
                 (!*config->provider.problem || !argos_cli_is_listening (self));
    if (known)
        *ret_rc = s_probe (self, config);
    argos_config_destroy (&config);
    return known;
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
    int rc = CLI_OK;
    if (s_test_from_here (self, &rc))
        return rc;
    rc = argos_cli_connect (self, "cli.provider-test", &handlers);
    if (rc == CLI_OK)
        rc = s_test (self, &test);
    argos_cli_disconnect (self); //  Before `test` is gone
    return rc;
}
