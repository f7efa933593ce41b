//  argos-job_shell - the start of the command.
//
//  Invariant: it has no descriptor but its three, all signals as usual, a process group (with a
//  terminal: a session) of its own, and dies with argos-job. Until its exec it borrows the memory
//  of argos-job, which waits: it changes nothing there.

#include "argos-job_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define SOFT_FILES 1024 //  Descriptors of a command: what programs with select() expect
#define NOT_RUN 1       //  Exit code when the shell could not be started; the log says why
#define PTY_ROWS 30     //  Size of a terminal
#define PTY_COLUMNS 120 //  .

//  What the child needs to know

typedef struct {
    int input, output; //  Its ends
    char terminal[64]; //  Name of its terminal, "" = none
} ends_t;

static void
s_limits (void)
{
    struct rlimit files, none = { 0, 0 };
    setrlimit (RLIMIT_CORE, &none);
    if (getrlimit (RLIMIT_NOFILE, &files) == 0 && files.rlim_cur > SOFT_FILES) {
        files.rlim_cur = SOFT_FILES;
        setrlimit (RLIMIT_NOFILE, &files);
    }
}

static _Noreturn void
s_fail (const char *what, const char *name)
{
    dprintf (STDERR_FILENO, "argos-job: %s %s: %s\n", what, name, strerror (errno));
    _exit (NOT_RUN);
}

//  The terminal becomes that of a session of its own. Returns its descriptor.

static int
s_enter_terminal (const ends_t *ends)
{
    setsid ();
    int fd = open (ends->terminal, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        s_fail ("can't open", ends->terminal);
    ioctl (fd, TIOCSCTTY, 0);
    return fd;
}

static _Noreturn void
s_become_shell (const ends_t *ends, const job_task_t *task, pid_t parent)
{
    sigset_t none;
    int input = ends->input, output = ends->output;
    prctl (PR_SET_PDEATHSIG, SIGKILL);
    if (getppid () != parent)
        _exit (NOT_RUN);
    if (*ends->terminal)
        input = output = s_enter_terminal (ends);
    else
        setpgid (0, 0);
    dup2 (output, STDERR_FILENO);
    dup2 (output, STDOUT_FILENO);
    dup2 (input, STDIN_FILENO);
    sigemptyset (&none);
    sigprocmask (SIG_SETMASK, &none, NULL);
    if (chdir (task->workdir) != 0)
        s_fail ("can't enter", task->workdir);
    s_limits ();
    execl ("/bin/sh", "sh", "-c", task->command, (char *) NULL);
    s_fail ("can't start", "/bin/sh");
}

//  What posix_spawn does, but for the death with the parent, which that can't ask for

//  NOLINTBEGIN(clang-analyzer-unix.Vfork, clang-analyzer-security.insecureAPI.vfork): Linux lets
//  the child make system calls, and the parent has nothing else to do meanwhile
static pid_t
s_spawn (const ends_t *ends, const job_task_t *task)
{
    pid_t parent = getpid ();
    pid_t pid = vfork ();
    if (pid == 0)
        s_become_shell (ends, task, parent);
    return pid;
}

//  NOLINTEND(clang-analyzer-unix.Vfork, clang-analyzer-security.insecureAPI.vfork)

//  A fifo, which is there for whoever wants to write. Opened for both, so that nothing waits for
//  the other side.

static int
s_fifo (int dir_fd)
{
    if (mkfifoat (dir_fd, ARGOS_JOB_INPUT, 0600) != 0 && errno != EEXIST)
        return -1;
    return openat (dir_fd, ARGOS_JOB_INPUT, O_RDWR | O_NONBLOCK | O_CLOEXEC);
}

//  A pipe for the output, and what the input is.

static int
s_open_pipes (job_shell_t *self, ends_t *ends, const job_task_t *task, int dir_fd)
{
    int pipes[2];
    if (pipe2 (pipes, O_CLOEXEC) != 0)
        return errno;
    self->output_fd = pipes[0];
    ends->output = pipes[1];
    fcntl (self->output_fd, F_SETFL, O_NONBLOCK);
    if (task->input == JOB_INPUT_NONE) {
        ends->input = open ("/dev/null", O_RDONLY | O_CLOEXEC);
        return ends->input < 0 ? errno : 0;
    }
    int both = s_fifo (dir_fd);
    if (both < 0)
        return errno;
    //  The command gets an end for reading that blocks; ours for writing keeps it from its end
    ends->input = openat (dir_fd, ARGOS_JOB_INPUT, O_RDONLY | O_CLOEXEC);
    self->input_fd = openat (dir_fd, ARGOS_JOB_INPUT, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    close (both);
    return ends->input < 0 || self->input_fd < 0 ? errno : 0;
}

static int
s_open_terminal (job_shell_t *self, ends_t *ends, int dir_fd)
{
    struct winsize size = { .ws_row = PTY_ROWS, .ws_col = PTY_COLUMNS };
    self->output_fd = posix_openpt (O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
    if (self->output_fd < 0 || grantpt (self->output_fd) != 0 || unlockpt (self->output_fd) != 0 ||
        ptsname_r (self->output_fd, ends->terminal, sizeof ends->terminal) != 0)
        return errno;
    ioctl (self->output_fd, TIOCSWINSZ, &size);
    self->relay_fd = s_fifo (dir_fd);
    return self->relay_fd < 0 ? errno : 0;
}

static void
s_close (int fd)
{
    if (fd >= 0)
        close (fd);
}

int
job_shell_start (job_shell_t *self, const job_task_t *task, int dir_fd)
{
    ends_t ends = { .input = -1, .output = -1 };
    *self = (job_shell_t){ .output_fd = -1, .input_fd = -1, .relay_fd = -1 };
    int error = task->input == JOB_INPUT_PTY ? s_open_terminal (self, &ends, dir_fd)
                                             : s_open_pipes (self, &ends, task, dir_fd);
    if (!error && (self->pid = s_spawn (&ends, task)) < 0)
        error = errno;
    s_close (ends.input);
    s_close (ends.output);
    return error;
}
