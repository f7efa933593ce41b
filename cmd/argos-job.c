//  argos-job - keeps one shell command alive without the daemon, and writes down how it ended.
//
//      argos-job --dir DIR --workdir DIR --runtime-ms N --grace-ms N --output-max BYTES
//                --input none|pipe|pty -- COMMAND
//
//  argosd starts one for each job, in a session of its own, and may be killed, upgraded and started
//  again meanwhile: what it has to know is in DIR (argos_job_format.h), and this process is the one
//  to be waited for. Invariant: a command begins only behind the making of DIR/log by this process,
//  which is made once, so a job runs at most once; when this process is gone and has left DIR/exit,
//  nothing of the job is alive but what is listed there. As a subreaper it is the parent of
//  whatever the command leaves behind, in whatever group or session.
//
//  The job is over when its shell is: what that left running is ended then. Limits: 300 ms for the
//  rest of the output; a process that survives SIGKILL for a second is listed and let go. Exit
//  code: 0, or the errno of what kept the job from being started (EEXIST: another process runs it).

#include "argos-job_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define DRAIN_MS 300        //  For output that comes behind the end of the shell
#define SURVIVE_MS 1000     //  From SIGKILL until who lives on is a survivor
#define BLOCK 65536         //  Bytes taken at once
#define LAST_BLOCKS 64      //  Blocks taken at the end
#define RELAY_MAX 4096      //  Bytes of input on their way to a terminal
#define OUTPUT_MIN 4096     //  Smallest log
#define END_OF_INPUT "\004" //  What closes a terminal

typedef enum {
    PHASE_RUN,   //  The shell runs
    PHASE_DRAIN, //  It is over, output may come
    PHASE_TERM,  //  All have been asked to end
    PHASE_KILL,  //  All are being killed
    PHASE_OVER   //  Nothing is left to be done
} phase_t;

typedef struct {
    job_task_t task;       //  What it was started with
    int dir_fd;            //  Folder
    int reserved_fd;       //  Place for the exit record
    int signal_fd;         //  Signals
    job_log_t log;         //  Output
    job_shell_t shell;     //  Command
    bool shell_over;       //  It has ended
    int status;            //  As wait says it
    bool alone;            //  No child is left
    bool stop;             //  SIGTERM has come
    phase_t phase;         //  Where we are
    int64_t since;         //  Since when, monotonic msec
    int64_t begun;         //  The start, monotonic msec
    char relay[RELAY_MAX]; //  Input for the terminal
    size_t relay_size;     //  Bytes of it
    job_end_t end;         //  What will be written
} job_t;

