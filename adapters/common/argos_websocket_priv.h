//  argos_websocket_priv - what the two files of argos_websocket share.

#ifndef ARGOS_WEBSOCKET_PRIV_H
#define ARGOS_WEBSOCKET_PRIV_H

#include "argos_curl.h"
#include "argos_text.h"
#include "argos_websocket.h"

#include <wslay/wslay.h>

typedef enum {
    WEBSOCKET_CONNECTING, //  Libcurl connects
    WEBSOCKET_UPGRADING,  //  The request is on its way, or its answer
    WEBSOCKET_OPEN,       //  Frames
    WEBSOCKET_CLOSING,    //  We have said goodbye
    WEBSOCKET_ENDED       //  on_end was told
} argos_websocket_state_t;

struct argos_websocket {
    argos_websocket_config_t config; //  Its strings are the copies below
    char *url, *agent;               //  Copies
    argos_websocket_state_t state;   //  Where it is
    CURL *easy;                      //  In it until the end: the connection is the handle's
    argos_curl_t curl;               //  Its transfer, until it is connected
    int64_t deadline;                //  Of the state, -1 = none
    int64_t heard_ms;                //  When something came last
    bool pinged;                     //  Since then a ping went out
    bool more;                       //  A turn ended with something left to read
    bool dead;                       //  Read or write has failed
    bool writes;                     //  EPOLLOUT is asked for
    int depth;                       //  Calls of our functions that are running
    bool destroyed;                  //  Within one of them
    char *host;                      //  Of the request, with its port
    char *path;                      //  Of the request, with its query
    char key[32];                    //  Sec-WebSocket-Key
    argos_text_t out;                //  The request, as far as it is not written
    argos_text_t in;                 //  The answer's head; then frames that came with it
    size_t in_place;                 //  What has been read of them
    size_t budget;                   //  Bytes that may be read in this turn
    wslay_event_context_ptr frames;  //  Frames, from WEBSOCKET_OPEN on
    char why[200];                   //  A sentence about the end, "" = none
    int64_t now;                     //  Of the turn
};

//  argos_websocket_upgrade.c: host, path and the request; -1 when the url is none.
int argos_websocket_prepare (argos_websocket_t *self);

//  argos_websocket_upgrade.c: what the head of the answer means. 1 = it is ours, 0 = more is to
//  come, -1 = refused, `why` says it; status and retry_after_ms are set then.
int argos_websocket_accept (argos_websocket_t *self, int *ret_status, int64_t *ret_retry_after_ms);

#endif
