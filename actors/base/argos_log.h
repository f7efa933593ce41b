//  argos_log - one logfmt line on stderr and, once it is open, in the file of the home: ts level
//  actor event key=value. Safe from any thread.
//
//  Never bodies, keys or tokens; values that look like secrets are redacted all the same. The same
//  event of the same actor more than 10 times in a second is counted and said once.

#ifndef ARGOS_LOG_H
#define ARGOS_LOG_H

#define ARGOS_LOG_FILE "argosd.log"            //  In the home; the one before it is argosd.log.1
#define ARGOS_LOG_FILE_MAX (4UL * 1024 * 1024) //  Bytes of it

typedef enum { ARGOS_LOG_ERROR, ARGOS_LOG_WARN, ARGOS_LOG_INFO, ARGOS_LOG_DEBUG } argos_log_level_t;

//  Lines above this level are dropped (default INFO). Call before the threads start.
void argos_log_level (argos_log_level_t level);

//  From now on lines go to ARGOS_LOG_FILE in that folder, too; max bytes, 0 = ARGOS_LOG_FILE_MAX.
//  Returns 0, or -1 with errno. Closing is idempotent.
int argos_log_open (const char *folder, unsigned long max);
void argos_log_close (void);

//  Writes whole lines as they are (of a child, say): nothing is masked.
void argos_log_write (const char *lines, unsigned long size);

//  event is a short phrase; format and what follows make "key=value key=value" (NULL = none).
//  Control characters are escaped.
void argos_log (argos_log_level_t level, const char *actor, const char *event, const char *format,
    ...) __attribute__ ((format (printf, 4, 5)));

//  Write `in` to `out` (size bytes) with anything that looks like a secret replaced by ***: bearer
//  tokens, sk-..., key=..., long base64/hex.
void argos_log_redact (const char *in, char *out, unsigned long size);

#endif
