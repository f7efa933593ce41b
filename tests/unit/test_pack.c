//  test_pack - the packed form of a message, and frames that are pieces of one.

#include "argos_pack.h"
#include "argos_zframe.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#include <cmocka.h>

#define ROOM 8192

//  As docs/protocol.md shows it

static const char example[] = "AR1\x03\x00\x18\x00\x00\x00\x02{\"type\":\"ping\",\"id\":\"p\"}{}";

//  Packs pieces of these sizes, each of one letter. Returns the size, 0 = not packed.

static size_t
s_pack (char *target, const size_t *sizes, size_t count)
{
    static char letters[ROOM];
    argos_piece_t pieces[ARGOS_PACK_PIECES];
    size_t bytes = 0;
    memset (letters, 'x', sizeof letters);
    for (size_t i = 0; i < count; i++) {
        pieces[i] = (argos_piece_t){ letters, sizes[i] };
        bytes += sizes[i];
    }
    size_t size = argos_pack_size (count, bytes);
    if (size)
        argos_pack_write (target, pieces, count);
    return size;
}

static void
the_example_is_written_and_read (void **state)
{
    (void) state;
    static const char header[] = "{\"type\":\"ping\",\"id\":\"p\"}";
    const argos_piece_t in[] = { { header, sizeof header - 1 }, { NULL, 0 }, { "{}", 2 } };
    argos_piece_t out[3];
    char packed[ROOM];
    size_t size = argos_pack_size (3, sizeof header + 1);
    assert_int_equal (size, sizeof example - 1);
    argos_pack_write (packed, in, 3);
    assert_memory_equal (packed, example, size);
    assert_int_equal (argos_pack_read (packed, size, out, 3), 3);
    assert_int_equal (out[0].size, sizeof header - 1);
    assert_memory_equal (out[0].data, header, sizeof header - 1);
    assert_int_equal (out[1].size, 0);
    assert_int_equal (out[2].size, 2);
    assert_ptr_equal (out[2].data, packed + size - 2);
}

static void
what_is_large_stays_in_frames (void **state)
{
    (void) state;
    char packed[ROOM];
    argos_piece_t out[ARGOS_PACK_PIECES];
    const size_t most[] = { 100, 0, ARGOS_PACK_MAX - 4 - 2 * 3 - 100 };
    const size_t more[] = { 100, 0, ARGOS_PACK_MAX - 4 - 2 * 3 - 99 };
    assert_int_equal (s_pack (packed, most, 3), ARGOS_PACK_MAX);
    assert_int_equal (argos_pack_read (packed, ARGOS_PACK_MAX, out, 3), 3);
    assert_int_equal (s_pack (packed, more, 3), 0);
    assert_int_equal (argos_pack_size (3, SIZE_MAX - 5), 0);
    assert_int_equal (argos_pack_size (0, 10), 0);
    size_t sizes[ARGOS_PACK_PIECES] = { 1, 2, 3 };
    size_t size = s_pack (packed, sizes, ARGOS_PACK_PIECES);
    assert_int_equal (size, 4 + 2 * ARGOS_PACK_PIECES + 6);
    assert_int_equal (argos_pack_read (packed, size, out, ARGOS_PACK_PIECES), ARGOS_PACK_PIECES);
    assert_int_equal (argos_pack_read (packed, size, out, ARGOS_PACK_PIECES - 1), 0);
    assert_int_equal (argos_pack_size (ARGOS_PACK_PIECES + 1, 6), 0);
}

//  Each cut, each byte more, and each number that doesn't fit the rest.

