//  argos_tool_memo - see argos_tool_memo.h.
//
//  Invariant: the values that a text was made of are held, so that no other can be at their
//  address. Pure. Limit: one list; who alternates between two writes each anew.

#include "argos_tool_memo.h"

#include "argos_json.h"

#include <stdlib.h>

static bool
s_is_same (const argos_tool_memo_t *self, const json_t *tools, bool plain)
{
    size_t count = json_array_size (tools);
    if (!self->tools || self->plain != plain || json_array_size (self->tools) != count)
        return false;
    for (size_t i = 0; i < count; i++)
        if (json_array_get (self->tools, i) != json_array_get (tools, i))
            return false;
    return true;
}

const char *
argos_tool_memo_text (
    argos_tool_memo_t *self, const json_t *tools, bool plain, argos_tool_memo_fn *form)
{
    if (s_is_same (self, tools, plain))
        return self->text;
    argos_tool_memo_clear (self);
    json_t *formed = form (tools, plain);
    self->text = argos_json_dumps (formed, NULL);
    json_decref (formed);
    if (!self->text)
        abort ();
    self->tools = json_array ();
    self->plain = plain;
    for (size_t i = 0; i < json_array_size (tools); i++)
        json_array_append (self->tools, json_array_get (tools, i));
    return self->text;
}

void
argos_tool_memo_clear (argos_tool_memo_t *self)
{
    json_decref (self->tools);
    free (self->text);
    *self = (argos_tool_memo_t){ .tools = NULL };
}
