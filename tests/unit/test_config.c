//  test_config - the configuration snapshot: defaults, errors with their line, the provider.

#include "argos_config.h"
#include "argos_setting.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

typedef struct {
    char home[64];       //  A folder of its own for each test
    char warnings[1024]; //  All of them, each followed by |
    char reason[512];    //  Why loading failed
} fixture_t;

static void
s_write (const fixture_t *self, const char *name, const char *text)
{
    char path[128];
    snprintf (path, sizeof path, "%s/%s", self->home, name);
    FILE *file = fopen (path, "w");
    assert_non_null (file);
    fputs (text, file);
    fclose (file);
}

static void
s_warn (void *arg, const char *sentence)
{
    fixture_t *self = arg;
    size_t used = strlen (self->warnings);
    snprintf (self->warnings + used, sizeof self->warnings - used, "%s|", sentence);
}

static argos_config_t *
s_load (fixture_t *self, const char *text)
{
    if (text)
        s_write (self, ARGOS_CONFIG_FILE, text);
    self->warnings[0] = self->reason[0] = 0;
    argos_config_t *config =
        argos_config_load (self->home, s_warn, self, self->reason, sizeof self->reason);
    if (!config)
        assert_true (self->reason[0] != 0);
    return config;
}

static void
s_assert_refused (fixture_t *self, const char *text, const char *expected)
{
    if (s_load (self, text))
        fail_msg ("accepted: %s", text);
    assert_string_equal (self->reason, expected);
}

static int
s_set_up (void **state)
{
    fixture_t *self = calloc (1, sizeof *self);
    snprintf (self->home, sizeof self->home, "/tmp/argos-test-XXXXXX");
    unsetenv ("OPENAI_API_KEY");
    unsetenv ("OPENROUTER_API_KEY");
    unsetenv ("ANTHROPIC_API_KEY");
    *state = self;
    return mkdtemp (self->home) ? 0 : -1;
}

static int
s_tear_down (void **state)
{
    fixture_t *self = *state;
    static const char *const names[] = { ARGOS_CONFIG_FILE, ARGOS_CONFIG_LOCAL, "secret" };
    static const char *const variables[] = { "TELEGRAM_ALLOWED_USERS", "DISCORD_ALLOW_BOTS",
        "SIGNAL_ALLOW_ALL_USERS", "GATEWAY_ALLOW_ALL_USERS", "TELEGRAM_BOT_TOKEN",
        "QQ_GROUP_ALLOWED_USERS", "TELEGRAM_HOME_CHANNEL_THREAD_ID", "TELEGRAM_HOME_CHANNEL",
        "STRANGER_ALLOW_BOTS", "HERMES_MAX_ITERATIONS", "TELEGRAM_GROUP_ALLOWED_USERS",
        "HERMES_AGENT_TIMEOUT", "HERMES_AGENT_TIMEOUT_WARNING", "HERMES_MEDIA_DELIVERY_STRICT" };
    for (size_t at = 0; at < sizeof variables / sizeof variables[0]; at++)
        unsetenv (variables[at]);
    for (size_t at = 0; at < sizeof names / sizeof names[0]; at++) {
        char path[128];
        snprintf (path, sizeof path, "%s/%s", self->home, names[at]);
        unlink (path);
    }
    rmdir (self->home);
    free (self);
    return 0;
}

