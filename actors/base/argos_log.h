//  argos_log - one logfmt line on stderr: ts level actor event key=value. Safe from any thread.
//
//  Never bodies, keys or tokens; values that look like secrets are redacted all the same. The same
//  event of the same actor more than 10 times in a second is counted and said once.

#ifndef ARGOS_LOG_H
#define ARGOS_LOG_H

typedef enum { ARGOS_LOG_ERROR, ARGOS_LOG_WARN, ARGOS_LOG_INFO, ARGOS_LOG_DEBUG } argos_log_level_t;

//  Lines above this level are dropped (default INFO). Call before the threads start.
void argos_log_level (argos_log_level_t level);

//  event is a short phrase; format and what follows make "key=value key=value" (NULL = none).
//  Control characters are escaped.
void argos_log (argos_log_level_t level, const char *actor, const char *event, const char *format,
    ...) __attribute__ ((format (printf, 4, 5)));

//  Write `in` to `out` (size bytes) with anything that looks like a secret replaced by ***: bearer
//  tokens, sk-..., key=..., long base64/hex.
void argos_log_redact (const char *in, char *out, unsigned long size);

#endif
