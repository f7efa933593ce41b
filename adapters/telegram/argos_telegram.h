//  argos_telegram - the platform Telegram (Bot API) for argos_adapter.
//
//  In:    updates by long poll, or by a webhook of 127.0.0.1 behind a proxy
//  Out:   messages as text with entities, edits, deletions, reactions, buttons, files
//
//  Settings: platforms.telegram (docs/platforms/telegram.md). The cursor of updates is stored with
//  the messages in one commit, under the id of the bot.

#ifndef ARGOS_TELEGRAM_H
#define ARGOS_TELEGRAM_H

#include "argos_adapter.h"

#define ARGOS_TELEGRAM_URL "https://api.telegram.org" //  Where the API is

extern const argos_platform_t argos_telegram;

#endif
