//  argos_keyring - the keys and tokens that the broker knows, and which names are theirs.
//
//  Invariant: a name belongs to one key at most, so that nobody can take the place of another by
//  calling itself the same. Tokens are compared as hashes: nothing that is kept here lets anyone
//  in. Limit: what the auth actor sends, 4,096 keys.

#include "argos_keyring.h"

#include "argos_json_get.h"

#include <assert.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

typedef struct {
    argos_keyring_key_t key; //  What others see; points into record
    json_t *record;          //  Keeps its strings
    UT_hash_handle hh;       //  By name
    UT_hash_handle hh_token; //  By hash of the token
} slot_t;

struct argos_keyring {
    json_t *fixed;  //  Tokens of this start
    slot_t *names;  //  Keys by name
    slot_t *tokens; //  Keys and tokens by hash
    slot_t *slots;  //  All of them
    size_t count;   //  How many
};

static void
s_clear (argos_keyring_t *self)
{
    HASH_CLEAR (hh, self->names);
    HASH_CLEAR (hh_token, self->tokens);
    free (self->slots);
    self->slots = NULL;
    self->count = 0;
}

static void
s_add (argos_keyring_t *self, json_t *record)
{
    slot_t *slot = &self->slots[self->count++], *other = NULL;
    slot->record = record;
    slot->key = (argos_keyring_key_t){ .name = argos_json_text (record, "name"),
        .role = argos_json_text (record, "role"),
        .public_key = argos_json_text (record, "public"),
        .token_sha256 = argos_json_text (record, "token_sha256"),
        .platform = argos_json_text (record, "platform"),
        .account = argos_json_text (record, "account") };
    const argos_keyring_key_t *key = &slot->key;
    if (*key->name)
        HASH_FIND (hh, self->names, key->name, strlen (key->name), other);
    if (*key->name && !other)
        HASH_ADD_KEYPTR (hh, self->names, key->name, strlen (key->name), slot);
    if (*key->token_sha256 && !other)
        HASH_FIND (hh_token, self->tokens, key->token_sha256, strlen (key->token_sha256), other);
    if (*key->token_sha256 && !other)
        HASH_ADD_KEYPTR (
            hh_token, self->tokens, key->token_sha256, strlen (key->token_sha256), slot);
}

//  Strings of a record stay in bounds, for others copy them.

static bool
s_is_record (const json_t *record)
{
    return json_is_object (record) && strlen (argos_json_text (record, "name")) <= ARGOS_NAME_MAX &&
           strlen (argos_json_text (record, "role")) <= ARGOS_NAME_MAX &&
           strlen (argos_json_text (record, "public")) <= ARGOS_NAME_MAX &&
           strlen (argos_json_text (record, "token_sha256")) <= ARGOS_NAME_MAX &&
           strlen (argos_json_text (record, "platform")) <= ARGOS_PLATFORM_MAX &&
           strlen (argos_json_text (record, "account")) <= ARGOS_NAME_MAX;
}

//  The texts of a list are shared with the slots, which hold references.

static void
s_fill (argos_keyring_t *self, json_t *list)
{
    json_t *record;
    size_t index, room = json_array_size (list) + json_array_size (self->fixed);
    slot_t *old = self->slots;
    size_t old_count = self->count;
    HASH_CLEAR (hh, self->names);
    HASH_CLEAR (hh_token, self->tokens);
    self->count = 0;
    self->slots = calloc (room ? room : 1, sizeof *self->slots);
    assert (self->slots);
    json_array_foreach (self->fixed, index, record)
        s_add (self, json_incref (record));
    json_array_foreach (list, index, record)
        if (s_is_record (record))
            s_add (self, json_incref (record));
    for (size_t i = 0; i < old_count; i++)
        json_decref (old[i].record);
    free (old);
}

argos_keyring_t *
argos_keyring_new (const char *tokens)
{
    argos_keyring_t *self = calloc (1, sizeof *self);
    assert (self);
    self->fixed = tokens ? json_loads (tokens, 0, NULL) : NULL;
    s_fill (self, NULL);
    return self;
}

void
argos_keyring_destroy (argos_keyring_t **self_p)
{
    if (!self_p || !*self_p)
        return;
    argos_keyring_t *self = *self_p;
    for (size_t i = 0; i < self->count; i++)
        json_decref (self->slots[i].record);
    s_clear (self);
    json_decref (self->fixed);
    free (self);
    *self_p = NULL;
}

int
argos_keyring_fill (argos_keyring_t *self, const char *text, size_t size)
{
    json_t *list = json_loadb (text, size, 0, NULL);
    int rc = json_is_array (list) ? 0 : -1;
    if (rc == 0)
        s_fill (self, list);
    json_decref (list);
    return rc;
}

static const argos_keyring_key_t *
s_find (const argos_keyring_t *self, const char *name, size_t size)
{
    slot_t *slot = NULL;
    if (size > 0)
        HASH_FIND (hh, self->names, name, size, slot);
    return slot ? &slot->key : NULL;
}

const argos_keyring_key_t *
argos_keyring_named (const argos_keyring_t *self, const char *name)
{
    return s_find (self, name, strlen (name));
}

const argos_keyring_key_t *
argos_keyring_of_token (const argos_keyring_t *self, const char *token)
{
    unsigned char hash[crypto_hash_sha256_BYTES];
    char hex[2 * crypto_hash_sha256_BYTES + 1];
    slot_t *slot = NULL;
    crypto_hash_sha256 (hash, (const unsigned char *) token, strlen (token));
    sodium_bin2hex (hex, sizeof hex, hash, sizeof hash);
    HASH_FIND (hh_token, self->tokens, hex, strlen (hex), slot);
    return slot ? &slot->key : NULL;
}

static bool
s_is_core (const argos_keyring_key_t *key)
{
    return strcmp (key->role, "core") == 0;
}

//  The key that a base name is, or begins with; the longest one.

static const argos_keyring_key_t *
s_owner (const argos_keyring_t *self, const char *name)
{
    char base[ARGOS_NAME_MAX + 1];
    argos_name_base (name, base);
    for (size_t size = strlen (base); size > 0;) {
        const argos_keyring_key_t *key = s_find (self, base, size);
        if (key && !s_is_core (key))
            return key;
        while (size > 0 && base[--size] != '.')
            ;
    }
    return NULL;
}

//  Whether a name is that of the account for which our own token was made. It stays with it when a
//  key is made for another host, or the adapter here would not come back before it has moved.

static bool
s_is_account (const argos_keyring_key_t *key, const char *name)
{
    size_t size = strlen (key->platform);
    return strncmp (name, key->platform, size) == 0 && name[size] == '.' &&
           strcmp (name + size + 1, key->account) == 0;
}

bool
argos_keyring_may_bear (
    const argos_keyring_t *self, const argos_keyring_key_t *key, const char *name)
{
    const char *at = strchr (name, '@');
    const argos_keyring_key_t *node = at ? argos_keyring_named (self, at + 1) : NULL;
    if (node && !s_is_core (node))
        node = NULL;
    if (key && s_is_core (key))
        return !*key->name || node == key;
    if (key && *key->name)
        return s_owner (self, name) == key;
    if (key && *key->platform && s_is_account (key, name))
        return true;
    return !node && !s_owner (self, name);
}
