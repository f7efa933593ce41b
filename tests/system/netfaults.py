"""The kill loop between two hosts: core and agents in network namespaces of their own, over tcp + CURVE, and what happens to a network.

netfaults.py [FAULTS] [SEED]: prints the seed; with the same seed the same faults come after the same times. Needs root.
"""
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from conftest import BUILD
from edge import Edge
from killloop import KillLoop

FAULT_S = (0.2, 4.0)  # How long one lasts
CORE, EDGE = "10.77.0.1", "10.77.0.2"


def run(*words, check=True):
    return subprocess.run(words, check=check, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


class Net:
    """Two namespaces with a wire between them."""

    def __init__(self):
        self.core, self.edge = (f"argos-{os.getpid()}-{name}" for name in ("core", "edge"))

    def open(self):
        """Returns why it can't, or None."""
        if not shutil.which("ip") or not shutil.which("tc"):
            return "the package iproute2 is not installed"
        for name, peer in ((self.core, None), (self.edge, None)):
            made = run("ip", "netns", "add", name, check=False)
            if made.returncode:
                return made.stdout.strip()
        made = run("ip", "-n", self.core, "link", "add", "wire", "type", "veth", "peer", "name", "wire", "netns", self.edge, check=False)
        if made.returncode:
            return made.stdout.strip()
        for name, address in ((self.core, CORE), (self.edge, EDGE)):
            run("ip", "-n", name, "address", "add", f"{address}/24", "dev", "wire")
            run("ip", "-n", name, "link", "set", "lo", "up")
            run("ip", "-n", name, "link", "set", "wire", "up")
        return None

    def close(self):
        for name in (self.core, self.edge):
            run("ip", "netns", "delete", name, check=False)

    def inside(self, name):
        return ["ip", "netns", "exec", name]

    #  Each fault: how it begins, how it ends

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
    def __init__(self, folder, seed, net):
        super().__init__(folder, seed)
        self.net = net
        self.daemon.prefix = net.inside(net.core)
        self.daemon.edge = Edge(self.daemon.home, BUILD, self.daemon._say, host=CORE, prefix=net.inside(net.edge))

    #  name: (begin, end); both processes are themselves again after end

    def faults(self):
        net, edge = self.net, self.daemon.edge
        return {
            "link down": (net.down, net.up),
            "core is not heard": (lambda: net.mute(net.core, EDGE), lambda: net.speak(net.core, EDGE)),
            "edge is not heard": (lambda: net.mute(net.edge, CORE), lambda: net.speak(net.edge, CORE)),
            "thin link": (lambda: net.shape("tbf", "rate", "256kbit", "burst", "4kb", "latency", "200ms"), net.unshape),
            "crowded link": (lambda: net.shape("tbf", "rate", "2mbit", "burst", "2kb", "limit", "3000"), net.unshape),
            "edge is stopped": (lambda: edge.signal(signal.SIGSTOP), lambda: edge.signal(signal.SIGCONT)),
            "edge is killed": (self.kill_edge, lambda: edge.start(self.daemon.clean_env())),
            "core is killed": (self.kill_core, self.daemon.start),
        }

    def kill_edge(self):
        self.daemon.edge.signal(signal.SIGKILL)
        self.daemon.edge.wait(10)

    def kill_core(self):
        os.kill(self.daemon.process.pid, signal.SIGKILL)
        self.daemon.wait()

    def kill_one(self):
        name, (begin, end) = self.random.choice(sorted(self.faults().items()))
        self.kills[name] += 1
        #  The one use of time itself: the instant of a fault, and how long it lasts, are to be any
        time.sleep(self.random.uniform(0.05, 1.0))
        assert self.client.poll() is None, "the client has failed"
        begin()
        time.sleep(self.random.uniform(*FAULT_S))
        end()

    def told(self):
        return ", ".join(f"{count} x {name}" for name, count in sorted(self.kills.items()))


def main(faults=100, seed=None):
    """Returns why it was not run, or None."""
    seed = str(seed or random.randrange(1 << 32))
    net = Net()
    folder = tempfile.mkdtemp(prefix="argos-")
    try:
        why = net.open()
        if why:
            return why
        print(f"network faults: {faults}, seed {seed}", flush=True)
        loop = NetFaults(folder, seed, net)
        try:
            loop.run(int(faults))
            print(f"{loop.told()}; {loop.check()}", flush=True)
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
