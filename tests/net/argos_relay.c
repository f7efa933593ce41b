//  argos_relay - a link between two network namespaces that loses, delays, reorders and doubles IP
//  packets.
//
//  argos-relay SEED DEVICE NETNS NETNS: makes the TUN device DEVICE in both namespaces (paths, as
//  in /run/netns), says `ready`, and carries packets between them until stdin ends. A line on stdin
//  sets what happens to packets from then on:
//
//    loss=PERCENT delay=MS or MIN-MAX reorder=PERCENT duplicate=PERCENT
//
//  What a line does not name is 0; an empty line is a link without faults. Each line is answered
//  with one: what happened to packets since the line before. A delay with a range varies without
//  changing the order; a packet that is reordered takes longer by REORDER_MS, and those behind it
//  pass.
//
//  Exit codes: 0 when stdin ended, 77 when the kernel does not permit it, 2 for a wrong line.
//  Limits: PACKETS_MAX packets are on the way, further ones are dropped, as routers do.

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define PACKETS_MAX 4096 //  On the way, both directions together
#define PACKET_MAX 2048  //  Bytes; the devices have an MTU of 1500
#define LINE_MAX_BYTES 256
#define REORDER_MS 40
#define DELAY_MAX_MS 10000
#define BURST 64 //  Packets of one device before the other has its turn
#define EXIT_USAGE 2
#define EXIT_DENIED 77

typedef struct {
    int64_t due;              //  When it arrives, mono nsec
    uint64_t order;           //  In which it was sent: of two that are due at once
    int to;                   //  Device that it goes to
    size_t size;              //  Bytes
    uint8_t data[PACKET_MAX]; //  The IP packet
} packet_t;

//  What happens to packets

typedef struct {
    int loss, reorder, duplicate; //  Percent
    int delay_min, delay_max;     //  Msec
} faults_t;

typedef struct {
    int devices[2];            //  TUN devices
    int timer;                 //  Due time of the first packet
    faults_t faults;           //  In force
    uint64_t random;           //  State of the generator
    uint64_t order;            //  Packets so far
    int64_t last[2];           //  By target: latest due time of those in order
    packet_t *packets;         //  PACKETS_MAX
    int heap[PACKETS_MAX];     //  Indexes of packets: the first `count` are a heap by due time, the
                               //  others are free
    int count;                 //  On the way
    char line[LINE_MAX_BYTES]; //  What stdin has given
    size_t fill;               //  Bytes of it
    unsigned carried, lost, reordered, duplicated, dropped; //  Since the last line
} relay_t;

static int64_t
s_now (void)
{
    struct timespec now;
    clock_gettime (CLOCK_MONOTONIC, &now);
    return (int64_t) now.tv_sec * 1000000000 + now.tv_nsec;
}

//  A number below limit (xorshift64*)

static int
s_random (relay_t *self, int limit)
{
    self->random ^= self->random >> 12;
    self->random ^= self->random << 25;
    self->random ^= self->random >> 27;
    return (int) ((self->random * 0x2545f4914f6cdd1dU >> 33) % (uint64_t) limit);
}

static bool
s_chance (relay_t *self, int percent)
{
    return s_random (self, 100) < percent;
}

//  ------------------------------------------------------------------------------------------------
//  The heap

static bool
s_before (const relay_t *self, int a, int b)
{
    const packet_t *first = &self->packets[a], *second = &self->packets[b];
    return first->due < second->due || (first->due == second->due && first->order < second->order);
}

static void
s_swap (relay_t *self, int a, int b)
{
    int saved = self->heap[a];
    self->heap[a] = self->heap[b];
    self->heap[b] = saved;
}

static void
s_rise (relay_t *self, int at)
{
    while (at && s_before (self, self->heap[at], self->heap[(at - 1) / 2])) {
        s_swap (self, at, (at - 1) / 2);
        at = (at - 1) / 2;
    }
}

