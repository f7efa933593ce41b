//  argos_join - see the header. Pure; sodium_init has been called.
//
//  Invariant: what was read fits: argos_join_wrong has nothing to say, and the key bears the name
//  of the node and knows the broker's.

#include "argos_join.h"

#include "argos_config.h"
#include "argos_key_record.h"
#include "argos_node.h"

#include <jansson.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VARIANT sodium_base64_VARIANT_URLSAFE_NO_PADDING

//  Whether each entry of the list is an actor other than the core.

static bool
s_are_actors (const char *list)
{
    size_t count = 0;
    for (const char *text = list; text; text = strchr (text, ','), text += text != NULL) {
        char word[32];
        argos_config_place_t place;
        size_t size = strcspn (text, ",");
        if (size >= sizeof word || ++count > ARGOS_CONFIG_PLACES_MAX)
            return false;
        memcpy (word, text, size);
        word[size] = 0;
        if (!argos_config_place (word, &place) || place.number || strcmp (place.actor, "core") == 0)
            return false;
    }
    return true;
}

const char *
argos_join_wrong (const argos_join_t *self)
{
    if (!argos_config_node_name (self->node) || !argos_key_name_valid (self->node))
        return "a node has a name of 1 to 31 of a-z 0-9 _ -, a letter first, and not that of an "
               "actor";
    if (strcmp (self->node, ARGOS_NODE_CORE) == 0)
        return "that is the name of the node with the core: take another";
    if (strncmp (self->broker, "tcp://", 6) != 0 || !argos_config_endpoint (self->broker, false))
        return "the broker is at tcp://host:port";
    if (!s_are_actors (self->actors))
        return "actors are a list of tools, agent, gateway, api, telegram, discord, slack, with "
               "commas "
               "between; "
               "tools*2: two of them";
    return NULL;
}

char *
argos_join_ticket (const argos_join_t *self)
{
    const argos_key_t *key = &self->key;
    json_t *object = json_pack ("{s:s,s:s,s:s,s:{s:s,s:s,s:s,s:s,s:s,s:s}}", "node", self->node,
        "broker", self->broker, "actors", self->actors, "key", "name", key->name, "role", key->role,
        "public", key->public_key, "secret", key->secret_key, "server", key->server_key, "token",
        key->token);
    char *text = json_dumps (object, JSON_COMPACT);
    json_decref (object);
    if (!text)
        abort ();
    size_t size = strlen (text);
    char *ticket = calloc (1, sodium_base64_encoded_len (size, VARIANT));
    if (!ticket)
        abort ();
    sodium_bin2base64 (ticket, sodium_base64_encoded_len (size, VARIANT),
        (const unsigned char *) text, size, VARIANT);
    sodium_memzero (text, size);
    free (text);
    return ticket;
}

static bool
s_take (const json_t *object, const char *name, char *target, size_t room)
{
    const char *text = json_string_value (json_object_get (object, name));
    if (!text || strlen (text) >= room)
        return false;
    memcpy (target, text, strlen (text) + 1);
    return true;
}

//  From the decoded text.

static bool
s_fill (argos_join_t *self, const char *text, size_t size)
{
    json_t *object = json_loadb (text, size, JSON_REJECT_DUPLICATES, NULL);
    char *key = json_dumps (json_object_get (object, "key"), JSON_COMPACT);
    bool good = key && argos_key_parse (&self->key, key, strlen (key)) == 0 &&
                s_take (object, "node", self->node, sizeof self->node) &&
                s_take (object, "broker", self->broker, sizeof self->broker) &&
                s_take (object, "actors", self->actors, sizeof self->actors) &&
                !argos_join_wrong (self) && strcmp (self->key.name, self->node) == 0 &&
                *self->key.server_key;
    if (key)
        sodium_memzero (key, strlen (key));
    free (key);
    json_decref (object);
    return good;
}

int
argos_join_read (argos_join_t *self, const char *ticket, char *reason, size_t size)
{
    unsigned char text[ARGOS_JOIN_TICKET_MAX];
    const char *end = NULL;
    size_t length = 0;
    memset (self, 0, sizeof *self);
    bool good = sodium_base642bin (text, sizeof text, ticket, strlen (ticket), NULL, &length, &end,
                    VARIANT) == 0 &&
                !*end && s_fill (self, (const char *) text, length);
    sodium_memzero (text, sizeof text);
    if (good)
        return 0;
    argos_join_wipe (self);
    snprintf (reason, size, "that is not a whole ticket of `argos node add`");
    return -1;
}

char *
argos_join_node (const argos_join_t *self)
{
    json_t *actors = json_array ();
    for (const char *word = self->actors; *word; word += strcspn (word, ","), word += *word == ',')
        json_array_append_new (actors, json_stringn (word, strcspn (word, ",")));
    json_t *node = json_pack ("{s:s,s:{s:{s:[s]},s:{s:o,s:s}}}", "node", self->node, "nodes",
        "core", "actors", "core", self->node, "actors", actors, "broker", self->broker);
    char *text = json_dumps (node, JSON_COMPACT);
    json_decref (node);
    if (!text)
        abort ();
    return text;
}

void
argos_join_wipe (argos_join_t *self)
{
    sodium_memzero (self, sizeof *self);
}
