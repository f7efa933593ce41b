//  argos_tg_error - see the header. The first row that fits decides.

#include "argos_tg_error.h"

#include <stddef.h>
#include <string.h>

static const struct {
    int code;                 //  0 = any
    const char *words;        //  In the description; NULL = any
    argos_tg_error_t meaning; //  What it is
} rows[] = {
    { 429, NULL, ARGOS_TG_WAIT },
    { 401, NULL, ARGOS_TG_FATAL },
    { 0, "invalid token specified", ARGOS_TG_FATAL },
    { 409, "webhook is active", ARGOS_TG_WEBHOOK },
    { 409, NULL, ARGOS_TG_CONFLICT },
    { 0, "can't parse entities", ARGOS_TG_NO_ENTITIES },
    { 0, "entity_", ARGOS_TG_NO_ENTITIES },
    { 0, "message is not modified", ARGOS_TG_SAME },
    { 0, "message to edit not found", ARGOS_TG_GONE },
    { 0, "message can't be edited", ARGOS_TG_GONE },
    { 0, "message_id_invalid", ARGOS_TG_GONE },
    { 0, "message is too long", ARGOS_TG_TOO_LONG },
    { 0, "text is too long", ARGOS_TG_TOO_LONG },
    { 0, "caption is too long", ARGOS_TG_TOO_LONG },
    { 0, "message text is empty", ARGOS_TG_EMPTY },
    { 0, "text must be non-empty", ARGOS_TG_EMPTY },
    { 0, "message to be replied not found", ARGOS_TG_NO_REPLY },
    { 0, "reply message not found", ARGOS_TG_NO_REPLY },
    { 0, "message to reply not found", ARGOS_TG_NO_REPLY },
    { 0, "message thread not found", ARGOS_TG_NO_THREAD },
    { 0, "topic_deleted", ARGOS_TG_NO_THREAD },
    { 0, "topic_id_invalid", ARGOS_TG_NO_THREAD },
    { 0, "topic_closed", ARGOS_TG_CLOSED },
    { 0, "upgraded to a supergroup", ARGOS_TG_MIGRATED },
    { 0, "bot was blocked", ARGOS_TG_DEAD },
    { 0, "user is deactivated", ARGOS_TG_DEAD },
    { 0, "bot was kicked", ARGOS_TG_DEAD },
    { 0, "bot is not a member", ARGOS_TG_DEAD },
    { 0, "can't initiate conversation", ARGOS_TG_DEAD },
    { 0, "chat not found", ARGOS_TG_DEAD },
    { 0, "peer_id_invalid", ARGOS_TG_DEAD },
    { 0, "voice_messages_forbidden", ARGOS_TG_VOICE },
    { 0, "photo_invalid_dimensions", ARGOS_TG_FILE },
    { 0, "image_process_failed", ARGOS_TG_FILE },
    { 0, "photo_save_file_invalid", ARGOS_TG_FILE },
    { 0, "wrong type of the web page content", ARGOS_TG_FILE },
    { 0, "query is too old", ARGOS_TG_IGNORE },
    { 0, "query id is invalid", ARGOS_TG_IGNORE },
    { 0, "message can't be deleted", ARGOS_TG_IGNORE },
    { 0, "message to delete not found", ARGOS_TG_IGNORE },
    { 404, NULL, ARGOS_TG_REFUSED },
    { 0, NULL, ARGOS_TG_REFUSED },
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
