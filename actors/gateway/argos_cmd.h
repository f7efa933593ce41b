//  argos_cmd - the handlers of the slash commands, and what they share. Pure.
//
//  A handler adds to parts what changes the rows and what answers; it may add nothing. arguments is
//  never NULL.

#ifndef ARGOS_CMD_H
#define ARGOS_CMD_H

#include "argos_gateway.h"

#define ARGOS_CMD_KEY_SIZE ARGOS_ROUTE_RECORD_SIZE
#define ARGOS_CMD_OWNER_SIZE 513   //  Bytes of an owner of sessions, terminated
#define ARGOS_CMD_SESSIONS 10      //  Sessions of a list
#define ARGOS_CMD_PREVIEW_SIZE 256 //  Bytes of a preview, terminated

typedef void (argos_cmd_fn) (
    const argos_gateway_case_t *gateway, const char *arguments, json_t *parts);

//  argos_cmd_session.c
argos_cmd_fn argos_cmd_new, argos_cmd_resume, argos_cmd_sessions, argos_cmd_title, argos_cmd_branch;

//  argos_cmd_turn.c
argos_cmd_fn argos_cmd_retry, argos_cmd_undo, argos_cmd_compress, argos_cmd_stop, argos_cmd_queue,
    argos_cmd_plan, argos_cmd_steer;

//  argos_asked.c
argos_cmd_fn argos_cmd_approve, argos_cmd_deny;

//  argos_cmd_info.c
argos_cmd_fn argos_cmd_start, argos_cmd_status, argos_cmd_whoami, argos_cmd_usage, argos_cmd_agents,
    argos_cmd_help, argos_cmd_commands, argos_cmd_version;

//  argos_cmd_config.c
argos_cmd_fn argos_cmd_model, argos_cmd_reasoning, argos_cmd_verbose, argos_cmd_yolo,
    argos_cmd_sethome, argos_cmd_restart;

//  ------------------------------------------------------------------------------------------------
//  What they share (argos_cmd.c)

//  Answer the chat that the message came from; a run of the API fails with the words: there, only
//  what can't be done is said.
void argos_cmd_say (const argos_gateway_case_t *gateway, json_t *parts, const char *format, ...)
    __attribute__ ((format (printf, 3, 4)));

//  Turns of the session that run (*ret_running) and wait (*ret_queued); side messages are no turns.
void argos_cmd_count (const argos_gateway_case_t *gateway, int *ret_running, int *ret_queued);

//  Expect that nothing runs or waits in the session.
void argos_cmd_expect_idle (const char *session, json_t *parts);

//  An id that depends on the message, behind prefix, to target (64 bytes).
void argos_cmd_id (const argos_gateway_case_t *gateway, const char *prefix, char *target);

//  Whose the sessions of this source are, as the store names it: platform, account and who speaks,
//  or the chat.
void argos_cmd_owner (const argos_gateway_case_t *gateway, char *target);

//  Key of the records of this chat: that of its route, or a hash of it; ARGOS_CMD_KEY_SIZE bytes.
void argos_cmd_key (const argos_gateway_case_t *gateway, char *target);

//  The session of the route as it was read, NULL = there is none, or it has ended. Borrowed.
const json_t *argos_cmd_session (const argos_gateway_case_t *gateway);

//  The settings of this chat, of which those of a session count for that session only: a member,
//  NULL = not set. Borrowed.
const json_t *argos_cmd_setting (const argos_gateway_case_t *gateway, const char *name);

//  Set a member of the settings (stolen; NULL takes it out). of_session: it is forgotten with the
//  session.
void argos_cmd_setting_put (const argos_gateway_case_t *gateway, json_t *parts, const char *name,
    json_t *value, bool of_session);

//  The first 60 characters of a text on one line, and `...` when there are more;
//  ARGOS_CMD_PREVIEW_SIZE bytes.
void argos_cmd_preview (const char *text, char *target);

//  Characters (code points) of a text.
size_t argos_cmd_length (const char *text);

//  A whole number at the beginning of a text and nothing behind it; -1 = it is none.
int argos_cmd_number (const char *text);

//  ------------------------------------------------------------------------------------------------
//  What they ask (argos_cmd_ask.c): bodies of the facts, see argos_fact.h

typedef json_t *(argos_cmd_ask_fn) (const argos_gateway_case_t *gateway);

argos_cmd_ask_fn argos_cmd_ask_question, argos_cmd_ask_setting, argos_cmd_ask_list,
    argos_cmd_ask_resolve, argos_cmd_ask_lineage, argos_cmd_ask_target, argos_cmd_ask_title,
    argos_cmd_ask_said, argos_cmd_ask_usage, argos_cmd_ask_runs, argos_cmd_ask_search;

//  The hits of a search and of the one that went on where it was cut off, new. *ret_more: there is
//  another one to be made.
json_t *argos_cmd_search_join (const json_t *before, json_t *answer, bool *ret_more);

#endif
