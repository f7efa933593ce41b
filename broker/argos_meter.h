//  argos_meter - what a connection has sent but not finished: bounds the memory a peer can take
//  inside libzmq.
//
//  libzmq collects the parts of a message until the last one has come, without a limit, and its
//  owner sees nothing meanwhile. So the bytes are counted where they are read: this file defines
//  recv(), which the dynamic linker gives to libzmq too. A watched descriptor that is
//  ARGOS_METER_MAX bytes ahead of what its owner was given is shut down at once, in the thread that
//  reads. Descriptors that nobody watches pass through untouched. Thread-safe.

#ifndef ARGOS_METER_H
#define ARGOS_METER_H

#include <stdint.h>

#define ARGOS_METER_MAX (8 << 20) //  Bytes: twice the send window of an honest peer

//  Begin to count for a descriptor, from zero; and end. Descriptors over 65,535 are not counted.
void argos_meter_watch (int fd);
void argos_meter_forget (int fd);

//  The owner was given this many bytes of what came in by fd.
void argos_meter_given (int fd, int64_t bytes);

//  How many connections have been shut down since the start.
int64_t argos_meter_cuts (void);

#endif
