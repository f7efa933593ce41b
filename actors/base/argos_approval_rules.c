//  argos_approval_rules - the rules of the judge: from data to compiled expressions.
//
//  Invariant: a policy that was made has rules, or makes them of those that come with Argos.
//  Limits: a regular expression of 4 KiB after its macros, 128 rules of at most 16 expressions. The
//  rules that come with Argos take 1 MiB once they are compiled, in each actor that judges: that is
//  done for the first call.

#include "argos_approval_priv.h"

#include "argos_embedded.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPR_SIZE 4096 //  Bytes of an expression after its macros, terminated

//  Puts the macros `<name>` and, in place of @, the targets into an expression. Returns 0, or -1
//  when it gets too long.

static int //  NOLINTNEXTLINE(misc-no-recursion): eight deep at most
s_expand (
    const json_t *macros, const char *text, const char *targets, int depth, char *out, size_t *used)
{
    for (; *text && depth < 8; text++) {
        size_t size = *text == '<' ? strspn (text + 1, "abcdefghijklmnopqrstuvwxyz_") : 0;
        const char *value = *text == '@' ? targets : NULL;
        char name[32];
        if (size && size < sizeof name && text[size + 1] == '>') {
            snprintf (name, sizeof name, "%.*s", (int) size, text + 1);
            value = json_string_value (json_object_get (macros, name));
        }
        if (value) {
            if (s_expand (macros, value, targets, depth + 1, out, used) != 0)
                return -1;
            text += *text == '<' ? size + 1 : 0;
        }
        else if (*used + 2 > EXPR_SIZE)
            return -1;
        else
            out[(*used)++] = *text;
    }
    out[*used] = '\0';
    return 0;
}

static int
s_compile (const json_t *macros, const char *text, const char *targets, regex_t *ret)
{
    char expr[EXPR_SIZE];
    size_t used = 0;
    return text && s_expand (macros, text, targets, 0, expr, &used) == 0 &&
                   regcomp (ret, expr, REG_EXTENDED | REG_NOSUB) == 0
               ? 0
               : -1;
}

//  Adds the expressions of a list to the rule.

static int
s_add_exprs (approval_rule_t *rule, const json_t *macros, const json_t *list, const char *targets)
{
    size_t i;
    const json_t *text;
    json_array_foreach (list, i, text) {
        if (rule->count == APPROVAL_EXPRS_MAX ||
            s_compile (macros, json_string_value (text), targets, &rule->exprs[rule->count]) != 0)
            return -1;
        rule->count++;
    }
    return 0;
}

static int
s_add_rule (approval_rules_t *self, const json_t *row, bool floor)
{
    const json_t *macros = json_object_get (self->data, "macros");
    const char *place = json_string_value (json_object_get (row, "in"));
    const char *writes = json_string_value (json_object_get (row, "writes"));
    const char *except = json_string_value (json_object_get (row, "except"));
    if (self->count == APPROVAL_RULES_MAX)
        return -1;
    approval_rule_t *rule = &self->rules[self->count++];
    rule->key = json_string_value (json_object_get (row, "key"));
    rule->text = json_string_value (json_object_get (row, "text"));
    rule->aliases = json_object_get (row, "aliases");
    rule->unless = json_string_value (json_object_get (row, "unless"));
    rule->floor = floor;
    rule->place = place && strcmp (place, "text") == 0   ? APPROVAL_IN_TEXT
                  : place && strcmp (place, "path") == 0 ? APPROVAL_IN_PATH
                  : place && strcmp (place, "read") == 0 ? APPROVAL_IN_READ
                                                         : APPROVAL_IN_LINE;
    if (!rule->key || !rule->text || strlen (rule->key) > ARGOS_APPROVAL_KEY_MAX)
        return -1;
    if (s_add_exprs (rule, macros, json_object_get (row, "match"), NULL) != 0)
        return -1;
    if (writes && s_add_exprs (rule, macros, json_object_get (self->data, "writes"), writes) != 0)
        return -1;
    if (except && s_compile (macros, except, NULL, &rule->except) != 0)
        return -1;
    rule->has_except = except != NULL;
    return rule->count ? 0 : -1;
}

static int
s_add_rules (approval_rules_t *self, const char *section, bool floor, char *problem, size_t size)
{
    size_t i;
    const json_t *row;
    json_array_foreach (json_object_get (self->data, section), i, row)
        if (s_add_rule (self, row, floor) != 0) {
            const char *key = json_string_value (json_object_get (row, "key"));
            snprintf (problem, size, "rule %s of %s can't be used", key ? key : "?", section);
            return -1;
        }
    return 0;
}

static void
s_rules_destroy (approval_rules_t **self_p)
{
    approval_rules_t *self = *self_p;
    if (!self)
        return;
    for (size_t i = 0; i < self->count; i++) {
        for (size_t k = 0; k < self->rules[i].count; k++)
            regfree (&self->rules[i].exprs[k]);
        if (self->rules[i].has_except)
            regfree (&self->rules[i].except);
    }
    json_decref (self->data);
    free (self);
    *self_p = NULL;
}

static approval_rules_t *
s_rules_new (const char *json, const char *self_pids, char *problem, size_t size)
{
    approval_rules_t *self = calloc (1, sizeof *self);
    if (!self)
        abort ();
    json_error_t error;
    self->data = json_loads (json, 0, &error);
    if (!json_is_object (self->data)) {
        snprintf (problem, size, "approval.json: line %d: %s", error.line, error.text);
        s_rules_destroy (&self);
        return NULL;
    }
    //  A process that can't be: an expression that matches nothing
    json_object_set_new (
        json_object_get (self->data, "macros"), "self", json_string (*self_pids ? self_pids : "-"));
    if (s_add_rules (self, "floor", true, problem, size) != 0 ||
        s_add_rules (self, "patterns", false, problem, size) != 0)
        s_rules_destroy (&self);
    return self;
}

argos_approval_policy_t *
argos_approval_policy_new (const char *json, const char *self_pids, char *problem, size_t size)
{
    argos_approval_policy_t *self = calloc (1, sizeof *self);
    //  The place of a pointer, for the policy is const  NOLINTNEXTLINE(bugprone-sizeof-expression)
    if (!self || !(self->rules = calloc (1, sizeof *self->rules)) ||
        !(self->self_pids = strdup (self_pids ? self_pids : "")))
        abort ();
    if (json && !(*self->rules = s_rules_new (json, self->self_pids, problem, size)))
        argos_approval_policy_destroy (&self);
    return self;
}

void
argos_approval_policy_destroy (argos_approval_policy_t **self_p)
{
    if (!self_p || !*self_p)
        return;
    s_rules_destroy ((*self_p)->rules);
    free ((*self_p)->rules);
    free ((*self_p)->self_pids);
    free (*self_p);
    *self_p = NULL;
}

const approval_rules_t *
approval_rules (const argos_approval_policy_t *self)
{
    char problem[256];
    if (!*self->rules) { //  Those that come with Argos are good, or its tests would have said so
        const argos_embedded_t *file = argos_embedded_find ("approval.json");
        *self->rules = s_rules_new (file->data, self->self_pids, problem, sizeof problem);
        assert (*self->rules);
    }
    return *self->rules;
}

size_t
argos_approval_count (const argos_approval_policy_t *self, bool floor)
{
    size_t count = 0;
    const approval_rules_t *rules = approval_rules (self);
    for (size_t i = 0; i < rules->count; i++)
        count += rules->rules[i].floor == floor ? 1 : 0;
    return count;
}
