//  argos-job_priv - what the files of argos-job share. Not for users.

#ifndef ARGOS_JOB_PRIV_H
#define ARGOS_JOB_PRIV_H

#include "argos_job_format.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define JOB_PIDS_MAX 64 //  Survivors that are listed

typedef enum { JOB_INPUT_NONE, JOB_INPUT_PIPE, JOB_INPUT_PTY } job_input_t;

//  What argos-job was started with

typedef struct {
    const char *dir;     //  Folder of the job, absolute
    const char *workdir; //  Where the command runs
    const char *command; //  For /bin/sh -c
    int64_t runtime_ms;  //  Longest run
    int64_t grace_ms;    //  From SIGTERM to SIGKILL
    uint64_t output_max; //  Bytes of the log
    job_input_t input;   //  What the command reads
} job_task_t;

//  argos-job_log.c: the log

typedef struct {
    int fd;               //  Its file
    argos_job_log_t head; //  Its head, as it is in the file
} job_log_t;

//  Makes the file in the folder, once for ever, in the name of this process. Returns 0, EEXIST when
//  there is one, or another errno.
int job_log_open (job_log_t *self, int dir_fd, uint64_t size);

//  More output. What can't be written is counted.
void job_log_write (job_log_t *self, const char *data, size_t size);

//  Brings it to the disk; when its file was removed, it is made again in dir_fd.
void job_log_close (job_log_t *self, int dir_fd);

//  argos-job_tree.c: the processes of the job

//  Start time of a process, 0 = there is none.
uint64_t job_tree_start (pid_t pid);

//  Send a signal to all that descend from this process, parents first. Each is signalled by a
//  descriptor that was seen to be the process meant. Returns how many there were.
size_t job_tree_signal (int number);

//  The pids of those that are left, at most JOB_PIDS_MAX; returns how many.
size_t job_tree_list (pid_t *pids);

//  argos-job_shell.c: the start of the command

//  Descriptors of our end

typedef struct {
    pid_t pid;     //  Of the shell
    int output_fd; //  Its output, not blocking; the terminal with a pty
    int input_fd;  //  Write end of its input that keeps it open; -1 = none
    int relay_fd;  //  Read end of the fifo, for a pty; -1 = none
} job_shell_t;

//  Starts it. Returns 0 or an errno.
int job_shell_start (job_shell_t *self, const job_task_t *task, int dir_fd);

//  argos-job_record.c: JOB_EXIT

typedef struct {
    int code;                      //  Exit code
    const char *reason;            //  exited, killed, timed_out
    int number;                    //  Signal that has ended the shell, 0 = none
    int64_t ended_ms, run_ms;      //  Msec since 1970; how long it took
    size_t left;                   //  Processes that the shell had left running
    pid_t survivors[JOB_PIDS_MAX]; //  That nothing could end
    size_t survivor_count;         //  How many
} job_end_t;

//  Keeps a place for the exit record, so that a full disk can't prevent it. Returns a descriptor,
//  -1 = there is none.
int job_record_reserve (int dir_fd);

//  Writes JOB_EXIT: complete or not at all. Makes the folder again when it is gone. Returns 0 or an
//  errno.
int job_record_exit (const char *dir, int *dir_fd_p, int reserved_fd, const job_end_t *end);

//  Opens the folder again when it was removed or made unwritable meanwhile. Returns 0 or an errno.
int job_record_mend (const char *dir, int *dir_fd_p);

#endif
