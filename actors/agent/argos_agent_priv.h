//  argos_agent_priv - the structs that the files of the agent share. Not for users.
//
//  One thread. A turn lives from its lease until its state is OVER and no answer that names it is
//  outstanding (refs). Everything that comes back late is told by the epoch: it grows when the turn
//  changes its mind (stop, reload), and what was asked before does not move it any more.

#ifndef ARGOS_AGENT_PRIV_H
#define ARGOS_AGENT_PRIV_H

#include "argos_agent_actor.h"
#include "argos_approval.h"
#include "argos_delta.h"
#include "argos_due.h"
#include "argos_node.h"
#include "argos_registry.h"
#include "argos_setting.h"
#include "argos_shell.h"
#include "argos_turn.h"

#define AGENT_MAILS_MAX 60      //  Side messages of one turn; more stay in the lane
#define AGENT_STEERS_MAX 8      //  Texts for the running turn that are at hand; more stay there
#define AGENT_ANSWERS_MAX 16    //  Answers of people that are at hand; more stay in the lane
#define AGENT_CLEAR_MAX 16      //  Queued runs cancelled by one commit, four parts each
#define AGENT_RESULT_MAX 4      //  Tool results stored by one commit
#define AGENT_OUTPUT_MAX 100000 //  Bytes of a tool's output that the model gets
#define AGENT_USER_MAX 131072 //  Bytes of a user message that is not stored by a commit of its own

typedef struct agent agent_t;
typedef struct turn turn_t;
typedef struct title title_t;
typedef struct note note_t;

typedef enum {
    JOB_NONE,    //  Nothing
    JOB_OPEN,    //  turn.restarted, results that are unknown, a long user message
    JOB_CALLS,   //  The assistant's message with its tool calls
    JOB_COMPACT, //  The smaller conversation
    JOB_RESULTS, //  Tool results
    JOB_FINISH,  //  done: completed or failed
    JOB_CLEAR,   //  Queued runs are cancelled
    JOB_STOP,    //  done: cancelled
    JOB_SIDE     //  A stop for another run, beside the turn
} job_t;

//  A side message of our lane, not taken yet

typedef struct {
    int64_t seq;      //  Its place in the lane
    char run_id[37];  //  The run to be stopped, "" = all that is older
    char reason[257]; //  For people
    bool end;         //  session.end
    bool quiet;       //  Nobody is to be told
    bool own;         //  It stops this turn
    bool taking;      //  In the commit in flight
    bool left;        //  Could not be taken now; it will be a head of its own
} mail_t;

//  What the user says to the running turn: a turn.request that is a side message

typedef struct {
    int64_t seq;  //  Its place in the lane
    json_t *body; //  Its body
    bool storing; //  In the commit in flight
} steer_t;

//  An answer of people to a question: a question.answer in our lane

typedef struct {
    int64_t seq;  //  Its place in the lane
    json_t *body; //  Its body
    bool taking;  //  In the commit in flight
    bool used;    //  The call knows it
} reply_t;

//  A tool call of the newest answer

typedef struct {
    char id[129];         //  Call id
    char name[65];        //  Tool
    json_t *arguments;    //  Object
    char request_id[96];  //  Id of the tool.call
    char to[96];          //  Address that it was sent to
    int64_t started_ms;   //  When it was sent
    double seconds;       //  How long it took
    json_t *result;       //  Body of tool.result, or ours; NULL = none yet
    bool known;           //  We offer that tool
    bool broken;          //  Its arguments were no JSON
    bool sent;            //  tool.call has been sent
    bool storing, stored; //  Its result is in the commit in flight; is stored
    json_t *question;     //  What is asked of people, as its record is to be; NULL = nothing
    json_t *batch;   //  Turns of others whose ends are its result, as their record; NULL = none
    bool moved;      //  It is another one than its record
    json_t *verdict; //  The same with what became of it; NULL = nothing yet
    int64_t version; //  Of its record as it was read, 0 = not read
    bool denied;     //  We have refused it before it began
    bool weighed;    //  A model has been asked about it
    argos_approval_verdict_t opinion; //  What that has said
    bool taken;    //  Somebody has answered; the answer itself is on its way to us
    bool allowed;  //  It was asked for, and may be run
    bool settling; //  What became of it is in the commit in flight
    bool settled;  //  That is stored
} tool_t;

