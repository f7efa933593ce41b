//  argos_agent_priv - the functions that the files of the agent share, by the file that has them.
//  Not for users.
//
//  All of them run in the agent's one thread; none blocks.

#ifndef ARGOS_AGENT_PRIV_H
#define ARGOS_AGENT_PRIV_H

#include "argos_agent_state.h"
#include "argos_repeats.h"

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
//  The same of calls of tools that have been stored (agent:step), and of a conversation that has
//  been made smaller (session:compress).
void turn_look_step (turn_t *self);
void turn_look_smaller (turn_t *self);

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

//  argos_agent_shrink.c
//  What became of a photo: the smaller one, or the same if it can't be made smaller but is small
//  enough; borrowed. NULL: neither, or it could not be read.
typedef void (agent_photo_fn) (void *arg, const unsigned char *bytes, size_t size);
//  Has a photo made smaller, beside the loop; the descriptor of its file is given away. Of those
//  that wait only that is held.
void agent_shrink (agent_t *self, int fd, size_t size, agent_photo_fn *fn, void *arg);
//  Waits for the one at work and tells all; before the end of the shell.
void agent_shrink_end (agent_t *self);

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
//  The call, as argos_repeats looks at it; borrowed.
argos_repeats_call_t turn_repeats (const turn_t *self, const tool_t *tool);

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
