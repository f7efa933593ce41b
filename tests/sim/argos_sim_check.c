//  argos_sim_check - at the end: is everything there, once, and in order?
//
//  A message that was accepted ends either as one receipt or as one dead letter of its chain. The
//  receipts and the final lines of a conversation are in its order, and a transcript has each line
//  where its writer thought that it would be.

#include "argos_sim_world.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

//  A conversation as it went by

typedef struct {
    char key[64];      //  Its key
    int64_t value;     //  Last serial, or last position
    int64_t second;    //  Last n, where it counts
    UT_hash_handle hh; //  By key
} last_t;

typedef struct {
    world_t *world;   //  Ours
    last_t *lasts;    //  By conversation
    const char *what; //  What is looked at
} scan_t;

static last_t *
s_last (scan_t *scan, const char *key)
{
    last_t *last;
    HASH_FIND_STR (scan->lasts, key, last);
    if (!last) {
        last = calloc (1, sizeof *last);
        if (!last)
            abort ();
        snprintf (last->key, sizeof last->key, "%s", key);
        last->value = last->second = -1;
        HASH_ADD_STR (scan->lasts, key, last);
    }
    return last;
}

static void
s_scan (world_t *world, const char *what, const char *sql,
    void (*fn) (void *arg, int columns, char **values))
{
    scan_t scan = { world, NULL, what };
    last_t *last, *next;
    argos_sim_net_query (world->net, sql, fn, &scan);
    HASH_ITER (hh, scan.lasts, last, next) {
        HASH_DEL (scan.lasts, last); //  NOLINT(clang-analyzer-unix.Malloc): next is known
        free (last);
    }
}

//  An id is KEY-SERIAL; columns: id. They come in the order of their conversation, each once.

static void
s_in_order (void *arg, int columns, char **values)
{
    scan_t *scan = arg;
    char key[64], id[96];
    const char *dash = strchr (values[0], '-');
    const message_t *message;
    (void) columns;
    snprintf (id, sizeof id, "%.*s", (int) strcspn (values[0], " "), values[0]);
    HASH_FIND_STR (scan->world->messages, id, message);
    if (!dash || (message && message->redriven))
        return;
    snprintf (key, sizeof key, "%.*s", (int) (dash - values[0]), values[0]);
    int64_t serial = strtoll (dash + 1, NULL, 10);
    last_t *last = s_last (scan, key);
    if (serial <= last->value)
        argos_sim_wrong (scan->world,
            "%s of %s come in wrong order or twice: %" PRId64 " after %" PRId64, scan->what, key,
            serial, last->value);
    last->value = serial;
}

//  session_id, position: each where its writer thought

static void
s_contiguous (void *arg, int columns, char **values)
{
    scan_t *scan = arg;
    last_t *last = s_last (scan, values[0]);
    (void) columns;
    if (strtoll (values[1], NULL, 10) != last->value + 1)
        argos_sim_wrong (scan->world, "transcript %s: line %" PRId64 " thinks that it is %s",
            values[0], last->value + 1, values[1]);
    last->value++;
}

//  topic, lease, n: the leases of a lane follow each other, and within one the commits

static void
s_one_writer (void *arg, int columns, char **values)
{
    scan_t *scan = arg;
    last_t *last = s_last (scan, values[0]);
    int64_t lease = strtoll (values[1], NULL, 10), n = strtoll (values[2], NULL, 10);
    (void) columns;
    if (lease < last->value || (lease == last->value && n <= last->second))
        argos_sim_wrong (scan->world,
            "topic %s: lease %" PRId64 " commit %" PRId64 " after lease %" PRId64
            " commit %" PRId64,
            values[0], lease, n, last->value, last->second);
    last->value = lease;
    last->second = n;
}

//  Exactly one receipt or one dead letter

static void
s_message (world_t *world, const message_t *message)
{
    char sql[512];
    snprintf (sql, sizeof sql,
        "SELECT (SELECT count (*) FROM receipts WHERE platform_ids = '[\"%s\"]') +"
        " (SELECT count (*) FROM dead WHERE id IN ('%s', 't.%s', 'd.%s'))",
        message->id, message->id, message->id, message->id);
    int64_t ends = argos_sim_net_number (world->net, sql);
    if (!message->seq)
        argos_sim_wrong (world, "%s was never accepted", message->id);
    else if (!message->side && ends != 1)
        argos_sim_wrong (world, "%s was accepted as row %" PRId64 " and has %" PRId64 " ends",
            message->id, message->seq, ends);
    else if (message->side && ends > 1)
        argos_sim_wrong (world, "%s has %" PRId64 " ends", message->id, ends);
}

static void
s_reader (world_t *world, const peer_t *reader)
{
    for (int i = 0; i < reader->reading_count; i++) {
        const reading_t *reading = &reader->readings[i];
        char sql[512];
        snprintf (sql, sizeof sql,
            "SELECT count (*) = %" PRId64 " AND ifnull (sum (n), 0) = %" PRId64
            " FROM journal WHERE topic = (SELECT id FROM topics WHERE name = '%s')",
            reading->kept, reading->sum, reading->name);
        if (argos_sim_net_number (world->net, sql) != 1)
            argos_sim_wrong (world,
                "topic %s: the reader has seen other kept entries (%" PRId64 ") than there are",
                reading->name, reading->kept);
    }
}

void
argos_sim_check (world_t *world)
{
    message_t *message, *next;
    HASH_ITER (hh, world->messages, message, next) {
        s_message (world, message);
    }
    s_scan (world, "receipts",
        "SELECT json_extract (platform_ids, '$[0]') FROM receipts ORDER BY number", s_in_order);
    s_scan (world, "final lines",
        "SELECT substr (content, instr (content, ' ') + 1) FROM messages"
        " WHERE content LIKE '%final' ORDER BY id",
        s_in_order);
    s_scan (world, "lines",
        "SELECT session_id, substr (content, 1, instr (content, ' ') - 1) FROM messages"
        " ORDER BY id",
        s_contiguous);
    s_scan (world, "entries",
        "SELECT name, json_extract (body, '$.lease'), json_extract (body, '$.n') FROM journal,"
        " topics WHERE topics.id = journal.topic ORDER BY name, n",
        s_one_writer);
    for (int i = 0; i < world->peer_count; i++)
        if (world->peers[i]->kind == KIND_READER)
            s_reader (world, world->peers[i]);
}
