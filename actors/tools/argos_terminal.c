//  argos_terminal - one shell command in the foreground.
//
//  Invariant: while the guard has not been waited for, its number and that of the command's group
//  are its own, so no signal can hit a stranger. The guard alone holds the other end of the
//  lifeline, so the end of that is the end of the guard. Every stage has a deadline: SIGTERM to the
//  group, SIGKILL to the group and the guard told to end, SIGKILL to the guard. What is left of the
//  group without a guard gets a second, and is then told as a survivor. Limits: a command of 128
//  KiB (what the kernel takes as one argument), 256 KiB read per turn, 16 survivors told.

#include "argos_terminal.h"

#include "argos_guard.h"
#include "argos_output.h"
#include "argos_spawn.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define TERM_GRACE_MS 2000   //  From SIGTERM to SIGKILL
#define GUARD_GRACE_MS 1000  //  From there to the end of the guard
#define SURVIVOR_MS 1000     //  For what is left to die without a guard
#define COMMAND_MAX 131071   //  Bytes of a command
#define READ_SIZE 65536      //  Bytes read at once
#define READS_PER_TURN 4     //  So that one command does not starve the others
#define CODE_TIMEOUT 124     //  As timeout(1) says it
#define CODE_INTERRUPTED 130 //  As a shell says it after SIGINT

typedef enum {
    STAGE_RUN,   //  Runs, until the timeout
    STAGE_TERM,  //  Has got SIGTERM
    STAGE_KILL,  //  The group has got SIGKILL, the guard has to end
    STAGE_GUARD, //  The guard has got SIGKILL
    STAGE_LEFT,  //  The guard is gone, and some of the group is not
    STAGE_OVER   //  All of it is gone, or told as a survivor
} stage_t;

struct argos_terminal {
    stage_t stage;                             //  How far
    int epoll_fd;                              //  Where our descriptors are registered; borrowed
    int output_fd;                             //  Our end of the output, -1 = closed
    int lifeline_fd;                           //  Our end of the lifeline, -1 = closed
    pid_t guard;                               //  The guard, 0 = none, or waited for
    pid_t group;                               //  Group of the command, 0 = not heard of yet
    int spawn_error;                           //  Why the shell could not be started, 0 = it was
    int code;                                  //  Exit code of the shell
    int64_t timeout_ms;                        //  As stated
    int64_t due;                               //  Deadline of the stage
    bool timed_out;                            //  It ran into the timeout
    bool interrupted;                          //  It was cancelled
    argos_output_t *output;                    //  What it printed
    pid_t survivors[ARGOS_TERMINAL_SURVIVORS]; //  Who could not be killed
    size_t survivor_count;                     //  How many
};

//  ---------------------------------------------------------------------------------------------
//  Starting

//  Start the guard with its three descriptors. Returns 0 or an errno.

static int
s_spawn (const argos_terminal_task_t *task, int output_fd, int lifeline_fd, pid_t *ret_pid)
{
    static const char *const more[] = { "TERM=dumb", NULL };
    char self[] = "argosd", option[] = ARGOS_GUARD_OPTION;
    const char *user = getenv ("HOME");
    char *workdir = strdup (task->workdir ? task->workdir : user ? user : "/");
    char *command = strdup (task->command);
    char *const argv[] = { self, option, workdir, command, NULL };
    char **env = argos_spawn_env (more);
    int error = argos_spawn_self (argv, env, output_fd, lifeline_fd, ret_pid);
    argos_spawn_env_free (env);
    free (workdir);
    free (command);
    return error;
}

//  Put a descriptor into the epoll set.

