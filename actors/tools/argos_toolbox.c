//  argos_toolbox - the tools that work on files and on the web.
//
//  Invariant: a thread has its call to itself from its start to its entry in the list of what is
//  done; then it belongs to the peer's thread again, which joins it. Each call is answered once.
//  Limits: 48 threads; 256 tasks, of which the one used longest ago is forgotten.

#include "argos_toolbox.h"

#include "argos_claim.h"
#include "argos_files.h"
#include "argos_header.h"
#include "argos_reads.h"
#include "argos_setting.h"
#include "argos_tool.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <utlist.h>

#define JOBS_MAX 48 //  The slots of all of them, for either kind of call
#define TASKS_MAX 256
#define CHARS_MAX 100000
#define FAILURES 3 //  Edits of one file that fail in a row before it is said

typedef struct job job_t;

typedef struct {
    const char *name;    //  Tool
    argos_tool_fn *work; //  Does it
    int slots;           //  Calls at a time
    bool path;           //  Its argument `path` is a file or folder
    bool reads;          //  Equal calls in a row are looked at
    bool edits;          //  It changes the file
} s_row_t;

static const s_row_t s_rows[] = {
    { "read_file", argos_tool_read_file, 8, true, true, false },
    { "write_file", argos_tool_write_file, 4, true, false, true },
    { "patch", argos_tool_patch, 4, true, false, true },
    { "search_files", argos_tool_search_files, 4, true, true, false },
    { "web_extract", argos_tool_web_extract, 4, false, false, false },
};

#define ROWS (sizeof s_rows / sizeof *s_rows)

typedef struct task {
    char *session;            //  Whose
    argos_reads_t *reads;     //  What it has read
    struct task *prev, *next; //  The one used last first
} task_t;

struct job {
    argos_toolbox_t *box;          //  Whose
    const s_row_t *row;            //  Which tool
    char from[ARGOS_NAME_MAX + 1]; //  Who asked
    char id[ARGOS_ID_MAX + 1];     //  With which id
    char session[257];             //  For whom
    char call_id[129];             //  Of the call
    char root[PATH_MAX];           //  Folder of the session
    char files[PATH_MAX];          //  For what is too long
    char write_root[PATH_MAX];     //  See argos_tool_call_t
    bool warn;                     //  The same for the third time
    bool stale;                    //  The file had changed
    bool quiet;                    //  Nobody waits
    argos_tool_call_t call;        //  The thread's until it is done
    pthread_t thread;              //  At work
    job_t *prev, *next;            //  All
    job_t *done_next;              //  Those that are done
};

struct argos_toolbox {
    argos_shell_t *shell;                  //  Whose loop
    argos_places_t places;                 //  Folders; own
    const argos_approval_policy_t *policy; //  Borrowed
    char *write_root;                      //  Setting
    size_t chars_max;                      //  Setting
    json_t *private_hosts;                 //  Setting
    job_t *jobs;                           //  At work
    int job_count;                         //  How many
    task_t *tasks;                         //  Known
    int task_count;                        //  How many
    int event;                             //  Something is done
    pthread_mutex_t mutex;                 //  Guards done
    job_t *done;                           //  Not taken yet
};

//  ------------------------------------------------------------------------------------------------
//  Tasks

static void
s_task_free (argos_toolbox_t *self, task_t *task)
{
    DL_DELETE (self->tasks, task);
    self->task_count--;
    argos_reads_destroy (&task->reads);
    free (task->session);
    free (task);
}

static task_t *
s_task (argos_toolbox_t *self, const char *session)
{
    task_t *task;
    DL_FOREACH (self->tasks, task)
        if (strcmp (task->session, session) == 0)
            break;
    if (task)
        DL_DELETE (self->tasks, task);
    else {
        if (self->task_count == TASKS_MAX)
            s_task_free (self, self->tasks->prev);
        task = calloc (1, sizeof *task);
        if (!task || !(task->session = strdup (session)))
            abort ();
        task->reads = argos_reads_new ();
        self->task_count++;
    }
    DL_PREPEND (self->tasks, task);
    return task;
}

