//  argos_meter - what a connection has sent but not finished: bounds the memory a peer can take
//  inside libzmq.
//
//  libzmq collects the parts of a message until the last one has come, without a limit, and its
//  owner sees nothing meanwhile. So the frames are counted where they are read: this file defines
//  recv(), accept() and accept4(), which the dynamic linker gives to libzmq too, and follows the
//  framing of ZMTP 3. Each frame costs its size and ARGOS_METER_FRAME, for a frame without a byte
//  takes memory as well. A watched connection that is further ahead of what its owner was given
//  than the limit, or that does not speak ZMTP 3, is shut down at once, in the thread that reads.
//  Connections that nobody watches pass through untouched. Thread-safe.

#ifndef ARGOS_METER_H
#define ARGOS_METER_H

#include <stdint.h>

#define ARGOS_METER_MAX (8 << 20) //  Default limit: twice the send window of an honest peer
#define ARGOS_METER_FRAME 64      //  What a frame costs beside its bytes

//  The limit of all connections, when the send window is not the usual one.
void argos_meter_limit (int64_t cost);

//  Begin to watch a descriptor that was accepted; and end. Descriptors over 65,535 are not watched.
void argos_meter_watch (int fd);
void argos_meter_forget (int fd);

//  The owner was given frames of this cost that came in by fd.
void argos_meter_given (int fd, int64_t cost);

//  How many connections have been shut down since the start.
int64_t argos_meter_cuts (void);

#endif
