//  argos_jobs_tool - the tools manage_bg_jobs and process, and commands that are to run in the
//  background: what a model says, and what it reads. Pure.

#ifndef ARGOS_JOBS_TOOL_H
#define ARGOS_JOBS_TOOL_H

#include "argos_jobs.h"

#define ARGOS_JOBS_WAIT_MAX_S 180LL //  Longest wait of the tool process

//  In which form an answer is

typedef enum {
    ARGOS_JOBS_RAW,     //  job.result
    ARGOS_JOBS_MANAGE,  //  tool.result of manage_bg_jobs
    ARGOS_JOBS_PROCESS, //  tool.result of process
    ARGOS_JOBS_LAUNCH   //  tool.result of terminal
} argos_jobs_view_t;

typedef enum {
    ARGOS_JOBS_UNKNOWN,
    ARGOS_JOBS_LIST,
    ARGOS_JOBS_OUTPUT,
    ARGOS_JOBS_KILL,
    ARGOS_JOBS_POLL,
    ARGOS_JOBS_LOG,
    ARGOS_JOBS_WAIT,
    ARGOS_JOBS_WRITE,
    ARGOS_JOBS_SUBMIT,
    ARGOS_JOBS_CLOSE,
    ARGOS_JOBS_SIGNAL,
    ARGOS_JOBS_START
} argos_jobs_op_t;

//  What people are told of jobs whose ends are not told to the agent

typedef enum {
    ARGOS_JOBS_NOTICES_ALL,
    ARGOS_JOBS_NOTICES_RESULT,
    ARGOS_JOBS_NOTICES_ERROR,
    ARGOS_JOBS_NOTICES_OFF
} argos_jobs_notices_t;

//  The setting (a text or a flag; anything else counts as all).
argos_jobs_notices_t argos_jobs_notices (const json_t *setting);

//  Whether they are told of this job as it is, running or over.
bool argos_jobs_notices_tell (argos_jobs_notices_t mode, const argos_job_t *job);

//  What the arguments of a tool ask for. Arguments without an action ask for the list.
argos_jobs_op_t argos_jobs_tool_op (argos_jobs_view_t view, const json_t *arguments);

//  The id that they name, as it is written; NULL = none. A number counts as its digits. target has
//  65 bytes.
const char *argos_jobs_tool_id (
    argos_jobs_view_t view, const json_t *arguments, char target[static 65]);

//  How long the tool process may wait, msec; -1 = it is out of range. *ret_cut = it was limited.
int64_t argos_jobs_tool_wait (const json_t *arguments, bool *ret_cut);

//  Bodies of tool.result, new

json_t *argos_jobs_tool_error (const char *text);
json_t *argos_jobs_tool_text (const char *text);
json_t *argos_jobs_tool_unknown (argos_jobs_view_t view, const char *id);

//  list: all jobs of a session. `output` of each is asked for by fn: its last characters, new.
typedef char *(argos_jobs_output_fn) (void *arg, const argos_job_t *job);
json_t *argos_jobs_tool_list (argos_jobs_view_t view, const argos_jobs_t *jobs, const char *session,
    int64_t now, argos_jobs_output_fn *fn, void *arg);

//  manage_bg_jobs output: text is the whole output, cleaned; command the whole command.
json_t *argos_jobs_tool_output (
    const argos_job_t *job, const char *command, const char *text, int64_t now);

//  manage_bg_jobs kill, when it is over. was_over: it was before.
json_t *argos_jobs_tool_killed (const argos_job_t *job, bool was_over);

//  process poll, wait, kill: text is the output. late: the wait has ended before the process.
json_t *argos_jobs_tool_state (
    argos_jobs_op_t op, const argos_job_t *job, const char *text, bool late, int64_t now);

//  process log: data is the whole output, raw.
json_t *argos_jobs_tool_log (
    const argos_job_t *job, const char *data, size_t size, const json_t *arguments);

//  process write, submit, close: bytes were taken, or error (an errno) says why not.
json_t *argos_jobs_tool_wrote (argos_jobs_op_t op, size_t bytes, int error);

//  ------------------------------------------------------------------------------------------------
//  Commands that are to run in the background

//  Whether a call of `terminal` is to run in the background: background is true, or the first line
//  of the command is a marker (#!bg and the like). *ret_marked = by a marker.
bool argos_jobs_is_background (const json_t *arguments, bool *ret_marked);

//  The body of job.start for such a call (body of tool.call), new; workdir is where commands run
//  that name no place. NULL with a sentence, static, when it can't be. *ret_unwatched: see below.
json_t *argos_jobs_launch (
    const json_t *call, const char *workdir, bool *ret_unwatched, const char **ret_problem);

//  tool.result of a job that was started. unwatched: patterns were asked for as well as its end,
//  and left out.
json_t *argos_jobs_launched (const argos_job_t *job, bool unwatched);

#endif
