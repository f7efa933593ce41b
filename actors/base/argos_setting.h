//  argos_setting - looks up one key of a snapshot of the configuration. Pure.
//
//  The snapshot is the JSON of argos.yaml, local.yaml and the environment together, checked by
//  schema/config.schema.json, with its defaults filled in (argos_config_t.settings). A path is
//  names with dots ("display.busy_input_mode"). It is looked for in platforms.<platform>.<chat
//  type>, then in platforms.<platform>, then at the top: the first that has it decides. platform
//  and chat_type may be NULL: then that place is left out. Ask for leaves: a block of a platform is
//  not merged with the one at the top. Write the path as one string in the call, because a test
//  looks for the keys that nothing reads.

#ifndef ARGOS_SETTING_H
#define ARGOS_SETTING_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

//  The value; NULL = it is set nowhere and has no default. Borrowed. config may be NULL (nothing is
//  set).
const json_t *argos_setting (
    const json_t *config, const char *platform, const char *chat_type, const char *path);

//  The same as a text (NULL when there is none), a number (0), a flag (false). Borrowed.
const char *argos_setting_text (
    const json_t *config, const char *platform, const char *chat_type, const char *path);
int64_t argos_setting_int (
    const json_t *config, const char *platform, const char *chat_type, const char *path);
bool argos_setting_bool (
    const json_t *config, const char *platform, const char *chat_type, const char *path);

//  Whether the value is a list that contains text. A number in the list counts as its digits.
bool argos_setting_has (const json_t *config, const char *platform, const char *chat_type,
    const char *path, const char *text);

//  The value below tree at path, without platforms; NULL = there is none. Borrowed.
json_t *argos_setting_at (const json_t *tree, const char *path);

//  Sets the value (stolen; NULL takes it out) below tree, making the objects on the way. Returns 0,
//  or -1 when something on the way is no object, or path has an empty name.
int argos_setting_put (json_t *tree, const char *path, json_t *value);

#endif
