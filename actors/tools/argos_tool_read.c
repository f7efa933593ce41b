//  argos_tool_read - the tool read_file: a range of lines, with their numbers.
//
//  Limits: lines of 2,000 bytes, 2,000 lines, chars_max bytes in all.

#include "argos_files.h"

#include "argos_text.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_BYTES 2000
#define LINES_MAX 2000
#define LINES_USUAL 500
#define LARGE 512000 //  Bytes from which on a cut file gets a hint
#define SIMILAR 5    //  Names that are told when there is no such file

static bool
s_is_similar (const char *one, const char *other)
{
    return strcasestr (one, other) || strcasestr (other, one) ||
           (strlen (one) > 2 && strncasecmp (one, other, 3) == 0);
}

//  There is no such file: names of its folder that are like it.

static void
s_missing (argos_tool_call_t *call)
{
    char folder[PATH_MAX];
    snprintf (folder, sizeof folder, "%s", call->path);
    char *slash = strrchr (folder, '/');
    const char *name = call->path + (slash - folder) + 1;
    *slash = '\0';
    argos_tool_fail (call, "There is no file %s.", call->path);
    DIR *dir = opendir (*folder ? folder : "/");
    json_t *list = json_array ();
    struct dirent *entry;
    while (dir && json_array_size (list) < SIMILAR && (entry = readdir (dir)))
        if (entry->d_name[0] != '.' && s_is_similar (entry->d_name, name))
            json_array_append_new (list, argos_tool_string (entry->d_name, strlen (entry->d_name)));
    if (dir)
        closedir (dir);
    if (json_array_size (list))
        json_object_set (call->result, "similar_files", list);
    json_decref (list);
}

static void
s_add_line (argos_text_t *text, int64_t number, const char *line, size_t size)
{
    char head[32];
    size_t shown = argos_utf8_cut (line, size, LINE_BYTES);
    argos_text_add (text, head, (size_t) snprintf (head, sizeof head, "%lld|", (long long) number));
    argos_text_add (text, line, shown);
    if (shown < size)
        argos_text_add (text, "...", 3);
    argos_text_add (text, "\n", 1);
}

static void
s_tell (argos_tool_call_t *call, const char *data, size_t size)
{
    int64_t offset = argos_tool_number (call, "offset", 1, 1, INT64_MAX / 2), total = 0;
    int64_t limit = argos_tool_number (call, "limit", LINES_USUAL, 1, LINES_MAX);
    argos_text_t text;
    argos_text_init (&text, 2 * call->chars_max + 8192);
    for (size_t at = 0; at < size; total++) {
        const char *end = memchr (data + at, '\n', size - at);
        size_t length = end ? (size_t) (end - data) - at : size - at;
        if (total + 1 >= offset && total + 1 < offset + limit && text.size <= call->chars_max)
            s_add_line (&text, total + 1, data + at, length);
        at += length + 1;
    }
    bool cut = total >= offset + limit;
    if (text.size > call->chars_max)
        argos_tool_fail (call,
            "That is more than %zu characters. Read a smaller range: offset and limit are lines.",
            call->chars_max);
    else {
        call->result = json_pack ("{s:o, s:I, s:I, s:b}", "content",
            argos_tool_string (argos_text_str (&text), text.size), "total_lines",
            (json_int_t) total, "file_size", (json_int_t) size, "truncated", cut);
        const char *more =
            size > LARGE ? "This is a large file: search_files finds a place faster. More" : "More";
        if (cut)
            json_object_set_new (call->result, "hint",
                json_sprintf ("%s with offset=%" PRId64 ".", more, offset + limit));
    }
    argos_text_clear (&text);
}

void
argos_tool_read_file (argos_tool_call_t *call)
{
    size_t size;
    struct stat state;
    if (!argos_files_may_read (call))
        return;
    if (stat (call->path, &state) != 0) {
        s_missing (call);
        return;
    }
    argos_files_note (call);
    char *data = argos_files_read (call, call->path, &size);
    if (data && argos_files_is_binary (data, size))
        argos_tool_fail (
            call, "%s is no text (%zu bytes). Use the terminal for it.", call->path, size);
    else if (data)
        s_tell (call, data, size);
    free (data);
}
