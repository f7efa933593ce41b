"""A small HTTP/1.1 server for fakes: asyncio, keep-alive, and the faults of fake_faults.py between a request and its answer."""
import asyncio
import json
import re
import urllib.parse

BODY_MAX = 64 << 20
REASONS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 409: "Conflict",
           413: "Request Entity Too Large", 429: "Too Many Requests", 500: "Internal Server Error", 502: "Bad Gateway"}


class Upload:
    """A file of a multipart body."""

    def __init__(self, name, media_type, data):
        self.name, self.media_type, self.data = name, media_type, data


def multipart(body, boundary):
    """{name: text or Upload} of a multipart/form-data body."""
    fields = {}
    for part in body.split(b"--" + boundary)[1:-1]:
        head, _, data = part[2:-2].partition(b"\r\n\r\n")
        name = re.search(rb'name="([^"]*)"', head).group(1).decode()
        file = re.search(rb'filename="?([^";\r\n]*)', head)
        kind = re.search(rb"(?i)content-type: *([^\r\n]+)", head)
        fields[name] = Upload(file.group(1).decode(), kind.group(1).decode() if kind else "", data) if file else data.decode()
    return fields


class Request:
    """What came: method, path, query, headers (lower case), body."""

    def __init__(self, method, target, headers, body):
        self.method, self.headers, self.body = method, headers, body
        path, _, query = target.partition("?")
        self.path = urllib.parse.unquote(path)
        self.query = dict(urllib.parse.parse_qsl(query))

    def fields(self):
        """Parameters, wherever they stand."""
        kind = self.headers.get("content-type", "")
        fields = dict(self.query)
        if kind.startswith("application/json") and self.body:
            fields.update(json.loads(self.body))
        elif kind.startswith("application/x-www-form-urlencoded"):
            fields.update(urllib.parse.parse_qsl(self.body.decode()))
        elif kind.startswith("multipart/form-data"):
            fields.update(multipart(self.body, re.search(r'boundary="?([^";]+)', kind).group(1).encode()))
        return fields


async def read_request(reader):
    """The next request, None at the end of the connection."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    lines = head.decode("latin-1").split("\r\n")
    method, target, _ = lines[0].split(" ", 2)
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:] if line)}
    if headers.get("transfer-encoding", "").lower() == "chunked":
        body = b""
        while size := int((await reader.readline()).split(b";")[0], 16):
            body += await reader.readexactly(size)
            await reader.readexactly(2)
        await reader.readline()
    else:
        size = int(headers.get("content-length", 0))
        assert size <= BODY_MAX
        body = await reader.readexactly(size)
    return Request(method, target, headers, body)


def answer(status, body, kind="application/json", headers=None):
    """The bytes of an answer."""
    lines = [f"HTTP/1.1 {status} {REASONS.get(status, 'Status')}", f"Content-Type: {kind}", f"Content-Length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + body


async def serve(handle, host="127.0.0.1", port=0):
    """handle(request) -> (bytes of the answer, or None = cut the connection, what to do: None, "partial", "slow"). Returns (server, port)."""

    async def connection(reader, writer):
        try:
            while request := await read_request(reader):
                data, how = await handle(request, writer)
                if data is None:
                    writer.transport.abort()
                    return
                if how == "partial":
                    writer.write(data[:len(data) // 2])
                    await writer.drain()
                    writer.transport.abort()
                    return
                for piece in [data[i:i + 7] for i in range(0, len(data), 7)] if how == "slow" else [data]:
                    writer.write(piece)
                    await writer.drain()
                    if how == "slow":
                        await asyncio.sleep(0.002)
        except (ConnectionError, asyncio.CancelledError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(connection, host, port, limit=BODY_MAX)
    return server, server.sockets[0].getsockname()[1]
