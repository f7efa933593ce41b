"""The kill loop between two hosts, over tcp + CURVE: the core in one network namespace, agents, tools and the platform in another, and what happens
to processes and to the link between them, which is a relay of our own (tests/net/argos_relay.c).

netfaults.py [MESSAGES] [SEED]: until so many messages were sent, and each fault was there. Prints the seed; with the same seed the same faults
come after the same times. Needs root.
"""
import collections
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from conftest import BUILD, wait_until
from edge import Edge
from killloop import KillLoop

FAULT_S = (0.2, 4.0)  # How long one lasts
CORE, EDGE = "10.77.0.1", "10.77.0.2"
DENIED = 77  # Exit code of the relay

WEATHER = {"loss of 30 %": "loss=30", "delay of 50 to 200 ms": "delay=50-200", "reordering": "delay=5-20 reorder=25",
           "doubled packets": "duplicate=30", "loss, delay, reordering": "loss=10 delay=20-80 reorder=10 duplicate=5"}
SEEN = {"loss of 30 %": "lost", "reordering": "reordered", "doubled packets": "duplicated"}  # What the relay must have counted then

#  Why the core may refuse; anything else is a fault of ours
EXPLAINED = {
    "no_session": "the session had ended with its core, or in silence",
    "superseded": "another connection of that name was newer",
    "gone": "the peer that had a request was killed or silent",
    "fenced": "the lease had ended in silence and was another's",
    "no_peer": "the cache beside an agent, or the tools of a node, were not there again: the turn goes on without",
    "expired": "the same, and it was there but too far away",
    "busy": "the same, and it had just come and granted no credit yet",
}


