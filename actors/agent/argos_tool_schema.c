//  argos_tool_schema - the schema of a tool made fit for a provider. Pure.
//
//  Limits: 16 levels of a schema are looked at, what is deeper stays as it is.

#include "argos_tool_schema.h"

#include <string.h>

#define DEPTH_MAX 16 //  Levels that are looked at

static void s_mend (json_t *schema, bool plain, int depth);

//  {"type":["string","null"]} becomes {"type":"string"}
static void
s_mend_type (json_t *schema)
{
    const json_t *types = json_object_get (schema, "type");
    size_t i;
    json_t *type;
    if (!json_is_array (types))
        return;
    json_array_foreach (types, i, type)
        if (json_is_string (type) && strcmp (json_string_value (type), "null") != 0) {
            json_object_set (schema, "type", type);
            return;
        }
}

static void
s_mend_required (json_t *schema, const json_t *properties)
{
    json_t *required = json_object_get (schema, "required");
    if (!json_is_array (required))
        return;
    for (size_t i = json_array_size (required); i > 0; i--) {
        const char *name = json_string_value (json_array_get (required, i - 1));
        if (!name || !json_object_get (properties, name))
            json_array_remove (required, i - 1);
    }
}

//  NOLINTBEGIN(misc-no-recursion): as deep as DEPTH_MAX

static void
s_mend_object (json_t *schema, bool plain, int depth)
{
    json_t *properties = json_object_get (schema, "properties");
    const char *name;
    json_t *property;
    if (!json_is_object (properties)) {
        properties = json_object ();
        json_object_set_new (schema, "properties", properties);
    }
    json_object_foreach (properties, name, property) {
        if (json_is_string (property)) //  A bare type
            json_object_set_new (properties, name, json_pack ("{s:O}", "type", property));
        else
            s_mend (property, plain, depth + 1);
    }
    s_mend_required (schema, properties);
}

static void
s_mend (json_t *schema, bool plain, int depth)
{
    if (!json_is_object (schema) || depth > DEPTH_MAX)
        return;
    s_mend_type (schema);
    if (plain) {
        json_object_del (schema, "pattern");
        json_object_del (schema, "format");
    }
    const char *type = json_string_value (json_object_get (schema, "type"));
    if (json_object_get (schema, "properties") || (type && strcmp (type, "object") == 0))
        s_mend_object (schema, plain, depth);
    s_mend (json_object_get (schema, "items"), plain, depth + 1);
}

//  NOLINTEND(misc-no-recursion)

json_t *
argos_tool_schema_fit (const json_t *tool, bool plain)
{
    static const char *const tops[] = { "allOf", "oneOf", "anyOf", "enum", "not" };
    json_t *fit = json_deep_copy (tool);
    json_t *parameters = json_object_get (fit, "parameters");
    if (!json_is_object (parameters)) {
        parameters = json_object ();
        json_object_set_new (fit, "parameters", parameters);
    }
    json_object_set_new (parameters, "type", json_string ("object"));
    for (size_t i = 0; i < sizeof tops / sizeof *tops; i++)
        json_object_del (parameters, tops[i]);
    s_mend (parameters, plain, 0);
    return fit;
}
