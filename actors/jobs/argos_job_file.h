//  argos_job_file - the files and the process of a job: what is in HOME/jobs/<id>, and argos-job.
//
//  Whatever is there was written by a program that may have been killed, and can be changed by the
//  commands themselves: everything is checked and bounded.

#ifndef ARGOS_JOB_FILE_H
#define ARGOS_JOB_FILE_H

#include "argos_job.h"
#include "argos_job_format.h"

#include <stddef.h>

#define ARGOS_JOB_OUTPUT_MIN 65536 //  Smallest log that may be asked for

//  What to start

typedef struct {
    const char *program; //  argos-job
    const char *jobs;    //  Folder of all jobs
    const char *command; //  Command line
    const char *workdir; //  Where it runs
    json_t *env;         //  More variables, an object of texts; NULL = none
    const char *input;   //  none, pipe, pty
    int64_t runtime_ms;  //  Longest run
    int64_t grace_ms;    //  From SIGTERM to SIGKILL
    int64_t output_max;  //  Bytes of the log
} argos_job_start_t;

//  A piece of output

typedef struct {
    char *data;       //  Bytes, the caller's
    size_t size;      //  How many
    uint64_t from;    //  Number of the first
    uint64_t next;    //  Where to go on
    uint64_t total;   //  Bytes of output so far
    uint64_t dropped; //  Of these, not kept
} argos_job_piece_t;

//  Makes the folder of a job and starts argos-job for it. Returns 0 with pid and descriptor in the
//  job, or an errno. What runs already is left alone by argos-job.
int argos_job_file_start (argos_job_t *job, const argos_job_start_t *start);

//  The name of this boot of the machine, "" when it has none.
void argos_job_file_boot (char target[static ARGOS_JOB_BOOT_SIZE]);

//  Who is at work, as the log says it, in job->keeper. False = nobody ever was; after a reboot, and
//  when the log is damaged, it is 0.
bool argos_job_file_run (const char *jobs, argos_job_t *job);

//  A descriptor of a process, when it is still the one that is meant; else -1.
int argos_job_file_pidfd (const argos_job_pid_t *process);

//  JOB_EXIT, or what was to become it. False = there is none.
bool argos_job_file_end (const char *jobs, const char *id, argos_job_end_t *end);

//  Output from byte number `from` on, at most max bytes; of what is not kept any more the next that
//  is. from < 0: the last max bytes. An absent or damaged log is empty.
void argos_job_file_output (
    const char *jobs, const char *id, int64_t from, size_t max, argos_job_piece_t *piece);

//  Writes to the input. Returns the bytes that were taken, or -errno.
ssize_t argos_job_file_write (const char *jobs, const char *id, const char *data, size_t size);

//  Kills what is left of a session whose leader, argos-job, is gone. Returns how many there were.
size_t argos_job_file_sweep (const argos_job_pid_t *keeper);

//  Removes the folder and all in it. Errors are ignored.
void argos_job_file_remove (const char *jobs, const char *id);

#endif
