"""Files by reference: an adapter sends one, the agent reads it; what is cut short goes on; what is not there is said.

The adapter is a process of its own and uses clients/python, so everything here crosses the wire.
"""
import hashlib
import os
import pathlib
import random
import sys
import uuid

import pytest

from conftest import ROOT

sys.path.insert(0, str(ROOT / "clients" / "python"))
import argos  # noqa: E402
import argos_blob  # noqa: E402

SIZE = 20 << 20


@pytest.fixture
def adapter(argosd):
    with argos.Peer("line.main", argosd.endpoint) as peer:
        peer.serve("deliver.line.main", slots=4)
        yield peer


def make_file(folder, size, seed=1):
    path = pathlib.Path(folder) / f"given {seed}.bin"
    path.write_bytes(random.Random(seed).randbytes(size))
    return path


def say(peer, text, attachments=None):
    message_id = uuid.uuid4().hex
    source = {"platform": "line", "account": "main", "chat_id": "7", "chat_type": "dm", "user_id": "u"}
    body = {"source": source, "text": text, "message_id": message_id, **({"attachments": attachments} if attachments else {})}
    peer.send("service:gateway", "message.inbound", body, id=f"line.main:7:{message_id}", key="line.main:7")


def answer(peer):
    """The next thing to be delivered, which ends with its receipt."""
    event = peer.next(30)
    assert event is not None and event.kind == "lease" and event.type == "deliver.request"
    event.lease.done([argos.part("receipt.put", "store", {"state": "sent"})])
    return event.body


def ask(peer, text, attachments=None):
    say(peer, text, attachments)
    return answer(peer)["text"]


def test_the_agent_reads_a_file_of_20_mib_that_an_adapter_has_sent(adapter, argosd, home):
    given = make_file(home, SIZE)
    blob = argos_blob.put(adapter, given, media_type="application/x-test")
    assert blob == "sha256:" + hashlib.sha256(given.read_bytes()).hexdigest()
    assert argos_blob.stat(adapter, blob) == {"size": SIZE, "have": SIZE, "complete": True, "media_type": "application/x-test",
                                              "name": "given 1.bin"}
    attachment = {"blob": blob, "kind": "document", "name": "given 1.bin", "media_type": "application/x-test", "size": SIZE}
    text = ask(adapter, "look", [attachment])
    assert f"[attached document: given 1.bin, application/x-test, {SIZE} bytes" in text and blob in text
    text = ask(adapter, f'!tool attachment {{"blob":"{blob}"}}', [attachment])
    path = next(argosd.tools_home.glob("files/*/*given 1.bin"))
    assert str(path) in text and path.stat().st_size == SIZE
    assert path.parent.stat().st_mode & 0o777 == 0o700
    text = ask(adapter, f'!tool terminal {{"command":"sha256sum \'{path}\'"}}')
    assert blob.removeprefix("sha256:") in text
    assert argos_blob.get(adapter, blob, home / "back.bin") == SIZE
    assert (home / "back.bin").read_bytes() == given.read_bytes()


def test_a_text_is_shown_and_its_name_leads_nowhere(adapter, argosd, home):
    given = home / "note.txt"
    given.write_text("grüß dich\nsecond line\n", encoding="utf-8")
    blob = argos_blob.put(adapter, given, name="../../etc/\n.evil")
    text = ask(adapter, f'!tool attachment {{"blob":"{blob}"}}', [{"blob": blob, "kind": "document"}])
    assert "second line" in text and "grüß dich" in text
    found = [path for path in argosd.tools_home.glob("files/**/*") if path.is_file()]
    assert len(found) == 1 and found[0].read_bytes() == given.read_bytes()
    assert found[0].name == blob[7:19] + "-_._.._etc__.evil"


