//  argos_content - what a message of a client holds. Pure; nothing is cut, what is too much is
//  refused.

#include "argos_content.h"

#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define S_PARTS_MAX 1000 //  Parts of one content
#define S_LEVELS_MAX 10  //  Lists in lists
#define S_MEDIA_MAX 128  //  Bytes of a media type

int
argos_problem (argos_run_problem_t *problem, unsigned status, const char *code, const char *param,
    const char *format, ...)
{
    problem->status = status;
    problem->code = code;
    (void) snprintf (problem->param, sizeof problem->param, "%s", param);
    va_list arguments;
    va_start (arguments, format);
    //  It is initialized by va_start. NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized)
    (void) vsnprintf (problem->message, sizeof problem->message, format, arguments);
    va_end (arguments);
    return -1;
}

//  --------------------------------------------------------------------------
//  Parts

//  What is gathered from the parts

typedef struct {
    FILE *text;                   //  The texts
    size_t used;                  //  Bytes of them
    json_t *images;               //  URLs
    const char *param;            //  For the problem
    argos_run_problem_t *problem; //  Where it goes
} s_gather_t;

typedef enum { S_TEXT, S_IMAGE, S_FILE, S_UNKNOWN } s_kind_t;

static s_kind_t
s_kind (const char *type)
{
    static const struct {
        const char *name; //  Of the part
        s_kind_t kind;    //  What it is
    } kinds[] = { { "text", S_TEXT }, { "input_text", S_TEXT }, { "output_text", S_TEXT },
        { "refusal", S_TEXT }, { "image_url", S_IMAGE }, { "input_image", S_IMAGE },
        { "file", S_FILE }, { "input_file", S_FILE } };
    type += strspn (type, " \t\r\n");
    size_t size = strlen (type);
    while (size && strchr (" \t\r\n", type[size - 1]))
        size--;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strlen (kinds[i].name) == size && strncasecmp (kinds[i].name, type, size) == 0)
            return kinds[i].kind;
    return S_UNKNOWN;
}

static void
s_add_text (s_gather_t *self, const json_t *text)
{
    size_t size = json_string_length (text);
    if (!size)
        return;
    (void) fprintf (self->text, "%s%s", self->used ? "\n" : "", json_string_value (text));
    self->used += size;
}

static int
s_add_image (s_gather_t *self, const json_t *part)
{
    json_t *image = json_object_get (part, "image_url");
    const json_t *detail = json_object_get (json_is_object (image) ? image : part, "detail");
    if (json_is_object (image))
        image = json_object_get (image, "url");
    const char *url = json_string_value (image);
    const char *param = self->param;
    if (detail && !json_is_null (detail) && json_string_length (detail) == 0)
        return argos_problem (self->problem, 400, "invalid_content_part", param,
            "%s: 'detail' of an image must be a string that is not empty.", param);
    if (url && strncasecmp (url, "data:", 5) == 0 && strncasecmp (url, "data:image/", 11) != 0)
        return argos_problem (self->problem, 400, "unsupported_content_type", param,
            "%s: only data of type image/ can be sent as an image.", param);
    bool web =
        url && (strncasecmp (url, "http://", 7) == 0 || strncasecmp (url, "https://", 8) == 0);
    if (!url || !(web || (argos_content_is_data (url) && strstr (url, ";base64,"))))
        return argos_problem (self->problem, 400, "invalid_image_url", param,
            "%s: an image needs a URL that begins with http:// or https://, or data:image/ in "
            "base64.",
            param);
    if (json_array_size (self->images) >= ARGOS_CONTENT_IMAGES_MAX)
        return argos_problem (self->problem, 400, "invalid_content_part", param,
            "%s: more than %d images.", param, ARGOS_CONTENT_IMAGES_MAX);
    return json_array_append (self->images, image);
}

static int
s_add_part (s_gather_t *self, const json_t *part)
{
    if (json_is_string (part))
        s_add_text (self, part);
    if (!json_is_object (part))
        return 0;
    const char *type = json_string_value (json_object_get (part, "type"));
    switch (type ? s_kind (type) : S_TEXT) {
    case S_TEXT:
        s_add_text (self, json_object_get (part, "text"));
        return 0;
    case S_IMAGE:
        return s_add_image (self, part);
    default:
        return argos_problem (self->problem, 400, "unsupported_content_type", self->param,
            "%s: parts of type %.32s are not supported, only text and images.", self->param,
            type ? type : "");
    }
}

//  A list in a list is read in its place.