void
argos_toolbox_other (argos_toolbox_t *self, const char *session)
{
    argos_reads_begin (s_task (self, session)->reads, NULL, NULL, 0, 0);
}

void
argos_toolbox_close (argos_toolbox_t *self, const char *session)
{
    task_t *task, *next;
    DL_FOREACH_SAFE (self->tasks, task, next)
        if (strcmp (task->session, session) == 0)
            s_task_free (self, task);
    argos_places_forget (&self->places, session);
}

//  ------------------------------------------------------------------------------------------------
//  Answers

static void
s_reply (argos_toolbox_t *self, const char *from, const char *id, json_t *result, bool failed)
{
    json_t *body = json_pack (
        "{s:s, s:s, s:o}", "output", "", "status", failed ? "error" : "ok", "result", result);
    argos_peer_reply_to (argos_shell_peer (self->shell), from, id, "tool.result", body);
}

static void
s_set_warning (json_t *result, const char *text)
{
    json_object_set_new (result, "warning", json_string (text));
}

//  What the task knows now; and what it is to be told beside.

static void
s_learn (argos_toolbox_t *self, job_t *job)
{
    argos_reads_t *reads = s_task (self, job->session)->reads;
    argos_tool_call_t *call = &job->call;
    if (job->warn)
        s_set_warning (call->result, "That is the third time in a row. What it says stands above.");
    if (!*call->path)
        return;
    if (job->stale && call->wrote)
        s_set_warning (
            call->result, "The file had changed since you read it: somebody else has written it.");
    if (job->row->reads && !call->failed && job->row->work == argos_tool_read_file)
        argos_reads_saw (reads, call->path, call->modified_ns, call->size);
    if (call->wrote) {
        argos_files_note (call);
        argos_reads_saw (reads, call->path, call->modified_ns, call->size);
    }
    if (job->row->work == argos_tool_patch &&
        argos_reads_edited (reads, call->path, call->failed) >= FAILURES)
        json_object_set_new (call->result, "hint",
            json_string ("Several patches of this file have failed in a row. Read it again, and "
                         "use write_file if it is short."));
}

static void
s_job_free (argos_toolbox_t *self, job_t *job)
{
    DL_DELETE (self->jobs, job);
    self->job_count--;
    json_decref (job->call.arguments);
    json_decref (job->call.result);
    json_decref (job->call.private_hosts);
    free (job);
}

static void
s_on_done (void *arg)
{
    argos_toolbox_t *self = arg;
    uint64_t count;
    if (read (self->event, &count, sizeof count) < 0)
        return;
    pthread_mutex_lock (&self->mutex);
    job_t *job = self->done;
    self->done = NULL;
    pthread_mutex_unlock (&self->mutex);
    while (job) {
        job_t *next = job->done_next;
        pthread_join (job->thread, NULL);
        s_learn (self, job);
        if (!job->quiet)
            s_reply (self, job->from, job->id, json_incref (job->call.result), job->call.failed);
        s_job_free (self, job);
        job = next;
    }
}

//  ------------------------------------------------------------------------------------------------
//  The thread

static void *
s_thread (void *arg)
{
    job_t *job = arg;
    argos_toolbox_t *box = job->box;
    uint64_t one = 1;
    job->row->work (&job->call);
    if (!job->call.result)
        argos_tool_fail (&job->call, "The tool has given no result.");
    pthread_mutex_lock (&box->mutex);
    LL_APPEND2 (box->done, job, done_next);
    pthread_mutex_unlock (&box->mutex);
    if (write (box->event, &one, sizeof one) < 0)
        abort (); //  The counter of an eventfd is never full of our words
    return NULL;
}

//  ------------------------------------------------------------------------------------------------
//  Calls

//  What the call is named for the eyes of argos_reads; new.

static char *
s_what (const job_t *job)
{
    char *arguments = json_dumps (job->call.arguments, JSON_COMPACT | JSON_SORT_KEYS), *what;
    if (asprintf (&what, "%s %s %s", job->row->name, job->call.path, arguments ? arguments : "") <
        0)
        abort ();
    free (arguments);
    return what;
}

