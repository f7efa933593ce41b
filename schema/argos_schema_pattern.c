//  argos_schema_pattern - the expressions of schemas. Each is compiled once, however many schemas
//  have it: a compiled one takes up to 40 KiB.
//
//  Invariant: an expression is in the list as long as somebody has it; the list is changed under
//  its lock only, and a compiled expression never.

#include "argos_schema_node.h"

#include <pthread.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

struct argos_schema_pattern {
    char *text;                   //  As it was written
    regex_t regex;                //  Compiled
    size_t users;                 //  Who has it
    argos_schema_pattern_t *next; //  In the list
};

static pthread_mutex_t s_lock = PTHREAD_MUTEX_INITIALIZER; //  Of the list
static argos_schema_pattern_t *s_patterns;                 //  All of them

//  The subset in which POSIX extended expressions and JSON Schema's agree (schema/README.md)

static const char *
s_pattern_fault (const char *pattern)
{
    bool in_set = false;
    for (const char *at = pattern; *at; at++) {
        if (*at == '\\') {
            if (in_set || !at[1] || !strchr ("^$.|?*+()[]{}/\\-", at[1]))
                return "a backslash stands before punctuation only, and never in [ ]";
            at++;
        }
        else if (in_set) {
            if (*at == '[')
                return "no [ within [ ]";
            in_set = *at != ']';
        }
        else if (*at == '[')
            in_set = true;
        else if (*at == '.')
            return "no unescaped dot";
        else if (*at == '?' && at > pattern && strchr ("(*+?}", at[-1]))
            return "no groups that begin with (? and no lazy repetition";
    }
    return in_set ? "[ without ]" : NULL;
}

static argos_schema_pattern_t *
s_compile (const char *text, const char **ret_fault)
{
    argos_schema_pattern_t *self = calloc (1, sizeof *self);
    if (!self || !(self->text = strdup (text)))
        abort ();
    if (regcomp (&self->regex, text, REG_EXTENDED | REG_NOSUB) == 0)
        return self;
    *ret_fault = "not an expression";
    free (self->text);
    free (self);
    return NULL;
}

argos_schema_pattern_t *
argos_schema_pattern_new (const char *text, const char **ret_fault)
{
    *ret_fault = s_pattern_fault (text);
    if (*ret_fault)
        return NULL;
    pthread_mutex_lock (&s_lock);
    argos_schema_pattern_t *self = s_patterns;
    while (self && strcmp (self->text, text) != 0)
        self = self->next;
    if (!self && (self = s_compile (text, ret_fault))) {
        self->next = s_patterns;
        s_patterns = self;
    }
    if (self)
        self->users++;
    pthread_mutex_unlock (&s_lock);
    return self;
}

void
argos_schema_pattern_destroy (argos_schema_pattern_t **self_p)
{
    if (!self_p || !*self_p)
        return;
    argos_schema_pattern_t *self = *self_p, **place = &s_patterns;
    *self_p = NULL;
    pthread_mutex_lock (&s_lock);
    bool last = --self->users == 0;
    while (last && *place != self)
        place = &(*place)->next;
    if (last)
        *place = self->next;
    pthread_mutex_unlock (&s_lock);
    if (!last)
        return;
    regfree (&self->regex);
    free (self->text);
    free (self);
}

bool
argos_schema_pattern_fits (const argos_schema_pattern_t *self, const char *text)
{
    return regexec (&self->regex, text, 0, NULL, 0) == 0;
}
