"""Who runs the daemon, as a peer beside it: sends deliveries that nobody has asked for, reads their receipts, asks an adapter."""
import uuid

from conftest import wait_until
from test_adapter_pyzmq import Peer


class Person:
    """Speaks to the adapter that serves `service`."""

    def __init__(self, argosd, service):
        self.peer, self.service = Peer(argosd.endpoint, "ops.test", argosd.operator), service

    def deliver(self, chat, text="", **members):
        """The id of the delivery."""
        message_id = uuid.uuid4().hex
        header = {"type": "deliver.request", "to": f"service:{self.service}", "key": str(chat), "durable": True, "id": message_id}
        answer = self.peer.ask(header, {"kind": "notice", "text": text, "chat_id": str(chat), **members})
        assert answer[0]["type"] == "accepted", answer
        return message_id

    def receipt(self, message_id, deadline_s=30):
        return wait_until(lambda: self.peer.ask({"type": "receipt.get", "to": "store"}, {"id": message_id})[2]["receipt"], deadline_s)

    def send(self, chat, text="", **members):
        """The receipt of a delivery."""
        return self.receipt(self.deliver(chat, text, **members))

    def ask(self, kind, **body):
        header, _, answer = self.peer.ask({"type": kind, "to": f"service:{self.service}", "ttl_ms": 10000}, body)
        return header["type"], answer

    def close(self):
        self.peer.close()
