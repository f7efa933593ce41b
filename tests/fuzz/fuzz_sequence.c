//  fuzz_sequence - any sequence of what peers, the clock and crashes may do to broker and store.
//
//  Input: pairs of bytes, an action and its argument; all messages are well formed, so that each
//  pair gets as far as the state machines (fuzz_core sends bytes instead). Holds: what the store
//  executes is what the model of the simulator expects (one lease per lane, numbers that never
//  repeat, order, nothing twice), and whenever nothing is under way the index of the core is what
//  the rows say, and its memory is bounded.

#include "argos_sim_net.h"
#include "argos_sim_shadow.h"
#include "fuzz.h"

#include <inttypes.h>
#include <string.h>

#define PEERS 4      //  0 to 2 are actors of the process, 3 is a peer of the host
#define LEASES_MAX 8 //  That a peer remembers
#define ACTIONS_MAX 400
#define TEXT 512

typedef struct {
    int64_t seq, lease, n; //  As handed out; commits tried
} lease_t;

typedef struct {
    uint64_t conn;              //  Its connection
    int64_t instance;           //  Of its last hello
    lease_t leases[LEASES_MAX]; //  The newest ones
    int count;                  //  Handed out so far
} peer_t;

typedef struct {
    argos_sim_net_t *net;       //  Core and store
    argos_sim_shadow_t *shadow; //  What the store has to know
    peer_t peers[PEERS];        //  By number
    uint64_t last_conn;         //  Last connection
} world_t;

static void
s_wrong (void *arg, const char *text)
{
    (void) arg;
    fprintf (stderr, "%s\n", text);
    abort ();
}

static void
s_executed (void *arg, const argos_storage_req_t *req, argos_storage_ans_t *ans)
{
    world_t *self = arg;
    argos_sim_shadow_executed (self->shadow, req, ans);
}

static void
s_say (world_t *self, const peer_t *peer, const char *header, const char *body)
{
    argos_sim_role_t role = peer == &self->peers[3] ? ARGOS_ROLE_LOCAL : ARGOS_ROLE_CORE;
    argos_sim_net_send (self->net, peer->conn, role, header, body);
}

static lease_t *
s_lease (peer_t *peer, int arg)
{
    return &peer->leases[arg % LEASES_MAX];
}

//  What has come is read; leases are remembered.

static void
s_read (world_t *self)
{
    for (int i = 0; i < PEERS; i++) {
        argos_sim_msg_t *msg;
        while ((msg = argos_sim_net_recv (self->net, self->peers[i].conn))) {
            int64_t lease = argos_sim_int (msg->meta, "lease"),
                    seq = argos_sim_int (msg->meta, "seq");
            if (lease > 0 && argos_sim_int (msg->meta, "mail") < 0)
                *s_lease (&self->peers[i], self->peers[i].count++) = (lease_t){ seq, lease, 0 };
            argos_sim_msg_destroy (&msg);
        }
    }
}

//  ------------------------------------------------------------------------------------------------
//  Actions of a peer, each with an argument of 6 bits

static void
s_hello (world_t *self, peer_t *peer, int arg)
{
    char body[TEXT];
    peer->instance += arg & 1;
    const lease_t *lease = s_lease (peer, arg >> 3);
    size_t size = (size_t) snprintf (body, sizeof body,
        "{\"name\":\"peer%c\",\"instance\":%" PRId64 ",\"protocol\":1,\"leases\":[",
        arg & 4 ? 'a' : (char) ('0' + (peer - self->peers)), peer->instance);
    if (arg & 2 && lease->lease)
        size += (size_t) snprintf (body + size, sizeof body - size,
            "{\"seq\":%" PRId64 ",\"lease\":%" PRId64 "}", lease->seq, lease->lease);
    snprintf (body + size, sizeof body - size, "]}");
    s_say (self, peer, "{\"type\":\"hello\",\"id\":\"h\"}", body);
}

static void
s_serve (world_t *self, peer_t *peer, int arg)
{
    char body[TEXT];
    snprintf (body, sizeof body, "{\"service\":\"s%d\",\"slots\":%d}", arg & 1, arg >> 1 & 3);
    s_say (self, peer, "{\"type\":\"serve\",\"id\":\"s\"}", body);
}

//  A small number of ids and keys, so that they meet again

static void
s_send (world_t *self, peer_t *peer, int arg)
{
    static const char *const more[] = { "", ",\"side\":true", ",\"urgent\":true",
        ",\"ttl_ms\":500" };
    char header[TEXT];
    snprintf (header, sizeof header,
        "{\"type\":\"job\",\"id\":\"m%d\",\"to\":\"service:s%d\",\"key\":\"k%d\",\"durable\":true%"
        "s}",
        arg >> 1, arg & 1, arg >> 1 & 3, more[arg >> 4]);
    s_say (self, peer, header, "{\"x\":1}");
}

static void
s_commit_as (world_t *self, peer_t *peer, int arg, const char *type)
{
    static const argos_sim_part_t parts[] = {
        { "{\"type\":\"step\",\"to\":\"topic:t\",\"durable\":true}", "{\"y\":2}" },
        { "{\"type\":\"job\",\"id\":\"e\",\"to\":\"service:s1\",\"key\":\"k1\",\"durable\":true}",
            NULL },
    };
    char header[TEXT];
    lease_t *lease = s_lease (peer, arg);
    int64_t n = arg & 32 ? lease->n : ++lease->n;
    snprintf (header, sizeof header,
        "{\"type\":\"%s\",\"id\":\"c%d\",\"seq\":%" PRId64 ",\"lease\":%" PRId64 ",\"n\":%" PRId64
        "%s}",
        type, arg, lease->seq ? lease->seq : 1, lease->lease ? lease->lease : 1, n ? n : 1,
        *type == 'd' ? ",\"seen\":0" : "");
    argos_sim_net_commit (
        self->net, peer->conn, ARGOS_ROLE_CORE, header, parts, (size_t) (arg >> 3 & 3) % 3);
}

