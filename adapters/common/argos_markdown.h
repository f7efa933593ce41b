//  argos_markdown - what a model writes (Markdown) as the messages of a platform: in its markup, in
//  pieces of its length, each with balanced markup.

#ifndef ARGOS_MARKDOWN_H
#define ARGOS_MARKDOWN_H

#include "argos_unit.h"

#include <jansson.h>

typedef enum {
    ARGOS_FORMAT_PLAIN,    //  Text only: IRC, SMS, and where markup was refused
    ARGOS_FORMAT_TELEGRAM, //  Text with entities (no parse_mode); markup does not count
    ARGOS_FORMAT_HTML,     //  The HTML of Telegram; markup does not count
    ARGOS_FORMAT_DISCORD,  //  Markdown once more: tables become code, images links
    ARGOS_FORMAT_SLACK,    //  mrkdwn
    ARGOS_FORMAT_MARKDOWN  //  Markdown, whose emphasis is closed and opened again at cuts
} argos_format_t;

//  The messages for a text: a new array of {"text"} with "entities" where format is Telegram's and
//  there are some; empty when nothing is left to send. limit: units of one message, >= 64 outside
//  of tests. A text that is no UTF-8 gives an empty array.
json_t *argos_markdown_split (
    const char *markdown, argos_format_t format, argos_unit_t unit, size_t limit);

#endif
