//  argos_agent_state - the structs that the files of the agent share. Not for users.
//
//  One thread. A turn lives from its lease until its state is OVER and no answer that names it is
//  outstanding (refs). Everything that comes back late is told by the epoch: it grows when the turn
//  changes its mind (stop, reload), and what was asked before does not move it any more.

#ifndef ARGOS_AGENT_STATE_H
#define ARGOS_AGENT_STATE_H

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
#define AGENT_PHOTO_EDGE 2048 //  Pixels of a photo that was made smaller; models see no more
#define AGENT_PHOTO_MAX 3932160 //  Bytes of an image: 5 MiB in base64, which is what providers take

typedef struct agent agent_t;
typedef struct turn turn_t;
typedef struct title title_t;
typedef struct note note_t;
typedef struct shrinker shrinker_t;

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
    char dropped[65];                 //  Tool of a call that broke off in the newest attempt, ""
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
    shrinker_t *shrinker;            //  Makes photos smaller; NULL = there was none yet
    json_t *futile;                  //  {session: when it may be made smaller by itself again}
    json_t *photos;                  //  {blob: its smaller one, or words}, the oldest first
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

#endif
