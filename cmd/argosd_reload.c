//  argosd_reload - see the header.
//
//  Invariant: settings that are not valid change nothing, and the log and the asker are told why.
//  Runs in the main thread.

#include "argosd_reload.h"

#include "argos_actor.h"
#include "argos_daemon_actor.h"
#include "argos_log.h"
#include "argos_setting.h"

#include <signal.h>

#define NAME "argosd"
#define LOG_LIST 400 //  Bytes of a list of keys in the log

static void
s_warn (void *arg, const char *sentence)
{
    argos_log (ARGOS_LOG_WARN, NAME, "warning", "reason=\"%s\"", sentence);
    json_array_append_new (arg, json_string (sentence));
}

//  The first keys of a list, with commas between them

static void
s_list (const json_t *list, char text[static LOG_LIST])
{
    size_t used = 0;
    text[0] = 0;
    for (size_t i = 0; i < json_array_size (list) && used < LOG_LIST; i++)
        used += (size_t) snprintf (text + used, LOG_LIST - used, "%s%s", i ? "," : "",
            json_string_value (json_array_get (list, i)));
}

//  Nodes that have joined take them over from the broker, if it is here.

static void
s_share (argosd_reload_t *self, const argos_config_t *config)
{
    char *text = argos_config_snapshot (config);
    if (text) {
        zmsg_t *msg = zmsg_new ();
        zmsg_addstr (msg, "SNAPSHOT");
        zmsg_addstr (msg, text);
        argos_supervisor_tell (self->supervisor, "broker", &msg);
    }
    else
        argos_log (ARGOS_LOG_WARN, NAME, "settings", "shared=no reason=\"they are too many\"");
    free (text);
}

//  Makes the settings of config those that hold.

static void
s_apply (argosd_reload_t *self, const argos_config_t *config, json_t *result)
{
    char changed_text[LOG_LIST], restart_text[LOG_LIST];
    json_t *changed = json_array (), *restart = json_array ();
    argos_config_diff (self->settings, config->settings, changed, restart);
    char *text = json_dumps (config->settings, JSON_COMPACT);
    if (!text)
        abort ();
    s_list (changed, changed_text);
    s_list (restart, restart_text);
    argos_log (ARGOS_LOG_INFO, NAME, "settings", "changed=\"%s\" restart=\"%s\"", changed_text,
        restart_text);
    argos_log_level (config->log_level);
    argos_supervisor_settings (self->supervisor, text);
    s_share (self, config);
    free (text);
    json_object_set_new (result, "changed", changed);
    json_object_set_new (result, "restart", restart);
    //  What needs a restart still has its old value: it is told again at the next time
    json_t *now = json_deep_copy (config->settings);
    for (size_t i = 0; i < json_array_size (restart); i++) {
        const char *path = json_string_value (json_array_get (restart, i));
        json_t *old = argos_setting_at (self->settings, path);
        argos_setting_put (now, path, json_incref (old));
    }
    json_decref (self->settings);
    self->settings = now;
}

//  Reads the settings again. Returns the body of a config.reload.result; new.

static json_t *
s_reload (argosd_reload_t *self)
{
    char reason[1024] = "";
    json_t *result = json_object (), *warnings = json_array ();
    argos_config_t *config =
        argos_config_load (self->home, s_warn, warnings, reason, sizeof reason);
    json_object_set_new (result, "applied", json_boolean (config != NULL));
    json_object_set_new (result, "warnings", warnings);
    if (config)
        s_apply (self, config, result);
    else {
        argos_log (ARGOS_LOG_ERROR, NAME, "settings kept", "reason=\"%s\"", reason);
        json_object_set_new (result, "reason", json_string (reason));
    }
    argos_config_destroy (&config);
    return result;
}

static void
s_on_hangup (void *arg)
{
    json_decref (s_reload (arg));
}

static void
s_on_word (void *arg, const char *name, zmsg_t *msg)
{
    argosd_reload_t *self = arg;
    zframe_t *word = zmsg_first (msg), *run = zmsg_next (msg);
    if (word && run && zframe_streq (word, ARGOS_DAEMON_RESTART)) {
        snprintf (self->run_id, sizeof self->run_id, "%.*s", (int) zframe_size (run),
            (const char *) zframe_data (run));
        argos_supervisor_end (self->supervisor, SIGUSR1);
        return;
    }
    if (!word || !zframe_streq (word, ARGOS_DAEMON_RELOAD))
        return;
    json_t *result = s_reload (self);
    char *text = json_dumps (result, JSON_COMPACT);
    zmsg_t *answer = zmsg_new ();
    zmsg_addstr (answer, ARGOS_DAEMON_RELOADED);
    zmsg_addstr (answer, text ? text : "{}");
    argos_supervisor_tell (self->supervisor, name, &answer);
    free (text);
    json_decref (result);
}

void
argosd_reload_begin (
    argosd_reload_t *self, const argos_config_t *config, argos_supervisor_t *supervisor)
{
    *self = (argosd_reload_t){ .home = config->home,
        .supervisor = supervisor,
        .settings = json_deep_copy (config->settings) };
    argos_supervisor_on (
        supervisor, &(argos_supervisor_handlers_t){
                        .arg = self, .on_hangup = s_on_hangup, .on_word = s_on_word });
}

void
argosd_reload_end (argosd_reload_t *self)
{
    json_decref (self->settings);
    self->settings = NULL;
}
