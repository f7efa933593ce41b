//  argos_gateway_part - see argos_gateway_part.h. No invariant, no limits: it copies members.

#include "argos_gateway_part.h"

argos_peer_part_t
argos_gateway_part (const json_t *json)
{
    json_t *body = json_object_get (json, "body");
    return (argos_peer_part_t){
        .type = json_string_value (json_object_get (json, "type")),
        .to = json_string_value (json_object_get (json, "to")),
        .id = json_string_value (json_object_get (json, "id")),
        .key = json_string_value (json_object_get (json, "key")),
        .durable = json_is_true (json_object_get (json, "durable")),
        .side = json_is_true (json_object_get (json, "side")),
        .urgent = json_is_true (json_object_get (json, "urgent")),
        .last = json_is_true (json_object_get (json, "last")),
        .not_before = json_integer_value (json_object_get (json, "not_before")),
        .body = json_incref (body),
    };
}
