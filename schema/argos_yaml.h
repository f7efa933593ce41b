//  argos_yaml - a YAML file as JSON, with the line of each value.
//
//  YAML 1.2 core schema: plain null, true/false, integers (also 0o17, 0x1f) and floats have their
//  type, everything else is a string (so `no` and `on` are strings). Refused, because a
//  configuration needs none of it: anchors and aliases, tags, several documents, keys that are not
//  scalars, a key twice in one mapping, .inf and .nan, NUL. Limits: 1 MiB, 32 levels.

#ifndef ARGOS_YAML_H
#define ARGOS_YAML_H

#include <jansson.h>
#include <stddef.h>

#define ARGOS_YAML_SIZE_MAX 1048576 //  Bytes of a file
#define ARGOS_YAML_DEPTH_MAX 32     //  Levels of nesting

//  Parses size bytes. Returns a new value (JSON null for an empty file), or NULL with one sentence
//  in reason that begins with name and line ("argos.yaml:12: ..."). *ret_lines (may be NULL) is a
//  new object: path in the form of argos_schema_validate ("http.port", "services[2]") -> line from
//  1, "" for the whole.
json_t *argos_yaml_load (const char *name, const void *data, size_t size, json_t **ret_lines,
    char *reason, size_t reason_size);

#endif
