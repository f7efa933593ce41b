//  argosd_check_lease - what the fake core of `argos adapter-check` leases out, and its end.
//
//  Invariant: a lease has a number that no other had; the next commit of it is n. Limit: four at a
//  time.

#include "argosd_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int
argos_check_lease_again (
    check_t *self, check_lease_t *lease, const char *type, const char *body, int64_t attempt)
{
    char header[512], meta[256], *text = body ? NULL : json_dumps (self->body, JSON_COMPACT);
    lease->lease = ++self->lease;
    lease->n = 1;
    snprintf (header, sizeof header,
        "{\"type\":\"%s\",\"id\":\"check-%lld\",\"to\":\"service:%s\",\"key\":\"check\","
        "\"durable\":true}",
        type ? type : self->type, (long long) lease->seq, self->service);
    snprintf (meta, sizeof meta,
        "{\"from\":\"check\",\"seq\":%lld,\"lease\":%lld,\"attempt\":%lld,\"hops\":1,\"cause\":"
        "\"\",\"at\":1}",
        (long long) lease->seq, (long long) lease->lease, (long long) attempt);
    argos_check_put (self, self->peer, self->peer_size, header, meta, body ? body : text);
    free (text);
    return 0;
}

check_lease_t *
argos_check_lease (check_t *self, const char *type, const char *body)
{
    for (size_t i = 0; i < 4; i++)
        if (self->held[i].seq == 0) {
            self->held[i].seq = ++self->seq;
            argos_check_lease_again (self, &self->held[i], type, body, 1);
            return &self->held[i];
        }
    return NULL; //  No case holds so many
}

int
argos_check_ends (check_t *self, check_lease_t *lease, bool may_release, bool *ret_rejected)
{
    int64_t deadline = argos_check_now () + CHECK_WAIT_MS;
    if (ret_rejected)
        *ret_rejected = false;
    for (;;) {
        check_msg_t msg;
        int rc = argos_check_next (self, &msg, deadline);
        bool ours = rc > 0 && msg.header.seq == lease->seq;
        bool released = ours && strcmp (msg.header.type, "release") == 0;
        bool done = ours && strcmp (msg.header.type, "done") == 0;
        if (released && ret_rejected)
            *ret_rejected = json_object_get (msg.body, "reject") != NULL;
        argos_check_msg_clear (&msg);
        if (rc < 0)
            return rc;
        if (rc == 0)
            return argos_check_fail (
                self, "the message was not done in %d s", CHECK_WAIT_MS / 1000);
        if (released && !may_release)
            return argos_check_fail (self, "the message was released instead of done");
        if (done || released) {
            lease->seq = 0;
            return 0;
        }
    }
}