//  A provider of the agent: the first one, or one that stands in for it

typedef struct {
    argos_provider_settings_t settings; //  Who that is
    argos_provider_t *provider;         //  NULL when it has a problem
    int64_t cold_ms;                    //  Not tried first before that, monotonic msec
    int cold_times;                     //  How often in a row it had to cool down
    char blind[129];                    //  Model that takes no images, "" = not known
} back_t;

#define AGENT_BACKS_MAX (1 + ARGOS_FALLBACKS_MAX) //  Providers

struct turn {
    agent_t *agent;                      //  Whose
    turn_t *prev, *next;                 //  In the agent's list
    argos_lease_t *lease;                //  NULL once it is gone
    argos_due_node_t due;                //  Next delta, or end of the backoff
    argos_due_node_t watch;              //  When it may have been idle for too long
    int64_t active_ms;                   //  When something has happened last, monotonic
    int64_t begun_ms;                    //  When this lease began, monotonic
    int64_t seq, attempt;                //  Of the lease
    json_t *body;                        //  turn.request
    json_t *settings;                    //  Settings that it began with
    json_t *prompt;                      //  Frozen: {system, tools}; NULL = not built yet
    json_t *chosen;                      //  Tools of the newest call, with tools.retrieval
    int64_t stored_rows, flying_rows;    //  Of the session: now; after the commit in flight. -1 = ?
    json_t *user;                        //  What the user says: its text, and a note for each file
    json_t *images;                      //  {blob: data URL, or words in place of it}
    json_t *fetching;                    //  Blobs to be fetched, the next one last; NULL = none
    argos_turn_event_t fetched;          //  What is told to the turn when they are here
    int64_t image_bytes;                 //  Of the images
    json_t *rows;                        //  Conversation for the next call
    int64_t load_after;                  //  Last row that was loaded
    json_t *open;                        //  {id: call} of this run without a result, at the start
    json_t *grants;                      //  Patterns that are allowed; NULL = not read yet
    size_t finding;                      //  Records that are on their way
    json_t *unknown;                     //  Tool rows that say that an outcome is unknown
    argos_call_t *call;                  //  Provider call in flight
    const argos_answer_t *answer;        //  Its answer so far; borrowed while call is set
    argos_delta_t delta;                 //  What was published of the segment
    int64_t segment;                     //  Number of the text in the run
    size_t back;                         //  Provider that is asked
    size_t moves;                        //  How often it was changed in this turn
    json_t *smaller;                     //  The conversation made smaller; NULL = not yet
    size_t smaller_from, smaller_to;     //  The rows that are summed up
    int64_t last_input;                  //  Tokens of the newest request, 0 = not told
    char *begun;                         //  Text that the next answer goes on with; NULL = none
    size_t scaffold;                     //  Rows at the end that are not of the transcript
    int64_t input_tokens, output_tokens; //  Usage so far
    int64_t cache_read, cache_write;     //  Of the input
    int64_t reasoning_tokens;            //  Of the output
    double usd;                          //  What that costs, when prices are known
    bool unpriced;                       //  A part of it has no price
    json_t *thought;                     //  {reasoning_content?, _thinking?} of the newest answer
    const char *told;                 //  State that the adapter has been told; static, NULL = none
    char *text;                       //  Text of the newest answer
    const char *finish;               //  Its finish reason; static
    char *error;                      //  Why the turn has failed; NULL = it has not
    tool_t *tools;                    //  Calls of the newest answer; NULL = never had one
    size_t tool_count;                //  How many
    size_t weighing;                  //  The one that a model is asked about
    int denials;                      //  How often that has said no in this turn
    mail_t *mails;                    //  Side messages; NULL = never had one
    size_t mails_told;                //  How many there were when the last done was sent
    size_t mail_count;                //  How many
    steer_t steers[AGENT_STEERS_MAX]; //  Texts for this turn, not taken yet
    size_t steer_count;               //  How many
    reply_t replies[AGENT_ANSWERS_MAX]; //  Answers of people, not taken yet
    size_t reply_count;                 //  How many
    size_t sides;                    //  Side messages of this lease that are no stop and not taken
    size_t steers_seen, steers_told; //  The same, taken or not; when the last done was sent
    json_t *queued;                  //  Messages of the lane to be cancelled by the next commit
    argos_turn_state_t state;        //  See argos_turn.h
    unsigned epoch;                  //  See above
    unsigned refs;                   //  Outstanding answers that name this turn
    int refusals;                    //  Refused commits
    unsigned adjust;                 //  What is left out of requests, ARGOS_ADJUST_*
    int repeats;                     //  Repeats of this call, of one provider
    int compressions;                //  How often the conversation was made smaller
    int continued;                   //  Continuations of this text
    int nudges;                      //  Words to a model that has said nothing
    int strikes;                     //  Answers in a row that called only tools that there are not
    int iterations;                  //  Calls that gave an answer
    job_t flying_last;               //  The done that was accepted, JOB_NONE = none yet
    job_t want;                      //  Commit to be sent next
    job_t flying;                    //  Commit in flight
    unsigned flying_epoch;           //  Epoch of the commit in flight
    bool warned;                     //  The chat has been told that it takes long
    bool wanted;                     //  The cache has to be told the prompt
    bool resumed;                    //  There was an attempt before: say turn.restarted
    bool effects;                    //  An outside effect has begun
    bool own_rows;                   //  The transcript had rows of this run
    bool user_stored;                //  The user's message is in the transcript
    bool shown;                      //  Text of this call has been published
    bool calls_stored;               //  The calls are in the transcript
    bool side_listing;               //  The list for a side job is on its way
    bool side_ready;                 //  A side job may be sent
    bool find_failed;                //  A record of the open calls was not read
    bool compact;                    //  No turn: the conversation is to be made smaller
    bool preflight;                  //  It is made smaller before anything has failed
    bool recalled;                   //  A call that was cut off has been asked for again
    char session[257], run_id[37];   //  Ids; run_id "" when the head is a stop
    char key[1025];                  //  Lane
    char home[ARGOS_NODE_SIZE];      //  Node of its tools, "" = not known
    argos_err_t homeless;            //  Why it has none, ARGOS_OK = it was not asked for yet
    bool homing;                     //  That is being found out
    char agent_id[33];               //  Ours at the cache, "" = none
};

