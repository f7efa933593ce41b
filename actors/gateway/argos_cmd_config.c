//  argos_cmd_config - the commands that set something: model, reasoning, verbose, yolo, sethome,
//  restart.
//
//  Invariant: a setting is one record of its chat, changed as it was read. Pure.

#include "argos_cmd.h"
#include "argos_home.h"
#include "argos_json_get.h"
#include "argos_parts.h"
#include "argos_say.h"

#include <string.h>

#define MODEL_MAX 128 //  Bytes of the name of a model

void
argos_cmd_model (const argos_gateway_case_t *gateway, const char *arguments, json_t *parts)
{
    const char *own = json_string_value (argos_cmd_setting (gateway, "model"));
    const char *usual = argos_json_text (gateway->fact[ARGOS_FACT_AGENT], "model");
    if (!*arguments)
        argos_cmd_say (gateway, parts, SAY_MODEL_IS, own ? own : *usual ? usual : "(unknown)");
    else if (strstr (arguments, "--global"))
        argos_cmd_say (gateway, parts, SAY_MODEL_GLOBAL);
    else if (strcmp (arguments, "reset") == 0) {
        argos_cmd_setting_put (gateway, parts, "model", NULL, true);
        argos_cmd_say (gateway, parts, SAY_MODEL_RESET);
    }
    else if (strlen (arguments) > MODEL_MAX || strpbrk (arguments, " \t\r\n"))
        argos_cmd_say (gateway, parts, SAY_MODEL_LONG);
    else {
        argos_cmd_setting_put (gateway, parts, "model", json_string (arguments), true);
        argos_cmd_say (gateway, parts, SAY_MODEL_SET, arguments);
    }
}

void
argos_cmd_reasoning (const argos_gateway_case_t *gateway, const char *arguments, json_t *parts)
{
    static const char *const levels[] = { "none", "minimal", "low", "medium", "high", "xhigh",
        "max" };
    const char *own = json_string_value (argos_cmd_setting (gateway, "reasoning"));
    if (!*arguments) {
        argos_cmd_say (gateway, parts, SAY_REASONING_IS, own ? own : "as the model does by itself");
        return;
    }
    if (strcmp (arguments, "reset") == 0) {
        argos_cmd_setting_put (gateway, parts, "reasoning", NULL, true);
        argos_cmd_say (gateway, parts, SAY_REASONING_RESET);
        return;
    }
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
        if (strcmp (levels[i], arguments) == 0) {
            argos_cmd_setting_put (gateway, parts, "reasoning", json_string (arguments), true);
            argos_cmd_say (gateway, parts, SAY_REASONING_SET, arguments);
            return;
        }
    argos_cmd_say (
        gateway, parts, SAY_USAGE, "reasoning", "[none|minimal|low|medium|high|xhigh|max|reset]");
}

void
argos_cmd_verbose (const argos_gateway_case_t *gateway, const char *arguments, json_t *parts)
{
    static const char *const modes[] = { "off", "new", "all", "verbose", "log" };
    const char *own = json_string_value (argos_cmd_setting (gateway, "verbose"));
    size_t count = sizeof modes / sizeof *modes, mode = 0;
    (void) arguments;
    for (size_t i = 0; own && i < count; i++)
        if (strcmp (modes[i], own) == 0)
            mode = i;
    mode = (mode + 1) % count;
    argos_cmd_setting_put (gateway, parts, "verbose", json_string (modes[mode]), false);
    argos_cmd_say (gateway, parts, SAY_VERBOSE_SET, modes[mode]);
}

void
argos_cmd_yolo (const argos_gateway_case_t *gateway, const char *arguments, json_t *parts)
{
    bool on = json_is_true (argos_cmd_setting (gateway, "yolo"));
    (void) arguments;
    argos_cmd_setting_put (gateway, parts, "yolo", on ? NULL : json_true (), true);
    if (on)
        argos_cmd_say (gateway, parts, SAY_YOLO_OFF);
    else
        argos_cmd_say (gateway, parts, SAY_YOLO_ON);
}

//  The same for local.yaml, where it is seen and outlives the database.

static void
s_write_home (const argos_gateway_case_t *gateway, const json_t *source, json_t *parts)
{
    char id[64];
    const char *chat = argos_json_text (source, "chat_id"),
               *thread = argos_json_text (source, "thread_id"),
               *name = argos_json_text (source, "chat_name");
    if (!*chat)
        return;
    //  All of it, for maps are merged: none of what argos.yaml says of another chat may be left
    json_t *home =
        json_pack ("{s:s, s:s, s:s}", "chat_id", chat, "thread_id", thread, "name", name);
    argos_cmd_id (gateway, "home", id);
    json_array_append_new (
        parts, json_pack ("{s:s, s:s, s:s, s:s, s:b, s:{s:O, s:o}}", "type", "daemon.home", "to",
                   "service:daemon", "id", id, "key", "daemon", "durable", 1, "body", "platform",
                   json_object_get (source, "platform"), "home", home));
}

void
argos_cmd_sethome (const argos_gateway_case_t *gateway, const char *arguments, json_t *parts)
{
    const json_t *source = json_object_get (gateway->body, "source");
    const char *platform = argos_json_text (source, "platform");
    (void) arguments;
    argos_parts_store_new (parts, "record.put",
        json_pack ("{s:s, s:s, s:o}", "space", "home", "key", platform, "value",
            argos_home_value (gateway->policy->config, source)));
    argos_cmd_say (gateway, parts, SAY_HOME_SET, platform);
    s_write_home (gateway, source, parts);
}

void
argos_cmd_restart (const argos_gateway_case_t *gateway, const char *arguments, json_t *parts)
{
    char id[64];
    const char *reply_to = json_string_value (json_object_get (gateway->body, "message_id"));
    (void) arguments;
    argos_cmd_id (gateway, "restart", id);
    json_t *body = json_pack ("{s:O}", "source", json_object_get (gateway->body, "source"));
    if (reply_to)
        json_object_set_new (body, "reply_to", json_string (reply_to));
    argos_cmd_say (gateway, parts, SAY_RESTART);
    json_array_append_new (
        parts, json_pack ("{s:s, s:s, s:s, s:s, s:b, s:o}", "type", "daemon.restart", "to",
                   "service:daemon", "id", id, "key", "daemon", "durable", 1, "body", body));
}
