//  argos_match - whether the rules of a role allow something.
//
//  Invariant: nothing is allowed but by a rule. Patterns are dotted names; `*` is one part of a
//  name, `>` the rest of it (at least one part), {name} {platform} {account} are those of the key
//  that was shown, and anything when it has none: a program of this host. What belongs to the core
//  (argos_roles.c) is matched only by a pattern that spells its first part, so that `>` means
//  all that is not the core's. Limits: none of its own.

#include "argos_access_priv.h"

#include <string.h>

bool
argos_match_listed (const char *const *list, const char *word, size_t size)
{
    for (; *list; list++)
        if (strlen (*list) == size && memcmp (*list, word, size) == 0)
            return true;
    return false;
}

//  The value of the placeholder at *pattern_p, which goes on behind it; NULL or "" = any.

static const char *
s_placeholder (const char **pattern_p, const argos_scope_t *scope)
{
    const char *name = *pattern_p + 1;
    *pattern_p = strchr (name, '}') + 1;
    return *name == 'n' ? scope->name : *name == 'p' ? scope->platform : scope->account;
}

//  How much of the name the placeholder at *pattern_p takes; 0 = it doesn't fit.

static size_t
s_take_placeholder (const char **pattern_p, const char *name, const argos_scope_t *scope)
{
    const char *value = s_placeholder (pattern_p, scope);
    //  A placeholder without a value at the end is like >: accounts may have dots
    size_t size = *value ? strlen (value) : **pattern_p ? strcspn (name, ".") : strlen (name);
    if (*value && strncmp (name, value, size) != 0)
        return 0;
    return name[size] && name[size] != '.' ? 0 : size;
}

//  Whether a name, or all that a pattern in its place means, is matched.

static bool
s_match (const char *pattern, const char *name, const argos_scope_t *scope)
{
    while (*pattern && *name) {
        if (*pattern == '>')
            return true;
        if (*name == '>')
            return false; //  A rest is covered by a rest only
        if (*pattern == '{') {
            size_t size = s_take_placeholder (&pattern, name, scope);
            if (size == 0)
                return false;
            name += size;
        }
        else if (*pattern == '*') {
            size_t size = strcspn (name, ".");
            if (size == 0)
                return false;
            pattern++;
            name += size;
        }
        else if (*pattern++ != *name++)
            return false;
    }
    return !*pattern && !*name;
}

static bool
s_same_part (const char *pattern, const char *name)
{
    size_t size = strcspn (name, ".");
    return strcspn (pattern, ".") == size && memcmp (pattern, name, size) == 0;
}

//  The same for names some of which are the core's: their first part has to be spelled.

static bool
s_match_apart (const char *pattern, const char *const *core, const char *name, size_t first,
    const argos_scope_t *scope)
{
    if (argos_match_listed (core, name, first) && !s_same_part (pattern, name))
        return false;
    return s_match (pattern, name, scope);
}

static bool
s_match_address (const rule_t *rule, const char *name, const argos_scope_t *scope)
{
    char base[ARGOS_NAME_MAX + 1];
    switch (rule->to) {
    case ARGOS_TO_STORE:
        return true;
    case ARGOS_TO_SERVICE:
        return s_match_apart (
            rule->pattern, argos_roles_core_services, name, strcspn (name, "."), scope);
    case ARGOS_TO_TOPIC:
        return s_match_apart (
            rule->pattern, argos_roles_core_topics, name, strcspn (name, "."), scope);
    case ARGOS_TO_ACTOR:
        if (!argos_name_valid (name))
            return false;
        argos_name_base (name, base);
        return s_match_apart (rule->pattern, argos_roles_core_actors, base, strlen (base), scope);
    case ARGOS_TO_NONE:
        break;
    }
    return false;
}

bool
argos_role_may_send (const argos_role_t *self, const argos_scope_t *scope, const char *type,
    argos_to_t to, const char *name)
{
    if (self->all)
        return true;
    for (size_t i = 0; i < self->count; i++) {
        const rule_t *rule = &self->rules[i];
        if (rule->kind == ARGOS_RULE_SEND && rule->to == to && s_match (rule->type, type, scope) &&
            s_match_address (rule, name, scope))
            return true;
    }
    return false;
}

bool
argos_role_may_serve (const argos_role_t *self, const argos_scope_t *scope, const char *service)
{
    if (self->all)
        return true;
    for (size_t i = 0; i < self->count; i++)
        if (self->rules[i].kind == ARGOS_RULE_LEASE &&
            s_match_apart (self->rules[i].pattern, argos_roles_core_services, service,
                strcspn (service, "."), scope))
            return true;
    return false;
}

bool
argos_role_may_read (
    const argos_role_t *self, const argos_scope_t *scope, const char *topic, bool pattern)
{
    if (self->all)
        return true;
    if (pattern && !self->wildcard)
        return false;
    for (size_t i = 0; i < self->count; i++)
        if (self->rules[i].kind == ARGOS_RULE_READ &&
            s_match_apart (self->rules[i].pattern, argos_roles_core_topics, topic,
                strcspn (topic, "."), scope))
            return true;
    return false;
}
