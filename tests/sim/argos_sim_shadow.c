//  argos_sim_shadow - lanes, leases, ids and topic numbers from the answers of the store.
//
//  Invariants that it watches: a lane has one lease at most, on its first due row; lease numbers
//  rise; attempts count; a commit is executed only by the holder of the lease in force and in the
//  order of n; a `done` passes no unseen side message; an id is executed once and answered with the
//  same number; numbers of a topic rise.

#include "argos_sim_shadow.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#define MARK_MAX 320 //  Bytes of a name or a sender with an id

typedef struct {
    int64_t seq;                   //  Number
    char service[65], key[256];    //  Lane
    bool side;                     //  Flag
    int64_t not_before;            //  When due, 0 = at once
    int64_t lease, n, attempt;     //  Of the lease in force; 0 = none
    char holder[ARGOS_HOLDER_MAX]; //  Of the lease
    UT_hash_handle hh;             //  By seq
} row_t;

//  A number under a name: an id and its seq, a topic and its newest entry, a lease and its last n

typedef struct {
    char name[MARK_MAX]; //  Name
    int64_t value;       //  Number
    UT_hash_handle hh;   //  By name
} mark_t;

struct argos_sim_shadow {
    void (*fail) (void *arg, const char *text); //  Where complaints go
    void *arg;                                  //  Its first argument
    row_t *rows;                                //  The queue
    mark_t *ids, *topics, *finished;            //  See mark_t
    int64_t last_lease;                         //  Greatest number seen
    int64_t now;                                //  Of the request at hand
    size_t found;                               //  Rows found by a comparison
    bool restarting;                            //  The comparison follows a restart
};

static void s_wrong (argos_sim_shadow_t *self, const char *format, ...)
    __attribute__ ((format (printf, 2, 3)));

static void
s_wrong (argos_sim_shadow_t *self, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start (args, format);
    vsnprintf (text, sizeof text, format, args);
    va_end (args);
    self->fail (self->arg, text);
}

argos_sim_shadow_t *
argos_sim_shadow_new (void (*fail) (void *arg, const char *text), void *arg)
{
    argos_sim_shadow_t *self = calloc (1, sizeof *self);
    if (!self)
        abort ();
    self->fail = fail;
    self->arg = arg;
    return self;
}

static void
s_free_marks (mark_t **marks)
{
    mark_t *mark, *next;
    HASH_ITER (hh, *marks, mark, next) {
        HASH_DEL (*marks, mark); //  NOLINT(clang-analyzer-unix.Malloc): next is known
        free (mark);
    }
}

static void
s_drop (argos_sim_shadow_t *self, row_t *row)
{
    HASH_DEL (self->rows, row); //  NOLINT(clang-analyzer-unix.Malloc): as above
    free (row);
}

void
argos_sim_shadow_destroy (argos_sim_shadow_t **self_p)
{
    if (!self_p || !*self_p)
        return;
    argos_sim_shadow_t *self = *self_p;
    row_t *row, *next;
    *self_p = NULL;
    HASH_ITER (hh, self->rows, row, next) {
        s_drop (self, row);
    }
    s_free_marks (&self->ids);
    s_free_marks (&self->topics);
    s_free_marks (&self->finished);
    free (self);
}

//  ------------------------------------------------------------------------------------------------
//  Rows and marks

static row_t *
s_find (argos_sim_shadow_t *self, int64_t seq)
{
    row_t *row;
    HASH_FIND (hh, self->rows, &seq, sizeof seq, row);
    return row;
}

static mark_t *
s_mark (mark_t *marks, const char *name)
{
    mark_t *mark;
    HASH_FIND_STR (marks, name, mark);
    return mark;
}

static void
s_set_mark (mark_t **marks, const char *name, int64_t value)
{
    mark_t *mark = s_mark (*marks, name);
    if (!mark) {
        mark = calloc (1, sizeof *mark);
        if (!mark)
            abort ();
        snprintf (mark->name, sizeof mark->name, "%s", name);
        HASH_ADD_STR (*marks, name, mark);
    }
    mark->value = value;
}

static row_t *
s_add (argos_sim_shadow_t *self, int64_t seq, const char *service, const char *key)
{
    if (s_find (self, seq))
        s_wrong (self, "row number %" PRId64 " was given out twice", seq);
    row_t *row = calloc (1, sizeof *row);
    if (!row)
        abort ();
    row->seq = seq;
    snprintf (row->service, sizeof row->service, "%s", service);
    snprintf (row->key, sizeof row->key, "%s", key);
    HASH_ADD (hh, self->rows, seq, sizeof row->seq, row);
    return row;
}

