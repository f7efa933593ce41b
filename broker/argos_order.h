//  argos_order - tells the thread sanitizer what it can't see: what was received was sent before.
//
//  libzmq and czmq are not instrumented, so a message handed from thread to thread by their
//  lock-free pipes looks like a race. Call ARGOS_GIVE before a send and ARGOS_TAKE after a receive.
//  Nothing at all in other builds.

#ifndef ARGOS_ORDER_H
#define ARGOS_ORDER_H

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define ARGOS_TSAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__) || defined(ARGOS_TSAN)
void __tsan_acquire (void *address);
void __tsan_release (void *address);
__attribute__ ((weak)) char argos_order; //  Its address stands for all messages
#define ARGOS_GIVE() __tsan_release (&argos_order)
#define ARGOS_TAKE() __tsan_acquire (&argos_order)
#else
#define ARGOS_GIVE() ((void) 0)
#define ARGOS_TAKE() ((void) 0)
#endif

#endif
