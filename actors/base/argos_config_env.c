//  argos_config_env - environment variables by the names that Hermes has for them, as keys.
//
//  One row per variable, or per ending: <P>_ALLOWED_USERS is platforms.<p>.allowed_users. A
//  platform counts when Hermes knows it or the files name it, so that a stranger's variable is none
//  of ours. A value that does not fit is handed on as a text, and the schema refuses it by the
//  variable's name. A secret stays where it is: the key gets env:NAME.

#include "argos_config_priv.h"
#include "argos_setting.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PLATFORM_MAX 32 //  Bytes of a platform

typedef enum {
    VALUE_TEXT,  //  As it is
    VALUE_INT,   //  A number
    VALUE_FLAG,  //  true, 1, yes in any case; else false
    VALUE_LIST,  //  Texts with commas between them
    VALUE_SECRET //  A secret
} value_t;

typedef struct {
    const char *name; //  Of the variable; its ending, when it begins with _
    value_t value;    //  What it holds
    const char *path; //  Key; of an ending below the platform
} row_t;

//  The first that fits decides: a longer ending stands before a shorter one

static const row_t s_rows[] = {
    { "GATEWAY_ALLOWED_USERS", VALUE_LIST, "gateway.allowed_users" },
    { "GATEWAY_ALLOW_ALL_USERS", VALUE_FLAG, "gateway.allow_all_users" },
    { "GATEWAY_HOME_NOTICE", VALUE_FLAG, "gateway.home_notice" },
    { "HERMES_MAX_ITERATIONS", VALUE_INT, "agent.max_iterations" },
    { "HERMES_GATEWAY_BUSY_INPUT_MODE", VALUE_TEXT, "display.busy_input_mode" },
    { "HERMES_GATEWAY_BUSY_ACK_ENABLED", VALUE_FLAG, "display.busy_ack_enabled" },
    { "HERMES_BACKGROUND_NOTIFICATIONS", VALUE_TEXT, "display.background_process_notifications" },
    { "HERMES_AGENT_TIMEOUT", VALUE_INT, "agent.inactivity_abort_s" },
    { "HERMES_AGENT_TIMEOUT_WARNING", VALUE_INT, "agent.inactivity_warning_s" },
    { "HERMES_MEDIA_DELIVERY_STRICT", VALUE_FLAG, "gateway.strict" },
    { "HERMES_RESTART_DRAIN_TIMEOUT", VALUE_INT, "gateway.drain_timeout_s" },
    { "API_SERVER_ENABLED", VALUE_FLAG, "http.enabled" },
    { "API_SERVER_HOST", VALUE_TEXT, "http.host" },
    { "API_SERVER_PORT", VALUE_INT, "http.port" },
    { "API_SERVER_CORS_ORIGINS", VALUE_LIST, "http.cors_origins" },
    { "API_SERVER_MODEL_NAME", VALUE_TEXT, "http.model_name" },
    { "QQ_GROUP_ALLOWED_USERS", VALUE_LIST, "platforms.qqbot.group_allowed_chats" },
    { "_GROUP_ALLOWED_USERS", VALUE_LIST, "group_allowed_users" },
    { "_GROUP_ALLOWED_CHATS", VALUE_LIST, "group_allowed_chats" },
    { "_ALLOWED_USERS", VALUE_LIST, "allowed_users" },
    { "_ALLOW_ALL_USERS", VALUE_FLAG, "allow_all_users" },
    { "_ALLOW_BOTS", VALUE_TEXT, "allow_bots" },
    { "_HOME_CHANNEL", VALUE_TEXT, "home_channel.chat_id" },
    { "_HOME_CHANNEL_NAME", VALUE_TEXT, "home_channel.name" },
    { "_HOME_CHANNEL_THREAD_ID", VALUE_TEXT, "home_channel.thread_id" },
    { "_BOT_TOKEN", VALUE_SECRET, "token" },
    { "_APP_TOKEN", VALUE_SECRET, "app_token" },
    { "_BASE_URL", VALUE_TEXT, "base_url" },
    { "_WEBHOOK_URL", VALUE_TEXT, "webhook_url" },
    { "_WEBHOOK_PORT", VALUE_INT, "webhook_port" },
    { "_WEBHOOK_SECRET", VALUE_SECRET, "webhook_secret" },
    { "_REQUIRE_MENTION", VALUE_FLAG, "require_mention" },
    { "_MENTION_PATTERNS", VALUE_LIST, "mention_patterns" },
    { "_FREE_RESPONSE_CHATS", VALUE_LIST, "free_response_chats" },
    { "_REPLY_TO_MODE", VALUE_TEXT, "reply_to_mode" },
};

