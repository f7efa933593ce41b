//  argos_turn - the states of one turn, as a table.
//
//  Pure. The agent raises events and does what the action says; nothing else changes the state.
//
//  A turn loads the transcript, calls the provider, runs tools, and ends with `done`. One that
//  waits for people parks: it is OVER here, and goes on from LOADING with the next lease. A stop
//  goes from any state through LISTING (what else is queued), CLEARING (cancel that) to STOPPING.

#ifndef ARGOS_TURN_H
#define ARGOS_TURN_H

typedef enum {
    ARGOS_TURN_LOADING,     //  Pages of the transcript are on their way
    ARGOS_TURN_OPENING,     //  A commit before the provider call: restarted, unknown results
    ARGOS_TURN_WAITING,     //  The provider has the request
    ARGOS_TURN_STREAMING,   //  The answer comes in
    ARGOS_TURN_BACKOFF,     //  In the timer heap until the next provider call
    ARGOS_TURN_COMPRESSING, //  A model sums up the conversation
    ARGOS_TURN_COMPACTING,  //  The commit that replaces the transcript
    ARGOS_TURN_DECIDING,    //  What of the calls is allowed, and what is to be asked
    ARGOS_TURN_CALLING,     //  The commit that records the tool calls
    ARGOS_TURN_TOOLING,     //  Tools are at work
    ARGOS_TURN_STORING,     //  The commit of results; other tools may be at work
    ARGOS_TURN_FINISHING,   //  The done of a completed or failed turn
    ARGOS_TURN_MAILING,     //  That done was refused: a side message is on its way to us
    ARGOS_TURN_LISTING,     //  Stopped; the list of the lane is on its way
    ARGOS_TURN_CLEARING,    //  Stopped; the commit that cancels queued runs
    ARGOS_TURN_STOPPING,    //  Stopped; the done
    ARGOS_TURN_PAUSING,     //  That done was refused: another side message is on its way to us
    ARGOS_TURN_OVER,        //  In no list; the lease is gone
    ARGOS_TURN_STATES       //  How many
} argos_turn_state_t;

typedef enum {
    ARGOS_TURN_LOADED,         //  The transcript is here
    ARGOS_TURN_LOADED_OPEN,    //  The same, and there is something to commit first
    ARGOS_TURN_LOADED_TOOLS,   //  The same, and calls of it wait for people
    ARGOS_TURN_ACCEPTED,       //  The commit or done in flight was accepted
    ARGOS_TURN_ACCEPTED_TOOLS, //  The same, and calls wait for people
    ARGOS_TURN_MAIL,           //  The done was refused: unseen mail
    ARGOS_TURN_REFUSED,        //  It was refused for another reason, or a list could not be read
    ARGOS_TURN_REFUSED_AGAIN,  //  The same, not for the first time
    ARGOS_TURN_PAUSE,          //  It can't be done now (disk full, store silent)
    ARGOS_TURN_DATA,           //  First piece of the answer
    ARGOS_TURN_TEXT,           //  The answer is final text
    ARGOS_TURN_TOOLS,          //  The answer asks for tools
    ARGOS_TURN_COMPRESS,       //  The conversation has to be smaller
    ARGOS_TURN_SUMMARY,        //  The summary is here
    ARGOS_TURN_SKIP,           //  It stays as it is
    ARGOS_TURN_DECIDED,        //  It is known what becomes of each call
    ARGOS_TURN_RETRY,          //  The call failed and is worth a repeat
    ARGOS_TURN_FAIL,           //  It failed for good
    ARGOS_TURN_HOLD,           //  No outside effect may begin now
    ARGOS_TURN_TIMER,          //  The wait is over
    ARGOS_TURN_TIMER_OPEN,     //  The same, and readers must be told to drop text first
    ARGOS_TURN_RESULT,         //  A tool has answered
    ARGOS_TURN_STORED_ALL,     //  All results are stored
    ARGOS_TURN_PARK,           //  Nothing is left to do until somebody answers
    ARGOS_TURN_STOP,           //  Stop this turn
    ARGOS_TURN_LISTED,         //  Nothing (more) is to be cancelled
    ARGOS_TURN_LISTED_MORE,    //  Queued runs are to be cancelled
    ARGOS_TURN_CLEAR,          //  The awaited mail was for another run and is settled
    ARGOS_TURN_LOST,           //  The lease is gone
    ARGOS_TURN_EVENTS          //  How many
} argos_turn_event_t;

typedef enum {
    ARGOS_TURN_IGNORE,      //  The event means nothing here; the state stays
    ARGOS_TURN_NOTE,        //  Nothing to do beyond the change of state
    ARGOS_TURN_DO_OPEN,     //  Commit what comes before the call
    ARGOS_TURN_DO_CALL,     //  Call the provider
    ARGOS_TURN_DO_ARM,      //  Set the timer of the backoff
    ARGOS_TURN_DO_COMPRESS, //  Ask for a summary
    ARGOS_TURN_DO_COMPACT,  //  Commit the smaller conversation
    ARGOS_TURN_DO_DECIDE,   //  See which of the tool calls may run
    ARGOS_TURN_DO_CALLS,    //  Commit the assistant message with its tool calls
    ARGOS_TURN_DO_RUN,      //  Send the tool calls
    ARGOS_TURN_DO_STORE,    //  Commit the results that are here
    ARGOS_TURN_DO_CHECK,    //  See whether more results are to be stored
    ARGOS_TURN_DO_FINISH,   //  Send the done
    ARGOS_TURN_DO_AWAIT,    //  See whether the mail is here already
    ARGOS_TURN_DO_HALT,     //  Abort the call, cancel tools, then list
    ARGOS_TURN_DO_LIST,     //  Read the list of the lane
    ARGOS_TURN_DO_CANCEL,   //  Commit the end of queued runs
    ARGOS_TURN_DO_STOP,     //  Send the done of a stopped turn
    ARGOS_TURN_DO_RELOAD,   //  Begin anew with fresh state
    ARGOS_TURN_DO_REJECT,   //  Give the message up
    ARGOS_TURN_DO_PARK,     //  Give the lease back until somebody answers
    ARGOS_TURN_DO_RELEASE,  //  Give the lease back for now
    ARGOS_TURN_DO_FREE,     //  Abort everything and forget the turn
    ARGOS_TURN_ACTIONS      //  How many
} argos_turn_action_t;

//  Moves *state by the event and says what to do.
argos_turn_action_t argos_turn_step (argos_turn_state_t *state, argos_turn_event_t event);

//  Whether a commit or done is in flight in this state.
int argos_turn_commits (argos_turn_state_t state);

//  Names for logs and documents; static.
const char *argos_turn_state_name (argos_turn_state_t state);
const char *argos_turn_event_name (argos_turn_event_t event);
const char *argos_turn_action_name (argos_turn_action_t action);

#endif
