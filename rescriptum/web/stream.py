"""The body of a long answer, as whoever says it sees it."""

from collections.abc import Callable
from typing import ClassVar, Final, Protocol

#: Why a stream ended; beside these there are the reasons that streams are aborted with.
CLOSED: Final = "closed"
LOST: Final = "lost"
SLOW_READER: Final = "slow-reader"
STOPPING: Final = "stopping"


class Stream(Protocol):
    """
    Bytes to one client, for as long as both want it.

    No call of it blocks, raises, or calls back: :attr:`ended` is told in a later turn of the
    reactor, so that one may write to many streams in a loop. After the end all calls are ignored.

    :cvar ROOM: bytes that may wait for a client, where its reply says nothing else.
    :ivar ended: told once, and never again, why the stream ended: ``closed`` (it was finished),
        ``lost`` (the client left), ``slow-reader`` (more was waiting than there is room for),
        ``stopping`` (the server stops), or the reason that it was aborted with.
    """

    ROOM: ClassVar[int] = 256 * 1024

    ended: Callable[[str], None] | None

    @property
    def waiting(self) -> int:
        """Bytes that the client's socket has not taken yet."""

    def write(self, data: bytes) -> None:
        """
        Send ``data``, as one chunk.

        What the socket does not take waits; where there is no room for that, the stream is
        aborted.
        """

    def finish(self, last: bytes = b"") -> None:
        """Send ``last``, and end in good order: the connection may go on."""

    def abort(self, reason: str) -> None:
        """
        Drop the connection at once, with all that waits.

        :param reason: for :attr:`ended` and the access log; the client is told nothing.
        """
