//  test_storage_wire - requests and answers through a PAIR: what goes in comes out, whatever the
//  sizes of the frames.

#include "argos_storage_wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <zmq.h>

#define PARTS 8

//  Sizes of header and body of each part, -1 = there is none: on both sides of what is copied

static const int s_sizes[PARTS][2] = { { 20, -1 }, { 20, 0 }, { 1024, 1024 }, { 1025, 5 },
    { 7, 1025 }, { 4000, 70000 }, { 1, 300 }, { -1, -1 } };

static argos_frame_t *
s_frame (int size, char fill)
{
    static char bytes[70000];
    if (size < 0)
        return NULL;
    memset (bytes, fill, (size_t) size);
    return argos_frame_new (bytes, (size_t) size);
}

static void
s_assert_frame (const argos_frame_t *frame, int size, char fill)
{
    assert_true ((frame == NULL) == (size < 0));
    if (!frame)
        return;
    assert_int_equal (frame->size, size);
    for (int i = 0; i < size; i++)
        assert_int_equal (((const char *) frame->data)[i], fill);
}

static void
s_fill (argos_storage_part_t *parts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        parts[i].seq = (int64_t) i + 100;
        parts[i].header = s_frame (s_sizes[i][0], 'h');
        parts[i].body = s_frame (s_sizes[i][1], (char) ('a' + i));
    }
}

static void
s_assert_parts (const argos_storage_part_t *parts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        assert_int_equal (parts[i].seq, i + 100);
        s_assert_frame (parts[i].header, s_sizes[i][0], 'h');
        s_assert_frame (parts[i].body, s_sizes[i][1], (char) ('a' + i));
    }
}

typedef struct {
    void *context; //  Of both
    void *ends[2]; //  PAIRs
} wire_t;

static int
s_setup (void **state)
{
    static wire_t wire;
    wire.context = zmq_ctx_new ();
    for (int i = 0; i < 2; i++)
        wire.ends[i] = zmq_socket (wire.context, ZMQ_PAIR);
    *state = &wire;
    return zmq_bind (wire.ends[0], "inproc://wire") == 0 &&
                   zmq_connect (wire.ends[1], "inproc://wire") == 0
               ? 0
               : -1;
}

static int
s_teardown (void **state)
{
    wire_t *wire = *state;
    for (int i = 0; i < 2; i++)
        zmq_close (wire->ends[i]);
    zmq_ctx_term (wire->context);
    return 0;
}

static void
a_request_arrives_as_it_was (void **state)
{
    wire_t *wire = *state;
    //  All of them, in each number of parts: also without, and with the last one small or large
    for (size_t count = 0; count <= PARTS; count++) {
        argos_storage_req_t *req = argos_storage_req_new (ARGOS_ST_COMMIT, count);
        req->tag = count;
        s_fill (req->parts, count);
        req->pair_count = 2;
        req->pairs = calloc (2, sizeof *req->pairs);
        assert_non_null (req->pairs);
        req->pairs[1].seq = 7;
        assert_int_equal (argos_storage_req_send (wire->ends[0], req), 0);
        argos_storage_req_destroy (&req);
        req = argos_storage_req_recv (wire->ends[1], 0);
        assert_non_null (req);
        assert_int_equal (req->tag, count);
        assert_int_equal (req->part_count, count);
        assert_int_equal (req->pairs[1].seq, 7);
        s_assert_parts (req->parts, count);
        argos_storage_req_destroy (&req);
        assert_null (argos_storage_req_recv (wire->ends[1], ZMQ_DONTWAIT));
    }
}

static void
an_answer_arrives_as_it_was (void **state)
{
    wire_t *wire = *state;
    argos_storage_req_t *req = argos_storage_req_new (ARGOS_ST_COMMIT, PARTS);
    argos_storage_ans_t *ans = argos_storage_ans_new (req);
    s_fill (ans->parts, PARTS);
    ans->gone_count = 1;
    ans->gone = calloc (1, sizeof *ans->gone);
    assert_non_null (ans->gone);
    *ans->gone = 9;
    assert_int_equal (argos_storage_ans_send (wire->ends[1], ans), 0);
    argos_storage_ans_destroy (&ans);
    ans = argos_storage_ans_recv (wire->ends[0], 0);
    assert_non_null (ans);
    assert_int_equal (*ans->gone, 9);
    assert_int_equal (ans->part_count, PARTS);
    s_assert_parts (ans->parts, PARTS);
    assert_null (argos_storage_ans_recv (wire->ends[0], ZMQ_DONTWAIT));
    argos_storage_ans_destroy (&ans);
    argos_storage_req_destroy (&req);
}

int
main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown (a_request_arrives_as_it_was, s_setup, s_teardown),
        cmocka_unit_test_setup_teardown (an_answer_arrives_as_it_was, s_setup, s_teardown),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
