//  test_jpeg - photos are made smaller, and what is none, broken or a bomb is refused.

#include "argos_jpeg.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jpeglib.h>

#define MAX 1000000

typedef struct {
    unsigned char *bytes; //  Of libjpeg's making
    unsigned long size;   //  Of it
} s_photo_t;

typedef struct {
    unsigned width, height; //  Pixels
    int channels;           //  1, 3, or 4 (CMYK)
    bool scans;             //  Progressive
    bool exif;              //  Has such a block
} s_kind_t;

static const unsigned char s_exif[] = "Exif\0\0II*\0this way up";

static s_photo_t
s_photo (s_kind_t kind)
{
    s_photo_t photo = { NULL, 0 };
    struct jpeg_compress_struct to;
    struct jpeg_error_mgr errors;
    to.err = jpeg_std_error (&errors);
    jpeg_create_compress (&to);
    jpeg_mem_dest (&to, &photo.bytes, &photo.size);
    to.image_width = kind.width;
    to.image_height = kind.height;
    to.input_components = kind.channels;
    to.in_color_space = kind.channels == 1   ? JCS_GRAYSCALE
                        : kind.channels == 3 ? JCS_RGB
                                             : JCS_CMYK;
    jpeg_set_defaults (&to);
    if (kind.scans)
        jpeg_simple_progression (&to);
    jpeg_start_compress (&to, TRUE);
    if (kind.exif)
        jpeg_write_marker (&to, JPEG_APP0 + 1, s_exif, sizeof s_exif);
    unsigned char *line = malloc ((size_t) kind.width * (size_t) kind.channels);
    assert_non_null (line);
    for (unsigned y = 0; y < kind.height; y++) {
        memset (line, y < kind.height / 2 ? 40 : 200, (size_t) kind.width * (size_t) kind.channels);
        jpeg_write_scanlines (&to, &line, 1);
    }
    jpeg_finish_compress (&to);
    jpeg_destroy_compress (&to);
    free (line);
    return photo;
}

//  Reads what was made: its size, its upper and lower half, and whether the Exif block is there.

static void
s_check (const unsigned char *bytes, size_t size, unsigned width, unsigned height, bool exif)
{
    struct jpeg_decompress_struct from;
    struct jpeg_error_mgr errors;
    from.err = jpeg_std_error (&errors);
    jpeg_create_decompress (&from);
    jpeg_mem_src (&from, bytes, size);
    jpeg_save_markers (&from, JPEG_APP0 + 1, 0xFFFF);
    assert_int_equal (jpeg_read_header (&from, TRUE), JPEG_HEADER_OK);
    assert_int_equal (from.image_width, width);
    assert_int_equal (from.image_height, height);
    assert_int_equal (from.marker_list != NULL, exif);
    if (exif && from.marker_list)
        assert_memory_equal (from.marker_list->data, s_exif, sizeof s_exif);
    jpeg_start_decompress (&from);
    unsigned char *line = malloc ((size_t) width * (size_t) from.output_components);
    assert_non_null (line);
    while (from.output_scanline < height) {
        unsigned y = from.output_scanline;
        jpeg_read_scanlines (&from, &line, 1);
        if (y == height / 4)
            assert_in_range (line[width / 2], 36, 44);
        if (y == height / 4 * 3)
            assert_in_range (line[width / 2], 196, 204);
    }
    jpeg_destroy_decompress (&from);
    free (line);
}

static void
it_fits_and_shows_the_same (void **state)
{
    static const struct {
        s_kind_t kind;          //  Of the photo
        unsigned width, height; //  Expected within 400
    } rows[] = {
        { { 1600, 800, 3, false, false }, 400, 200 }, { { 800, 1600, 3, true, true }, 200, 400 },
        { { 1000, 700, 1, false, true }, 375, 263 }, { { 801, 801, 4, false, false }, 301, 301 },
        { { 300, 200, 3, false, false }, 300, 200 }, //  Never larger
        { { 8000, 80, 3, false, false }, 1000, 10 }, //  An eighth at least
    };
    (void) state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t size;
        s_photo_t photo = s_photo (rows[i].kind);
        assert_true (argos_jpeg_is (photo.bytes, photo.size));
        unsigned char *smaller = argos_jpeg_shrink (photo.bytes, photo.size, 400, MAX, &size);
        assert_non_null (smaller);
        s_check (smaller, size, rows[i].width, rows[i].height, rows[i].kind.exif);
        free (smaller);
        free (photo.bytes);
    }
}

