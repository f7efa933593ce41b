//  argos_markup - a part of a laid-out text in the markup of a platform.

#ifndef ARGOS_MARKUP_H
#define ARGOS_MARKUP_H

#include "argos_markdown.h"
#include "argos_rich.h"

//  The bytes [from, to) of the text in that markup (Telegram: without any). The caller frees it.
char *argos_markup_text (const argos_rich_t *rich, argos_format_t format, size_t from, size_t to);

//  The entities of Telegram for [from, to): a new array, with offsets in units of UTF-16.
json_t *argos_markup_entities (const argos_rich_t *rich, size_t from, size_t to);

//  Markdown for Discord: tables become blocks of code, images links; all else as it is. The caller
//  frees it.
char *argos_markup_discord (const char *markdown, size_t table_width);

#endif
