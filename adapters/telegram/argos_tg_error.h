//  argos_tg_error - what a refusal of the Bot API means. Pure.
//
//  The code alone says little: the description is matched, in any case, by a table.

#ifndef ARGOS_TG_ERROR_H
#define ARGOS_TG_ERROR_H

#include <stdint.h>

typedef enum {
    ARGOS_TG_REFUSED,     //  For good: another try is no use
    ARGOS_TG_FATAL,       //  The token is no good
    ARGOS_TG_WAIT,        //  Too many: later
    ARGOS_TG_CONFLICT,    //  Somebody else fetches the updates
    ARGOS_TG_WEBHOOK,     //  A webhook is set
    ARGOS_TG_SAME,        //  The message says so already: that is what was wanted
    ARGOS_TG_GONE,        //  The message to be edited is not there, or can't be edited
    ARGOS_TG_NO_REPLY,    //  The message that it answers is not there
    ARGOS_TG_NO_THREAD,   //  The topic is not there
    ARGOS_TG_CLOSED,      //  The topic is closed
    ARGOS_TG_NO_ENTITIES, //  The marks of the text don't fit
    ARGOS_TG_TOO_LONG,    //  The text is too long
    ARGOS_TG_EMPTY,       //  There is no text
    ARGOS_TG_MIGRATED,    //  The group has another id
    ARGOS_TG_DEAD,        //  Nobody there takes messages from us
    ARGOS_TG_FILE,        //  The file is nothing of its kind: as a document
    ARGOS_TG_VOICE,       //  No voice messages: as audio
    ARGOS_TG_IGNORE,      //  It makes no difference
    ARGOS_TG_BROKEN       //  The server has failed: it may have been done
} argos_tg_error_t;

//  The meaning of an answer with this code (of the body; else of HTTP) and description (may be
//  NULL).
argos_tg_error_t argos_tg_error (int code, const char *description);

#endif
