"""What the HTTP server does not take: heads that two programs could read in two ways, clients that trickle, addresses in clear."""
import json
import os
import socket
import ssl
import subprocess
import time
import urllib.request

import pytest

from conftest import BUILD, wait_until
from edge import free_port
from httpapi import Api


def raw(port, data, patience=10):
    """Everything that comes back for these bytes, until the server closes."""
    with socket.create_connection(("127.0.0.1", port), patience) as client:
        client.sendall(data)
        answer = b""
        try:
            while chunk := client.recv(65536):
                answer += chunk
        except ConnectionResetError:
            pass  # It has closed while we were writing
        return answer


POST = b"POST /v1/runs HTTP/1.1\r\nHost: localhost\r\n"
GET = b"GET /health HTTP/1.1\r\nHost: localhost\r\n"


@pytest.mark.parametrize("head", [
    POST + b"Content-Length: 3\r\nTransfer-Encoding: chunked", POST + b"Content-Length: 3\r\nContent-Length: 4",
    POST + b"Content-Length: 3\r\nContent-Length: 3", POST + b"Content-Length: +3", POST + b"Content-Length: -3", POST + b"Content-Length: abc",
    POST + b"Content-Length: 0x3", POST + b"Transfer-Encoding: gzip, chunked", POST + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
    b"GET /health HTTP/1.1\r\nX: a", GET + b"Host: other", GET + b"X : y", GET + b"X: a\x01b", GET + b"X: a\x00b", GET + b"X: a\x00b\r\nY: c",
    GET + b"X: a\rb", GET + b"X: a\r\n b", GET + b"X: a\r\n b\r\nY: c", GET + b"X: a\nY: c", b"G@T /health HTTP/1.1\r\nHost: localhost",
    b"GET /health HTTP/1.2\r\nHost: localhost", GET + b"no colon",
])
def test_c164_c177_what_is_ambiguous_is_refused_and_closed(shared_argosd, head):
    answer = raw(shared_argosd.port, head + b"\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 400 ") and b"HTTP/1.1 2" not in answer


def test_what_is_not_ambiguous_is_taken(shared_argosd):
    for extra in (b"X:y", b"X:  y", b"X: y  ", b"X:", b"X: ", b"Cookie: a=b; c=d", b"X: a\tb", b"X: \xc3\xa9"):
        two = GET + extra + b"\r\nY: z\r\n\r\n" + GET + extra + b"\r\nConnection: close\r\n\r\n"
        assert raw(shared_argosd.port, two).count(b"HTTP/1.1 200 OK") == 2, extra
    assert b"200 OK" in raw(shared_argosd.port, b"GET /health HTTP/1.0\r\n\r\n")
    pieces = GET + b"".join(b"H%d: %s\r\n" % (n, b"v" * 100) for n in range(20)) + b"Connection: close\r\n\r\n"
    with socket.create_connection(("127.0.0.1", shared_argosd.port), 10) as client:
        for begin in range(0, len(pieces), 37):  # The buffer of the connection grows meanwhile
            client.sendall(pieces[begin:begin + 37])
        assert client.recv(65536).startswith(b"HTTP/1.1 200 OK")


def test_c179_a_head_has_an_end(shared_argosd):
    answer = raw(shared_argosd.port, GET + b"X: " + b"a" * 65536 + b"\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 431 ")
    assert raw(shared_argosd.port, b"GET /" + b"a" * 65536 + b" HTTP/1.1\r\nHost: x\r\n\r\n").startswith(b"HTTP/1.1 414 ")


def test_c178_who_trickles_a_head_is_cut_off(shared_argosd):
    begin = time.monotonic()
    with socket.create_connection(("127.0.0.1", shared_argosd.port), 30) as client:
        client.sendall(GET)
        client.settimeout(0.2)
        while True:
            assert time.monotonic() - begin < 30
            try:
                client.sendall(b"x")
                if client.recv(1) == b"":
                    break
            except TimeoutError:
                continue
            except OSError:
                break
    assert time.monotonic() - begin > 8


# Addresses

def settings(daemon, text):
    daemon.home.mkdir(exist_ok=True)
    (daemon.home / "argos.yaml").write_text(text)


def test_a_public_address_is_not_served_in_clear(daemon):
    settings(daemon, "http: {host: '::'}\n")
    daemon.launch()
    assert "tls_cert" in daemon.wait_log("can't start")
    assert daemon.wait() != 0
    settings(daemon, "http: {host: 0.0.0.0, allow_cleartext: true}\n")
    assert Api(daemon.start()).call("GET", "/health", auth=False)[0] == 200
    assert daemon.stop() == 0


def test_a_certificate_makes_it_tls(daemon):
    daemon.home.mkdir(exist_ok=True)
    cert, key = daemon.home / "cert.pem", daemon.home / "key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                    "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", str(key), "-out", str(cert)], check=True, capture_output=True)
    settings(daemon, f"http: {{host: 0.0.0.0, tls_cert: {cert}, tls_key: {key}}}\n")
    daemon.start()
    context = ssl.create_default_context(cafile=str(cert))

    def call(path, body=None):
        request = urllib.request.Request(f"https://localhost:{daemon.port}{path}", body, {"Authorization": f"Bearer {daemon.key}"})
        return urllib.request.urlopen(request, timeout=20, context=context)

    with call("/health") as answer:
        assert answer.status == 200 and answer.headers["Strict-Transport-Security"].startswith("max-age=")
    with call("/v1/runs", json.dumps({"input": "!slow 5"}).encode()) as answer:
        run = json.load(answer)["run_id"]
    with call(f"/v1/runs/{run}/events") as answer:
        assert b"run.completed" in answer.read()
    chat = json.dumps({"messages": [{"role": "user", "content": "!slow 1000"}], "stream": True}).encode()
    with call("/v1/chat/completions", chat) as answer:
        assert answer.readline()

    def cancelled():
        with call("/v1/runs?limit=1") as listed:
            return json.load(listed)["data"][0]["status"] == "cancelled"

    wait_until(cancelled)  # The end of a connection is seen inside of TLS, too
    assert daemon.stop() == 0
    settings(daemon, f"http: {{tls_cert: {cert}}}\n")
    daemon.launch()
    assert "tls_key" in daemon.wait_log("can't start")
    daemon.wait()


def test_c167_c168_a_port_is_free_at_once_and_taken_by_one(daemon, home):
    port = free_port()
    for _ in range(2):
        daemon.start("--port", str(port))
        assert daemon.port == port
        assert daemon.stop() == 0
    daemon.start("--port", str(port))
    other = type(daemon)(home / "other")
    other.home.mkdir()
    try:
        other.launch("--port", str(port))
        assert "api_server_port_in_use" in other.wait_log("can't start") and str(port) in other.wait_log("can't start")
        assert other.wait() != 0
    finally:
        other.close()
    assert daemon.stop() == 0


def test_a_socket_of_systemd_is_served(home):
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        command = ["sh", "-c", 'export LISTEN_PID=$$; exec "$0" "$@"', str(BUILD / "argosd"), "--home", str(home)]
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, pass_fds=(3,),
                                 preexec_fn=lambda: os.dup2(listening.fileno(), 3), env={**os.environ, "LISTEN_FDS": "1"})
        try:
            assert raw(port, GET + b"Connection: close\r\n\r\n", 30).startswith(b"HTTP/1.1 200 OK")
        finally:
            child.terminate()
            assert child.wait(30) == 0
