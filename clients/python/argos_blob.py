"""Files through the broker, beside argos.py: send one by its content, go on where it stopped, fetch one.

    blob = argos_blob.put(peer, "report.pdf", media_type="application/pdf")     # "sha256:…"; returns when all of it is on disk
    peer.send("service:gateway", "message.inbound", {…, "attachments": [{"blob": blob, "kind": "document", "name": "report.pdf"}]})
    argos_blob.get(peer, blob, "copy.pdf")

What was cut short (by a lost connection, a crash of either side) goes on where it was when it is called again. Pieces are 256 KiB; some are on
their way at a time.
"""
import base64
import fcntl
import hashlib
import os

import argos

PIECE, AHEAD = 262144, 4  # Bytes of a piece; pieces that are not answered yet


def name_of(path, peer):
    """The id of the content of a file, and its size. The connection of the peer goes on while it is read."""
    digest, size = hashlib.sha256(), 0
    with open(path, "rb") as file:
        while data := file.read(1 << 20):
            digest.update(data)
            size += len(data)
            peer._pump(0)
    return "sha256:" + digest.hexdigest(), size


def stat(peer, blob):
    """{"size", "have", "complete", …}, or None: what is there of it."""
    return peer.request("store", "blob.stat", {"blob": blob})["blob"]


def put(peer, path, media_type=None, name=None):
    """Send a file; returns its id. Raises Refused: too_big, busy (all files together), no_space, denied, or invalid when the file has changed
    meanwhile."""
    blob, size = name_of(path, peer)
    known = stat(peer, blob)
    if known and known["complete"]:
        return blob
    offset = known["have"] if known else 0
    extra = {"name": name or os.path.basename(path), **({"media_type": media_type} if media_type else {})}
    waiting, failed = 0, []

    def answered(refused, _):
        nonlocal waiting
        waiting -= 1
        if refused:
            failed.append(refused)

    with open(path, "rb") as file:
        file.seek(offset)
        while not failed:
            data = file.read(PIECE)
            body = {"blob": blob, "size": size, "offset": offset, "data": base64.b64encode(data).decode(), **(extra if offset == 0 else {})}
            waiting += 1
            peer.send("store", "blob.put", body, then=answered)
            offset += len(data)
            peer._wait(lambda: waiting < (AHEAD if data and offset < size else 1))
            if not data or offset >= size:
                break
    peer._wait(lambda: waiting == 0)
    if failed:
        raise failed[0]
    return blob


def get(peer, blob, path):
    """Fetch a file to path; returns its size. One that was cut short goes on when it is called again: what has come is in path.HASH.part.
    Raises Refused (not_found), ValueError when what came has another hash, BlockingIOError when another process is at it."""
    part, digest, offset, more = f"{path}.{blob[7:23]}.part", hashlib.sha256(), 0, True
    with open(part, "ab+") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        file.seek(0)
        while data := file.read(1 << 20):
            digest.update(data)
            offset += len(data)
            peer._pump(0)
        while more:
            try:
                answer = peer.request("store", "blob.get", {"blob": blob, "offset": offset})
            except argos.Refused as refused:
                if refused.code == "gone" and not peer.final:
                    continue  # The connection was lost: asked again on the next one
                if offset == 0:
                    os.unlink(part)
                raise
            data, more = base64.b64decode(answer["data"]), answer["more"]
            digest.update(data)
            file.write(data)
            offset += len(data)
        file.flush()
        if "sha256:" + digest.hexdigest() != blob:
            os.unlink(part)
            raise ValueError(f"{blob}: other bytes have come")
        os.replace(part, path)
    return offset
