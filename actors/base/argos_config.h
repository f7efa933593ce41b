//  argos_config - the configuration: HOME/argos.yaml, HOME/local.yaml and the environment as one
//  checked snapshot.
//
//  local.yaml is what programs write (argos config set), laid over argos.yaml, which is a person's;
//  the environment is laid over both.
//  Everything is described by schema/config.schema.json, which holds the defaults too. A missing
//  file means all defaults. A wrong value is an error with file, line, key and what was expected;
//  an unknown key is a warning with the nearest known one. The snapshot is plain memory that nobody
//  changes once the actors have started, so all threads may read it.

#ifndef ARGOS_CONFIG_H
#define ARGOS_CONFIG_H

#include "argos_log.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARGOS_CONFIG_FILE "argos.yaml"  //  Name of the file in the home
#define ARGOS_CONFIG_LOCAL "local.yaml" //  Of the one that programs write
#define ARGOS_CONFIG_NODE "node.json"   //  Of a node: what it has from its core; the others win

typedef enum {
    ARGOS_PROVIDER_OPENAI,    //  Chat completions
    ARGOS_PROVIDER_ANTHROPIC, //  Messages
    ARGOS_PROVIDER_REHEARSAL  //  The one inside argosd
} argos_provider_kind_t;

typedef struct {
    bool enabled;                        //  Serve HTTP at all
    const char *host;                    //  Address to listen on
    int port;                            //  Port to listen on, 0 = any free one
    bool allow_unauthenticated_loopback; //  Serve loopback without a key
    int max_concurrent_runs;             //  More are answered 429; 0 = no limit
    const char *tls_cert;                //  File with the certificate chain, "" = in clear
    const char *tls_key;                 //  File with its key
    bool allow_cleartext;                //  In clear also where others can connect
    const char *model_name;              //  Offered by /v1/models
    bool direct_model_requests;          //  The model of a chat goes to the provider
    int disconnect_grace_s;              //  From a hang-up to the end of the run
    int keepalive_s;                     //  Silence on a stream before a comment
    const char *const *cors_origins;     //  NULL-terminated, "" list when none
} argos_config_http_t;

#define ARGOS_FALLBACKS_MAX 4 //  Providers that stand in for the first one

//  A provider that is known by name

typedef struct {
    const char *name;           //  For people
    argos_provider_kind_t kind; //  Wire protocol
    const char *variable;       //  Where the key is looked for
    const char *base_url;       //  Public address
    const char *model;          //  What is asked when the file names none
} argos_config_vendor_t;

typedef struct {
    argos_provider_kind_t kind; //  Which wire protocol
    bool configured;            //  Named in the file; false: found in the environment, or rehearsal
    const char *base_url;       //  Without a slash at its end; "" for rehearsal
    const char *model;          //  Name of the model
    const char *key;            //  Secret; "" for rehearsal and when there is a problem
    const char *problem;        //  Why no turn can succeed, a sentence; "" = none
} argos_config_provider_t;

typedef struct {
    const char *system_prompt; //  First message of each conversation
    int max_iterations;        //  Calls of the model in one turn
    int max_turns;             //  Turns at a time
} argos_config_agent_t;

typedef struct {
    int64_t lease_ms;        //  Silence that ends leases
    int64_t quiet_ms;        //  Silence after which nothing new is leased
    int64_t ping_ms;         //  Told to peers
    int64_t window_messages; //  Send window of a peer
    int64_t window_bytes;    //  The same in bytes
    int64_t service_max;     //  Waiting messages of one service
    int64_t lane_max;        //  Waiting messages of one lane
    int64_t peer_max;        //  Waiting messages of one peer
    int64_t ring_bytes;      //  All topic rings together
    int64_t ring_entries;    //  Entries of one ring
    int64_t linger_ms;       //  How long a closed topic stays in memory
    int64_t slow_ms;         //  How long a reader may take nothing of what waits for it
    int64_t trace_entries;   //  Records of the trace, 0 = none
    int64_t connections_max; //  Of other processes, 0 = by the descriptors
} argos_config_broker_t;

typedef struct {
    int64_t max_bytes;   //  Bytes of one file
    int64_t total_bytes; //  Of all together
    int64_t keep_ms;     //  Of one that no run needs
} argos_config_blobs_t;

//  Limits of one service; 0 = as for all

typedef struct {
    const char *service; //  Its name
    int64_t hold_max_ms; //  A lease that is held longer is ended; 0 = never
    int64_t max;         //  Messages that wait for it
    int64_t lane_max;    //  Messages that wait in one of its lanes
} argos_config_service_t;

typedef struct {
    const char *match;    //  Name or pattern of topics
    int64_t keep_ms;      //  Age of an entry, 0 = no limit
    int64_t keep_bytes;   //  Bytes of one topic, 0 = no limit
    int64_t keep_entries; //  Entries of one topic, 0 = no limit
} argos_config_topic_t;

typedef struct {
    int timeout_s;       //  Longest run of a command
    int64_t output_max;  //  Bytes of output that the model gets
    const char *workdir; //  Where commands run, absolute; "" = the home of the user
} argos_config_terminal_t;

#define ARGOS_CONFIG_BIND_MAX 8    //  Endpoints that the broker listens on
#define ARGOS_CONFIG_PLACES_MAX 16 //  Entries of actors of a node

#define ARGOS_CONFIG_ACCOUNTS_MAX 16 //  Accounts of one platform

//  An entry of a node's actors: `agent`, `agent*8`, `telegram`, `telegram.work`; on the command
//  line `agent.3` as well

typedef struct {
    const char *actor; //  Which; static
    int count;         //  So many
    int number;        //  Only this one of them; 0 = all
    char account[25];  //  Of an adapter: only this account; "" = all
} argos_config_place_t;

