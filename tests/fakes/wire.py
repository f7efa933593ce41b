"""wire - an HTTP/1.1 server with WebSocket for the fakes, and its faults. Standard library only.

A fake is a Fake with `async answer(request)`; it runs in a thread of its own (start, stop) or as a program (main).
Everything that came is in `log`; `rules` are faults that are taken one by one:

    {"match": "POST /channels/*/messages", "skip": 1, "times": 2, "do": "status", "status": 429, "body": {...}, "headers": {...}}

With a `rate` and `of` (a list of such rules without `match`) it is one of those, by chance; `times` None is for ever. `where`, a function of the
request, has to be true. `met` counts.

do: status (answered so, not handled), drop (cut before it is handled), drop_after (handled, then cut), hang_after (handled, and the answer never comes), partial (handled, then half of the answer), hang (handled never,
connection stays for `seconds`), delay (handled after `seconds`), slow (handled, and the answer drips), html (status with a page of a proxy instead of JSON).
"""

import asyncio
import base64
import fnmatch
import hashlib
import json
import random
import re
import struct
import sys
import threading
import time
import urllib.parse

GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


class Upload:
    """A file of a multipart body."""

    def __init__(self, name, media_type, data):
        self.name, self.media_type, self.data = name, media_type, data


class Drop(Exception):
    """Cut the connection without an answer, or after this much of one."""

    def __init__(self, data=b""):
        super().__init__()
        self.data = data


class Drip(Exception):
    """This answer, a few bytes at a time."""

    def __init__(self, data):
        super().__init__()
        self.data = data


class Request:
    def __init__(self, method, target, headers, body, reader, writer):
        self.method, self.target, self.headers, self.body = method, target, headers, body
        self.path, _, query = target.partition("?")
        self.query = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
        self.at, self.reader, self.writer, self.upgraded = time.monotonic(), reader, writer, False

    def json(self):
        return json.loads(self.body or b"{}")

    def params(self):
        """The arguments, whether they came as JSON, as a form or in the address."""
        kind = self.headers.get("content-type", "")
        if kind.startswith("application/json"):
            return {**self.query, **json.loads(self.body or b"{}")}
        if kind.startswith("application/x-www-form-urlencoded"):
            return {**self.query, **dict(urllib.parse.parse_qsl(self.body.decode(), keep_blank_values=True))}
        if kind.startswith("multipart/form-data"):
            return {**self.query, **self.parts()}
        return dict(self.query)

    def parts(self):
        """The parts of multipart/form-data: name -> text, or Upload of a file."""
        boundary = b"--" + self.headers["content-type"].split("boundary=")[1].strip('"').encode()
        found = {}
        for piece in self.body.split(boundary)[1:-1]:
            head, _, data = piece[2:-2].partition(b"\r\n\r\n")
            name = re.search(rb'name="([^"]*)"', head).group(1).decode()
            file = re.search(rb'filename="?([^";\r\n]*)', head)
            kind = re.search(rb"(?i)content-type: *([^\r\n]+)", head)
            found[name] = Upload(file.group(1).decode(), kind.group(1).decode() if kind else "", data) if file else data.decode()
        return found

    async def upgrade(self, headers=None):
        accept = base64.b64encode(hashlib.sha1((self.headers["sec-websocket-key"] + GUID).encode()).digest()).decode()
        lines = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Accept": accept, **(headers or {})}
        head = "HTTP/1.1 101 Switching Protocols\r\n" + "".join(f"{k}: {v}\r\n" for k, v in lines.items()) + "\r\n"
        self.upgraded = True
        self.writer.write(head.encode())
        await self.writer.drain()
        return WebSocket(self.reader, self.writer)


