//  argos_jobs_actor - the shell around the table of jobs.
//
//  Invariant: a running job in the table has a pidfd, or a start of it is under way. All that is
//  waited for is in one epoll set. Limits: 64 slots of each service, 64 events a turn.

#include "argos_jobs_priv.h"

#include "argos_actor.h"
#include "argos_job_format.h"
#include "argos_setting.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <unistd.h>
#include <utlist.h>

#define SLOTS 64      //  Requests and messages at a time
#define EVENTS_MAX 64 //  Taken from epoll at once
#define PAGE 200      //  Records of a page
#define SLACK_MS 1000 //  Between two looks for jobs that may go, or two tries to load

static void s_load (jobs_t *self);

argos_job_t *
jobs_find (const jobs_t *self, const char *id)
{
    argos_job_t *job;
    DL_FOREACH (self->table.list, job)
        if (strcmp (job->id, id) == 0)
            return job;
    return NULL;
}

void
jobs_store (jobs_t *self, argos_job_t *job)
{
    argos_peer_part_t part = { .type = "record.put",
        .to = "store",
        .durable = true,
        .body = json_pack ("{s:s, s:s, s:o}", "space", ARGOS_JOB_SPACE, "key", job->id, "value",
            argos_job_record (job)) };
    if (self->stopping)
        json_decref (part.body);
    else
        argos_peer_send (self->peer, &part, NULL, NULL);
}

void
jobs_watch_process (jobs_t *self, argos_job_t *job)
{
    struct epoll_event event = { .events = EPOLLIN, .data.ptr = job };
    epoll_ctl (self->epoll_fd, EPOLL_CTL_ADD, job->pidfd, &event);
}

void
jobs_drop (jobs_t *self, argos_job_t *job)
{
    argos_peer_part_t parts[2];
    static const char *const spaces[] = { ARGOS_JOB_SPACE, ARGOS_JOB_TASKS };
    for (size_t i = 0; i < 2; i++)
        parts[i] = (argos_peer_part_t){ .type = "record.put",
            .to = "store",
            .body = json_pack ("{s:s, s:s}", "space", spaces[i], "key", job->id) };
    argos_peer_commit (self->peer, NULL, parts, 2, NULL, NULL);
    argos_job_file_remove (self->folder, job->id);
    argos_jobs_remove (&self->table, &job);
}

//  ------------------------------------------------------------------------------------------------
//  The timer