static const char *const s_platforms[] = { "bluebubbles", "dingtalk", "discord", "email", "feishu",
    "homeassistant", "matrix", "mattermost", "qqbot", "signal", "slack", "sms", "telegram", "wecom",
    "wecom_callback", "weixin", "whatsapp", "whatsapp_cloud", "yuanbao" };

//  Variables that begin with another name than the platform's

static const char *const s_aliases[][2] = { { "qq", "qqbot" }, { "hass", "homeassistant" } };

//  The platform whose variable begins with name (size bytes of it); false = there is none

static bool
s_platform (const json_t *tree, const char *name, size_t size, char target[static PLATFORM_MAX + 1])
{
    if (!size || size > PLATFORM_MAX)
        return false;
    for (size_t i = 0; i < size; i++)
        target[i] = (char) (isupper ((unsigned char) name[i])   ? tolower (name[i])
                            : islower ((unsigned char) name[i]) ? '?'
                                                                : name[i]);
    target[size] = 0;
    for (size_t i = 0; i < sizeof s_aliases / sizeof *s_aliases; i++)
        if (strcmp (s_aliases[i][0], target) == 0)
            snprintf (target, PLATFORM_MAX + 1, "%s", s_aliases[i][1]);
    for (size_t i = 0; i < sizeof s_platforms / sizeof *s_platforms; i++)
        if (strcmp (s_platforms[i], target) == 0)
            return true;
    return json_object_get (json_object_get (tree, "platforms"), target) ||
           json_object_get (json_object_get (tree, "adapters"), target);
}

//  The row of a variable, and its key; NULL = it is none of ours

static const row_t *
s_row (const json_t *tree, const char *name, size_t size, char *path, size_t path_size)
{
    for (size_t i = 0; i < sizeof s_rows / sizeof *s_rows; i++) {
        const row_t *row = &s_rows[i];
        size_t length = strlen (row->name);
        char platform[PLATFORM_MAX + 1];
        if (row->name[0] != '_' && size == length && memcmp (name, row->name, size) == 0) {
            snprintf (path, path_size, "%s", row->path);
            return row;
        }
        if (row->name[0] == '_' && size > length &&
            memcmp (name + size - length, row->name, length) == 0 &&
            s_platform (tree, name, size - length, platform)) {
            snprintf (path, path_size, "platforms.%s.%s", platform, row->path);
            return row;
        }
    }
    return NULL;
}

static json_t *
s_list (const char *text)
{
    json_t *list = argos_config_must (json_array ());
    while (*text) {
        size_t size = strcspn (text, ","), from = strspn (text, " \t"), to = size;
        while (to > from && (text[to - 1] == ' ' || text[to - 1] == '\t'))
            to--;
        if (to > from)
            json_array_append_new (list, json_stringn (text + from, to - from));
        text += size + (text[size] == ',');
    }
    return list;
}

static json_t *
s_value (const row_t *row, const char *name, size_t size, const char *text)
{
    char *end;
    switch (row->value) {
    case VALUE_FLAG:
        return json_boolean (strcasecmp (text, "true") == 0 || strcasecmp (text, "yes") == 0 ||
                             strcmp (text, "1") == 0);
    case VALUE_LIST:
        return s_list (text);
    case VALUE_SECRET:
        return json_sprintf ("env:%.*s", (int) size, name);
    case VALUE_INT:
        errno = 0;
        long long number = strtoll (text, &end, 10);
        if (!*end && errno == 0)
            return json_integer (number);
        return json_string (text);
    default:
        return json_string (text);
    }
}

void
argos_config_environment (json_t *tree, json_t *origins)
{
    char path[256];
    for (char **variable = environ; *variable; variable++) {
        size_t size = strcspn (*variable, "=");
        const char *text = *variable + size + ((*variable)[size] == '=');
        const row_t *row = *text ? s_row (tree, *variable, size, path, sizeof path) : NULL;
        json_t *value = row ? s_value (row, *variable, size, text) : NULL;
        //  A text that is not UTF-8 is no value of ours
        if (value && argos_setting_put (tree, path, value) == 0) {
            char name[128];
            snprintf (name, sizeof name, "%.*s", (int) size, *variable);
            argos_config_set_place (origins, path, name);
        }
    }
}
