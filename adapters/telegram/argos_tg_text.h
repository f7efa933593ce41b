//  argos_tg_text - places in a text as Telegram counts them (UTF-16 units), and whom a text
//  addresses. Pure.

#ifndef ARGOS_TG_TEXT_H
#define ARGOS_TG_TEXT_H

#include "argos_tg_read.h"

#include <stddef.h>

//  The byte at which UTF-16 unit `unit` of the text begins; its size when it is behind the end.
size_t argos_tg_offset (const char *text, int64_t unit);

//  Length of the text in UTF-16 units.
int64_t argos_tg_units (const char *text);

//  What a message says to us

typedef struct {
    bool ours;    //  It names us: a mention, a command with our name, a pattern
    bool others;  //  It mentions another bot
    bool foreign; //  It is a command for another bot
    char *text;   //  Without our name, new
} argos_tg_said_t;

//  Reads text and entities (an array, may be NULL). The caller frees said.text.
argos_tg_said_t argos_tg_said (const char *text, const json_t *entities, const argos_tg_who_t *who);

#endif