static int64_t
s_min (int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void
s_on_due (void *arg)
{
    jobs_t *self = arg;
    int64_t now = argos_shell_now ();
    argos_job_t *job;
    if (self->load_due && self->load_due <= now)
        s_load (self);
    jobs_answer_late (self, now);
    jobs_tail_due (self, now);
    jobs_tell_due (self, now);
    while ((job = argos_jobs_expired (&self->table, argos_shell_wall ())))
        jobs_drop (self, job);
    jobs_arm (self);
}

void
jobs_arm (jobs_t *self)
{
    const wait_t *wait;
    int64_t due = s_min (jobs_tail_next (self), jobs_tell_next (self));
    int64_t expires = argos_jobs_due (&self->table), wall = argos_shell_wall ();
    if (self->load_due)
        due = s_min (due, self->load_due);
    DL_FOREACH (self->waits, wait)
        due = s_min (due, wait->due);
    if (expires >= 0)
        due = s_min (
            due, argos_shell_now () + (expires > wall + SLACK_MS ? expires - wall : SLACK_MS));
    if (!self->stopping)
        argos_shell_timer (self->shell, due < INT64_MAX ? due : -1, s_on_due, self);
}

static void
s_on_events (void *arg)
{
    jobs_t *self = arg;
    struct epoll_event events[EVENTS_MAX];
    int count = epoll_wait (self->epoll_fd, events, EVENTS_MAX, 0);
    for (int i = 0; i < count; i++)
        if (events[i].data.ptr)
            jobs_look (self, events[i].data.ptr);
        else
            jobs_tail_events (self);
}

//  ------------------------------------------------------------------------------------------------
//  The jobs of before

//  Folders of which there is no record: what was asked for them is over, unless they still run.

static void
s_clean_folder (jobs_t *self)
{
    DIR *folder = opendir (self->folder);
    const struct dirent *entry;
    char id[ARGOS_JOB_ID_SIZE];
    while (folder && (entry = readdir (folder))) {
        if (!argos_job_id (entry->d_name, id) || jobs_find (self, id))
            continue;
        argos_job_t *job = argos_job_new (id, NULL, NULL, NULL, NULL);
        int pidfd =
            argos_job_file_run (self->folder, job) ? argos_job_file_pidfd (&job->keeper) : -1;
        if (pidfd >= 0)
            close (pidfd);
        else
            argos_job_file_remove (self->folder, id);
        argos_job_destroy (&job);
    }
    if (folder)
        closedir (folder);
}

//  Everything is known: what runs is watched, what has ended meanwhile is told.

static void
s_loaded (jobs_t *self)
{
    argos_job_t *job, *next;
    self->loaded = true;
    jobs_tell_node (self);
    argos_peer_serve (self->peer, "job", SLOTS, NULL);
    static const char *const own_services[] = { "job", "tool.manage_bg_jobs", "tool.process" };
    for (size_t i = 0; i < sizeof own_services / sizeof *own_services; i++) {
        char own[ARGOS_NAME_MAX + 1];
        argos_node_service (own_services[i], self->node, own);
        argos_peer_serve (self->peer, own, SLOTS, NULL);
    }
    DL_FOREACH_SAFE (self->table.list, job, next) {
        if (job->status == ARGOS_JOB_RUNNING)
            jobs_look (self, job);
        else if (argos_job_pending (job) && *job->followup)
            jobs_follow_run (self, job->followup);
        else if (argos_job_pending (job))
            jobs_tell_session (self, job->session);
    }
    s_clean_folder (self);
    self->ready = true;
    argos_actor_ready (self->pipe, true);
    jobs_arm (self);
}

static void
s_on_page (void *arg, const argos_peer_answer_t *answer)
{
    jobs_t *self = arg;
    size_t index;
    const json_t *record;
    if (self->stopping)
        return;
    if (answer->code != ARGOS_OK) {
        self->load_due = argos_shell_now () + SLACK_MS;
        jobs_arm (self);
        return;
    }
    json_array_foreach (json_object_get (answer->body, "records"), index, record) {
        argos_job_t *job = argos_job_load (json_object_get (record, "value"));
        if (job && jobs_is_here (self, job) && !jobs_find (self, job->id))
            argos_jobs_add (&self->table, job);
        else
            argos_job_destroy (&job);
        snprintf (self->after, sizeof self->after, "%s",
            json_string_value (json_object_get (record, "key")));
    }
    if (json_object_get (answer->body, "next"))
        s_load (self);
    else
        s_loaded (self);
}

static void
s_load (jobs_t *self)
{
    self->load_due = 0;
    argos_peer_part_t part = { .type = "record.list",
        .to = "store",
        .ttl_ms = JOBS_READ_MS,
        .body = json_pack ("{s:s, s:i}", "space", ARGOS_JOB_SPACE, "limit", PAGE) };
    if (*self->after)
        json_object_set_new (part.body, "after", json_string (self->after));
    argos_peer_send (self->peer, &part, s_on_page, self);
}

//  ------------------------------------------------------------------------------------------------
//  Handlers

static void
s_on_welcome (void *ctx, bool new_store)
{
    (void) new_store;
    jobs_t *self = ctx;
    if (!self->loaded && !*self->after)
        s_load (self);
}

static void
s_on_lease (void *ctx, const argos_peer_msg_t *msg)
{
    jobs_t *self = ctx;
    asker_t asker = { .view = ARGOS_JOBS_RAW };
    argos_lease_t *lease = msg->lease;
    if (strcmp (msg->type, "job.start") == 0)
        jobs_start (self, msg->body, &asker, msg->from, msg->id, lease);
    else
        argos_lease_release (&lease, 0, false, "invalid");
}

static void
s_on_final (void *ctx, argos_err_t code, const char *reason)
{
    (void) code;
    jobs_t *self = ctx;
    argos_actor_fail (self->pipe, reason);
    argos_shell_stop (self->shell);
}

static void
s_set_settings (jobs_t *self, const json_t *config)
{
    const char *workdir = argos_setting_text (config, NULL, NULL, "tools.terminal.workdir");
    snprintf (self->workdir, sizeof self->workdir, "%s", workdir ? workdir : "");
    self->table.limits = (argos_jobs_limits_t){
        .tracked = argos_setting_int (config, NULL, NULL, "jobs.max_tracked"),
        .per_session = argos_setting_int (config, NULL, NULL, "jobs.max_per_session"),
        .per_owner = argos_setting_int (config, NULL, NULL, "jobs.max_per_owner"),
        .rounds = argos_setting_int (config, NULL, NULL, "jobs.max_rounds"),
        .keep_ms = argos_setting_int (config, NULL, NULL, "jobs.keep_s") * 1000,
    };
    self->runtime_s = argos_setting_int (config, NULL, NULL, "jobs.runtime_s");
    self->output_max = argos_setting_int (config, NULL, NULL, "jobs.output_max");
    self->grace_ms = argos_setting_int (config, NULL, NULL, "jobs.grace_ms");
    self->notices = argos_jobs_notices (
        argos_setting (config, NULL, NULL, "display.background_process_notifications"));
}

static void
s_on_command (void *arg, zmsg_t *msg)
{
    jobs_t *self = arg;
    json_t *config = argos_actor_settings (msg);
    if (config)
        s_set_settings (self, config);
    json_decref (config);
}

//  ------------------------------------------------------------------------------------------------
//  Lifecycle

//  Jobs go on: that is what they are for.

static void
s_clear (jobs_t *self)
{
    argos_job_t *job;
    self->stopping = true;
    jobs_tail_clear (self);
    argos_shell_destroy (&self->shell);
    jobs_tell_clear (self);
    wait_t *wait, *next;
    DL_FOREACH_SAFE (self->waits, wait, next)
        free (wait);
    DL_FOREACH (self->table.list, job)
        if (job->pidfd >= 0)
            close (job->pidfd);
    argos_jobs_clear (&self->table);
    if (self->inotify_fd >= 0)
        close (self->inotify_fd);
    if (self->epoll_fd >= 0)
        close (self->epoll_fd);
}

static bool
s_open (jobs_t *self)
{
    struct epoll_event event = { .events = EPOLLIN, .data.ptr = NULL };
    self->epoll_fd = epoll_create1 (EPOLL_CLOEXEC);
    self->inotify_fd = inotify_init1 (IN_NONBLOCK | IN_CLOEXEC);
    return self->epoll_fd >= 0 && self->inotify_fd >= 0 &&
           epoll_ctl (self->epoll_fd, EPOLL_CTL_ADD, self->inotify_fd, &event) == 0;
}

void
argos_jobs_actor (zsock_t *pipe, void *config)
{
    const argos_jobs_config_t *settings = config;
    jobs_t *self = calloc (1, sizeof *self);
    char name[ARGOS_NAME_MAX + 1];
    if (!self)
        abort ();
    argos_peer_config_t peer = { .handlers = { .ctx = self,
                                     .on_welcome = s_on_welcome,
                                     .on_lease = s_on_lease,
                                     .on_lost = jobs_on_lost,
                                     .on_request = jobs_on_request,
                                     .on_entry = jobs_on_entry,
                                     .on_end = jobs_on_end,
                                     .on_final = s_on_final } };
    self->pipe = pipe;
    snprintf (self->folder, sizeof self->folder, "%.*s/jobs", PATH_MAX - 16, settings->home);
    snprintf (self->program, sizeof self->program, "%s", settings->program);
    argos_job_file_boot (self->boot);
    s_set_settings (self, settings->settings);
    argos_link_apply (&settings->link, JOBS_NAME, &peer, name);
    snprintf (self->node, sizeof self->node, "%s", argos_node_of (&settings->link));
    self->shell = s_open (self) ? argos_shell_new (pipe, &peer) : NULL;
    if (self->shell) {
        self->peer = argos_shell_peer (self->shell);
        argos_shell_on_command (self->shell, s_on_command, self);
        argos_shell_fd (self->shell, self->epoll_fd, s_on_events, self);
        argos_shell_run (self->shell);
    }
    if (!self->ready)
        argos_actor_ready (pipe, false);
    s_clear (self);
    free (self);
}