static void
without_a_file_all_defaults_hold (void **state)
{
    fixture_t *self = *state;
    argos_config_t *config = s_load (self, NULL);
    assert_non_null (config);
    assert_string_equal (config->home, self->home);
    assert_int_equal (config->log_level, ARGOS_LOG_INFO);
    assert_true (config->http.enabled);
    assert_string_equal (config->http.host, "127.0.0.1");
    assert_int_equal (config->http.port, 8642);
    assert_false (config->http.allow_unauthenticated_loopback);
    assert_int_equal (config->http.max_concurrent_runs, 0);
    assert_null (config->http.cors_origins[0]);
    assert_int_equal (config->provider.kind, ARGOS_PROVIDER_REHEARSAL);
    assert_false (config->provider.configured);
    assert_string_equal (config->provider.problem, "");
    assert_int_equal (config->agent.max_iterations, 90);
    assert_int_equal (config->agent.max_turns, 1000);
    assert_int_equal (config->broker.lease_ms, 15000);
    assert_int_equal (config->broker.window_bytes, 4194304);
    assert_int_equal (config->broker.service_max, 2000000);
    assert_int_equal (config->terminal.timeout_s, 180);
    assert_int_equal (config->terminal.output_max, 50000);
    assert_string_equal (config->terminal.workdir, "");
    assert_null (config->services[0]);
    argos_config_destroy (&config);
    argos_config_destroy (&config);
}

static void
a_file_overrides_what_it_names (void **state)
{
    argos_config_t *config = s_load (*state, "log: {level: debug}\n"
                                             "http:\n"
                                             "  port: 0\n"
                                             "  cors_origins: [\"https://a.example\", \"*\"]\n"
                                             "agent:\n"
                                             "services: [billing, mail.out]\n"
                                             "topics: [{match: \"run.>\", keep_ms: 60000}]\n"
                                             "broker: {lease_ms: 20000}\n"
                                             "tools: {terminal: {workdir: /srv}}\n");
    assert_non_null (config);
    assert_int_equal (config->log_level, ARGOS_LOG_DEBUG);
    assert_int_equal (config->http.port, 0);
    assert_true (config->http.enabled);
    assert_string_equal (config->http.cors_origins[1], "*");
    assert_null (config->http.cors_origins[2]);
    assert_int_equal (config->agent.max_iterations, 90);
    assert_string_equal (config->services[1], "mail.out");
    assert_int_equal (config->topic_count, 1);
    assert_string_equal (config->topics[0].match, "run.>");
    assert_int_equal (config->topics[0].keep_ms, 60000);
    assert_int_equal (config->topics[0].keep_entries, 0);
    assert_int_equal (config->broker.lease_ms, 20000);
    assert_int_equal (config->broker.quiet_ms, 6000);
    assert_string_equal (config->terminal.workdir, "/srv");
    argos_config_destroy (&config);
}

static void
the_template_changes_nothing_until_it_is_edited (void **state)
{
    fixture_t *self = *state;
    argos_config_t *config = s_load (self, argos_config_template ());
    assert_non_null (config);
    assert_int_equal (config->http.port, 8642);
    assert_false (config->provider.configured);
    argos_config_destroy (&config);
}

static void
the_template_without_its_marks_is_a_valid_file (void **state)
{
    fixture_t *self = *state;
    const char *template = argos_config_template ();
    char *text = calloc (1, strlen (template) + 1);
    size_t used = 0;
    for (const char *at = template; *at; at++) {
        bool mark = *at == '#' && (at == template || at[-1] == '\n') && at[1] != ' ';
        bool inner =
            *at == '#' && (at == template || at[-1] == '\n') && at[1] == ' ' && at[2] == ' ';
        if (!mark && !inner)
            text[used++] = *at;
    }
    setenv ("OPENAI_API_KEY", "test-key-1", 1);
    argos_config_t *config = s_load (self, text);
    free (text);
    if (!config)
        fail_msg ("%s", self->reason);
    assert_string_equal (self->warnings, "");
    assert_true (config->provider.configured);
    assert_string_equal (config->provider.key, "test-key-1");
    argos_config_destroy (&config);
}

