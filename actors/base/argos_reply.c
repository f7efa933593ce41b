//  argos_reply - from the text that a model has said to what a chat gets of it.
//
//  Invariant: a text that says something is never answered by nothing: when what is left after the
//  directives were taken out is neither words nor a file, it is the text as it was. Pure. Limits:
//  16 files, paths of 1,024 bytes.

#include "argos_reply.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define SILENCE_MAX 64     //  Bytes of a text that can be silence
#define PAGE_MAX 400       //  Bytes of an error page
#define PAGE_LINES_MAX 4   //  Newlines of one
#define DIRECTIVE "MEDIA:" //  In front of a path

//  ------------------------------------------------------------------------------------------------
//  Whole texts

bool
argos_reply_is_silent (const char *text)
{
    char bare[SILENCE_MAX + 1];
    size_t length = 0;
    if (strlen (text) > SILENCE_MAX)
        return false;
    for (; *text; text++)
        if (isalnum ((unsigned char) *text) || (unsigned char) *text >= 0x80)
            bare[length++] = (char) toupper ((unsigned char) *text);
    bare[length] = 0;
    return strcmp (bare, "SILENT") == 0 || strcmp (bare, "NOREPLY") == 0;
}

//  Whether an object is an error and nothing else.

static bool
s_is_error (json_t *json)
{
    static const char *const names[] = { "error", "message", "code", "status", "type", "param",
        "detail", "request_id", "success" };
    const json_t *error = json_object_get (json, "error");
    size_t known = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        known += json_object_get (json, names[i]) != NULL;
    return (json_is_object (error) || json_is_string (error)) && known == json_object_size (json);
}

bool
argos_reply_is_error_page (const char *text)
{
    static const char *const pages[] = { "<!doctype html", "<html" };
    size_t lines = 0;
    text += strspn (text, " \t\r\n");
    if (!*text || strlen (text) > PAGE_MAX)
        return false;
    for (const char *c = text; *c; c++)
        lines += *c == '\n';
    if (lines > PAGE_LINES_MAX)
        return false;
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++)
        if (strncasecmp (text, pages[i], strlen (pages[i])) == 0)
            return true;
    json_t *json = *text == '{' ? json_loads (text, 0, NULL) : NULL;
    bool found = s_is_error (json);
    json_decref (json);
    return found;
}

//  ------------------------------------------------------------------------------------------------
//  Files by their names

static const struct {
    const char *extension, *kind, *type; //  Of a name; of an attachment; as in HTTP
} s_types[] = { { "png", "image", "image/png" }, { "jpg", "image", "image/jpeg" },
    { "jpeg", "image", "image/jpeg" }, { "gif", "image", "image/gif" },
    { "webp", "image", "image/webp" }, { "bmp", "image", "image/bmp" },
    { "mp3", "audio", "audio/mpeg" }, { "ogg", "audio", "audio/ogg" },
    { "opus", "audio", "audio/ogg" }, { "wav", "audio", "audio/wav" },
    { "m4a", "audio", "audio/mp4" }, { "flac", "audio", "audio/flac" },
    { "mp4", "video", "video/mp4" }, { "mov", "video", "video/quicktime" },
    { "webm", "video", "video/webm" }, { "mkv", "video", "video/x-matroska" },
    { "pdf", "document", "application/pdf" }, { "txt", "document", "text/plain" },
    { "md", "document", "text/markdown" }, { "csv", "document", "text/csv" },
    { "html", "document", "text/html" }, { "json", "document", "application/json" },
    { "zip", "document", "application/zip" }, { "gz", "document", "application/gzip" } };

//  The row of a name; NULL = none.

static const char *
s_find (const char *path, bool kind)
{
    const char *dot = strrchr (path, '.');
    for (size_t i = 0; dot && i < sizeof s_types / sizeof *s_types; i++)
        if (strcasecmp (dot + 1, s_types[i].extension) == 0)
            return kind ? s_types[i].kind : s_types[i].type;
    return NULL;
}

const char *
argos_reply_kind (const char *path)
{
    const char *kind = s_find (path, true);
    return kind ? kind : "document";
}

const char *
argos_reply_media_type (const char *path)
{
    const char *type = s_find (path, false);
    return type ? type : "application/octet-stream";
}

//  Whether path is folder, or below it.

static bool
s_below (const char *path, const char *folder)
{
    size_t length = strlen (folder);
    while (length > 1 && folder[length - 1] == '/')
        length--;
    return length && strncmp (path, folder, length) == 0 &&
           (!path[length] || path[length] == '/' || length == 1);
}

static bool
s_below_one (const char *path, const char *before, const char *const *names)
{
    char folder[ARGOS_REPLY_PATH_MAX * 2];
    for (; *before && *names; names++) {
        int length = snprintf (folder, sizeof folder, "%s/%s", before, *names);
        if (length > 0 && (size_t) length < sizeof folder && s_below (path, folder))
            return true;
    }
    return false;
}

