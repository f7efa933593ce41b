//  argos_meter - the connections that the broker has accepted: how many, and what each has sent but
//  not finished. Bounds the descriptors and the memory that peers can take inside libzmq.
//
//  libzmq accepts as long as there are descriptors, and ends the process when there are none left
//  for a connection over ipc; it collects the parts of a message until the last one has come,
//  without a limit; and its owner sees nothing of either. So this file defines listen(), accept(),
//  accept4(), recv() and close(), which the dynamic linker gives to libzmq too.
//
//  A connection beyond the limit or faster than the rate, or one that would take a descriptor of
//  the reserve, is closed at once; its peer sees it end and comes again later. No accept of this
//  process fails for want of descriptors: then the connection is closed by a descriptor that is
//  kept for that. Frames are counted where they are read, by the framing of ZMTP 3. Each costs its
//  size and ARGOS_METER_FRAME, for a frame without a byte takes memory as well. A connection that
//  is further ahead of what its owner was given than the limit, or that does not speak ZMTP 3, is
//  shut down at once, in the thread that reads. Other sockets pass through untouched. Thread-safe.

#ifndef ARGOS_METER_H
#define ARGOS_METER_H

#include <stdint.h>

#define ARGOS_METER_MAX (8 << 20) //  Default limit: twice the send window of an honest peer
#define ARGOS_METER_FRAME 64      //  What a frame costs beside its bytes

#define ARGOS_METER_CONNECTIONS 8192 //  Twice the sessions that a broker takes
#define ARGOS_METER_RESERVE 256      //  Descriptors that no connection takes
#define ARGOS_METER_RATE 500         //  Connections a second that a socket takes for long
#define ARGOS_METER_BURST 1024       //  And at once, after a time of rest

//  Why a connection was closed at once

typedef enum {
    ARGOS_METER_FULL,  //  The limit of connections
    ARGOS_METER_FAST,  //  The rate
    ARGOS_METER_SHORT, //  The descriptors
    ARGOS_METER_REASONS
} argos_meter_reason_t;

//  The limit of unfinished bytes of a connection, when the send window is not the usual one.
void argos_meter_limit (int64_t cost);

//  How many connections can be open at a time, before the first of them: most, or as many as the
//  descriptors allow when that is less or most is 0 (half of them, ARGOS_METER_CONNECTIONS at
//  most). From then on the last descriptors (a quarter, ARGOS_METER_RESERVE at most) are for what
//  is not accepted.
int argos_meter_admit (int most);

//  A socket that this thread makes listen from now on is ours: what it accepts is watched and
//  counted, and closed at once when already so many are open as the others and it have accepted, or
//  when more come than ARGOS_METER_BURST and then ARGOS_METER_RATE a second.
//  0 = no longer ours. Descriptors over 65,535 are not watched.
void argos_meter_listen (int most);

//  Which connection it is that has this descriptor: a number that changes with each. What is meant
//  for one does nothing to the next one.
uint32_t argos_meter_life (int fd);

//  The owner was given frames of this cost that came in by fd.
void argos_meter_given (int fd, uint32_t life, int64_t cost);

//  Shuts the connection down: nothing more is read from it.
void argos_meter_cut (int fd, uint32_t life);

//  How many connections have been shut down for what they sent since the start; and how many closed
//  at once, by reason.
int64_t argos_meter_cuts (void);
int64_t argos_meter_refused (argos_meter_reason_t reason);

#endif
