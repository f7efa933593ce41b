//  argos_http_target - what a request asks for: the path and the query of its first line, before
//  the server library takes them apart.
//
//  The library decodes a path as a whole: an encoded slash would be a separator and an encoded NUL
//  the end, so that a proxy before us and we would see two paths. Here a path is taken apart first,
//  and what stands for braces is decoded then. And the library hangs when the arguments of a query
//  fill the memory of the connection; so one that is too long is cut off (the request is refused).

#include "argos_http_priv.h"

#include <stdlib.h>
#include <string.h>

#define S_TARGET_MAX 4096 //  Bytes of path and query
#define S_ARGS_MAX 32     //  Arguments of a query

//  Whether target is of the form of path; braces match one segment that is not empty.

static bool
s_matches (const char *path, const char *target, const char **ret_param, size_t *ret_size)
{
    *ret_param = NULL;
    while (*path && *target && *target != '?') {
        if (*path == '{') {
            *ret_param = target;
            *ret_size = strcspn (target, "/?");
            if (*ret_size == 0)
                return false;
            target += *ret_size;
            path += strcspn (path, "}") + 1;
        }
        else if (*path++ != *target++)
            return false;
    }
    return !*path && (!*target || *target == '?');
}

//  A segment without its escapes, new; NULL when it is no text: a broken escape, a NUL, not UTF-8.

static char *
s_decode (const char *text, size_t size)
{
    unsigned char *decoded = malloc (size + 1);
    size_t used = 0, count = 0;
    bool good = decoded != NULL;
    for (size_t i = 0; good && i < size; used++) {
        bool escaped = text[i] == '%';
        if (escaped)
            good = size - i > 2 &&
                   sodium_hex2bin (decoded + used, 1, text + i + 1, 2, NULL, &count, NULL) == 0;
        else
            decoded[used] = (unsigned char) text[i];
        good = good && decoded[used];
        i += escaped ? 3 : 1;
    }
    json_t *valid = good ? json_stringn ((const char *) decoded, used) : NULL;
    char *copy = valid ? strdup (json_string_value (valid)) : NULL;
    json_decref (valid);
    free (decoded);
    return copy;
}

static bool
s_is_long (const char *target, const char *query)
{
    unsigned args = 0;
    for (const char *each = query; each; each = strchr (each + 1, '&'))
        args++;
    return args > S_ARGS_MAX || strlen (target) > S_TARGET_MAX;
}

void
argos_http_target (argos_http_req_t *req, const char *target)
{
    const char *param;
    size_t size = 0;
    char *query = strchr (target, '?'); //  In the memory of the connection, which is not constant
    req->too_long = s_is_long (target, query);
    if (req->too_long && query)
        query[1] = '\0';
    for (const argos_http_route_t *route = req->http->routes; route->method; route++) {
        if (!s_matches (route->path, target, &param, &size))
            continue;
        req->param = param ? s_decode (param, size) : NULL;
        req->path = param && !req->param ? NULL : route->path;
        return;
    }
}