static bool
s_same_lane (const row_t *row, const row_t *other)
{
    return strcmp (row->service, other->service) == 0 && strcmp (row->key, other->key) == 0;
}

//  A lease begins: the first due row of its lane, and no other is leased.

static void
s_lease (argos_sim_shadow_t *self, row_t *row, int64_t lease, const char *holder)
{
    row_t *other, *next;
    HASH_ITER (hh, self->rows, other, next) {
        if (other == row || !s_same_lane (row, other))
            continue;
        if (other->lease)
            s_wrong (self, "row %" PRId64 " is leased while row %" PRId64 " of its lane is",
                row->seq, other->seq);
        if (other->seq < row->seq && other->not_before <= self->now)
            s_wrong (self, "row %" PRId64 " is leased before row %" PRId64 " of its lane", row->seq,
                other->seq);
    }
    if (row->lease)
        s_wrong (self, "row %" PRId64 " is leased twice", row->seq);
    if (lease <= self->last_lease)
        s_wrong (self, "lease number %" PRId64 " is not a new one", lease);
    self->last_lease = lease > self->last_lease ? lease : self->last_lease;
    row->lease = lease;
    row->n = 0;
    row->attempt++;
    snprintf (row->holder, sizeof row->holder, "%s", holder);
}

//  ------------------------------------------------------------------------------------------------
//  Requests

//  A commit that expects of a lane what does not hold is not executed.

static void
s_expect (argos_sim_shadow_t *self, const argos_frame_t *frame)
{
    json_t *body = json_loadb (frame->data, frame->size, 0, NULL);
    const char *service = argos_sim_text (body, "service"), *key = argos_sim_text (body, "key");
    int64_t count = 0;
    row_t *row, *next;
    HASH_ITER (hh, self->rows, row, next) {
        count += strcmp (row->service, service) == 0 && strcmp (row->key, key) == 0;
    }
    if (count > argos_sim_int (body, "max"))
        s_wrong (self, "lane %s of %s has %" PRId64 " messages, a commit expected fewer", key,
            service, count);
    json_decref (body);
}

static void
s_part (argos_sim_shadow_t *self, const argos_storage_part_t *part,
    const argos_storage_part_t *answer, size_t index)
{
    argos_header_t header;
    char made[32];
    (void) index;
    if (argos_header_read (part->header->data, part->header->size, &header, NULL) != ARGOS_OK)
        s_wrong (self, "a part with a bad header was executed");
    if (header.to == ARGOS_TO_TOPIC && answer->at) {
        const mark_t *topic = s_mark (self->topics, header.name);
        if (topic && answer->number <= topic->value)
            s_wrong (self, "topic %s: number %" PRId64 " after %" PRId64, header.name,
                answer->number, topic->value);
        s_set_mark (&self->topics, header.name, answer->number);
    }
    if (strcmp (header.type, "expect") == 0)
        s_expect (self, part->body);
    if (header.to != ARGOS_TO_SERVICE)
        return;
    if (!answer->seq) {
        s_wrong (self, "a message to %s became no row", header.name);
        return;
    }
    snprintf (made, sizeof made, "?%" PRId64, answer->seq);
    row_t *row = s_add (self, answer->seq, header.name,
        header.has_key      ? header.key
        : header.id[0] != 0 ? header.id
                            : made);
    row->side = header.side;
    row->not_before = header.not_before;
    if (answer->number)
        s_lease (self, row, answer->number, part->holder);
}

static void
s_parts (argos_sim_shadow_t *self, const argos_storage_req_t *req, const argos_storage_ans_t *ans)
{
    for (size_t i = 0; i < req->part_count; i++)
        s_part (self, &req->parts[i], &ans->parts[i], i);
}

static void
s_free_commit (
    argos_sim_shadow_t *self, const argos_storage_req_t *req, const argos_storage_ans_t *ans)
{
    char name[MARK_MAX], base[ARGOS_NAME_MAX + 1];
    argos_name_base (req->from, base);
    snprintf (name, sizeof name, "%s %s", base, req->id);
    const mark_t *known = s_mark (self->ids, name);
    if (ans->code != ARGOS_OK)
        return;
    if (known && !ans->repeat)
        s_wrong (self, "%s was executed twice", name);
    if (known && known->value != ans->seq)
        s_wrong (self, "%s was row %" PRId64 ", is now %" PRId64, name, known->value, ans->seq);
    if (!known && ans->repeat)
        s_wrong (self, "%s is called a repeat, and is none", name);
    if (!known)
        s_set_mark (&self->ids, name, ans->seq);
    if (!ans->repeat)
        s_parts (self, req, ans);
}

static bool
s_holds (const row_t *row, const argos_storage_req_t *req)
{
    return row && row->lease && row->lease == req->lease && strcmp (row->holder, req->holder) == 0;
}

