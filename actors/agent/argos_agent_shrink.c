//  argos_agent_shrink - photos are made smaller in a thread of their own, one after the other.
//
//  The thread comes with the first photo and sleeps when there is none. Invariant: a photo is the
//  thread's from when it is in `todo` until it is in `done`; each is told once, in the agent's
//  thread, at the end of the agent too. One is in memory as a whole at a time; those that are done
//  have AGENT_PHOTO_MAX bytes at most.

#include "argos_agent_priv.h"
#include "argos_jpeg.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <utlist.h>

typedef struct photo {
    int fd;               //  Its file, until it was read
    unsigned char *bytes; //  What became of it, NULL = nothing
    size_t size;          //  Of the file; of the bytes then
    agent_photo_fn *fn;   //  Who is told
    void *arg;            //  With this
    struct photo *next;   //  In its list
} photo_t;

struct shrinker {
    argos_shell_t *shell;  //  Whose loop
    int event;             //  Something is done
    pthread_t thread;      //  At work
    pthread_mutex_t mutex; //  Guards what follows
    pthread_cond_t more;   //  There is something to do
    photo_t *todo, *done;  //  In order
    bool stop;             //  It is over
};

static void
s_read (photo_t *self)
{
    self->bytes = (unsigned char *) malloc (self->size + 1);
    if (!self->bytes)
        abort ();
    if (pread (self->fd, self->bytes, self->size, 0) != (ssize_t) self->size) {
        free (self->bytes);
        self->bytes = NULL;
    }
    close (self->fd);
    self->fd = -1;
}

static void
s_shrink (photo_t *self)
{
    size_t size = 0;
    s_read (self);
    if (!self->bytes)
        return;
    unsigned char *smaller =
        argos_jpeg_shrink (self->bytes, self->size, AGENT_PHOTO_EDGE, AGENT_PHOTO_MAX, &size);
    if (!smaller && self->size <= AGENT_PHOTO_MAX)
        return;
    free (self->bytes);
    self->bytes = smaller;
    self->size = size;
}

static void *
s_thread (void *arg)
{
    shrinker_t *self = (shrinker_t *) arg;
    uint64_t one = 1;
    pthread_mutex_lock (&self->mutex);
    for (;;) {
        while (!self->todo && !self->stop)
            pthread_cond_wait (&self->more, &self->mutex);
        if (self->stop)
            break;
        photo_t *photo = self->todo;
        LL_DELETE (self->todo, photo);
        pthread_mutex_unlock (&self->mutex);
        s_shrink (photo);
        pthread_mutex_lock (&self->mutex);
        LL_APPEND (self->done, photo);
        if (write (self->event, &one, sizeof one) < 0)
            abort (); //  The counter of an eventfd is never full of our words
    }
    pthread_mutex_unlock (&self->mutex);
    return NULL;
}

static void
s_tell (photo_t *photos)
{
    photo_t *photo, *next;
    LL_FOREACH_SAFE (photos, photo, next) {
        photo->fn (photo->arg, photo->bytes, photo->size);
        if (photo->fd >= 0)
            close (photo->fd);
        free (photo->bytes);
        free (photo);
    }
}

static void
s_on_done (void *arg)
{
    shrinker_t *self = (shrinker_t *) arg;
    uint64_t count;
    if (read (self->event, &count, sizeof count) < 0)
        return;
    pthread_mutex_lock (&self->mutex);
    photo_t *done = self->done;
    self->done = NULL;
    pthread_mutex_unlock (&self->mutex);
    s_tell (done);
}

//  NULL: the host has no descriptor or no thread for it
static shrinker_t *
s_shrinker_new (argos_shell_t *shell)
{
    shrinker_t *self = (shrinker_t *) calloc (1, sizeof *self);
    if (!self)
        abort ();
    self->shell = shell;
    self->event = eventfd (0, EFD_CLOEXEC | EFD_NONBLOCK);
    pthread_mutex_init (&self->mutex, NULL);
    pthread_cond_init (&self->more, NULL);
    if (self->event >= 0 && pthread_create (&self->thread, NULL, s_thread, self) == 0) {
        argos_shell_fd (shell, self->event, s_on_done, self);
        return self;
    }
    if (self->event >= 0)
        close (self->event);
    pthread_cond_destroy (&self->more);
    pthread_mutex_destroy (&self->mutex);
    free (self);
    return NULL;
}

void
agent_shrink (agent_t *self, int fd, size_t size, agent_photo_fn *fn, void *arg)
{
    photo_t *photo = (photo_t *) malloc (sizeof *photo);
    if (!photo)
        abort ();
    *photo = (photo_t){ .fd = fd, .size = size, .fn = fn, .arg = arg };
    if (!self->shrinker)
        self->shrinker = s_shrinker_new (self->shell);
    if (!self->shrinker) {
        s_tell (photo);
        return;
    }
    pthread_mutex_lock (&self->shrinker->mutex);
    LL_APPEND (self->shrinker->todo, photo);
    pthread_cond_signal (&self->shrinker->more);
    pthread_mutex_unlock (&self->shrinker->mutex);
}

void
agent_shrink_end (agent_t *agent)
{
    shrinker_t *self = agent->shrinker;
    if (!self)
        return;
    agent->shrinker = NULL;
    pthread_mutex_lock (&self->mutex);
    self->stop = true;
    pthread_cond_signal (&self->more);
    pthread_mutex_unlock (&self->mutex);
    pthread_join (self->thread, NULL);
    argos_shell_fd (self->shell, self->event, NULL, NULL);
    close (self->event);
    LL_CONCAT (self->done, self->todo);
    s_tell (self->done);
    pthread_cond_destroy (&self->more);
    pthread_mutex_destroy (&self->mutex);
    free (self);
}
