//  argos_tool_name - other spellings of the names of tools, which models have learned elsewhere.
//  Pure.

#ifndef ARGOS_TOOL_NAME_H
#define ARGOS_TOOL_NAME_H

#include <jansson.h>

//  The tool that a name means: another spelling's, else the name itself. Case does not matter for
//  spellings. Borrowed or static.
const char *argos_tool_name (const char *name);

#define ARGOS_TOOL_NAME_ROOM 65 //  Bytes of a name, terminated

//  The tool of the list ([{"name"}]) that an unknown name most likely means: other case, blanks and
//  dashes, words run together as in CamelCase, "tool" behind it; at last the one that is nearest
//  when it is near enough (0.7 of the letters in order) and no other is as near. Borrowed from the
//  list; NULL = none.
const char *argos_tool_name_repair (const char *name, const json_t *tools);

#endif
