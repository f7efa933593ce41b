//  argos_storage_wire - flattening of requests and answers.
//
//  Form: one frame with the struct, its arrays in a fixed order and the frames of the parts, each a
//  byte that says where it is, and its size and bytes when it is small; then those that are not.
//  Invariant: the pointers in what is sent are NULL. Limits: those of the structs. Memory out
//  aborts.

#include "argos_storage_wire.h"

#include "argos_order.h"
#include "argos_zframe.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#define NEAR_MAX 1024 //  Bytes of a frame that is copied: less work than a message of its own

//  Where a frame of a part is: nowhere, in a message of its own, behind the struct

typedef enum { NONE, FAR, NEAR } place_t;

//  Copies count elements to *at and moves it behind them.

static void
s_put (unsigned char **at, const void *array, size_t count, size_t size)
{
    if (count)
        memcpy (*at, array, count * size);
    *at += count * size;
}

//  A new array of count elements copied from *at, NULL when count is 0.

static void *
s_get (const unsigned char **at, size_t count, size_t size)
{
    if (count == 0)
        return NULL;
    void *array = malloc (count * size);
    if (!array)
        abort ();
    memcpy (array, *at, count * size);
    *at += count * size;
    return array;
}

//  Where a frame goes

static place_t
s_place (const argos_frame_t *frame)
{
    return !frame ? NONE : frame->size <= NEAR_MAX ? NEAR : FAR;
}

static size_t
s_frame_size (const argos_frame_t *frame)
{
    return 1 + (s_place (frame) == NEAR ? sizeof (uint32_t) + frame->size : 0);
}

static void
s_put_frame (unsigned char **at, const argos_frame_t *frame)
{
    *(*at)++ = (unsigned char) s_place (frame);
    if (s_place (frame) != NEAR)
        return;
    uint32_t size = (uint32_t) frame->size;
    s_put (at, &size, 1, sizeof size);
    s_put (at, frame->data, frame->size, 1);
}

//  The parts without their pointers, and behind them the frames of each.

static void
s_put_parts (unsigned char **at, const argos_storage_part_t *parts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        argos_storage_part_t part = parts[i];
        part.header = part.body = NULL;
        s_put (at, &part, 1, sizeof part);
    }
    for (size_t i = 0; i < count; i++) {
        s_put_frame (at, parts[i].header);
        s_put_frame (at, parts[i].body);
    }
}

static size_t
s_parts_size (const argos_storage_part_t *parts, size_t count)
{
    size_t size = count * sizeof *parts;
    for (size_t i = 0; i < count; i++)
        size += s_frame_size (parts[i].header) + s_frame_size (parts[i].body);
    return size;
}

static size_t
s_far_count (const argos_storage_part_t *parts, size_t count)
{
    size_t frames = 0;
    for (size_t i = 0; i < count; i++)
        frames += (s_place (parts[i].header) == FAR ? 1U : 0U) +
                  (s_place (parts[i].body) == FAR ? 1U : 0U);
    return frames;
}

//  Sends the head (it is closed), then the frames of the parts that are not in it.

static int
s_send (void *socket, zmq_msg_t *head, const argos_storage_part_t *parts, size_t count)
{
    size_t left = s_far_count (parts, count);
    ARGOS_GIVE ();
    if (zmq_msg_send (head, socket, left ? ZMQ_SNDMORE : 0) < 0) {
        zmq_msg_close (head);
        return -1;
    }
    for (size_t i = 0; i < count && left; i++) {
        const argos_frame_t *frames[2] = { parts[i].header, parts[i].body };
        for (int j = 0; j < 2; j++)
            if (s_place (frames[j]) == FAR &&
                argos_zframe_send (frames[j], socket, --left ? ZMQ_SNDMORE : 0) != 0)
                return -1;
    }
    return 0;
}

static unsigned char *
s_head (zmq_msg_t *msg, size_t size)
{
    if (zmq_msg_init_size (msg, size) != 0)
        abort ();
    return zmq_msg_data (msg);
}

static argos_frame_t *
s_get_frame (void *socket, const unsigned char **at)
{
    place_t place = (place_t) * (*at)++;
    if (place != NEAR)
        return place == FAR ? argos_zframe_recv (socket, 0) : NULL;
    uint32_t size;
    memcpy (&size, *at, sizeof size);
    argos_frame_t *frame = argos_frame_new (*at + sizeof size, size);
    *at += sizeof size + size;
    return frame;
}

