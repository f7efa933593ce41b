//  argos_json_get - members of an object, by their names.
//
//  For objects that a schema has judged already, or where a member of another kind is as good as
//  none. object may be NULL or no object: then there is no member.

#ifndef ARGOS_JSON_GET_H
#define ARGOS_JSON_GET_H

#include <jansson.h>
#include <stdint.h>

//  The text of a member, borrowed; NULL when there is none.
static inline const char *
argos_json_find_text (const json_t *object, const char *name)
{
    return json_string_value (json_object_get (object, name));
}

//  The text of a member, borrowed; "" when there is none.
static inline const char *
argos_json_text (const json_t *object, const char *name)
{
    const char *text = argos_json_find_text (object, name);
    return text ? text : "";
}

//  The integer of a member; 0 when there is none.
static inline int64_t
argos_json_int (const json_t *object, const char *name)
{
    return json_integer_value (json_object_get (object, name));
}

#endif
