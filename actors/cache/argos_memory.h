//  argos_memory - how much memory this process may take, and how much it takes.

#ifndef ARGOS_MEMORY_H
#define ARGOS_MEMORY_H

#include <jansson.h>
#include <stdint.h>

//  Bytes that the setting allows; 0 = any. A number is megabytes; "auto" (also what can't be read)
//  is 65 % of total; "", "off", "none", "false" and "disabled" are none. Less than 512 MB counts as
//  none. Pure.
int64_t argos_memory_budget (const json_t *setting, int64_t total);

//  Bytes that we may have at most: memory.high or memory.max of our control group, else the memory
//  of the host. Reads files of the system.
int64_t argos_memory_total (void);

//  Bytes of private memory that this process has now; 0 when it is not known.
int64_t argos_memory_used (void);

#endif
