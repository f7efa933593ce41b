//  argos_auth_actor - says who may connect over tcp, and tells the broker which keys there are.
//
//  Invariant: the table is what was in the folder at the last look; a look follows each event of
//  the folder, and nobody is let in but by the table. A handshake costs one look-up. When the
//  folder is taken away all keys are gone. libzmq keeps the pipe by which a connection asked for as
//  long as that connection lives, two queues of 16 KiB: so the socket that was asked is replaced a
//  while after the first handshake, and closed, with its pipes, when none of those handshakes can
//  be under way any more. Limits: see the header.

#include "argos_auth_actor.h"

#include "argos_key_record.h"
#include "argos_order.h"
#include "argos_zap.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <uthash.h>

#define WATCHED                                                                                    \
    (IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_ATTRIB | IN_DELETE_SELF |       \
        IN_MOVE_SELF | IN_ONLYDIR)
#define FRAMES_MAX (ARGOS_ZAP_FRAMES + 1) //  One more, so that too many are seen
#define TURN_MAX 64                       //  Handshakes in a turn
#define AGAIN_MS 200                      //  After this the folder is looked for again
#define RENEW_MS 6000                     //  Longer than a handshake may take
#define TRIM_PART 6                       //  After this part of it libzmq has forgotten a socket

typedef struct {
    argos_key_record_t record; //  As read
    UT_hash_handle hh;         //  By public key
} known_t;

//  What is done to give back what libzmq keeps for a handshake, in turn

typedef enum {
    RENEWAL_REPLACE, //  A new socket gets the address
    RENEWAL_CLOSE,   //  The one before goes; libzmq takes its pipes down some time later
    RENEWAL_TRIM     //  Their memory goes back to the system
} renewal_t;

typedef struct {
    zsock_t *pipe;         //  To the owner
    void *zap;             //  REP: libzmq asks
    void *last;            //  The one before, not closed yet; NULL = none
    int renew_ms;          //  As configured
    renewal_t renewal;     //  What comes next to it
    int64_t renew_at;      //  and when, mono msec; 0 = never: nobody has asked
    bool used;             //  Whether zap was asked
    void *broker;          //  PAIR: the broker
    char folder[PATH_MAX]; //  HOME/keys
    int inotify;           //  Events of the folder
    int watch;             //  Its watch, -1 = the folder is not there
    known_t *known;        //  Keys that let in, by public key
    bool asked;            //  The broker wants to know
    bool terminated;       //  Set by $TERM
} auth_t;

//  ------------------------------------------------------------------------------------------------
//  The table

static void
s_forget (auth_t *self)
{
    known_t *known, *next;
    HASH_ITER (hh, self->known, known, next) {
        //  The analyzer does not see that the last of a table leaves no table behind
        HASH_DELETE (hh, self->known, known); // NOLINT(clang-analyzer-*)
        free (known);
    }
}

//  One file of the folder. One that can't be read lets nobody in.

static void
s_learn (void *arg, int folder, const char *file)
{
    auth_t *self = arg;
    known_t *known = calloc (1, sizeof *known), *other = NULL;
    assert (known);
    bool good = argos_key_record_load (&known->record, folder, file) == 0;
    if (good)
        HASH_FIND_STR (self->known, known->record.public_key, other);
    if (!good || other || known->record.revoked_at)
        free (known);
    else
        HASH_ADD_STR (self->known, record.public_key, known);
}

static void
s_tell (auth_t *self)
{
    json_t *list = json_array ();
    known_t *known, *next;
    HASH_ITER (hh, self->known, known, next) // NOLINT(clang-analyzer-*): as above
        json_array_append_new (list, argos_key_record_json (&known->record));
    char *text = json_dumps (list, JSON_COMPACT);
    assert (text);
    ARGOS_GIVE ();
    zmq_send (self->broker, text, strlen (text), ZMQ_DONTWAIT);
    free (text);
    json_decref (list);
}

static void
s_look (auth_t *self)
{
    s_forget (self); // NOLINT(clang-analyzer-*): as above
    int folder = open (self->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder >= 0) {
        argos_key_record_each (folder, s_learn, self);
        close (folder);
    }
    if (self->asked)
        s_tell (self);
}

//  Watches the folder, which is made when it is missing.

static void
s_watch (auth_t *self)
{
    if (mkdir (self->folder, 0700) != 0 && errno != EEXIST)
        return;
    self->watch = inotify_add_watch (self->inotify, self->folder, WATCHED);
}

//  ------------------------------------------------------------------------------------------------
//  What comes in

//  A socket that is bound nowhere. NULL when there is none left.