static void
s_take (argos_sim_shadow_t *self, const argos_storage_req_t *req, const row_t *row)
{
    for (size_t i = 0; i < req->take_count; i++) {
        row_t *taken = s_find (self, req->take[i]);
        if (!taken || !s_same_lane (row, taken))
            s_wrong (self, "row %" PRId64 " was taken and is not there", req->take[i]);
        else
            s_drop (self, taken);
    }
}

//  The mark of a lease that ended by a done, for who asks what became of it: its holder alone is
//  told

static void
s_name_end (char name[static MARK_MAX], int64_t lease, int64_t seq, const char *holder)
{
    snprintf (name, MARK_MAX, "%" PRId64 " %" PRId64 " %s", lease, seq, holder);
}

static void
s_done (argos_sim_shadow_t *self, const argos_storage_req_t *req, row_t *row)
{
    char name[MARK_MAX];
    row_t *other, *next;
    HASH_ITER (hh, self->rows, other, next) {
        if (other != row && s_same_lane (row, other) && other->side && other->seq > req->seen &&
            other->not_before <= self->now)
            s_wrong (self, "done of row %" PRId64 " passes the unseen side message %" PRId64,
                row->seq, other->seq);
    }
    s_name_end (name, row->lease, row->seq, row->holder);
    s_set_mark (&self->finished, name, req->n);
    s_drop (self, row);
}

static void
s_leased_commit (
    argos_sim_shadow_t *self, const argos_storage_req_t *req, const argos_storage_ans_t *ans)
{
    row_t *row = s_find (self, req->seq);
    char name[MARK_MAX];
    s_name_end (name, req->lease, req->seq, req->holder);
    const mark_t *finished = s_mark (self->finished, name);
    bool holds = s_holds (row, req);
    if (ans->code == ARGOS_FENCED && holds && req->n == row->n + 1)
        s_wrong (self, "the holder of row %" PRId64 " is told that it is fenced", req->seq);
    if (ans->code == ARGOS_FENCED && finished && finished->value == req->n && req->done)
        s_wrong (self, "a done of row %" PRId64 " that was executed is refused", req->seq);
    if (ans->code != ARGOS_OK)
        return;
    if (ans->repeat) {
        if (!(holds && row->n == req->n) && !(finished && finished->value == req->n))
            s_wrong (self, "commit %" PRId64 " of row %" PRId64 " is no repeat", req->n, req->seq);
        return;
    }
    if (!holds || req->n != row->n + 1) {
        s_wrong (self,
            "commit %" PRId64 " of row %" PRId64 " under lease %" PRId64
            " was executed; in force: %" PRId64 ", n %" PRId64,
            req->n, req->seq, req->lease, row ? row->lease : 0, row ? row->n : 0);
        return;
    }
    row->n = req->n;
    s_parts (self, req, ans);
    s_take (self, req, row);
    if (req->done)
        s_done (self, req, row);
}

static void
s_lease_given (
    argos_sim_shadow_t *self, const argos_storage_req_t *req, const argos_storage_ans_t *ans)
{
    row_t *row = s_find (self, req->seq);
    if (ans->code == ARGOS_EXPIRED && row)
        s_drop (self, row); //  Buried instead
    if (ans->code != ARGOS_OK)
        return;
    if (!row) {
        s_wrong (self, "row %" PRId64 " is leased and is not there", req->seq);
        return;
    }
    if (row->attempt < 0)
        row->attempt = ans->attempt - 1;
    s_lease (self, row, ans->lease, req->holder);
    if (ans->attempt != row->attempt)
        s_wrong (self, "row %" PRId64 " has had %" PRId64 " leases, the store says %" PRId64,
            row->seq, row->attempt, ans->attempt);
}

static void
s_released (
    argos_sim_shadow_t *self, const argos_storage_req_t *req, const argos_storage_ans_t *ans)
{
    row_t *row = s_find (self, req->seq);
    if (ans->code != ARGOS_OK)
        return;
    if (!row || (req->lease && row->lease != req->lease)) {
        s_wrong (self, "row %" PRId64 " is released and is not leased so", req->seq);
        return;
    }
    row->lease = 0;
    if (req->clean)
        row->attempt--;
    if (ans->dead)
        s_drop (self, row);
}

