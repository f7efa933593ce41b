//  argos_route_key - which conversation a message belongs to.
//
//  Invariant: two sources that differ in what the key is made of never have the same key, but for
//  the case that the header names. Pure: no clock, no file, no state. Limit: 1024 bytes, longer
//  ones are folded.

#include "argos_route_key.h"

#include "argos_json_get.h"
#include "argos_platform.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#define WEBHOOK "webhook" //  First component of the ids of a delivery
#define FOLD_MARK "%~"    //  In front of the hash of a folded key
#define KEY_ROOM                                                                                   \
    (16 * 1024) //  A key before folding: five ids of 255 bytes, each escaped, and some more

typedef struct {
    char text[KEY_ROOM]; //  What has been joined so far, not terminated
    size_t length;       //  How much
    bool full;           //  Something did not fit
} route_t;

//  Append one character, or nothing when there is no room.

static void
s_put (route_t *self, char c)
{
    if (self->length == sizeof self->text)
        self->full = true;
    else
        self->text[self->length++] = c;
}

//  Append text as it is.

static void
s_raw (route_t *self, const char *text)
{
    for (; *text; text++)
        s_put (self, *text);
}

//  Append size bytes of an id, escaped, behind a separator.

static void
s_id (route_t *self, const char *id, size_t size)
{
    if (self->length)
        s_put (self, ':');
    for (size_t i = 0; i < size; i++) {
        if (id[i] == ':')
            s_raw (self, "%3A");
        else if (id[i] == '.' && i && id[i - 1] == '.')
            s_raw (self, "%2E");
        else if (id[i] == '%')
            s_raw (self, "%25");
        else
            s_put (self, id[i]);
    }
}

//  The same for a terminated id; "" leaves nothing.

static void
s_component (route_t *self, const char *id)
{
    if (*id)
        s_id (self, id, strlen (id));
}

//  Who speaks: the stable alternate id where the platform has one.

static const char *
s_participant (const json_t *source)
{
    const char *alternate = argos_json_text (source, "user_id_alt");
    return *alternate ? alternate : argos_json_text (source, "user_id");
}

//  When source is a webhook delivery (see the header), append it in its own shape and return true.

static bool
s_webhook (route_t *self, const json_t *source)
{
    const char *chat = argos_json_text (source, "chat_id");
    const char *user = s_participant (source);
    size_t user_size = strlen (user), prefix = strlen (WEBHOOK ":");
    if (!argos_platform_find (argos_json_text (source, "platform"))->webhook ||
        *argos_json_text (source, "thread_id") || strncmp (user, WEBHOOK ":", prefix) != 0 ||
        user_size == prefix)
        return false;
    if (strncmp (chat, user, user_size) != 0 || chat[user_size] != ':' || !chat[user_size + 1])
        return false;
    const char *delivery = chat + user_size + 1;
    s_component (self, WEBHOOK);
    s_id (self, user + prefix, user_size - prefix);
    s_component (self, delivery);
    s_component (self, WEBHOOK);
    s_id (self, user + prefix, user_size - prefix);
    return true;
}

//  What stands behind `dm`.

static void
s_direct (route_t *self, const json_t *source)
{
    const char *thread = argos_json_text (source, "thread_id");
    const char *chat = argos_json_text (source, "chat_id");
    if (!*chat)
        chat = s_participant (source);
    s_component (self, chat);
    s_component (self, thread);
}

//  Whether everybody has a session of his own where source comes from.

static bool
s_is_private (const json_t *source, const argos_route_policy_t *policy)
{
    return policy->per_user &&
           (!*argos_json_text (source, "thread_id") || policy->per_user_in_thread);
}

//  What stands behind every other chat type.

static void
s_group (route_t *self, const json_t *source, const argos_route_policy_t *policy)
{
    if (policy->per_user && s_webhook (self, source))
        return;
    s_component (self, argos_json_text (source, "chat_id"));
    s_component (self, argos_json_text (source, "thread_id"));
    if (s_is_private (source, policy))
        s_component (self, s_participant (source));
}

//  Copy the key to target, folded when it is too long.

static int
s_finish (const route_t *self, char *target, size_t size)
{
    *target = 0;
    if (self->full || size <= ARGOS_ROUTE_KEY_MAX)
        return -1;
    if (self->length <= ARGOS_ROUTE_KEY_MAX) {
        memcpy (target, self->text, self->length);
        target[self->length] = 0;
        return 0;
    }
    unsigned char hash[crypto_hash_sha256_BYTES];
    char hex[2 * sizeof hash + 1];
    crypto_hash_sha256 (hash, (const unsigned char *) self->text, self->length);
    sodium_bin2hex (hex, sizeof hex, hash, sizeof hash);
    //  Cut the readable part so that no character of UTF-8 and no escape is left in halves
    size_t keep = ARGOS_ROUTE_KEY_MAX - strlen (FOLD_MARK) - strlen (hex);
    while (keep && ((unsigned char) self->text[keep] & 0xC0) == 0x80)
        keep--;
    for (size_t back = 1; back <= 2 && back <= keep; back++)
        if (self->text[keep - back] == '%')
            keep -= back;
    memcpy (target, self->text, keep);
    snprintf (target + keep, size - keep, "%s%s", FOLD_MARK, hex);
    return 0;
}

void
argos_route_policy_init (argos_route_policy_t *policy)
{
    *policy = (argos_route_policy_t){ .per_user = true };
}

int
argos_route_key (
    const json_t *source, const argos_route_policy_t *policy, char *target, size_t size)
{
    if (!size)
        return -1;
    *target = 0;
    if (!json_is_object (source))
        return -1;
    route_t key; //  Its text is large: only what is used is set
    key.length = 0;
    key.full = false;
    const char *type = argos_json_text (source, "chat_type");
    if (!*type)
        type = "dm";
    s_raw (&key, "agent");
    s_component (&key, policy->profile && *policy->profile ? policy->profile : "main");
    s_component (&key, argos_json_text (source, "platform"));
    s_component (&key, type);
    if (strcmp (type, "dm") == 0)
        s_direct (&key, source);
    else
        s_group (&key, source, policy);
    return s_finish (&key, target, size);
}

void
argos_route_record (const char *key, char target[static ARGOS_ROUTE_RECORD_SIZE])
{
    unsigned char hash[crypto_hash_sha256_BYTES];
    if (snprintf (target, ARGOS_ROUTE_RECORD_SIZE, "%s", key) < ARGOS_ROUTE_RECORD_SIZE)
        return;
    crypto_hash_sha256 (hash, (const unsigned char *) key, strlen (key));
    sodium_bin2hex (target, ARGOS_ROUTE_RECORD_SIZE, hash, sizeof hash);
}

bool
argos_route_is_shared (const json_t *source, const argos_route_policy_t *policy)
{
    const char *type = argos_json_text (source, "chat_type");
    return *type && strcmp (type, "dm") != 0 && !s_is_private (source, policy);
}

int
argos_route_lane (const json_t *source, char *target, size_t size)
{
    if (!size)
        return -1;
    *target = 0;
    if (!json_is_object (source))
        return -1;
    route_t key; //  Its text is large: only what is used is set
    key.length = 0;
    key.full = false;
    const char *chat = argos_json_text (source, "chat_id");
    s_component (&key, *chat ? chat : s_participant (source));
    s_component (&key, argos_json_text (source, "thread_id"));
    if (!key.length)
        s_raw (&key, "-");
    return s_finish (&key, target, size);
}