static void
s_get_frames (void *socket, argos_storage_part_t *parts, size_t count, const unsigned char *at)
{
    for (size_t i = 0; i < count; i++) {
        parts[i].header = s_get_frame (socket, &at);
        parts[i].body = s_get_frame (socket, &at);
    }
}

int
argos_storage_req_send (void *socket, const argos_storage_req_t *req)
{
    zmq_msg_t msg;
    unsigned char *at = s_head (&msg, sizeof *req + req->pair_count * sizeof *req->pairs +
                                          s_parts_size (req->parts, req->part_count));
    argos_storage_req_t flat = *req;
    flat.parts = NULL;
    flat.pairs = NULL;
    s_put (&at, &flat, 1, sizeof flat);
    s_put (&at, req->pairs, req->pair_count, sizeof *req->pairs);
    s_put_parts (&at, req->parts, req->part_count);
    return s_send (socket, &msg, req->parts, req->part_count);
}

argos_storage_req_t *
argos_storage_req_recv (void *socket, int flags)
{
    zmq_msg_t msg;
    zmq_msg_init (&msg);
    if (zmq_msg_recv (&msg, socket, flags) < 0) {
        zmq_msg_close (&msg);
        return NULL;
    }
    ARGOS_TAKE ();
    assert (zmq_msg_size (&msg) >= sizeof (argos_storage_req_t));
    const unsigned char *at = zmq_msg_data (&msg);
    argos_storage_req_t *req = s_get (&at, 1, sizeof *req);
    req->pairs = s_get (&at, req->pair_count, sizeof *req->pairs);
    req->parts = s_get (&at, req->part_count, sizeof *req->parts);
    s_get_frames (socket, req->parts, req->part_count, at);
    zmq_msg_close (&msg);
    return req;
}

int
argos_storage_ans_send (void *socket, const argos_storage_ans_t *ans)
{
    zmq_msg_t msg;
    unsigned char *at = s_head (
        &msg, sizeof *ans + ans->pair_count * sizeof *ans->pairs +
                  ans->gone_count * sizeof *ans->gone + ans->freed_count * sizeof *ans->freed +
                  ans->row_count * sizeof *ans->rows + s_parts_size (ans->parts, ans->part_count));
    argos_storage_ans_t flat = *ans;
    flat.parts = NULL;
    flat.pairs = NULL;
    flat.gone = NULL;
    flat.freed = NULL;
    flat.rows = NULL;
    s_put (&at, &flat, 1, sizeof flat);
    s_put (&at, ans->pairs, ans->pair_count, sizeof *ans->pairs);
    s_put (&at, ans->gone, ans->gone_count, sizeof *ans->gone);
    s_put (&at, ans->freed, ans->freed_count, sizeof *ans->freed);
    s_put (&at, ans->rows, ans->row_count, sizeof *ans->rows);
    s_put_parts (&at, ans->parts, ans->part_count);
    return s_send (socket, &msg, ans->parts, ans->part_count);
}

argos_storage_ans_t *
argos_storage_ans_recv (void *socket, int flags)
{
    zmq_msg_t msg;
    zmq_msg_init (&msg);
    if (zmq_msg_recv (&msg, socket, flags) < 0) {
        zmq_msg_close (&msg);
        return NULL;
    }
    ARGOS_TAKE ();
    assert (zmq_msg_size (&msg) >= sizeof (argos_storage_ans_t));
    const unsigned char *at = zmq_msg_data (&msg);
    argos_storage_ans_t *ans = s_get (&at, 1, sizeof *ans);
    ans->pairs = s_get (&at, ans->pair_count, sizeof *ans->pairs);
    ans->gone = s_get (&at, ans->gone_count, sizeof *ans->gone);
    ans->freed = s_get (&at, ans->freed_count, sizeof *ans->freed);
    ans->rows = s_get (&at, ans->row_count, sizeof *ans->rows);
    ans->parts = s_get (&at, ans->part_count, sizeof *ans->parts);
    s_get_frames (socket, ans->parts, ans->part_count, at);
    zmq_msg_close (&msg);
    return ans;
}
