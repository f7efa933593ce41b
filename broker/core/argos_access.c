//  argos_access - roles: who may send, serve and read what.
//
//  Invariant: nothing is allowed but by a rule. What a rule means is in
//  argos_match.c. Limits: 64 roles, 256 rules each.

#include "argos_access_priv.h"

#include "argos_roles.h"
#include "argos_writer.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define RULES_MAX 256

bool
argos_access_reserved (const char *base)
{
    return argos_match_listed (argos_roles_core_actors, base, strlen (base));
}

//  ------------------------------------------------------------------------------------------------
//  Making

static void
s_sentence (char *reason, const char *role, const char *word, const char *wrong)
{
    argos_writer_t text = { .size = 0 };
    argos_writer_raw (&text, "role ");
    argos_writer_raw (&text, role);
    argos_writer_raw (&text, *word ? ": " : "");
    argos_writer_raw (&text, word);
    argos_writer_raw (&text, ": ");
    argos_writer_raw (&text, wrong);
    size_t size = text.size < ARGOS_REASON_MAX ? text.size : ARGOS_REASON_MAX - 1;
    memcpy (reason, text.data, size);
    reason[size] = 0;
}

//  Whether text is a pattern: parts of [a-z0-9_@-], * or a placeholder, and > at the end.

static bool
s_is_pattern (const char *text)
{
    static const char *const placeholders[] = { "{name}", "{platform}", "{account}", NULL };
    if (strlen (text) > ARGOS_TO_MAX)
        return false;
    for (;;) {
        size_t size = strcspn (text, ".");
        bool word = size > 0 && strspn (text, "abcdefghijklmnopqrstuvwxyz0123456789_@-") == size;
        bool star = size == 1 && *text == '*';
        bool rest = size == 1 && *text == '>' && !text[size];
        if (!word && !star && !rest && !argos_match_listed (placeholders, text, size))
            return false;
        if (!text[size])
            return true;
        text += size + 1;
    }
}

static char *
s_copy (const char *text)
{
    char *copy = strdup (text);
    assert (copy);
    return copy;
}

static rule_t *
s_add_rule (argos_role_t *role, argos_rule_kind_t kind)
{
    role->rules = realloc (role->rules, (role->count + 1) * sizeof role->rules[0]);
    assert (role->rules);
    rule_t *rule = &role->rules[role->count++];
    *rule = (rule_t){ .kind = kind };
    return rule;
}

//  Takes one rule of a role. Returns false when it is not of the form.

static bool
s_add (argos_role_t *role, argos_rule_kind_t kind, const char *type, const char *pattern)
{
    static const struct {
        const char *prefix; //  Of an address
        argos_to_t to;      //  Its kind
    } kinds[] = { { "service:", ARGOS_TO_SERVICE }, { "topic:", ARGOS_TO_TOPIC },
        { "actor:", ARGOS_TO_ACTOR } };
    argos_to_t to = ARGOS_TO_NONE;
    if (kind == ARGOS_RULE_SEND && strcmp (pattern, "store") == 0) {
        to = ARGOS_TO_STORE;
        pattern = "";
    }
    for (size_t i = 0; kind == ARGOS_RULE_SEND && i < sizeof kinds / sizeof kinds[0]; i++)
        if (strncmp (pattern, kinds[i].prefix, strlen (kinds[i].prefix)) == 0) {
            to = kinds[i].to;
            pattern += strlen (kinds[i].prefix);
            break;
        }
    if (role->count >= RULES_MAX ||
        (kind == ARGOS_RULE_SEND && (to == ARGOS_TO_NONE || !s_is_pattern (type))))
        return false;
    if (to != ARGOS_TO_STORE && !s_is_pattern (pattern))
        return false;
    rule_t *rule = s_add_rule (role, kind);
    rule->to = to;
    rule->type = s_copy (type);
    rule->pattern = s_copy (pattern);
    return true;
}

static void
s_add_all (argos_role_t *role, const argos_role_t *other)
{
    role->all = role->all || other->all;
    role->wildcard = role->wildcard || other->wildcard;
    for (size_t i = 0; i < other->count; i++) {
        rule_t *rule = s_add_rule (role, other->rules[i].kind);
        rule->to = other->rules[i].to;
        rule->type = s_copy (other->rules[i].type);
        rule->pattern = s_copy (other->rules[i].pattern);
    }
}

static void
s_clear (argos_role_t *role)
{
    for (size_t i = 0; i < role->count; i++) {
        free (role->rules[i].type);
        free (role->rules[i].pattern);
    }
    free (role->rules);
    role->rules = NULL;
    role->count = 0;
    role->wildcard = role->all = false;
}

static argos_role_t *
s_find (argos_access_t *self, const char *name)
{
    for (size_t i = 0; i < self->count; i++)
        if (strcmp (self->roles[i].name, name) == 0)
            return &self->roles[i];
    return NULL;
}

//  A role of that name, empty when it is new; NULL when there are too many.

static argos_role_t *
s_get (argos_access_t *self, const char *name)
{
    argos_role_t *role = s_find (self, name);
    if (role || self->count == ROLES_MAX)
        return role;
    role = &self->roles[self->count++];
    memcpy (role->name, name, strlen (name) + 1);
    return role;
}

static void
s_make_builtin (argos_access_t *self)
{
    for (const argos_roles_rule_t *rule = argos_roles_builtin; rule->role; rule++) {
        argos_role_t *role = s_get (self, rule->role);
        assert (role);
        if (rule->kind == ARGOS_RULE_EVERYTHING)
            role->all = true;
        else if (rule->kind == ARGOS_RULE_WILDCARD)
            role->wildcard = true;
        else if (rule->kind == ARGOS_RULE_LIKE)
            s_add_all (role, s_find (self, rule->pattern));
        else {
            bool good = s_add (role, rule->kind, rule->type, rule->pattern);
            assert (good);
        }
    }
}

