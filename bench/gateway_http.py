"""As much HTTP as a simulated agent needs: requests one after the other, and one long answer."""

from collections import deque
from collections.abc import Callable

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import ITCPTransport
from twisted.internet.protocol import Protocol, connectionDone
from twisted.python.failure import Failure

_END = b"\r\n\r\n"
_LENGTH = b"content-length:"


def request(method: str, path: str, body: bytes | None = None, token: str = "") -> bytes:
    """:returns: as it travels."""
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1"]
    if token:
        lines.append(f"Authorization: Bearer {token}")
    if body is not None:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join(lines).encode("ascii") + _END + (body or b"")


def status(head: bytes) -> int:
    return int(head[9:12])


class Asking(Protocol):
    """A connection that is kept: each request is sent once the one before was answered."""

    transport: ITCPTransport

    def __init__(self) -> None:
        self._waiting: deque[tuple[bytes, Deferred[tuple[int, bytes]]]] = deque()
        self._buffer = b""
        self._lost: Failure | None = None

    def ask(self, data: bytes) -> Deferred[tuple[int, bytes]]:
        """:returns: status and body."""
        answered: Deferred[tuple[int, bytes]] = Deferred()
        if self._lost is not None:
            answered.errback(self._lost)
            return answered
        self._waiting.append((data, answered))
        if len(self._waiting) == 1:
            self.transport.write(data)
        return answered

    def drop(self) -> None:
        if self._lost is None:
            self.transport.abortConnection()

    def dataReceived(self, data: bytes) -> None:
        self._buffer += data
        head, end, rest = self._buffer.partition(_END)
        if not end:
            return
        lowered = head.lower()
        length = int(lowered[lowered.index(_LENGTH) + len(_LENGTH) :].split(b"\r\n", 1)[0])
        if len(rest) < length:
            return
        self._buffer = rest[length:]
        _, answered = self._waiting.popleft()
        if self._waiting:
            self.transport.write(self._waiting[0][0])
        answered.callback((status(head), rest[:length]))

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        self._lost = reason
        waiting, self._waiting = self._waiting, deque()
        for _, answered in waiting:
            answered.errback(reason)


class Listening(Protocol):
    """One long answer of JSON lines; what frames it in chunks does not begin like one."""

    transport: ITCPTransport

    def __init__(
        self, asked: bytes, received: Callable[[bytes], None], lost: Callable[[], None]
    ) -> None:
        self._asked = asked
        self._received = received
        self._lost = lost
        self._rest = b""
        self._begun = self._over = False

    def connectionMade(self) -> None:
        self.transport.write(self._asked)

    def dataReceived(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        for each in lines:
            if each.startswith(b"{"):
                self._received(each)
            elif not self._begun:
                self._begun = True
                if status(each) != 200:
                    raise RuntimeError(f"no stream: {each!r}")

    def drop(self) -> None:
        """Nobody is told."""
        if not self._over:
            self._over = True
            self.transport.abortConnection()

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        if not self._over:
            self._over = True
            self._lost()