struct agent {
    char name[ARGOS_NAME_MAX + 1];   //  Ours
    argos_agent_config_t config;     //  Own copy
    zsock_t *pipe;                   //  To the owner
    bool told;                       //  READY has been said
    argos_shell_t *shell;            //  Loop
    argos_peer_t *peer;              //  Its peer
    back_t backs[AGENT_BACKS_MAX];   //  Providers; the first is the configured one
    size_t back_count;               //  How many
    json_t *settings;                //  The newest settings
    argos_approval_policy_t *policy; //  Which calls are dangerous
    argos_registry_t *registry;      //  The tools that there are
    json_t *limited_of, *limited;    //  Such a list, and what is left of it for who is no admin
    json_t *tools;                   //  What is offered to the model
    char cache[ARGOS_NAME_MAX + 8];  //  Address of the cache beside us
    json_t *keys;                    //  Settings that shape a prompt
    json_t *prompt;                  //  As it is built now; NULL = not yet
    json_t *prompt_settings;         //  What it was built of
    char prompt_hash[65];            //  Of it
    argos_due_t due;                 //  Timers of turns
    argos_due_t watch;               //  When which turn may have been idle for too long
    title_t *titles;                 //  Being written
    note_t *notes;                   //  Being written down
    turn_t *turns;                   //  All that are not over
    size_t turn_count;               //  How many
    uint32_t entropy;                //  For the jitter of a backoff
    bool draining;                   //  Nothing new; DRAINED has to be said
    char drain_run[37];              //  A turn that is not waited for, "" = none
};

//  A list of parts under construction

typedef struct {
    argos_peer_part_t parts[64]; //  For the peer; bodies are ours until sent
    char to[64][161];            //  Their addresses
    char id[64][129];            //  Their ids
    char key[64][1025];          //  Their keys
    size_t count;                //  How many
} parts_t;

//  argos_agent_actor.c
void agent_arm (agent_t *self);
//  A turn is over: say DRAINED if that was the last one.
void agent_drained (agent_t *self);

//  argos_agent_turn.c
turn_t *turn_new (agent_t *agent, const argos_peer_msg_t *msg);
void turn_begin (turn_t *self);
void turn_event (turn_t *self, argos_turn_event_t event);
void turn_timer (turn_t *self);
void turn_unref (turn_t *self);
void turn_lost (turn_t *self);
void turn_fail (turn_t *self, const char *sentence);

