#!/usr/bin/python3
"""./dev move: agent workers and an adapter move to a second node while chats run. Prints what was lost, doubled, and the longest pause.

The second node has a home of its own and, where permitted, a network of its own (a namespace with a veth pair); else it is on loopback, and
that is said. The steps are those of docs/operations.md. Each chat says the next line when the one before it is answered, 50 ms later. Exit 1
when anything is lost, doubled, out of order, or a pause is 10 s or more.
"""
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

BUILD = pathlib.Path(os.environ["ARGOS_BUILD"])
HERE = pathlib.Path(__file__).resolve().parent
CHATS, SECONDS = int(sys.argv[1]), float(sys.argv[2])
DEADLINE_S, PAUSE_MAX_S, BETWEEN_S = 60, 10, 0.05
began = time.monotonic()


def say(text):
    print(f"{time.monotonic() - began:6.1f} s  {text}", flush=True)


def run(*words, check=True):
    return subprocess.run([str(word) for word in words], check=check, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=DEADLINE_S)


class Process:
    """One of ours: its lines, and what is waited for in them."""

    def __init__(self, *words):
        self.lines, self.changed = [], threading.Condition()
        clean = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
        self.process = subprocess.Popen([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True, errors="replace", env=clean)
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            with self.changed:
                self.lines.append(line)
                self.changed.notify_all()

    def wait_line(self, text):
        with self.changed:
            assert self.changed.wait_for(lambda: any(text in line for line in self.lines), DEADLINE_S), f"no {text!r} in " + "".join(self.lines)
        return self

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        return self.process.wait(DEADLINE_S)


class Chats:
    """The platform of one account, and the people on it. It outlives its adapters; what they did not acknowledge it says again."""

    def __init__(self, host, account):
        self.lock, self.account, self.adapter = threading.Lock(), account, None
        self.listener = socket.create_server((host, 0))
        self.address = self.listener.getsockname()
        self.unacknowledged = {}  # id -> line
        self.answers = {f"{account}{number}": [] for number in range(CHATS // 2)}
        self.asked = {chat: 0 for chat in self.answers}
        self.at, self.pause, self.over = {}, 0.0, False
        self.deliveries = set()
        self.twice = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with self.lock:
                self.adapter = connection
                for line in list(self.unacknowledged.values()):
                    self._write(line)
            threading.Thread(target=self._read, args=(connection,), daemon=True).start()

    def _write(self, line):
        try:
            self.adapter.sendall(json.dumps(line).encode() + b"\n")
        except OSError:
            pass  # The next adapter gets it

    def _read(self, connection):
        try:
            for text in connection.makefile("r", encoding="utf-8"):
                line = json.loads(text)
                with self.lock:
                    if "accepted" in line:
                        self.unacknowledged.pop(line["accepted"], None)
                    else:
                        self._hear(line)
        finally:
            connection.close()  # The adapter waits for that: all that it has told is read

    def _hear(self, line):
        if line["delivery"] in self.deliveries:
            self.twice += 1
        self.deliveries.add(line["delivery"])
        chat = line["chat"]
        self.answers[chat].append(line["text"])
        self.pause = max(self.pause, time.monotonic() - self.at[chat])
        if not self.over:
            threading.Timer(BETWEEN_S, self.ask, (chat,)).start()

    def ask(self, chat):
        with self.lock:
            if self.over:
                return
            self.asked[chat] += 1
            line = {"id": f"{chat}.{self.asked[chat]}", "chat": chat, "text": f"{chat} says {self.asked[chat]}"}
            self.unacknowledged[line["id"]] = line
            self.at[chat] = time.monotonic()
            if self.adapter:
                self._write(line)

    def finish(self):
        """No more questions; wait for the answers."""
        with self.lock:
            self.over = True
        until = time.monotonic() + DEADLINE_S
        while time.monotonic() < until and sum(map(len, self.answers.values())) < sum(self.asked.values()):
            time.sleep(0.05)
        time.sleep(0.5)  # What would come twice

    def verdict(self):
        lost = doubled = disorder = 0
        for chat, answers in self.answers.items():
            wanted = [f"You said: {chat} says {number}" for number in range(1, self.asked[chat] + 1)]
            lost += len(set(wanted) - set(answers))
            doubled += len(answers) - len(set(answers))
            disorder += sorted(set(answers), key=answers.index) != [text for text in wanted if text in answers]
        return lost, doubled, disorder, self.twice


class Place:
    """Where the second node is: a network namespace of its own, or this one."""

    def __init__(self):
        self.name, self.prefix, self.host = f"argos-move-{os.getpid()}", [], "127.0.0.1"
        link, net = f"am{os.getpid()}", f"10.{200 + os.getpid() % 50}.{os.getpid() % 250}"
        self.link = link
        steps = (("netns", "add", self.name), ("link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", self.name),
                 ("addr", "add", f"{net}.1/24", "dev", link), ("link", "set", link, "up"),
                 ("-n", self.name, "addr", "add", f"{net}.2/24", "dev", "eth0"), ("-n", self.name, "link", "set", "eth0", "up"),
                 ("-n", self.name, "link", "set", "lo", "up"))
        try:
            for step in steps:
                run("ip", *step)
            self.prefix, self.host = ["ip", "netns", "exec", self.name], f"{net}.1"
            say(f"the second node is in network namespace {self.name}, the core at {self.host}")
        except (OSError, subprocess.CalledProcessError):
            self.close()
            say("NO NETWORK NAMESPACES HERE: the second node is on loopback")

    def close(self):
        try:
            run("ip", "link", "del", self.link, check=False)
            run("ip", "netns", "del", self.name, check=False)
        except OSError:
            pass


def free_port(host):
    with socket.create_server((host, 0)) as probe:
        return probe.getsockname()[1]


def peers(home):
    return json.loads(run(BUILD / "argos", "--home", home, "--json", "peers").stdout)


def wait_peer(home, part, there=True):
    until = time.monotonic() + DEADLINE_S
    while (part in json.dumps(peers(home))) != there:
        assert time.monotonic() < until, f"{part}: {there}"
        time.sleep(0.1)


def adapter(prefix, chats, endpoint, key):
    return Process(*prefix, "/usr/bin/python3", "-B", HERE / "move_adapter.py", *chats.address, endpoint, key, chats.account).wait_line("up")


def start_core(home):
    return Process(BUILD / "argosd", "--home", home, "--port", "0").wait_line("event=ready")


def demonstrate(folder, place, running):
    here, there = folder / "a", folder / "b"
    here.mkdir(mode=0o700)
    broker = f"tcp://{place.host}:{free_port(place.host)}"
    (here / "argos.yaml").write_text(f"bind: [ipc, \"{broker}\"]\nlog: {{level: warn}}\nplatforms: {{pipe: {{allow_all_users: true}}}}\ngateway: {{home_notice: false}}\ndisplay: {{busy_input_mode: queue, busy_ack_enabled: false}}\n")
    running["core"] = start_core(here)
    stays, moves = Chats(place.host, "stay"), Chats(place.host, "move")
    local = f"ipc://{here}/run/broker.sock"
    running["stays"], running["moves"] = adapter([], stays, local, "-"), adapter([], moves, local, "-")
    for chats in (stays, moves):
        for chat in list(chats.asked):
            chats.ask(chat)
    say(f"{CHATS} chats run, everything on the first host")
    time.sleep(SECONDS / 4)

    ticket = json.loads(run(BUILD / "argos", "--home", here, "--json", "node", "add", "muscle", "--actors", "agent*2").stdout)["ticket"]
    run(BUILD / "argosd", "join", ticket, "--home", there)
    running["node"] = Process(*place.prefix, BUILD / "argosd", "--home", there, "--node", "muscle").wait_line("event=ready")
    wait_peer(here, "agent.2@muscle")
    say("two agent workers serve on the second host, beside the one here")
    time.sleep(SECONDS / 4)

    run(BUILD / "argos", "--home", here, "peers", "drain", "agent")
    until = time.monotonic() + DEADLINE_S
    while [peer["leases"] for peer in peers(here)["peers"] if peer["name"] == "agent"] != [0]:
        assert time.monotonic() < until, "the drained agent still works"
        time.sleep(0.1)
    say("the agent here is drained: new turns go to the second host, its last one has ended")

    (here / "argos.yaml").write_text(f"nodes: {{core: {{actors: [core, tools, gateway, api], bind: [ipc, \"{broker}\"]}}}}\nlog: {{level: warn}}\nplatforms: {{pipe: {{allow_all_users: true}}}}\ngateway: {{home_notice: false}}\ndisplay: {{busy_input_mode: queue, busy_ack_enabled: false}}\n")
    code = running["core"].end(signal.SIGUSR1)
    assert code == 75, f"planned restart: {code}"
    running["core"] = start_core(here)
    wait_peer(here, "agent.2@muscle")
    assert not any(peer["name"] == "agent" for peer in peers(here)["peers"]), "an agent is still here"
    say("the core has restarted without an agent: all turns run on the second host")
    time.sleep(SECONDS / 4)

    made = run(BUILD / "argos", "--home", here, "keys", "new", "pipe.move", "--role", "adapter", "--platform", "pipe", "--account", "move")
    (there / "keys" / "pipe.move.key").write_text(pathlib.Path(made.stdout.splitlines()[0]).read_text())
    (there / "keys" / "pipe.move.key").chmod(0o600)
    assert running["moves"].end() == 0, "".join(running["moves"].lines)
    running["moves"] = adapter(place.prefix, moves, broker, there / "keys" / "pipe.move.key")
    say("the adapter of one account has moved")
    time.sleep(SECONDS / 4)

    for chats in (stays, moves):
        chats.finish()
    return stays, moves


def main():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="argos-move-"))
    place, running = Place(), {}
    try:
        both = demonstrate(folder, place, running)
    finally:
        for name in ("stays", "moves", "node", "core"):
            if name in running and running[name].process.poll() is None:
                running[name].end()
        place.close()
        shutil.rmtree(folder, ignore_errors=True)
    verdicts = [chats.verdict() for chats in both]
    lost, doubled, disorder, twice = (sum(column) for column in zip(*verdicts))
    pause = max(chats.pause for chats in both)
    say(f"{sum(sum(chats.asked.values()) for chats in both)} messages: lost {lost}, answered twice {doubled}, delivered twice {twice}, "
        f"chats out of order {disorder}, longest pause {pause:.2f} s")
    return 1 if lost or doubled or twice or disorder or pause >= PAUSE_MAX_S else 0


sys.exit(main())
