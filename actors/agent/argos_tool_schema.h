//  argos_tool_schema - the schema of a tool made fit for a provider. Pure.
//
//  Tools come from anybody; providers refuse the whole request for one odd schema. What is mended:
//  parameters that are no object, an object without properties, types with null, names in
//  `required` that are no property, allOf/oneOf/anyOf/enum/not at the top.

#ifndef ARGOS_TOOL_SCHEMA_H
#define ARGOS_TOOL_SCHEMA_H

#include <jansson.h>
#include <stdbool.h>

//  A new {name, description, parameters} from that of a tool, which is not changed. plain leaves
//  out the keywords pattern and format too (properties of that name stay). What is fit already is
//  the same value.
json_t *argos_tool_schema_fit (const json_t *tool, bool plain);

#endif