//  Tell the adapter of the chat how the turn is (queued, running, waiting; static), in passing.
void turn_tell (turn_t *self, const char *state);

//  Tell who looks on (hooks) that the turn has begun or is over, in passing: agent:start,
//  agent:end.
void turn_look (turn_t *self, const char *event);

//  argos_agent_user.c
//  What the user says in this turn.request, as the model gets it; a new string.
json_t *turn_user_new (const json_t *request);

//  argos_agent_images.c
//  Fetches the images that the conversation shows, while the turn is loading; then turn_acquire.
void turn_fetch_images (turn_t *self, argos_turn_event_t event);
//  A stop waits for none of them.
void turn_skip_images (turn_t *self);
//  What the model gets of them in this call, new; for argos_messages_repair.
json_t *turn_images (const turn_t *self);
//  Whether there is one to be shown.
bool turn_has_images (const turn_t *self);

//  argos_agent_load.c
void turn_load (turn_t *self);
//  The questions of the open calls are known.
void turn_found (turn_t *self);
//  All that a turn needs is here: this event, unless it has been stopped meanwhile.
void turn_ready (turn_t *self, argos_turn_event_t event);

//  argos_agent_delegate.c
//  A call of delegate_task: its batch, or a result that says why there is none.
void turn_delegate (turn_t *self, tool_t *tool);
//  The batch of an open call from its record; false when that is none, or used up.
bool delegate_restore (tool_t *tool, const json_t *record);
//  The end of a child (delegate.result); false when it is none of this batch, or is there already.
bool delegate_use (tool_t *tool, const json_t *body);
//  Whether a turn may use a tool, for a child has not all; and the list of its tools, new.
bool delegate_may (const turn_t *self, const char *name);
json_t *delegate_tools_new (const turn_t *self, json_t *told);
//  At the deadline who has not ended counts as that.
void delegate_expire (tool_t *tool, int64_t now);
//  Parts: the children of the calls; what has changed of a batch; the stop of those that are left;
//  the end of a turn that is a child.
void parts_delegate (parts_t *self, const turn_t *turn);
void parts_delegate_settle (parts_t *self, const turn_t *turn, const tool_t *tool);
void parts_delegate_drop (parts_t *self, const turn_t *turn);
void parts_child_over (parts_t *self, const turn_t *turn, const char *state, const char *summary);

//  argos_agent_smart.c
//  Asks a model about a call that people would have to allow; then turn_decide. False when they are
//  to be asked.
bool turn_weigh (turn_t *self, size_t at, const argos_approval_t *judged);

//  argos_agent_grants.c
//  Reads what has been allowed; then turn_decide.
void turn_read_grants (turn_t *self);

//  argos_agent_question.c
//  Which calls of the newest answer are to be asked for; raises DECIDED.
void turn_decide (turn_t *self);
//  Reads the records of what was asked for the open calls; then turn_found.
void turn_find_questions (turn_t *self);
//  An open call that may run once more, because its tool says so, is one again.
bool turn_runs_again (turn_t *self, const json_t *call);
//  A side message that is a question.answer.
void turn_reply (turn_t *self, const argos_peer_msg_t *msg);
//  Gives the answers that are here to the calls that wait for them.
void turn_match_replies (turn_t *self);
//  Which answers the commit of results takes; to takes, how many; and what became of it.
void turn_mark_replies (turn_t *self);
size_t turn_takes_replies (const turn_t *self, bool all, int64_t *takes);
void turn_replies_settled (turn_t *self, bool stored);
void turn_clear_replies (turn_t *self);
//  Whether a call waits for people.
bool tool_waits (const tool_t *tool);
//  Nothing to do but wait for people: parks, or sets the timer.
void turn_wait (turn_t *self);
void turn_park (turn_t *self);
//  What has run out is settled.
void turn_expire (turn_t *self);
//  A deadline may be over.
void turn_wait_over (turn_t *self);

//  argos_agent_cache.c
//  The address of the cache.
void agent_find_cache (agent_t *self);
//  Nothing is mid-turn here: we have just started.
void agent_fresh (agent_t *self);
//  Get the prompt, then tell the turn this event.
void turn_acquire (turn_t *self, argos_turn_event_t event);
//  The turn is over.
void turn_let_go (turn_t *self);
//  Rows of the session when these parts are stored; -1 = not known.
int64_t turn_rows_of (const parts_t *parts, int64_t before);

