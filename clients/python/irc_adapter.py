#!/usr/bin/python3
"""An adapter for IRC: a platform of its own in one file, with the library beside it and nothing else.

    irc_adapter.py [--home DIR | --endpoint E] [--key FILE] [--server HOST[:PORT]] [--tls] [--ca FILE] [--nick NICK] [--join '#a,#b'] [ACCOUNT]

What it takes from the environment when it is not told: $ARGOS_ENDPOINT, $ARGOS_KEY, $ARGOS_ACCOUNT, $IRC_SERVER, $IRC_TLS, $IRC_NICK, $IRC_JOIN,
$IRC_PASSWORD (for PASS). In channels it hears what begins with its nick ("argos: hello"), in direct messages everything; a line that
begins with "!" is a command ("!status"), because clients keep those with a slash for themselves.

IRC has no ids of messages, no edits and no word that something arrived. So: the id of a message is made of the start of this program and a
number (or is the server's msgid where it has one); a text goes out line by line, then a PING: when its PONG is back the server has had
the lines, and an error that came before it is the answer's. What was on its way when the connection broke is reported as unknown.
"""
import argparse
import collections
import os
import select
import signal
import socket
import ssl
import sys
import time

import argos

LINE_MAX, MASK_MAX = 510, 76  # Bytes of a line without its end; of our own nick!user@host until we know it
TEXT_MAX = 16384              # Bytes of an answer: it would take minutes
BURST, GAP_S = 4, 0.3         # Lines at once, then one in so long: servers put out who is faster
CONNECT_S, SILENCE_S, PAUSE_MAX_S = 5, 60, 60


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    env = os.environ.get
    for name in ("home", "endpoint", "key", "ca"):
        parser.add_argument("--" + name)
    parser.add_argument("--server", default=env("IRC_SERVER", "localhost"))
    parser.add_argument("--tls", action="store_true", default=env("IRC_TLS", "") not in ("", "0"))
    parser.add_argument("--nick", default=env("IRC_NICK", "argos"))
    parser.add_argument("--join", default=env("IRC_JOIN", ""))
    parser.add_argument("account", nargs="?", default=env("ARGOS_ACCOUNT", "main"))
    return parser.parse_args()


