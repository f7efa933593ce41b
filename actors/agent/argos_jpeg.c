//  argos_jpeg - makes a photo smaller, with libjpeg.
//
//  It is decoded at so many eighths of its size that it fits, which libjpeg does on the way; so no
//  scaler is ours, and a plain photo takes the memory of a few lines. Invariant: whatever libjpeg
//  objects to ends in one place (s_fail), where all is freed. Limits: PIXELS_MAX of a photo that is
//  read line by line, and WHOLE_MAX of one that comes in several scans, which has to be in memory
//  as a whole; SCANS_MAX of these, for each costs a pass over it.

#include "argos_jpeg.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jerror.h>
#include <jpeglib.h>

#define PIXELS_MAX 150000000 //  Of what phones make today
#define WHOLE_MAX 40000000   //  At most 240 MB of coefficients
#define SCANS_MAX 64         //  A progressive photo has ten
#define QUALITY 85           //  Of the smaller one
#define EXIF "Exif\0"        //  How such a block begins, with another NUL

typedef struct {
    struct jpeg_decompress_struct from; //  The photo
    struct jpeg_compress_struct to;     //  The smaller one
    struct jpeg_error_mgr errors;       //  Of both
    struct jpeg_progress_mgr progress;  //  Counts scans
    struct jpeg_destination_mgr target; //  Memory
    jmp_buf failed;                     //  Where errors end
    JSAMPROW line;                      //  One, of the smaller one
    unsigned char *bytes;               //  What was made
} s_work_t;

bool
argos_jpeg_is (const unsigned char *bytes, size_t size)
{
    return size >= ARGOS_JPEG_HEAD && memcmp (bytes, "\xff\xd8\xff", ARGOS_JPEG_HEAD) == 0;
}

_Noreturn static void
s_fail (j_common_ptr info)
{
    s_work_t *work = (s_work_t *) info->client_data;
    longjmp (work->failed, 1);
}

//  What libjpeg has to say is no matter for anybody
static void
s_ignore (j_common_ptr info)
{
    (void) info;
}

static void
s_progress (j_common_ptr info)
{
    if (info->is_decompressor && ((j_decompress_ptr) info)->input_scan_number > SCANS_MAX)
        ERREXIT (info, JERR_NOTIMPL);
}

static void
s_ignore_target (j_compress_ptr info)
{
    (void) info;
}

static boolean
s_full (j_compress_ptr info)
{
    ERREXIT (info, JERR_BUFFER_SIZE);
    return FALSE;
}

static void
s_begin (s_work_t *work, const unsigned char *bytes, size_t size, size_t max)
{
    work->from.err = work->to.err = jpeg_std_error (&work->errors);
    work->errors.error_exit = s_fail;
    work->errors.output_message = s_ignore;
    work->from.client_data = work->to.client_data = work;
    jpeg_create_decompress (&work->from);
    jpeg_create_compress (&work->to);
    work->progress.progress_monitor = s_progress;
    work->from.progress = &work->progress;
    jpeg_mem_src (&work->from, bytes, size);
    work->target = (struct jpeg_destination_mgr){ .next_output_byte = work->bytes,
        .free_in_buffer = max,
        .init_destination = s_ignore_target,
        .empty_output_buffer = s_full,
        .term_destination = s_ignore_target };
    work->to.dest = &work->target;
    if (!max)
        ERREXIT (&work->to, JERR_BUFFER_SIZE);
}

static void
s_read_head (s_work_t *work, unsigned edge)
{
    j_decompress_ptr from = &work->from;
    jpeg_save_markers (from, JPEG_APP0 + 1, 0xFFFF);
    jpeg_read_header (from, TRUE);
    size_t pixels = (size_t) from->image_width * from->image_height;
    if (pixels > (jpeg_has_multiple_scans (from) ? WHOLE_MAX : PIXELS_MAX))
        ERREXIT (from, JERR_IMAGE_TOO_BIG);
    unsigned longest =
        from->image_width > from->image_height ? from->image_width : from->image_height;
    unsigned eighths = (unsigned) ((unsigned long) edge * 8 / longest);
    from->scale_num = eighths < 1 ? 1 : eighths > 8 ? 8 : eighths;
    from->scale_denom = 8;
    jpeg_start_decompress (from);
}

static void
s_write_head (s_work_t *work)
{
    const struct jpeg_decompress_struct *from = &work->from;
    j_compress_ptr to = &work->to;
    to->image_width = from->output_width;
    to->image_height = from->output_height;
    to->input_components = from->output_components;
    to->in_color_space = from->out_color_space;
    jpeg_set_defaults (to);
    jpeg_set_quality (to, QUALITY, TRUE);
    jpeg_start_compress (to, TRUE);
    for (jpeg_saved_marker_ptr marker = from->marker_list; marker; marker = marker->next)
        if (marker->data_length > sizeof EXIF && memcmp (marker->data, EXIF, sizeof EXIF) == 0)
            jpeg_write_marker (to, JPEG_APP0 + 1, marker->data, marker->data_length);
}

static void
s_copy (s_work_t *work)
{
    j_decompress_ptr from = &work->from;
    work->line =
        (JSAMPROW) malloc ((size_t) from->output_width * (size_t) from->output_components + 1);
    if (!work->line)
        abort ();
    while (from->output_scanline < from->output_height) {
        jpeg_read_scanlines (from, &work->line, 1);
        jpeg_write_scanlines (&work->to, &work->line, 1);
    }
    jpeg_finish_compress (&work->to);
}

unsigned char *
argos_jpeg_shrink (
    const unsigned char *bytes, size_t size, unsigned edge, size_t max, size_t *ret_size)
{
    s_work_t *work = (s_work_t *) calloc (1, sizeof *work);
    unsigned char *ret = (unsigned char *) malloc (max + 1);
    if (!work || !ret)
        abort ();
    work->bytes = ret;
    *ret_size = 0;
    if (setjmp (work->failed) == 0) {
        s_begin (work, bytes, size, max);
        s_read_head (work, edge);
        s_write_head (work);
        s_copy (work);
        *ret_size = max - work->target.free_in_buffer;
    }
    jpeg_destroy_decompress (&work->from);
    jpeg_destroy_compress (&work->to);
    ret = work->bytes;
    free (work->line);
    bool whole = *ret_size > 0;
    free (work);
    if (whole)
        return ret;
    free (ret);
    return NULL;
}
