//  store_says - operations of the store as one line each, for tests: bodies are formats, with ' for
//  ".
//
//  The code is returned; the result of a read is kit->result. What a test says is at most SAYS_MAX
//  bytes.

#ifndef STORE_SAYS_H
#define STORE_SAYS_H

#include "store_kit.h"

#define SAYS_MAX 8192 //  Bytes of a body

//  A write as a commit of its own, by the name `from`.
argos_err_t says_as (kit_t *kit, const char *from, const char *type, const char *format, ...)
    __attribute__ ((format (printf, 4, 5)));

//  The same by the gateway.
argos_err_t says_write (kit_t *kit, const char *type, const char *format, ...)
    __attribute__ ((format (printf, 3, 4)));

//  A read.
argos_err_t says_read (kit_t *kit, const char *type, const char *format, ...)
    __attribute__ ((format (printf, 3, 4)));

//  A write under a lease of the lane of the session, which is consumed.
argos_err_t says_turn (kit_t *kit, const char *session, const char *type, const char *format, ...)
    __attribute__ ((format (printf, 4, 5)));

//  Members of the last result by a path of names with dots ("route.version"); "" and 0 when they
//  are not there. The text is borrowed until the next read.
const char *says_text (kit_t *kit, const char *path);
int64_t says_number (kit_t *kit, const char *path);
json_t *says_get (kit_t *kit, const char *path);

#endif
