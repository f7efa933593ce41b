//  fuzz - what the targets share: one function, called with each input.
//
//  A target checks, beside not crashing, something that must hold for every input; FUZZ_CHECK ends
//  the program when it does not.

#ifndef ARGOS_FUZZ_H
#define ARGOS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

//  Called by libFuzzer, and by replay.c with each file of the corpus. Returns 0.
int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

#define FUZZ_CHECK(condition)                                                                      \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf (stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition);        \
            abort ();                                                                              \
        }                                                                                          \
    } while (0)

#endif
