//  argos_slack - the platform Slack (Socket Mode, Web API) for argos_adapter.
//
//  In:    envelopes of Socket Mode: events, slash commands, buttons
//  Out:   messages as mrkdwn, edits, deletions, reactions, buttons, files, threads
//
//  Settings: platforms.slack (docs/platforms/slack.md). An envelope is acknowledged when what it
//  says is stored. A message that was perhaps sent is looked for by its metadata before it is sent
//  again.

#ifndef ARGOS_SLACK_H
#define ARGOS_SLACK_H

#include "argos_adapter.h"

#define ARGOS_SLACK_URL "https://slack.com/api" //  Where the API is

extern const argos_platform_t argos_slack;

#endif
