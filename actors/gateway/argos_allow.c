//  argos_allow - who may speak.
//
//  Invariant: whatever no rule allows is denied; nothing that a user can change about himself (a
//  name) is looked at. Pure. Limit: an adapter is believed what it says about who has written; that
//  it speaks for its own platform only is the broker's rule (docs/security.md).

#include "argos_allow.h"

#include "argos_json_get.h"
#include "argos_platform.h"
#include "argos_source.h"

#include <stdio.h>
#include <string.h>

//  What a rule looks at

typedef struct {
    const json_t *config; //  The configuration
    const json_t *source; //  Of the message
    bool direct;          //  It is a chat of two
    bool paired;          //  The operator has approved who speaks
} case_t;

typedef enum {
    NEXT, //  The rule says nothing
    ALLOW,
    DENY
} verdict_t;

typedef verdict_t (rule_fn) (const case_t *self);

static const json_t *
s_setting (const case_t *self, const char *name)
{
    return argos_source_setting (self->config, self->source, name);
}

//  A setting of all platforms.

static const json_t *
s_general (const json_t *config, const char *name)
{
    return json_object_get (json_object_get (config, "gateway"), name);
}

static bool
s_is_list (const json_t *list)
{
    return json_array_size (list) > 0;
}

//  Whether anybody is listed anywhere for this platform.

static bool
s_any_list (const json_t *config, const json_t *source)
{
    static const char *const lists[] = { "allowed_users", "group_allowed_users",
        "group_allowed_chats" };
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (s_is_list (argos_source_setting (config, source, lists[i])))
            return true;
    return s_is_list (s_general (config, "allowed_users"));
}

//  ---------------------------------------------------------------------------------------------
//  The rules

//  Who comes in through a door of its own (the terminal, the API, signed calls) has shown there
//  that it may.

static verdict_t
s_transport (const case_t *self)
{
    return argos_platform_find (argos_json_text (self->source, "platform"))->trusted ? ALLOW : NEXT;
}

//  A group that is listed lets in whoever writes there.

static verdict_t
s_chat (const case_t *self)
{
    const char *chat = argos_json_text (self->source, "chat_id");
    return !self->direct && argos_list_has (s_setting (self, "group_allowed_chats"), chat) ? ALLOW
                                                                                           : NEXT;
}

//  Another bot, which could answer ours for ever.

static verdict_t
s_bot (const case_t *self)
{
    if (!json_is_true (json_object_get (self->source, "is_bot")))
        return NEXT;
    const char *allowed = argos_source_word (self->config, self->source, "allow_bots");
    return strcmp (allowed, "mentions") == 0 || strcmp (allowed, "all") == 0 ? ALLOW : DENY;
}

static verdict_t
s_nobody (const case_t *self)
{
    return *argos_source_participant (self->source) ? NEXT : DENY;
}

static verdict_t
s_all (const case_t *self)
{
    return argos_source_flag (self->config, self->source, "allow_all_users") ? ALLOW : NEXT;
}

static verdict_t
s_role (const case_t *self)
{
    return json_is_true (json_object_get (self->source, "role_authorized")) ? ALLOW : NEXT;
}

static verdict_t
s_paired (const case_t *self)
{
    return self->paired ? ALLOW : NEXT;
}

//  Nobody is listed at all: the adapter's own list of this kind of chat, else the general switch.

static verdict_t
s_unlisted (const case_t *self)
{
    if (s_any_list (self->config, self->source))
        return NEXT;
    const char *policy =
        argos_source_word (self->config, self->source, self->direct ? "dm_policy" : "group_policy");
    return strcmp (policy, "allowlist") == 0 ||
                   json_is_true (s_general (self->config, "allow_all_users"))
               ? ALLOW
               : DENY;
}

static verdict_t
s_listed (const case_t *self)
{
    if (argos_list_names (s_setting (self, "allowed_users"), self->source) ||
        argos_list_names (s_general (self->config, "allowed_users"), self->source))
        return ALLOW;
    return !self->direct && argos_list_names (s_setting (self, "group_allowed_users"), self->source)
               ? ALLOW
               : DENY;
}

static const struct {
    const char *name; //  For the audit
    rule_fn *rule;    //  What it says
} s_rules[] = {
    { "transport", s_transport },
    { "group_allowed_chats", s_chat },
    { "allow_bots", s_bot },
    { "no_user", s_nobody },
    { "allow_all_users", s_all },
    { "role_authorized", s_role },
    { "paired", s_paired },
    { "no_list", s_unlisted },
    { "allowed_users", s_listed },
};

