//  argos_websocket - a WebSocket client (RFC 6455) inside an actor's loop.
//
//  The connection (TLS, proxies, addresses) is libcurl's, the frames are libwslay's, the upgrade
//  is ours. No extension is offered, and a server that turns one on is left. The owner polls
//  argos_websocket_fd, asks argos_websocket_due and calls argos_websocket_turn; nothing blocks.
//  Single-threaded.
//
//  One object is one connection: it has the generation that its owner gave it, and what is told
//  names it, so that no frame of an older connection is taken for one of the newer.
//
//  Liveness: a connection that ends or is reset is told at once; when nothing at all has come for
//  idle_ms it is pinged, and when nothing comes for as long again it is given up (1006). Whether
//  events still come is the owner's to know (argos_liveness).
//
//  Limits: 15 s to connect and upgrade, headers of 16 KiB, messages of message_max bytes, 4 MiB
//  waiting to be sent, 1 MiB read in one turn, 5 s for the other side to answer a close.

#ifndef ARGOS_WEBSOCKET_H
#define ARGOS_WEBSOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct argos_websocket argos_websocket_t;

//  How it ended; borrowed for the call

typedef struct {
    int code;               //  Of the close: 1005 = none was given, 1006 = it broke without one
    const char *reason;     //  Its text, or a sentence of ours
    int status;             //  Of HTTP when the upgrade was refused, 0 else
    int64_t retry_after_ms; //  What the refusal says, -1 = nothing
} argos_websocket_end_t;

typedef struct {
    const char *url;     //  ws:// or wss://, copied
    const char *agent;   //  User-Agent, copied; NULL = argos
    size_t message_max;  //  Bytes of a message, 0 = 4 MiB
    int64_t idle_ms;     //  Silence before a ping, and behind it; 0 = never
    uint32_t generation; //  Told with everything
    const char *secret;  //  What is masked in sentences (borrowed), NULL = nothing
    void *arg;           //  For the functions
    //  It is open.
    void (*on_open) (void *arg, uint32_t generation);
    //  A text, valid UTF-8 and terminated; binary messages are not told.
    void (*on_text) (void *arg, uint32_t generation, const char *text, size_t size);
    //  It is over; told once, and nothing after it. The object is still to be destroyed.
    void (*on_end) (void *arg, uint32_t generation, const argos_websocket_end_t *end);
} argos_websocket_config_t;

//  Begins to connect. NULL when the url is none or there are no descriptors.
argos_websocket_t *argos_websocket_new (const argos_websocket_config_t *config, int64_t now);

//  Cuts the connection; nothing is told. May be called from within the functions. NULL-safe,
//  idempotent.
void argos_websocket_destroy (argos_websocket_t **self_p);

//  Readable when argos_websocket_turn has something to do.
int argos_websocket_fd (const argos_websocket_t *self);

//  When it wants to be called even so (argos_shell_now), -1 = never.
int64_t argos_websocket_due (const argos_websocket_t *self);

//  Does what can be done.
void argos_websocket_turn (argos_websocket_t *self, int64_t now);

//  Sends a text. -1 when it is not open or too much waits already.
int argos_websocket_send (argos_websocket_t *self, const char *text, size_t size, int64_t now);

//  Says goodbye with this code; on_end follows.
void argos_websocket_close (argos_websocket_t *self, int code, const char *reason, int64_t now);

bool argos_websocket_is_open (const argos_websocket_t *self);
uint32_t argos_websocket_generation (const argos_websocket_t *self);

#endif