def test_what_is_not_there_is_said(adapter, home):
    missing = "sha256:" + "0" * 64
    say(adapter, "look at this", [{"blob": missing, "kind": "image"}])
    refusal = answer(adapter)
    assert refusal["kind"] == "error" and "attachment" in refusal["text"]
    assert "no such file" in ask(adapter, f'!tool attachment {{"blob":"{missing}"}}')
    assert "no id of a file" in ask(adapter, '!tool attachment {"blob":"sha256:../../x"}')
    with pytest.raises(argos.Refused) as refused:
        argos_blob.get(adapter, missing, home / "none")
    assert refused.value.code == "not_found" and not (home / "none").exists()


def test_a_file_goes_on_where_it_was_after_a_kill_of_either_side(daemon, home):
    given = make_file(home, 3 << 20, 2)
    data = given.read_bytes()
    blob = "sha256:" + hashlib.sha256(data).hexdigest()
    daemon.start()
    with argos.Peer("line.main", daemon.endpoint) as peer:
        for offset in range(0, 2 << 20, argos_blob.PIECE):
            piece = argos_blob.base64.b64encode(data[offset:offset + argos_blob.PIECE]).decode()
            peer.send("store", "blob.put", {"blob": blob, "size": len(data), "offset": offset, "data": piece})
        daemon.kill()
    daemon.start()
    with argos.Peer("line.main", daemon.endpoint) as peer:  # Another process, as far as anybody can see
        assert argos_blob.stat(peer, blob)["have"] == 2 << 20
        assert argos_blob.put(peer, given) == blob
        asked, request = [], peer.request

        def interrupted(to, kind, body):
            """The core is killed in the middle, then we are."""
            asked.append(body["offset"])
            if len(asked) == 3:
                daemon.kill()
                daemon.start()
            if len(asked) == 6:
                raise KeyboardInterrupt
            return request(to, kind, body)

        peer.request = interrupted
        with pytest.raises(KeyboardInterrupt):
            argos_blob.get(peer, blob, home / "back.bin")
        [part] = home.glob("back.bin.*.part")
        assert not (home / "back.bin").exists() and part.stat().st_size == asked[-1] > 0
        asked.clear()
        peer.request = lambda to, kind, body: asked.append(body["offset"]) or request(to, kind, body)
        argos_blob.get(peer, blob, home / "back.bin")
        peer.request = request
        assert asked[0] == asked[0] // argos_blob.PIECE * argos_blob.PIECE > 0
        assert (home / "back.bin").read_bytes() == data and not part.exists()
        part.write_bytes(b"other")
        with pytest.raises(ValueError):
            argos_blob.get(peer, blob, home / "back.bin")
        part.write_bytes(data)  # All of it, but the last step
        argos_blob.get(peer, blob, home / "back.bin")
        assert (home / "back.bin").read_bytes() == data and not part.exists()
        empty = home / "empty"
        empty.write_bytes(b"")
        argos_blob.get(peer, argos_blob.put(peer, empty), home / "back.bin")
        assert os.path.getsize(home / "back.bin") == 0
    assert daemon.stop() == 0


def test_a_wrong_hash_is_refused_and_another_sender_is_not_harmed(argosd):
    data = b"the bytes"
    blob = "sha256:" + hashlib.sha256(data).hexdigest()
    body = {"blob": blob, "size": len(data), "offset": 0, "data": argos_blob.base64.b64encode(b"other one").decode()}
    with argos.Peer("evil.main", argosd.endpoint) as evil, argos.Peer("line.main", argosd.endpoint) as peer:
        with pytest.raises(argos.Refused) as refused:
            evil.send("store", "blob.put", body)
        assert refused.value.code == "invalid"
        assert argos_blob.stat(evil, blob) is None
        peer.send("store", "blob.put", {**body, "data": argos_blob.base64.b64encode(data).decode()})
        assert argos_blob.stat(evil, blob)["complete"]
        with pytest.raises(argos.Refused) as refused:
            peer.send("store", "blob.ref", {"run_id": "run_" + "0" * 32, "blobs": [blob]})
        assert refused.value.code == "denied"
