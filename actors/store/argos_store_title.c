//  argos_store_title - titles of sessions: cleaning, uniqueness, numbers of a lineage, finding.
//
//  Invariant: a title is unique among the sessions of its owner, at most 100 characters, and has no
//  control, bidirectional or zero-width characters. A title is compared byte by byte: nothing in it
//  is a wildcard. Limit: a lineage of titles is read as a whole.

#include "argos_store_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHARS_MAX 100     //  Characters of a title
#define NUMBER_MAX 999999 //  Greatest number behind a title

//  The code point at *text_p, which goes on behind it. Bytes that are no UTF-8 count one by one.

static unsigned
s_next (const char **text_p)
{
    const unsigned char *text = (const unsigned char *) *text_p;
    int more = text[0] >= 0xf0 ? 3 : text[0] >= 0xe0 ? 2 : text[0] >= 0xc0 ? 1 : 0;
    unsigned code = more == 0 ? text[0] : text[0] & (0x3fu >> more);
    int i = 1;
    for (; i <= more && (text[i] & 0xc0) == 0x80; i++)
        code = code << 6 | (text[i] & 0x3fu);
    *text_p += i;
    return code;
}

static bool
s_between (unsigned code, unsigned low, unsigned high)
{
    return code >= low && code <= high;
}

static bool
s_is_blank (unsigned code)
{
    return s_between (code, 9, 13) || code == ' ' || code == 0x85 || code == 0xa0 ||
           code == 0x1680 || s_between (code, 0x2000, 0x200a) || code == 0x202f || code == 0x205f ||
           code == 0x3000;
}

static bool
s_is_dropped (unsigned code)
{
    return code < ' ' || code == 0x7f || s_between (code, 0x200b, 0x200f) ||
           s_between (code, 0x2028, 0x202e) || s_between (code, 0x2060, 0x2069) || code == 0xfeff ||
           s_between (code, 0xfff9, 0xfffc);
}

bool
argos_store_title_clean (
    const char *title, char target[static ARGOS_STORE_TITLE_MAX], size_t *ret_count)
{
    size_t size = 0, count = 0;
    bool blank = false;
    while (*title) {
        const char *from = title;
        unsigned code = s_next (&title);
        if (s_is_blank (code)) {
            blank = count > 0;
            continue;
        }
        if (s_is_dropped (code))
            continue;
        count += 1 + (size_t) blank;
        if (count <= CHARS_MAX) {
            if (blank)
                target[size++] = ' ';
            memcpy (target + size, from, (size_t) (title - from));
            size += (size_t) (title - from);
        }
        blank = false;
    }
    target[size] = 0;
    *ret_count = count;
    return count <= CHARS_MAX;
}

//  The number behind ` #` at the end of title, 0 = none; *ret_base is the size of what is before.

static int64_t
s_number (const char *title, size_t *ret_base)
{
    size_t size = strlen (title), digits = 0;
    while (digits < size && digits < 7 && title[size - digits - 1] >= '0' &&
           title[size - digits - 1] <= '9')
        digits++;
    *ret_base = size;
    if (digits == 0 || size < digits + 3 || memcmp (title + size - digits - 2, " #", 2) != 0)
        return 0;
    int64_t number = strtol (title + size - digits, NULL, 10);
    if (number < 1 || number > NUMBER_MAX)
        return 0;
    *ret_base = size - digits - 2;
    return number;
}

//  Base and number, the base cut on a character so that both fit.

static void
s_numbered (const char *base, int64_t number, char target[static ARGOS_STORE_TITLE_MAX])
{
    char tail[16];
    size_t tail_size = (size_t) snprintf (tail, sizeof tail, " #%lld", (long long) number);
    const char *end = base;
    for (size_t count = 0; *end && count + tail_size < CHARS_MAX; count++)
        s_next (&end);
    size_t size = (size_t) (end - base);
    memcpy (target, base, size);
    memcpy (target + size, tail, tail_size + 1);
}

void
argos_store_title_next (argos_store_t *self, const char *owner, const char *title,
    char target[static ARGOS_STORE_TITLE_MAX])
{
    char base[ARGOS_STORE_TITLE_MAX];
    size_t size;
    int64_t newest = 0;
    argos_store_text_copy (base, title, sizeof base);
    s_number (base, &size);
    base[size] = 0;
    argos_sql_row_t *stmt =
        argos_store_query (self, ARGOS_SQL_TITLE_NUMBERED, "ss", owner, (const char *) base);
    while (stmt) {
        char other[ARGOS_STORE_TITLE_MAX];
        argos_store_text (stmt, 0, other, sizeof other);
        int64_t number = s_number (other, &size);
        bool bare = strcmp (other, base) == 0;
        if (!bare && size != strlen (base))
            number = 0;
        if (bare)
            number = 1;
        newest = number > newest ? number : newest;
        if (!argos_store_next (self, stmt))
            break;
    }
    argos_store_end (self, ARGOS_SQL_TITLE_NUMBERED);
    memcpy (target, base, strlen (base) + 1);
    //  Where the base had to be cut, other titles have numbers as well
    for (bool taken = newest > 0; taken && !self->failed; newest++) {
        s_numbered (base, newest + 1, target);
        taken = argos_store_number (
            self, 0, ARGOS_SQL_TITLE_TAKEN, "sss", owner, (const char *) target, "");
    }
}

//  Whether `other` is folded into the session, at any depth.

