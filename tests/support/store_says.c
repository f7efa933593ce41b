//  store_says - see store_says.h.

#include "store_says.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define HOLDER "agent/1" //  Who has the leases of says_turn

static const char *s_body (const char *format, va_list args)
    __attribute__ ((format (printf, 1, 0)));

static const char *
s_body (const char *format, va_list args)
{
    static char body[SAYS_MAX];
    int size = vsnprintf (body, sizeof body, format, args);
    assert (size > 0 && size < SAYS_MAX);
    for (char *at = body; *at; at++)
        if (*at == '\'')
            *at = '"';
    return body;
}

argos_err_t
says_as (kit_t *kit, const char *from, const char *type, const char *format, ...)
{
    va_list args;
    va_start (args, format);
    argos_err_t code = kit_write (kit, from, type, s_body (format, args));
    va_end (args);
    return code;
}

argos_err_t
says_write (kit_t *kit, const char *type, const char *format, ...)
{
    va_list args;
    va_start (args, format);
    argos_err_t code = kit_write (kit, "gateway", type, s_body (format, args));
    va_end (args);
    return code;
}

argos_err_t
says_read (kit_t *kit, const char *type, const char *format, ...)
{
    va_list args;
    va_start (args, format);
    argos_err_t code = kit_read (kit, type, s_body (format, args));
    va_end (args);
    return code;
}

argos_err_t
says_turn (kit_t *kit, const char *session, const char *type, const char *format, ...)
{
    static int serial = 0;
    char id[32];
    snprintf (id, sizeof id, "says-%d", serial++);
    int64_t seq = kit_send (kit, id, "turn", session, NULL, NULL);
    int64_t lease = kit_lease (kit, seq, HOLDER);
    va_list args;
    va_start (args, format);
    argos_err_t code = kit_write_leased (kit, HOLDER, seq, lease, 1, type, s_body (format, args));
    va_end (args);
    kit_done (kit, HOLDER, seq, lease, code == ARGOS_OK ? 2 : 1, seq);
    return code;
}

json_t *
says_get (kit_t *kit, const char *path)
{
    json_t *value = kit->result;
    while (value && *path) {
        char name[64];
        size_t size = strcspn (path, ".");
        assert (size < sizeof name);
        memcpy (name, path, size);
        name[size] = 0;
        value = json_object_get (value, name);
        path += size + (path[size] == '.');
    }
    return value;
}

const char *
says_text (kit_t *kit, const char *path)
{
    const char *text = json_string_value (says_get (kit, path));
    return text ? text : "";
}

int64_t
says_number (kit_t *kit, const char *path)
{
    return json_integer_value (says_get (kit, path));
}
