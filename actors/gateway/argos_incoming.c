//  argos_incoming - see argos_incoming.h.
//
//  Invariant: what somebody else has chosen (a name, a quoted text) is one line and can't look like
//  the words around it. Pure. Limits: 240 characters of a name, 500 of a quote, 256 KiB in all.

#include "argos_incoming.h"

#include "argos_json_get.h"
#include "argos_platform.h"
#include "argos_source.h"
#include "argos_text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLANKS " \t\r\n"
#define EM_DASH "\xE2\x80\x94"
#define EN_DASH "\xE2\x80\x93"
#define DIVIDER "\n\n[New message]\n"
#define CUT "[...]\n" //  In front of what is left of the channel
#define WISH_SIZE 64  //  Bytes of a plain wish, terminated
#define HEAD_MAX 4096 //  Bytes of a name: 240 characters and a few more

//  ---------------------------------------------------------------------------------------------
//  Commands

bool
argos_incoming_command (const char *text, char *name, const char **ret_arguments)
{
    *name = 0;
    if (*text != '/')
        return false;
    size_t word = strcspn (text + 1, BLANKS);
    if (memchr (text + 1, '/', word))
        return false; //  A path
    const char *at = memchr (text + 1, '@', word);
    size_t length = at ? (size_t) (at - text - 1) : word;
    if (!length || length > ARGOS_INCOMING_NAME_MAX)
        return false;
    for (size_t i = 0; i < length; i++)
        name[i] = (char) tolower ((unsigned char) text[1 + i]); //  The locale is C
    name[length] = 0;
    if (ret_arguments) {
        const char *rest = text + 1 + word;
        *ret_arguments = rest + strspn (rest, BLANKS);
    }
    return true;
}

//  The text with the dashes behind `from` as they were typed; NULL = there are none. The caller's.

static char *
s_repair (const char *text, const char *from)
{
    static const struct {
        const char *typed, *meant; //  The longest first
    } dashes[] = { { EM_DASH EM_DASH, "--" }, { EM_DASH, "--" }, { EN_DASH, "-" } };
    if (!strstr (from, EM_DASH) && !strstr (from, EN_DASH))
        return NULL;
    char *repaired = calloc (1, strlen (text) + 1); //  It only shrinks
    if (!repaired)
        abort ();
    size_t length = (size_t) (from - text);
    memcpy (repaired, text, length);
    while (*from) {
        size_t i = 0;
        while (i < 3 && strncmp (from, dashes[i].typed, strlen (dashes[i].typed)) != 0)
            i++;
        if (i == 3)
            repaired[length++] = *from++;
        else {
            memcpy (repaired + length, dashes[i].meant, strlen (dashes[i].meant));
            length += strlen (dashes[i].meant);
            from += strlen (dashes[i].typed);
        }
    }
    repaired[length] = 0;
    return repaired;
}

//  Whether the words of text (lower case, one blank between) are those of wish, which may stand
//  behind or in front of a `please`.

static bool
s_is_wish (const char *words, const char *wish)
{
    static const char please[] = "please";
    size_t polite = strlen (please), length = strlen (wish);
    if (strncmp (words, please, polite) == 0 && words[polite] == ' ')
        words += polite + 1;
    if (strncmp (words, wish, length) != 0)
        return false;
    words += length;
    return !*words || (words[0] == ' ' && strcmp (words + 1, please) == 0);
}

//  Whether text asks for a restart in plain words, and for nothing else.

static bool
s_is_restart (const char *text)
{
    static const char *const wishes[] = { "restart gateway", "restart the gateway",
        "restart hermes", "restart hermes gateway", "restart argos", "restart argos gateway" };
    char words[WISH_SIZE] = "";
    size_t length = 0;
    for (; *text; text++) {
        bool blank = strchr (BLANKS, *text) != NULL;
        if (blank && (!length || words[length - 1] == ' '))
            continue;
        if (length == sizeof words - 1)
            return false;
        words[length++] = (char) (blank ? ' ' : tolower ((unsigned char) *text));
    }
    if (length && words[length - 1] == ' ')
        length--;
    if (length && strchr (".!?", words[length - 1]))
        length--;
    words[length] = 0;
    for (size_t i = 0; i < sizeof wishes / sizeof *wishes; i++)
        if (s_is_wish (words, wishes[i]))
            return true;
    return false;
}

//  The event with another text.

static json_t *
s_with_text (json_t *body, const char *text)
{
    json_t *copy = json_copy (body);
    json_object_set_new (copy, "text", json_string (text));
    return copy;
}

json_t *
argos_incoming_event (json_t *body)
{
    const json_t *source = json_object_get (body, "source");
    const char *text = argos_json_text (body, "text"), *arguments;
    char name[ARGOS_INCOMING_NAME_MAX + 1];
    if (argos_platform_find (argos_json_text (source, "platform"))->by_run)
        return json_incref (body);
    if (argos_source_is_direct (source) && s_is_restart (text))
        return s_with_text (body, "/restart");
    if (!argos_incoming_command (text, name, &arguments))
        return json_incref (body);
    char *repaired = s_repair (text, arguments);
    if (!repaired)
        return json_incref (body);
    json_t *event = s_with_text (body, repaired);
    free (repaired);
    return event;
}

