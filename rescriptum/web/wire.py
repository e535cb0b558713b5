"""How bytes leave a connection: straight to the socket, or through any transport's buffer."""

import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IConsumer, IPushProducer, ITCPTransport, ITransport
from twisted.python.failure import Failure
from zope.interface import implementer

from ..errors import RescriptumError
from ..interfaces import Workers
from ..values import Extent
from .files import OpenFile
from .liveness import watch
from .sendfile import Sendfile
from .transport import SendfileServer

#: What one slow client of the copying path may hold in memory, but for the transport's own buffer.
PIECE = 64 * 1024


class Transfer(Protocol):
    """A body on its way."""

    @property
    def sent(self) -> int:
        """Bytes of it that have left."""

    def start(self) -> None: ...

    def stop(self) -> None:
        """The connection has gone: nothing more is sent, and what it held is released."""


class Wire(Protocol):
    """The outgoing half of a connection."""

    #: Called when bytes that :meth:`write` said were waiting have gone.
    drained: Callable[[], None]

    def write(self, data: bytes) -> bool:
        """:returns: whether there is room for more; if not, :attr:`drained` is called."""

    def begin(self, head: bytes, fd: int, spans: Sequence[Extent], chunk: int) -> int:
        """
        Send the head of a reply, and of the file that follows what goes out at once.

        :param chunk: bytes to send before others get their turn.
        :returns: bytes of the file that have gone.
        """

    def transfer(
        self,
        file: OpenFile,
        spans: Sequence[Extent],
        workers: Workers,
        done: Callable[[str], None],
        chunk: int,
        sent: int,
    ) -> Transfer:
        """
        :param spans: what is to follow.
        :param sent: bytes that went before.
        :returns: what sends the rest, once it is started.
        """

    def waiting(self) -> int:
        """Bytes written that the client may not have yet; -1 where nobody can say."""

    def unsent(self) -> int:
        """Bytes written that have not left this process."""

    def end(self) -> None:
        """Close when what was written has gone."""

    def finish_writing(self) -> None:
        """Tell the client that nothing more comes, and go on reading."""

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...

    def watch(self, watched: bool) -> None:
        """Notice a client that was cut off: see :mod:`rescriptum.web.liveness`."""


class DirectWire:
    """A plain TCP connection: no bytes wait anywhere but in the kernel."""

    def __init__(self, transport: SendfileServer, drained: Callable[[], None]) -> None:
        self._transport = transport
        self.drained = drained
        transport.drained = drained
        transport.setTcpNoDelay(True)  # the last part of a reply waits for nobody
        self.write = transport.send

    def begin(self, head: bytes, fd: int, spans: Sequence[Extent], chunk: int) -> int:
        span = spans[0]
        if not self._transport.send(head, more=True) or span.length > chunk:
            return 0
        return self._transport.send_now(fd, span.offset, span.length)

    def transfer(
        self,
        file: OpenFile,
        spans: Sequence[Extent],
        workers: Workers,
        done: Callable[[str], None],
        chunk: int,
        sent: int,
    ) -> Transfer:
        return Sendfile(self._transport, file, spans, workers, done, chunk, sent)

    def waiting(self) -> int:
        return self._transport.unacknowledged() + self._transport.kept

    def unsent(self) -> int:
        return self._transport.kept

    def end(self) -> None:
        self._transport.loseConnection()

    def finish_writing(self) -> None:
        self._transport.loseWriteConnection()

    def pause_reading(self) -> None:
        self._transport.pauseProducing()

    def resume_reading(self) -> None:
        self._transport.resumeProducing()

    def watch(self, watched: bool) -> None:
        watch(self._transport, watched)


@implementer(IPushProducer)
class BufferedWire:
    """Any other transport, TLS above all: it says when its buffer is full."""

    def __init__(self, transport: ITransport, drained: Callable[[], None]) -> None:
        self._transport = transport
        self._consumer = IConsumer(transport)
        self.drained = drained
        self._full = False
        self._ended = False
        self._copying: _Copying | None = None
        self._consumer.registerProducer(self, True)
        if ITCPTransport.providedBy(transport):
            ITCPTransport(transport).setTcpNoDelay(True)

    def write(self, data: bytes) -> bool:
        self._transport.write(data)
        return not self._full

    def begin(self, head: bytes, fd: int, spans: Sequence[Extent], chunk: int) -> int:
        self.write(head)
        return 0

    def transfer(
        self,
        file: OpenFile,
        spans: Sequence[Extent],
        workers: Workers,
        done: Callable[[str], None],
        chunk: int,
        sent: int,
    ) -> Transfer:
        self._copying = _Copying(self.write, file, spans, workers, done)
        return self._copying

    def waiting(self) -> int:
        return -1

    def unsent(self) -> int:
        return 0  # with the transport: whether it is gone cannot be seen from here

    def end(self) -> None:
        if not self._ended:
            self._ended = True
            self._consumer.unregisterProducer()
            self._transport.loseConnection()

    def finish_writing(self) -> None:
        """TLS ends as a whole: the client is given its time to read all the same."""

    def pause_reading(self) -> None:
        IPushProducer(self._transport).pauseProducing()

    def resume_reading(self) -> None:
        IPushProducer(self._transport).resumeProducing()

    def watch(self, watched: bool) -> None:
        watch(self._transport, watched)

    def pauseProducing(self) -> None:
        self._full = True

    def resumeProducing(self) -> None:
        if self._full:
            self._full = False
            if self._copying is not None and self._copying.resume():
                return
            self.drained()

    def stopProducing(self) -> None:
        """The connection is lost; it is told so by itself."""


class _Copying:
    """A file that is read in threads, a piece at a time, as fast as the client takes it."""

    def __init__(
        self,
        write: Callable[[bytes], bool],
        file: OpenFile,
        spans: Sequence[Extent],
        workers: Workers,
        done: Callable[[str], None],
    ) -> None:
        self.sent = 0
        self._write = write
        self._file = file
        self._spans = spans
        self._workers = workers
        self._done = done
        self._over = False
        self._room: Deferred[None] | None = None

    def start(self) -> None:
        running = Deferred.fromCoroutine(self._run())
        running.addCallbacks(self._end, self._failed)

    def stop(self) -> None:
        self._over = True
        self.resume()

    def resume(self) -> bool:
        """:returns: whether it was this transfer that waited for room."""
        room, self._room = self._room, None
        if room is not None:
            room.callback(None)
        return room is not None

    async def _run(self) -> str:
        # The file is released here and nowhere else: never under a thread that reads it.
        try:
            for span in self._spans:
                at, end = span.offset, span.offset + span.length
                while at < end:
                    count = min(end - at, PIECE)
                    work = partial(os.pread, self._file.fd, count, at)
                    piece = await self._workers.run(work)
                    if self._over:
                        return ""
                    if not piece:
                        return "the file is shorter than it was"
                    at += len(piece)
                    self.sent += len(piece)
                    if not self._write(piece):
                        self._room = Deferred()
                        await self._room
                    if self._over:
                        return ""
        finally:
            self._file.release()
        return ""

    def _end(self, reason: str) -> None:
        if not self._over:
            self._over = True
            self._done(reason)

    def _failed(self, failure: Failure) -> None:
        failure.trap(OSError, RescriptumError)
        self._end(f"reading failed: {failure.getErrorMessage()}")


def wire(transport: ITransport, drained: Callable[[], None]) -> Wire:
    """The best way out that ``transport`` has."""
    if isinstance(transport, SendfileServer):
        return DirectWire(transport, drained)
    return BufferedWire(transport, drained)
