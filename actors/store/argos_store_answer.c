//  argos_store_answer - filling in answers.
//
//  Invariant: after a refusal an answer holds no trace of what was undone. Memory out aborts.

#include "argos_store_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

//  Room for one more in an array that grows by doubling; counts are 0, 1, 2, 4 ... at the borders.

static void *
s_grow (void *array, size_t count, size_t size)
{
    if (count & (count - 1))
        return array;
    void *grown = realloc (array, (count ? count * 2 : 1) * size);
    if (!grown)
        abort ();
    return grown;
}

bool
argos_store_refuse (argos_storage_ans_t *ans, argos_err_t code, const char *reason)
{
    ans->code = code;
    if (reason != ans->reason)
        snprintf (ans->reason, sizeof ans->reason, "%s", reason);
    return false;
}

void
argos_store_gone (argos_storage_ans_t *ans, int64_t seq)
{
    ans->gone = s_grow (ans->gone, ans->gone_count, sizeof *ans->gone);
    ans->gone[ans->gone_count++] = seq;
}

void
argos_store_freed (argos_storage_ans_t *ans, const argos_store_row_t *row)
{
    ans->freed = s_grow (ans->freed, ans->freed_count, sizeof *ans->freed);
    ans->freed[ans->freed_count++] = (argos_storage_freed_t){ row->seq, row->strikes };
}

argos_storage_row_t *
argos_store_entered (argos_storage_ans_t *ans, const argos_store_row_t *row, int64_t bytes)
{
    ans->rows = s_grow (ans->rows, ans->row_count, sizeof *ans->rows);
    argos_storage_row_t *entered = &ans->rows[ans->row_count++];
    memset (entered, 0, sizeof *entered);
    entered->seq = row->seq;
    entered->not_before = row->not_before;
    entered->side = row->side;
    entered->urgent = row->urgent;
    memcpy (entered->type, row->type, sizeof entered->type);
    memcpy (entered->service, row->service, sizeof entered->service);
    memcpy (entered->key, row->key, sizeof entered->key);
    memcpy (entered->from, row->sender, sizeof entered->from);
    entered->lease = row->lease;
    memcpy (entered->holder, row->holder, sizeof entered->holder);
    entered->delay_until = row->delay_until;
    entered->until = row->until;
    entered->at = row->at;
    entered->strikes = row->strikes;
    entered->bytes = bytes;
    return entered;
}

void
argos_store_clear (argos_storage_ans_t *ans)
{
    free (ans->gone);
    free (ans->freed);
    free (ans->rows);
    ans->gone = NULL;
    ans->freed = NULL;
    ans->rows = NULL;
    ans->gone_count = ans->freed_count = ans->row_count = 0;
    ans->dead = false;
    for (size_t i = 0; i < ans->part_count; i++) {
        ans->parts[i].seq = ans->parts[i].number = 0;
        argos_frame_unref (&ans->parts[i].header);
        argos_frame_unref (&ans->parts[i].body);
    }
}

//  The one part of the answer to a lease, a mail or a read; made at the first call.

argos_storage_part_t *
argos_store_answer_part (argos_storage_ans_t *ans)
{
    if (!ans->parts) {
        ans->parts = calloc (1, sizeof *ans->parts);
        if (!ans->parts)
            abort ();
        ans->part_count = 1;
    }
    return ans->parts;
}

void
argos_store_text_copy (char *target, const char *text, size_t size)
{
    size_t length = strnlen (text, size - 1);
    memcpy (target, text, length);
    target[length] = 0;
}

size_t
argos_store_text_cut (const char *text, size_t limit)
{
    size_t size = strnlen (text, limit + 1);
    if (size <= limit)
        return size;
    for (size = limit; size > 0 && ((unsigned char) text[size] & 0xc0) == 0x80;)
        size--;
    return size;
}