static bool
s_is_ancestor (argos_store_t *self, const argos_store_session_t *session, const char *other)
{
    bool found = false;
    argos_sql_row_t *stmt = argos_store_query (
        self, ARGOS_SQL_SESSION_UP, "sse", (const char *) session->id, "compression", "");
    while (stmt && !found) {
        char id[ARGOS_STORE_SESSION_MAX];
        argos_store_text (stmt, 0, id, sizeof id);
        found = strcmp (id, other) == 0;
        if (!argos_store_next (self, stmt))
            break;
    }
    argos_store_end (self, ARGOS_SQL_SESSION_UP);
    return found;
}

bool
argos_store_title_take (argos_store_t *self, argos_store_unit_t *unit,
    const argos_store_session_t *session, const char *title)
{
    char holder[ARGOS_STORE_SESSION_MAX] = "";
    argos_sql_row_t *stmt = argos_store_query (self, ARGOS_SQL_TITLE_HOLDER, "sss",
        (const char *) session->owner, title, (const char *) session->id);
    if (stmt)
        argos_store_text (stmt, 0, holder, sizeof holder);
    argos_store_end (self, ARGOS_SQL_TITLE_HOLDER);
    if (!*holder)
        return true;
    if (!s_is_ancestor (self, session, holder)) {
        char reason[sizeof unit->ans->reason];
        snprintf (reason, sizeof reason, "the title is that of the session %.100s", holder);
        return argos_store_refuse (unit->ans, ARGOS_CONFLICT, reason);
    }
    argos_store_run (self, ARGOS_SQL_TITLE_FREE, "s", (const char *) holder);
    return true;
}

bool
argos_store_session_rename (argos_store_t *self, argos_store_unit_t *unit)
{
    argos_store_session_t session;
    char title[ARGOS_STORE_TITLE_MAX];
    size_t count;
    bool automatic = json_is_true (json_object_get (unit->body, "auto"));
    if (!argos_store_title_clean (argos_store_member (unit->body, "title"), title, &count)) {
        char reason[64];
        snprintf (reason, sizeof reason, "a title has at most 100 characters, not %zu", count);
        return argos_store_refuse (unit->ans, ARGOS_INVALID, reason);
    }
    if (!argos_store_session_need (self, unit, &session))
        return false;
    if (automatic && (*session.title || !*title))
        return true;
    if (*title && !argos_store_title_take (self, unit, &session, title))
        return false;
    argos_store_run (self, ARGOS_SQL_SESSION_TITLE, "see", (const char *) session.id,
        (const char *) title,
        !*title     ? ""
        : automatic ? "auto"
                    : "user");
    return true;
}

bool
argos_store_session_title (argos_store_t *self, argos_store_unit_t *unit)
{
    char title[ARGOS_STORE_TITLE_MAX], next[ARGOS_STORE_TITLE_MAX];
    size_t count;
    argos_store_title_clean (argos_store_member (unit->body, "title"), title, &count);
    if (!*title)
        return argos_store_refuse (unit->ans, ARGOS_INVALID, "title: nothing of it is left");
    argos_store_title_next (self, argos_store_member (unit->body, "owner"), title, next);
    unit->result = json_pack ("{s:s}", "title", next);
    return true;
}

//  ------------------------------------------------------------------------------------------------
//  Finding

static bool
s_by_prefix (argos_store_t *self, const char *text, const char *owner, char *id, bool *ambiguous)
{
    argos_sql_row_t *stmt = argos_store_query (self, ARGOS_SQL_SESSION_PREFIX, "se", text, owner);
    if (stmt) {
        argos_store_text (stmt, 0, id, ARGOS_STORE_SESSION_MAX);
        *ambiguous = argos_store_next (self, stmt);
    }
    argos_store_end (self, ARGOS_SQL_SESSION_PREFIX);
    return stmt && !*ambiguous;
}

static bool
s_by_title (argos_store_t *self, const char *text, const char *owner, char *id)
{
    char title[ARGOS_STORE_TITLE_MAX];
    size_t count;
    if (!argos_store_title_clean (text, title, &count) || !*title)
        return false;
    argos_sql_row_t *stmt =
        argos_store_query (self, ARGOS_SQL_SESSION_TITLED, "se", (const char *) title, owner);
    if (stmt)
        argos_store_text (stmt, 0, id, ARGOS_STORE_SESSION_MAX);
    argos_store_end (self, ARGOS_SQL_SESSION_TITLED);
    return stmt != NULL;
}

bool
argos_store_session_resolve (argos_store_t *self, argos_store_unit_t *unit)
{
    const char *text = argos_store_member (unit->body, "text");
    const char *owner = argos_store_member (unit->body, "owner");
    char id[ARGOS_STORE_SESSION_MAX] = "";
    argos_store_session_t session;
    bool ambiguous = false;
    const char *by = NULL;
    if (strlen (text) < sizeof session.id &&
        argos_store_session_find (self, text, owner, &session)) {
        by = "id";
        memcpy (id, session.id, sizeof id);
    }
    else if (s_by_prefix (self, text, owner, id, &ambiguous))
        by = "prefix";
    else if (s_by_title (self, text, owner, id))
        by = "title";
    unit->result = json_pack (
        "{s:s?, s:s?, s:b}", "session_id", by ? id : NULL, "by", by, "ambiguous", !by && ambiguous);
    if (!by)
        json_object_del (unit->result, "by");
    return true;
}