class WebSocket:
    """The server's side of a connection."""

    def __init__(self, reader, writer):
        self.reader, self.writer, self.closed, self.closing = reader, writer, None, False

    async def frame(self, opcode, data=b"", fin=True, rsv=0, mask=False):
        self.writer.write(self.encode(opcode, data, fin, rsv, mask))
        await self.writer.drain()

    @staticmethod
    def encode(opcode, data=b"", fin=True, rsv=0, mask=False):
        head = bytes([(0x80 if fin else 0) | rsv << 4 | opcode])
        bit = 0x80 if mask else 0
        if len(data) < 126:
            head += bytes([bit | len(data)])
        elif len(data) < 65536:
            head += bytes([bit | 126]) + struct.pack(">H", len(data))
        else:
            head += bytes([bit | 127]) + struct.pack(">Q", len(data))
        return head + (b"\0\0\0\0" if mask else b"") + data

    async def send(self, value):
        text = value if isinstance(value, str) else json.dumps(value)
        await self.frame(1, text.encode())

    async def close(self, code=1000, reason=""):
        if self.closing:
            return
        self.closing = True
        await self.frame(8, struct.pack(">H", code) + reason.encode())

    def abort(self):
        self.writer.transport.abort()

    async def receive(self):
        """(opcode, bytes) of the next message; (8, code) at a close; pings are answered. None: the connection is gone."""
        data, first = b"", None
        while True:
            try:
                head = await self.reader.readexactly(2)
                size = head[1] & 0x7F
                if size == 126:
                    size = struct.unpack(">H", await self.reader.readexactly(2))[0]
                elif size == 127:
                    size = struct.unpack(">Q", await self.reader.readexactly(8))[0]
                mask = await self.reader.readexactly(4) if head[1] & 0x80 else None
                piece = await self.reader.readexactly(size)
            except (asyncio.IncompleteReadError, ConnectionError, OSError):
                return None
            if mask is None:
                await self.close(1002, "a client masks")
                return None
            piece = bytes(byte ^ mask[at % 4] for at, byte in enumerate(piece)) if size < 65536 else self.unmask(piece, mask)
            opcode = head[0] & 0xF
            if opcode == 9:
                await self.frame(10, piece)
            elif opcode == 8:
                self.closed = struct.unpack(">H", piece[:2])[0] if len(piece) >= 2 else 1005
                await self.close(self.closed if self.closed != 1005 else 1000)
                return 8, self.closed
            elif opcode == 10:
                return 10, piece
            else:
                first = opcode or first
                data += piece
                if head[0] & 0x80:
                    return first, data

    @staticmethod
    def unmask(data, mask):
        size = len(data)
        key = int.from_bytes(mask * (size // 4 + 1), "big") >> (8 * (4 - size % 4) if size % 4 else 32)
        return (int.from_bytes(data, "big") ^ key).to_bytes(size, "big")


REASONS = {200: "OK", 204: "No Content", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found",
           405: "Method Not Allowed", 413: "Payload Too Large", 429: "Too Many Requests", 500: "Internal Server Error",
           502: "Bad Gateway", 503: "Service Unavailable"}


class Fake:
    """The base of a fake platform."""

    def __init__(self):
        self.log, self.rules, self.loop, self.server, self.port, self.tasks = [], [], None, None, 0, set()
        self.controlled, self.met = False, 0
        self.lock = threading.Condition()

    async def answer(self, request):
        """(status, value or bytes, headers) of a request; None when it was upgraded and is over."""
        raise NotImplementedError

    #  Faults

    def fault(self, match, do, **more):
        self.rules.append({"match": match, "do": do, "skip": 0, "times": 1, **more})

    def chance(self, match, rate, of, seed):
        """Of each such request with this probability one of these rules."""
        self.rules.append({"match": match, "skip": 0, "times": None, "rate": rate, "of": of, "random": random.Random(seed)})

    def heard(self, request, rule):
        """Told of each request, and of the fault that it meets (None)."""

    def taken(self, request):
        for rule in self.rules:
            if not fnmatch.fnmatchcase(f"{request.method} {request.path}", rule["match"]) or not rule.get("where", bool)(request):
                continue
            if rule["skip"] > 0:
                rule["skip"] -= 1
                continue
            if "of" in rule and rule["random"].random() >= rule["rate"] or rule["times"] == 0:
                continue
            if rule["times"] is not None:
                rule["times"] -= 1
            self.met += 1
            return rule["random"].choice(rule["of"]) if "of" in rule else rule
        return None

    async def control(self, request):
        """As a program: {"do": method, "with": {...}} is done, in a thread as in a test."""
        order = request.json()
        done = await self.loop.run_in_executor(None, lambda: getattr(self, order["do"])(**order.get("with", {})))
        return 200, json.dumps(done).encode(), {"Content-Type": "application/json"}

    async def handle(self, request):
        if self.controlled and request.path == "/control":
            return await self.control(request)
        rule = self.taken(request)
        self.heard(request, rule)
        do = rule["do"] if rule else ""
        if do == "drop":
            raise Drop
        if do == "hang":
            await asyncio.sleep(rule.get("seconds", 3600))
            raise Drop
        if do == "status":
            return rule["status"], rule.get("body", {}), rule.get("headers", {})
        if do == "html":
            return rule.get("status", 502), b"<html><body>Bad gateway</body></html>", {"Content-Type": "text/html", **rule.get("headers", {})}
        if do == "delay":
            await asyncio.sleep(rule["seconds"])
        answer = await self.answer(request)
        if do == "hang_after":
            await asyncio.sleep(3600)
        if do in ("drop_after", "hang_after"):
            raise Drop
        if do == "partial":
            data = self.encode(*answer)
            raise Drop(data[:len(data) // 2])
        if do == "slow":
            raise Drip(self.encode(*answer))
        return answer

    #  The server

    async def connection(self, reader, writer):
        task = asyncio.current_task()
        self.tasks.add(task)
        try:
            while True:
                request = await self.read(reader, writer)
                if request is None:
                    break
                with self.lock:
                    self.log.append(request)
                    self.lock.notify_all()
                try:
                    answer = await self.handle(request)
                except Drip as drip:
                    await self.drip(writer, drip.data)
                    continue
                if answer is None or request.upgraded:
                    break
                writer.write(self.encode(*answer))
                await writer.drain()
        except Drop as drop:
            if drop.data:
                writer.write(drop.data)
                await writer.drain()
            writer.transport.abort()
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError, OSError):
            pass
        finally:
            self.tasks.discard(task)
            writer.close()

    @staticmethod
    async def drip(writer, data):
        for at in range(0, len(data), 7):
            writer.write(data[at:at + 7])
            await writer.drain()
            await asyncio.sleep(0.002)

    @staticmethod
    async def read(reader, writer):
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError):
            return None
        first, *lines = head.split("\r\n")
        method, target, _ = first.split(" ", 2)
        headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)}
        if headers.get("expect"):
            writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        body = b""
        if headers.get("transfer-encoding") == "chunked":
            while size := int((await reader.readline()).split(b";")[0], 16):
                body += await reader.readexactly(size)
                await reader.readline()
            await reader.readline()
        else:
            body = await reader.readexactly(int(headers.get("content-length", 0)))
        return Request(method, target, headers, body, reader, writer)

    @staticmethod
    def encode(status, value=None, headers=None):
        body = value if isinstance(value, bytes) else b"" if value is None else json.dumps(value).encode()
        lines = {**({"Content-Type": "application/json"} if body else {}), "Content-Length": len(body), **(headers or {})}
        head = f"HTTP/1.1 {status} {REASONS.get(status, 'Status')}\r\n"
        return (head + "".join(f"{k}: {v}\r\n" for k, v in lines.items()) + "\r\n").encode() + body

    async def listen(self, port=0):
        self.loop = asyncio.get_running_loop()
        self.server = await asyncio.start_server(self.connection, "127.0.0.1", port, limit=1 << 20)
        self.port = self.server.sockets[0].getsockname()[1]

    #  In a thread

    def start(self, port=0):
        ready = threading.Event()

        async def run():
            await self.listen(port)
            self.ending = asyncio.Event()
            ready.set()
            await self.ending.wait()
            self.server.close()
            for task in list(self.tasks):
                task.cancel()
            await asyncio.gather(*self.tasks, return_exceptions=True)

        self.thread = threading.Thread(target=lambda: asyncio.run(run()), daemon=True)
        self.thread.start()
        assert ready.wait(10)
        return self

    def stop(self):
        self.loop.call_soon_threadsafe(self.ending.set)
        self.thread.join(10)

    def call(self, coroutine):
        """Runs it in the fake's thread."""
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(20)

    def until(self, condition, seconds=20, what="what the test waits for"):
        """The first true value of condition(), looked at after each request."""
        deadline = time.monotonic() + seconds
        with self.lock:
            while not (value := condition()):
                left = deadline - time.monotonic()
                assert left > 0, f"{what} did not come; the log: " + "\n".join(
                    f"{r.method} {r.target} {r.body[:200]}" for r in self.log[-12:])
                self.lock.wait(min(left, 0.5))
        return value

    def calls(self, match):
        return [r for r in list(self.log) if fnmatch.fnmatchcase(f"{r.method} {r.path}", match)]


def main(fake):
    """As a program: prints its port, ends with its standard input."""
    fake.controlled = True

    async def run():
        await fake.listen(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
        print(fake.port, flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)

    asyncio.run(run())
