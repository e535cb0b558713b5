"""Requests of one connection, out of whatever pieces their bytes arrive in."""

from .body import Body
from .head import END, Head, check_beginning, parse


class Incoming:
    """
    Sans-IO: :meth:`feed` it, ask :meth:`next`.

    :ivar head: of the request whose body is being received.
    """

    def __init__(self, body_bytes: int) -> None:
        """:param body_bytes: that a request may carry."""
        self._most = body_bytes
        self._held = b""
        self._scanned = 0
        self._body: Body | None = None
        self.head: Head | None = None

    def __len__(self) -> int:
        """Bytes that are held and not yet part of a body."""
        return len(self._held)

    @property
    def begun(self) -> bool:
        """Whether some of a request is here."""
        return bool(self._held) or self._body is not None

    @property
    def body_held(self) -> int:
        """Bytes of the body that is being received."""
        return len(self._body.data) if self._body is not None else 0

    @property
    def expects(self) -> bool:
        """Whether the client waits to be told to send its body."""
        return self.head is not None and self.head.expects and not self.body_held

    def feed(self, data: bytes) -> None:
        self._held = self._held + data if self._held else data

    def next(self) -> tuple[Head, bytes] | None:
        """
        :returns: the next request that is here whole, with its body.
        :raises Unreadable: where there can be none: nothing that follows can be made sense of.
        """
        if self._body is None:
            head = self._next_head()
            if head is None:
                return None
            if not head.length:
                return head, b""
            self.head = head
            self._body = Body(head.length, self._most)
        body, held = self._body, self._held
        self._held = b""
        body.feed(held)
        if not body.complete or self.head is None:
            return None
        head, self.head, self._body = self.head, None, None
        self._held = body.rest
        return head, bytes(body.data)

    def _next_head(self) -> Head | None:
        held = self._held
        if held[:1] in (b"\r", b"\n"):  # between requests: RFC 9112 section 2.2
            held = self._held = held.lstrip(b"\r\n")
        if not held:
            return None
        end = held.find(END, self._scanned)
        if end < 0:
            check_beginning(held)
            self._scanned = max(0, len(held) - len(END) + 1)
            return None
        self._scanned = 0
        end += len(END)
        head = parse(held[:end] if end != len(held) else held)
        self._held = held[end:]
        return head

    def drop(self) -> None:
        """Forget what is here."""
        self._held = b""
        self._body = self.head = None
