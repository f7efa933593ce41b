//  bench_kit - clocks, samples, syncs and the table.
//
//  Invariant: fsync and fdatasync of this program count and then do what the kernel's do; SQLite
//  finds them here because the dynamic linker asks the program first.

#include "bench.h"

#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static atomic_llong s_syncs;

int
fsync (int fd)
{
    atomic_fetch_add (&s_syncs, 1);
    return (int) syscall (SYS_fsync, fd);
}

int
fdatasync (int fd)
{
    atomic_fetch_add (&s_syncs, 1);
    return (int) syscall (SYS_fdatasync, fd);
}

int64_t
bench_syncs (void)
{
    return atomic_load (&s_syncs);
}

int64_t
bench_now (void)
{
    struct timespec now;
    clock_gettime (CLOCK_MONOTONIC, &now);
    return (int64_t) now.tv_sec * 1000000000 + now.tv_nsec;
}

void
bench_pause (int ms)
{
    poll (NULL, 0, ms);
}

void
bench_sample (bench_samples_t *self, int64_t nsec)
{
    if (self->count == self->room) {
        self->room = self->room ? self->room * 2 : 1024;
        self->values = realloc (self->values, self->room * sizeof *self->values);
        if (!self->values)
            abort ();
    }
    self->values[self->count++] = nsec;
    self->sorted = false;
}

static int
s_compare (const void *a, const void *b)
{
    int64_t left = *(const int64_t *) a, right = *(const int64_t *) b;
    return left < right ? -1 : left > right;
}

double
bench_percentile (bench_samples_t *self, double p)
{
    if (self->count == 0)
        return 0;
    if (!self->sorted)
        qsort (self->values, self->count, sizeof *self->values, s_compare);
    self->sorted = true;
    return (double) self->values[(size_t) (p * (double) (self->count - 1))] / 1e6;
}

void
bench_samples_clear (bench_samples_t *self)
{
    free (self->values);
    memset (self, 0, sizeof *self);
}

double
bench_median_of (double *values, int count)
{
    for (int i = 1; i < count; i++)
        for (int k = i; k > 0 && values[k] < values[k - 1]; k--) {
            double swap = values[k];
            values[k] = values[k - 1];
            values[k - 1] = swap;
        }
    return values[count / 2];
}

double
bench_median (const double *values)
{
    double sorted[BENCH_ROUNDS];
    memcpy (sorted, values, sizeof sorted);
    return bench_median_of (sorted, BENCH_ROUNDS);
}

void
bench_head (void)
{
    printf ("%-44s %11s %11s %-5s %6s %8s %6s %7s  %s\n", "measurement", "base", "argos", "unit",
        "ratio", "target", "batch", "syncs/s", "");
}

static void
s_number (char *target, size_t size, double value)
{
    if (value <= 0)
        snprintf (target, size, "-");
    else
        snprintf (target, size, value >= 100 ? "%.0f" : value >= 10 ? "%.1f" : "%.2f", value);
}

void
bench_print (const bench_row_t *row)
{
    char base[32], ours[32], ratio[32], target[40], limit[32], batch[32], syncs[32];
    double value = row->base > 0 ? row->ours / row->base : row->ours;
    s_number (base, sizeof base, row->base);
    s_number (ours, sizeof ours, row->ours);
    s_number (ratio, sizeof ratio, row->base > 0 ? value : 0);
    s_number (limit, sizeof limit, row->target);
    snprintf (target, sizeof target, "%s%s",
        row->target <= 0 ? ""
        : row->at_most   ? "<="
                         : ">=",
        limit);
    s_number (batch, sizeof batch, row->batch);
    s_number (syncs, sizeof syncs, row->syncs);
    const char *verdict = "";
    if (row->target > 0) {
        bool met = row->at_most ? value <= row->target : value >= row->target;
        verdict = row->ours <= 0 ? "not measured" : met ? "met" : "SHORT";
    }
    printf ("%-44s %11s %11s %-5s %6s %8s %6s %7s  %s%s%s\n", row->name, base, ours, row->unit,
        ratio, target, batch, syncs, verdict, row->remark && *verdict ? "; " : "",
        row->remark ? row->remark : "");
    fflush (stdout);
}
