"""sockets - a WebSocket server that does to a client what servers do, and what they should not. The path says what."""

import asyncio
import json

import wire


class Sockets(wire.Fake):
    async def answer(self, request):
        name = request.path.strip("/")
        if name == "refuse":
            return 503, {"message": "later"}, {"Retry-After": "7"}
        if name == "plain":
            return 200, {}, {}
        if name == "hang":
            await asyncio.sleep(3600)
        if name == "wrong_key":
            request.headers["sec-websocket-key"] = "AAAAAAAAAAAAAAAAAAAAAA=="
        if name == "big_head":
            await request.upgrade({"X": "x" * 20000})
        headers = {"Sec-WebSocket-Extensions": "permessage-deflate"} if name == "compress" else {}
        socket = await request.upgrade(headers)
        await getattr(self, name, self.echo)(socket, request)
        return None

    async def echo(self, socket, request):
        """What came, back; the offer of the client first."""
        await socket.send({"extensions": request.headers.get("sec-websocket-extensions", ""), "query": request.query})
        while message := await socket.receive():
            if message[0] == 8:
                await socket.close(message[1])
                return
            await socket.frame(message[0], message[1])

    async def fragments(self, socket, request):
        """One message in three frames, a ping between them."""
        await socket.frame(1, "grü".encode()[:3], fin=False)
        await socket.frame(9, b"now")
        await socket.frame(0, "grü".encode()[3:], fin=False)
        await socket.frame(0, b" Gott")
        message = await socket.receive()
        await socket.send(json.dumps(["pong", message[0], message[1].decode()]))
        await socket.receive()

    async def bytewise(self, socket, request):
        data = socket.encode(1, b"one") + socket.encode(9, b"p") + socket.encode(1, b"x" * 300) + socket.encode(1, b"y" * 66000)
        for at in range(0, 700):
            socket.writer.write(data[at:at + 1])
            await socket.writer.drain()
        socket.writer.write(data[700:])
        await socket.receive()

    async def burst(self, socket, request):
        for number in range(2000):
            await socket.send(f"message {number} " + "z" * 1000)
        await socket.receive()

    async def close_4004(self, socket, request):
        await socket.close(4004, "bad token")
        await socket.receive()

    async def close_empty(self, socket, request):
        await socket.frame(8)
        await socket.receive()

    async def cut(self, socket, request):
        await socket.send("before")
        socket.abort()

    async def masked(self, socket, request):
        await socket.frame(1, b"text", mask=True)
        await socket.receive()

    async def reserved(self, socket, request):
        await socket.frame(1, b"text", rsv=4)
        await socket.receive()

    async def pings(self, socket, request):
        """Pings without end, and nobody reads what they are answered with."""
        data = socket.encode(9, b"p" * 125) * 100
        while not socket.writer.is_closing():
            socket.writer.write(data)
            await socket.writer.drain()

    async def long_ping(self, socket, request):
        await socket.frame(9, b"x" * 126)
        await socket.receive()

    async def half_ping(self, socket, request):
        await socket.frame(9, b"x", fin=False)
        await socket.receive()

    async def no_text(self, socket, request):
        await socket.frame(1, b"\xff\xfe")
        await socket.receive()

    async def huge(self, socket, request):
        socket.writer.write(b"\x81\x7f" + (1 << 40).to_bytes(8, "big") + b"x" * 100)
        await socket.receive()

    async def negative(self, socket, request):
        socket.writer.write(b"\x81\x7f" + b"\xff" * 8 + b"x" * 100)
        await socket.receive()

    async def lost(self, socket, request):
        """A continuation of nothing."""
        await socket.frame(0, b"x")
        await socket.receive()

    async def silent(self, socket, request):
        """Takes everything, says nothing, not even pong."""
        while await socket.reader.read(4096):
            pass

    async def deaf(self, socket, request):
        """Answers pings, but not a close."""
        socket.closing = True
        while message := await socket.receive():
            if message[0] == 8:
                await asyncio.sleep(3600)

    big_head = silent


if __name__ == "__main__":
    wire.main(Sockets())