static void *
s_open (int type)
{
    int none = 0;
    void *socket = zmq_socket (zsys_init (), type);
    if (!socket)
        return NULL;
    zmq_setsockopt (socket, ZMQ_LINGER, &none, sizeof none);
    zmq_setsockopt (socket, ZMQ_SNDTIMEO, &none, sizeof none);
    zmq_setsockopt (socket, ZMQ_SNDHWM, &none, sizeof none);
    zmq_setsockopt (socket, ZMQ_RCVHWM, &none, sizeof none);
    return socket;
}

//  Takes all events that are there; they may be many for one change.

static void
s_take_events (auth_t *self)
{
    _Alignas(struct inotify_event) char events[8192];
    bool gone = false, heard = false;
    ssize_t size;
    for (; (size = read (self->inotify, events, sizeof events)) > 0; heard = true)
        for (char *at = events; at < events + size;) {
            const struct inotify_event *event = (const struct inotify_event *) (const void *) at;
            gone = gone || (event->mask & (IN_IGNORED | IN_MOVE_SELF | IN_UNMOUNT)) != 0;
            at += sizeof *event + event->len;
        }
    if (gone) {
        if (self->watch >= 0)
            inotify_rm_watch (self->inotify, self->watch);
        self->watch = -1;
        s_watch (self);
    }
    if (heard)
        s_look (self);
}

//  The key that was made before its connection is known, also when its event came after the wait.

static known_t *
s_find (auth_t *self, const char *public_key)
{
    known_t *known = NULL;
    HASH_FIND_STR (self->known, public_key, known);
    if (!known && *public_key) {
        s_take_events (self);
        HASH_FIND_STR (self->known, public_key, known);
    }
    return known;
}

static void
s_answer (void *zap, const argos_zap_request_t *request, const known_t *known)
{
    const char *status = known ? "200" : request->status;
    const char *text = known ? "OK" : request->text;
    const char *user = known ? known->record.name : "";
    zmq_send (zap, "1.0", 3, ZMQ_SNDMORE);
    zmq_send (zap, request->id, request->id_size, ZMQ_SNDMORE);
    zmq_send (zap, status, 3, ZMQ_SNDMORE);
    zmq_send (zap, text, strlen (text), ZMQ_SNDMORE);
    zmq_send (zap, user, strlen (user), ZMQ_SNDMORE);
    zmq_send (zap, "", 0, 0);
}

//  One request of libzmq. False when there is none.

static bool
s_take_request (auth_t *self, void *zap)
{
    zmq_msg_t messages[FRAMES_MAX];
    argos_zap_frame_t frames[FRAMES_MAX];
    argos_zap_request_t request;
    known_t *known = NULL;
    size_t count = 0;
    for (int more = 1; more;) {
        zmq_msg_t message;
        zmq_msg_init (&message);
        if (zmq_msg_recv (&message, zap, ZMQ_DONTWAIT) < 0) {
            zmq_msg_close (&message);
            return false; //  A request is there as a whole, so this is the first frame
        }
        ARGOS_TAKE ();
        more = zmq_msg_more (&message);
        if (count < FRAMES_MAX) {
            zmq_msg_init (&messages[count]);
            zmq_msg_move (&messages[count], &message);
            frames[count] = (argos_zap_frame_t){ zmq_msg_data (&messages[count]),
                zmq_msg_size (&messages[count]) };
            count++;
        }
        zmq_msg_close (&message);
    }
    if (argos_zap_read (&request, frames, count) == 0)
        known = s_find (self, request.public_key);
    if (!known && *request.public_key) {
        request.status = "400";
        request.text = "no access";
    }
    s_answer (zap, &request, known);
    for (size_t i = 0; i < count; i++)
        zmq_msg_close (&messages[i]);
    return true;
}

static void
s_take_question (auth_t *self)
{
    char word[8];
    while (zmq_recv (self->broker, word, sizeof word, ZMQ_DONTWAIT) >= 0) {
        self->asked = true;
        s_tell (self);
    }
}

static void
s_take_command (auth_t *self)
{
    zmsg_t *msg = zmsg_recv_nowait (self->pipe);
    char *command = msg ? zmsg_popstr (msg) : NULL;
    if (msg && (!command || streq (command, "$TERM")))
        self->terminated = true;
    zstr_free (&command);
    zmsg_destroy (&msg);
}

//  All requests of a turn.

static void
s_take_requests (auth_t *self)
{
    for (int i = 0; self->last && i < TURN_MAX && s_take_request (self, self->last); i++)
        ;
    for (int i = 0; i < TURN_MAX && s_take_request (self, self->zap); i++)
        self->used = true;
    if (self->used && !self->renew_at)
        self->renew_at = zclock_mono () + self->renew_ms;
}

//  A connection that finds no socket between the two is let in by libzmq without a name, so the
//  broker cuts it at its first message: it comes again.

