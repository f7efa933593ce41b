//  argos_loop - see the header.
//
//  Invariant: handlers are called from argos_loop_run only. Limits: LOOP_FD_MAX descriptors.

#include "argos_loop.h"

#include <assert.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define LOOP_FD_MAX 4           //  Descriptors beside that of libargos
#define LOOP_SLEEP_MAX 86400000 //  Longest sleep, msec
#define COMMIT_MAX 8            //  Parts of a commit

typedef struct {
    int fd;                 //  Descriptor, -1 = free place
    void (*fn) (void *arg); //  Called when it is readable
    void *arg;              //  Its argument
} loop_fd_t;

struct argos_loop {
    argos_t *argos;                 //  Our connection
    argos_loop_handlers_t handlers; //  The command's
    loop_fd_t fds[LOOP_FD_MAX];     //  Descriptors
    int64_t timer_due;              //  Monotonic msec, -1 = none
    void (*timer_fn) (void *arg);   //  Called when due
    void *timer_arg;                //  Its argument
    int stopped;                    //  How often argos_loop_stop was called since the last run
};

//  Who is told an answer

typedef struct {
    argos_loop_answer_fn *fn; //  This function
    void *arg;                //  with this
} loop_ask_t;

static int64_t
s_clock (clockid_t clock)
{
    struct timespec now;
    clock_gettime (clock, &now);
    return (int64_t) now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t
argos_loop_now (void)
{
    return s_clock (CLOCK_MONOTONIC);
}

int64_t
argos_loop_wall (void)
{
    return s_clock (CLOCK_REALTIME);
}

//  ------------------------------------------------------------------------------------------------
//  Handlers

static void
s_on_welcome (void *ctx, bool new_store)
{
    argos_loop_t *self = (argos_loop_t *) ctx;
    if (self->handlers.on_welcome)
        self->handlers.on_welcome (self->handlers.ctx, new_store);
}

static void
s_on_lost_connection (void *ctx)
{
    argos_loop_t *self = (argos_loop_t *) ctx;
    if (self->handlers.on_lost_connection)
        self->handlers.on_lost_connection (self->handlers.ctx);
}

//  With a body of its own, which the caller lets go

static argos_loop_msg_t
s_view (const argos_msg_t *msg)
{
    return (argos_loop_msg_t){ .type = msg->type,
        .id = msg->id,
        .body = json_loads (msg->body, 0, NULL),
        .keyframe = msg->keyframe,
        .last = msg->last,
        .seq = msg->seq,
        .n = msg->n,
        .at = msg->at,
        .attempt = msg->attempt,
        .work = msg->work };
}

static void
s_on_work (void *ctx, const argos_msg_t *msg)
{
    argos_loop_t *self = (argos_loop_t *) ctx;
    argos_loop_msg_t view = s_view (msg);
    argos_work_t *work = msg->work;
    if (self->handlers.on_work)
        self->handlers.on_work (self->handlers.ctx, &view);
    else
        argos_work_release (&work, 0, true, NULL);
    json_decref (view.body);
}

static void
s_on_entry (void *ctx, const argos_msg_t *msg)
{
    argos_loop_t *self = (argos_loop_t *) ctx;
    argos_loop_msg_t view = s_view (msg);
    if (self->handlers.on_entry)
        self->handlers.on_entry (self->handlers.ctx, msg->topic, &view);
    json_decref (view.body);
}

static void
s_on_end (void *ctx, const char *topic, int64_t n, bool closed)
{
    argos_loop_t *self = (argos_loop_t *) ctx;
    if (self->handlers.on_end)
        self->handlers.on_end (self->handlers.ctx, topic, n, closed);
}

static void
s_on_refused (void *ctx, const char *id, argos_err_t code, const char *reason)
{
    argos_loop_t *self = (argos_loop_t *) ctx;
    if (self->handlers.on_refused)
        self->handlers.on_refused (self->handlers.ctx, id, code, reason);
}

static void
s_on_final (void *ctx, argos_err_t code, const char *reason)
{
    argos_loop_t *self = (argos_loop_t *) ctx;
    if (self->handlers.on_final)
        self->handlers.on_final (self->handlers.ctx, code, reason);
}

//  ------------------------------------------------------------------------------------------------
//  The loop

argos_loop_t *
argos_loop_new (const char *name, const char *endpoint, const char *token,
    const argos_loop_handlers_t *handlers)
{
    char reason[512];
    argos_loop_t *self = calloc (1, sizeof *self);
    if (!self)
        abort ();
    self->handlers = *handlers;
    self->timer_due = -1;
    for (size_t i = 0; i < LOOP_FD_MAX; i++)
        self->fds[i].fd = -1;
    argos_options_t options = { .name = name,
        .endpoint = endpoint,
        .key_file = "", //  Not that of the environment: the endpoint is the home's
        .token = token,
        .handlers = { .ctx = self,
            .on_welcome = s_on_welcome,
            .on_lost_connection = s_on_lost_connection,
            .on_work = s_on_work,
            .on_entry = s_on_entry,
            .on_end = s_on_end,
            .on_refused = s_on_refused,
            .on_final = s_on_final } };
    self->argos = argos_new (&options, reason, sizeof reason);
    if (!self->argos)
        argos_loop_destroy (&self);
    return self;
}

void
argos_loop_destroy (argos_loop_t **self_p)
{
    if (!self_p || !*self_p)
        return;
    argos_destroy (&(*self_p)->argos);
    free (*self_p);
    *self_p = NULL;
}

void
argos_loop_fd (argos_loop_t *self, int fd, void (*fn) (void *arg), void *arg)
{
    loop_fd_t *place = NULL;
    for (size_t i = 0; i < LOOP_FD_MAX; i++)
        if (self->fds[i].fd == fd || (self->fds[i].fd < 0 && !place))
            place = &self->fds[i];
    if (fn) {
        assert (place && fd >= 0); //  More descriptors than places is a bug of the command
        *place = (loop_fd_t){ fd, fn, arg };
    }
    else if (place && place->fd == fd)
        *place = (loop_fd_t){ -1, NULL, NULL };
}

void
argos_loop_timer (argos_loop_t *self, int64_t due_ms, void (*fn) (void *arg), void *arg)
{
    self->timer_due = fn ? due_ms : -1;
    self->timer_fn = fn;
    self->timer_arg = arg;
}

void
argos_loop_forget (argos_loop_t *self)
{
    self->stopped = 0;
}

void
argos_loop_stop (argos_loop_t *self)
{
    self->stopped++;
}

static void
s_handle_timer (argos_loop_t *self)
{
    if (self->timer_due < 0 || argos_loop_now () < self->timer_due)
        return;
    void (*fn) (void *arg) = self->timer_fn;
    self->timer_due = -1; //  First, for fn may set it again
    fn (self->timer_arg);
}

static int
s_sleep_ms (const argos_loop_t *self)
{
    int64_t sleep_ms = LOOP_SLEEP_MAX;
    if (self->timer_due >= 0 && self->timer_due - argos_loop_now () < sleep_ms)
        sleep_ms = self->timer_due - argos_loop_now ();
    return sleep_ms > 0 ? (int) sleep_ms : 0;
}

//  Sleeps until something is there or due, then serves the descriptors

static void
s_poll (argos_loop_t *self)
{
    struct pollfd items[LOOP_FD_MAX + 1] = { { .fd = argos_fd (self->argos), .events = POLLIN } };
    for (size_t i = 0; i < LOOP_FD_MAX; i++)
        items[i + 1] = (struct pollfd){ .fd = self->fds[i].fd, .events = POLLIN };
    if (poll (items, LOOP_FD_MAX + 1, s_sleep_ms (self)) <= 0)
        return;
    for (size_t i = 0; i < LOOP_FD_MAX && !self->stopped; i++) {
        loop_fd_t place = self->fds[i];
        if (items[i + 1].revents && place.fd == items[i + 1].fd) //  Not taken out before
            place.fn (place.arg);
    }
}

//  A stop that came before ends it at once, as one that comes meanwhile.

int
argos_loop_run (argos_loop_t *self)
{
    bool over = false;
    while (!self->stopped && !over) {
        s_handle_timer (self);
        if (!self->stopped)
            over = argos_turn (self->argos, 0) != ARGOS_OK;
        if (!self->stopped && !over)
            s_poll (self);
    }
    int stopped = self->stopped;
    self->stopped = 0;
    return stopped;
}

//  ------------------------------------------------------------------------------------------------
//  What is sent

static void
s_on_answer (void *arg, const argos_result_t *result)
{
    loop_ask_t *ask = (loop_ask_t *) arg;
    argos_loop_answer_t answer = { .code = result->code,
        .reason = result->reason,
        .body = *result->body ? json_loads (result->body, 0, NULL) : NULL };
    ask->fn (ask->arg, &answer);
    json_decref (answer.body);
    free (ask);
}

//  The text of the body is new, the caller's; the body is let go.

static argos_part_t
s_part (const argos_loop_part_t *part, char **ret_text)
{
    *ret_text = part->body ? json_dumps (part->body, JSON_COMPACT) : NULL;
    json_decref (part->body);
    return (argos_part_t){ .type = part->type,
        .to = part->to,
        .id = part->id,
        .key = part->key,
        .durable = part->durable,
        .side = part->side,
        .urgent = part->urgent,
        .ttl_ms = part->ttl_ms,
        .body = *ret_text };
}

argos_err_t
argos_loop_send (
    argos_loop_t *self, const argos_loop_part_t *part, argos_loop_answer_fn *fn, void *arg)
{
    char *text;
    loop_ask_t *ask = fn ? malloc (sizeof *ask) : NULL;
    if (fn && !ask)
        abort ();
    if (ask)
        *ask = (loop_ask_t){ fn, arg };
    argos_part_t inner = s_part (part, &text);
    argos_err_t code = argos_send (self->argos, &inner, fn ? s_on_answer : NULL, ask);
    if (code != ARGOS_OK)
        free (ask);
    free (text);
    return code;
}

argos_err_t
argos_loop_commit (argos_loop_t *self, const argos_loop_part_t *parts, size_t count,
    argos_loop_answer_fn *fn, void *arg)
{
    char *texts[COMMIT_MAX];
    argos_part_t inner[COMMIT_MAX] = { 0 };
    loop_ask_t *ask = malloc (sizeof *ask);
    if (!ask)
        abort ();
    *ask = (loop_ask_t){ fn, arg };
    assert (count <= COMMIT_MAX);
    for (size_t i = 0; i < count; i++)
        inner[i] = s_part (&parts[i], &texts[i]);
    argos_err_t code = argos_commit (self->argos, NULL, inner, count, s_on_answer, ask);
    if (code != ARGOS_OK)
        free (ask);
    for (size_t i = 0; i < count; i++)
        free (texts[i]);
    return code;
}

argos_err_t
argos_loop_done (argos_work_t *work, const argos_loop_part_t *part)
{
    char *text;
    argos_part_t inner = s_part (part, &text);
    argos_err_t code = argos_work_done (work, &inner, 1, NULL, 0, NULL, NULL);
    free (text);
    return code;
}

void
argos_loop_serve (argos_loop_t *self, const char *service, int slots)
{
    argos_serve (self->argos, service, slots, NULL);
}

void
argos_loop_subscribe (argos_loop_t *self, const char *topic, int64_t from)
{
    argos_subscribe (self->argos, topic, from);
}

void
argos_loop_unsubscribe (argos_loop_t *self, const char *topic)
{
    argos_unsubscribe (self->argos, topic);
}