static void
s_greeted (argos_sim_shadow_t *self, const argos_storage_req_t *req, const argos_storage_ans_t *ans)
{
    char name[MARK_MAX];
    for (size_t i = 0; i < ans->pair_count; i++) {
        row_t *row = s_find (self, ans->pairs[i].seq);
        bool valid =
            row && row->lease == ans->pairs[i].lease && strcmp (row->holder, req->holder) == 0;
        if (valid != (ans->pairs[i].verdict == 'v'))
            s_wrong (
                self, "hello: lease %" PRId64 " is %c", ans->pairs[i].lease, ans->pairs[i].verdict);
        s_name_end (name, ans->pairs[i].lease, ans->pairs[i].seq, req->holder);
        if ((s_mark (self->finished, name) != NULL) != (ans->pairs[i].verdict == 'd'))
            s_wrong (self, "hello: lease %" PRId64 " is %c, and was%s ended by a done",
                ans->pairs[i].lease, ans->pairs[i].verdict,
                s_mark (self->finished, name) ? "" : " not");
    }
    for (size_t i = 0; i < ans->freed_count; i++) {
        row_t *row = s_find (self, ans->freed[i].seq);
        if (row)
            row->lease = 0;
    }
    for (size_t i = 0; i < ans->gone_count; i++) {
        row_t *row = s_find (self, ans->gone[i]);
        if (row)
            s_drop (self, row);
    }
}

void
argos_sim_shadow_executed (
    argos_sim_shadow_t *self, const argos_storage_req_t *req, const argos_storage_ans_t *ans)
{
    self->now = req->now;
    if (req->op == ARGOS_ST_COMMIT && req->seq)
        s_leased_commit (self, req, ans);
    else if (req->op == ARGOS_ST_COMMIT)
        s_free_commit (self, req, ans);
    else if (req->op == ARGOS_ST_LEASE)
        s_lease_given (self, req, ans);
    else if (req->op == ARGOS_ST_RELEASE)
        s_released (self, req, ans);
    else if (req->op == ARGOS_ST_HELLO)
        s_greeted (self, req, ans);
    //  A redriven one keeps its attempts, which are not said
    for (size_t i = 0; i < ans->row_count && req->op != ARGOS_ST_INDEX; i++)
        s_add (self, ans->rows[i].seq, ans->rows[i].service, ans->rows[i].key)->attempt = -1;
}

//  ------------------------------------------------------------------------------------------------
//  Against the rows

static bool
s_in_process (const row_t *row)
{
    const char *slash = strchr (row->holder, '/');
    return slash && strchr (slash + 1, '/');
}

//  seq, lease, n, attempt, service, key

static void
s_compare_row (void *arg, int columns, char **values)
{
    argos_sim_shadow_t *self = arg;
    (void) columns;
    int64_t seq = strtoll (values[0], NULL, 10);
    int64_t lease = values[1] ? strtoll (values[1], NULL, 10) : 0;
    row_t *row = s_find (self, seq);
    if (!row && self->restarting) {
        s_add (self, seq, values[4], values[5]); //  The notice of one that has died in the start
        self->found++;
        return;
    }
    if (!row) {
        s_wrong (self, "row %" PRId64 " is there and should not be", seq);
        return;
    }
    self->found++;
    if (self->restarting && row->lease && s_in_process (row) && !lease)
        row->lease = 0;
    if (row->lease != lease)
        s_wrong (self, "row %" PRId64 " has lease %" PRId64 " instead of %" PRId64, seq, lease,
            row->lease);
    if (lease && strtoll (values[2], NULL, 10) != row->n)
        s_wrong (self, "row %" PRId64 " has n %s instead of %" PRId64, seq, values[2], row->n);
    if (row->attempt < 0)
        row->attempt = strtoll (values[3], NULL, 10);
    if (strtoll (values[3], NULL, 10) != row->attempt)
        s_wrong (self, "row %" PRId64 " has attempt %s instead of %" PRId64, seq, values[3],
            row->attempt);
}

#define ROWS "SELECT seq, lease, n, attempt, service, key FROM queue ORDER BY seq"

void
argos_sim_shadow_compare (argos_sim_shadow_t *self, argos_sim_net_t *net)
{
    self->found = 0;
    argos_sim_net_query (net, ROWS, s_compare_row, self);
    if (self->found != HASH_COUNT (self->rows))
        s_wrong (self, "%zu rows are there, %u should be", self->found, HASH_COUNT (self->rows));
}

void
argos_sim_shadow_restarted (argos_sim_shadow_t *self, argos_sim_net_t *net)
{
    row_t *row, *next;
    HASH_ITER (hh, self->rows, row, next) {
        char sql[96];
        snprintf (sql, sizeof sql, "SELECT 1 FROM queue WHERE seq = %" PRId64, row->seq);
        if (row->lease && s_in_process (row) && argos_sim_net_number (net, sql) < 0)
            s_drop (self, row);
    }
    self->restarting = true;
    argos_sim_shadow_compare (self, net);
    self->restarting = false;
}