argos_allow_t
argos_allow (const json_t *config, const json_t *source, bool paired)
{
    const case_t self = { .config = config,
        .source = source,
        .direct = argos_source_is_direct (source),
        .paired = paired };
    for (size_t i = 0; i < sizeof s_rules / sizeof *s_rules; i++) {
        verdict_t verdict = s_rules[i].rule (&self);
        if (verdict != NEXT)
            return (argos_allow_t){ verdict == ALLOW, s_rules[i].name };
    }
    return (argos_allow_t){ false, "default" };
}

bool
argos_allow_asks (const json_t *config, const json_t *source)
{
    return argos_allow (config, source, true).allowed &&
           !argos_allow (config, source, false).allowed;
}

//  ---------------------------------------------------------------------------------------------
//  Strangers

bool
argos_allow_offers (const json_t *config, const json_t *source)
{
    if (!argos_source_is_direct (source) || !*argos_source_participant (source) ||
        json_is_true (json_object_get (source, "is_bot")))
        return false;
    const char *chosen = argos_source_word (config, source, "unauthorized_dm_behavior");
    const char *general = json_string_value (json_object_get (config, "unauthorized_dm_behavior"));
    const char *policy = argos_source_word (config, source, "dm_policy");
    if (*chosen)
        return strcmp (chosen, "pair") == 0;
    if (argos_platform_find (argos_json_text (source, "platform"))->open_door)
        return false;
    if (general)
        return strcmp (general, "pair") == 0;
    if (strcmp (policy, "pairing") == 0)
        return true;
    if (strcmp (policy, "allowlist") == 0 || strcmp (policy, "disabled") == 0)
        return false;
    return !s_any_list (config, source);
}

//  ---------------------------------------------------------------------------------------------
//  The configuration as a whole

//  The policy of a block that is `open`, NULL = none is.

static const char *
s_open_policy (const json_t *block)
{
    static const char *const policies[] = { "dm_policy", "group_policy" };
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) {
        const char *word = json_string_value (json_object_get (block, policies[i]));
        if (word && strcmp (word, "open") == 0)
            return policies[i];
    }
    return NULL;
}

//  Whether a block lets in anybody.

static bool
s_lets_in (const json_t *block)
{
    static const char *const lists[] = { "allowed_users", "group_allowed_users",
        "group_allowed_chats" };
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (s_is_list (json_object_get (block, lists[i])))
            return true;
    return json_is_true (json_object_get (block, "allow_all_users"));
}

//  Types of chats that have a block of their own in that of a platform
static const char *const s_types[] = { "dm", "group", "channel", "forum", "thread" };

//  The next block of a platform in which rules may stand: its own, those of its types of chats, and
//  those of its accounts. s_next_block returns it; NULL behind the last.

typedef struct {
    const json_t *platform; //  Whose
    size_t type;            //  The next of s_types, 0 = the platform itself, and one more each
    void *account;          //  The next account
    char path[128];         //  Of the block that was returned last: "" or "group."
} blocks_t;

static const json_t *
s_next_block (blocks_t *self)
{
    json_t *accounts = json_object_get (self->platform, "accounts");
    *self->path = 0;
    if (!self->type++)
        return self->platform;
    while (self->type - 2 < sizeof s_types / sizeof *s_types) {
        const char *type = s_types[self->type++ - 2];
        snprintf (self->path, sizeof self->path, "%s.", type);
        if (json_object_get (self->platform, type))
            return json_object_get (self->platform, type);
    }
    self->account = self->account ? json_object_iter_next (accounts, self->account)
                                  : json_object_iter (accounts);
    if (!self->account)
        return NULL;
    snprintf (self->path, sizeof self->path, "accounts.%s.", json_object_iter_key (self->account));
    return json_object_iter_value (self->account);
}

int
argos_allow_check (const json_t *config, char *path, size_t size)
{
    const char *name;
    json_t *platform;
    *path = 0;
    if (json_is_true (s_general (config, "allow_all_users")))
        return 0;
    json_object_foreach (json_object_get (config, "platforms"), name, platform) {
        bool all = json_is_true (json_object_get (platform, "allow_all_users"));
        blocks_t blocks = { .platform = platform };
        const json_t *block;
        while (!all && (block = s_next_block (&blocks))) {
            const char *policy = s_open_policy (block);
            if (!policy || json_is_true (json_object_get (block, "allow_all_users")))
                continue;
            snprintf (path, size, "platforms.%s.%s%s", name, blocks.path, policy);
            return -1;
        }
    }
    return 0;
}

bool
argos_allow_is_unset (const json_t *config)
{
    const char *name;
    json_t *platform;
    if (json_is_true (s_general (config, "allow_all_users")) ||
        s_is_list (s_general (config, "allowed_users")))
        return false;
    json_object_foreach (json_object_get (config, "platforms"), name, platform) {
        blocks_t blocks = { .platform = platform };
        const json_t *block;
        while ((block = s_next_block (&blocks)))
            if (s_lets_in (block))
                return false;
    }
    return true;
}
