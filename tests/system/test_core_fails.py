"""The store fails alone: the core ends with a reason, nothing is accepted that is not on disk, and the next start has all that was accepted.

The disk is that of disk_shim.c, between the real argosd and the kernel.
"""
import os

import pytest

from conftest import BUILD, open_when_read, wait_until
from platform_peer import Platform, message
from test_adapter_pyzmq import inbound
from test_gateway import Chat


FAILURE = 1  # Exit code
BIG = "x" * 60000


class Disk:
    """Healthy until told otherwise."""

    def __init__(self, home):
        self.name = home / "disk"

    def env(self):
        return {"LD_PRELOAD": str(BUILD / "tests" / "libargos_disk_shim.so"), "ARGOS_DISK_SHIM": str(self.name),
                "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"}

    def breaks(self, what):
        self.name.with_suffix("." + what).touch()

    def stands_still(self):
        os.mkfifo(self.name.with_suffix(".wait"))

    def goes_on(self):
        path = self.name.with_suffix(".wait")
        writer = open_when_read(path)
        path.unlink()
        os.close(writer)

    def heals(self):
        for what in ("sync", "read"):
            self.name.with_suffix("." + what).unlink(missing_ok=True)


class World:
    """A platform whose messages are answered; what was accepted, what was delivered."""

    def __init__(self, daemon):
        self.platform = Platform(daemon.endpoint, "disk.main", "deliver.test.disk")
        self.chats = 0
        self.posted, self.accepted, self.delivered = [], [], []  # The runs, the ids, the runs

    def post(self, text="hello", chat=None):
        """In a chat of its own, or one that has a message."""
        self.chats += chat is None
        header, body = message("disk", chat or self.chats, len(self.posted) + 1, text)
        self.posted.append(body["run_id"])
        self.platform.post(header, body)
        return header["id"]

    def turn(self):
        for event in self.platform.pump(0.05):
            if event[0] == "accepted":
                self.accepted.append(event[1])
            elif event[0] == "deliver":
                self.delivered.append(event[3]["run_id"])
                self.platform.done(event[2], {"state": "sent", "run_id": event[3]["run_id"]})
        return True

    def until(self, condition):
        wait_until(lambda: self.turn() and condition())

    def settle(self):
        self.until(lambda: sorted(self.delivered) == sorted(self.posted) and not self.platform.open)


def fail(daemon, world, disk, what):
    """The core ends because of it, when what was said in the first chat is wanted: the last line of its log."""
    disk.breaks(what)
    accepted = list(world.accepted)
    late = world.post(BIG, chat=1)
    wait_until(lambda: world.turn() and daemon.process.poll() is not None)
    for _ in range(5):
        world.turn()  # Whatever it had sent
    assert daemon.wait() == FAILURE, daemon.text()
    disk.heals()
    if what == "sync":
        assert world.accepted == accepted, "accepted without the disk"
    assert late not in accepted
    return [line for line in daemon.log if line and line.startswith("argosd: ")][-1]


@pytest.mark.parametrize("what, reason", [("sync", "disk I/O error"), ("read", "malformed")])
def test_a_core_whose_disk_fails_ends_with_a_reason(daemon, what, reason):
    disk = Disk(daemon.home)
    daemon.start(env=disk.env())
    world = World(daemon)
    for _ in range(3):
        world.post(BIG)
    world.settle()
    #  The log is copied back, and nothing is kept of the pages
    assert daemon.stop() == 0, daemon.text()
    daemon.start(env=disk.env())
    line = fail(daemon, world, disk, what)
    assert "store" in line and reason in line, line
    #  As a service manager would
    daemon.start(env=disk.env())
    world.post()
    world.settle()
    assert len(world.accepted) == len(world.posted) == len(set(world.accepted))
    assert daemon.stop() == 0, daemon.text()


def test_a_disk_that_stands_still_holds_up_no_link(daemon):
    disk = Disk(daemon.home)
    daemon.start(env=disk.env())
    chat = Chat(daemon)
    chat.ask("hello")
    disk.stands_still()
    header, body, run_id = inbound("well")
    chat.peer.send(header, body)
    for _ in range(20):
        assert chat.peer.ask({"type": "ping"})[0]["type"] == "pong"
        assert chat.peer.ask({"type": "hook.command", "to": "actor:hooks", "ttl_ms": 20_000}, {"command": "x"})[2]["decision"] == "allow"
    assert not any(message[0].get("re") == header["id"] for message in chat.peer.waiting)  # Nor is anything accepted
    disk.goes_on()
    assert chat.peer.receive(lambda answer, _: answer.get("re") == header["id"])[0]["type"] == "accepted"
    assert chat.answer(run_id)["text"] == "You said: well"
    chat.peer.close()
    assert daemon.stop() == 0, daemon.text()
