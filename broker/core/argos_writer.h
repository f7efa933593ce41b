//  argos_writer - builds small JSON texts in a buffer of fixed size. Pure.

#ifndef ARGOS_WRITER_H
#define ARGOS_WRITER_H

#include <stddef.h>
#include <stdint.h>

#define ARGOS_WRITER_MAX                                                                           \
    2048 //  Enough for any word of the broker: strings in it are bounded by argos_header.h

typedef struct {
    size_t size; //  Bytes so far; beyond the maximum they are counted, not written
    char data[ARGOS_WRITER_MAX + 1]; //  Not terminated; room for a terminator
} argos_writer_t;

//  Empty again.
void argos_writer_clear (argos_writer_t *self);

//  Append as it is; as a decimal number; as a JSON string with quotes.
void argos_writer_raw (argos_writer_t *self, const char *text);
void argos_writer_int (argos_writer_t *self, int64_t value);
void argos_writer_string (argos_writer_t *self, const char *text);

//  Append ,"name": and a value (without the comma directly after an opening brace).
void argos_writer_member_int (argos_writer_t *self, const char *name, int64_t value);
void argos_writer_member_string (argos_writer_t *self, const char *name, const char *value);

#endif
