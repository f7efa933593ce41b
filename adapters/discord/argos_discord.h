//  argos_discord - the platform Discord (API v10) for argos_adapter.
//
//  In:    events of the gateway (WebSocket), resumed where it left off
//  Out:   messages as Markdown, edits, deletions, reactions, buttons, files, threads
//
//  Settings: platforms.discord (docs/platforms/discord.md). The place in the stream of events is
//  stored with the messages in one commit, under the id of the bot. A message sent twice is one:
//  each has a nonce made of the id of its delivery.

#ifndef ARGOS_DISCORD_H
#define ARGOS_DISCORD_H

#include "argos_adapter.h"

#define ARGOS_DISCORD_URL "https://discord.com/api/v10" //  Where the API is

extern const argos_platform_t argos_discord;

#endif