//  What the same call before means for this one. Returns whether it is to be done.

static bool
s_is_new (argos_toolbox_t *self, job_t *job)
{
    argos_reads_t *reads = s_task (self, job->session)->reads;
    argos_tool_call_t *call = &job->call;
    char *what = job->row->reads ? s_what (job) : NULL;
    bool file = job->row->work == argos_tool_read_file;
    argos_files_note (call);
    argos_reads_verdict_t verdict =
        argos_reads_begin (reads, what, file ? call->path : NULL, call->modified_ns, call->size);
    free (what);
    job->warn = verdict == ARGOS_READS_WARN;
    job->stale = *call->path && job->row->edits &&
                 argos_reads_is_stale (reads, call->path, call->modified_ns, call->size);
    if (verdict == ARGOS_READS_STUB_IT)
        call->result = json_pack ("{s:s, s:s, s:s}", "status", "unchanged", "path", call->path,
            "content", ARGOS_READS_STUB);
    else if (verdict == ARGOS_READS_REFUSE)
        argos_tool_fail (call, "BLOCKED: You have done exactly that already, and nothing has "
                               "changed. Go on with what stands above.");
    return !call->result;
}

static void
s_fill (argos_toolbox_t *self, job_t *job, const argos_toolset_t *set, const json_t *body,
    const char *root)
{
    argos_tool_call_t *call = &job->call;
    const json_t *tool = argos_toolset_find (set, job->row->name);
    snprintf (job->session, sizeof job->session, "%s",
        json_string_value (json_object_get (body, "session_id")));
    snprintf (job->call_id, sizeof job->call_id, "%s",
        json_string_value (json_object_get (body, "call_id")));
    snprintf (job->root, sizeof job->root, "%s", root);
    argos_places_files (&self->places, job->session, job->files);
    snprintf (job->write_root, sizeof job->write_root, "%s", self->write_root);
    call->session = job->session;
    call->call_id = job->call_id;
    call->root = job->root;
    call->files = *job->files ? job->files : NULL;
    call->write_root = job->write_root;
    call->home = self->places.home;
    call->state = self->places.state;
    call->policy = self->policy;
    call->chars_max = self->chars_max;
    call->private_hosts = json_deep_copy (self->private_hosts);
    call->arguments = json_deep_copy (json_object_get (body, "arguments"));
    argos_toolset_coerce (json_object_get (tool, "parameters"), call->arguments);
    const char *given = argos_tool_text (call, "path");
    bool whole = !given && job->row->work == argos_tool_search_files;
    if (job->row->path && (given || whole) &&
        argos_files_path (job->root, call->home, given ? given : ".", call->path) != 0)
        argos_tool_fail (call, "`path` is empty or too long");
    else if (job->row->path && !given && !whole && job->row->work != argos_tool_patch)
        argos_tool_fail (call, "`path` is missing");
}

static void
s_start (argos_toolbox_t *self, const s_row_t *row, const argos_peer_msg_t *msg,
    const argos_toolset_t *set, const char *root)
{
    job_t *job = calloc (1, sizeof *job);
    if (!job)
        abort ();
    job->box = self;
    job->row = row;
    snprintf (job->from, sizeof job->from, "%s", msg->from);
    snprintf (job->id, sizeof job->id, "%s", msg->id);
    DL_APPEND (self->jobs, job);
    self->job_count++;
    s_fill (self, job, set, msg->body, root);
    if (self->job_count > JOBS_MAX)
        argos_tool_fail (&job->call, "Too many tools are at work. Try it again.");
    if (!job->call.failed && s_is_new (self, job) &&
        pthread_create (&job->thread, NULL, s_thread, job) == 0)
        return;
    if (!job->call.result)
        argos_tool_fail (&job->call, "The tool could not be started. Try it again.");
    s_reply (self, job->from, job->id, json_incref (job->call.result), job->call.failed);
    s_job_free (self, job);
}