//  argos_agent_backs.c
//  Makes them; false when the host gives no descriptor.
bool agent_backs_new (agent_t *self);
void agent_backs_destroy (agent_t *self);
//  Serves them; when the first of them is due, -1 = never.
void agent_backs_turn (agent_t *self);
int64_t agent_backs_due (const agent_t *self);
//  The provider that a turn begins with: the first one that has not to cool down.
size_t agent_back_first (const agent_t *self, int64_t now);
//  The one after at; back_count when there is none.
size_t agent_back_next (const agent_t *self, size_t at);
//  It has to cool down; or has answered.
void agent_back_cools (agent_t *self, size_t at, int64_t now);
void agent_back_works (agent_t *self, size_t at);
//  The model that a turn asks of its provider; borrowed.
const char *turn_model (const turn_t *self);
//  That model takes no images; whether that is known.
void turn_is_blind (turn_t *self);
bool turn_knows_blind (const turn_t *self);

//  argos_agent_watch.c
//  Begins to watch a turn; looks at those that may have been idle for too long.
void turn_watch (turn_t *self);
void agent_watch (agent_t *self, int64_t now);

//  argos_agent_title.c
//  The session of a turn that has ended gets a title, beside everything else.
void agent_title (const turn_t *turn);
void agent_titles_clear (agent_t *self);

//  argos_agent_compress.c
//  Whether the conversation should be made smaller before the next call.
bool turn_is_long (const turn_t *self);
//  Asks for the summary; then SUMMARY, TEXT (when that was all), SKIP or FAIL.
void turn_compress (turn_t *self);
//  The commit was accepted.
void turn_compacted (turn_t *self);
void parts_compact (parts_t *self, const turn_t *turn);
void parts_compacted (parts_t *self, const turn_t *turn);

//  argos_agent_ladder.c
//  What to do with an answer that has ended: goes on, asks again, or moves the turn.
void turn_answered (turn_t *self, argos_answer_t *answer, argos_answer_kind_t kind,
    const argos_provider_error_t *error);
//  Rows that only served to get an answer are gone.
void turn_drop_scaffold (turn_t *self);

//  argos_agent_call.c
//  Calls of the model that this turn may make.
int64_t turn_max_iterations (const turn_t *self);
//  Limit of an answer that was asked for, 0 = none was.
int64_t turn_max_tokens (const turn_t *self);
//  The call again, after a while.
void turn_again (turn_t *self, int64_t wait_ms);
void turn_call (turn_t *self);
void turn_arm_backoff (turn_t *self);
void turn_publish (turn_t *self, bool all);
void turn_abort_call (turn_t *self);

//  argos_agent_tools.c
//  Follows the offers of tools; the end of that, behind the end of the peer.
void agent_follow_tools (agent_t *self);
void agent_leave_tools (agent_t *self);
bool agent_tool_known (const agent_t *self, const char *name);
const char *agent_tool_names (const agent_t *self);
//  A flag of a tool: parallel, idempotent, ...; false for one that we don't know.
bool agent_tool_flag (const agent_t *self, const char *name, const char *flag);
//  What this turn offers to the model, borrowed.
json_t *turn_tools (turn_t *self);
//  Makes the arguments fit, and answers a call that this turn may not make.
void turn_check_tool (const turn_t *self, tool_t *tool);

//  argos_agent_home.c
//  Whether a call goes to the home of the task, which is not known yet: then it is found out, and
//  the turn decides or looks at its calls again.
bool turn_needs_home (turn_t *self, const char *name);
//  The address of a tool for this turn; false when its home is not known.
bool turn_tool_address (const turn_t *self, const char *name, char *to, size_t size);
//  What a call without a result tells the model, new.
json_t *turn_tool_refused (const turn_t *self, const char *name, const argos_peer_answer_t *answer);

