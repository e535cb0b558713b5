"""Requests of one connection, out of whatever pieces their bytes arrive in."""

from .body import Body
from .head import END, MAX_HEAD, SHORT, Head, Unreadable, check_beginning, parse, parse_again


class Incoming:
    """
    Sans-IO: :meth:`feed` it, ask :meth:`next`.

    :ivar held: bytes that are not yet part of a head or body.
    :ivar head: of the request whose ``body`` is being received.
    """

    def __init__(self, body_bytes: int, head_bytes: int = MAX_HEAD) -> None:
        """
        :param body_bytes: that a request may carry.
        :param head_bytes: that its line and its headers may have.
        """
        self._most = body_bytes
        self._longest = head_bytes
        self.held = b""
        self._scanned = 0
        self.body: Body | None = None
        self.head: Head | None = None

    @property
    def begun(self) -> bool:
        """Whether some of a request is here."""
        return bool(self.held) or self.body is not None

    @property
    def body_held(self) -> int:
        """Bytes of the body that is being received."""
        return len(self.body.data) if self.body is not None else 0

    @property
    def expects(self) -> bool:
        """Whether the client waits to be told to send its body."""
        return self.head is not None and self.head.expects and not self.body_held

    def feed(self, data: bytes) -> None:
        self.held = self.held + data if self.held else data

    def next(self) -> tuple[Head, bytes] | None:
        """
        :returns: the next request that is here whole, with its body.
        :raises Unreadable: where there can be none: nothing that follows can be made sense of.
        """
        if self.body is None:
            head = self._next_head()
            if head is None:
                return None
            if not head.length:
                return head, b""
            self.head = head
            self.body = Body(head.length, self._most)
        body, held = self.body, self.held
        self.held = b""
        body.feed(held)
        if not body.complete or self.head is None:
            return None
        head, self.head, self.body = self.head, None, None
        self.held = body.rest
        return head, bytes(body.data)

    def _next_head(self) -> Head | None:
        held = self.held
        if held[:1] in (b"\r", b"\n"):  # between requests: RFC 9112 section 2.2
            held = self.held = held.lstrip(b"\r\n")
        if not held:
            return None
        end = held.find(END, self._scanned)
        if end < 0:
            check_beginning(held)
            self._bound(len(held))
            self._scanned = max(0, len(held) - len(END) + 1)
            return None
        self._scanned = 0
        end += len(END)
        self._bound(end)
        if end == len(held):
            self.held = b""
        else:
            held, self.held = held[:end], held[end:]
        # No two ranges of an image are the same; the other heads of a rack's machines are.
        again = end <= SHORT and b"\r\nRange:" not in held
        return parse_again(held) if again else parse(held)

    def _bound(self, size: int) -> None:
        if size > self._longest:
            raise Unreadable(f"a head of more than {self._longest} bytes", 431)

    def drop(self) -> None:
        """Forget what is here."""
        self.held = b""
        self.body = self.head = None