const char *
argos_reply_path_problem (
    const char *path, const char *home, const char *user, const json_t *allowed, bool strict)
{
    static const char *const system[] = { "/etc", "/proc", "/sys", "/dev", "/boot", "/var/log",
        "/var/lib", "/run" };
    static const char *const secret[] = { ".ssh", ".aws", ".gnupg", ".kube", ".docker", ".config",
        ".azure", ".gcloud", ".netrc", ".env", NULL };
    //  Of the daemon's folder only what it has made for people may leave it
    static const char *const open[] = { "files", "cache", "media", NULL };
    size_t index;
    json_t *folder;
    if (*path != '/' || strstr (path, "/../"))
        return "it is no absolute path";
    if (strlen (path) > ARGOS_REPLY_PATH_MAX)
        return "its path is too long";
    if (s_below_one (path, home, open))
        return NULL;
    if (s_below (path, home))
        return "it belongs to the daemon";
    json_array_foreach (allowed, index, folder)
        if (json_is_string (folder) && s_below (path, json_string_value (folder)))
            return NULL;
    if (strict)
        return "it is in none of the folders that are allowed";
    for (size_t i = 0; i < sizeof system / sizeof *system; i++)
        if (s_below (path, system[i]))
            return "it belongs to the system";
    if (s_below_one (path, user, secret))
        return "it may hold secrets";
    //  The home of root is open only to a daemon that is root's
    if (s_below (path, "/root") && strcmp (user, "/root") != 0)
        return "it belongs to the system";
    return NULL;
}

//  ------------------------------------------------------------------------------------------------
//  Directives

//  A text under construction, at most as long as what it is made of

typedef struct {
    const char *at;     //  What is still to be read
    char *out;          //  What has been written
    size_t length;      //  Bytes of it
    json_t *media;      //  Files found
    const char *forced; //  Kind of all files, NULL = by their names
    bool voice;         //  Sounds are voice messages
    bool line_touched;  //  A directive was taken out of this line
    size_t line;        //  Where the line begins in out
} s_reader_t;

//  The closing mark of a path that is quoted; 0 = it is bare.

static char
s_mark (char c)
{
    return (char) (c == '"' || c == '\'' || c == '`' ? c : 0);
}

//  The path of a directive whose text begins at `text`, behind the word. Returns the bytes that it
//  takes, 0 = it is none.

static size_t
s_path (const char *text, char *path)
{
    char mark = s_mark (*text);
    const char *from = text + (mark ? 1 : 0);
    size_t length = 0;
    while (from[length] && from[length] != '\n' &&
           (mark ? from[length] != mark : !isspace ((unsigned char) from[length])))
        length++;
    if (mark && from[length] != mark)
        return 0;
    size_t taken = length + (mark ? 2 : 0);
    //  A bare path at the end of a sentence
    while (!mark && length && strchr (".,;:!?)", from[length - 1]))
        taken = --length;
    if (!length || length > ARGOS_REPLY_PATH_MAX || (*from != '/' && strncmp (from, "~/", 2) != 0))
        return 0;
    memcpy (path, from, length);
    path[length] = 0;
    return taken;
}

//  Takes a directive at the reader's place. Returns whether there was one.

static bool
s_take_media (s_reader_t *self)
{
    char path[ARGOS_REPLY_PATH_MAX + 1];
    if (strncmp (self->at, DIRECTIVE, strlen (DIRECTIVE)) != 0 ||
        json_array_size (self->media) == ARGOS_REPLY_MEDIA_MAX)
        return false;
    size_t blanks = strspn (self->at + strlen (DIRECTIVE), " ");
    size_t taken = s_path (self->at + strlen (DIRECTIVE) + blanks, path);
    json_t *name = taken ? json_string (path) : NULL; //  NULL when it is no UTF-8
    if (!name)
        return false;
    json_array_append_new (self->media, json_pack ("{s:o}", "path", name));
    self->at += strlen (DIRECTIVE) + blanks + taken;
    self->line_touched = true;
    return true;
}

static bool
s_take_word (s_reader_t *self)
{
    static const char voice[] = "[[audio_as_voice]]", document[] = "[[as_document]]";
    if (strncmp (self->at, voice, strlen (voice)) == 0) {
        self->voice = true;
        self->at += strlen (voice);
    }
    else if (strncmp (self->at, document, strlen (document)) == 0) {
        self->forced = "document";
        self->at += strlen (document);
    }
    else
        return false;
    self->line_touched = true;
    return true;
}

static void
s_copy (s_reader_t *self, size_t count)
{
    memcpy (self->out + self->length, self->at, count);
    self->length += count;
    self->at += count;
}