static void
what_is_not_of_the_form_is_not_read (void **state)
{
    (void) state;
    argos_piece_t out[ARGOS_PACK_PIECES];
    size_t size = sizeof example - 1;
    for (size_t cut = 0; cut < size; cut++) {
        char *copy = malloc (cut + 1); //  So that a byte too far is seen
        memcpy (copy, example, cut);
        assert_int_equal (argos_pack_read (copy, cut, out, ARGOS_PACK_PIECES), 0);
        free (copy);
    }
    assert_int_equal (argos_pack_read (example, size + 1, out, ARGOS_PACK_PIECES), 0);
    for (size_t at = 0; at < 10; at++) {
        char copy[sizeof example];
        memcpy (copy, example, sizeof copy);
        for (int value = 0; value < 256; value++) {
            copy[at] = (char) value;
            size_t count = argos_pack_read (copy, size, out, ARGOS_PACK_PIECES);
            assert_int_equal (count, copy[at] == example[at] ? 3 : 0);
        }
    }
    static const char none[] = "AR1\0";
    assert_int_equal (argos_pack_read (none, 4, out, ARGOS_PACK_PIECES), 0);
    static char large[ARGOS_PACK_MAX + 1] = "AR1\x01\x0f\xfb";
    assert_int_equal (argos_pack_read (large, sizeof large, out, ARGOS_PACK_PIECES), 0);
    large[5]--;
    assert_int_equal (argos_pack_read (large, sizeof large - 1, out, ARGOS_PACK_PIECES), 1);
}

//  ------------------------------------------------------------------------------------------------
//  Pieces as frames

typedef struct {
    void *context, *from, *to; //  Two sockets that meet
} pair_t;

static int
s_setup (void **state)
{
    pair_t *self = calloc (1, sizeof *self);
    assert_non_null (self);
    self->context = zmq_ctx_new ();
    self->from = zmq_socket (self->context, ZMQ_PAIR);
    self->to = zmq_socket (self->context, ZMQ_PAIR);
    *state = self;
    return zmq_bind (self->to, "inproc://pack") || zmq_connect (self->from, "inproc://pack");
}

static int
s_teardown (void **state)
{
    pair_t *self = *state;
    zmq_close (self->from);
    zmq_close (self->to);
    zmq_ctx_term (self->context);
    free (self);
    return 0;
}

static argos_frame_t *
s_passed (const pair_t *self, const void *data, size_t size)
{
    assert_int_equal (zmq_send (self->from, data, size, 0), (int) size);
    argos_frame_t *frame = argos_zframe_recv (self->to, 0);
    assert_non_null (frame);
    return frame;
}

//  The message lives as long as the last of its pieces, and a piece can be sent on.

static void
pieces_hold_their_message (void **state)
{
    const pair_t *self = *state;
    argos_frame_t *frames[4], *whole = s_passed (self, example, sizeof example - 1);
    assert_int_equal (argos_zframe_unpack (whole, frames, 3), 0); //  No room: still ours
    assert_int_equal (argos_zframe_unpack (whole, frames, 4), 4);
    assert_int_equal (frames[0]->size, 3);
    assert_memory_equal (frames[0]->data, "AR1", 3);
    assert_int_equal (argos_zframe_fd (frames[0]), -1); //  inproc
    assert_string_equal (argos_zframe_user (frames[0]), "");
    argos_frame_t *kept = argos_frame_ref (frames[1]);
    for (int i = 0; i < 4; i++)
        argos_frame_unref (&frames[i]);
    assert_int_equal (kept->size, 24);
    assert_memory_equal (kept->data, "{\"type\":\"ping\",\"id\":\"p\"}", 24);
    assert_int_equal (argos_zframe_send (kept, self->from, 0), 0);
    argos_frame_unref (&kept);
    argos_frame_t *sent = argos_zframe_recv (self->to, 0);
    assert_int_equal (sent->size, 24);
    argos_frame_unref (&sent);
}

static void
a_frame_that_is_not_packed_stays_whole (void **state)
{
    const pair_t *self = *state;
    argos_frame_t *frames[4], *frame = s_passed (self, "AR1", 3);
    assert_int_equal (argos_zframe_unpack (frame, frames, 4), 0);
    assert_int_equal (frame->size, 3);
    argos_frame_unref (&frame);
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (the_example_is_written_and_read),
        cmocka_unit_test (what_is_large_stays_in_frames),
        cmocka_unit_test (what_is_not_of_the_form_is_not_read),
        cmocka_unit_test_setup_teardown (pieces_hold_their_message, s_setup, s_teardown),
        cmocka_unit_test_setup_teardown (
            a_frame_that_is_not_packed_stays_whole, s_setup, s_teardown),
    };
    return cmocka_run_group_tests_name ("pack", tests, NULL, NULL);
}