def run(*words, check=True):
    return subprocess.run(words, check=check, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


class Net:
    """Two namespaces, and the relay between them."""

    def __init__(self, seed=0):
        self.core, self.edge = (f"argos-{os.getpid()}-{name}" for name in ("core", "edge"))
        self.seed, self.relay = seed, None
        self.packets = collections.Counter()  # What happened to them

    def open(self):
        """Returns why it can't, or None."""
        if not shutil.which("ip") or not shutil.which("tc"):
            return "the package iproute2 is not installed"
        for name in (self.core, self.edge):
            made = run("ip", "netns", "add", name, check=False)
            if made.returncode:
                return made.stdout.strip()
        spaces = [f"/run/netns/{name}" for name in (self.core, self.edge)]
        self.relay = subprocess.Popen([str(BUILD / "tests" / "argos-relay"), str(self.seed), "wire", *spaces], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if self.relay.stdout.readline() != "ready\n":
            why = self.relay.stderr.read().strip()
            assert self.relay.wait() == DENIED, why
            return why
        for name, address in ((self.core, CORE), (self.edge, EDGE)):
            run("ip", "-n", name, "address", "add", f"{address}/24", "dev", "wire")
            run("ip", "-n", name, "link", "set", "lo", "up")
            run("ip", "-n", name, "link", "set", "wire", "addrgenmode", "none")  # No IPv6: it would speak by itself
            run("ip", "-n", name, "link", "set", "wire", "up")
        return None

    def close(self):
        if self.relay:
            self.relay.stdin.close()
            self.relay.wait()
        for name in (self.core, self.edge):
            run("ip", "netns", "delete", name, check=False)

    def inside(self, name):
        return ["ip", "netns", "exec", name]

    #  Each fault: how it begins, how it ends

    def weather(self, words=""):
        """What the relay does to packets from now on. Returns what it did before, by name."""
        self.relay.stdin.write(words + "\n")
        self.relay.stdin.flush()
        counts = collections.Counter({name: int(count) for name, count in (word.split("=") for word in self.relay.stdout.readline().split())})
        self.packets += counts
        return counts

    def down(self):
        run("ip", "-n", self.core, "link", "set", "wire", "down")

    def up(self):
        run("ip", "-n", self.core, "link", "set", "wire", "up")

    def mute(self, name, address):
        """Nothing leaves that namespace; what comes still comes in."""
        run("ip", "-n", name, "route", "add", "blackhole", f"{address}/32")

    def speak(self, name, address):
        run("ip", "-n", name, "route", "delete", "blackhole", f"{address}/32")

    def shape(self, *words):
        for name in (self.core, self.edge):
            run("tc", "-n", name, "qdisc", "replace", "dev", "wire", "root", *words)

    def unshape(self):
        for name in (self.core, self.edge):
            run("tc", "-n", name, "qdisc", "delete", "dev", "wire", "root", check=False)


class NetFaults(KillLoop):
    """fault_s: how long a fault lasts, at least and at most."""

    chats = 100

    def __init__(self, folder, seed, net, fault_s=FAULT_S):
        super().__init__(folder, seed)
        self.net, self.fault_s = net, fault_s
        self.refused = collections.Counter()  # By the cores, by code
        self.deck = []
        self.daemon.prefix = net.inside(net.core)
        self.daemon.edge = Edge(self.daemon.home, BUILD, self.daemon._say, host=CORE, prefix=net.inside(net.edge))

    def argos(self, *words, check=True):
        """What it says; None when it fails and need not succeed."""
        made = subprocess.run([str(BUILD / "argos"), "--home", str(self.daemon.home), "--json", *words], check=check, stdout=subprocess.PIPE, text=True)
        return json.loads(made.stdout) if made.returncode == 0 else None

    #  The platform is on the other host, with a key of its own

    def prepare(self):
        self.daemon.home.mkdir()
        self.key = self.argos("keys", "new", "kill.main", "--role", "adapter", "--platform", "test", "--account", "kill")["file"]
        super().prepare()

    def client_prefix(self):
        return self.net.inside(self.net.edge)

    def client_door(self):
        return [f"tcp://{CORE}:{self.daemon.edge.port}", self.key]

    #  name: (begin, end); both processes are themselves again after end

    def faults(self):
        net, edge = self.net, self.daemon.edge
        return {
            **{name: (lambda words=words: net.weather(words), net.weather) for name, words in WEATHER.items()},
            "link down": (net.down, net.up),
            "core is not heard": (lambda: net.mute(net.core, EDGE), lambda: net.speak(net.core, EDGE)),
            "edge is not heard": (lambda: net.mute(net.edge, CORE), lambda: net.speak(net.edge, CORE)),
            "thin link": (lambda: net.shape("tbf", "rate", "256kbit", "burst", "4kb", "latency", "200ms"), net.unshape),
            "crowded link": (lambda: net.shape("tbf", "rate", "2mbit", "burst", "2kb", "limit", "3000"), net.unshape),
            "edge is stopped": (lambda: edge.signal(signal.SIGSTOP), lambda: edge.signal(signal.SIGCONT)),
            "edge is killed": (self.kill_edge, lambda: edge.start(self.daemon.clean_env())),
            "core is killed": (self.kill_core, self.daemon.start),
            "platform is killed": (self.kill_client, self.start_client),
        }

    def kill_edge(self):
        self.daemon.edge.signal(signal.SIGKILL)
        self.daemon.edge.wait(10)

    def kill_core(self):
        self.note_refused()
        os.kill(self.daemon.process.pid, signal.SIGKILL)
        self.daemon.wait()

    def kill_client(self):
        self.client.kill()
        self.client.wait()

    def note_refused(self):
        """What the core has refused, before it is gone. It may be busy with what the fault before has left."""
        status = wait_until(lambda: self.argos("status", check=False))
        self.refused += collections.Counter(status["broker"]["refused"])

    def kill_one(self):
        #  Each kind once before any comes again
        if not self.deck:
            self.deck = sorted(self.faults())
            self.random.shuffle(self.deck)
        name = self.deck.pop()
        begin, end = self.faults()[name]
        self.kills[name] += 1
        #  The one use of time itself: the instant of a fault, and how long it lasts, are to be any
        time.sleep(self.random.uniform(0.05, 1.0))
        assert self.client.poll() is None, "the client has failed"
        begin()
        time.sleep(self.random.uniform(*self.fault_s))
        end()

    def sent(self):
        return len((self.log / "sent").read_text().splitlines())

    def run(self, messages, faults):
        self.prepare()
        while sum(self.kills.values()) < faults or self.sent() < messages:
            self.kill_one()
        self.refusals = self.check_refused()
        self.finish()

    #  What must hold

    def check_refused(self):
        """Each refusal has a reason in what was done. What the platform was refused, it has explained or failed."""
        self.note_refused()
        unexplained = set(self.refused) - set(EXPLAINED)
        assert not unexplained, f"refused: {self.refused}"
        return self.refused + collections.Counter(line[0] for line in self.lines("refused"))

    def check_weather(self):
        """The faults have been there."""
        missing = [name for name, count in SEEN.items() if self.kills[name] and not self.net.packets[count]]
        assert not missing, f"the relay did nothing: {missing}, {self.net.packets}"

    def told(self):
        return ", ".join(f"{count} x {name}" for name, count in sorted(self.kills.items()))


def counted(counter):
    return ", ".join(f"{count} {name}" for name, count in sorted(counter.items()))


def main(messages=10000, seed=None, faults=28, fault_s=FAULT_S):
    """Returns why it was not run, or None."""
    seed = str(seed or random.randrange(1 << 32))
    net = Net(seed)
    folder = tempfile.mkdtemp(prefix="argos-")
    try:
        why = net.open()
        if why:
            return why
        print(f"network faults: {messages} messages, at least {faults} faults, seed {seed}", flush=True)
        loop = NetFaults(folder, seed, net, fault_s)
        try:
            began = time.monotonic()
            loop.run(int(messages), faults)
            loop.check_weather()
            print(f"lost 0, doubled 0, out of order 0 in {time.monotonic() - began:.0f} s: {loop.check()}; "
                  f"packets: {counted(net.packets)}; refused, all explained: {counted(loop.refusals)}", flush=True)
        except BaseException:
            print(f"failed with seed {seed}: {loop.told()}; home and logs are left in {folder}", flush=True)
            folder = None
            raise
        finally:
            loop.close()
    finally:
        net.close()
        if folder:
            shutil.rmtree(folder, ignore_errors=True)
    return None


if __name__ == "__main__":
    reason = main(*sys.argv[1:3])
    if reason:
        sys.exit(f"network faults: SKIPPED, no network namespaces here: {reason}")
