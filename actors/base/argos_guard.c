//  argos_guard - the small process between the daemon and a command.
//
//  Invariant: when it exits, no descendant is alive. Limit: a command that kills its guard (SIGKILL
//  to its parent) gets out of the subreaper; the daemon then kills the process group itself, and
//  only a process that had left the group as well escapes.

#include "argos_guard.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define CODE_NOT_RUN 127 //  Exit code when the shell could not be started
#define SOFT_FILES 1024  //  Descriptors of a command: what programs with select() expect

//  The child: becomes the shell when the gate says so, or nothing when the guard dies before.

static _Noreturn void
s_become_shell (int gate, const char *command)
{
    sigset_t none;
    char word;
    sigemptyset (&none);
    setpgid (0, 0);
    for (int number = 1; number < NSIG; number++)
        signal (number, SIG_DFL);
    if (read (gate, &word, 1) != 1)
        _exit (CODE_NOT_RUN);
    close_range (STDERR_FILENO + 1, ~0U, 0);
    sigprocmask (SIG_SETMASK, &none, NULL);
    execl ("/bin/sh", "sh", "-c", command, (char *) NULL);
    _exit (CODE_NOT_RUN);
}

//  Start the shell in a process group of its own, and tell the daemon which before it runs: a
//  command that kills its guard at once must not be out of reach. The word has the errno when it
//  could not be started.

static argos_guard_word_t
s_start (const char *workdir, const char *command)
{
    argos_guard_word_t word = { .group = 0 };
    int gate[2] = { -1, -1 };
    if (chdir (workdir) != 0 || pipe2 (gate, O_CLOEXEC) != 0 || (word.group = fork ()) < 0)
        word.error = errno;
    else if (word.group == 0) {
        close (gate[1]); //  So that its other end can close
        s_become_shell (gate[0], command);
    }
    if (word.error)
        word.group = 0;
    else
        setpgid (word.group, word.group);
    send (ARGOS_GUARD_FD, &word, sizeof word, MSG_NOSIGNAL);
    if (!word.error && write (gate[1], "", 1) != 1)
        kill (word.group, SIGKILL);
    close (gate[0]);
    close (gate[1]);
    return word;
}

//  Kill every child that there is and wait for it, until there is none: their children become ours
//  as they die.

static void
s_reap_all (void)
{
    char path[64];
    snprintf (path, sizeof path, "/proc/self/task/%d/children", (int) gettid ());
    for (;;) {
        FILE *file = fopen (path, "re");
        char word[16];
        while (file && fscanf (file, "%15s", word) == 1)
            kill ((pid_t) strtol (word, NULL, 10), SIGKILL);
        if (file)
            fclose (file);
        pid_t pid = waitpid (-1, NULL, file ? 0 : WNOHANG);
        if (pid == 0 || (pid == -1 && errno != EINTR))
            return;
    }
}

//  Wait until the shell ends or the daemon lets go of the lifeline.

static void
s_watch (int shell_fd)
{
    struct pollfd items[2] = { { .fd = shell_fd, .events = POLLIN },
        { .fd = ARGOS_GUARD_FD, .events = POLLRDHUP } };
    while (poll (items, 2, -1) == -1 && errno == EINTR)
        ;
}

//  Exit code of a shell that has ended, as shells say it; -1 = it has not.

static int
s_code (int shell_fd)
{
    siginfo_t info = { .si_pid = 0 };
    if (waitid (P_PIDFD, (id_t) shell_fd, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || !info.si_pid)
        return -1;
    return info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
}

int
argos_guard_main (int argc, char **argv)
{
    struct rlimit files;
    if (argc != 4)
        return 2;
    prctl (PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    fcntl (ARGOS_GUARD_FD, F_SETFD, FD_CLOEXEC);
    signal (SIGPIPE, SIG_IGN);
    if (getrlimit (RLIMIT_NOFILE, &files) == 0 && files.rlim_cur > SOFT_FILES) {
        files.rlim_cur = SOFT_FILES;
        setrlimit (RLIMIT_NOFILE, &files);
    }
    argos_guard_word_t word = s_start (argv[2], argv[3]);
    if (word.error)
        return CODE_NOT_RUN;
    pid_t shell = word.group;
    int shell_fd = pidfd_open (shell, 0);
    //  The pipe is the command's alone from here on
    int null = open ("/dev/null", O_RDWR | O_CLOEXEC);
    if (null >= 0) {
        dup2 (null, STDOUT_FILENO);
        dup2 (null, STDERR_FILENO);
    }
    if (shell_fd >= 0)
        s_watch (shell_fd);
    //  The shell has not been waited for, so its number is still its own and the group that of the
    //  command
    int code = shell_fd >= 0 ? s_code (shell_fd) : -1;
    kill (-shell, SIGKILL);
    s_reap_all ();
    return code == -1 ? 128 + SIGKILL : code;
}
