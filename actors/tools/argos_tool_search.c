//  argos_tool_search - the tool search_files: lines that match an expression, or files by name.
//
//  Invariant: links are not followed, so a walk ends. Hidden names, what is no text and what must
//  not be read are passed over. Limits: 100,000 names, 10,000 matches, folders 64 deep, lines cut
//  to 500 bytes.

#include "argos_files.h"

#include "argos_text.h"

#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAMES_MAX 100000
#define MATCHES_MAX 10000
#define DEPTH_MAX 64
#define LINE_BYTES 500
#define LIMIT_MAX 1000
#define FILE_BYTES ((size_t) 4 << 20) //  Larger files are passed over
#define CONTEXT_MAX 10

typedef enum { SHOW_CONTENT, SHOW_FILES, SHOW_COUNT } show_t;

typedef struct {
    char *path;          //  Of a file
    int64_t modified_ns; //  When it was changed
} found_t;

typedef struct {
    argos_tool_call_t *call; //  The call
    const char *glob;        //  Names of files that are looked into, NULL = all
    bool by_name;            //  Files are looked for
    regex_t expression;      //  What lines have to match
    show_t show;             //  What is told
    int64_t offset, limit;   //  Page
    int64_t context;         //  Lines around a match
    int64_t names, total;    //  Seen; matches
    json_t *matches;         //  The page of lines
    json_t *counts;          //  By file
    found_t *found;          //  Files
    size_t found_count;      //  How many
    bool full;               //  A limit was met
} search_t;

static bool
s_is_over (search_t *self)
{
    self->full = self->full || self->names > NAMES_MAX || self->total >= MATCHES_MAX;
    return self->full || atomic_load (&self->call->stop);
}

static void
s_add_found (search_t *self, const char *path, const struct stat *state)
{
    if ((self->found_count & (self->found_count + 1)) == 0) {
        self->found = realloc (self->found, (2 * self->found_count + 2) * sizeof *self->found);
        if (!self->found)
            abort ();
    }
    self->found[self->found_count++] = (found_t){ strdup (path),
        state->st_mtim.tv_sec * INT64_C (1000000000) + state->st_mtim.tv_nsec };
}

//  ------------------------------------------------------------------------------------------------
//  Lines

static json_t *
s_shown (const char *line, size_t size)
{
    return argos_tool_string (line, argos_utf8_cut (line, size, LINE_BYTES));
}

//  Up to `context` lines before at or behind it.

static json_t *
s_around (const search_t *self, const char *data, const char *line, bool before)
{
    json_t *list = json_array ();
    for (int64_t i = 0; i < self->context; i++) {
        if (before) {
            if (line == data)
                break;
            const char *end = line - 1;
            for (line = end; line > data && line[-1] != '\n';)
                line--;
            json_array_insert_new (list, 0, s_shown (line, (size_t) (end - line)));
        }
        else {
            line += strcspn (line, "\n");
            if (!*line || !line[1])
                break;
            line++;
            json_array_append_new (list, s_shown (line, strcspn (line, "\n")));
        }
    }
    return list;
}

static void
s_add_match (search_t *self, const char *path, const char *data, const char *line, int64_t number)
{
    if (self->show != SHOW_CONTENT || self->total <= self->offset ||
        self->total > self->offset + self->limit)
        return;
    json_t *match = json_pack ("{s:o, s:I, s:o}", "path", argos_tool_string (path, strlen (path)),
        "line", (json_int_t) number, "content", s_shown (line, strcspn (line, "\n")));
    if (self->context) {
        json_object_set_new (match, "before", s_around (self, data, line, true));
        json_object_set_new (match, "after", s_around (self, data, line, false));
    }
    json_array_append_new (self->matches, match);
}

//  Looks into a text. The lines are cut apart while they are matched.

static int64_t
s_look (search_t *self, const char *path, char *data)
{
    int64_t number = 0, count = 0;
    for (char *line = data; *line && !s_is_over (self);) {
        size_t size = strcspn (line, "\n");
        char end = line[size];
        line[size] = '\0';
        number++;
        bool matches = regexec (&self->expression, line, 0, NULL, 0) == 0;
        line[size] = end;
        if (matches) {
            count++;
            self->total += self->show == SHOW_CONTENT ? 1 : 0;
            s_add_match (self, path, data, line, number);
        }
        line += size + (end ? 1 : 0);
    }
    return count;
}

static void
s_look_into (search_t *self, const char *path, const struct stat *state)
{
    argos_approval_t why;
    size_t size = 0;
    const argos_tool_call_t *call = self->call;
    if (state->st_size > (int64_t) FILE_BYTES ||
        argos_approval_secret (call->policy, path, call->home, call->state, &why))
        return;
    argos_tool_call_t quiet = { .policy = call->policy };
    char *data = argos_files_read (&quiet, path, &size);
    json_decref (quiet.result);
    int64_t count = data && !argos_files_is_binary (data, size) ? s_look (self, path, data) : 0;
    free (data);
    if (!count || self->show == SHOW_CONTENT)
        return;
    self->total++;
    if (self->show == SHOW_FILES)
        s_add_found (self, path, state);
    else if (self->total > self->offset && self->total <= self->offset + self->limit)
        json_object_set_new (self->counts, path, json_integer (count));
}

//  ------------------------------------------------------------------------------------------------
//  The walk

static void
s_visit (search_t *self, const char *path, const char *name, const struct stat *state)
{
    if (self->glob && fnmatch (self->glob, name, 0) != 0)
        return;
    if (!self->by_name)
        s_look_into (self, path, state);
    else {
        const char *pattern = argos_tool_text (self->call, "pattern");
        if (fnmatch (pattern, name, 0) == 0 ||
            (strchr (pattern, '/') && fnmatch (pattern, path, 0) == 0)) {
            self->total++;
            s_add_found (self, path, state);
        }
    }
}

