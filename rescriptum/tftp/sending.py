"""
One transfer on a socket of its own: ``Transfer`` decides, this performs.

While all goes well, neither has anything to decide: the acknowledgement of the last block sent
asks for the next window. That is compared and answered here, and the transfer is told later. What
is not that acknowledgement takes the slow path; both send the same datagrams.
"""

import struct
from collections.abc import Callable
from typing import Protocol

from twisted.logger import Logger

from ..errors import MalformedDatagram, Unavailable
from .offload import BYTES, CANNOT, CROWDED, Offload
from .packets import Source
from .transfer import Ending, Outcome, Step, Transfer
from .wire import Acknowledgement, Error, ErrorCode, decode

#: Bytes of an answer that are looked at: more would leave Python's allocator for small objects,
#: and only the text of an error is longer.
LOOK = 32
_HEADER = struct.Struct("!HH")


class Channel(Protocol):
    """
    A socket that is connected to the client: the kernel drops what others send to it (W125), and
    tells when the client's port is closed.

    :ivar recv: as of a socket that does not block; ``send`` likewise.
    :ivar mtu: bytes a packet to the client may have.
    """

    @property
    def recv(self) -> Callable[[int], bytes]: ...

    @property
    def send(self) -> Callable[[bytes | memoryview], int]: ...

    @property
    def mtu(self) -> int: ...

    def watch(self, ready: Callable[[], None], broken: Callable[[], None]) -> None:
        """
        :param ready: called while there is something to receive.
        :param broken: called when ``ready`` raised; the failure is logged by then.
        """

    def segment(self, size: int) -> None:
        """
        Have the kernel cut what is sent into datagrams of ``size`` bytes; 0: no more.

        :raises OSError: where it cannot.
        """

    def close(self) -> None:
        """Nothing is called after this."""


