//  argos_yaml - events of libyaml to a tree of jansson.
//
//  Invariant: the stack holds the open containers, innermost last; each is owned by the one before
//  it or, at the bottom, by `root`. No recursion. Limits are checked before anything is built;
//  memory running out aborts, since the input is the file of our own operator.

#include "argos_yaml.h"

#include <errno.h>
#include <math.h>
#include <regex.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#define NAME_BYTES 64 //  Bytes of a key that are shown in a path
#define PATH_BYTES ((ARGOS_YAML_DEPTH_MAX + 1) * (NAME_BYTES + 16))

typedef struct {
    json_t *container; //  Object or array, borrowed
    char *key;         //  Object: key that waits for its value, owned; NULL = none
    size_t path_used;  //  Bytes of the path of this container
} level_t;

typedef struct {
    yaml_parser_t parser;                 //  libyaml
    const char *name;                     //  Of the file, for sentences
    json_t *root;                         //  What has been built, owned
    json_t *lines;                        //  Path to line, owned
    level_t levels[ARGOS_YAML_DEPTH_MAX]; //  Open containers
    size_t depth;                         //  How many
    char path[PATH_BYTES];                //  Path of the value at work
    size_t documents;                     //  Begun so far
    char *reason;                         //  Where a refusal is told, may be NULL
    size_t reason_size;                   //  Its size
} loader_t;

static int __attribute__ ((format (printf, 3, 4)))
s_refuse (loader_t *self, size_t line, const char *format, ...)
{
    if (self->reason && self->reason_size) {
        char sentence[256];
        va_list args;
        va_start (args, format);
        //  NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): va_start is above
        vsnprintf (sentence, sizeof sentence, format, args);
        va_end (args);
        snprintf (self->reason, self->reason_size, "%s:%zu: %s", self->name, line, sentence);
    }
    return -1;
}

static json_t *
s_must (json_t *value)
{
    if (!value)
        abort ();
    return value;
}

//  Plain scalars

static bool
s_is_one_of (const char *text, const char *const *words)
{
    for (; *words; words++)
        if (strcmp (text, *words) == 0)
            return true;
    return false;
}

static bool
s_has_form (const char *text, const char *form)
{
    regex_t expression;
    if (regcomp (&expression, form, REG_EXTENDED | REG_NOSUB))
        abort ();
    bool has = regexec (&expression, text, 0, NULL, 0) == 0;
    regfree (&expression);
    return has;
}

static int
s_integer (loader_t *self, size_t line, const char *text, json_t **ret_value)
{
    int base = 10;
    const char *digits = text;
    if (text[0] == '0' && (text[1] == 'o' || text[1] == 'x')) {
        base = text[1] == 'o' ? 8 : 16;
        digits += 2;
    }
    errno = 0;
    long long value = strtoll (digits, NULL, base);
    if (errno)
        return s_refuse (self, line, "expected an integer of at most 64 bits, found %.64s", text);
    *ret_value = s_must (json_integer (value));
    return 0;
}

static int
s_number_or_text (loader_t *self, size_t line, const char *text, json_t **ret_value)
{
    if (s_has_form (text, "^([-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)$"))
        return s_integer (self, line, text, ret_value);
    if (s_has_form (text, "^([-+]?\\.(inf|Inf|INF)|\\.(nan|NaN|NAN))$"))
        return s_refuse (self, line, "expected a finite number, found %s", text);
    if (s_has_form (text, "^[-+]?(\\.[0-9]+|[0-9]+(\\.[0-9]*)?)([eE][-+]?[0-9]+)?$")) {
        double value = strtod (text, NULL);
        if (!isfinite (value))
            return s_refuse (self, line, "expected a smaller number, found %.64s", text);
        *ret_value = s_must (json_real (value));
    }
    else
        *ret_value = s_must (json_string (text));
    return 0;
}

static int
s_plain (loader_t *self, size_t line, const char *text, json_t **ret_value)
{
    static const char *const nulls[] = { "", "~", "null", "Null", "NULL", NULL };
    static const char *const trues[] = { "true", "True", "TRUE", NULL };
    static const char *const falses[] = { "false", "False", "FALSE", NULL };
    if (s_is_one_of (text, nulls))
        *ret_value = json_null ();
    else if (s_is_one_of (text, trues))
        *ret_value = json_true ();
    else if (s_is_one_of (text, falses))
        *ret_value = json_false ();
    else if (strchr ("+-.0123456789", text[0]))
        return s_number_or_text (self, line, text, ret_value);
    else
        *ret_value = s_must (json_string (text));
    return 0;
}

//  Where a value belongs

static void
s_note_line (loader_t *self, size_t line)
{
    if (json_object_set_new (self->lines, self->path, json_integer ((json_int_t) line)))
        abort ();
}

//  Writes the path of the next value of the innermost container; names from outside are cut and
//  made printable

static void
s_enter_path (loader_t *self)
{
    if (self->depth == 0) {
        self->path[0] = 0;
        return;
    }
    const level_t *level = &self->levels[self->depth - 1];
    char *at = self->path + level->path_used;
    if (!level->key) {
        snprintf (at, 16, "[%zu]", json_array_size (level->container));
        return;
    }
    if (level->path_used)
        *at++ = '.';
    for (size_t byte = 0; byte < NAME_BYTES && level->key[byte]; byte++) {
        char c = level->key[byte];
        *at++ = c > 0x20 && c < 0x7f ? c : '?'; //  NOLINT(bugprone-narrowing-conversions)
    }
    *at = 0;
}

