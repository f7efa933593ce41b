//  argos_dc_gateway - the states of a connection to Discord's gateway, as a table. Pure.
//
//  The shell (argos_discord_socket) says what has happened and does what comes back, in the order
//  of the bits.

#ifndef ARGOS_DC_GATEWAY_H
#define ARGOS_DC_GATEWAY_H

typedef enum {
    DC_ASKING,      //  GET /gateway/bot is under way
    DC_OPENING,     //  The socket is being opened
    DC_GREETING,    //  Open; op 10 is to come
    DC_IDENTIFYING, //  op 2 was sent; READY is to come
    DC_RESUMING,    //  op 6 was sent; RESUMED is to come
    DC_LIVE,        //  Events come
    DC_PAUSED,      //  The next try has a time
    DC_STOPPED,     //  It can't work until somebody changes something
    DC_STATES       //  How many
} dc_state_t;

typedef enum {
    DC_BEGIN_NEW,    //  Begin; there is no session
    DC_BEGIN_OLD,    //  Begin; there is a session to resume
    DC_ASKED,        //  The address of the gateway is known
    DC_ASK_FAILED,   //  It is not
    DC_ASK_REFUSED,  //  The token is no good
    DC_OPEN,         //  The socket is open
    DC_HELLO_NEW,    //  op 10; there is no session
    DC_HELLO_OLD,    //  op 10; there is one
    DC_READY,        //  Dispatch READY
    DC_RESUMED,      //  Dispatch RESUMED
    DC_RECONNECT,    //  op 7
    DC_INVALID,      //  op 9, not to be resumed
    DC_INVALID_OLD,  //  op 9, may be resumed
    DC_CUT,          //  Closed; the session can be resumed
    DC_CUT_NEW,      //  Closed; the session is over
    DC_CUT_LATER,    //  Closed: too much was sent
    DC_CUT_FOR_GOOD, //  Closed: the token, the intents, the version
    DC_SILENT,       //  No answer to a heartbeat, no event for long, or a deadline passed
    DC_EVENTS        //  How many
} dc_event_t;

//  What the shell does, in this order

enum {
    DC_DO_FORGET = 1 << 0,   //  The session is over
    DC_DO_LEAVE = 1 << 1,    //  Drop the socket, closing it by a code that keeps the session
    DC_DO_ASK = 1 << 2,      //  GET /gateway/bot
    DC_DO_CONNECT = 1 << 3,  //  Open a socket: of the session if there is one
    DC_DO_IDENTIFY = 1 << 4, //  Heartbeats, and op 2
    DC_DO_RESUME = 1 << 5,   //  Heartbeats, and op 6
    DC_DO_SERVE = 1 << 6,    //  It works
    DC_DO_PAUSE = 1 << 7,    //  Wait by the back-off
    DC_DO_REST = 1 << 8,     //  Wait one to five seconds
    DC_DO_SOON = 1 << 9,     //  Go on at once
    DC_DO_PROBLEM = 1 << 10  //  Tell the operator; look again in five minutes
};

typedef struct {
    unsigned actions; //  DC_DO_...
    dc_state_t next;  //  The state then
} dc_transition_t;

//  What to do, and where it leads. Every pair has an answer.
dc_transition_t argos_dc_gateway (dc_state_t state, dc_event_t event);

//  The event for a close code (1006 = none came).
dc_event_t argos_dc_gateway_cut (int code);

//  What an operator has to do about a code that ends it, NULL = nothing.
const char *argos_dc_gateway_help (int code);

#endif
