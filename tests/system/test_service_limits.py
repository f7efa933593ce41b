"""Limits of particular services, from argos.yaml: how long a lease may be held, how much may wait."""
from test_adapter_pyzmq import Peer

SETTINGS = """services: [slow]
service_limits: [{service: slow, hold_max_ms: 1000, lane_max: 2}]
ipc_roles: [worker]
"""


def test_a_lease_that_is_held_too_long_is_ended_and_its_holder_told(daemon):
    (daemon.home / "argos.yaml").write_text(SETTINGS)
    daemon.start()
    worker = Peer(daemon.endpoint, "worker")
    assert worker.ask({"type": "serve"}, {"service": "slow", "slots": 1})[0]["type"] == "accepted"
    work = {"type": "work.do", "to": "service:slow", "key": "a", "durable": True}
    assert worker.ask({**work, "id": "one"}, {})[0]["type"] == "accepted"
    leased = worker.receive(lambda header, _: header["type"] == "work.do")
    told = worker.receive(lambda header, _: header["type"] == "refused" and "seq" in header)
    assert told[0]["seq"] == leased[1]["seq"] and told[0]["lease"] == leased[1]["lease"] and told[2]["code"] == "fenced"
    assert worker.receive(lambda header, _: header["type"] == "work.do")[1]["attempt"] == 2
    assert worker.ask({**work, "id": "two"}, {})[0]["type"] == "accepted"
    refused = worker.ask({**work, "id": "three"}, {})
    assert refused[0]["type"] == "refused" and refused[2]["code"] == "busy" and "lane" in refused[2]["reason"]
    worker.close()
