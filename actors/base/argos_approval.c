//  argos_approval - the judge of tool calls, over rules that are data.
//
//  Invariant: the floor is looked at before anything else, and only a sandbox skips it. What can't
//  be read whole is asked for. Limits: a regular expression of 4 KiB after its macros, 128 rules of
//  at most 16 expressions. The rules that come with Argos take 1 MiB once they are compiled, in
//  each actor that judges: that is done for the first call.

#include "argos_approval.h"

#include "argos_cmdline.h"
#include "argos_embedded.h"
#include "argos_plain.h"

#include <assert.h>
#include <ctype.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPR_SIZE 4096
#define EXPRS_MAX 16
#define RULES_MAX 128

typedef enum { IN_LINE, IN_TEXT, IN_PATH, IN_READ } place_t;

typedef struct {
    const char *key, *text;   //  Borrowed from the JSON
    const json_t *aliases;    //  Older keys that grant it, too
    const char *unless;       //  A condition of the call that waives it, NULL = none
    place_t place;            //  What it is matched against
    bool floor;               //  Nothing bypasses it
    bool has_except;          //  except is set
    regex_t except;           //  What makes a match harmless
    regex_t exprs[EXPRS_MAX]; //  Any of them
    size_t count;             //  How many
} rule_t;

typedef struct {
    json_t *data;            //  The JSON
    rule_t rules[RULES_MAX]; //  Compiled
    size_t count;            //  How many
} rules_t;

struct argos_approval_policy {
    rules_t **rules; //  Where they are, once they are needed
    char *self_pids; //  For the macro `self`
};

//  ---------------------------------------------------------------------------------------------
//  Loading

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
s_add_exprs (rule_t *rule, const json_t *macros, const json_t *list, const char *targets)
{
    size_t i;
    const json_t *text;
    json_array_foreach (list, i, text) {
        if (rule->count == EXPRS_MAX ||
            s_compile (macros, json_string_value (text), targets, &rule->exprs[rule->count]) != 0)
            return -1;
        rule->count++;
    }
    return 0;
}

