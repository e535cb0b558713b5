"""
A gateway of bare ``twisted.web``, which keeps nothing: ``python -m bench.gateway_bare PORT PEM``.

The peer of ours: the same bytes to and fro over the same TLS, with no database, no signature and
no lease behind them. What ours takes beyond it is what a gateway is for.
"""

import json
import sys
import time
from pathlib import Path

from twisted.internet import reactor
from twisted.internet.endpoints import serverFromString
from twisted.internet.interfaces import IReactorCore
from twisted.internet.task import LoopingCall
from twisted.protocols.tls import TLSMemoryBIOFactory
from twisted.web.resource import Resource
from twisted.web.server import NOT_DONE_YET, Request, Site

from rescriptum.contract.commands import Command, Envelope
from rescriptum.contract.frames import (
    Accepted,
    Ack,
    CommandFrame,
    Desired,
    Ping,
    ServerFrame,
    server_fields,
)
from rescriptum.contract.jose import unverified
from rescriptum.contract.sessions import Welcome
from rescriptum.contract.specs import LeaseSection, NodeSpec, SiteSpec
from rescriptum.contract.structure import plain, rendered
from rescriptum.web.tls import Certificate

#: Seconds between two pings, as ours sends them.
PING = 3.0
LEASE = LeaseSection(True, 1, 15_000)


class Bare(Resource):
    """Every path, told apart by its end; a session is called by its node."""

    isLeaf = True

    def __init__(self) -> None:
        super().__init__()
        self._streams: dict[str, Request] = {}

    def render_POST(self, request: Request) -> bytes:
        assert request.content is not None
        said, *_, last = json.loads(request.content.read()), *request.path.split(b"/")
        request.setHeader(b"content-type", b"application/json")
        if last == b"frames":
            acks = [Ack(each["beat"], 1) for each in said if each["type"] == "heartbeat"]
            done = tuple(each["command_id"] for each in said if each["type"] == "result")
            return rendered(Accepted(acks[-1] if acks else None, done))
        if last == b"commands":
            return self._command(said["node"], said["kind"], said["payload"])
        node = str(unverified("hello", said["hello"])["node_id"])
        return rendered(Welcome(node, node, 5000, 15_000, int(time.time())))

    def render_GET(self, request: Request) -> int:
        session = request.path.decode("ascii").split("/")[3]
        self._streams[session] = request
        request.notifyFinish().addErrback(lambda _: self._streams.pop(session, None))
        self._say(request, Desired(NodeSpec(1, SiteSpec(LEASE))))
        return NOT_DONE_YET

    def ping(self) -> None:
        for each in self._streams.values():
            self._say(each, Ping())

    def _command(self, node: str, kind: str, payload: dict[str, object]) -> bytes:
        now = int(time.time())
        claims = Command(f"c-{node}", node, kind, payload, "w", "s", now, now + 900)
        text = rendered(claims).decode("ascii")
        self._say(self._streams[node], CommandFrame(Envelope(unsigned=text)))
        return rendered({**plain(claims), "state": "delivered"})

    def _say(self, request: Request, frame: ServerFrame) -> None:
        request.write(rendered({"seq": 0, **server_fields(frame), "ack": None}) + b"\n")


def main(port: int, pem: Path) -> None:
    bare = Bare()
    site = Site(bare)
    site.noisy = False
    at = f"tcp:{port}:backlog=1024:interface=127.0.0.1"
    listening = serverFromString(reactor, at)
    listening.listen(TLSMemoryBIOFactory(Certificate(pem, pem), False, site))
    LoopingCall(bare.ping).start(PING, now=False)
    IReactorCore(reactor).run()


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
