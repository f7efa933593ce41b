//  argos_tier - which commands who may use: admins all, others those that are listed. Pure.
//
//  Of platforms.<p>: `allow_admin_from` and `user_allowed_commands` count in chats of two,
//  `group_allow_admin_from` and `group_user_allowed_commands` everywhere else. Without a list of
//  admins everybody may use everything. Applies to every command, whatever it is made of (built-in,
//  of the user, a button), and again after it was rewritten.

#ifndef ARGOS_TIER_H
#define ARGOS_TIER_H

#include <jansson.h>
#include <stdbool.h>

typedef enum {
    ARGOS_TIER_OPEN,  //  No admins are named here
    ARGOS_TIER_ADMIN, //  May use everything
    ARGOS_TIER_USER   //  May use help, whoami and what is listed
} argos_tier_t;

//  The tier of who speaks. config is the configuration (may be NULL), source that of the message.
argos_tier_t argos_tier (const json_t *config, const json_t *source);

//  Word for people: `unrestricted`, `admin` or `user`. Static.
const char *argos_tier_name (argos_tier_t tier);

//  Whether who speaks may use that command: its name in the table (not an alias), without a slash.
bool argos_tier_may (const json_t *config, const json_t *source, const char *command);

#endif
