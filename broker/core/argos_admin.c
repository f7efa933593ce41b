//  argos_admin - requests to actor:broker: looking at the broker, and the few orders it takes.
//
//  A row is a type and what answers it. Whether the sender's role may send that type has been
//  checked before. Limit: a body is checked by the schema of its type like any other.

#include "argos_core_priv.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *type;                                     //  Request
    json_t *(*answer) (session_t *session, json_t *body); //  Body of the answer, new; NULL:
                                                          //  not found
    const char *result;                                   //  Type of the answer
} requests[] = {
    { "broker.status", argos_status_answer, "broker.status.result" },
    { "broker.stats", argos_stats_answer, "broker.stats.result" },
    { "broker.trace", argos_stats_trace, "broker.trace.result" },
    { "config.get", argos_snapshot_answer, "config.get.result" },
};

//  Orders answer for themselves: broker.done, or refused; some only when the store has answered

static const struct {
    const char *type; //  Order
    void (*obey) (session_t *session, const argos_header_t *header, const json_t *body);
} orders[] = {
    { "peer.drain", argos_drain_order },
    { "service.pause", argos_service_pause },
    { "service.drop", argos_service_drop },
};

//  Obeys an order. Returns false when it is none.

static bool
s_order (session_t *session, const argos_header_t *header, const argos_frame_t *frame)
{
    size_t row = 0, count = sizeof orders / sizeof orders[0];
    while (row < count && strcmp (orders[row].type, header->type) != 0)
        row++;
    if (row == count)
        return false;
    json_t *body = argos_core_body (session->core, session->conn, header, frame);
    if (body)
        orders[row].obey (session, header, body);
    json_decref (body);
    return true;
}

void
argos_admin_done (session_t *session, const char *id)
{
    argos_core_word (session->core, session->conn, "broker.done", id, "{}");
}

void
argos_admin_request (session_t *session, const argos_header_t *header, const argos_frame_t *frame)
{
    argos_core_t *self = session->core;
    size_t row = 0, count = sizeof requests / sizeof requests[0];
    while (row < count && strcmp (requests[row].type, header->type) != 0)
        row++;
    if (row == count && s_order (session, header, frame))
        return;
    if (row == count) {
        argos_core_refuse (self, session->conn, header->id, ARGOS_UNKNOWN_TYPE,
            "the broker answers no such request", -1, false);
        return;
    }
    json_t *asked = argos_core_body (self, session->conn, header, frame);
    if (!asked)
        return;
    json_t *body = requests[row].answer (session, asked);
    json_decref (asked);
    char *text = body ? json_dumps (body, JSON_COMPACT) : NULL;
    json_decref (body);
    if (!text) {
        argos_core_refuse (
            self, session->conn, header->id, ARGOS_NOT_FOUND, "no such thing", -1, false);
        return;
    }
    argos_core_word (self, session->conn, requests[row].result, header->id, text);
    free (text);
}
