//  argos_first - see argos_first.h.
//
//  Invariant: the notice and the record of it are parts of one commit, which expects that there is
//  no such record: two first messages make one notice. Pure, no limits of its own.

#include "argos_first.h"

#include "argos_command.h"
#include "argos_commands.h"
#include "argos_json_get.h"
#include "argos_parts.h"
#include "argos_platform.h"
#include "argos_say.h"
#include "argos_setting.h"
#include "argos_source.h"

#include <stdio.h>

#define SPACE "told" //  Of the records of what a platform was told
#define KEY_SIZE 64  //  Bytes of a key there, terminated

#define BIT(name) ARGOS_FACT_BIT (ARGOS_FACT_##name)

static const char *
s_platform (const argos_gateway_case_t *gateway)
{
    return argos_json_text (json_object_get (gateway->body, "source"), "platform");
}

static void
s_key (const argos_gateway_case_t *gateway, char *target)
{
    snprintf (target, KEY_SIZE, "home:%.50s", s_platform (gateway));
}

json_t *
argos_first_ask_told (const argos_gateway_case_t *gateway)
{
    char key[KEY_SIZE];
    s_key (gateway, key);
    return json_pack ("{s:s, s:s}", "space", SPACE, "key", key);
}

json_t *
argos_first_ask_home (const argos_gateway_case_t *gateway)
{
    return json_pack ("{s:s, s:s}", "space", "home", "key", s_platform (gateway));
}

static bool
s_has_record (const argos_gateway_case_t *gateway, argos_fact_t fact)
{
    return json_is_object (json_object_get (gateway->fact[fact], "record"));
}

//  Whether it is somebody's first message on a platform of people that may need a home.

static bool
s_is_first (const argos_gateway_case_t *gateway)
{
    const json_t *config = gateway->policy->config;
    const argos_platform_t *platform = argos_platform_find (s_platform (gateway));
    return gateway->have & BIT (ROUTE) && gateway->fact[ARGOS_FACT_ROUTE] && !platform->trusted &&
           !json_is_object (json_object_get (gateway->fact[ARGOS_FACT_ROUTE], "route")) &&
           !json_is_true (json_object_get (gateway->body, "internal")) &&
           argos_setting_bool (config, NULL, NULL, "gateway.home_notice") &&
           !argos_setting (config, s_platform (gateway), NULL, "home_channel.chat_id") &&
           argos_command_is_offered (gateway, argos_commands_find ("sethome"));
}

unsigned
argos_first_needs (const argos_gateway_case_t *gateway)
{
    if (!s_is_first (gateway))
        return 0;
    bool unknown = gateway->have & BIT (TOLD) && !s_has_record (gateway, ARGOS_FACT_TOLD);
    return BIT (TOLD) | (unknown ? BIT (HOME) : 0);
}

void
argos_first_step (const argos_gateway_case_t *gateway, json_t *parts)
{
    char key[KEY_SIZE], id[64], text[512];
    const unsigned read = BIT (TOLD) | BIT (HOME);
    if (!s_is_first (gateway) || (gateway->have & read) != read ||
        s_has_record (gateway, ARGOS_FACT_TOLD) || s_has_record (gateway, ARGOS_FACT_HOME))
        return;
    s_key (gateway, key);
    argos_parts_store_new (parts, "record.put",
        json_pack ("{s:s, s:s, s:{s:I}, s:i}", "space", SPACE, "key", key, "value", "at",
            (json_int_t) gateway->wall, "version", 0));
    argos_cmd_id (gateway, "first", id);
    snprintf (text, sizeof text, SAY_NO_HOME, s_platform (gateway));
    argos_parts_deliver (parts, json_object_get (gateway->body, "source"), id, "notice", text,
        json_string_value (json_object_get (gateway->body, "message_id")));
}
