"""The long answer of a session: bytes into frames, bounded, timed, and deaf once it is over."""

from collections.abc import Callable

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.internet.protocol import Protocol, connectionDone
from twisted.python.failure import Failure
from twisted.web.client import ResponseDone

from ..contract.frames import Received, server_frame
from ..contract.refusals import Rejected
from ..contract.structure import LONGEST_FRAME
from ..errors import RescriptumError, Unavailable


class FrameReader(Protocol):
    """
    Takes the body of a stream.

    :ivar ended: fires once, with what ended the stream: it has no other end than trouble.
    """

    _timer: IDelayedCall | None = None

    def __init__(
        self, clock: IReactorTime, received: Callable[[Received], None], silence: float
    ) -> None:
        """
        :param received: called with each frame; it may close the reader.
        :param silence: seconds without a whole frame after which the stream is given up.
        """
        self._clock = clock
        self._received = received
        self._silence = silence
        self._buffer = bytearray()
        self._seq: int | None = None
        self._over = False
        self.ended: Deferred[RescriptumError] = Deferred()

    def connectionMade(self) -> None:
        if not self._over:
            self._timer = self._clock.callLater(self._silence, self._silent)

    def dataReceived(self, data: bytes) -> None:
        if self._over:
            return  # late bytes of a dead stream are nobody's
        seen = len(self._buffer)
        self._buffer += data
        end = self._buffer.rfind(b"\n", seen)  # in what is new alone
        if end >= 0:
            lines = bytes(self._buffer[:end]).split(b"\n")
            del self._buffer[: end + 1]
            for line in lines:
                self._line(line)
                if self._over:  # a frame may close the stream
                    return
        if len(self._buffer) > LONGEST_FRAME:
            self.close(Rejected("too-large", f"a frame of more than {LONGEST_FRAME} bytes"))

    def _line(self, line: bytes) -> None:
        try:
            frame = server_frame(line)
            if self._seq is not None and frame.seq != self._seq + 1:
                raise Rejected("invalid-message", f"frame {frame.seq} after {self._seq}")
        except Rejected as e:
            self.close(e)
            return
        self._seq = frame.seq
        if self._timer is not None:
            self._timer.reset(self._silence)
        self._received(frame)

    def _silent(self) -> None:
        self.close(Unavailable(f"no frame for {self._silence:g} seconds"))

    def close(self, reason: RescriptumError) -> None:
        """
        Hear nothing from now on, whatever still comes. Whoever owns the connection has to abort it.
        """
        if self._over:
            return
        self._over = True
        self._buffer.clear()
        if self._timer is not None and self._timer.active():
            self._timer.cancel()
        self.ended.callback(reason)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        if reason.check(ResponseDone):
            self.close(Unavailable("the gateway ended the stream"))
        else:
            self.close(Unavailable(f"the stream broke off: {reason.getErrorMessage()}"))