static void
s_commit (world_t *self, peer_t *peer, int arg)
{
    s_commit_as (self, peer, arg, "commit");
}

static void
s_done (world_t *self, peer_t *peer, int arg)
{
    s_commit_as (self, peer, arg, "done");
}

static void
s_release (world_t *self, peer_t *peer, int arg)
{
    static const char *const bodies[] = { "{\"clean\":true}", "{}", "{\"delay_ms\":300}",
        "{\"reject\":\"invalid\"}" };
    char header[TEXT];
    const lease_t *lease = s_lease (peer, arg);
    snprintf (header, sizeof header,
        "{\"type\":\"release\",\"id\":\"r\",\"seq\":%" PRId64 ",\"lease\":%" PRId64 "}",
        lease->seq ? lease->seq : 1, lease->lease ? lease->lease : 1);
    s_say (self, peer, header, bodies[arg >> 3 & 3]);
}

static void
s_word (world_t *self, peer_t *peer, int arg)
{
    static const char *const words[][2] = { { "{\"type\":\"ping\"}", NULL },
        { "{\"type\":\"bye\"}", NULL },
        { "{\"type\":\"credit\"}", "{\"messages\":3,\"bytes\":100000}" },
        { "{\"type\":\"credit\"}", "{\"messages\":100,\"bytes\":100000000}" },
        { "{\"type\":\"subscribe\",\"id\":\"u\",\"to\":\"topic:t\"}", "{\"from\":0}" },
        { "{\"type\":\"unsubscribe\",\"to\":\"topic:t\"}", NULL },
        { "{\"type\":\"news\",\"to\":\"topic:t\"}", "{\"z\":3}" },
        { "{\"type\":\"ask\",\"id\":\"q\",\"to\":\"service:s0\",\"ttl_ms\":400}", "{}" },
        { "{\"type\":\"reply\",\"to\":\"actor:peer0\",\"re\":\"q\"}", "{}" },
        { "{\"type\":\"peer.drain\",\"id\":\"d\",\"to\":\"actor:broker\"}",
            "{\"name\":\"peer1\"}" },
        { "{\"type\":\"service.pause\",\"id\":\"p\",\"to\":\"actor:broker\"}",
            "{\"service\":\"s0\"}" },
        { "{\"type\":\"service.resume\",\"id\":\"p\",\"to\":\"actor:broker\"}",
            "{\"service\":\"s0\"}" } };
    const char *const *word = words[(size_t) arg % (sizeof words / sizeof *words)];
    s_say (self, peer, word[0], word[1]);
}

//  ------------------------------------------------------------------------------------------------
//  What happens to all

static void
s_batch (world_t *self, peer_t *peer, int arg)
{
    (void) peer;
    argos_sim_net_batch (self->net, 1 + (size_t) arg, true);
    s_read (self);
}

static void
s_pass (world_t *self, peer_t *peer, int arg)
{
    static const int ms[] = { 1, 50, 400, 900, 2500, 5100, 16000, 60000 };
    (void) peer;
    argos_sim_net_sleep (self->net, ms[arg & 7]);
    s_read (self);
}

static void
s_crash (world_t *self, peer_t *peer, int arg)
{
    (void) peer;
    (void) arg;
    argos_sim_net_crash (self->net);
    argos_sim_shadow_restarted (self->shadow, self->net);
    for (int i = 0; i < PEERS; i++)
        self->peers[i].conn = ++self->last_conn;
}

static void
s_cut (world_t *self, peer_t *peer, int arg)
{
    if (arg & 1)
        argos_core_gone (self->net->core, peer->conn);
    argos_sim_net_cut (self->net, peer->conn);
    peer->conn = ++self->last_conn;
}

static void
s_check (world_t *self)
{
    argos_sim_net_settle (self->net);
    s_read (self);
    const char *wrong = argos_sim_net_excess (self->net);
    if (!wrong)
        wrong = argos_sim_net_difference (self->net);
    if (wrong)
        s_wrong (NULL, wrong);
    argos_sim_shadow_compare (self->shadow, self->net);
}

static void
s_look (world_t *self, peer_t *peer, int arg)
{
    (void) peer;
    (void) arg;
    s_check (self);
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    static void (*const actions[]) (world_t *, peer_t *, int) = { s_hello, s_serve, s_send, s_send,
        s_commit, s_done, s_done, s_release, s_word, s_batch, s_batch, s_pass, s_crash, s_cut,
        s_look };
    world_t self = { .net = argos_sim_net_new ("memory"), .last_conn = PEERS };
    self.shadow = argos_sim_shadow_new (s_wrong, NULL);
    self.net->executed = s_executed;
    self.net->arg = &self;
    for (int i = 0; i < PEERS; i++)
        self.peers[i] = (peer_t){ .conn = (uint64_t) i + 1, .instance = 1 };
    for (size_t i = 0; i + 1 < size && i < (size_t) 2 * ACTIONS_MAX; i += 2) {
        size_t action = data[i] % (sizeof actions / sizeof *actions);
        actions[action](&self, &self.peers[data[i + 1] & 3], data[i + 1] >> 2);
    }
    s_check (&self);
    argos_sim_net_destroy (&self.net);
    argos_sim_shadow_destroy (&self.shadow);
    return 0;
}
