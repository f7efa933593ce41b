//  argos_actor - start and stop an actor.
//
//  Invariant: when argos_actor_start returns, the actor has said READY, or its thread has finished.
//  Limits: the name of a thread shows 15 bytes; an actor that never says a word blocks its starter,
//  unless that waits for a descriptor as well.

#include "argos_actor.h"

#include "argos_order.h"

#include <assert.h>
#include <pthread.h>

#define STOP_SLICE_MS 50     //  How often a stop asks again
#define FAILED_STOP_MS 10000 //  Patience with an actor that has said FAILED

//  What the new thread needs; lives on the starter's stack until the actor has signalled

typedef struct {
    const char *name; //  Name of the thread
    zactor_fn *fn;    //  Body of the actor
    void *config;     //  Its argument
} actor_start_t;

static void
s_actor_main (zsock_t *pipe, void *args)
{
    ARGOS_TAKE ();
    const actor_start_t *start = (const actor_start_t *) args;
    zactor_fn *fn = start->fn;
    void *config = start->config;
    char name[16];
    snprintf (name, sizeof name, "%s", start->name);
    pthread_setname_np (pthread_self (), name);
    //  zactor_new waits for a signal, and can't be told to give up; so it gets one at once, and who
    //  starts us waits for the word
    zsock_signal (pipe, 0);
    fn (pipe, config);
    ARGOS_GIVE ();
}

typedef enum {
    WORD_READY,  //  It serves
    WORD_FAILED, //  It does not, and waits to be stopped
    WORD_GONE,   //  Its thread has left without a word
    WORD_OTHER   //  None: the descriptor was first
} word_t;

//  What a message of an actor says; WORD_OTHER = no word. With FAILED, reason is what comes with
//  it. Destroys the message.

static word_t
s_read_word (zmsg_t *msg, char *reason, size_t size)
{
    zframe_t *first = zmsg_first (msg);
    word_t word = WORD_OTHER;
    if (first && zframe_streq (first, "READY"))
        word = WORD_READY;
    else if (first && zframe_streq (first, "FAILED")) {
        zframe_t *why = zmsg_next (msg);
        if (why)
            snprintf (reason, size, "%.*s", (int) zframe_size (why), (char *) zframe_data (why));
        word = WORD_FAILED;
    }
    else if (zmsg_signal (msg) >= 0)
        word = WORD_GONE;
    zmsg_destroy (&msg);
    ARGOS_TAKE ();
    return word;
}

//  Waits for the first word, or until fd is readable.

static word_t
s_wait_word (zsock_t *pipe, int fd, char *reason, size_t size)
{
    zmq_pollitem_t items[] = { { zsock_resolve (pipe), 0, ZMQ_POLLIN, 0 },
        { NULL, fd, ZMQ_POLLIN, 0 } };
    for (;;) {
        zmq_poll (items, fd >= 0 ? 2 : 1, -1);
        if (!items[0].revents && fd >= 0 && items[1].revents)
            return WORD_OTHER;
        zmsg_t *msg = items[0].revents ? zmsg_recv_nowait (pipe) : NULL; //  None after a signal
        word_t word = msg ? s_read_word (msg, reason, size) : WORD_OTHER;
        if (word != WORD_OTHER)
            return word;
    }
}

//  Destroy an actor whose exit signal is consumed, or that is given up.

static void
s_forget (zactor_t **actor_p)
{
    zsock_t *pipe = zactor_sock (*actor_p);
    zsock_set_sndtimeo (pipe, 0);
    zsock_set_rcvtimeo (pipe, 0);
    zactor_destroy (actor_p);
}

zactor_t *
argos_actor_start (const char *name, zactor_fn *fn, void *config)
{
    char reason[1];
    return argos_actor_start_unless (name, fn, config, -1, reason, sizeof reason);
}

zactor_t *
argos_actor_start_unless (
    const char *name, zactor_fn *fn, void *config, int fd, char *reason, size_t size)
{
    assert (name && fn && size > 0);
    *reason = '\0';
    actor_start_t start = { name, fn, config };
    ARGOS_GIVE ();
    zactor_t *actor = zactor_new (s_actor_main, &start);
    word_t word = actor ? s_wait_word (zactor_sock (actor), fd, reason, size) : WORD_READY;
    if (word == WORD_GONE)
        s_forget (&actor); //  There is nothing to wait for
    else if (word != WORD_READY)
        argos_actor_stop (&actor, FAILED_STOP_MS);
    return actor;
}

int
argos_actor_stop (zactor_t **actor_p, int timeout_ms)
{
    assert (actor_p);
    if (!*actor_p)
        return 0;
    zsock_t *pipe = zactor_sock (*actor_p);
    int64_t deadline = zclock_mono () + timeout_ms;
    bool asked = false, stopped = false;
    zsock_set_sndtimeo (pipe, 0);
    zsock_set_rcvtimeo (pipe, STOP_SLICE_MS);
    while (!stopped && zclock_mono () < deadline) {
        if (!asked)
            asked = zstr_send (pipe, "$TERM") == 0; //  A full pipe refuses even this
        zmsg_t *msg = zmsg_recv (pipe);
        stopped = msg && zmsg_signal (msg) >= 0;
        zmsg_destroy (&msg);
    }
    ARGOS_TAKE ();
    s_forget (actor_p);
    return stopped ? 0 : -1;
}

void
argos_actor_ready (zsock_t *pipe, bool ok)
{
    ARGOS_GIVE ();
    zsock_set_sndtimeo (pipe, 0); //  A dead owner must not block us
    zstr_send (pipe, ok ? "READY" : "FAILED");
}

void
argos_actor_fail (zsock_t *pipe, const char *reason)
{
    ARGOS_GIVE ();
    zsock_set_sndtimeo (pipe, 0);
    zstr_sendx (pipe, "FAILED", reason ? reason : "", NULL);
}

json_t *
argos_actor_settings (zmsg_t *msg)
{
    zframe_t *word = zmsg_first (msg), *text = zmsg_next (msg);
    if (!word || !text || !zframe_streq (word, ARGOS_ACTOR_SETTINGS))
        return NULL;
    return json_loadb ((const char *) zframe_data (text), zframe_size (text), 0, NULL);
}