//  argos_agent_run.c
bool tool_in_order (const turn_t *self, size_t at);
json_t *tool_result (const char *status, const char *error);
void tool_set_result (tool_t *tool, json_t *result);
void turn_take_calls (turn_t *self, const argos_answer_t *answer);
void turn_run_tools (turn_t *self);
void turn_check_results (turn_t *self);
void turn_cancel_tools (turn_t *self, const char *why);
void turn_clear_tools (turn_t *self);
//  Where the next call goes; there is room for ARGOS_ANSWER_CALLS.
tool_t *turn_next_tool (turn_t *self);
json_t *tool_row (const turn_t *self, const tool_t *tool);

//  argos_agent_steer.c
//  A side message that is a turn.request.
void turn_steer (turn_t *self, const argos_peer_msg_t *msg);
//  Which of them the commit of results takes.
void turn_mark_steers (turn_t *self);
//  Their seqs to takes; how many.
size_t turn_takes_steers (const turn_t *self, int64_t *takes);
//  Their row in the transcript, new.
json_t *steer_row (const turn_t *self, const steer_t *steer);
//  The commit that was to take them was accepted or not.
void turn_steers_settled (turn_t *self, bool stored);
void turn_clear_steers (turn_t *self);

//  argos_agent_commit.c
void turn_want (turn_t *self, job_t job);
void turn_pump (turn_t *self);

//  argos_agent_list.c
//  More parts: an operation of the store, an entry of the topic of a run, the end of a run for the
//  adapter of the chat, and a message to that chat (its body without the chat is stolen; false =
//  there is none).
void parts_store (parts_t *self, const char *type, json_t *body);
//  And a message to the lane of a session; a side message is urgent.
void parts_lane (
    parts_t *self, const char *session, const char *type, const char *id, bool side, json_t *body);
void parts_entry (parts_t *self, const char *run_id, const char *type, bool last, json_t *body);
//  The records that a turn.request wants stored with the end of its turn.
void parts_records (parts_t *self, const json_t *request);
//  A durable message to the lane of a session.
void parts_turn (
    parts_t *self, const char *type, const char *id, const char *session, json_t *body);
void parts_over (parts_t *self, const json_t *request, const char *run_id, const char *delivery);
//  Files that a text names, to who has them. Returns whether there is a chat for them.
bool parts_files (parts_t *self, const json_t *request, const char *run_id, json_t *files);
bool parts_chat (parts_t *self, const json_t *request, const char *id, json_t *body);

//  argos_agent_ask.c
//  What is asked together with the calls; what became of questions; the end of those left open.
void parts_ask (parts_t *self, const turn_t *turn);
void parts_settle (parts_t *self, const turn_t *turn);
void parts_drop_questions (parts_t *self, const turn_t *turn);

//  argos_agent_parts.c
void parts_started (parts_t *self, const turn_t *turn, const tool_t *tool);
//  What of a call people get to see, without secrets: its command, or its arguments.
void parts_preview (const tool_t *tool, char *target, size_t size);
//  What of a task's own words is called `name`; absent when the turn is no task. Borrowed.
const char *parts_words (const json_t *request, const char *name, const char *absent);
//  An answer to the chat that the request came from, when it has one; `before` and text together.
void parts_deliver (parts_t *self, const json_t *request, const char *run_id, const char *kind,
    const char *before, const char *text);
void parts_of_job (const turn_t *self, job_t job, parts_t *parts);

//  argos_agent_note.c
//  Writes down a leased session.note.
void agent_note (agent_t *agent, const argos_peer_msg_t *msg);
//  Whether the lease that is lost is one of a note.
bool agent_note_lost (agent_t *agent, const argos_lease_t *lease);

//  argos_agent_reply.c
//  The end of the run for its chat: what it gets of the text.
void parts_answer (parts_t *self, const turn_t *turn, const char *text);

//  argos_agent_short.c
//  What readers get of a result, and of arguments as JSON; new, NULL when there is nothing short.
json_t *parts_short_text (const char *text);
json_t *parts_short_arguments (const json_t *arguments);

//  argos_agent_stop.c
void turn_mail (turn_t *self, const argos_peer_msg_t *msg);
void turn_head_mail (turn_t *self, const argos_peer_msg_t *msg);
void turn_halt (turn_t *self);
void turn_list (turn_t *self);
void turn_await_mail (turn_t *self);
size_t turn_takes (turn_t *self, job_t job, int64_t *takes);
void turn_side (turn_t *self);
void turn_side_settled (turn_t *self, bool accepted);
const mail_t *turn_own_mail (const turn_t *self);

#endif
