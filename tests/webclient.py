"""Asking an application, with and without a socket."""

import socket
import ssl
from collections.abc import Callable
from typing import TypeVar

from attrs import frozen
from twisted.internet.defer import Deferred

from rescriptum.web.decision import decide
from rescriptum.web.reply import FileReply, Reply
from rescriptum.web.request import Request
from rescriptum.web.routing import Application, Mounted, answer

_T = TypeVar("_T")
PEER = ("192.0.2.7", 50000)


class InlineWorkers:
    """Satisfies :class:`rescriptum.interfaces.Workers` without a thread."""

    async def run(self, work: Callable[[], _T]) -> _T:
        return work()


@frozen
class Told:
    """
    What a client is told.

    :ivar headers: names and values in the order they come.
    """

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key.lower() == name.lower()), None)


def ask(
    application: Application | Mounted,
    target: str,
    *,
    method: str = "GET",
    headers: tuple[tuple[str, str], ...] = (),
    body: bytes = b"",
    peer: tuple[str, int] = PEER,
) -> Told:
    """What a listener would say, decided in memory; a route that waits fails the test."""
    request = Request(method, target, peer, headers, body)
    waiting = Deferred.fromCoroutine(answer(application, request))
    reply = waiting.result
    assert isinstance(reply, Reply | FileReply), reply
    decided = decide(request, reply)
    body = decided.body
    if decided.content is not None:
        with decided.content.path.open("rb") as file:
            for span in decided.spans:
                file.seek(span.offset)
                body += file.read(span.length)
    return Told(decided.status, decided.headers, body)


class RawClient:
    """
    A socket and nothing that would hide how a reply is framed. Blocks: use it in a thread.

    :ivar spare: bytes that came after the last reply.
    """

    def __init__(
        self,
        port: int,
        host: str = "127.0.0.1",
        tls: bool = False,
        newest: ssl.TLSVersion = ssl.TLSVersion.MAXIMUM_SUPPORTED,
    ) -> None:
        """:param newest: of TLS that it speaks."""
        self.socket: socket.socket = socket.create_connection((host, port), 10)
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.maximum_version = newest
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
            self.socket = context.wrap_socket(self.socket)
        self.spare = b""

    def __enter__(self) -> "RawClient":
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, data: bytes, pieces: int = 0) -> None:
        """:param pieces: bytes of each; 0 for all at once."""
        for at in range(0, len(data), pieces or len(data)):
            self.socket.sendall(data[at : at + (pieces or len(data))])

    def more(self) -> bytes:
        """:returns: whatever comes next; empty at the end, or on a reset."""
        try:
            return self.socket.recv(1 << 20)
        except ConnectionError:
            return b""

    def reply_begins(self) -> None:
        """Wait for the first bytes of a reply."""
        self.spare += self.more()

    def reply(self, method: str = "GET") -> Told:
        """Read one reply by its Content-Length; HEAD, 204, 304 have no body."""
        while b"\r\n\r\n" not in self.spare:
            data = self.more()
            if not data:
                raise EOFError(self.spare)
            self.spare += data
        head, _, self.spare = self.spare.partition(b"\r\n\r\n")
        line, *lines = head.decode("latin-1").split("\r\n")
        status = int(line.split(" ")[1])
        headers = tuple(
            (name, value) for name, _, value in (each.partition(": ") for each in lines)
        )
        told = Told(status, headers, b"")
        if method == "HEAD" or status in (100, 204, 304):
            return told
        length = int(told.header("Content-Length") or "-1")
        while len(self.spare) < length:
            data = self.more()
            if not data:
                raise EOFError(self.spare[:200])
            self.spare += data
        body, self.spare = self.spare[:length], self.spare[length:]
        return Told(status, headers, body)

    def rest(self) -> bytes:
        """Everything until the server closes."""
        data, self.spare = self.spare, b""
        while piece := self.more():
            data += piece
        return data
