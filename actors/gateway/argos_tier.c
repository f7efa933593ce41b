//  argos_tier - see argos_tier.h.
//
//  Invariant: who is no admin gets nothing that is not named. Pure. A list that is no list names
//  nobody, but gates.

#include "argos_tier.h"

#include "argos_source.h"

#include <string.h>

//  The setting of this kind of chat.

static const json_t *
s_setting (const json_t *config, const json_t *source, const char *direct, const char *group)
{
    return argos_source_setting (config, source, argos_source_is_direct (source) ? direct : group);
}

argos_tier_t
argos_tier (const json_t *config, const json_t *source)
{
    const json_t *admins = s_setting (config, source, "allow_admin_from", "group_allow_admin_from");
    if (!admins || (json_is_array (admins) && !json_array_size (admins)))
        return ARGOS_TIER_OPEN;
    return argos_list_names (admins, source) ? ARGOS_TIER_ADMIN : ARGOS_TIER_USER;
}

const char *
argos_tier_name (argos_tier_t tier)
{
    static const char *const names[] = { "unrestricted", "admin", "user" };
    return names[tier];
}

bool
argos_tier_may (const json_t *config, const json_t *source, const char *command)
{
    if (argos_tier (config, source) != ARGOS_TIER_USER)
        return true;
    if (strcmp (command, "help") == 0 || strcmp (command, "whoami") == 0)
        return true;
    return argos_list_has (
        s_setting (config, source, "user_allowed_commands", "group_user_allowed_commands"),
        command);
}