static void
s_sink (relay_t *self)
{
    for (int at = 0;;) {
        int least = at;
        for (int child = 2 * at + 1; child <= 2 * at + 2 && child < self->count; child++)
            if (s_before (self, self->heap[child], self->heap[least]))
                least = child;
        if (least == at)
            return;
        s_swap (self, at, least);
        at = least;
    }
}

//  ------------------------------------------------------------------------------------------------
//  Packets

//  Put a copy of the packet on the way.

static void
s_send (relay_t *self, int to, const uint8_t *data, size_t size)
{
    const faults_t *faults = &self->faults;
    if (self->count == PACKETS_MAX) {
        self->dropped++;
        return;
    }
    int64_t delay = faults->delay_min + s_random (self, faults->delay_max - faults->delay_min + 1);
    int64_t due = s_now () + delay * 1000000;
    due = due > self->last[to] ? due : self->last[to];
    if (s_chance (self, faults->reorder)) {
        due += (int64_t) REORDER_MS * 1000000;
        self->reordered++;
    }
    else
        self->last[to] = due;
    packet_t *packet = &self->packets[self->heap[self->count]];
    packet->due = due;
    packet->order = self->order++;
    packet->to = to;
    packet->size = size;
    memcpy (packet->data, data, size);
    s_rise (self, self->count++);
}

//  Take what a device has, up to a burst.

static void
s_take (relay_t *self, int from)
{
    uint8_t data[PACKET_MAX];
    for (int i = 0; i < BURST; i++) {
        ssize_t size = read (self->devices[from], data, sizeof data);
        if (size <= 0)
            return;
        if (s_chance (self, self->faults.loss)) {
            self->lost++;
            continue;
        }
        s_send (self, 1 - from, data, (size_t) size);
        if (s_chance (self, self->faults.duplicate)) {
            s_send (self, 1 - from, data, (size_t) size);
            self->duplicated++;
        }
    }
}

//  Hand out what is due, and set the timer to the next.

static void
s_give (relay_t *self)
{
    int64_t now = s_now ();
    while (self->count && self->packets[self->heap[0]].due <= now) {
        const packet_t *packet = &self->packets[self->heap[0]];
        //  A device that is down takes nothing: lost, as on a cable
        if (write (self->devices[packet->to], packet->data, packet->size) < 0)
            self->dropped++;
        else
            self->carried++;
        s_swap (self, 0, --self->count);
        s_sink (self);
    }
    struct itimerspec timer = { 0 };
    if (self->count) {
        int64_t due = self->packets[self->heap[0]].due;
        timer.it_value.tv_sec = due / 1000000000;
        timer.it_value.tv_nsec = due % 1000000000;
    }
    timerfd_settime (self->timer, TFD_TIMER_ABSTIME, &timer, NULL);
}

//  ------------------------------------------------------------------------------------------------
//  Lines of stdin

//  One word NAME=NUMBER or delay=MIN-MAX. Returns whether it is one.

static bool
s_word (faults_t *faults, const char *word)
{
    const struct {
        const char *name;
        int *value;
        int max;
    } names[] = { { "loss", &faults->loss, 100 }, { "reorder", &faults->reorder, 100 },
        { "duplicate", &faults->duplicate, 100 }, { "delay", &faults->delay_min, DELAY_MAX_MS } };
    const char *sign = strchr (word, '=');
    for (size_t i = 0; sign && i < sizeof names / sizeof *names; i++) {
        char *end;
        if (strncmp (word, names[i].name, (size_t) (sign - word)) != 0 ||
            names[i].name[sign - word])
            continue;
        long value = strtol (sign + 1, &end, 10), most = value;
        if (names[i].value == &faults->delay_min && *end == '-')
            most = strtol (end + 1, &end, 10);
        if (end == sign + 1 || *end || value < 0 || most < value || most > names[i].max)
            return false;
        *names[i].value = (int) value;
        if (names[i].value == &faults->delay_min)
            faults->delay_max = (int) most;
        return true;
    }
    return false;
}

