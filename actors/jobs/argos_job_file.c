//  argos_job_file - the files and the process of a job.
//
//  Invariant: a process is signalled only by a descriptor whose start time was compared after it
//  was opened, so a number that belongs to somebody else by now is never hit. Limit: the output is
//  read in pieces that the caller bounds.

#include "argos_job_file.h"

#include "argos_spawn.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_FLAGS (O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) //  Of a file of the job
#define SMALL_MAX 4096                                              //  Bytes of JOB_EXIT
#define ENV_MAX 32                                                  //  More variables
#define LOG_SIZE_MAX (1ULL << 40)                                   //  Beyond that a log is damaged

static int
s_path (char *target, size_t size, const char *jobs, const char *id, const char *name)
{
    int length = snprintf (target, size, "%s/%s%s%s", jobs, id, *name ? "/" : "", name);
    return length > 0 && (size_t) length < size ? 0 : ENAMETOOLONG;
}

//  A small file, terminated; false = it is not there. No link is followed and nothing waits: the
//  command may have put anything there.

static bool
s_read (const char *jobs, const char *id, const char *name, char target[static SMALL_MAX])
{
    char path[PATH_MAX];
    struct stat state;
    if (s_path (path, sizeof path, jobs, id, name))
        return false;
    int fd = open (path, READ_FLAGS);
    if (fd < 0)
        return false;
    ssize_t size = -1;
    if (fstat (fd, &state) == 0 && S_ISREG (state.st_mode))
        size = read (fd, target, SMALL_MAX - 1);
    close (fd);
    target[size > 0 ? size : 0] = 0;
    return size >= 0;
}

//  ------------------------------------------------------------------------------------------------
//  Processes

//  Start time and session of a process; false = there is none.