static void
a_wrong_value_is_told_with_file_line_key_and_expectation (void **state)
{
    fixture_t *self = *state;
    s_assert_refused (self, "http:\n  host: x\n  port: 99999\n",
        "argos.yaml:3: http.port: expected an integer from 0 to 65535");
    s_assert_refused (self, "http: 5\n", "argos.yaml:1: http: expected an object");
    s_assert_refused (self, "- a\n", "argos.yaml:1: expected an object");
    s_assert_refused (self, "log:\n  level: loud\n",
        "argos.yaml:2: log.level: expected one of error, warn, info, debug");
    s_assert_refused (self, "\nprovider:\n  model: x\n",
        "argos.yaml:3: provider.kind: expected one of openai, anthropic, rehearsal; it is missing");
    s_assert_refused (self, "topics:\n  - match: \"run.>.x\"\n",
        "argos.yaml:2: topics: expected a match without empty segments, and > only at its end");
    s_assert_refused (self, "services:\n  - ok\n  - Not OK\n",
        "argos.yaml:3: services[1]: expected a string of at most 64 bytes that matches "
        "^[a-z0-9._-]+$");
    s_assert_refused (self, "broker:\n  quiet_ms: 20000\n",
        "argos.yaml:2: broker.quiet_ms: expected less than broker.lease_ms");
    s_assert_refused (self, "tools:\n  terminal:\n    workdir: here\n",
        "argos.yaml:3: tools.terminal.workdir: expected an absolute path");
    s_assert_refused (
        self, "http:\n  port: 1\n  port: 2\n", "argos.yaml:3: the key port is there twice");
}

static void
a_secret_in_the_file_is_refused (void **state)
{
    if (s_load (*state, "provider: {kind: openai, key: sk-abcdef}\n"))
        fail ();
    assert_non_null (strstr (((fixture_t *) *state)->reason, "provider.key: expected a string"));
    assert_null (strstr (((fixture_t *) *state)->reason, "abcdef"));
}

static void
an_unknown_key_is_a_warning_with_the_nearest_one (void **state)
{
    fixture_t *self = *state;
    argos_config_t *config = s_load (self, "http:\n  prot: 1\nhtpp: {}\nsomething_else: 1\n");
    assert_non_null (config);
    assert_string_equal (self->warnings,
        "argos.yaml:2: http.prot: unknown key; did you mean http.port?|"
        "argos.yaml:3: htpp: unknown key; did you mean http?|"
        "argos.yaml:4: something_else: unknown key|");
    argos_config_destroy (&config);
}

static void
a_file_that_can_not_be_read_is_refused (void **state)
{
    fixture_t *self = *state;
    char path[128];
    snprintf (path, sizeof path, "%s/%s", self->home, ARGOS_CONFIG_FILE);
    assert_int_equal (mkdir (path, 0700), 0);
    assert_null (s_load (self, NULL));
    assert_non_null (strstr (self->reason, "expected a readable file"));
    rmdir (path);
}

static void
keys_in_the_environment_choose_the_provider (void **state)
{
    setenv ("ANTHROPIC_API_KEY", "key-a", 1);
    argos_config_t *config = s_load (*state, NULL);
    assert_int_equal (config->provider.kind, ARGOS_PROVIDER_ANTHROPIC);
    assert_string_equal (config->provider.base_url, "https://api.anthropic.com");
    assert_string_equal (config->provider.key, "key-a");
    assert_false (config->provider.configured);
    argos_config_destroy (&config);

    setenv ("OPENROUTER_API_KEY", "key-r\n", 1);
    config = s_load (*state, NULL);
    assert_int_equal (config->provider.kind, ARGOS_PROVIDER_OPENAI);
    assert_string_equal (config->provider.base_url, "https://openrouter.ai/api/v1");
    assert_string_equal (config->provider.key, "key-r");
    argos_config_destroy (&config);

    setenv ("OPENAI_API_KEY", "key-o", 1);
    config = s_load (*state, NULL);
    assert_string_equal (config->provider.base_url, "https://api.openai.com/v1");
    assert_string_equal (config->provider.key, "key-o");
    assert_true (config->provider.model[0] != 0);
    argos_config_destroy (&config);
}