class Irc:
    """The connection: lines in, lines out, one try to connect at a time, longer pauses after each failure."""

    def __init__(self, given, on_line):
        host, _, port = given.server.partition(":")
        self.address, self.tls, self.wanted = (host, int(port or (6697 if given.tls else 6667))), given.tls, given.nick
        self.context = ssl.create_default_context(cafile=given.ca) if given.tls else None
        self.joins, self.on_line = [name for name in given.join.split(",") if name], on_line
        self.socket, self.ready, self.failures, self.next_s, self.why = None, False, 0, 0.0, "not connected yet"
        self.nick, self.mask, self.input, self.output = given.nick, MASK_MAX, b"", b""
        self.heard_s, self.sent_s = 0.0, collections.deque([0.0] * BURST, BURST)

    def connect(self, now):
        try:
            plain = socket.create_connection(self.address, CONNECT_S)
            self.socket = self.context.wrap_socket(plain, server_hostname=self.address[0]) if self.tls else plain
        except OSError as error:
            self.lost(now, str(error))
            return
        self.socket.setblocking(False)
        self.input, self.output, self.heard_s, self.nick, self.mask = b"", b"", now, self.wanted, MASK_MAX
        self.say("CAP LS 302")
        if os.environ.get("IRC_PASSWORD"):
            self.say("PASS " + os.environ["IRC_PASSWORD"])
        self.say("NICK " + self.nick)
        self.say("USER argos 0 * :Argos")

    def lost(self, now, why):
        print(f"irc: {why}", file=sys.stderr)
        if self.socket:
            self.socket.close()
        self.socket, self.ready, self.why = None, False, why
        self.next_s = now + min(PAUSE_MAX_S, 2 ** self.failures)
        self.failures += 1

    def say(self, line):
        self.output += "".join(c for c in line if c not in "\r\n\0").encode()[:LINE_MAX] + b"\r\n"

    def room(self, target):
        """Bytes of text in one line to this target: the server puts our whole name in front of it."""
        return LINE_MAX - self.mask - len(f": PRIVMSG {target} :".encode())

    def paced(self, now):
        """May a line of text go now? Then it counts."""
        if now - self.sent_s[0] < BURST * GAP_S:
            return False
        self.sent_s.append(now)
        return True

    def due(self, now):
        if not self.socket:
            return max(0.0, self.next_s - now)
        return max(0.0, self.heard_s + SILENCE_S - now)

    def turn(self, now):
        if not self.socket:
            if now >= self.next_s:
                self.connect(now)
            return
        try:
            self.read(now)
            while self.socket and self.output and (sent := self.socket.send(self.output)):
                self.output = self.output[sent:]
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            pass
        except OSError as error:
            self.lost(now, str(error))
        if self.socket and now - self.heard_s > 2 * SILENCE_S:
            self.lost(now, "the server is silent")
        elif self.socket and now - self.heard_s > SILENCE_S and not self.output:
            self.say("PING :alive")

    def read(self, now):
        while self.socket:
            try:
                data = self.socket.recv(65536)
            except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
                return
            if not data:
                self.lost(now, "the server has closed the connection")
                return
            self.heard_s = now
            *lines, self.input = (self.input + data).split(b"\n")
            if len(self.input) > 16384:
                self.lost(now, "a line without an end")
            for line in lines:
                self.line(line.rstrip(b"\r").decode(errors="replace"))

    def line(self, text):
        tags, prefix = {}, ""
        if text.startswith("@"):
            head, _, text = text[1:].partition(" ")
            tags = dict(item.partition("=")[::2] for item in head.split(";"))
        if text.startswith(":"):
            prefix, _, text = text[1:].partition(" ")
        middle, colon, trailing = text.partition(" :")
        words = middle.split() + ([trailing] if colon else [])
        if not words:
            return
        command, words, nick = words[0].upper(), words[1:] or [""], prefix.partition("!")[0]
        if command == "PING":
            self.say("PONG :" + words[-1])
        elif command == "CAP" and len(words) > 2 and words[1] == "LS":
            have = {name.partition("=")[0] for name in words[-1].split()}
            wanted = sorted(have & {"account-tag", "message-tags"})
            self.say("CAP REQ :" + " ".join(wanted) if wanted else "CAP END")
        elif command == "CAP":
            self.say("CAP END")
        elif command in ("421", "451") and not self.ready:
            self.say("CAP END")  # A server without capabilities
        elif command == "433":
            self.nick += "_"
            self.say("NICK " + self.nick)
        elif command == "001":
            self.nick, self.ready, self.failures = words[0], True, 0
            for name in self.joins:
                self.say("JOIN " + name)
            print(f"irc: connected as {self.nick}", file=sys.stderr)
        elif command == "JOIN" and nick == self.nick:
            self.mask = len(prefix.encode())
        elif command == "NICK" and nick == self.nick:
            self.nick = words[-1]
        else:
            self.on_line(command, prefix, words, tags)


