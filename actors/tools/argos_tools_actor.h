//  argos_tools_actor - the local tools, as services of the broker: the shell, and files of the
//  store.
//
//  Serves: `tool.terminal`, requests, 32 at a time: tool.call -> tool.result; tool.cancel (re = the
//  call) kills its command
//          Arguments: command; timeout (seconds, at most 600, default 180; the request's timeout_ms
//          wins); workdir
//          `tool.attachment`, likewise, 8 at a time. Arguments: blob; name. Brings the file into
//          <files>/<session>; the result is its path and, of a text, its beginning (argos_fetch)
//          `tool.read_file`, `tool.write_file`, `tool.patch`, `tool.search_files`,
//          `tool.web_extract`: argos_toolbox; `tool.todo`, `tool.memory`,
//          `tool.session_search`, `tool.send_message`: argos_asks
//          `tools`, requests: tool.offer of other peers (argos_offers), task.home (argos_claim)
//          `tool.files`, messages: file.send (argos_sendfile)
//          Those that work with this host also as `tool.<name>@<node>`: for the tasks at home here
//  Pipe:   READY once the service is declared; FAILED reason. When the actor ends, all its commands
//  are killed. Owner:  the supervisor. The program has to call argos_guard_main when its first
//  argument is ARGOS_GUARD_OPTION.
//
//  A requester that waits no longer (its deadline has passed) leaves its command to the command's
//  own timeout.

#ifndef ARGOS_TOOLS_ACTOR_H
#define ARGOS_TOOLS_ACTOR_H

#include "argos_link.h"

#include <czmq.h>
#include <jansson.h>

typedef struct {
    argos_link_t link; //  To the broker; copied before READY
    const char
        *workdir; //  Where commands run that name no place; NULL or "" = the home directory; copied
    int64_t
        timeout_ms; //  Of commands that state none; more than 600 s raises what may be stated, too
    size_t output_max;      //  Bytes of output of one command
    const char *files;      //  Folder for files of the store, absolute; NULL = not served; copied
    const char *state;      //  Folder of Argos, absolute; NULL = not known; copied
    const json_t *settings; //  The whole snapshot; NULL = what follows from nothing; read at start
} argos_tools_config_t;

//  The actor; config is an argos_tools_config_t.
void argos_tools_actor (zsock_t *pipe, void *config);

#endif
