//  argos_child - see the header.
//
//  Invariant: the child (or its guard) alone holds the other end of the lifeline, so the end of
//  that is its end; until it has been waited for, its number is its own and no signal can hit a
//  stranger. Limits: lines of 4,000 bytes, longer ones are cut into several; 15 s until it serves.

#include "argos_child.h"

#include "argos_actor.h"
#include "argos_guard.h"
#include "argos_log.h"
#include "argos_spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define LINE_MAX_BYTES 4000 //  Of a line of its log
#define START_MS 15000      //  Until it serves
#define GUARD_MS 2000       //  From the kill of a command to the end of its guard

typedef enum {
    STAGE_START, //  Does not serve yet; to be killed when that takes too long
    STAGE_RUN,   //  Serves
    STAGE_TERM,  //  Has got SIGTERM
    STAGE_KILL,  //  Has got SIGKILL
    STAGE_OVER   //  Has ended
} stage_t;

typedef struct {
    const argos_child_config_t *config; //  As given
    zsock_t *pipe;                      //  To the owner
    stage_t stage;                      //  How far
    int64_t due;                        //  End of the stage, mono msec; 0 = none
    pid_t pid;                          //  The child, or its guard
    pid_t group;                        //  Foreign: group of the command, 0 = not heard of yet
    int lifeline_fd, output_fd;         //  Our ends; -1 = closed
    size_t size;                        //  Bytes of the line so far
    char line[LINE_MAX_BYTES + 1];      //  Room for a newline
    bool told;                          //  READY has been said
    bool asked;                         //  $TERM has come
    bool draining;                      //  DRAIN has come: its end is wanted
    char reason[128];                   //  How it ended
} child_t;

int
argos_child_begin (void)
{
    fcntl (ARGOS_GUARD_FD, F_SETFD, FD_CLOEXEC);
    prctl (PR_SET_PDEATHSIG, SIGKILL);
    //  The parent may have gone before: then its end of the lifeline has
    struct pollfd item = { .fd = ARGOS_GUARD_FD, .events = POLLRDHUP };
    return poll (&item, 1, 0) == 0 ? 0 : -1;
}

static void
s_close (int *fd)
{
    if (*fd >= 0)
        close (*fd);
    *fd = -1;
}

static int
s_spawn (child_t *self, int output_fd, int lifeline_fd)
{
    const argos_child_config_t *config = self->config;
    char program[] = "argosd", option[] = ARGOS_GUARD_OPTION, root[] = "/";
    char *command = config->command ? strdup (config->command) : NULL;
    char *const guard[] = { program, option, root, command, NULL };
    char **env = command ? argos_spawn_env (config->env) : argos_spawn_env_all (config->env);
    int error =
        argos_spawn_self (command ? guard : config->argv, env, output_fd, lifeline_fd, &self->pid);
    argos_spawn_env_free (env);
    free (command);
    return error;
}

//  Pipe, lifeline and child. Returns 0 or an errno.

static int
s_start (child_t *self)
{
    int output[2] = { -1, -1 }, lifeline[2] = { -1, -1 };
    int error = pipe2 (output, O_CLOEXEC) == 0 ? 0 : errno;
    if (!error && socketpair (AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, lifeline) != 0)
        error = errno;
    self->output_fd = output[0];
    self->lifeline_fd = lifeline[0];
    if (!error && fcntl (self->output_fd, F_SETFL, O_NONBLOCK) != 0)
        error = errno;
    if (!error)
        error = s_spawn (self, output[1], lifeline[1]);
    s_close (&output[1]);
    s_close (&lifeline[1]);
    return error;
}

//  ------------------------------------------------------------------------------------------------
//  What it writes

static void
s_serves (child_t *self)
{
    if (self->stage != STAGE_START)
        return;
    self->stage = STAGE_RUN;
    self->due = 0;
    self->told = true;
    argos_actor_ready (self->pipe, true);
}

//  A line of its log: our own program's as it is, another's as an event of ours.

static void
s_say (child_t *self)
{
    self->line[self->size] = 0;
    if (self->config->ready && strstr (self->line, self->config->ready))
        s_serves (self);
    if (self->config->command && self->size)
        argos_log (ARGOS_LOG_INFO, self->config->name, "says", "line=\"%s\"", self->line);
    else if (self->size) {
        self->line[self->size] = '\n';
        argos_log_write (self->line, self->size + 1);
    }
    self->size = 0;
}

//  Returns whether there may be more.

static bool
s_read (child_t *self)
{
    char buffer[LINE_MAX_BYTES];
    ssize_t count = read (self->output_fd, buffer, sizeof buffer);
    for (ssize_t i = 0; i < count; i++) {
        if (buffer[i] == '\n' || self->size == LINE_MAX_BYTES - 1)
            s_say (self);
        if (buffer[i] != '\n' && buffer[i])
            self->line[self->size++] = buffer[i];
    }
    if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) {
        s_say (self);
        s_close (&self->output_fd);
    }
    return count > 0;
}

//  ------------------------------------------------------------------------------------------------
//  Its end

//  Hear the guard's word. Returns whether the child has ended.

