//  argos_tools_priv - the structs that the files of the tools actor share. Not for users.

#ifndef ARGOS_TOOLS_PRIV_H
#define ARGOS_TOOLS_PRIV_H

#include "argos_fetch.h"
#include "argos_node.h"
#include "argos_registry.h"
#include "argos_sendfile.h"
#include "argos_shell.h"
#include "argos_terminal.h"
#include "argos_toolbox.h"

#include <czmq.h>

#define TOOLS_NAME "tools"

typedef struct call call_t;
typedef struct tools tools_t;

struct call {
    tools_t *tools;                //  Whose
    argos_terminal_t *terminal;    //  Its command, or NULL
    argos_fetch_t *fetch;          //  Its file, or NULL
    char *command;                 //  As it was asked for, or NULL
    char session[257];             //  For whom it runs
    char from[ARGOS_NAME_MAX + 1]; //  Who asked
    char id[ARGOS_ID_MAX + 1];     //  With which id
    call_t *prev, *next;           //  In the list
};

struct tools {
    zsock_t *pipe;                   //  Command pipe to our owner
    argos_shell_t *shell;            //  The loop
    int epoll_fd;                    //  All descriptors of all commands
    call_t *calls;                   //  Under way
    int count;                       //  How many
    char *workdir;                   //  Where commands run that name no place, NULL = home
    int64_t timeout_ms;              //  Of commands that state none
    size_t output_max;               //  Bytes of output of one command
    char *files;                     //  Folder for files of the store, NULL = that is not served
    char node[ARGOS_NODE_SIZE];      //  Where we are
    char *state;                     //  Folder of Argos, NULL = not known
    argos_registry_t *registry;      //  The tools that are offered
    argos_approval_policy_t *policy; //  What is never run, read or written
    argos_toolbox_t *box;            //  Tools for files and the web
    argos_sendfile_t *sendfile;      //  Files that go out, NULL = that is not served
    bool ready;                      //  READY has been said
    bool stopping;                   //  The peer is going away: send nothing more
};

//  argos_tools_calls.c
//  A request tool.call, and the word that its answer is not waited for.
void tools_call (tools_t *self, const argos_peer_msg_t *msg);
void tools_cancel (tools_t *self, const argos_peer_msg_t *msg);
//  Something of a command is readable.
void tools_on_events (void *arg);
//  Set the timer to the earliest deadline of all commands.
void tools_set_timer (tools_t *self);
void tools_call_destroy (tools_t *self, call_t **call_p);
//  Answer a call that was not begun.
void tools_refuse (tools_t *self, const argos_peer_msg_t *msg, const char *reason);

#endif
