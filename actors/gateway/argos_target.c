//  argos_target - from what people call a chat to where a message goes.
//
//  Invariant: what could mean two chats means none. Pure. Limits: 8 targets of a list; an alias of
//  an alias is none.

#include "argos_target.h"

#include "argos_header.h"
#include "argos_home.h"
#include "argos_json_get.h"
#include "argos_parts.h"
#include "argos_platform.h"
#include "argos_setting.h"
#include "argos_source.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define WORD_MAX 600 //  Bytes of a target
#define ACCOUNT "main"

//  A list that is being resolved

typedef struct {
    const argos_target_book_t *book; //  What is known
    json_t *found;                   //  Sources so far
    char *reason;                    //  Why not
    size_t size;                     //  Its bytes
} s_search_t;

static bool __attribute__ ((format (printf, 2, 3)))
s_fail (s_search_t *self, const char *format, ...)
{
    char *sentence = NULL;
    va_list list;
    va_start (list, format);
    int rc = vasprintf (&sentence, format, list);
    va_end (list);
    if (rc < 0)
        abort ();
    if (!*self->reason) //  The first one counts
        argos_parts_cut (sentence, self->reason, self->size);
    free (sentence);
    return false;
}

//  ------------------------------------------------------------------------------------------------
//  The list so far

static bool
s_same (const json_t *a, const json_t *b)
{
    static const char *const names[] = { "platform", "account", "chat_id", "thread_id" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp (argos_json_text (a, names[i]), argos_json_text (b, names[i])) != 0)
            return false;
    return true;
}

//  Adds a source (stolen), once.

static bool
s_add (s_search_t *self, json_t *source)
{
    char service[ARGOS_NAME_MAX + 1];
    size_t index;
    json_t *other;
    bool known = false;
    json_array_foreach (self->found, index, other)
        known = known || s_same (other, source);
    if (!argos_parts_service (source, service)) {
        json_decref (source);
        return s_fail (self, "nothing can be sent to that platform");
    }
    if (!known && json_array_size (self->found) == ARGOS_TARGETS_MAX) {
        json_decref (source);
        return s_fail (self, "more than %d targets", ARGOS_TARGETS_MAX);
    }
    if (known)
        json_decref (source);
    else
        json_array_append_new (self->found, source);
    return true;
}

//  ------------------------------------------------------------------------------------------------
//  Chats

static bool
s_of (const json_t *source, const char *platform, const char *account)
{
    return strcmp (argos_json_text (source, "platform"), platform) == 0 &&
           (!*account || strcmp (argos_json_text (source, "account"), account) == 0);
}

//  How well a record fits a word: 0 not, 1 the name begins so, 2 it is the name, 3 the id.

static int
s_fits (const json_t *record, const char *word)
{
    const json_t *value = json_object_get (record, "value");
    const json_t *source = json_object_get (value, "source");
    const char *chat = argos_json_text (source, "chat_id"),
               *thread = argos_json_text (source, "thread_id");
    const char *name = argos_json_text (value, "name"),
               *scope = argos_json_text (source, "scope_id");
    size_t length = strlen (chat);
    bool begins = length && strncmp (word, chat, length) == 0;
    if (begins && !word[length] && !*thread)
        return 3;
    if (begins && word[length] == ':' && *thread && strcmp (word + length + 1, thread) == 0)
        return 3;
    length = strlen (scope);
    if (length && strncasecmp (word, scope, length) == 0 && word[length] == '/')
        word += length + 1;
    else if (*word == '#')
        word++;
    if (!*word || !*name)
        return 0;
    if (strcasecmp (name, word) == 0)
        return 2;
    return strncasecmp (name, word, strlen (word)) == 0 ? 1 : 0;
}

//  The best record of the platform for a word. Returns how well it fits; *ret_count how many fit
//  so.

static int
s_best (const s_search_t *self, const char *platform, const char *account, const char *word,
    json_t **ret_source, size_t *ret_count)
{
    size_t index;
    json_t *record;
    int best = 0;
    *ret_count = 0;
    json_array_foreach (self->book->channels, index, record) {
        json_t *source = json_object_get (json_object_get (record, "value"), "source");
        int fit = s_of (source, platform, account) ? s_fits (record, word) : 0;
        if (fit > best)
            *ret_count = 0;
        if (fit && fit >= best) {
            best = fit;
            *ret_source = source;
            (*ret_count)++;
        }
    }
    return best;
}