static int
s_add_parts (s_gather_t *self, const json_t *parts)
{
    struct {
        const json_t *list; //  A list
        size_t next;        //  Its next part
    } stack[S_LEVELS_MAX] = { { parts, 0 } };
    size_t depth = 1, seen = 0;
    while (depth) {
        const json_t *part = json_array_get (stack[depth - 1].list, stack[depth - 1].next++);
        if (!part)
            depth--;
        else if (++seen > S_PARTS_MAX || (json_is_array (part) && depth == S_LEVELS_MAX))
            return argos_problem (self->problem, 400, "invalid_content_part", self->param,
                "%s: more than %d parts, or nested deeper than %d.", self->param, S_PARTS_MAX,
                S_LEVELS_MAX);
        else if (json_is_array (part)) {
            stack[depth].list = part;
            stack[depth++].next = 0;
        }
        else if (s_add_part (self, part) != 0)
            return -1;
    }
    return 0;
}

static int
s_read_parts (const json_t *parts, const char *param, argos_content_t *ret_content,
    argos_run_problem_t *problem)
{
    char *joined = NULL;
    size_t size = 0;
    s_gather_t gather = { .text = open_memstream (&joined, &size),
        .images = json_array (),
        .param = param,
        .problem = problem };
    if (!gather.text)
        abort ();
    int rc = s_add_parts (&gather, parts);
    if (fclose (gather.text) != 0)
        abort ();
    if (rc == 0) {
        ret_content->text = json_stringn (joined, size);
        ret_content->images = json_array_size (gather.images) ? json_incref (gather.images) : NULL;
    }
    json_decref (gather.images);
    free (joined);
    return rc;
}

//  --------------------------------------------------------------------------
//  Content

int
argos_content_read (json_t *content, const char *param, argos_content_t *ret_content,
    argos_run_problem_t *ret_problem)
{
    char number[64];
    *ret_content = (argos_content_t){ .text = NULL };
    switch (json_typeof (content)) {
    case JSON_STRING:
        ret_content->text = json_incref (content);
        break;
    case JSON_NULL:
        ret_content->text = json_string ("");
        break;
    case JSON_ARRAY:
        return s_read_parts (content, param, ret_content, ret_problem);
    case JSON_TRUE:
    case JSON_FALSE:
        ret_content->text = json_string (json_is_true (content) ? "true" : "false");
        break;
    case JSON_INTEGER:
        ret_content->text = json_sprintf ("%lld", (long long) json_integer_value (content));
        break;
    case JSON_REAL:
        (void) snprintf (number, sizeof number, "%.17g", json_real_value (content));
        ret_content->text = json_string (number);
        break;
    default:
        return argos_problem (ret_problem, 400, "invalid_content_part", param,
            "%s: expected text, or a list of parts.", param);
    }
    return 0;
}

void
argos_content_clear (argos_content_t *self)
{
    json_decref (self->text);
    json_decref (self->images);
    *self = (argos_content_t){ .text = NULL };
}

bool
argos_content_is_data (const char *url)
{
    return strncasecmp (url, "data:image/", 11) == 0;
}

unsigned char *
argos_content_decode (const char *url, size_t *ret_size, char *ret_media_type)
{
    const char *data = strstr (url, ";base64,");
    size_t media = strcspn (url + 5, ";,");
    if (!data || media > S_MEDIA_MAX)
        return NULL;
    memcpy (ret_media_type, url + 5, media);
    ret_media_type[media] = 0;
    data += 8;
    size_t size = strlen (data), decoded;
    unsigned char *bytes = malloc (size / 4 * 3 + 4);
    if (!bytes)
        abort ();
    const char *end;
    int rc = sodium_base642bin (bytes, size / 4 * 3 + 4, data, size, "\r\n ", &decoded, &end,
        sodium_base64_VARIANT_ORIGINAL);
    if (rc != 0 || *end || !decoded) {
        free (bytes);
        return NULL;
    }
    *ret_size = decoded;
    return bytes;
}

bool
argos_content_flag (const json_t *root, const char *name, bool fallback)
{
    static const char *const yes[] = { "1", "true", "yes", "on" };
    static const char *const no[] = { "0", "false", "no", "off" };
    const json_t *value = json_object_get (root, name);
    const char *word = json_string_value (value);
    if (json_is_boolean (value))
        return json_is_true (value);
    if (json_is_number (value))
        return json_number_value (value) != 0;
    for (size_t i = 0; word && i < sizeof yes / sizeof *yes; i++) {
        if (strcasecmp (word, yes[i]) == 0)
            return true;
        if (strcasecmp (word, no[i]) == 0)
            return false;
    }
    return fallback;
}
