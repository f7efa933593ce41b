//  argos_approval - the judge of tool calls, over rules that are data.
//
//  Invariant: the floor is looked at before anything else, and only a sandbox skips it. What can't
//  be read whole is asked for.

#include "argos_approval_priv.h"

#include "argos_cmdline.h"
#include "argos_plain.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

//  ---------------------------------------------------------------------------------------------
//  Matching

static bool
s_matches (const approval_rule_t *rule, const char *line)
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
s_is_granted (const approval_rule_t *rule, const json_t *grants)
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
s_meets (const approval_rule_t *rule, const subject_t *subject)
{
    if ((rule->place == APPROVAL_IN_READ) != subject->reading)
        return false;
    if (rule->place == APPROVAL_IN_PATH || rule->place == APPROVAL_IN_READ) {
        size_t i;
        const json_t *path;
        json_array_foreach (subject->paths, i, path)
            if (s_matches (rule, json_string_value (path)))
                return true;
        return false;
    }
    if (rule->place == APPROVAL_IN_LINE) {
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
    json_t *row =
        json_object_get (json_object_get (approval_rules (self)->data, "tools"), call->tool);
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

static const approval_rule_t *
s_find (const argos_approval_policy_t *self, const argos_approval_call_t *call,
    const subject_t *subject, bool floor)
{
    const approval_rules_t *rules = approval_rules (self);
    for (size_t i = 0; i < rules->count; i++) {
        const approval_rule_t *rule = &rules->rules[i];
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
    static const approval_rule_t unreadable = { .key = "unreadable",
        .text = "a command too long or too deeply nested to be checked" };
    const char *workdir = json_string_value (json_object_get (call->arguments, "workdir"));
    argos_cmdline_rules_t rules = { .wrappers =
                                        json_object_get (approval_rules (self)->data, "wrappers"),
        .shells = json_object_get (approval_rules (self)->data, "shells"),
        .home = call->home,
        .state = call->state,
        .workdir = workdir && *workdir ? workdir : call->workdir };
    subject_t subject;
    s_verdict (ret, ARGOS_APPROVAL_ALLOW, false, "", "");
    if (call->contained)
        return;
    s_subject (self, call, &rules, &subject);
    bool free_of_asking = call->mode == ARGOS_APPROVAL_OFF || call->yolo;
    const approval_rule_t *rule = s_find (self, call, &subject, true);
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
    const approval_rule_t *rule = s_find (self, &call, &subject, true);
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