//  An id as the platforms have them: no blanks, and a digit in it.

static bool
s_looks_like_id (const char *word)
{
    return *word != '#' && !strpbrk (word, " \t") && strpbrk (word, "0123456789") &&
           !strchr (word, '/');
}

//  A chat that nobody has spoken from: an id, and a thread behind the last colon.

static json_t *
s_made (const char *platform, const char *account, const char *word)
{
    char chat[WORD_MAX + 1];
    snprintf (chat, sizeof chat, "%s", word);
    char *colon = strrchr (chat, ':');
    if (colon)
        *colon = 0;
    json_t *source = json_pack ("{s:s, s:s, s:s}", "platform", platform, "account",
        *account ? account : ACCOUNT, "chat_id", chat);
    if (colon && colon[1])
        json_object_set_new (source, "thread_id", json_string (colon + 1));
    return source;
}

static bool
s_chat (s_search_t *self, const char *platform, const char *account, const char *word)
{
    json_t *source = NULL;
    size_t count;
    int fit = s_best (self, platform, account, word, &source, &count);
    if (count > 1)
        return s_fail (self, "several chats are called \"%s\"", word);
    if (fit)
        return s_add (self, json_copy (source));
    if (s_looks_like_id (word))
        return s_add (self, s_made (platform, account, word));
    return s_fail (self, "there is no chat \"%s\"", word);
}

//  ------------------------------------------------------------------------------------------------
//  Homes

static const json_t *
s_record (const json_t *records, const char *key)
{
    size_t index;
    json_t *record;
    json_array_foreach (records, index, record)
        if (strcmp (argos_json_text (record, "key"), key) == 0)
            return json_object_get (record, "value");
    return NULL;
}

//  The home of a platform, new; NULL = it has none. What has spoken there says more of it than the
//  settings.

static json_t *
s_home (const s_search_t *self, const char *platform)
{
    json_t *home =
        argos_home (self->book->config, platform, s_record (self->book->homes, platform));
    if (!home || json_object_get (home, "account"))
        return home;
    json_object_set_new (home, "account", json_string (ACCOUNT));
    size_t index;
    json_t *record;
    json_array_foreach (self->book->channels, index, record) {
        json_t *source = json_object_get (json_object_get (record, "value"), "source");
        if (strcmp (argos_json_text (source, "platform"), platform) == 0 &&
            argos_home_same (source, home)) {
            json_decref (home);
            return json_copy (source);
        }
    }
    return home;
}

//  Adds the homes of all platforms, or the first of them. Returns how many.

static size_t
s_homes (s_search_t *self, bool all)
{
    size_t index, count = 0;
    json_t *record, *block;
    const char *platform;
    json_array_foreach (self->book->homes, index, record)
        if ((all || !count) && s_add (self, s_home (self, argos_json_text (record, "key"))))
            count++;
    json_object_foreach (json_object_get (self->book->config, "platforms"), platform, block) {
        json_t *home = s_record (self->book->homes, platform) || (count && !all)
                           ? NULL
                           : s_home (self, platform);
        if (home && s_add (self, home))
            count++;
    }
    return count;
}

static bool
s_home_word (s_search_t *self)
{
    json_t *home =
        self->book->origin ? s_home (self, argos_json_text (self->book->origin, "platform")) : NULL;
    if (home)
        return s_add (self, home);
    return s_homes (self, false) ||
           s_fail (self, "there is no home: /sethome in a chat makes it one");
}

//  ------------------------------------------------------------------------------------------------
//  Words

static bool
s_origin (s_search_t *self)
{
    char service[ARGOS_NAME_MAX + 1];
    if (self->book->origin && argos_parts_service (self->book->origin, service))
        return s_add (self, json_copy (self->book->origin));
    return s_home_word (self);
}

//  Whether a word can be the name of a platform.

