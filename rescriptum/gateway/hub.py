"""The sessions whose streams this process has: what was said to each, and what it may be told."""

from collections.abc import Callable, Iterator
from typing import Final, Protocol

from attrs import define, field

from ..contract.frames import STOPPING, SUPERSEDED, Ack, Close, Ping, ServerFrame, server_fields
from ..contract.joining import Role
from ..contract.refusals import Rejected
from ..contract.specs import NodeSpec
from ..contract.structure import LONGEST_FRAME, rendered

#: Frames that may wait for an agent, which reads slower than it is spoken to.
QUEUE: Final = 256
#: Of the time until an agent misses a frame: when it gets a ping.
_EARLY: Final = 0.6
_NOTHING: Final = rendered(None)


class Outgoing(Protocol):
    """What a stream is to us: see ``rescriptum.web.stream``."""

    ended: Callable[[str], None] | None

    @property
    def waiting(self) -> int: ...

    def write(self, data: bytes) -> None: ...

    def finish(self, last: bytes = b"") -> None: ...

    def abort(self, reason: str) -> None: ...


@define(eq=False)
class Live:
    """
    One session with a stream.

    :ivar heartbeat: seconds within which it is to hear something.
    :ivar seq: of the next frame. :ivar ack: the newest acknowledgement, as JSON.
    :ivar spec: what it was last told to have; None: nothing yet.
    :ivar told: ids of commands, and of revoked ones, that this stream was told.
    """

    session: str
    node: str
    site: str
    role: Role
    heartbeat: float
    stream: Outgoing
    seq: int = 0
    ack: bytes = _NOTHING
    spec: NodeSpec | None = None
    told: set[str] = field(factory=set)
    revoked: set[str] = field(factory=set)
    wrote_at: float = 0.0
    queued: int = 0


def line(seq: int, fields: bytes, ack: bytes) -> bytes:
    """
    :param fields: what all who get the frame have in common, as the members of an object.
    :returns: the frame as it travels: what is a session's own is joined to it.
    :raises Rejected: ``too-large``: no agent would read it.
    """
    made = b'{"seq":%d,%b,"ack":%b}\n' % (seq, fields, ack)
    if len(made) > LONGEST_FRAME:
        raise Rejected("too-large", f"a frame of {len(made)} bytes")
    return made


def members(frame: ServerFrame) -> bytes:
    """:returns: what a frame says, without the braces: once for all who are told the same."""
    return rendered(server_fields(frame))[1:-1]


_PING: Final = members(Ping())


class Hub:
    """Says to each session what it is to hear, in order, and ends those that do not listen."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        """:param monotonic: seconds of a clock that is never set back."""
        self._monotonic = monotonic
        self._lives: dict[str, Live] = {}
        self._nodes: dict[str, Live] = {}

    def __len__(self) -> int:
        """How many sessions have their stream here."""
        return len(self._lives)

    def __iter__(self) -> Iterator[Live]:
        return iter(tuple(self._lives.values()))

    def of_node(self, node: str) -> Live | None:
        """:returns: a node has one session at most."""
        return self._nodes.get(node)

    def attach(self, live: Live) -> None:
        """A stream has opened: it takes the place of an earlier one of its node."""
        before = self._nodes.get(live.node)
        if before is not None and before.session == live.session:
            live.ack = before.ack
            self.leave(before)
        elif before is not None:
            self.close(before.session, SUPERSEDED)
        live.wrote_at = self._monotonic()
        self._lives[live.session] = self._nodes[live.node] = live
        live.stream.ended = lambda reason: self._drop(live)

    def _drop(self, live: Live) -> None:
        if self._lives.get(live.session) is live:
            del self._lives[live.session]
        if self._nodes.get(live.node) is live:
            del self._nodes[live.node]

    def send(self, live: Live, frame: ServerFrame) -> None:
        """:raises Rejected: ``too-large``; nothing is said then."""
        self._write(live, members(frame))

    def _write(self, live: Live, fields: bytes) -> None:
        made = line(live.seq, fields, live.ack)
        live.queued = live.queued + 1 if live.stream.waiting else 0
        if live.queued > QUEUE:
            self._drop(live)
            live.stream.abort("slow-reader")
            return
        live.seq += 1
        live.wrote_at = self._monotonic()
        live.stream.write(made)

    def acknowledge(self, session: str, ack: Ack) -> None:
        """Every frame from now on says so; one that is due anyway is soon enough."""
        live = self._lives.get(session)
        if live is not None:
            live.ack = rendered(ack)

    def leave(self, live: Live) -> None:
        """Its session goes on by another stream: this one ends without a word."""
        self._drop(live)
        live.stream.finish()

    def close(self, session: str, reason: str) -> None:
        """A session is over: its stream says why, and ends."""
        live = self._lives.get(session)
        if live is not None:
            self._drop(live)
            live.stream.finish(line(live.seq, members(Close(reason)), live.ack))

    def stop(self) -> None:
        """This process stops; the sessions go on by their next streams."""
        for live in self:
            self.close(live.session, STOPPING)

    def tick(self) -> None:
        """Called several times within each heartbeat: whoever heard nothing for long is pinged."""
        now = self._monotonic()
        for live in self:
            if now - live.wrote_at >= live.heartbeat * _EARLY:
                self._write(live, _PING)
