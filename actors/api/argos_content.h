//  argos_content - what a message of a client holds, made one text and a list of images. Pure.
//
//  A string is itself, null is empty, other scalars are written out; of a list of parts the texts
//  are joined by line feeds. Limits: 1,000 parts, 10 levels, 16 images.

#ifndef ARGOS_CONTENT_H
#define ARGOS_CONTENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define ARGOS_CONTENT_IMAGES_MAX 16 //  Files of one message

//  What is wrong with a request, for the error object

typedef struct {
    unsigned status;   //  400, 403 or 404
    const char *code;  //  Static, or NULL
    char param[64];    //  Member at fault, "" = none
    char message[256]; //  Sentence
} argos_run_problem_t;

//  Fills it in. Returns -1.
int argos_problem (argos_run_problem_t *problem, unsigned status, const char *code,
    const char *param, const char *format, ...) __attribute__ ((format (printf, 5, 6)));

typedef struct {
    json_t *text;   //  String
    json_t *images; //  URLs, or NULL when there is none
} argos_content_t;

//  Reads content into *ret_content (new; argos_content_clear frees it). Returns 0, or -1 with
//  *ret_problem filled in and nothing to free. param names the member.
int argos_content_read (json_t *content, const char *param, argos_content_t *ret_content,
    argos_run_problem_t *ret_problem);
void argos_content_clear (argos_content_t *self);

//  Whether the URL of an image carries the image itself.
bool argos_content_is_data (const char *url);

//  The bytes of such an image, new (free), and its media type (129 bytes). NULL when it is not
//  base64.
unsigned char *argos_content_decode (const char *url, size_t *ret_size, char *ret_media_type);

//  A member that means true or false: booleans, numbers, and the usual words; anything else is
//  fallback.
bool argos_content_flag (const json_t *root, const char *name, bool fallback);

#endif