static void
a_named_provider_without_a_key_is_never_replaced (void **state)
{
    setenv ("ANTHROPIC_API_KEY", "key-a", 1);
    argos_config_t *config = s_load (*state, "provider: {kind: openai, model: m, "
                                             "base_url: \"http://127.0.0.1:1/v1/\", key: "
                                             "\"env:ARGOS_TEST_NO_SUCH_KEY\"}\n");
    assert_non_null (config);
    assert_int_equal (config->provider.kind, ARGOS_PROVIDER_OPENAI);
    assert_true (config->provider.configured);
    assert_string_equal (config->provider.base_url, "http://127.0.0.1:1/v1");
    assert_string_equal (config->provider.model, "m");
    assert_string_equal (config->provider.key, "");
    assert_string_equal (config->provider.problem,
        "no provider credentials configured: the environment variable ARGOS_TEST_NO_SUCH_KEY is "
        "not set");
    argos_config_destroy (&config);
}

static void
keys_come_from_files_too (void **state)
{
    fixture_t *self = *state;
    const char *text = "provider: {kind: openai, key: \"file:secret\"}\n";
    argos_config_t *config = s_load (self, text);
    assert_non_null (strstr (config->provider.problem, "no provider credentials configured: "));
    argos_config_destroy (&config);

    s_write (self, "secret", "key-from-file\n");
    config = s_load (self, text);
    assert_string_equal (config->provider.problem, "");
    assert_string_equal (config->provider.key, "key-from-file");
    argos_config_destroy (&config);

    s_write (self, "secret", "two words\n");
    config = s_load (self, text);
    assert_non_null (strstr (config->provider.problem, "does not hold a key"));
    assert_string_equal (config->provider.key, "");
    argos_config_destroy (&config);
}

static void
rehearsal_can_be_named (void **state)
{
    setenv ("OPENAI_API_KEY", "key-o", 1);
    argos_config_t *config = s_load (*state, "provider: {kind: rehearsal}\n");
    assert_int_equal (config->provider.kind, ARGOS_PROVIDER_REHEARSAL);
    assert_string_equal (config->provider.key, "");
    assert_string_equal (config->provider.problem, "");
    argos_config_destroy (&config);
}

static void
what_programs_write_is_laid_over_the_file (void **state)
{
    fixture_t *self = *state;
    s_write (self, ARGOS_CONFIG_LOCAL,
        "http:\n  port: 9\nservices: [c]\nplatforms:\n  telegram: {allowed_users: [7]}\n");
    argos_config_t *config = s_load (self, "http:\n  port: 8\n  host: h\nservices: [a, b]\n"
                                           "platforms:\n  telegram:\n    allow_bots: all\n");
    if (!config)
        fail_msg ("%s", self->reason);
    assert_int_equal (config->http.port, 9);
    assert_string_equal (config->http.host, "h");
    assert_string_equal (config->services[0], "c");
    assert_null (config->services[1]);
    assert_string_equal (
        argos_setting_text (config->settings, "telegram", NULL, "allow_bots"), "all");
    assert_true (argos_setting_has (config->settings, "telegram", "dm", "allowed_users", "7"));
    assert_string_equal (argos_config_origin (config, "http.port"), "local.yaml:2");
    assert_string_equal (argos_config_origin (config, "http.host"), "argos.yaml:3");
    assert_string_equal (argos_config_origin (config, "log.level"), "default");
    argos_config_destroy (&config);

    s_write (self, ARGOS_CONFIG_LOCAL, "http:\n  port: x\n");
    s_assert_refused (
        self, "http: {port: 8}\n", "local.yaml:2: http.port: expected an integer from 0 to 65535");
    s_write (self, ARGOS_CONFIG_LOCAL, "- x\n");
    s_assert_refused (self, "http: {port: 8}\n", "local.yaml:1: expected an object");
    s_write (self, ARGOS_CONFIG_LOCAL, "services:\n  - Not OK\n");
    s_assert_refused (self, "services: [a, b]\n",
        "local.yaml:2: services[0]: expected a string of at most 64 bytes that matches "
        "^[a-z0-9._-]+$");
}

