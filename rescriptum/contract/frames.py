"""
Frames of a session: the gateway's on one long answer, the agent's in the bodies of requests.

Each is one JSON object; ``type`` says which.
"""

from typing import Final, TypeVar

from attrs import field, frozen

from .bounds import SENTENCE, SIGNED, many, name, number, text
from .commands import Envelope, Result
from .refusals import Rejected
from .reports import StatusReport
from .specs import NodeSpec
from .structure import JSON, LONGEST_FRAME, parsed, plain, structured

_T = TypeVar("_T")

#: Agent frames in one request.
FRAMES = 256
#: Status frames among them: each takes as long to record as many of the others.
STATUSES = 4
#: Why a ``close`` frame ends a stream and not its session: the gateway's process stops, and another
#: one, or the next, goes on with what is in the database.
STOPPING: Final = "stopping"
#: Why it ends the session of a node that has another one.
SUPERSEDED: Final = "superseded"


@frozen
class Ack:
    """The newest heartbeat that the gateway recorded, under which epoch."""

    beat: int = field(validator=number())
    epoch: int = field(validator=number(1))


# The gateway's.


@frozen
class Ping:
    """Nothing but that the gateway is there."""


@frozen
class Desired:
    """All of the node's desired state."""

    spec: NodeSpec


@frozen
class CommandFrame:
    """A command to verify, journal and run."""

    envelope: Envelope


@frozen
class Revoke:
    """A command that is not to be run any more, if it has not begun."""

    command_id: str = field(validator=name())


@frozen
class Close:
    """
    The stream's last frame, and the session's, unless its reason is ``stopping``.

    :ivar reason: a row of the table of refusals, or ``stopping``.
    """

    reason: str = field(validator=name())


ServerFrame = Ping | Desired | CommandFrame | Revoke | Close

SERVER_FRAMES: Final[dict[str, type]] = {
    "ping": Ping,
    "desired": Desired,
    "command": CommandFrame,
    "revoke": Revoke,
    "close": Close,
}


@frozen
class Received:
    """
    A server frame as an agent reads it.

    :ivar seq: one more with every frame of the stream. :ivar ack: what it proves, if anything.
    """

    seq: int = field(validator=number())
    frame: ServerFrame
    ack: Ack | None


# The agent's.


@frozen
class Heartbeat:
    """:ivar epoch: 0 on standby."""

    beat: int = field(validator=number())
    epoch: int = field(default=0, validator=number())


@frozen
class Release:
    """This epoch will never be served again by this node."""

    epoch: int = field(validator=number(1))


@frozen
class Journalled:
    """A command is in the agent's journal: it will not be lost, nor run twice."""

    command_id: str = field(validator=name())


@frozen
class ResultFrame:
    """
    What became of a command: sent again until the gateway answers with its id.

    :ivar attestation: an ``AttestedResult``, signed, where the command wants that.
    """

    command_id: str = field(validator=name())
    result: Result
    finished_at: int = field(validator=number())
    attestation: str | None = field(default=None, validator=text(SIGNED * 4))


@frozen
class Refused:
    """A command that was not taken: it never was in the journal. :ivar code: why."""

    command_id: str = field(validator=text(empty=True))
    code: str = field(validator=name())
    detail: str = field(default="", validator=text(SENTENCE, empty=True))


@frozen
class Status:
    """:ivar report: what has changed."""

    report: StatusReport


AgentFrame = Heartbeat | Release | Journalled | ResultFrame | Refused | Status

AGENT_FRAMES: Final[dict[str, type]] = {
    "heartbeat": Heartbeat,
    "release": Release,
    "journalled": Journalled,
    "result": ResultFrame,
    "refused": Refused,
    "status": Status,
}


@frozen
class Accepted:
    """
    The reply to agent frames: what need not be sent again.

    :ivar results: ids of commands whose result, or refusal, is recorded.
    :ivar released: epochs. :ivar journalled: ids of commands.
    """

    ack: Ack | None = None
    results: tuple[str, ...] = field(default=(), validator=many())
    released: tuple[int, ...] = field(default=(), validator=many())
    journalled: tuple[str, ...] = field(default=(), validator=many())


_SERVER_NAMES: Final = {kind: name for name, kind in SERVER_FRAMES.items()}
_AGENT_NAMES: Final = {kind: name for name, kind in AGENT_FRAMES.items()}


def _of(kinds: dict[str, type[_T]], data: JSON) -> _T:
    named = data.pop("type", None)
    kind = kinds.get(named) if isinstance(named, str) else None
    if kind is None:
        raise Rejected("invalid-message", f"no frame of type {str(named)[:40]!r}")
    return structured(kind, data)


def server_frame(line: bytes) -> Received:
    """
    :param line: of the stream, without its end.
    :raises Rejected: for anything else than a server frame.
    """
    data = parsed(line, LONGEST_FRAME)
    if not isinstance(data, dict):
        raise Rejected("invalid-message", "not an object")
    seq, ack = data.pop("seq", None), data.pop("ack", None)
    if type(seq) is not int or seq < 0:
        raise Rejected("invalid-message", "seq is not a whole number")
    frame: ServerFrame = _of(SERVER_FRAMES, data)
    return Received(seq, frame, None if ack is None else structured(Ack, ack))


def server_fields(frame: ServerFrame) -> JSON:
    """:returns: what a frame says beside ``seq`` and ``ack``, which are each session's own."""
    return {"type": _SERVER_NAMES[type(frame)], **plain(frame)}


def agent_frames(body: bytes) -> list[AgentFrame]:
    """
    :param body: of a request.
    :raises Rejected: for anything else than a list of agent frames; then none of them counts.
    """
    data = parsed(body)
    if not isinstance(data, list) or not all(isinstance(each, dict) for each in data):
        raise Rejected("invalid-message", "not a list of frames")
    if len(data) > FRAMES:
        raise Rejected("too-large", f"more than {FRAMES} frames")
    if sum(each.get("type") == "status" for each in data) > STATUSES:
        raise Rejected("too-large", f"more than {STATUSES} status frames")
    return [_of(AGENT_FRAMES, each) for each in data]


def agent_fields(frame: AgentFrame) -> JSON:
    """:returns: a frame as an object of that list."""
    return {"type": _AGENT_NAMES[type(frame)], **plain(frame)}