class Adapter:
    def __init__(self, given):
        self.account, self.platform = given.account, os.environ.get("ARGOS_PLATFORM", "irc")
        self.name = f"{self.platform}.{given.account}"
        self.irc = Irc(given, self.on_line)
        self.out, self.current = collections.deque(), None  # [lease, target, text or lines, token]
        self.started, self.count = int(time.time() * 1000), 0
        self.peer = argos.Peer(os.environ.get("ARGOS_NAME", self.name), given.endpoint, given.home, given.key)

    def on_line(self, command, prefix, words, tags):
        if command == "PRIVMSG" and len(words) == 2:
            self.hear(prefix, words[0], words[1], tags)
        elif self.current and command == "PONG" and words[-1] == self.current[3]:
            self.finish({"state": "sent"})
        elif self.current and command in ("401", "402", "404", "407", "411", "412", "413", "414") and self.current[1] in words:
            self.finish({"state": "refused", "error": words[-1]})

    def hear(self, prefix, target, text, tags):
        nick, _, mask = prefix.partition("!")
        if text.startswith("\x01"):
            if not text.startswith("\x01ACTION "):
                return
            text = "*" + text[8:].rstrip("\x01") + "*"
        channel = target[:1] in "#&+!"
        if channel:
            name = self.irc.nick.lower()
            if not text.lower().startswith((name + ":", name + ",")):
                return
            text = text[len(name) + 1:].strip()
        if text.startswith("!") and text[1:2].isalpha():
            text = "/" + text[1:]
        if not text:
            return
        self.count += 1
        chat = target if channel else nick
        #  A nick is anybody's: who writes is the account that the server knows, else where he comes from
        source = {"platform": self.platform, "account": self.account, "chat_id": chat, "chat_type": "group" if channel else "dm",
                  "user_id": tags.get("account") or mask or nick, "user_name": nick}
        message_id = tags.get("msgid") or f"{self.started}.{self.count}"
        self.peer.send("service:gateway", "message.inbound", {"source": source, "text": text, "message_id": message_id},
                       id=f"{self.name}:{chat}:{message_id}", key=f"{self.name}:{chat}",
                       then=lambda refused, _: refused and print(f"not accepted: {refused}", file=sys.stderr))

    def lines(self, target, text):
        """The text in pieces that fit a line; a character is never cut."""
        room, found = self.irc.room(target), []
        for line in text.replace("\r", "\n").split("\n"):
            data = line.rstrip().encode()
            while len(data) > room:
                cut = data.rfind(b" ", room // 2, room + 1)
                cut = cut if cut > 0 else room
                while data[cut] & 0xC0 == 0x80:
                    cut -= 1
                found.append(data[:cut].decode())
                data = data[cut:].lstrip()
            if data:
                found.append(data.decode())
        return found

    def on_lease(self, lease):
        if lease.type != "deliver.request" or not isinstance(lease.body.get("text"), str):
            lease.release(reject="unknown_type")
            return
        op, target, text = lease.body.get("op", "send"), lease.body.get("chat_id", ""), lease.body["text"]
        if op == "prompt":
            op, text = "send", "\n".join([text] + [f"  {row['label']}: say {row['id']}" for row in lease.body.get("options", [])])
        if op != "send":
            self.done(lease, {"state": "refused", "op": op, "error": "unsupported"})
        elif not target or " " in target or len(text.encode()) > TEXT_MAX:
            self.done(lease, {"state": "refused", "error": f"a text of more than {TEXT_MAX} bytes" if target else "no chat is named"})
        else:
            self.out.append([lease, target, text, None])

    @staticmethod
    def done(lease, receipt):
        lease.done([argos.part("receipt.put", "store", receipt)], then=lambda refused, _: refused and print(refused, file=sys.stderr))

    def finish(self, receipt):
        (lease, *_), self.current = self.current, None
        if lease:
            self.done(lease, receipt)

    def deliver(self, now):
        """One answer at a time, its lines by the pace of the server."""
        if self.current and not self.irc.ready:
            self.finish({"state": "unknown", "error": self.irc.why})
        if not self.current and self.out and self.irc.ready and self.peer.live():
            lease, target, text, _ = self.out.popleft()
            again = "(perhaps again) " if lease.attempt > 1 else ""
            self.current = [lease, target, collections.deque(self.lines(target, again + text)), None]
        if not self.current:
            return
        _, target, lines, token = self.current
        while lines and self.irc.paced(now):
            self.irc.say(f"PRIVMSG {target} :{lines.popleft()}")
        if not lines and not token:
            self.count += 1
            self.current[3] = f"argos{self.started}.{self.count}"
            self.irc.say("PING :" + self.current[3])

    def on_lost(self, event):
        self.out = collections.deque(entry for entry in self.out if entry[0] is not event.lease)
        if self.current and self.current[0] is event.lease:
            self.current[0] = None  # Its lines go on, its end is nobody's any more

    def run(self):
        with self.peer as peer:
            peer.serve("deliver." + self.name, on_lease=self.on_lease, on_lost=self.on_lost, slots=16,
                       on_request=lambda request: peer.refuse(request, "unsupported", "IRC has none of that"),
                       capabilities={"platform": self.platform, "account": self.account, "length": TEXT_MAX, "unit": "bytes"})
            while True:
                now = time.monotonic()
                self.irc.turn(now)
                self.deliver(now)
                if self.irc.socket and self.irc.output:
                    self.irc.turn(now)
                waits = [peer.due(), self.irc.due(now), GAP_S if self.current else None]
                wait = min(w for w in waits if w is not None)
                read = [peer] + ([self.irc.socket] if self.irc.socket else [])
                write = [self.irc.socket] if self.irc.socket and self.irc.output else []
                select.select(read, write, [], wait)
                peer.turn()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    Adapter(options()).run()
