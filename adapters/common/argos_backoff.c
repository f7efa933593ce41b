//  argos_backoff - see the header. Limits: 60 s, from the seventh failure on.

#include "argos_backoff.h"

#define BASE_MS 1000     //  After the first failure
#define CAP_MS 60000     //  At most
#define HEALTHY_MS 60000 //  Success that counts

int64_t
argos_backoff_failed (argos_backoff_t *self, int64_t now, uint32_t random)
{
    if (self->good_since && now - self->good_since >= HEALTHY_MS)
        self->failures = 0;
    self->good_since = 0;
    int64_t whole = BASE_MS;
    for (int i = 0; i < self->failures && whole < CAP_MS; i++)
        whole *= 2;
    if (whole > CAP_MS)
        whole = CAP_MS;
    if (self->failures < 30)
        self->failures++;
    return whole / 2 + (int64_t) (random % (uint32_t) (whole / 2 + 1));
}

void
argos_backoff_good (argos_backoff_t *self, int64_t now)
{
    if (!self->good_since)
        self->good_since = now > 0 ? now : 1;
    else if (now - self->good_since >= HEALTHY_MS)
        self->failures = 0;
}