static void
s_line (relay_t *self, char *line)
{
    faults_t faults = { 0 };
    char *state = NULL;
    for (char *word = strtok_r (line, " ", &state); word; word = strtok_r (NULL, " ", &state))
        if (!s_word (&faults, word)) {
            fprintf (
                stderr, "argos-relay: %s: loss, delay, reorder or duplicate, =, a number\n", word);
            exit (EXIT_USAGE);
        }
    self->faults = faults;
    printf ("carried=%u lost=%u reordered=%u duplicated=%u dropped=%u\n", self->carried, self->lost,
        self->reordered, self->duplicated, self->dropped);
    fflush (stdout);
    self->carried = self->lost = self->reordered = self->duplicated = self->dropped = 0;
}

//  Returns false at the end of stdin: whoever started us is gone.

static bool
s_command (relay_t *self)
{
    ssize_t size = read (STDIN_FILENO, self->line + self->fill, sizeof self->line - self->fill - 1);
    if (size <= 0)
        return false;
    self->fill += (size_t) size;
    self->line[self->fill] = 0;
    for (char *end; (end = strchr (self->line, '\n'));) {
        *end = 0;
        s_line (self, self->line);
        self->fill -= (size_t) (end + 1 - self->line);
        memmove (self->line, end + 1, self->fill + 1);
    }
    return self->fill < sizeof self->line - 1;
}

//  ------------------------------------------------------------------------------------------------
//  The process

//  A TUN device in that namespace, which we are in from then on. Returns its descriptor, or -1 with
//  errno.

static int
s_open (const char *netns, const char *device)
{
    struct ifreq request = { .ifr_flags = IFF_TUN | IFF_NO_PI };
    int space = open (netns, O_RDONLY | O_CLOEXEC);
    if (space < 0)
        return -1;
    int rc = setns (space, CLONE_NEWNET);
    close (space);
    int fd = rc == 0 ? open ("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC) : -1;
    if (fd < 0)
        return -1;
    snprintf (request.ifr_name, sizeof request.ifr_name, "%s", device);
    if (ioctl (fd, TUNSETIFF, &request) != 0) {
        close (fd);
        return -1;
    }
    return fd;
}

static void
s_run (relay_t *self)
{
    struct pollfd items[] = { { STDIN_FILENO, POLLIN, 0 }, { self->timer, POLLIN, 0 },
        { self->devices[0], POLLIN, 0 }, { self->devices[1], POLLIN, 0 } };
    for (;;) {
        uint64_t ticks;
        if (poll (items, sizeof items / sizeof *items, -1) < 0 && errno != EINTR)
            return;
        if (items[0].revents && !s_command (self))
            return;
        if (items[1].revents && read (self->timer, &ticks, sizeof ticks) < 0 && errno != EAGAIN)
            return;
        for (int i = 0; i < 2; i++)
            if (items[2 + i].revents & POLLIN)
                s_take (self, i);
        s_give (self);
    }
}

int
main (int argc, char **argv)
{
    static relay_t self;
    if (argc != 5) {
        fputs ("usage: argos-relay SEED DEVICE NETNS NETNS\n", stderr);
        return EXIT_USAGE;
    }
    self.random = strtoull (argv[1], NULL, 10) * 0x9e3779b97f4a7c15U + 1;
    self.packets = calloc (PACKETS_MAX, sizeof *self.packets);
    self.timer = timerfd_create (CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (!self.packets || self.timer < 0)
        return EXIT_FAILURE;
    for (int i = 0; i < PACKETS_MAX; i++)
        self.heap[i] = i;
    for (int i = 0; i < 2; i++) {
        self.devices[i] = s_open (argv[3 + i], argv[2]);
        if (self.devices[i] < 0) {
            fprintf (
                stderr, "argos-relay: a TUN device in %s: %s\n", argv[3 + i], strerror (errno));
            return EXIT_DENIED;
        }
    }
    puts ("ready");
    fflush (stdout);
    s_run (&self);
    free (self.packets);
    return EXIT_SUCCESS;
}
