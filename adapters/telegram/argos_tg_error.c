//  argos_tg_error - see the header. The first row that fits decides.

#include "argos_tg_error.h"

#include <stddef.h>
#include <string.h>

static const struct {
    const char *words;        //  In the description; NULL = any
    int code;                 //  0 = any
    argos_tg_error_t meaning; //  What it is
} rows[] = {
    { NULL, 429, ARGOS_TG_WAIT },
    { NULL, 401, ARGOS_TG_FATAL },
    { "invalid token specified", 0, ARGOS_TG_FATAL },
    { "webhook is active", 409, ARGOS_TG_WEBHOOK },
    { NULL, 409, ARGOS_TG_CONFLICT },
    { "can't parse entities", 0, ARGOS_TG_NO_ENTITIES },
    { "entity_", 0, ARGOS_TG_NO_ENTITIES },
    { "message is not modified", 0, ARGOS_TG_SAME },
    { "message to edit not found", 0, ARGOS_TG_GONE },
    { "message can't be edited", 0, ARGOS_TG_GONE },
    { "message_id_invalid", 0, ARGOS_TG_GONE },
    { "message is too long", 0, ARGOS_TG_TOO_LONG },
    { "text is too long", 0, ARGOS_TG_TOO_LONG },
    { "caption is too long", 0, ARGOS_TG_TOO_LONG },
    { "message text is empty", 0, ARGOS_TG_EMPTY },
    { "text must be non-empty", 0, ARGOS_TG_EMPTY },
    { "message to be replied not found", 0, ARGOS_TG_NO_REPLY },
    { "reply message not found", 0, ARGOS_TG_NO_REPLY },
    { "message to reply not found", 0, ARGOS_TG_NO_REPLY },
    { "message thread not found", 0, ARGOS_TG_NO_THREAD },
    { "topic_deleted", 0, ARGOS_TG_NO_THREAD },
    { "topic_id_invalid", 0, ARGOS_TG_NO_THREAD },
    { "topic_closed", 0, ARGOS_TG_CLOSED },
    { "upgraded to a supergroup", 0, ARGOS_TG_MIGRATED },
    { "bot was blocked", 0, ARGOS_TG_DEAD },
    { "user is deactivated", 0, ARGOS_TG_DEAD },
    { "bot was kicked", 0, ARGOS_TG_DEAD },
    { "bot is not a member", 0, ARGOS_TG_DEAD },
    { "can't initiate conversation", 0, ARGOS_TG_DEAD },
    { "chat not found", 0, ARGOS_TG_DEAD },
    { "peer_id_invalid", 0, ARGOS_TG_DEAD },
    { "voice_messages_forbidden", 0, ARGOS_TG_VOICE },
    { "photo_invalid_dimensions", 0, ARGOS_TG_FILE },
    { "image_process_failed", 0, ARGOS_TG_FILE },
    { "photo_save_file_invalid", 0, ARGOS_TG_FILE },
    { "wrong type of the web page content", 0, ARGOS_TG_FILE },
    { "query is too old", 0, ARGOS_TG_IGNORE },
    { "query id is invalid", 0, ARGOS_TG_IGNORE },
    { "message can't be deleted", 0, ARGOS_TG_IGNORE },
    { "message to delete not found", 0, ARGOS_TG_IGNORE },
    { NULL, 404, ARGOS_TG_REFUSED },
    { NULL, 0, ARGOS_TG_REFUSED },
};

argos_tg_error_t
argos_tg_error (int code, const char *description)
{
    if (code / 100 == 5)
        return ARGOS_TG_BROKEN;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].code && rows[i].code != code)
            continue;
        if (!rows[i].words || (description && strcasestr (description, rows[i].words)))
            return rows[i].meaning;
    }
    return ARGOS_TG_REFUSED;
}
