//  argos_job_format - what argos-job writes into the folder of a job, and those who read it.
//
//  Nothing but constants and one struct: argos-job is a program without libraries. The folder holds
//  JOB_LOG, its output, which is there once a process is at work on the job, says which one, and is
//  never made twice; JOB_INPUT, a fifo, when it has an input; JOB_EXIT, which is there when all is
//  over.
//
//  JOB_EXIT is the exit code in a line of its own, then lines of NAME VALUE: reason (exited,
//  killed, timed_out), signal, ended (msec since 1970), ms (it took), left (processes that the
//  shell had left running), survivors (pids that nothing could end). It is written as JOB_ENDING,
//  which holds it as well when its last line is complete.

#ifndef ARGOS_JOB_FORMAT_H
#define ARGOS_JOB_FORMAT_H

#include <stdint.h>

#define ARGOS_JOB_EXIT "exit"    //  How it ended
#define ARGOS_JOB_ENDING ".exit" //  The same before it has its name
#define ARGOS_JOB_LOG "log"      //  What it has written
#define ARGOS_JOB_INPUT "input"  //  What it reads

#define ARGOS_JOB_LOG_MAGIC "ARGJOB2\n" //  Begin of a log
#define ARGOS_JOB_LOG_DATA 128          //  Where its data begins
#define ARGOS_JOB_BOOT_SIZE 40          //  Bytes of the name of a boot

//  The log: this, and behind it `size` bytes. The first `head` of them are the beginning of the
//  output and stay, the others are a ring: byte number n of the output (n >= head) is at head + (n
//  - head) % (size - head).

typedef struct {
    char magic[8];                  //  ARGOS_JOB_LOG_MAGIC
    uint64_t total;                 //  Bytes of output so far
    uint64_t lost;                  //  Bytes that could not be written (a full disk); not in total
    uint64_t size;                  //  Bytes of data at most
    uint64_t head;                  //  Of these, for the beginning
    uint64_t pid;                   //  argos-job
    uint64_t start;                 //  When it was started: field 22 of /proc/PID/stat
    char boot[ARGOS_JOB_BOOT_SIZE]; //  In which boot of the machine
} argos_job_log_t;

//  How argos-job is asked: SIGTERM stops the job. SIGUSR1 with a value sends that signal to its
//  processes; SIGUSR2 closes its input.

#endif
