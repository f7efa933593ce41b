//  argos_edit - see the header. Limit: an emoji of 64 bytes.

#include "argos_edit.h"

#include "argos_text.h"

#include <sodium.h>

#include <inttypes.h>
#include <stdint.h>
#include <string.h>

#define EMOJI_BYTES 64 //  Of a reaction

static void
s_put_id (json_t *message, const char *a, const char *b)
{
    uint64_t hash = 0;
    unsigned char bytes[crypto_generichash_BYTES_MIN];
    crypto_generichash_state state;
    crypto_generichash_init (&state, NULL, 0, sizeof bytes);
    crypto_generichash_update (&state, (const unsigned char *) a, strlen (a) + 1);
    crypto_generichash_update (&state, (const unsigned char *) b, strlen (b));
    crypto_generichash_final (&state, bytes, sizeof bytes);
    memcpy (&hash, bytes, sizeof hash);
    json_object_set_new (message, "id",
        json_sprintf ("%s~%016" PRIx64, json_string_value (json_object_get (message, "id")), hash));
}

bool
argos_edit_make (json_t *message, const char *when)
{
    json_t *body = json_object_get (message, "body");
    const char *text = json_string_value (json_object_get (body, "text"));
    if (!text || !*text || *text == '/')
        return false;
    json_object_set (body, "edits", json_object_get (message, "id"));
    s_put_id (message, when, text);
    return true;
}

void
argos_edit_reaction (json_t *message, const char *emoji, bool on, const char *when)
{
    json_t *body = json_object_get (message, "body"), *source = json_object_get (body, "source");
    const char *user = json_string_value (json_object_get (source, "user_id"));
    json_t *text = json_sprintf ("%s %s %s", user ? user : "", on ? "on" : "off", emoji);
    s_put_id (message, when, json_string_value (text));
    json_decref (text);
    json_object_set_new (body, "text", json_string (""));
    json_object_set_new (body, "reaction",
        json_pack ("{s:s#,s:b}", "emoji", emoji,
            argos_utf8_cut (emoji, strlen (emoji), EMOJI_BYTES), "on", on));
}
