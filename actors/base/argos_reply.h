//  argos_reply - from the text that a model has said to what a chat gets of it. Pure.
//
//  A text may be silence (`[SILENT]`, `NO_REPLY`), nothing at all, an error page instead of an
//  answer, or words with files: `MEDIA:<path>`, bare, quoted or in backticks, at the beginning of a
//  word and outside of code, quotations and JSON strings. `[[audio_as_voice]]` and
//  `[[as_document]]` count for all files of the text. What is stored and what programs read (the
//  run's output) stays as it was said.

#ifndef ARGOS_REPLY_H
#define ARGOS_REPLY_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define ARGOS_REPLY_MEDIA_MAX 16  //  Files of a text; more stay as they are written
#define ARGOS_REPLY_PATH_MAX 1024 //  Bytes of a path

typedef struct {
    bool silent;   //  It says that it says nothing: nothing is delivered
    char *text;    //  Words for people, own; "" = none
    json_t *media; //  [{"path","kind"}] in order, own; kind as of an attachment
} argos_reply_t;

//  Reads a text. Clear it in any case.
void argos_reply_read (argos_reply_t *self, const char *text);

//  Frees what it owns. NULL-safe, idempotent.
void argos_reply_clear (argos_reply_t *self);

//  Whether a whole text is silence.
bool argos_reply_is_silent (const char *text);

//  Whether a whole text is an error page of a provider (JSON or HTML) instead of an answer.
bool argos_reply_is_error_page (const char *text);

//  The kind of an attachment of that name: image, audio, video or document. Static.
const char *argos_reply_kind (const char *path);

//  The type of a file of that name as in HTTP, "application/octet-stream" when it is not known.
//  Static.
const char *argos_reply_media_type (const char *path);

//  Why a file may not be sent, by its path after all links were followed; NULL = it may. home is
//  the folder of the daemon, user the home of its user ("" = none); allowed a list of folders whose
//  files always may (NULL = none), strict: only those.
const char *argos_reply_path_problem (
    const char *path, const char *home, const char *user, const json_t *allowed, bool strict);

//  What people can do about a failed turn, by its sentence ("... rate_limit: ..."); "" = nothing is
//  known. Static.
const char *argos_reply_hint (const char *error);

#endif