static void
the_environment_is_laid_over_the_files (void **state)
{
    fixture_t *self = *state;
    setenv ("TELEGRAM_ALLOWED_USERS", " 17, ann ,,*", 1);
    setenv ("TELEGRAM_GROUP_ALLOWED_USERS", "18", 1);
    setenv ("DISCORD_ALLOW_BOTS", "mentions", 1);
    setenv ("SIGNAL_ALLOW_ALL_USERS", "Yes", 1);
    setenv ("GATEWAY_ALLOW_ALL_USERS", "1", 1);
    setenv ("TELEGRAM_BOT_TOKEN", "123:abc", 1);
    setenv ("QQ_GROUP_ALLOWED_USERS", "g", 1);
    setenv ("TELEGRAM_HOME_CHANNEL", "-100", 1);
    setenv ("TELEGRAM_HOME_CHANNEL_THREAD_ID", "7", 1);
    setenv ("STRANGER_ALLOW_BOTS", "whatever", 1);
    setenv ("HERMES_MAX_ITERATIONS", "12", 1);
    setenv ("HERMES_AGENT_TIMEOUT", "70", 1);
    setenv ("HERMES_AGENT_TIMEOUT_WARNING", "35", 1);
    setenv ("HERMES_MEDIA_DELIVERY_STRICT", "true", 1);
    argos_config_t *config =
        s_load (self, "platforms: {telegram: {allowed_users: [1], allow_bots: none}}\n");
    if (!config)
        fail_msg ("%s", self->reason);
    const json_t *settings = config->settings;
    assert_true (argos_setting_has (settings, "telegram", "dm", "allowed_users", "17"));
    assert_true (argos_setting_has (settings, "telegram", "dm", "allowed_users", "ann"));
    assert_false (argos_setting_has (settings, "telegram", "dm", "allowed_users", "1"));
    assert_true (argos_setting_has (settings, "telegram", "dm", "group_allowed_users", "18"));
    assert_string_equal (argos_setting_text (settings, "telegram", NULL, "allow_bots"), "none");
    assert_string_equal (argos_setting_text (settings, "discord", NULL, "allow_bots"), "mentions");
    assert_true (argos_setting_bool (settings, "signal", "dm", "allow_all_users"));
    assert_int_equal (argos_setting_int (settings, NULL, NULL, "agent.inactivity_abort_s"), 70);
    assert_int_equal (argos_setting_int (settings, NULL, NULL, "agent.inactivity_warning_s"), 35);
    assert_true (argos_setting_bool (settings, NULL, NULL, "gateway.strict"));
    assert_false (argos_setting_bool (settings, "gateway", "dm", "allow_all_users"));
    assert_true (argos_setting_bool (settings, NULL, NULL, "gateway.allow_all_users"));
    assert_true (argos_setting_has (settings, "qqbot", NULL, "group_allowed_chats", "g"));
    assert_string_equal (
        argos_setting_text (settings, "telegram", NULL, "home_channel.chat_id"), "-100");
    assert_string_equal (
        argos_setting_text (settings, "telegram", NULL, "home_channel.thread_id"), "7");
    assert_string_equal (
        argos_setting_text (settings, "telegram", NULL, "token"), "env:TELEGRAM_BOT_TOKEN");
    assert_null (argos_setting_at (settings, "platforms.stranger"));
    assert_int_equal (config->agent.max_iterations, 12);
    assert_string_equal (
        argos_config_origin (config, "platforms.discord.allow_bots"), "DISCORD_ALLOW_BOTS");
    argos_config_destroy (&config);

    s_assert_refused (self, "platforms: {stranger: {}}\n",
        "STRANGER_ALLOW_BOTS: platforms.stranger.allow_bots: expected one of none, mentions, all");
    setenv ("HERMES_MAX_ITERATIONS", "many", 1);
    s_assert_refused (self, "",
        "HERMES_MAX_ITERATIONS: agent.max_iterations: expected an integer from 1 to 10000");
}