bool
argos_toolbox_take (argos_toolbox_t *self, const argos_peer_msg_t *msg, const argos_toolset_t *set,
    const char *root)
{
    const char *name = json_string_value (json_object_get (msg->body, "name"));
    for (size_t i = 0; name && i < ROWS; i++)
        if (strcmp (s_rows[i].name, name) == 0) {
            s_start (self, &s_rows[i], msg, set, root);
            return true;
        }
    return false;
}

bool
argos_toolbox_cancel (argos_toolbox_t *self, const char *from, const char *id)
{
    job_t *job;
    DL_FOREACH (self->jobs, job)
        if (!job->quiet && strcmp (job->id, id) == 0 && strcmp (job->from, from) == 0) {
            atomic_store (&job->call.stop, true);
            job->quiet = true;
            argos_peer_reply_to (argos_shell_peer (self->shell), from, id, "tool.result",
                json_pack ("{s:s, s:s, s:s}", "output", "", "error", "stopped by the user",
                    "status", "interrupted"));
            return true;
        }
    return false;
}

//  ------------------------------------------------------------------------------------------------

void
argos_toolbox_settings (argos_toolbox_t *self, const json_t *settings)
{
    const char *root = argos_setting_text (settings, NULL, NULL, "tools.files.write_root");
    int64_t chars = argos_setting_int (settings, NULL, NULL, "tools.files.read_max");
    free (self->write_root);
    self->write_root = strdup (root ? root : "");
    self->chars_max = chars > 0 ? (size_t) chars : CHARS_MAX;
    json_decref (self->private_hosts);
    self->private_hosts =
        json_deep_copy (argos_setting (settings, NULL, NULL, "tools.web.private_hosts"));
    const char *folders = argos_setting_text (settings, NULL, NULL, "tools.root");
    free (self->places.root);
    self->places.root = folders && *folders ? strdup (folders) : NULL;
    if (!self->write_root)
        abort ();
}

const argos_places_t *
argos_toolbox_places (const argos_toolbox_t *self)
{
    return &self->places;
}

argos_toolbox_t *
argos_toolbox_new (argos_shell_t *shell, const argos_toolbox_config_t *config)
{
    argos_toolbox_t *self = calloc (1, sizeof *self);
    if (!self)
        abort ();
    self->shell = shell;
    self->policy = config->policy;
    self->places.home = strdup (config->home);
    self->places.state = config->state ? strdup (config->state) : NULL;
    self->places.files = config->files ? strdup (config->files) : NULL;
    self->write_root = strdup ("");
    self->chars_max = CHARS_MAX;
    pthread_mutex_init (&self->mutex, NULL);
    self->event = eventfd (0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (self->event < 0) {
        argos_toolbox_destroy (&self);
        return NULL;
    }
    argos_shell_fd (shell, self->event, s_on_done, self);
    for (size_t i = 0; i < ROWS; i++) {
        char service[64];
        snprintf (service, sizeof service, "tool.%s", s_rows[i].name);
        argos_claim_serve (argos_shell_peer (shell), service, config->node, s_rows[i].slots);
    }
    return self;
}

void
argos_toolbox_destroy (argos_toolbox_t **self_p)
{
    if (!self_p || !*self_p)
        return;
    argos_toolbox_t *self = *self_p;
    job_t *job, *next;
    DL_FOREACH (self->jobs, job)
        atomic_store (&job->call.stop, true);
    DL_FOREACH_SAFE (self->jobs, job, next) {
        pthread_join (job->thread, NULL);
        s_job_free (self, job);
    }
    while (self->tasks)
        s_task_free (self, self->tasks);
    if (self->event >= 0) {
        argos_shell_fd (self->shell, self->event, NULL, NULL);
        close (self->event);
    }
    pthread_mutex_destroy (&self->mutex);
    free (self->places.home);
    free (self->places.state);
    free (self->places.files);
    free (self->places.root);
    json_decref (self->private_hosts);
    free (self->write_root);
    free (self);
    *self_p = NULL;
}