static int
s_watch (argos_terminal_t *self, int fd)
{
    struct epoll_event event = { .events = EPOLLIN, .data.ptr = self };
    return epoll_ctl (self->epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

//  Close a descriptor and forget it.

static void
s_close (int *fd)
{
    if (*fd >= 0)
        close (*fd);
    *fd = -1;
}

//  Make pipe and lifeline and start the guard. Returns 0 or an errno; what was opened stays for
//  s_free.

static int
s_start (argos_terminal_t *self, const argos_terminal_task_t *task)
{
    int output[2] = { -1, -1 }, lifeline[2] = { -1, -1 };
    if (pipe2 (output, O_CLOEXEC) != 0)
        return errno;
    self->output_fd = output[0];
    int error = socketpair (AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, lifeline) == 0 ? 0 : errno;
    self->lifeline_fd = lifeline[0];
    //  Only our end may be non-blocking: the flag belongs to the pipe's end, and the command's is
    //  its own
    if (!error && fcntl (self->output_fd, F_SETFL, O_NONBLOCK) != 0)
        error = errno;
    if (!error)
        error = s_spawn (task, output[1], lifeline[1], &self->guard);
    s_close (&output[1]);
    s_close (&lifeline[1]);
    if (!error && (s_watch (self, self->lifeline_fd) != 0 || s_watch (self, self->output_fd) != 0))
        error = errno;
    if (error && self->guard) {
        s_close (&self->lifeline_fd); //  The guard ends by itself
        waitpid (self->guard, NULL, 0);
        self->guard = 0;
    }
    return error;
}

argos_terminal_t *
argos_terminal_new (
    int epoll_fd, const argos_terminal_task_t *task, int64_t now, char *reason, size_t size)
{
    if (strlen (task->command) > COMMAND_MAX) {
        snprintf (
            reason, size, "the command has more than %d bytes; put it into a file", COMMAND_MAX);
        return NULL;
    }
    argos_terminal_t *self = calloc (1, sizeof *self);
    if (!self)
        abort ();
    self->epoll_fd = epoll_fd;
    self->output_fd = self->lifeline_fd = -1;
    self->timeout_ms = task->timeout_ms;
    self->due = now + task->timeout_ms;
    self->output = argos_output_new (task->output_max);
    int error = s_start (self, task);
    if (error) {
        snprintf (reason, size, "the command could not be started: %s", strerror (error));
        self->stage = STAGE_OVER;
        argos_terminal_destroy (&self);
    }
    return self;
}

//  ---------------------------------------------------------------------------------------------
//  Running

//  Read what has been printed; at the end of the pipe it is closed. limit is a number of reads.

static void
s_read (argos_terminal_t *self, int limit)
{
    char buffer[READ_SIZE];
    while (self->output_fd >= 0 && limit-- > 0) {
        ssize_t size = read (self->output_fd, buffer, sizeof buffer);
        if (size > 0)
            argos_output_add (self->output, buffer, (size_t) size);
        else if (size == 0 || (errno != EAGAIN && errno != EINTR))
            s_close (&self->output_fd); //  Leaves the epoll set, too
        else if (errno == EAGAIN)
            return;
    }
}

//  Hear from the guard which group it is. Returns whether the guard has ended.

static bool
s_hear (argos_terminal_t *self)
{
    argos_guard_word_t word;
    ssize_t size = recv (self->lifeline_fd, &word, sizeof word, MSG_DONTWAIT);
    if (size == (ssize_t) sizeof word) {
        self->group = word.group;
        self->spawn_error = word.error;
        size = recv (self->lifeline_fd, &word, sizeof word, MSG_DONTWAIT);
    }
    return size == 0 || (size < 0 && errno != EAGAIN && errno != EINTR);
}

//  Signal the command's group, as far as there is one.

static void
s_signal (argos_terminal_t *self, int signal)
{
    s_hear (self);
    if (self->group > 0)
        kill (-self->group, signal);
}

//  Kill the group, and let the guard find and kill what has left it.

static void
s_kill (argos_terminal_t *self, int64_t now)
{
    s_signal (self, SIGKILL);
    shutdown (self->lifeline_fd, SHUT_WR);
    self->stage = STAGE_KILL;
    self->due = now + GUARD_GRACE_MS;
}

//  State and group of a process; false when it is gone.

static bool
s_read_stat (const char *pid, char *ret_state, pid_t *ret_group)
{
    char path[64], line[512] = "";
    snprintf (path, sizeof path, "/proc/%.20s/stat", pid);
    FILE *file = fopen (path, "re");
    if (!file)
        return false;
    const char *read = fgets (line, sizeof line, file);
    fclose (file);
    const char *state = read ? strrchr (line, ')') : NULL; //  The name may have anything in it
    if (!state || strlen (state) < 5)
        return false;
    char *rest;
    strtol (state + 3, &rest, 10); //  Behind the state its parent
    *ret_state = state[2];
    *ret_group = (pid_t) strtol (rest, NULL, 10);
    return true;
}

size_t
argos_terminal_survivors (pid_t group, pid_t target[static ARGOS_TERMINAL_SURVIVORS])
{
    size_t count = 0;
    const struct dirent *entry;
    DIR *folder = group > 0 && kill (-group, 0) == 0 ? opendir ("/proc") : NULL;
    while (folder && count < ARGOS_TERMINAL_SURVIVORS && (entry = readdir (folder)) != NULL) {
        char state;
        pid_t of;
        if (isdigit ((unsigned char) entry->d_name[0]) &&
            s_read_stat (entry->d_name, &state, &of) && of == group && !strchr ("ZX", state))
            target[count++] = (pid_t) strtol (entry->d_name, NULL, 10);
    }
    if (folder)
        closedir (folder);
    return count;
}

//  The guard is gone: see who of its group stays, of those that did at the first look. Nobody is
//  signalled any more, for the number of the group may be another one's by now.

static void
s_look_left (argos_terminal_t *self)
{
    pid_t now_left[ARGOS_TERMINAL_SURVIVORS];
    size_t count = argos_terminal_survivors (self->group, now_left), kept = 0;
    for (size_t i = 0; i < self->survivor_count; i++)
        for (size_t k = 0; k < count; k++)
            if (self->survivors[i] == now_left[k])
                self->survivors[kept++] = now_left[k];
    self->survivor_count = kept;
}

//  The guard has ended when its end of the lifeline has: then everything is over. Its descriptors
//  are closed on the way out of the kernel, so the wait is short.

static void
s_check_guard (argos_terminal_t *self, int64_t now)
{
    siginfo_t info = { .si_pid = 0 };
    if (!s_hear (self) || waitid (P_PID, (id_t) self->guard, &info, WEXITED | WNOWAIT) != 0)
        return;
    self->code = info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
    bool killed = info.si_code != CLD_EXITED;
    if (killed)
        s_signal (self, SIGKILL); //  It could not do it itself
    waitpid (self->guard, NULL, 0);
    self->guard = 0;
    s_close (&self->lifeline_fd);
    s_read (self, (1 << 20) / READ_SIZE); //  What the pipe still holds: at most its size, 1 MiB
    s_close (&self->output_fd);
    self->survivor_count = killed ? argos_terminal_survivors (self->group, self->survivors) : 0;
    self->stage = self->survivor_count ? STAGE_LEFT : STAGE_OVER;
    self->due = now + SURVIVOR_MS;
}

void
argos_terminal_turn (argos_terminal_t *self, int64_t now)
{
    if (self->stage == STAGE_LEFT && now >= self->due) {
        s_look_left (self);
        self->stage = STAGE_OVER;
    }
    if (self->stage >= STAGE_LEFT)
        return;
    s_read (self, READS_PER_TURN);
    s_check_guard (self, now);
    if (self->stage >= STAGE_LEFT || now < self->due)
        return;
    if (self->stage == STAGE_RUN) {
        self->timed_out = true;
        s_signal (self, SIGTERM);
        self->stage = STAGE_TERM;
        self->due = now + TERM_GRACE_MS;
    }
    else if (self->stage == STAGE_TERM)
        s_kill (self, now);
    else {
        s_signal (self, SIGKILL);
        kill (self->guard, SIGKILL);
        self->stage = STAGE_GUARD;
        self->due = now + GUARD_GRACE_MS;
    }
}

int64_t
argos_terminal_due (const argos_terminal_t *self)
{
    return self->due;
}

void
argos_terminal_cancel (argos_terminal_t *self, int64_t now)
{
    if (self->interrupted || self->stage >= STAGE_LEFT)
        return;
    self->interrupted = true;
    if (self->stage <= STAGE_TERM)
        s_kill (self, now);
}

bool
argos_terminal_over (const argos_terminal_t *self)
{
    return self->stage == STAGE_OVER;
}

void
argos_terminal_destroy (argos_terminal_t **self_p)
{
    if (!self_p || !*self_p)
        return;
    argos_terminal_t *self = *self_p;
    if (self->stage < STAGE_LEFT) {
        struct pollfd item = { .fd = self->lifeline_fd, .events = 0 }; //  The end of it
        s_kill (self, 0);
        if (poll (&item, 1, GUARD_GRACE_MS) != 1) {
            s_signal (self, SIGKILL);
            kill (self->guard, SIGKILL);
            poll (&item, 1, GUARD_GRACE_MS);
        }
        s_check_guard (self, 0);
    }
    s_close (&self->lifeline_fd);
    s_close (&self->output_fd);
    argos_output_destroy (&self->output);
    free (self);
    *self_p = NULL;
}

//  Who could not be killed: their numbers beside the error, which says so.

static void
s_tell_survivors (const argos_terminal_t *self, json_t *body)
{
    json_t *pids = json_array ();
    const char *error = json_string_value (json_object_get (body, "error"));
    for (size_t i = 0; i < self->survivor_count; i++)
        json_array_append_new (pids, json_integer (self->survivors[i]));
    json_object_set_new (body, "error",
        json_sprintf ("%s%s%zu of its processes could not be killed and may still run",
            error ? error : "", error ? "; " : "", self->survivor_count));
    json_object_set_new (body, "survivors", pids);
}

json_t *
argos_terminal_result (const argos_terminal_t *self)
{
    char error[160] = "";
    const char *status = "ok";
    int code = self->code;
    if (self->interrupted) {
        status = "interrupted";
        code = CODE_INTERRUPTED;
        snprintf (error, sizeof error, "stopped by the user");
    }
    else if (self->timed_out) {
        status = "timeout";
        code = CODE_TIMEOUT;
        snprintf (error, sizeof error, "timed out after %lld s",
            (long long) (self->timeout_ms + 999) / 1000);
    }
    else if (self->spawn_error) {
        status = "error";
        snprintf (error, sizeof error, "the command could not be started: %s",
            strerror (self->spawn_error));
    }
    char *text = argos_output_text (self->output);
    json_t *body = json_pack ("{s:s, s:i, s:s, s:s?}", "output", text, "exit_code", code, "status",
        status, "error", *error ? error : NULL);
    free (text);
    if (self->survivor_count)
        s_tell_survivors (self, body);
    return body;
}

char *
argos_terminal_long (const argos_terminal_t *self)
{
    return argos_output_long (self->output);
}
