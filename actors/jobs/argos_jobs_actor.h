//  argos_jobs_actor - the monitor of background jobs: starts them, hears of their end, tells it.
//
//  Serves: `job`: requests job.start, job.list, job.output, job.kill, job.wait, job.signal,
//          job.write -> job.result; job.start also as a durable message, which is then done once
//          `job@<node>`: the same, and tool.call of `terminal`, from tasks that are at home here
//          `tool.manage_bg_jobs@<node>`, `tool.process@<node>`: tool.call -> tool.result
//  Out:    turn.request into the lane of the session that started a job, with its run row, when it
//          is over; deliver.request for notices; topic:job.<id> with its output while somebody
//          follows
//  Pipe:   READY once all jobs of before are known; FAILED reason; SETTINGS
//  Owner:  the supervisor; one on each node that has tools, for the jobs there (argos_jobs_node)
//
//  Jobs outlive the actor and the daemon: their processes are argos-job's. Nothing is polled: an
//  end is heard by a pidfd, output by inotify, the end of a telling by the topic of its run.

#ifndef ARGOS_JOBS_ACTOR_H
#define ARGOS_JOBS_ACTOR_H

#include "argos_link.h"

#include <czmq.h>
#include <jansson.h>

typedef struct {
    argos_link_t link;      //  To the broker; copied before READY
    const char *home;       //  Folder that has the folder `jobs`, absolute; copied
    const char *program;    //  Path of argos-job; copied
    const json_t *settings; //  All settings; read before READY
} argos_jobs_config_t;

//  The actor; config is an argos_jobs_config_t.
void argos_jobs_actor (zsock_t *pipe, void *config);

#endif