static int
s_add_rule (rules_t *self, const json_t *row, bool floor)
{
    const json_t *macros = json_object_get (self->data, "macros");
    const char *place = json_string_value (json_object_get (row, "in"));
    const char *writes = json_string_value (json_object_get (row, "writes"));
    const char *except = json_string_value (json_object_get (row, "except"));
    if (self->count == RULES_MAX)
        return -1;
    rule_t *rule = &self->rules[self->count++];
    rule->key = json_string_value (json_object_get (row, "key"));
    rule->text = json_string_value (json_object_get (row, "text"));
    rule->aliases = json_object_get (row, "aliases");
    rule->unless = json_string_value (json_object_get (row, "unless"));
    rule->floor = floor;
    rule->place = place && strcmp (place, "text") == 0   ? IN_TEXT
                  : place && strcmp (place, "path") == 0 ? IN_PATH
                  : place && strcmp (place, "read") == 0 ? IN_READ
                                                         : IN_LINE;
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
s_add_rules (rules_t *self, const char *section, bool floor, char *problem, size_t size)
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
s_rules_destroy (rules_t **self_p)
{
    rules_t *self = *self_p;
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

static rules_t *
s_rules_new (const char *json, const char *self_pids, char *problem, size_t size)
{
    rules_t *self = calloc (1, sizeof *self);
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

//  The rules, made when they are asked for first. Those that come with Argos are good, or its tests
//  would have said so.

static const rules_t *
s_rules (const argos_approval_policy_t *self)
{
    char problem[256];
    if (!*self->rules) {
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
    const rules_t *rules = s_rules (self);
    for (size_t i = 0; i < rules->count; i++)
        count += rules->rules[i].floor == floor ? 1 : 0;
    return count;
}

//  ---------------------------------------------------------------------------------------------
//  Matching

static bool
s_matches (const rule_t *rule, const char *line)
{
    if (rule->has_except && regexec (&rule->except, line, 0, NULL, 0) == 0)
        return false;
    for (size_t i = 0; i < rule->count; i++)
        if (regexec (&rule->exprs[i], line, 0, NULL, 0) == 0)
            return true;
    return false;
}

static bool
s_has_word (const json_t *list, const char *word)
{
    size_t i;
    const json_t *item;
    json_array_foreach (list, i, item)
        if (json_is_string (item) && strcmp (json_string_value (item), word) == 0)
            return true;
    return false;
}

//  Whether somebody has granted this pattern, also under an older key.

static bool
s_is_granted (const rule_t *rule, const json_t *grants)
{
    size_t i;
    const json_t *alias;
    if (s_has_word (grants, rule->key))
        return true;
    json_array_foreach (rule->aliases, i, alias)
        if (s_has_word (grants, json_string_value (alias)))
            return true;
    return false;
}

//  What is judged of one call: lines of three kinds.

typedef struct {
    argos_cmdline_t lines; //  What a shell would run
    char *text;            //  The plain text in lower case, its blanks single
    json_t *paths;         //  What is written
    bool reading;          //  No: what is read
} subject_t;

//  Lower case and single blanks, line by line.

static char *
s_squeeze (const char *text)
{
    char *out = strdup (text), *to = out;
    if (!out)
        abort ();
    for (; *text; text++) {
        int lower = tolower ((unsigned char) *text);
        char sign = (char) (lower == '\t' || lower == '\r' ? ' ' : lower);
        if (sign != ' ' || (to > out && to[-1] != ' '))
            *to++ = sign;
    }
    *to = '\0';
    return out;
}

static bool
s_meets (const rule_t *rule, const subject_t *subject)
{
    if ((rule->place == IN_READ) != subject->reading)
        return false;
    if (rule->place == IN_PATH || rule->place == IN_READ) {
        size_t i;
        const json_t *path;
        json_array_foreach (subject->paths, i, path)
            if (s_matches (rule, json_string_value (path)))
                return true;
        return false;
    }
    if (rule->place == IN_LINE) {
        for (size_t i = 0; i < subject->lines.count; i++)
            if (s_matches (rule, subject->lines.lines[i]))
                return true;
        return false;
    }
    bool found = false;
    for (char *line = subject->text; line && *line && !found;) {
        char *end = strchr (line, '\n');
        if (end)
            *end = '\0';
        found = s_matches (rule, line);
        if (end)
            *end = '\n';
        line = end ? end + 1 : NULL;
    }
    return found;
}

static void
s_add_command (subject_t *subject, const char *command, const argos_cmdline_rules_t *rules)
{
    char *plain = argos_plain_text (command, strlen (command));
    argos_cmdline_read (plain, strlen (plain), rules, &subject->lines);
    subject->text = s_squeeze (plain);
    free (plain);
}

static void
s_add_path (subject_t *subject, const char *path, const argos_cmdline_rules_t *rules)
{
    char *plain = argos_plain_text (path, strlen (path));
    char *tidy = argos_cmdline_path (plain, rules);
    json_array_append_new (subject->paths, json_string_nocheck (tidy)); //  No UTF-8: judged as well
    free (tidy);
    free (plain);
}

//  The paths of a patch: `*** Update File: path` and its like.

static void
s_add_patch (subject_t *subject, const char *patch, const argos_cmdline_rules_t *rules)
{
    for (const char *line = patch; line && *line;) {
        const char *end = strchr (line, '\n');
        const char *path = strncmp (line, "*** ", 4) == 0 ? strstr (line, ": ") : NULL;
        if (path && (!end || path < end)) {
            char *one = strndup (path + 2, end ? (size_t) (end - path - 2) : strlen (path + 2));
            if (!one)
                abort ();
            s_add_path (subject, one, rules);
            free (one);
        }
        line = end ? end + 1 : NULL;
    }
}

//  Which arguments of this tool are commands, paths, patches: rows of the data.

static void
s_subject (const argos_approval_policy_t *self, const argos_approval_call_t *call,
    const argos_cmdline_rules_t *rules, subject_t *ret)
{
    json_t *row = json_object_get (json_object_get (s_rules (self)->data, "tools"), call->tool);
    const char *name;
    json_t *kind;
    *ret = (subject_t){ .paths = json_array () };
    void *at = json_object_iter (row);
    for (; at; at = json_object_iter_next (row, at)) {
        name = json_object_iter_key (at);
        kind = json_object_iter_value (at);
        const char *value = json_string_value (json_object_get (call->arguments, name));
        if (!value)
            continue;
        if (strcmp (json_string_value (kind), "command") == 0 && !ret->text)
            s_add_command (ret, value, rules);
        else if (strcmp (json_string_value (kind), "path") == 0)
            s_add_path (ret, value, rules);
        else
            s_add_patch (ret, value, rules);
    }
}

static void
s_verdict (argos_approval_t *ret, argos_approval_verdict_t verdict, bool floor, const char *key,
    const char *text)
{
    ret->verdict = verdict;
    ret->floor = floor;
    snprintf (ret->key, sizeof ret->key, "%s", key);
    snprintf (ret->text, sizeof ret->text, "%s", text);
}

//  The first rule of the floor, or else the first pattern, that holds.

static const rule_t *
s_find (const argos_approval_policy_t *self, const argos_approval_call_t *call,
    const subject_t *subject, bool floor)
{
    const rules_t *rules = s_rules (self);
    for (size_t i = 0; i < rules->count; i++) {
        const rule_t *rule = &rules->rules[i];
        bool waived =
            rule->unless && strcmp (rule->unless, "sudo_password") == 0 && call->sudo_password;
        if (rule->floor == floor && !waived && (floor || !s_is_granted (rule, call->grants)) &&
            s_meets (rule, subject))
            return rule;
    }
    return NULL;
}

void
argos_approval_judge (
    const argos_approval_policy_t *self, const argos_approval_call_t *call, argos_approval_t *ret)
{
    static const rule_t unreadable = { .key = "unreadable",
        .text = "a command too long or too deeply nested to be checked" };
    const char *workdir = json_string_value (json_object_get (call->arguments, "workdir"));
    argos_cmdline_rules_t rules = { .wrappers = json_object_get (s_rules (self)->data, "wrappers"),
        .shells = json_object_get (s_rules (self)->data, "shells"),
        .home = call->home,
        .state = call->state,
        .workdir = workdir && *workdir ? workdir : call->workdir };
    subject_t subject;
    s_verdict (ret, ARGOS_APPROVAL_ALLOW, false, "", "");
    if (call->contained)
        return;
    s_subject (self, call, &rules, &subject);
    bool free_of_asking = call->mode == ARGOS_APPROVAL_OFF || call->yolo;
    const rule_t *rule = s_find (self, call, &subject, true);
    if (rule)
        s_verdict (ret, ARGOS_APPROVAL_DENY, true, rule->key, rule->text);
    else if (!free_of_asking) {
        rule = s_find (self, call, &subject, false);
        if (!rule && subject.lines.overflow)
            rule = &unreadable;
        if (rule && call->unattended)
            s_verdict (ret, call->unattended_allows ? ARGOS_APPROVAL_ALLOW : ARGOS_APPROVAL_DENY,
                false, rule->key, rule->text);
        else if (rule)
            s_verdict (ret, ARGOS_APPROVAL_ASK, false, rule->key, rule->text);
    }
    argos_cmdline_clear (&subject.lines);
    free (subject.text);
    json_decref (subject.paths);
}

static bool
s_denies (const argos_approval_policy_t *self, const char *path, const char *home,
    const char *state, bool reading, argos_approval_t *ret)
{
    argos_cmdline_rules_t rules = { .home = home, .state = state };
    subject_t subject = { .paths = json_array (), .reading = reading };
    argos_approval_call_t call = { .tool = "" };
    s_add_path (&subject, path, &rules);
    const rule_t *rule = s_find (self, &call, &subject, true);
    if (rule)
        s_verdict (ret, ARGOS_APPROVAL_DENY, true, rule->key, rule->text);
    json_decref (subject.paths);
    return rule != NULL;
}

bool
argos_approval_path (const argos_approval_policy_t *self, const char *path, const char *home,
    const char *state, argos_approval_t *ret)
{
    return s_denies (self, path, home, state, false, ret);
}

bool
argos_approval_secret (const argos_approval_policy_t *self, const char *path, const char *home,
    const char *state, argos_approval_t *ret)
{
    return s_denies (self, path, home, state, true, ret);
}

argos_approval_mode_t
argos_approval_mode (const char *text)
{
    if (text && (strcmp (text, "off") == 0 || strcmp (text, "false") == 0))
        return ARGOS_APPROVAL_OFF;
    return text && strcmp (text, "smart") == 0 ? ARGOS_APPROVAL_SMART : ARGOS_APPROVAL_MANUAL;
}

argos_approval_verdict_t
argos_approval_smart (const char *text)
{
    text = text ? text + strspn (text, " \t\r\n*`\"'") : "";
    size_t size = strcspn (text, " \t\r\n.,:;!*`\"'");
    if (size == 7 && strncasecmp (text, "APPROVE", size) == 0)
        return ARGOS_APPROVAL_ALLOW;
    if (size == 4 && strncasecmp (text, "DENY", size) == 0)
        return ARGOS_APPROVAL_DENY;
    return ARGOS_APPROVAL_ASK;
}
