//  argos_zap - requests of ZAP (RFC 27): libzmq asks who a connection is. Pure.

#ifndef ARGOS_ZAP_H
#define ARGOS_ZAP_H

#include "argos_key.h"

#define ARGOS_ZAP_ENDPOINT "inproc://zeromq.zap.01" //  Where libzmq asks
#define ARGOS_ZAP_DOMAIN "argos"                    //  Of our tcp listeners
#define ARGOS_ZAP_ID_MAX 255                        //  Bytes of the id of a request
#define ARGOS_ZAP_FRAMES 7                          //  Version to credentials, with CURVE

typedef struct {
    const void *data; //  Bytes
    size_t size;      //  How many
} argos_zap_frame_t;

typedef struct {
    unsigned char id[ARGOS_ZAP_ID_MAX]; //  Of the request, any bytes
    size_t id_size;                     //  How many
    char public_key[ARGOS_KEY_Z85 + 1]; //  Of who wants in; "" when it can't be let in
    const char *status, *text;          //  Answer when it can't: "400" or "500"; static
} argos_zap_request_t;

//  Reads the frames of a request (more or fewer than ARGOS_ZAP_FRAMES are wrong). Returns 0 with
//  the public key of a CURVE client of our domain; or -1 with status and text of the answer.
int argos_zap_read (argos_zap_request_t *self, const argos_zap_frame_t *frames, size_t count);

#endif