static bool
s_is_platform (const char *word)
{
    size_t length = strspn (word, "abcdefghijklmnopqrstuvwxyz0123456789_");
    return length >= 2 && length <= 32 && !word[length] && islower ((unsigned char) *word);
}

bool
argos_target_alias_valid (const char *alias)
{
    static const char *const ours[] = { "origin", "home", "all" };
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        if (strcasecmp (alias, ours[i]) == 0)
            return false;
    return *alias && strlen (alias) <= 64 && !strpbrk (alias, ",:# \t\r\n");
}

//  What an alias stands for; a word that is none stands for itself. Borrowed.

static const char *
s_unalias (const s_search_t *self, const char *word)
{
    char key[WORD_MAX + 1];
    snprintf (key, sizeof key, "%s", word);
    for (char *c = key; *c; c++)
        *c = (char) tolower ((unsigned char) *c);
    const char *target = argos_json_text (s_record (self->book->aliases, key), "target");
    return *target ? target : word;
}

static bool
s_word (s_search_t *self, const char *word)
{
    char platform[WORD_MAX + 1];
    word = s_unalias (self, word);
    if (strcasecmp (word, "origin") == 0)
        return s_origin (self);
    if (strcasecmp (word, "home") == 0)
        return s_home_word (self);
    if (strcasecmp (word, "all") == 0)
        return s_homes (self, true) || s_fail (self, "no platform has a home");
    snprintf (platform, sizeof platform, "%s", word);
    char *colon = strchr (platform, ':');
    if (colon)
        *colon = 0;
    char *dot = colon ? strchr (platform, '.') : NULL;
    if (dot)
        *dot = 0;
    if (!s_is_platform (platform))
        return s_fail (self, "\"%s\" is no target", word);
    if (colon)
        return colon[1] ? s_chat (self, platform, dot ? dot + 1 : "", colon + 1)
                        : s_fail (self, "\"%s\" names no chat", word);
    json_t *home = s_home (self, platform);
    return home ? s_add (self, home) : s_fail (self, "\"%s\" has no home", word);
}

json_t *
argos_target_resolve (const argos_target_book_t *book, const char *list, char *reason, size_t size)
{
    s_search_t self = { .book = book, .found = json_array (), .reason = reason, .size = size };
    char word[WORD_MAX + 1];
    bool good = true;
    *reason = 0;
    while (good && *list) {
        list += strspn (list, " \t,");
        size_t length = strcspn (list, ",");
        const char *next = list + length;
        while (length && isspace ((unsigned char) list[length - 1]))
            length--;
        if (length > WORD_MAX)
            good = s_fail (&self, "a target has at most %d bytes", WORD_MAX);
        else if (length) {
            snprintf (word, sizeof word, "%.*s", (int) length, list);
            good = s_word (&self, word);
        }
        list = next;
    }
    if (good && !json_array_size (self.found))
        good = s_fail (&self, "no target is named");
    if (good && !*reason)
        return self.found;
    json_decref (self.found);
    return NULL;
}

json_t *
argos_target_record (const json_t *source)
{
    static const char *const kept[] = { "platform", "account", "chat_type", "chat_id", "thread_id",
        "chat_name", "scope_id", "user_id", "user_id_alt", "user_name", "chat_id_alt",
        "parent_chat_id" };
    char lane[ARGOS_ROUTE_KEY_MAX + 1], key[ARGOS_ROUTE_KEY_MAX + 128];
    if (argos_platform_find (argos_json_text (source, "platform"))->by_run ||
        argos_route_lane (source, lane, sizeof lane) != 0)
        return NULL;
    int length = snprintf (key, sizeof key, "%s:%s:%s", argos_json_text (source, "platform"),
        argos_json_text (source, "account"), lane);
    if (length < 0 || length > 512)
        return NULL;
    json_t *copy = json_object ();
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        if (json_object_get (source, kept[i]))
            json_object_set (copy, kept[i], json_object_get (source, kept[i]));
    const char *name = argos_json_text (source, "chat_name");
    if (!*name && argos_source_is_direct (source))
        name = argos_json_text (source, "user_name");
    return json_pack ("{s:s, s:s, s:{s:o, s:s}}", "space", ARGOS_TARGET_SPACE, "key", key, "value",
        "source", copy, "name", name);
}
