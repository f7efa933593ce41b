//  argos_roles - see argos_roles.h.
//
//  Invariant: nothing but data, and nothing is allowed but by a line of it.

#include "argos_roles.h"

#include <stddef.h>

const argos_roles_rule_t argos_roles_builtin[] = {
    //  Our own actors
    { "core", ARGOS_RULE_EVERYTHING, "", "" },

    //  A chat platform: brings messages in, takes answers out
    { "adapter", ARGOS_RULE_SEND, "message.inbound", "service:gateway" },
    { "adapter", ARGOS_RULE_SEND, "receipt.put", "store" },
    { "adapter", ARGOS_RULE_SEND, "deliver.request", "service:deliver.{platform}.{account}" },
    { "adapter", ARGOS_RULE_SEND, "cursor.*", "store" },
    { "adapter", ARGOS_RULE_SEND, "expect", "store" },
    { "adapter", ARGOS_RULE_SEND, "blob.put", "store" },
    { "adapter", ARGOS_RULE_SEND, "blob.stat", "store" },
    { "adapter", ARGOS_RULE_SEND, "blob.get", "store" },
    { "adapter", ARGOS_RULE_SEND, "run.get", "store" },
    { "adapter", ARGOS_RULE_SEND, ">", "topic:{name}" },
    { "adapter", ARGOS_RULE_SEND, ">", "topic:{name}.>" },
    { "adapter", ARGOS_RULE_LEASE, "", "deliver.{platform}.{account}" },
    { "adapter", ARGOS_RULE_READ, "", "run.>" },
    { "adapter", ARGOS_RULE_READ, "", "out.{platform}.{account}" },

    //  A worker of a service of the user's own, whatever it is called
    { "worker", ARGOS_RULE_SEND, ">", "service:>" },
    { "worker", ARGOS_RULE_SEND, ">", "topic:>" },
    { "worker", ARGOS_RULE_SEND, ">", "actor:>" },
    { "worker", ARGOS_RULE_SEND, "message.inbound", "service:gateway" },
    { "worker", ARGOS_RULE_SEND, "expect", "store" },
    { "worker", ARGOS_RULE_SEND, "cursor.*", "store" },
    { "worker", ARGOS_RULE_SEND, "blob.put", "store" },
    { "worker", ARGOS_RULE_SEND, "blob.stat", "store" },
    { "worker", ARGOS_RULE_SEND, "blob.get", "store" },
    { "worker", ARGOS_RULE_SEND, "deliver.request", "service:deliver.>" },
    { "worker", ARGOS_RULE_SEND, "thread.create", "service:deliver.>" },
    { "worker", ARGOS_RULE_SEND, "chat.info", "service:deliver.>" },
    { "worker", ARGOS_RULE_SEND, "probe", "service:deliver.>" },
    { "worker", ARGOS_RULE_SEND, "receipt.get", "store" },
    { "worker", ARGOS_RULE_SEND, "tool.offer", "service:tools" },
    { "worker", ARGOS_RULE_SEND, "agent.acquire", "actor:cache" },
    { "worker", ARGOS_RULE_SEND, "agent.release", "actor:cache" },
    { "worker", ARGOS_RULE_SEND, "agent.evict", "actor:cache" },
    { "worker", ARGOS_RULE_SEND, "agent.list", "actor:cache" },
    { "worker", ARGOS_RULE_READ, "", "agent.>" },
    { "worker", ARGOS_RULE_LEASE, "", ">" },
    { "worker", ARGOS_RULE_READ, "", ">" },
    { "worker", ARGOS_RULE_READ, "", "run.>" },

    //  Tools of the agent
    { "tool", ARGOS_RULE_SEND, ">", "topic:{name}" },
    { "tool", ARGOS_RULE_SEND, ">", "topic:{name}.>" },
    { "tool", ARGOS_RULE_SEND, "blob.put", "store" },
    { "tool", ARGOS_RULE_SEND, "blob.stat", "store" },
    { "tool", ARGOS_RULE_SEND, "blob.get", "store" },
    { "tool", ARGOS_RULE_SEND, "tool.offer", "service:tools" },
    { "tool", ARGOS_RULE_LEASE, "", "tool.>" },

    //  A program that uses the agent and the services of the user; with a key it may serve what
    //  bears its name
    { "client", ARGOS_RULE_SEND, "message.inbound", "service:gateway" },
    { "client", ARGOS_RULE_SEND, "turn.stop", "service:turn" },
    { "client", ARGOS_RULE_SEND, ">", "service:>" },
    { "client", ARGOS_RULE_SEND, ">", "topic:>" },
    { "client", ARGOS_RULE_SEND, ">", "actor:>" },
    { "client", ARGOS_RULE_SEND, "broker.status", "actor:broker" },
    { "client", ARGOS_RULE_SEND, "agent.status", "actor:agent" },
    { "client", ARGOS_RULE_SEND, "run.get", "store" },
    { "client", ARGOS_RULE_SEND, "run.list", "store" },
    { "client", ARGOS_RULE_SEND, "status.get", "store" },
    { "client", ARGOS_RULE_SEND, "route.get", "store" },
    { "client", ARGOS_RULE_SEND, "session.get", "store" },
    { "client", ARGOS_RULE_SEND, "session.load", "store" },
    { "client", ARGOS_RULE_SEND, "cursor.*", "store" },
    { "client", ARGOS_RULE_SEND, "expect", "store" },
    { "client", ARGOS_RULE_SEND, "blob.put", "store" },
    { "client", ARGOS_RULE_SEND, "blob.stat", "store" },
    { "client", ARGOS_RULE_SEND, "blob.get", "store" },
    { "client", ARGOS_RULE_LEASE, "", "{name}" },
    { "client", ARGOS_RULE_LEASE, "", "{name}.>" },
    { "client", ARGOS_RULE_READ, "", ">" },
    { "client", ARGOS_RULE_READ, "", "run.>" },

    //  Looks on
    { "observer", ARGOS_RULE_SEND, "broker.status", "actor:broker" },
    { "observer", ARGOS_RULE_SEND, "broker.stats", "actor:broker" },
    { "observer", ARGOS_RULE_SEND, "broker.trace", "actor:broker" },
    { "observer", ARGOS_RULE_SEND, "agent.status", "actor:agent" },
    { "observer", ARGOS_RULE_SEND, "agent.list", "actor:cache" },
    { "observer", ARGOS_RULE_READ, "", "agent.>" },
    { "observer", ARGOS_RULE_SEND, "status.get", "store" },
    { "observer", ARGOS_RULE_SEND, "run.get", "store" },
    { "observer", ARGOS_RULE_SEND, "run.list", "store" },
    { "observer", ARGOS_RULE_SEND, "job.list", "service:job" },
    { "observer", ARGOS_RULE_READ, "", ">" },
    { "observer", ARGOS_RULE_READ, "", "run.>" },
    { "observer", ARGOS_RULE_READ, "", "out.>" },
    { "observer", ARGOS_RULE_READ, "", "hook.>" },
    { "observer", ARGOS_RULE_READ, "", "job.>" },
    { "observer", ARGOS_RULE_WILDCARD, "", "" },

    //  The command line of who runs the daemon
    { "operator", ARGOS_RULE_LIKE, "", "client" },
    { "operator", ARGOS_RULE_LIKE, "", "observer" },
    { "operator", ARGOS_RULE_SEND, "dead.*", "store" },
    { "operator", ARGOS_RULE_SEND, "delivery.*", "store" },
    { "operator", ARGOS_RULE_SEND, "deliver.request", "service:deliver.>" },
    { "operator", ARGOS_RULE_SEND, "thread.create", "service:deliver.>" },
    { "operator", ARGOS_RULE_SEND, "chat.info", "service:deliver.>" },
    { "operator", ARGOS_RULE_SEND, "probe", "service:deliver.>" },
    { "operator", ARGOS_RULE_SEND, "receipt.get", "store" },
    { "operator", ARGOS_RULE_SEND, "lane.list", "store" },
    { "operator", ARGOS_RULE_SEND, "record.get", "store" },
    { "operator", ARGOS_RULE_SEND, "record.list", "store" },
    { "operator", ARGOS_RULE_SEND, "session.list", "store" },
    { "operator", ARGOS_RULE_SEND, "session.resolve", "store" },
    { "operator", ARGOS_RULE_SEND, "session.lineage", "store" },
    { "operator", ARGOS_RULE_SEND, "session.search", "store" },
    { "operator", ARGOS_RULE_SEND, "session.stats", "store" },
    { "operator", ARGOS_RULE_SEND, "session.title", "store" },
    { "operator", ARGOS_RULE_SEND, "session.rename", "store" },
    { "operator", ARGOS_RULE_SEND, "session.update", "store" },
    { "operator", ARGOS_RULE_SEND, "session.reopen", "store" },
    { "operator", ARGOS_RULE_SEND, "session.branch", "store" },
    { "operator", ARGOS_RULE_SEND, "session.delete", "store" },
    { "operator", ARGOS_RULE_SEND, "session.prune", "store" },
    { "operator", ARGOS_RULE_SEND, "usage.get", "store" },
    { "operator", ARGOS_RULE_SEND, "db.*", "store" },
    { "operator", ARGOS_RULE_SEND, "session.import", "store" },
    { "operator", ARGOS_RULE_SEND, "route.bind", "store" },
    { "operator", ARGOS_RULE_SEND, "route.list", "store" },
    { "operator", ARGOS_RULE_SEND, "handoff.request", "store" },
    { "operator", ARGOS_RULE_SEND, "handoff.begin", "service:handoff" },
    { "operator", ARGOS_RULE_SEND, "session.ensure", "store" },
    { "operator", ARGOS_RULE_READ, "", "handoff.>" },
    { "operator", ARGOS_RULE_SEND, "handoff.state", "store" },
    { "operator", ARGOS_RULE_SEND, "handoff.list", "store" },
    { "operator", ARGOS_RULE_SEND, "handoff.fail", "store" },
    { "operator", ARGOS_RULE_SEND, "agent.evict", "actor:cache" },
    { "operator", ARGOS_RULE_SEND, "config.get", "actor:broker" },
    { "operator", ARGOS_RULE_SEND, "peer.drain", "actor:broker" },
    { "operator", ARGOS_RULE_SEND, "channel.*", "actor:gateway" },
    { "operator", ARGOS_RULE_SEND, "pairing.*", "actor:gateway" },
    { "operator", ARGOS_RULE_SEND, "service.pause", "actor:broker" },
    { "operator", ARGOS_RULE_SEND, "service.drop", "actor:broker" },
    { "operator", ARGOS_RULE_SEND, "config.reload", "actor:daemon" },
    { "operator", ARGOS_RULE_SEND, "daemon.restart", "service:daemon" },
    { "operator", ARGOS_RULE_SEND, "hook.command", "actor:hooks" },
    { "operator", ARGOS_RULE_SEND, "job.*", "service:job" },
    { "operator", ARGOS_RULE_LEASE, "", "deliver.{platform}.{account}" },
    { "operator", ARGOS_RULE_SEND, "receipt.put", "store" },

    { NULL, ARGOS_RULE_SEND, NULL, NULL },
};

const char *const argos_roles_ipc[] = { "adapter", "client", "tool", NULL };

const char *const argos_roles_core_services[] = { "gateway", "turn", "handoff", "job", "deliver",
    "tool", "tools", "daemon", NULL };

const char *const argos_roles_core_topics[] = { "run", "out", "hook", "config", "job", "agent",
    "tool", "handoff", NULL };

const char *const argos_roles_core_actors[] = { "broker", "store", "auth", "supervisor", "gateway",
    "agent", "cache", "tools", "jobs", "handoff", "scheduler", "api", "daemon", "hooks", NULL };
