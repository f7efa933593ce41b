//  argos_agent_user - what the user says, as the model gets it: the text, and a note for each file
//  that came with it.
//
//  Pure. A note is one line; control characters in what a stranger has called a file are blanks.
//  Limits: those of turn.request (16 files).

#include "argos_agent_priv.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define NOTES_MAX 16384 //  Bytes of all notes

static void
s_add (argos_text_t *notes, const char *text)
{
    argos_text_add (notes, text, strlen (text));
}

//  A member that somebody else has chosen, in one line.

static void
s_add_member (argos_text_t *notes, const char *before, const json_t *attachment, const char *name)
{
    const char *text = json_string_value (json_object_get (attachment, name));
    if (!text)
        return;
    s_add (notes, before);
    for (; *text; text++) {
        if (iscntrl ((unsigned char) *text))
            s_add (notes, " ");
        else
            argos_text_add (notes, text, 1);
    }
}

static void
s_add_note (argos_text_t *notes, const json_t *attachment)
{
    const json_t *size = json_object_get (attachment, "size");
    char bytes[48];
    s_add (notes, "\n[attached ");
    s_add_member (notes, "", attachment, "kind");
    s_add_member (notes, ": ", attachment, "name");
    s_add_member (notes, ", ", attachment, "media_type");
    snprintf (bytes, sizeof bytes, ", %" JSON_INTEGER_FORMAT " bytes", json_integer_value (size));
    if (size)
        s_add (notes, bytes);
    s_add_member (notes, "; the tool attachment reads it: {\"blob\":\"", attachment, "blob");
    s_add (notes, "\"}]");
}

json_t *
turn_user_new (const json_t *request)
{
    json_t *text = json_object_get (request, "text");
    const json_t *attachments = json_object_get (request, "attachments");
    if (!json_array_size (attachments))
        return json_is_string (text) ? json_incref (text) : json_string ("");
    argos_text_t notes;
    argos_text_init (&notes, NOTES_MAX);
    size_t index;
    json_t *attachment;
    json_array_foreach (attachments, index, attachment)
        s_add_note (&notes, attachment);
    const char *said = json_string_value (text);
    json_t *user = json_sprintf ("%s\n%s", said ? said : "", argos_text_str (&notes));
    argos_text_clear (&notes);
    return user;
}
