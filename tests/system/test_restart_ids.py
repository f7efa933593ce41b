"""The toys excluded: a thousand ids, kill -9, the same ids again: a thousand turns, a thousand deliveries."""
import collections
import sqlite3
import time

from platform_peer import Platform, message

COUNT = 1000
CHATS = 40
DEADLINE_S = 150


def drive(platform, delivered, until):
    """Deliver what comes until `until()` is true."""
    deadline = time.monotonic() + DEADLINE_S
    while not until():
        assert time.monotonic() < deadline, f"{len(delivered)} deliveries, {len(platform.pending)} not accepted"
        for event in platform.pump():
            if event[0] == "deliver":
                _, _, meta, body = event
                delivered[body["run_id"]].add(meta["seq"])
                platform.done(meta, {"state": "sent", "run_id": body["run_id"]})


def post_all(platform):
    for number in range(COUNT // CHATS):
        for chat in range(CHATS):
            platform.post(*message("ids", chat, number, f"message {number}"))


def test_the_same_ids_again_are_the_same_messages(daemon):
    daemon.home.mkdir(exist_ok=True)
    (daemon.home / "argos.yaml").write_text("provider: {kind: rehearsal}\ngateway: {queue_max: 1000}\n")
    daemon.start()
    delivered = collections.defaultdict(set)
    platform = Platform(daemon.endpoint, "ids.main", "deliver.test.ids")
    post_all(platform)
    drive(platform, delivered, lambda: len(platform.pending) < COUNT // 2)
    daemon.kill()
    daemon.start()

    post_all(platform)
    drive(platform, delivered, lambda: not platform.pending and not platform.open and len(delivered) == COUNT)
    post_all(platform)  # And once more, when all is over
    drive(platform, delivered, lambda: not platform.pending and not platform.open)
    platform.close()
    assert daemon.stop() == 0

    assert all(len(seqs) == 1 for seqs in delivered.values())
    database = sqlite3.connect(daemon.home / "argos.db")
    number = lambda sql: database.execute(sql).fetchone()[0]
    assert number("SELECT count (*) FROM queue") == 0
    assert number("SELECT count (*) FROM dead") == 0
    assert number("SELECT count (*) FROM runs WHERE state = 'completed'") == COUNT
    assert number("SELECT count (*) FROM messages WHERE role = 'user'") == COUNT
    assert number("SELECT count (*) FROM messages WHERE role = 'assistant'") == COUNT
    assert number("SELECT count (DISTINCT run_id) FROM receipts") == COUNT
    assert number("SELECT count (*) FROM receipts") == COUNT