static int64_t
s_clock (clockid_t clock)
{
    struct timespec now;
    clock_gettime (clock, &now);
    return (int64_t) now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

//  ---------------------------------------------------------------------------------------------
//  Events

//  Takes what the children have left; knows afterwards whether there are any.

static void
s_reap (job_t *self)
{
    int status;
    pid_t pid;
    while ((pid = waitpid (-1, &status, WNOHANG)) > 0)
        if (pid == self->shell.pid) {
            self->shell_over = true;
            self->status = status;
            self->end.run_ms = s_clock (CLOCK_MONOTONIC) - self->begun;
            self->end.ended_ms = s_clock (CLOCK_REALTIME);
        }
    self->alone = pid == -1 && errno == ECHILD;
}

static void
s_close_input (job_t *self)
{
    if (self->shell.input_fd >= 0)
        close (self->shell.input_fd);
    self->shell.input_fd = -1;
    if (self->shell.relay_fd >= 0 && self->relay_size < RELAY_MAX) {
        memcpy (self->relay + self->relay_size, END_OF_INPUT, 1);
        self->relay_size++;
    }
}

static void
s_on_signals (job_t *self)
{
    struct signalfd_siginfo info;
    while (read (self->signal_fd, &info, sizeof info) == (ssize_t) sizeof info)
        switch (info.ssi_signo) {
        case SIGCHLD:
            break; //  They are taken anyway
        case SIGUSR1:
            if (info.ssi_int > 0 && info.ssi_int < NSIG)
                job_tree_signal (info.ssi_int);
            break;
        case SIGUSR2:
            s_close_input (self);
            break;
        default:
            self->stop = true;
        }
    s_reap (self);
}

//  One block of output; false = nothing is there now, or ever again.

static bool
s_take_output (job_t *self)
{
    static char block[BLOCK];
    ssize_t size = self->shell.output_fd < 0 ? 0 : read (self->shell.output_fd, block, BLOCK);
    if (size > 0) {
        job_log_write (&self->log, block, (size_t) size);
        return true;
    }
    if (size == 0 || (errno != EAGAIN && errno != EINTR)) {
        if (self->shell.output_fd >= 0)
            close (self->shell.output_fd);
        self->shell.output_fd = -1;
    }
    return false;
}

//  From the fifo to the terminal.

static void
s_take_input (job_t *self)
{
    ssize_t size = read (
        self->shell.relay_fd, self->relay + self->relay_size, RELAY_MAX - self->relay_size - 1);
    if (size > 0)
        self->relay_size += (size_t) size;
}

static void
s_give_input (job_t *self)
{
    ssize_t size = write (self->shell.output_fd, self->relay, self->relay_size);
    if (size <= 0)
        return;
    self->relay_size -= (size_t) size;
    memmove (self->relay, self->relay + size, self->relay_size);
}

//  ---------------------------------------------------------------------------------------------
//  Phases

static void
s_enter (job_t *self, phase_t phase, int64_t now)
{
    self->phase = phase;
    self->since = now;
    if (phase == PHASE_TERM) {
        job_tree_signal (SIGTERM);
        job_tree_signal (SIGCONT); //  Who is stopped has to go on to hear of it
    }
    if (phase == PHASE_KILL)
        job_tree_signal (SIGKILL);
}

//  Why the job has to end, NULL = it has not.

static const char *
s_reason (const job_t *self, int64_t now)
{
    if (self->stop)
        return "killed";
    return now - self->begun >= self->task.runtime_ms ? "timed_out" : NULL;
}

static void
s_step_run (job_t *self, int64_t now)
{
    const char *reason = s_reason (self, now);
    if (self->shell_over)
        s_enter (self, PHASE_DRAIN, now);
    else if (reason) {
        self->end.reason = reason;
        s_enter (self, PHASE_TERM, now);
    }
}

//  What the shell left running does not outlive the job.

static void
s_step_drain (job_t *self, int64_t now)
{
    if (self->shell.output_fd >= 0 && !self->alone && now - self->since < DRAIN_MS)
        return;
    if (self->alone)
        s_enter (self, PHASE_OVER, now);
    else {
        pid_t pids[JOB_PIDS_MAX];
        self->end.left = job_tree_list (pids);
        s_enter (self, PHASE_TERM, now);
    }
}

static void
s_step_kill (job_t *self, int64_t now)
{
    if (self->alone)
        s_enter (self, PHASE_OVER, now);
    else if (now - self->since >= SURVIVE_MS) {
        self->end.survivor_count = job_tree_list (self->end.survivors);
        s_enter (self, PHASE_OVER, now);
    }
    else
        job_tree_signal (SIGKILL); //  Who was started meanwhile, or lost its parent
}

static void
s_step (job_t *self)
{
    int64_t now = s_clock (CLOCK_MONOTONIC);
    phase_t before;
    do {
        before = self->phase;
        if (self->phase == PHASE_RUN)
            s_step_run (self, now);
        else if (self->phase == PHASE_DRAIN)
            s_step_drain (self, now);
        else if (self->phase == PHASE_TERM && self->alone)
            s_enter (self, PHASE_OVER, now);
        else if (self->phase == PHASE_TERM && now - self->since >= self->task.grace_ms)
            s_enter (self, PHASE_KILL, now);
        else if (self->phase == PHASE_KILL)
            s_step_kill (self, now);
    } while (self->phase != before);
}

//  Msec until the next step even if nothing happens.

static int
s_patience (const job_t *self)
{
    int64_t due = self->begun + self->task.runtime_ms, now = s_clock (CLOCK_MONOTONIC);
    if (self->phase == PHASE_DRAIN)
        due = self->since + DRAIN_MS;
    else if (self->phase == PHASE_TERM)
        due = self->since + self->task.grace_ms;
    else if (self->phase == PHASE_KILL)
        due = self->since + SURVIVE_MS;
    if (due <= now)
        return 0;
    return due - now > 3600000 ? 3600000 : (int) (due - now);
}

static void
s_loop (job_t *self)
{
    while (s_step (self), self->phase != PHASE_OVER) {
        bool room = self->relay_size + 1 < RELAY_MAX, give = self->relay_size > 0;
        struct pollfd items[3] = { { .fd = self->signal_fd, .events = POLLIN },
            { .fd = self->shell.output_fd, .events = (short) (give ? POLLIN | POLLOUT : POLLIN) },
            { .fd = room ? self->shell.relay_fd : -1, .events = POLLIN } };
        if (poll (items, 3, s_patience (self)) < 0)
            continue;
        if (items[0].revents)
            s_on_signals (self);
        if (items[2].revents & POLLIN)
            s_take_input (self);
        if (items[1].revents & POLLOUT)
            s_give_input (self);
        if (items[1].revents & ~POLLOUT)
            s_take_output (self);
    }
    for (int i = 0; i < LAST_BLOCKS && s_take_output (self); i++)
        ;
}

//  ---------------------------------------------------------------------------------------------
//  Begin and end

static int
s_open_signals (void)
{
    sigset_t set;
    sigemptyset (&set);
    sigaddset (&set, SIGCHLD);
    sigaddset (&set, SIGTERM);
    sigaddset (&set, SIGINT);
    sigaddset (&set, SIGUSR1);
    sigaddset (&set, SIGUSR2);
    int fd = signalfd (-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    //  Kept out, not ignored: what is ignored would have to be undone for the command
    sigaddset (&set, SIGHUP);
    sigaddset (&set, SIGPIPE);
    sigaddset (&set, SIGXFSZ);
    sigprocmask (SIG_BLOCK, &set, NULL);
    return fd;
}

//  The right to begin. Returns 0 or an errno.

static int
s_begin (job_t *self)
{
    self->dir_fd = open (self->task.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (self->dir_fd < 0)
        return errno;
    self->signal_fd = s_open_signals ();
    prctl (PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    return self->signal_fd < 0 ? errno
                               : job_log_open (&self->log, self->dir_fd, self->task.output_max);
}

static void
s_set_end (job_t *self)
{
    if (!self->end.reason)
        self->end.reason = "exited";
    if (!self->shell_over) {
        self->end.run_ms = s_clock (CLOCK_MONOTONIC) - self->begun;
        self->end.ended_ms = s_clock (CLOCK_REALTIME);
        self->end.number = SIGKILL;
    }
    else if (WIFSIGNALED (self->status))
        self->end.number = WTERMSIG (self->status);
    self->end.code = self->end.number ? 128 + self->end.number : WEXITSTATUS (self->status);
}

static int
s_run (job_t *self)
{
    int error = s_begin (self);
    if (error)
        return error;
    self->begun = s_clock (CLOCK_MONOTONIC);
    self->reserved_fd = job_record_reserve (self->dir_fd);
    error = job_shell_start (&self->shell, &self->task, self->dir_fd);
    if (error) {
        self->end = (job_end_t){
            .code = -1, .reason = "not_started", .ended_ms = s_clock (CLOCK_REALTIME)
        };
        job_record_exit (self->task.dir, &self->dir_fd, self->reserved_fd, &self->end);
        return error;
    }
    s_loop (self);
    s_set_end (self);
    job_record_mend (self->task.dir, &self->dir_fd);
    job_log_close (&self->log, self->dir_fd);
    return job_record_exit (self->task.dir, &self->dir_fd, self->reserved_fd, &self->end);
}

//  ---------------------------------------------------------------------------------------------
//  Arguments

//  A whole number from 1 on, 0 = it is none.

static int64_t
s_number (const char *text)
{
    char *end;
    errno = 0;
    long long value = strtoll (text, &end, 10);
    return errno || *end || end == text || value < 1 ? 0 : value;
}

static bool
s_input (const char *text, job_input_t *ret_input)
{
    static const char *const names[] = { "none", "pipe", "pty" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp (text, names[i]) == 0) {
            *ret_input = (job_input_t) i;
            return true;
        }
    return false;
}

static bool
s_read_arguments (job_task_t *task, int argc, char **argv)
{
    static const struct option options[] = { { "dir", required_argument, NULL, 'd' },
        { "workdir", required_argument, NULL, 'w' }, { "runtime-ms", required_argument, NULL, 'r' },
        { "grace-ms", required_argument, NULL, 'g' },
        { "output-max", required_argument, NULL, 'o' }, { "input", required_argument, NULL, 'i' },
        { NULL, 0, NULL, 0 } };
    int option;
    bool good = true;
    while ((option = getopt_long (argc, argv, "+", options, NULL)) != -1)
        if (option == 'd')
            task->dir = optarg;
        else if (option == 'w')
            task->workdir = optarg;
        else if (option == 'r')
            task->runtime_ms = s_number (optarg);
        else if (option == 'g')
            task->grace_ms = s_number (optarg);
        else if (option == 'o')
            task->output_max = (uint64_t) s_number (optarg);
        else
            good = good && option == 'i' && s_input (optarg, &task->input);
    if (optind + 1 == argc)
        task->command = argv[optind];
    return good && task->command && *task->command && task->dir && *task->dir == '/' &&
           task->workdir && task->runtime_ms && task->grace_ms && task->output_max >= OUTPUT_MIN;
}

int
main (int argc, char **argv)
{
    static job_t self;
    if (!s_read_arguments (&self.task, argc, argv)) {
        fprintf (stderr, "usage: argos-job --dir DIR --workdir DIR --runtime-ms N --grace-ms N "
                         "--output-max BYTES --input none|pipe|pty -- COMMAND\n");
        return EINVAL;
    }
    close_range (STDERR_FILENO + 1, ~0U, 0);
    setsid (); //  Fails when it is one already
    return s_run (&self);
}