static bool
s_hear (child_t *self)
{
    argos_guard_word_t word;
    ssize_t size = recv (self->lifeline_fd, &word, sizeof word, MSG_DONTWAIT);
    if (size == (ssize_t) sizeof word) {
        self->group = word.group;
        if (word.group && !self->config->ready)
            s_serves (self);
        size = recv (self->lifeline_fd, &word, sizeof word, MSG_DONTWAIT);
    }
    return size == 0 || (size < 0 && errno != EAGAIN && errno != EINTR);
}

//  Its descriptors are closed on its way out, so the wait is short.

static void
s_reap (child_t *self)
{
    int status = 0;
    while (waitpid (self->pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFSIGNALED (status))
        snprintf (self->reason, sizeof self->reason, "killed by signal %d", WTERMSIG (status));
    else
        snprintf (self->reason, sizeof self->reason, "ended with code %d", WEXITSTATUS (status));
    self->stage = STAGE_OVER;
    //  What the pipe still holds: at most its size, 64 KiB unless it was set larger
    for (int i = 0; i < 64 && self->output_fd >= 0 && s_read (self); i++)
        ;
}

static void
s_terminate (child_t *self)
{
    if (self->config->command && self->group > 0)
        kill (-self->group, SIGTERM);
    else if (!self->config->command)
        kill (self->pid, SIGTERM);
    self->stage = STAGE_TERM;
    self->due = zclock_mono () + self->config->grace_ms;
}

//  A stage has taken too long.

static void
s_overdue (child_t *self)
{
    if (self->config->command && self->stage != STAGE_KILL)
        shutdown (self->lifeline_fd, SHUT_WR); //  The guard kills all there is
    else
        kill (self->pid, SIGKILL);
    self->stage = STAGE_KILL;
    self->due = zclock_mono () + GUARD_MS;
}

//  Our own program drains when it is told to end; which run it need not wait for lies in the
//  lifeline before that.

static void
s_drain (child_t *self, zmsg_t *msg)
{
    char *run_id = zmsg_popstr (msg);
    if (self->stage < STAGE_TERM) {
        if (run_id && *run_id)
            send (self->lifeline_fd, run_id, strlen (run_id), MSG_DONTWAIT | MSG_NOSIGNAL);
        self->draining = true;
        s_terminate (self);
    }
    zstr_free (&run_id);
}

void
argos_child_spared (char *run_id, size_t size)
{
    ssize_t count = recv (ARGOS_GUARD_FD, run_id, size - 1, MSG_DONTWAIT);
    run_id[count > 0 ? count : 0] = 0;
}

static void
s_take_command (child_t *self)
{
    zmsg_t *msg = zmsg_recv_nowait (self->pipe);
    char *word = msg ? zmsg_popstr (msg) : NULL;
    if (msg && (!word || streq (word, "$TERM")) && !self->asked) {
        self->asked = true;
        if (self->stage < STAGE_TERM || self->draining) //  The second signal ends its wait
            s_terminate (self);
    }
    else if (word && streq (word, ARGOS_ACTOR_DRAIN) && !self->config->command && !self->asked)
        s_drain (self, msg);
    //  Our own program reads its settings itself; a foreign one is not asked to
    else if (word && streq (word, ARGOS_ACTOR_SETTINGS) && !self->config->command &&
             self->stage == STAGE_RUN)
        kill (self->pid, SIGHUP);
    zstr_free (&word);
    zmsg_destroy (&msg);
}

static void
s_run (child_t *self)
{
    while (self->stage != STAGE_OVER) {
        zmq_pollitem_t items[] = { { zsock_resolve (self->pipe), 0, ZMQ_POLLIN, 0 },
            { NULL, self->lifeline_fd, ZMQ_POLLIN, 0 }, { NULL, self->output_fd, ZMQ_POLLIN, 0 } };
        int64_t left = self->due - zclock_mono ();
        zmq_poll (items, self->output_fd >= 0 ? 3 : 2, !self->due ? -1 : left > 0 ? left : 0);
        if (items[0].revents)
            s_take_command (self);
        if (self->output_fd >= 0 && items[2].revents)
            s_read (self);
        if (items[1].revents && s_hear (self))
            s_reap (self);
        else if (self->due && zclock_mono () >= self->due)
            s_overdue (self);
    }
}

void
argos_child_actor (zsock_t *pipe, void *config)
{
    child_t self = { .config = config,
        .pipe = pipe,
        .lifeline_fd = -1,
        .output_fd = -1,
        .due = zclock_mono () + START_MS };
    int error = s_start (&self);
    if (error)
        snprintf (self.reason, sizeof self.reason, "can't be started: %s", strerror (error));
    else
        s_run (&self);
    s_close (&self.lifeline_fd);
    s_close (&self.output_fd);
    if (!self.told) {
        argos_log (ARGOS_LOG_ERROR, self.config->name, "child", "reason=\"%s\"", self.reason);
        argos_actor_ready (pipe, false);
    }
    else if (!self.asked && !self.draining)
        argos_actor_fail (pipe, self.reason);
}