static void
a_program_can_set_what_the_schema_lets_in (void **state)
{
    fixture_t *self = *state;
    char reason[512] = "";
    s_write (self, ARGOS_CONFIG_FILE, "http:\n  port: 1\n");
    json_t *value = json_pack ("{s:s, s:s}", "type", "alias", "target", "/a \"b\": c\n");
    assert_int_equal (
        argos_config_set (self->home, "quick_commands.x-y", value, reason, sizeof reason), 0);
    assert_int_equal (
        argos_config_set (self->home, "http.port", json_integer (2), reason, sizeof reason), 0);
    argos_config_t *config =
        argos_config_load (self->home, s_warn, self, self->reason, sizeof self->reason);
    assert_non_null (config);
    assert_int_equal (config->http.port, 2);
    assert_string_equal (
        argos_setting_text (config->settings, NULL, NULL, "quick_commands.x-y.target"),
        "/a \"b\": c\n");
    argos_config_destroy (&config);
    assert_int_equal (
        argos_config_set (self->home, "http.port", json_integer (-1), reason, sizeof reason), -1);
    assert_string_equal (reason, "http.port: expected an integer from 0 to 65535");
    assert_int_equal (
        argos_config_set (self->home, "htp", json_object (), reason, sizeof reason), -1);
    assert_string_equal (reason, "htp: unknown key; did you mean http?");
    assert_int_equal (argos_config_set (self->home, "http.port", NULL, reason, sizeof reason), 0);
    config = argos_config_load (self->home, s_warn, self, self->reason, sizeof self->reason);
    assert_int_equal (config->http.port, 1);
    argos_config_destroy (&config);
}

static void
the_difference_names_keys_and_which_need_a_restart (void **state)
{
    (void) state;
    json_t *old = argos_config_defaults (), *new = argos_config_defaults ();
    json_t *changed = json_array (), *restart = json_array ();
    argos_config_diff (old, new, changed, restart);
    assert_int_equal (json_array_size (changed) + json_array_size (restart), 0);
    argos_setting_put (new, "broker.lease_ms", json_integer (16000));
    argos_setting_put (new, "display.busy_input_mode", json_string ("queue"));
    argos_setting_put (new, "platforms.p.allow_bots", json_string ("all"));
    argos_setting_put (old, "quick_commands.gone", json_object ());
    argos_config_diff (old, new, changed, restart);
    char *text = json_dumps (changed, JSON_COMPACT);
    assert_string_equal (
        text, "[\"display.busy_input_mode\",\"quick_commands.gone\",\"platforms.p\"]");
    free (text);
    text = json_dumps (restart, JSON_COMPACT);
    assert_string_equal (text, "[\"broker.lease_ms\"]");
    free (text);
    json_decref (changed);
    json_decref (restart);
    json_decref (old);
    json_decref (new);
}

#define TEST(fn) cmocka_unit_test_setup_teardown (fn, s_set_up, s_tear_down)

int
main (void)
{
    const struct CMUnitTest tests[] = {
        TEST (without_a_file_all_defaults_hold),
        TEST (a_file_overrides_what_it_names),
        TEST (the_template_changes_nothing_until_it_is_edited),
        TEST (the_template_without_its_marks_is_a_valid_file),
        TEST (a_wrong_value_is_told_with_file_line_key_and_expectation),
        TEST (a_secret_in_the_file_is_refused),
        TEST (an_unknown_key_is_a_warning_with_the_nearest_one),
        TEST (a_file_that_can_not_be_read_is_refused),
        TEST (keys_in_the_environment_choose_the_provider),
        TEST (a_named_provider_without_a_key_is_never_replaced),
        TEST (keys_come_from_files_too),
        TEST (rehearsal_can_be_named),
        TEST (what_programs_write_is_laid_over_the_file),
        TEST (the_environment_is_laid_over_the_files),
        TEST (a_program_can_set_what_the_schema_lets_in),
        TEST (the_difference_names_keys_and_which_need_a_restart),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