class Sending:
    """
    One transfer under way.

    :ivar transfer: its state, as exact as the slow path has it.
    """

    _log = Logger()
    _expected: bytes | None = None  # what the fast path answers; None: nothing
    _segmented: bool | None = None  # None: not tried yet

    def __init__(
        self,
        channel: Channel,
        transfer: Transfer,
        source: Source,
        ended: Callable[[Outcome], None],
        *,
        monotonic: Callable[[], float],
        offload: Offload,
        interface: int,
        fast: bool = True,
    ) -> None:
        """
        :param ended: called once; the channel is closed by then.
        :param interface: the index of the one that the client is behind.
        :param fast: False decides each datagram in ``transfer``.
        """
        self.transfer = transfer
        self._channel = channel
        self._recv = channel.recv
        self._send = channel.send
        self._source = source
        self._ended = ended
        self._monotonic = monotonic
        self._offload = offload
        self._interface = interface
        self._fast = fast and source.packets is not None
        self._over = False
        # The fast path's own account; `transfer` is behind it until the slow path is taken.
        self._acked = self._sent = 0
        self._windowsize = transfer.terms.windowsize
        self._blocks = transfer.blocks
        self._stride = transfer.terms.blksize + 4
        self._views: list[memoryview] = []
        self._asking: list[bytes | None] = []
        self._datagrams = memoryview(b"")
        if self._fast and source.packets is not None:
            self._datagrams = source.packets.datagrams
            if self._windowsize == 1:
                self._views, self._asking = source.packets.lockstep

    def begin(self) -> None:
        """Answer the request."""
        ready = self._windows() if self._windowsize > 1 else self._lockstep()
        self._channel.watch(ready, self._broken)
        self._perform(self.transfer.begin(self._monotonic()))

    def repeated(self, same: bool) -> bool:
        """
        A request came again from the client's port.

        :param same: it asks for the same.
        :returns: whether this transfer answers it; else it is over.
        """
        self._catch_up()
        now = self._monotonic()
        self._perform(self.transfer.repeated(now) if same else self.transfer.replaced())
        return not self._over

    def ticked(self, now: float) -> None:
        """Time has passed."""
        self._catch_up()  # whatever was sent meanwhile is younger than a tick
        self._perform(self.transfer.ticked(now))

    def abort(self, reason: str, code: ErrorCode = ErrorCode.UNDEFINED) -> None:
        """End it from our side."""
        if not self._over:
            self._catch_up()
            self._put(Error(code, reason.encode("ascii", "replace")).encode())
            self._end(Outcome(Ending.FAILED, reason))

    def _lockstep(self) -> Callable[[], None]:
        """:returns: what answers a datagram where a window is one block: the hottest lines here."""
        recv, send, views, asking = self._recv, self._send, self._views, self._asking

        def ready() -> None:
            try:
                datagram = recv(LOOK)
                if datagram == self._expected:
                    at = self._sent
                    self._sent = at + 1
                    self._expected = asking[at + 1]
                    send(views[at])
                    return
            except OSError as e:
                self._failed(e)
            else:
                self._slow(datagram)

        return ready

    def _windows(self) -> Callable[[], None]:
        """:returns: what answers a datagram where windows are larger: the same, one call each."""
        recv, send, blocks, windowsize = self._recv, self._send, self._blocks, self._windowsize
        stride, datagrams = self._stride, self._datagrams
        offload = self._offload
        one_call = windowsize <= CROWDED and windowsize * stride <= BYTES

        def ready() -> None:
            try:
                datagram = recv(LOOK)
            except OSError as e:
                self._failed(e)
                return
            if datagram != self._expected:
                self._slow(datagram)
                return
            first = self._acked = self._sent
            sent = first + windowsize
            if sent < blocks:
                self._expected = _HEADER.pack(Acknowledgement.opcode, sent & 0xFFFF)
            else:
                sent, self._expected = blocks, None
            self._sent = sent
            window = datagrams[first * stride : sent * stride]
            if one_call and self._segmented and offload.crowded:
                try:
                    send(window)
                except OSError as e:
                    self._unsent(window, e)
            else:
                self._put_window(window)

        return ready

    def _slow(self, datagram: bytes) -> None:
        self._catch_up()
        try:
            message = decode(datagram)
        except MalformedDatagram as e:
            self._log.debug("Ignored a datagram within a transfer: {reason}", reason=e)
            return
        self._perform(self.transfer.received(message, self._monotonic()))

    def _catch_up(self) -> None:
        if self._sent != self.transfer.sent:
            acked = self._sent - 1 if self._views else self._acked
            self.transfer.advanced(acked, self._sent, self._monotonic())

    def _perform(self, step: Step) -> None:
        if self._over:
            return
        if step.offer and self.transfer.offer is not None:
            self._put(self.transfer.offer)
        if step.count:
            self._put_blocks(step.first, step.count)
        if self._over:
            return  # what was sent met a closed port
        if step.outcome is not None:
            self._end(step.outcome)
            return
        self._acked, self._sent = self.transfer.acked, self.transfer.sent
        self._expected = None
        if self._fast and self.transfer.straight and self._sent < self._blocks:
            self._expected = Acknowledgement(self._sent & 0xFFFF).encode()

    def _put_blocks(self, first: int, count: int) -> None:
        try:
            window = memoryview(self._source.window(first, count))
        except Unavailable as e:
            self.abort(str(e))
            return
        if count > 1 and self._segmented is None:
            self._try_segments()
        self._put_window(window)

    def _try_segments(self) -> None:
        """Have the kernel cut windows; the option is set once a socket."""
        self._segmented = self._offload.fits(self._interface, self._stride)
        if self._segmented:
            try:
                self._channel.segment(self._stride)
            except OSError as e:
                self._unsegmented(e)

    def _put_window(self, window: memoryview) -> None:
        step = self._stride
        if self._segmented:
            step *= self._offload.datagrams(self._stride)
        for at in range(0, len(window), step):
            try:
                self._send(window[at : at + step])
            except OSError as e:
                self._unsent(window[at:], e)
                return

    def _unsent(self, window: memoryview, why: OSError) -> None:
        if not self._segmented or why.errno not in CANNOT:
            self._failed(why)
            return
        # While the option is set not even one block may be too large for the path.
        self._channel.segment(0)
        self._unsegmented(why)
        self._put_window(window)

    def _unsegmented(self, why: OSError) -> None:
        self._segmented = False
        self._offload.failed(self._interface, self._stride, why)

    def _put(self, datagram: bytes) -> None:
        try:
            self._send(datagram)
        except OSError as e:
            self._failed(e)

    def _failed(self, why: OSError) -> None:
        if isinstance(why, ConnectionRefusedError):
            self._catch_up()
            self._perform(self.transfer.refused())
        elif not isinstance(why, BlockingIOError):
            # No route, a filter: time will tell.
            self._log.debug("Nothing was sent: {reason}", reason=why)

    def _broken(self) -> None:
        self.abort("internal error")

    def _end(self, outcome: Outcome) -> None:
        if self._over:
            return
        self._over = True
        self._expected = None
        self._channel.close()
        self._source.close()
        self._ended(outcome)