typedef struct {
    const char *name;                                     //  Of the node
    size_t place_count;                                   //  Entries
    argos_config_place_t places[ARGOS_CONFIG_PLACES_MAX]; //  What runs there
    const char **bind;                                    //  Of the core's; NULL = as `bind`
    const char *broker;                                   //  tcp:// of the core, "" = it is here
} argos_config_node_t;

//  A foreign adapter that argosd starts

typedef struct {
    const char *platform; //  Kind of platform
    const char *account;  //  Our account there
    const char **command; //  Words, NULL-terminated
    char **env;           //  NAME=value, NULL-terminated
} argos_config_adapter_t;

typedef struct {
    const char *home;                 //  The folder of this instance
    const char **bind;                //  What the broker listens on: ipc, ipc:///..., tcp://...
    size_t node_count;                //  Nodes; 0 = everything is one
    argos_config_node_t *nodes;       //  Each
    size_t adapter_count;             //  Foreign adapters
    argos_config_adapter_t *adapters; //  Each
    argos_log_level_t log_level;      //  What is logged
    argos_config_http_t http;         //  The runs API
    int run_retention_s;              //  How long its runs are kept when they have ended
    argos_config_provider_t provider; //  Who answers
    argos_config_provider_t fallbacks[ARGOS_FALLBACKS_MAX]; //  Who answers when that one can't
    size_t fallback_count;                                  //  How many
    argos_config_agent_t agent;                             //  Turns
    argos_config_broker_t broker;                           //  Limits of the broker
    argos_config_terminal_t terminal;                       //  The tool
    argos_config_blobs_t blobs;                             //  Files by reference
    const argos_config_service_t *service_limits; //  service_count limits of particular services
    size_t service_count;                         //  How many
    const argos_config_topic_t *topics;           //  Retention, topic_count rules
    size_t topic_count;                           //  How many
    const char *const *services;  //  Further services to be declared, NULL-terminated
    const char *const *ipc_roles; //  Of a peer of this host without a token, NULL-terminated
    const char *ipc_group;        //  Whose members may connect by ipc, "" = none
    const char *roles;            //  Further roles: JSON for argos_access_new, checked
    const json_t *settings;       //  All of it as JSON with its defaults: see argos_setting
    void *memory;                 //  What all the strings point into; private
} argos_config_t;

//  Called for each unknown key with one sentence ("argos.yaml:7: http.prot: unknown key; did you
//  mean port?").
typedef void (argos_config_warn_fn) (void *arg, const char *sentence);

//  Reads home/argos.yaml and local.yaml (a missing one is fine), under them node.json, and the
//  environment (the table of
//  argos_config_env; OPENAI_API_KEY, OPENROUTER_API_KEY, ANTHROPIC_API_KEY; what env:NAME names).
//  Returns a new snapshot, or NULL with one sentence in reason (size bytes, 512 is enough), which
//  names file, line, key and what was expected: argosd then exits with 78. warn may be NULL.
argos_config_t *argos_config_load (
    const char *home, argos_config_warn_fn *warn, void *arg, char *reason, size_t size);

//  Where the value at path was set: "argos.yaml:7", the name of a variable; "default" when nowhere.
//  Borrowed.
const char *argos_config_origin (const argos_config_t *self, const char *path);

//  The settings of an empty home, without the environment: all defaults. New, the caller's.
json_t *argos_config_defaults (void);

//  Adds the keys whose value is another in the new settings: to changed, or to restart when the new
//  value holds after a restart only. Both are arrays.
void argos_config_diff (const json_t *old, const json_t *new, json_t *changed, json_t *restart);

//  Sets a key in home/local.yaml (value is stolen; NULL takes it out of there), when all settings
//  are valid then. Returns 0, or -1 with a sentence in reason, and nothing has changed.
int argos_config_set (const char *home, const char *path, json_t *value, char *reason, size_t size);

//  What the nodes of this core take over, as text (config.schema.json marks those sections by
//  x-node), defaults filled in: without the adapters, without secrets, env: and file: unresolved.
//  New; NULL when that is more than one message can hold (1,000,000 bytes).
char *argos_config_snapshot (const argos_config_t *config);

//  The providers that are known by name, in the order in which they are looked for; NULL behind the
//  last. Static.
const argos_config_vendor_t *argos_config_vendor (size_t index);

//  The actors that can be placed, NULL-terminated; static.
const char *const *argos_config_actor_names (void);

//  Those of them that are adapters of ours, and whether one is.
const char *const *argos_config_adapter_names (void);
bool argos_config_is_adapter (const char *actor);

//  The accounts that such an adapter has (main: that of platforms.<p>.token), without those that a
//  program of `adapters` serves. Returns how many; borrowed.
size_t argos_config_accounts (const argos_config_t *config, const char *platform,
    const char *names[static ARGOS_CONFIG_ACCOUNTS_MAX]);

//  Reads an entry of actors. Returns false when it is none.
bool argos_config_place (const char *text, argos_config_place_t *ret_place);

//  Whether text can be the name of a node: 1 to 31 of a-z 0-9 _ -, a letter first.
bool argos_config_node_name (const char *text);

//  Whether text is an address to connect to (bind false: ipc:///path, tcp://host:port) or to listen
//  on (the same, and the word ipc).
bool argos_config_endpoint (const char *endpoint, bool bind);

//  Frees the snapshot (the key is wiped). NULL-safe, idempotent.
void argos_config_destroy (argos_config_t **self_p);

//  The commented file for a new home: every key with its meaning and default, all commented out (it
//  is argos.example.yaml). Borrowed, static.
const char *argos_config_template (void);

#endif