static bool
s_stat (pid_t pid, uint64_t *ret_start, pid_t *ret_session)
{
    char path[64], text[1024];
    snprintf (path, sizeof path, "/proc/%d/stat", (int) pid);
    int fd = open (path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : read (fd, text, sizeof text - 1);
    if (fd >= 0)
        close (fd);
    if (size <= 0)
        return false;
    text[size] = 0;
    //  The name, in brackets, may hold anything, so the fields are counted from its end
    const char *field = strrchr (text, ')');
    for (int number = 2; field && number < 22; number++) {
        field = strchr (field + 1, ' ');
        if (field && number + 1 == 6)
            *ret_session = (pid_t) strtol (field + 1, NULL, 10);
    }
    if (!field)
        return false;
    *ret_start = strtoull (field + 1, NULL, 10);
    return true;
}

int
argos_job_file_pidfd (const argos_job_pid_t *process)
{
    uint64_t start;
    pid_t session;
    if (process->pid <= 1)
        return -1;
    int fd = pidfd_open (process->pid, 0);
    if (fd >= 0 && (!s_stat (process->pid, &start, &session) || start != process->start)) {
        close (fd);
        return -1;
    }
    return fd;
}

size_t
argos_job_file_sweep (const argos_job_pid_t *keeper)
{
    DIR *folder = keeper->pid > 1 ? opendir ("/proc") : NULL;
    const struct dirent *entry;
    size_t count = 0;
    while (folder && (entry = readdir (folder))) {
        pid_t session = 0, pid = (pid_t) strtol (entry->d_name, NULL, 10);
        argos_job_pid_t process = { .pid = pid };
        //  A number is not given again as long as a session bears it
        if (pid <= 1 || !s_stat (pid, &process.start, &session) || session != keeper->pid ||
            process.start < keeper->start)
            continue;
        int fd = argos_job_file_pidfd (&process);
        if (fd >= 0) {
            count += pidfd_send_signal (fd, SIGKILL, NULL, 0) == 0;
            close (fd);
        }
    }
    if (folder)
        closedir (folder);
    return count;
}

void
argos_job_file_boot (char target[static ARGOS_JOB_BOOT_SIZE])
{
    int fd = open ("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? 0 : read (fd, target, ARGOS_JOB_BOOT_SIZE - 1);
    if (fd >= 0)
        close (fd);
    target[size > 0 ? size : 0] = 0;
    target[strcspn (target, "\n")] = 0;
}

//  The head of a log, false = it is none.

static bool
s_head (int fd, argos_job_log_t *head)
{
    struct stat state;
    return fd >= 0 && fstat (fd, &state) == 0 && S_ISREG (state.st_mode) &&
           pread (fd, head, sizeof *head, 0) == (ssize_t) sizeof *head &&
           memcmp (head->magic, ARGOS_JOB_LOG_MAGIC, sizeof head->magic) == 0 && head->size &&
           head->size < LOG_SIZE_MAX && head->head < head->size;
}

bool
argos_job_file_run (const char *jobs, argos_job_t *job)
{
    char path[PATH_MAX], boot[ARGOS_JOB_BOOT_SIZE];
    argos_job_log_t head;
    job->keeper = (argos_job_pid_t){ 0 };
    if (s_path (path, sizeof path, jobs, job->id, ARGOS_JOB_LOG))
        return false;
    int fd = open (path, READ_FLAGS);
    if (fd < 0)
        return errno != ENOENT && errno != ENOTDIR; //  What is there keeps others from it
    argos_job_file_boot (boot);
    if (s_head (fd, &head) && head.pid <= INT_MAX && strncmp (head.boot, boot, sizeof boot) == 0)
        job->keeper = (argos_job_pid_t){ .pid = (pid_t) head.pid, .start = head.start };
    close (fd);
    return true;
}

//  The last line of a record is complete.

static bool
s_whole (const char *text)
{
    const char *last = strstr (text, "\nsurvivors");
    return last && strchr (last + 1, '\n');
}

bool
argos_job_file_end (const char *jobs, const char *id, argos_job_end_t *end)
{
    char text[SMALL_MAX];
    //  Who was killed, or lost its power, before the rename had written all the same
    if (!s_read (jobs, id, ARGOS_JOB_EXIT, text) &&
        (!s_read (jobs, id, ARGOS_JOB_ENDING, text) || !s_whole (text)))
        return false;
    argos_job_end_read (text, end);
    return true;
}

//  ------------------------------------------------------------------------------------------------
//  Start

static int
s_make_folder (const char *jobs, const char *id, char path[static PATH_MAX])
{
    if (s_path (path, PATH_MAX, jobs, id, ""))
        return ENAMETOOLONG;
    if (mkdir (path, 0700) == 0 || errno == EEXIST)
        return 0;
    if (errno != ENOENT)
        return errno;
    if (mkdir (jobs, 0700) != 0 && errno != EEXIST)
        return errno;
    return mkdir (path, 0700) != 0 && errno != EEXIST ? errno : 0;
}

//  The variables of a command: the harmless ones, and what was asked for.

static char **
s_env (json_t *more)
{
    const char *words[ENV_MAX + 2] = { "PYTHONUNBUFFERED=1" };
    char *made[ENV_MAX];
    size_t count = 0;
    const char *name;
    json_t *value;
    json_object_foreach (more, name, value) {
        const char *text = json_string_value (value);
        if (!text || count == ENV_MAX || asprintf (&made[count], "%s=%s", name, text) < 0)
            continue;
        words[1 + count] = made[count];
        count++;
    }
    char **env = argos_spawn_env (words);
    while (count)
        free (made[--count]);
    return env;
}

static int
s_spawn (const char *program, char *const *argv, char *const *env, pid_t *ret_pid)
{
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t actions;
    sigset_t held, all;
    //  Who asks for something before argos-job listens is heard when it does
    sigemptyset (&held);
    sigaddset (&held, SIGTERM);
    sigaddset (&held, SIGUSR1);
    sigaddset (&held, SIGUSR2);
    sigfillset (&all);
    posix_spawnattr_init (&attributes);
    posix_spawnattr_setflags (
        &attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setsigmask (&attributes, &held);
    posix_spawnattr_setsigdefault (&attributes, &all);
    posix_spawn_file_actions_init (&actions);
    posix_spawn_file_actions_addopen (&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen (&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen (&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addclosefrom_np (&actions, STDERR_FILENO + 1);
    int error = posix_spawn (ret_pid, program, &actions, &attributes, argv, env);
    posix_spawn_file_actions_destroy (&actions);
    posix_spawnattr_destroy (&attributes);
    return error;
}

//  A word of a command line; posix_spawn does not change it.

static char *
s_word (const char *text)
{
    union {
        const char *read; //  As it is
        char *word;       //  As it is asked for
    } both = { .read = text };
    return both.word;
}

int
argos_job_file_start (argos_job_t *job, const argos_job_start_t *start)
{
    char folder[PATH_MAX], runtime[24], grace[24], output[24];
    int error = s_make_folder (start->jobs, job->id, folder);
    if (error)
        return error;
    snprintf (runtime, sizeof runtime, "%lld", (long long) start->runtime_ms);
    snprintf (grace, sizeof grace, "%lld", (long long) start->grace_ms);
    snprintf (output, sizeof output, "%lld", (long long) start->output_max);
    char *argv[] = { s_word ("argos-job"), s_word ("--dir"), folder, s_word ("--workdir"),
        s_word (start->workdir), s_word ("--runtime-ms"), runtime, s_word ("--grace-ms"), grace,
        s_word ("--output-max"), output, s_word ("--input"), s_word (start->input), s_word ("--"),
        s_word (start->command), NULL };
    char **env = s_env (start->env);
    pid_t pid = 0;
    error = s_spawn (start->program, argv, env, &pid);
    argos_spawn_env_free (env);
    if (error)
        return error;
    //  Our child: its number is its own until we have waited for it
    job->keeper.pid = pid;
    job->pidfd = pidfd_open (pid, 0);
    return job->pidfd < 0 ? errno : 0;
}

//  ------------------------------------------------------------------------------------------------
//  Output and input

//  Where byte number n is, and how many after it are there in one piece.

static uint64_t
s_place (const argos_job_log_t *head, uint64_t n, uint64_t *ret_room)
{
    if (n < head->head) {
        *ret_room = head->head - n;
        return n;
    }
    uint64_t ring = head->size - head->head, offset = (n - head->head) % ring;
    *ret_room = ring - offset;
    return head->head + offset;
}

//  Reads what is kept of [from, to).

static void
s_read_range (
    int fd, const argos_job_log_t *head, uint64_t from, uint64_t to, argos_job_piece_t *piece)
{
    uint64_t ring = head->size - head->head;
    uint64_t first = head->total > head->head + ring ? head->total - ring : head->head;
    while (from < to) {
        uint64_t room;
        if (from >= head->head && from < first)
            from = first;
        if (from >= to)
            break;
        uint64_t place = s_place (head, from, &room);
        size_t size = (size_t) (to - from < room ? to - from : room);
        ssize_t done =
            pread (fd, piece->data + piece->size, size, (off_t) (ARGOS_JOB_LOG_DATA + place));
        if (done <= 0)
            break;
        piece->size += (size_t) done;
        from += (uint64_t) done;
    }
    piece->next = from;
}

void
argos_job_file_output (
    const char *jobs, const char *id, int64_t from, size_t max, argos_job_piece_t *piece)
{
    char path[PATH_MAX];
    argos_job_log_t head;
    *piece = (argos_job_piece_t){ .data = calloc (1, max + 1) };
    if (!piece->data)
        abort ();
    int fd = s_path (path, sizeof path, jobs, id, ARGOS_JOB_LOG) ? -1 : open (path, READ_FLAGS);
    if (s_head (fd, &head)) {
        uint64_t begin = from >= 0 ? (uint64_t) from : head.total > max ? head.total - max : 0;
        if (begin > head.total)
            begin = head.total;
        piece->from = begin;
        piece->total = head.total;
        piece->dropped = head.lost + (head.total > head.size ? head.total - head.size : 0);
        s_read_range (fd, &head, begin, head.total - begin > max ? begin + max : head.total, piece);
    }
    if (fd >= 0)
        close (fd);
}

ssize_t
argos_job_file_write (const char *jobs, const char *id, const char *data, size_t size)
{
    char path[PATH_MAX];
    struct stat state;
    if (s_path (path, sizeof path, jobs, id, ARGOS_JOB_INPUT))
        return -ENAMETOOLONG;
    int fd = open (path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return -errno;
    ssize_t done = -EINVAL;
    if (fstat (fd, &state) == 0 && S_ISFIFO (state.st_mode)) {
        done = write (fd, data, size);
        if (done < 0)
            done = errno == EAGAIN ? 0 : -errno;
    }
    close (fd);
    return done;
}

static int
s_remove (const char *path, const struct stat *state, int kind, struct FTW *walk)
{
    (void) state;
    (void) kind;
    (void) walk;
    remove (path);
    return 0;
}

void
argos_job_file_remove (const char *jobs, const char *id)
{
    char path[PATH_MAX];
    if (s_path (path, sizeof path, jobs, id, "") == 0)
        nftw (path, s_remove, 8, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}
