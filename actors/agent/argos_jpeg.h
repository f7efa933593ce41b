//  argos_jpeg - makes a photo smaller.
//
//  Pure but for memory; may take some hundred msec, so it is not for a loop.

#ifndef ARGOS_JPEG_H
#define ARGOS_JPEG_H

#include <stdbool.h>
#include <stddef.h>

#define ARGOS_JPEG_HEAD 3 //  Bytes that tell

//  Whether these are the first bytes of a JPEG.
bool argos_jpeg_is (const unsigned char *bytes, size_t size);

//  The same photo with a long edge of at most `edge` pixels (an eighth of the photo's own when even
//  that is longer), in at most max bytes, the way up that its Exif block says kept; new, its size
//  in *ret_size. NULL: it is broken, larger than we decode, or would take more.
unsigned char *argos_jpeg_shrink (
    const unsigned char *bytes, size_t size, unsigned edge, size_t max, size_t *ret_size);

#endif
