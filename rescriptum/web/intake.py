"""Requests at the pace of their replies: one at a time, the rest held back."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from .head import Head, Unreadable
from .incoming import Incoming
from .patience import Patience
from .wire import Wire

if TYPE_CHECKING:
    from .site import Site

#: Requests of one client that are answered before others get their turn.
BATCH: Final = 16
#: Bytes of further requests that are kept while a reply is under way; then nothing more is read.
HELD: Final = 16 * 1024
#: Bytes of a body for which there is always room, however many others are being received.
FREE: Final = 16 * 1024
_CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"


class Intake:
    """
    The incoming half of a connection.

    :ivar busy: whether a reply is under way, or was the last one.
    :ivar head: the bytes that the request under way came in, if nothing else came with it.
    """

    def __init__(
        self,
        site: "Site",
        wire: Wire,
        patience: Patience,
        begin: Callable[[Head, bytes], None],
        refuse: Callable[[Unreadable, Head | None], None],
        again: Callable[[bytes], bool],
    ) -> None:
        """
        :param begin: called with each request; not again before :meth:`resume`, unless the
            reply was out within the call.
        :param refuse: called once, with what can be no request and with its head if that was
            one.
        :param again: whether bytes are a request that it has begun already.
        """
        self.busy = False
        self.head = b""
        self._site = site
        self._wire = wire
        self._patience = patience
        self._begin = begin
        self._refuse = refuse
        self._again = again
        self._incoming = Incoming(site.limits.body_bytes, site.limits.head_bytes)
        self._counted = 0  # bytes of the body within the site's count
        self._running = False
        self._paused = False
        self._dropped = False

    @property
    def begun(self) -> bool:
        """Whether some of a request is here."""
        return self._incoming.begun

    def received(self, data: bytes) -> None:
        incoming = self._incoming
        if not self.busy:
            if not incoming.held and incoming.body is None:
                self._patience.begins()
                if self._again(data):
                    return
                self.head = incoming.held = data
            else:
                self.head = b""
                incoming.feed(data)
            self._advance()
        elif not self._dropped:
            incoming.feed(data)
            if len(incoming.held) > HELD and not self._paused:
                self._paused = True
                self._wire.pause_reading()

    def resume(self) -> None:
        """The reply has gone; the next request may be here already."""
        self.busy = False
        self.head = b""
        if self._paused:
            self._go_on_reading()
        if self._incoming.held and not self._running:
            self._patience.begins()
            self._advance()

    def hold(self) -> None:
        """Begin no request that is here already before the next turn, whatever is resumed."""
        if not self._running:
            self._running = True
            self._site.clock.callLater(0, self._let_go)

    def _let_go(self) -> None:
        self._running = False
        if self._incoming.held and not self.busy:
            self._patience.begins()
            self._advance()

    def drop(self) -> None:
        """No more requests; what comes is read and forgotten."""
        self.busy = self._dropped = True
        self._incoming.drop()
        self._count()
        self._go_on_reading()

    def _go_on_reading(self) -> None:
        if self._paused:
            self._paused = False
            self._wire.resume_reading()

    def _advance(self) -> None:
        if self._running or self.busy:
            return
        self._running = True
        incoming = self._incoming
        try:
            for _ in range(BATCH):
                began = incoming.head
                found = incoming.next()
                if found is None:
                    self._wait(began)
                    return
                if began is not None:
                    self._count()
                self._begin(*found)
                if self.busy or not incoming.held:
                    return
                self._patience.begins()
            self._site.clock.callLater(0, self._advance)
        except Unreadable as e:
            head = incoming.head
            self.drop()
            self._refuse(e, head)
        finally:
            self._running = False

    def _wait(self, began: Head | None) -> None:
        """A request is not whole yet."""
        site, incoming = self._site, self._incoming
        if incoming.head is None:
            return
        if began is None:
            self._patience.body()
            if incoming.expects:
                self._wire.write(_CONTINUE)
        self._count()
        if site.bodies > site.limits.all_bodies_bytes and incoming.body_held > FREE:
            raise Unreadable("too many bodies are being received", 503)

    def _count(self) -> None:
        held = self._incoming.body_held
        self._site.bodies += held - self._counted
        self._counted = held
