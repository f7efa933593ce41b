//  argos-job_tree - all that descends from argos-job: counted, signalled, ended.
//
//  Invariant: a signal goes only to a process that was a descendant of ours when its descriptor was
//  open: the descriptor is taken first, then its parent is seen to be still the one that led us
//  there. A number that was given to somebody else meanwhile has another parent.
//  Limit: TREE_MAX processes a walk; who has more is walked again after those are dead.

#include "argos-job_priv.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

#define TREE_MAX 4096 //  Processes of one walk

typedef struct {
    pid_t pid;      //  Process
    pid_t parent;   //  Who led us there
    uint64_t start; //  When it began
} member_t;

typedef struct {
    member_t list[TREE_MAX]; //  Parents before their children
    size_t count;            //  How many
} tree_t;

//  Parent and start time of a process out of /proc; false = there is none, or it is dead already.

static bool
s_stat (pid_t pid, pid_t *ret_parent, uint64_t *ret_start)
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
    char *rest = strrchr (text, ')');
    if (!rest || strlen (rest) < 5)
        return false;
    char state = rest[2];
    *ret_parent = (pid_t) strtol (rest + 4, NULL, 10);
    for (int field = 2; rest && field < 22; field++)
        rest = strchr (rest + 1, ' ');
    if (!rest)
        return false;
    *ret_start = strtoull (rest + 1, NULL, 10);
    return state != 'Z' && state != 'X';
}

uint64_t
job_tree_start (pid_t pid)
{
    pid_t parent;
    uint64_t start;
    return s_stat (pid, &parent, &start) ? start : 0;
}

//  Adds the children of one thread.

static void
s_add_children (tree_t *tree, pid_t parent, const char *thread)
{
    char path[320], word[16];
    snprintf (path, sizeof path, "/proc/%d/task/%s/children", (int) parent, thread);
    FILE *file = fopen (path, "re");
    while (file && tree->count < TREE_MAX && fscanf (file, "%15s", word) == 1) {
        member_t *member = &tree->list[tree->count];
        member->pid = (pid_t) strtol (word, NULL, 10);
        pid_t now;
        if (s_stat (member->pid, &now, &member->start) && now == parent) {
            member->parent = parent;
            tree->count++;
        }
    }
    if (file)
        fclose (file);
}

//  Adds the children of all threads of a process.

static void
s_add_process (tree_t *tree, pid_t parent)
{
    char path[64];
    snprintf (path, sizeof path, "/proc/%d/task", (int) parent);
    DIR *folder = opendir (path);
    const struct dirent *entry;
    while (folder && (entry = readdir (folder)))
        if (entry->d_name[0] != '.')
            s_add_children (tree, parent, entry->d_name);
    if (folder)
        closedir (folder);
}

static tree_t *
s_walk (void)
{
    static tree_t tree;
    tree.count = 0;
    s_add_process (&tree, getpid ());
    for (size_t i = 0; i < tree.count; i++)
        s_add_process (&tree, tree.list[i].pid);
    return &tree;
}

static void
s_signal (const member_t *member, int number)
{
    pid_t parent;
    uint64_t start;
    int fd = pidfd_open (member->pid, 0);
    if (fd < 0)
        return;
    //  Who lost its parent meanwhile is our child now, and met again by the next walk
    if (s_stat (member->pid, &parent, &start) && start == member->start &&
        (parent == member->parent || parent == getpid ()))
        pidfd_send_signal (fd, number, NULL, 0);
    close (fd);
}

size_t
job_tree_signal (int number)
{
    const tree_t *tree = s_walk ();
    for (size_t i = 0; i < tree->count; i++)
        s_signal (&tree->list[i], number);
    return tree->count;
}

size_t
job_tree_list (pid_t *pids)
{
    const tree_t *tree = s_walk ();
    size_t count = tree->count < JOB_PIDS_MAX ? tree->count : JOB_PIDS_MAX;
    for (size_t i = 0; i < count; i++)
        pids[i] = tree->list[i].pid;
    return count;
}