//  One line of a configured role.

static bool
s_add_line (argos_role_t *role, argos_rule_kind_t kind, const char *line)
{
    char type[ARGOS_TO_MAX + 1];
    if (kind != ARGOS_RULE_SEND)
        return s_add (role, kind, "", line);
    size_t size = strcspn (line, " ");
    if (size == 0 || size >= sizeof type || line[size] != ' ')
        return false;
    memcpy (type, line, size);
    type[size] = 0;
    return s_add (role, kind, type, line + size + 1);
}

static const char *
s_add_member (argos_role_t *role, const char *member, const json_t *value, const char **ret_word)
{
    static const struct {
        const char *name;       //  Member
        argos_rule_kind_t kind; //  Of its rules
        const char *wrong;      //  What is said of a bad one
    } lists[] = { { "send", ARGOS_RULE_SEND,
                      "a rule is a pattern of types, a space, and an address: "
                      "service:…, topic:…, actor:… or store" },
        { "lease", ARGOS_RULE_LEASE, "not a pattern of services" },
        { "read", ARGOS_RULE_READ, "not a pattern of topics" } };
    *ret_word = member;
    if (strcmp (member, "wildcard") == 0) {
        role->wildcard = json_is_true (value);
        return json_is_boolean (value) ? NULL : "expected true or false";
    }
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        const json_t *line;
        size_t index;
        if (strcmp (member, lists[i].name) != 0)
            continue;
        if (!json_is_array (value))
            return "expected a list";
        json_array_foreach (value, index, line) {
            const char *text = json_string_value (line);
            *ret_word = text ? text : member;
            if (!text || !s_add_line (role, lists[i].kind, text))
                return lists[i].wrong;
        }
        return NULL;
    }
    return "a role has send, lease, read and wildcard";
}

static bool
s_is_role_name (const char *name)
{
    size_t size = strspn (name, "abcdefghijklmnopqrstuvwxyz0123456789_-");
    return size > 0 && size <= ARGOS_ROLE_MAX && !name[size];
}

//  One role of the configuration. Returns false with a sentence.

static bool
s_configure (argos_access_t *self, const char *name, json_t *value, char *reason)
{
    const char *member, *wrong = NULL, *word = "";
    json_t *rules;
    argos_role_t *role = NULL;
    if (!s_is_role_name (name) || strcmp (name, "core") == 0)
        wrong = "not a name for a role: 1 to 32 of a-z 0-9 _ -, and not core";
    else if (!json_is_object (value))
        wrong = "expected send, lease, read and wildcard";
    else if (!(role = s_get (self, name)))
        wrong = "too many roles";
    if (role) {
        s_clear (role);
        json_object_foreach (value, member, rules)
            if ((wrong = s_add_member (role, member, rules, &word)))
                break;
    }
    if (wrong)
        s_sentence (reason, name, word, wrong);
    return !wrong;
}

//  The union of the roles of a peer that shows nothing. Returns false with a sentence.

static bool
s_make_ipc (argos_access_t *self, const char *const *names, char *reason)
{
    argos_role_t *ipc = &self->roles[self->count];
    size_t size = 0;
    for (; *names; names++) {
        const argos_role_t *role = s_find (self, *names);
        if (!role || role->all) {
            s_sentence (reason, *names, "",
                role ? "ipc_roles can't have it" : "ipc_roles names it, and there is none");
            return false;
        }
        s_add_all (ipc, role);
        size_t length = strlen (*names);
        if (size + length + 2 > sizeof ipc->name)
            continue;
        if (size)
            ipc->name[size++] = ',';
        memcpy (ipc->name + size, *names, length + 1);
        size += length;
    }
    self->count++;
    return true;
}

argos_access_t *
argos_access_new (json_t *roles, const char *const *ipc_roles, char reason[static ARGOS_REASON_MAX])
{
    const char *name;
    json_t *value;
    argos_access_t *self = calloc (1, sizeof *self);
    assert (self);
    s_make_builtin (self);
    bool good = true;
    json_object_foreach (roles, name, value)
        if (!(good = s_configure (self, name, value, reason)))
            break;
    if (!good || !s_make_ipc (self, ipc_roles ? ipc_roles : argos_roles_ipc, reason))
        argos_access_destroy (&self);
    return self;
}

void
argos_access_destroy (argos_access_t **self_p)
{
    if (!self_p || !*self_p)
        return;
    for (size_t i = 0; i <= ROLES_MAX; i++)
        s_clear (&(*self_p)->roles[i]);
    free (*self_p);
    *self_p = NULL;
}

const argos_role_t *
argos_access_role (const argos_access_t *self, const char *name)
{
    for (size_t i = 0; i + 1 < self->count; i++)
        if (strcmp (self->roles[i].name, name) == 0)
            return &self->roles[i];
    return NULL;
}

const argos_role_t *
argos_access_core (const argos_access_t *self)
{
    return &self->roles[0];
}

const argos_role_t *
argos_access_ipc (const argos_access_t *self)
{
    return &self->roles[self->count - 1];
}

size_t
argos_access_count (const argos_access_t *self)
{
    return self->count;
}

const argos_role_t *
argos_access_at (const argos_access_t *self, size_t place)
{
    assert (place < self->count);
    return &self->roles[place];
}

const char *
argos_role_name (const argos_role_t *self)
{
    return self->name;
}

bool
argos_role_all (const argos_role_t *self)
{
    return self->all;
}