//  ---------------------------------------------------------------------------------------------
//  What the model reads

//  Whether a character breaks a line, is not seen, or turns the direction of what follows.

static bool
s_is_control (const unsigned char *c, size_t length)
{
    if (length == 1)
        return *c < 0x20 || *c == 0x7F;
    if (length == 2)
        return c[0] == 0xC2 && c[1] < 0xA0;
    if (length != 3 || c[0] != 0xE2)
        return false;
    //  U+200B to U+200F, U+2028 to U+202E, U+2060 to U+206F
    return (c[1] == 0x80 && ((c[2] >= 0x8B && c[2] <= 0x8F) || (c[2] >= 0xA8 && c[2] <= 0xAE))) ||
           (c[1] == 0x81 && c[2] >= 0xA0 && c[2] <= 0xAF);
}

//  Append at most max characters of what somebody else has chosen, in one line; those of `closing`
//  become those of `instead`.

static void
s_add_line (
    argos_text_t *target, const char *text, size_t max, const char *closing, const char *instead)
{
    const unsigned char *c = (const unsigned char *) text;
    size_t left = strlen (text);
    for (; left && max; max--) {
        size_t length = argos_utf8_length (c, left);
        const char *found = *c ? strchr (closing, *c) : NULL;
        if (!length)
            return;
        if (s_is_control (c, length))
            argos_text_add (target, " ", 1);
        else if (found)
            argos_text_add (target, instead + (found - closing), 1);
        else
            argos_text_add (target, c, length);
        c += length;
        left -= length;
    }
    if (left)
        argos_text_add (target, "...", 3);
}

static void
s_add (argos_text_t *target, const char *text)
{
    argos_text_add (target, text, strlen (text));
}

//  The message that is replied to. It is named even when it is in the history: it says which one.

static void
s_add_reply (argos_text_t *head, const json_t *body)
{
    const char *quote = argos_json_text (body, "reply_to_text");
    const char *author = argos_json_text (body, "reply_to_author_name");
    if (!*quote)
        return;
    if (json_is_true (json_object_get (body, "reply_to_is_own_message")))
        s_add (head, "[In reply to your own message: \"");
    else if (*author) {
        s_add (head, "[In reply to ");
        s_add_line (head, author, ARGOS_INCOMING_PERSON_MAX, "[]:\"", "().'");
        s_add (head, ": \"");
    }
    else
        s_add (head, "[In reply to the message: \"");
    s_add_line (head, quote, ARGOS_INCOMING_QUOTE_MAX, "\"", "'");
    s_add (head, "\"]\n\n");
}

//  What was written in the channel since, as much of its end as fits into room bytes.

static void
s_add_channel (argos_text_t *target, const char *context, size_t room)
{
    size_t size = strlen (context), extra = strlen (DIVIDER);
    if (!size || room <= extra)
        return;
    room -= extra;
    if (size > room) {
        if (room <= strlen (CUT))
            return;
        s_add (target, CUT);
        context += size - (room - strlen (CUT));
        while (((unsigned char) *context & 0xC0) == 0x80)
            context++;
    }
    s_add (target, context);
    s_add (target, DIVIDER);
}

json_t *
argos_incoming_text (const json_t *body, bool shared)
{
    const json_t *source = json_object_get (body, "source");
    const char *text = argos_json_text (body, "text");
    const char *person = argos_json_text (source, "user_name");
    argos_text_t name, whole;
    argos_text_init (&name, HEAD_MAX);
    argos_text_init (&whole, ARGOS_INCOMING_TEXT_MAX);
    if (shared && *person && !json_is_true (json_object_get (body, "internal"))) {
        s_add (&name, "[");
        s_add_line (&name, person, ARGOS_INCOMING_PERSON_MAX, "[]", "()");
        s_add (&name, "] ");
    }
    s_add_reply (&whole, body);
    size_t needed = whole.size + name.size + strlen (text);
    json_t *result = NULL;
    if (needed <= ARGOS_INCOMING_TEXT_MAX) {
        s_add_channel (
            &whole, argos_json_text (body, "channel_context"), ARGOS_INCOMING_TEXT_MAX - needed);
        s_add (&whole, argos_text_str (&name));
        s_add (&whole, text);
        result = json_stringn (argos_text_str (&whole), whole.size);
    }
    argos_text_clear (&name);
    argos_text_clear (&whole);
    return result;
}

json_t *
argos_incoming_instructions (const json_t *body)
{
    const char *own = argos_json_text (body, "instructions");
    const char *channel = argos_json_text (body, "channel_prompt");
    if (!*own && !*channel)
        return NULL;
    return json_sprintf ("%s%s%s", own, *own && *channel ? "\n\n" : "", channel);
}