static void
s_replace (auth_t *self)
{
    void *fresh = s_open (ZMQ_REP);
    if (!fresh)
        return; //  No socket is left: next time
    zmq_unbind (self->zap, ARGOS_ZAP_ENDPOINT);
    if (zmq_bind (fresh, ARGOS_ZAP_ENDPOINT) != 0) { //  Nobody else binds it
        zmq_bind (self->zap, ARGOS_ZAP_ENDPOINT);
        zmq_close (fresh);
        return;
    }
    self->last = self->zap;
    self->zap = fresh;
    self->used = false;
}

static void
s_renew (auth_t *self)
{
    self->renew_at = zclock_mono () + self->renew_ms;
    switch (self->renewal) {
    case RENEWAL_REPLACE:
        s_replace (self);
        self->renewal = self->last ? RENEWAL_CLOSE : RENEWAL_REPLACE;
        break;
    case RENEWAL_CLOSE:
        zmq_close (self->last);
        self->last = NULL;
        self->renewal = RENEWAL_TRIM;
        self->renew_at = zclock_mono () + self->renew_ms / TRIM_PART;
        break;
    case RENEWAL_TRIM:
        malloc_trim (0);
        self->renewal = RENEWAL_REPLACE;
        if (!self->used)
            self->renew_at = 0;
        break;
    }
}

//  How long to wait for an event, msec; -1 = for ever.

static long
s_wait (const auth_t *self)
{
    int64_t wait = self->renew_at ? self->renew_at - zclock_mono () : INT64_MAX;
    if (self->watch < 0 && wait > AGAIN_MS)
        return AGAIN_MS;
    return wait == INT64_MAX ? -1 : wait > 0 ? (long) wait : 0;
}

static void
s_run (auth_t *self)
{
    while (!self->terminated) {
        zmq_pollitem_t items[] = { { zsock_resolve (self->pipe), 0, ZMQ_POLLIN, 0 },
            { NULL, self->inotify, ZMQ_POLLIN, 0 }, { self->broker, 0, ZMQ_POLLIN, 0 },
            { self->zap, 0, ZMQ_POLLIN, 0 }, { self->last, 0, ZMQ_POLLIN, 0 } };
        if (zmq_poll (items, self->last ? 5 : 4, s_wait (self)) < 0 && errno != EINTR)
            break;
        if (items[0].revents)
            s_take_command (self);
        if (self->watch < 0) {
            s_watch (self);
            s_look (self);
        }
        if (items[1].revents)
            s_take_events (self);
        s_take_question (self);
        s_take_requests (self);
        if (self->renew_at && zclock_mono () >= self->renew_at)
            s_renew (self);
    }
}

//  ------------------------------------------------------------------------------------------------
//  Start and end

static void *
s_socket (int type, const char *endpoint)
{
    void *socket = s_open (type);
    if (!socket || zmq_bind (socket, endpoint) == 0)
        return socket;
    zmq_close (socket);
    return NULL;
}

//  Opens everything; returns NULL, or why not.

static const char *
s_start (auth_t *self, const argos_auth_config_t *config)
{
    if (snprintf (self->folder, sizeof self->folder, "%s", config->folder) >=
        (int) sizeof self->folder)
        return "the path of the keys is too long";
    self->renew_ms = config->renew_ms ? config->renew_ms : RENEW_MS;
    self->inotify = inotify_init1 (IN_NONBLOCK | IN_CLOEXEC);
    if (self->inotify < 0)
        return "the keys can't be watched";
    s_watch (self);
    if (self->watch < 0)
        return "the folder of the keys can't be opened";
    self->broker = s_socket (ZMQ_PAIR, ARGOS_AUTH_INPROC);
    self->zap = self->broker ? s_socket (ZMQ_REP, ARGOS_ZAP_ENDPOINT) : NULL;
    if (!self->zap)
        return "another auth actor is there";
    s_look (self);
    return NULL;
}

static void
s_close (void *socket, const char *endpoint)
{
    if (!socket)
        return;
    //  A close alone frees the address some time later
    zmq_unbind (socket, endpoint);
    zmq_close (socket);
}

void
argos_auth_actor (zsock_t *pipe, void *config)
{
    ARGOS_TAKE ();
    auth_t self = { .pipe = pipe, .inotify = -1, .watch = -1 };
    const char *wrong = s_start (&self, config);
    ARGOS_GIVE ();
    zsock_set_sndtimeo (pipe, 0);
    if (wrong)
        zstr_sendx (pipe, "FAILED", wrong, NULL);
    else {
        zstr_sendx (pipe, "READY", NULL);
        s_run (&self);
    }
    s_close (self.zap, ARGOS_ZAP_ENDPOINT);
    if (self.last)
        zmq_close (self.last);
    s_close (self.broker, ARGOS_AUTH_INPROC);
    if (self.inotify >= 0)
        close (self.inotify);
    s_forget (&self);
}
