"""What a route decides to say, as a value; the listener performs it."""

from collections.abc import Callable
from enum import Enum
from functools import cached_property, lru_cache
from http import HTTPStatus

from attrs import evolve, field, frozen

from ..interfaces import Fence
from ..values import Content
from .decided import Decided, Headers, checked, rendered
from .request import Request
from .stream import Stream

TEXT = "text/plain; charset=utf-8"
_BODILESS = (204, 304)
#: RFC 9110's words; Python's differ by its version.
PHRASES = {each.value: each.phrase for each in HTTPStatus} | {
    413: "Content Too Large",
    414: "URI Too Long",
    416: "Range Not Satisfiable",
}


@frozen
class Reply:
    """
    Bytes in memory.

    :ivar headers: further ones, names as they go out; never ``Content-Length``, ``-Type``.
    :ivar about: what the listener's access log is told beside the request.
    :ivar reason: why, where the client is told nothing but a status: for the access log alone.
    """

    body: bytes = field(repr=False)
    media_type: str = TEXT
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    about: object = None
    reason: str = ""

    # A script that never changes is one reply for every machine: it is decided once.
    @cached_property
    def decided(self) -> Decided:
        """:raises ValueError: for a header that no reply may carry: that is the route's fault."""
        further = checked(self.headers) if self.headers else ()
        if self.status in _BODILESS:
            return Decided(self.status, further)
        size = len(self.body)
        headers, lines = _entity(self.media_type, size)
        if further:
            headers, lines = (*headers, *further), lines + rendered(further)
        return Decided(self.status, headers, self.body, size=size, lines=lines)

    @cached_property
    def decided_for_head(self) -> Decided:
        """The same without the body (W150)."""
        return evolve(self.decided, body=b"")


@lru_cache(1024)
def _entity(media_type: str, size: int) -> tuple[Headers, bytes]:
    """:returns: the headers that every reply with a body has, and the same as they go out."""
    headers = ("Content-Type", media_type), ("Content-Length", str(size))
    return headers, rendered(headers)


@frozen
class FileReply:
    """
    Bytes on a disk: ranges, conditions and zero-copy sending are the listener's affair.

    :ivar steady: whether further ranges may be sent, for a quarter of a second and on the same
        connection, without asking the route.
    :ivar fence: asked in the very turn in which the head goes out, since the file may have to be
        opened first: closed, the reply is 503. Not for steady ones.
    """

    content: Content
    headers: tuple[tuple[str, str], ...] = ()
    about: object = None
    steady: bool = False
    fence: Fence | None = None


@frozen
class StreamReply:
    """
    Bytes as they come, until whoever writes them or the client ends it.

    :ivar opened: called once, when the head has gone out. Never for HEAD, nor for a client that
        left meanwhile or for whom there was no place: what a stream needs is made in here.
    :ivar headers: further ones; never ``Content-Length``, ``Transfer-Encoding``,
        ``Cache-Control``.
    :ivar room: bytes that may wait for the client; with more it is a slow reader, and dropped.
    """

    media_type: str
    opened: Callable[[Stream], None]
    headers: tuple[tuple[str, str], ...] = ()
    about: object = None
    room: int = Stream.ROOM

    @property
    def decided(self) -> Decided:
        """
        :returns: what goes out before the first byte; how it is framed is the connection's own.
        :raises ValueError: for a header that no reply may carry: that is the route's fault.
        """
        own = ("Content-Type", self.media_type), ("Cache-Control", "no-store")
        return Decided(200, (*own, *checked(self.headers)))

    @property
    def decided_for_head(self) -> Decided:
        """The same."""
        return self.decided


class Outcome(Enum):
    """How a reply ended on the wire."""

    SENT = "sent"
    STOPPED = "stopped"  # the client left before the end
    FAILED = "failed"  # our side did not go on: a file that shrank, a stream that was aborted
    TIMED_OUT = "timed-out"


@frozen
class Finished:
    """
    One exchange, over: what access logs are made of.

    :ivar request: None where no request could be read.
    :ivar status: 0 where the connection ended before one was chosen.
    :ivar sent: bytes of the body that left.
    :ivar size: of the whole entity, where it is a file: ranges are parts of it.
    :ivar seconds: from the request's last byte to the reply's.
    :ivar reason: for the log alone, never for the client.
    :ivar at: when it was over, as Unix time.
    """

    request: Request | None
    peer: tuple[str, int]
    status: int
    sent: int
    size: int
    seconds: float
    outcome: Outcome
    about: object = None
    reason: str = ""
    at: float | None = None