//  The end of a line: one that has lost all it had disappears.

static void
s_end_line (s_reader_t *self)
{
    while (self->line_touched && self->length > self->line &&
           strchr (" \t", self->out[self->length - 1]))
        self->length--;
    bool gone = self->line_touched && self->length == self->line;
    if (*self->at == '\n') {
        if (gone)
            self->at++;
        else
            s_copy (self, 1);
    }
    self->line = self->length;
    self->line_touched = false;
}

//  Bytes of inline code at text: from its backticks to as many. None on this line: the backticks.

static size_t
s_code (const char *text)
{
    size_t ticks = strspn (text, "`"), at = ticks;
    while (ticks && text[at] && text[at] != '\n') {
        size_t run = strspn (text + at, "`");
        if (run == ticks)
            return at + run;
        at += run ? run : 1;
    }
    return ticks;
}

//  One line outside of fences and quotations.

static void
s_line (s_reader_t *self)
{
    char before = ' ';
    while (*self->at && *self->at != '\n') {
        size_t code = *self->at == '`' ? s_code (self->at) : 0;
        if (code)
            s_copy (self, code);
        else if (!(isspace ((unsigned char) before) && s_take_media (self)) && !s_take_word (self))
            s_copy (self, 1);
        before = self->at[-1];
    }
}

//  The fence that a line opens or closes: its mark, 0 = none.

static char
s_fence (const char *line)
{
    line += strspn (line, " ");
    if (strncmp (line, "```", 3) == 0)
        return '`';
    return strncmp (line, "~~~", 3) == 0 ? '~' : 0;
}

static void
s_lines (s_reader_t *self)
{
    char fence = 0;
    while (*self->at) {
        char mark = s_fence (self->at);
        bool quoted = self->at[strspn (self->at, " ")] == '>';
        if (fence || mark || quoted)
            s_copy (self, strcspn (self->at, "\n"));
        else
            s_line (self);
        if (mark && (!fence || fence == mark))
            fence = (char) (fence ? 0 : mark);
        s_end_line (self);
    }
    s_end_line (self);
}

//  The words without blanks around them.

static char *
s_trimmed (const char *text, size_t length)
{
    while (length && isspace ((unsigned char) text[length - 1]))
        length--;
    size_t start = 0;
    while (start < length && isspace ((unsigned char) text[start]))
        start++;
    char *copy = strndup (text + start, length - start);
    if (!copy)
        abort ();
    return copy;
}

static void
s_name_kinds (const s_reader_t *reader)
{
    size_t index;
    json_t *file;
    json_array_foreach (reader->media, index, file) {
        const char *kind = argos_reply_kind (json_string_value (json_object_get (file, "path")));
        if (reader->voice && strcmp (kind, "audio") == 0)
            kind = "voice";
        json_object_set_new (file, "kind", json_string (reader->forced ? reader->forced : kind));
    }
}

void
argos_reply_read (argos_reply_t *self, const char *text)
{
    *self = (argos_reply_t){ .silent = argos_reply_is_silent (text), .media = json_array () };
    size_t size = strlen (text);
    s_reader_t reader = { .at = text, .out = malloc (size + 1), .media = self->media };
    if (!reader.out)
        abort ();
    s_lines (&reader);
    s_name_kinds (&reader);
    reader.out[reader.length] = 0;
    self->text = s_trimmed (reader.out, reader.length);
    free (reader.out);
    if (!*self->text && !json_array_size (self->media)) {
        free (self->text);
        self->text = s_trimmed (text, size);
    }
}

void
argos_reply_clear (argos_reply_t *self)
{
    if (!self)
        return;
    free (self->text);
    json_decref (self->media);
    *self = (argos_reply_t){ .text = NULL };
}

//  ------------------------------------------------------------------------------------------------
//  What to do about it

const char *
argos_reply_hint (const char *error)
{
    static const struct {
        const char *class, *hint; //  Of the provider's error; what people can do
    } hints[] = { { "billing:", "The account of the provider has to be topped up." },
        { "rate_limit:", "Too many requests: wait a little and say it again." },
        { "overloaded:", "The provider has no room now: say it again later." },
        { "context_overflow:", "The session is too large: `/compact` or `/reset`." },
        { "payload_too_large:", "The session is too large: `/compact` or `/reset`." },
        { "model_not_found:", "`/model` chooses another one." },
        { "server_error:", "A failure of the provider: say it again later." },
        { "timeout:", "The provider did not answer: say it again later." },
        { "credentials", "Whoever runs this bot has to give it a key (`argos provider test`)." },
        { "authentication",
            "Whoever runs this bot has to renew its key (`argos provider test`)." } };
    for (size_t i = 0; i < sizeof hints / sizeof *hints; i++)
        if (strstr (error, hints[i].class))
            return hints[i].hint;
    return "";
}
