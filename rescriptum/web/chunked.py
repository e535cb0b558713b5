"""A long answer on the wire: in chunks (RFC 9112 section 7.1), or until the connection ends."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from twisted.logger import Logger

from .patience import Patience
from .stream import CLOSED, LOST, SLOW_READER, STOPPING, Stream
from .wire import PIECE, Wire

if TYPE_CHECKING:
    from .site import Site

#: What the head says, to clients that know it: those of HTTP/1.1.
CODING: Final = ("Transfer-Encoding", "chunked")
_LAST: Final = b"0\r\n\r\n"


class ChunkedStream(Stream):
    """
    Satisfies :class:`rescriptum.web.stream.Stream`, and to its connection
    :class:`rescriptum.web.wire.Transfer`.

    Bytes that find no room on the wire are kept here, and given to it piece by piece.
    """

    _log = Logger()

    def __init__(
        self,
        site: "Site",
        wire: Wire,
        patience: Patience,
        room: int,
        framed: bool,
        done: Callable[[str], None],
    ) -> None:
        """
        :param framed: whether in chunks.
        :param done: called once, unless the connection is lost first: with nothing when all of
            it has gone in good order, or with why it has to be dropped.
        """
        self.ended: Callable[[str], None] | None = None
        self._site = site
        self._wire = wire
        self._patience = patience
        self._room = room
        self._framed = framed
        self._done = done
        self._why: str | None = None  # it ended
        self._over = False  # and the connection is told, or tells
        self._flowing = True  # the wire takes more
        self._kept = bytearray()
        self._said = 0

    @property
    def waiting(self) -> int:
        return len(self._kept) + self._wire.unsent()

    @property
    def sent(self) -> int:
        """Bytes that were written and have left; of those that wait, their framing too counts."""
        return max(0, self._said - self.waiting)

    # What the route calls.

    def write(self, data: bytes) -> None:
        if data and self._why is None:
            self._said += len(data)
            self._put(self._chunk(data))
            self._bound()

    def finish(self, last: bytes = b"") -> None:
        self._finish(CLOSED, last)

    def abort(self, reason: str) -> None:
        if self._why is None:
            self._end(reason)
            self._release()
            self._done(reason)

    # What the connection calls.

    def begin(self, head: bytes) -> None:
        """From here on bytes go out, and no deadline but the kernel's holds."""
        self._site.streams += 1
        self._wire.watch(True)
        self._patience.forever()
        self._flowing = self._wire.write(head)

    def start(self) -> None:
        """Nothing: what follows the head is written when it is there."""

    def drained(self) -> None:
        """There is room on the wire again."""
        self._flowing = True
        self._flush()
        self._settle()

    def stopping(self) -> None:
        """The server stops: nothing more is to be said."""
        self._finish(STOPPING, b"")

    def stop(self) -> None:
        self._release()
        if self._why is None:
            self._why = LOST
            self._tell()

    def _finish(self, reason: str, last: bytes) -> None:
        if self._why is not None:
            return
        self._said += len(last)
        self._put(self._chunk(last) + _LAST if self._framed else last)
        self._bound()
        if self._why is None:
            self._end(reason)
            self._patience.begins()  # from here on it is a reply like any other
            self._patience.sending()
            self._settle()

    def _chunk(self, data: bytes) -> bytes:
        return b"%x\r\n%b\r\n" % (len(data), data) if data and self._framed else data

    def _put(self, data: bytes) -> None:
        if self._flowing and len(data) <= PIECE:
            self._flowing = self._wire.write(data)
        else:
            self._kept += data
            self._flush()

    def _flush(self) -> None:
        kept = self._kept
        while kept and self._flowing:
            piece = bytes(kept[:PIECE])
            del kept[:PIECE]
            self._flowing = self._wire.write(piece)

    def _bound(self) -> None:
        if self.waiting > self._room:
            self.abort(SLOW_READER)

    def _settle(self) -> None:
        """Conclude, if it ended in good order and all of it has gone."""
        if self._why is not None and not self._over and self._flowing:
            self._release()
            self._wire.watch(False)
            self._done("")

    def _release(self) -> None:
        if not self._over:
            self._over = True
            self._said -= len(self._kept)
            self._kept.clear()
            self._site.streams -= 1

    def _end(self, reason: str) -> None:
        self._why = reason
        self._site.clock.callLater(0, self._tell)

    def _tell(self) -> None:
        ended, self.ended = self.ended, None
        if ended is None or self._why is None:
            return
        try:
            ended(self._why)
        except Exception:  # noqa: BLE001 - else the end of a connection would not be its end
            self._log.failure("The end of a stream could not be told")
