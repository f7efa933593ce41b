"""The client of the kill loop, a process of its own that is killed too: killloop_client.py HOME LOG SEED CHATS [ENDPOINT KEY-FILE]

It sends numbered messages to each chat, one after the other is answered, until LOG/stop exists, and delivers what comes. What the
outside world would remember is appended to LOG/world before the delivery is ended: one line for each effect, with the attempt. The
next number of a chat follows from LOG/sent.
"""
import collections
import json
import pathlib
import random
import sys

from platform_peer import Platform, message

AHEAD = 3  # Messages of a chat on the way
AGAIN = 500  # Messages that a new process sends again though they are delivered


def text_of(seed, log, chat, number):
    """Half of the turns run a tool that leaves one line in the world; the choice follows from seed, chat and number."""
    choice = random.Random(f"{seed}:{chat}:{number}").random()
    if choice < 0.5:
        return f'!tool terminal {{"command":"echo {chat}:{number} >> {log}/tools; echo done {number}"}}'
    if choice < 0.6:
        return "!slow 5"
    return f"message {number}"


class Client:
    def __init__(self, home, log, seed, chats, endpoint=None, key=None):
        home, self.log, self.seed, self.chats = pathlib.Path(home), pathlib.Path(log), seed, int(chats)
        other = home / "run" / "broker.endpoint"
        endpoint = endpoint or (other.read_text() if other.exists() else f"ipc://{home}/run/broker.sock")
        self.sent_file = open(self.log / "sent", "a", buffering=1)
        self.accepted_file = open(self.log / "accepted", "a", buffering=1)
        self.world_file = open(self.log / "world", "a", buffering=1)
        self.refused_file = open(self.log / "refused", "a", buffering=1)
        self.next = collections.Counter()
        self.waiting = collections.defaultdict(set)  # Numbers of a chat that are not delivered yet
        self.platform = Platform(endpoint, "kill.main", "deliver.test.kill", key=json.loads(pathlib.Path(key).read_text()) if key else None)

    def lines(self, name):
        # A killed writer may leave half a line; the writes are single, so only the last can be
        return [line.split() for line in (self.log / name).read_text().splitlines()]

    def resume(self):
        delivered = {(int(line[0]), int(line[1])) for line in self.lines("world")}
        sent = [(int(chat), int(number)) for chat, number in self.lines("sent")]
        for place, (chat, number) in enumerate(sent):
            self.next[chat] = max(self.next[chat], number + 1)
            if (chat, number) not in delivered:
                self.waiting[chat].add(number)
            if (chat, number) not in delivered or place >= len(sent) - AGAIN:
                self.platform.post(*message("kill", chat, number, text_of(self.seed, self.log, chat, number)))

    def send_more(self):
        for chat in range(self.chats):
            while len(self.waiting[chat]) < AHEAD:
                number = self.next[chat]
                self.next[chat] += 1
                self.waiting[chat].add(number)
                self.sent_file.write(f"{chat} {number}\n")
                self.platform.post(*message("kill", chat, number, text_of(self.seed, self.log, chat, number)))

    def deliver(self, meta, body):
        """The effect outside comes first, then the end of the lease: killed in between, it comes again with a higher attempt."""
        chat, number = int(body["run_id"][4:20], 16), int(body["run_id"][20:], 16)
        self.world_file.write(f"{chat} {number} {meta['seq']} {meta['attempt']} {body['kind']}\n")
        self.waiting[chat].discard(number)
        self.platform.done(meta, {"state": "sent", "run_id": body["run_id"]})

    def over(self):
        return (not self.platform.pending and not self.platform.open and not any(self.waiting.values()))

    def run(self):
        self.resume()
        while True:
            stopping = (self.log / "stop").exists()
            if not stopping:
                self.send_more()
            elif self.over():
                break
            for event in self.platform.pump(0.05):
                if event[0] == "accepted":
                    self.accepted_file.write(event[1] + "\n")
                elif event[0] == "deliver":
                    self.deliver(event[2], event[3])
                elif event[0] == "refused":
                    self.refused_file.write(f"{event[1]} {event[2]}\n")
        self.platform.close()


if __name__ == "__main__":
    Client(*sys.argv[1:7]).run()