static int
s_compare_names (const struct dirent **one, const struct dirent **other)
{
    return strcmp ((*one)->d_name, (*other)->d_name);
}

static int
s_is_shown (const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static void //  NOLINTNEXTLINE(misc-no-recursion): DEPTH_MAX deep at most
s_walk (search_t *self, const char *folder, int depth)
{
    struct dirent **entries = NULL;
    int count = depth < DEPTH_MAX ? scandir (folder, &entries, s_is_shown, s_compare_names) : 0;
    for (int i = 0; i < count; i++) {
        char path[PATH_MAX];
        struct stat state;
        int size = snprintf (path, sizeof path, "%s/%s", strcmp (folder, "/") == 0 ? "" : folder,
            entries[i]->d_name);
        self->names++;
        if (size < PATH_MAX && !s_is_over (self) && lstat (path, &state) == 0) {
            if (S_ISDIR (state.st_mode))
                s_walk (self, path, depth + 1);
            else if (S_ISREG (state.st_mode))
                s_visit (self, path, entries[i]->d_name, &state);
        }
        free (entries[i]);
    }
    free (entries);
}

//  ------------------------------------------------------------------------------------------------
//  The result

static int
s_newest_first (const void *one, const void *other)
{
    const found_t *a = one, *b = other;
    return a->modified_ns > b->modified_ns   ? -1
           : a->modified_ns < b->modified_ns ? 1
                                             : strcmp (a->path, b->path);
}

static void
s_tell (search_t *self)
{
    json_t *result = json_pack ("{s:I}", "total_count", (json_int_t) self->total);
    bool files = self->by_name || self->show == SHOW_FILES;
    int64_t end = self->offset + self->limit;
    if (files) {
        json_t *list = json_array ();
        if (self->found_count)
            qsort (self->found, self->found_count, sizeof *self->found, s_newest_first);
        for (int64_t i = self->offset; i < end && i < (int64_t) self->found_count; i++)
            json_array_append_new (
                list, argos_tool_string (self->found[i].path, strlen (self->found[i].path)));
        json_object_set_new (result, "files", list);
    }
    else if (self->show == SHOW_COUNT)
        json_object_set (result, "counts", self->counts);
    else
        json_object_set (result, "matches", self->matches);
    bool more = self->total > end;
    json_object_set_new (result, "truncated", json_boolean (more || self->full));
    if (more)
        json_object_set_new (
            result, "hint", json_sprintf ("More with offset=%lld.", (long long) end));
    else if (self->full)
        json_object_set_new (result, "hint",
            json_string ("There is too much to look through: name a folder or a file_glob."));
    self->call->result = result;
}

//  An expression as models write it: \d is no part of POSIX. What is no expression is a text.

static int
s_compile (const char *pattern, regex_t *ret)
{
    size_t size = strlen (pattern);
    char *text = malloc (6 * size + 1), *out = text;
    if (!text)
        abort ();
    for (const char *at = pattern; *at; at++) {
        if (at[0] == '\\' && at[1] == 'd') {
            out = stpcpy (out, "[0-9]");
            at++;
        }
        else {
            *out++ = *at;
            if (at[0] == '\\' && at[1])
                *out++ = *++at;
        }
    }
    *out = '\0';
    int error = regcomp (ret, text, REG_EXTENDED | REG_NOSUB);
    if (error) {
        for (out = text; *pattern; pattern++) {
            if (strchr ("\\.[]{}()*+?^$|", *pattern))
                *out++ = '\\';
            *out++ = *pattern;
        }
        *out = '\0';
        error = regcomp (ret, text, REG_EXTENDED | REG_NOSUB);
    }
    free (text);
    return error;
}

static void
s_run (search_t *self)
{
    struct stat state;
    argos_tool_call_t *call = self->call;
    if (stat (call->path, &state) != 0)
        argos_tool_fail (call, "There is no %s.", call->path);
    else {
        if (S_ISDIR (state.st_mode))
            s_walk (self, call->path, 0);
        else if (S_ISREG (state.st_mode) && argos_files_may_read (call))
            s_visit (self, call->path, strrchr (call->path, '/') + 1, &state);
        if (!call->failed)
            s_tell (self);
    }
    for (size_t i = 0; i < self->found_count; i++)
        free (self->found[i].path);
    free (self->found);
}

void
argos_tool_search_files (argos_tool_call_t *call)
{
    const char *pattern = argos_tool_text (call, "pattern");
    const char *target = argos_tool_text (call, "target");
    const char *mode = argos_tool_text (call, "output_mode");
    search_t self = { .call = call,
        .glob = argos_tool_text (call, "file_glob"),
        .by_name = target && strcmp (target, "files") == 0,
        .show = mode && strcmp (mode, "count") == 0        ? SHOW_COUNT
                : mode && strcmp (mode, "files_only") == 0 ? SHOW_FILES
                                                           : SHOW_CONTENT,
        .offset = argos_tool_number (call, "offset", 0, 0, MATCHES_MAX),
        .limit = argos_tool_number (call, "limit", 50, 1, LIMIT_MAX),
        .context = argos_tool_number (call, "context", 0, 0, CONTEXT_MAX) };
    if (!pattern || !*pattern) {
        argos_tool_fail (call, "`pattern` is missing");
        return;
    }
    if (s_compile (self.by_name ? "x" : pattern, &self.expression) != 0) {
        argos_tool_fail (call, "`pattern` is no expression that can be used");
        return;
    }
    self.matches = json_array ();
    self.counts = json_object ();
    s_run (&self);
    json_decref (self.matches);
    json_decref (self.counts);
    regfree (&self.expression);
}