//  Takes value over, also on failure

static int
s_add (loader_t *self, size_t line, json_t *value)
{
    int rc = 0;
    s_enter_path (self);
    s_note_line (self, line);
    if (self->depth == 0) {
        self->root = value;
        return 0;
    }
    level_t *level = &self->levels[self->depth - 1];
    if (json_is_array (level->container))
        rc = json_array_append_new (level->container, value);
    else {
        rc = json_object_set_new (level->container, level->key, value);
        free (level->key);
        level->key = NULL;
    }
    return rc ? s_refuse (self, line, "expected valid UTF-8") : 0;
}

static int
s_open (loader_t *self, size_t line, json_t *container)
{
    if (self->depth == ARGOS_YAML_DEPTH_MAX) {
        json_decref (container);
        return s_refuse (self, line, "expected at most %d levels", ARGOS_YAML_DEPTH_MAX);
    }
    if (s_add (self, line, container))
        return -1;
    level_t *level = &self->levels[self->depth++];
    level->container = container;
    level->key = NULL;
    level->path_used = strlen (self->path);
    return 0;
}

static int
s_key (loader_t *self, size_t line, const char *text)
{
    level_t *level = &self->levels[self->depth - 1];
    if (json_object_get (level->container, text))
        return s_refuse (self, line, "the key %.64s is there twice", text);
    level->key = strdup (text);
    if (!level->key)
        abort ();
    return 0;
}

static bool
s_wants_key (const loader_t *self)
{
    return self->depth && json_is_object (self->levels[self->depth - 1].container) &&
           !self->levels[self->depth - 1].key;
}

//  Events

static int
s_scalar (loader_t *self, size_t line, const yaml_event_t *event)
{
    const char *text = (const char *) event->data.scalar.value;
    size_t size = event->data.scalar.length;
    if (event->data.scalar.anchor)
        return s_refuse (self, line, "expected no anchors");
    if (event->data.scalar.tag)
        return s_refuse (self, line, "expected no tags");
    if (strlen (text) != size)
        return s_refuse (self, line, "expected no NUL in a value");
    if (s_wants_key (self))
        return s_key (self, line, text);
    json_t *value = NULL;
    if (event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
        value = s_must (json_stringn (text, size));
    else if (s_plain (self, line, text, &value))
        return -1;
    return s_add (self, line, value);
}

static int
s_start (loader_t *self, size_t line, const void *anchor, const void *tag, bool mapping)
{
    if (anchor)
        return s_refuse (self, line, "expected no anchors");
    if (tag)
        return s_refuse (self, line, "expected no tags");
    if (s_wants_key (self))
        return s_refuse (self, line, "expected a key that is a single word");
    return s_open (self, line, s_must (mapping ? json_object () : json_array ()));
}

static int
s_event (loader_t *self, const yaml_event_t *event)
{
    size_t line = event->start_mark.line + 1;
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        return self->documents++ ? s_refuse (self, line, "expected one document") : 0;
    case YAML_ALIAS_EVENT:
        return s_refuse (self, line, "expected no aliases");
    case YAML_SCALAR_EVENT:
        return s_scalar (self, line, event);
    case YAML_MAPPING_START_EVENT:
        return s_start (
            self, line, event->data.mapping_start.anchor, event->data.mapping_start.tag, true);
    case YAML_SEQUENCE_START_EVENT:
        return s_start (
            self, line, event->data.sequence_start.anchor, event->data.sequence_start.tag, false);
    case YAML_MAPPING_END_EVENT:
    case YAML_SEQUENCE_END_EVENT:
        self->depth--;
        return 0;
    default:
        return 0;
    }
}

//  A fault of the encoding has no mark of its own

static int
s_not_yaml (loader_t *self)
{
    const yaml_parser_t *parser = &self->parser;
    bool unreadable = parser->error == YAML_READER_ERROR;
    size_t line = unreadable ? parser->mark.line : parser->problem_mark.line;
    return s_refuse (
        self, line + 1, "not YAML: %s", parser->problem ? parser->problem : "cut short");
}

static int
s_parse (loader_t *self)
{
    for (;;) {
        yaml_event_t event;
        if (!yaml_parser_parse (&self->parser, &event))
            return s_not_yaml (self);
        bool over = event.type == YAML_STREAM_END_EVENT;
        int rc = s_event (self, &event);
        yaml_event_delete (&event);
        if (rc || over)
            return rc;
    }
}

json_t *
argos_yaml_load (const char *name, const void *data, size_t size, json_t **ret_lines, char *reason,
    size_t reason_size)
{
    loader_t *self = calloc (1, sizeof *self);
    if (!self || !yaml_parser_initialize (&self->parser))
        abort ();
    self->name = name;
    self->reason = reason;
    self->reason_size = reason_size;
    self->lines = s_must (json_object ());
    yaml_parser_set_encoding (&self->parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string (&self->parser, data, size);
    int rc = size > ARGOS_YAML_SIZE_MAX
                 ? s_refuse (self, 1, "expected at most %d bytes", ARGOS_YAML_SIZE_MAX)
                 : s_parse (self);
    yaml_parser_delete (&self->parser);
    for (size_t at = 0; at < self->depth; at++)
        free (self->levels[at].key);
    json_t *root = self->root;
    if (rc) {
        json_decref (root);
        root = NULL;
    }
    else if (!root)
        root = json_null ();
    if (rc == 0 && ret_lines)
        *ret_lines = self->lines;
    else
        json_decref (self->lines);
    free (self);
    return root;
}