static void
what_is_cut_off_shows_what_there_is (void **state)
{
    (void) state;
    size_t size;
    s_photo_t photo = s_photo ((s_kind_t){ 1600, 800, 3, false, false });
    unsigned char *smaller = argos_jpeg_shrink (photo.bytes, photo.size - 50, 400, MAX, &size);
    assert_non_null (smaller);
    free (smaller);
    for (size_t cut = 0; cut < 200; cut++) {
        smaller = argos_jpeg_shrink (photo.bytes, cut, 400, MAX, &size);
        assert_null (smaller);
        assert_int_equal (size, 0);
    }
    free (photo.bytes);
}

static void
what_would_still_be_too_large_is_refused (void **state)
{
    (void) state;
    size_t size;
    s_photo_t photo = s_photo ((s_kind_t){ 1600, 800, 3, false, true });
    unsigned char *smaller = argos_jpeg_shrink (photo.bytes, photo.size, 400, MAX, &size);
    assert_non_null (smaller);
    free (smaller);
    for (size_t max = 0; max < size; max += 61)
        assert_null (argos_jpeg_shrink (photo.bytes, photo.size, 400, max, &(size_t){ 0 }));
    free (photo.bytes);
}

//  The size in its head is set to what nobody photographs; each of its bytes to something else.

static void
bombs_and_broken_ones_end (void **state)
{
    (void) state;
    for (int scans = 0; scans < 2; scans++) {
        size_t size, at = 0;
        s_photo_t photo = s_photo ((s_kind_t){ 64, 64, 3, scans, false });
        while (photo.bytes[at] != 0xFF || photo.bytes[at + 1] != (scans ? 0xC2 : 0xC0))
            at++;
        memset (photo.bytes + at + 5, 0xEF, 4); //  61,423 both ways
        assert_null (argos_jpeg_shrink (photo.bytes, photo.size, 400, MAX, &size));
        memset (photo.bytes + at + 5, 0, 4);
        assert_null (argos_jpeg_shrink (photo.bytes, photo.size, 400, MAX, &size));
        photo.bytes[at + 6] = photo.bytes[at + 8] = 64;
        for (size_t i = 2; i < photo.size; i++) {
            unsigned char was = photo.bytes[i];
            bool dimension = i >= at + 5 && i < at + 9;
            photo.bytes[i] = (unsigned char) (was ^ (dimension ? 1 : 0xA5));
            free (argos_jpeg_shrink (photo.bytes, photo.size, 400, MAX, &size));
            photo.bytes[i] = was;
        }
        free (photo.bytes);
    }
}

//  A scan more costs a pass over the photo

static void
many_scans_are_refused (void **state)
{
    (void) state;
    size_t size, at = 0;
    s_photo_t photo = s_photo ((s_kind_t){ 64, 64, 1, true, false });
    while (photo.bytes[at] != 0xFF || photo.bytes[at + 1] != 0xDA)
        at++;
    size_t end = at + 2;
    while (photo.bytes[end] != 0xFF || photo.bytes[end + 1] == 0)
        end++;
    size_t scan = end - at, total = at + scan * 200;
    unsigned char *bomb = malloc (total + 2);
    assert_non_null (bomb);
    memcpy (bomb, photo.bytes, at);
    for (int i = 0; i < 200; i++)
        memcpy (bomb + at + scan * (size_t) i, photo.bytes + at, scan);
    bomb[total] = 0xFF;
    bomb[total + 1] = 0xD9;
    assert_null (argos_jpeg_shrink (bomb, total + 2, 400, MAX, &size));
    unsigned char *few = argos_jpeg_shrink (bomb, at + scan * 20, 400, MAX, &size);
    assert_non_null (few);
    free (few);
    free (bomb);
    free (photo.bytes);
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (it_fits_and_shows_the_same),
        cmocka_unit_test (what_is_cut_off_shows_what_there_is),
        cmocka_unit_test (what_would_still_be_too_large_is_refused),
        cmocka_unit_test (bombs_and_broken_ones_end),
        cmocka_unit_test (many_scans_are_refused),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
