"""One client's connection: requests in, replies out, one at a time and in order."""

from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Final

from attrs import evolve
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import ITCPTransport
from twisted.internet.protocol import Protocol, connectionDone
from twisted.logger import Logger
from twisted.python.failure import Failure

from ..errors import RescriptumError, Unavailable
from ..values import Content
from .decision import Decided, decide, head
from .exchange import Exchange
from .files import OpenFile
from .head import Head, Unreadable
from .incoming import Incoming
from .reply import FileReply, Finished, Outcome, Reply
from .request import Request
from .routing import Answer, Application, bare, dispatch, refusal
from .sendfile import CHUNK
from .wire import Wire, wire

if TYPE_CHECKING:
    from .site import Site

#: Requests of one client that are answered before others get their turn.
BATCH: Final = 16
#: Bytes of further requests that are kept while a reply is under way; then nothing more is read.
HELD: Final = 16 * 1024
_CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"
_HEALTHY: Final = Reply(b"OK\n")
_FOREIGN: Final = bare(403, "the address is not on the allow-list")
_LATER: Final = (("Retry-After", "5"),)


class _Phase(Enum):
    READING = 1  # a request is awaited, or part of one is here
    ROUTING = 2  # it is here, and what to reply is being found out
    SENDING = 3  # the reply is under way
    LEAVING = 4  # it has gone; the client is given a moment to read it
    CLOSING = 5


# Looked up for every request, many times.
_READING, _ROUTING, _SENDING = _Phase.READING, _Phase.ROUTING, _Phase.SENDING


class HTTPConnection(Protocol):
    """
    The server's end of HTTP/1.1 and 1.0.

    :ivar due: the site's tick at which :meth:`expired` is called.
    :ivar since: the tick since which it has waited for its next request.
    """

    transport: ITCPTransport
    _log = Logger()

    def __init__(self, site: "Site", peer: tuple[str, int]) -> None:
        self.peer = peer
        self.due = site.tick + site.header_ticks
        self.since = site.tick
        self._site = site
        self._phase = _READING
        self._incoming = Incoming(site.limits.body_bytes)
        self._until = site.tick + site.total_ticks
        self._exchange: Exchange | None = None
        self._applications: tuple[Application, ...] = ()
        self._admitted = site.admits(peer)
        self._counted = 0  # bytes of its body within the site's count
        self._running = False
        self._paused = False
        self._progress = (0, 0)
        self._stalls = 0

    # What the transport calls.

    def connectionMade(self) -> None:
        self._wire: Wire = wire(self.transport, self._drained)
        self._site.made(self)

    def dataReceived(self, data: bytes) -> None:
        if self._phase is _READING:
            if not self._incoming.begun:
                self._request_begins()
            self._incoming.feed(data)
            self._advance()
        elif self._phase is _ROUTING or self._phase is _SENDING:
            self._incoming.feed(data)
            if len(self._incoming) > HELD and not self._paused:
                self._paused = True
                self._wire.pause_reading()

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        self._phase = _Phase.CLOSING
        self._drop_exchange(Outcome.STOPPED, "the client left")
        self._drop_body()
        self._site.lost(self)
        for application in self._applications:
            self._site.closed(application, self.peer)

    # Reading.

    def _request_begins(self) -> None:
        site = self._site
        self._until = site.tick + site.total_ticks
        self.due = site.tick + site.header_ticks

    def _advance(self) -> None:
        if self._running or self._phase is not _READING:
            return
        self._running = True
        try:
            for _ in range(BATCH):
                if not self._read() or self._phase is not _READING or not self._incoming.begun:
                    return
            self._site.clock.callLater(0, self._advance)
        except Unreadable as e:
            self._refuse(e)
        finally:
            self._running = False

    def _read(self) -> bool:
        """:returns: whether a request was whole, and is on its way to its reply."""
        site, incoming = self._site, self._incoming
        began = incoming.head
        found = incoming.next()
        if found is not None:
            if began is not None:
                self._count_body()
            self._begin(*found)
            return True
        if incoming.head is None:
            return False
        if began is None:
            self.due = min(self._until, site.tick + site.body_ticks)
            if incoming.expects:
                self._wire.write(_CONTINUE)
        self._count_body()
        if site.bodies > site.limits.all_bodies_bytes:
            raise Unreadable("too many bodies are being received", 503)
        return False

    def _count_body(self) -> None:
        held = self._incoming.body_held
        self._site.bodies += held - self._counted
        self._counted = held

    def _drop_body(self) -> None:
        self._incoming.drop()
        self._count_body()

    def _refuse(self, error: Unreadable) -> None:
        """Say so, and end the connection: where the next request begins is not known."""
        site, given = self._site, self._incoming.head
        method, target = (given.method, given.target) if given else ("GET", "/")
        request = Request(method, target, self.peer, given.headers if given else ())
        reply = bare(error.status, str(error), _LATER if error.status == 503 else ())
        self._drop_body()
        sent = self._dismiss(request, reply)
        done = Finished(
            request if given else None,
            self.peer,
            error.status,
            sent,
            sent,
            0.0,
            Outcome.SENT,
            reason=str(error),
        )
        if given is None:
            site.unreadable(done)
        else:
            self._report(site.at(request), done)

    def _dismiss(self, request: Request, reply: Reply) -> int:
        """:returns: bytes of the body of the connection's last reply."""
        decided = decide(request, reply)
        self._wire.write(self._rendered(decided, "close") + decided.body)
        self._leave(linger=True)
        return decided.length

    # Answering.

    def _begin(self, given: Head, body: bytes) -> None:
        site = self._site
        self._phase = _ROUTING
        site.idle.pop(self, None)
        request = Request(given.method, given.target, self.peer, given.headers, body)
        persistent = given.persistent and not site.closing
        exchange = Exchange(request, site.clock.seconds(), persistent, given.old)
        self._exchange = exchange
        if not self._admitted:
            exchange.application = site.at(request)
            self._answered(_FOREIGN, exchange)
        elif request.target.startswith("/health") and _asks_health(request):
            self._answered(_HEALTHY, exchange)
        else:
            exchange.application = site.at(request)
            result = dispatch(exchange.application, request)
            if not isinstance(result, Deferred):
                self._answered(result, exchange)
                return
            self.due = min(self._until, site.tick + site.stall_ticks)
            exchange.waiting = result.addCallback(self._answered, exchange)
            exchange.waiting.addErrback(self._broken, exchange)

    def _broken(self, failure: Failure, exchange: Exchange) -> None:
        self._log.failure("A reply could not be sent", failure)
        self._fail(exchange, "see the log")

    def _answered(self, answer: Answer, exchange: Exchange) -> None:
        if self._exchange is not exchange:
            return  # the client has left
        exchange.waiting = None
        try:
            decided = decide(exchange.request, answer)
        except ValueError:
            self._log.failure("A route's reply cannot be sent")
            answer = bare(500, "see the log")
            decided = decide(exchange.request, answer)
        exchange.answer, exchange.decided = answer, decided
        if isinstance(answer, FileReply):
            self._open(exchange, decided, answer.content)
        else:
            self._write(exchange, decided)

    def _write(self, exchange: Exchange, decided: Decided) -> None:
        self._phase = _SENDING
        site = self._site
        block = site.blocks.block(decided.status, exchange.started)
        if self._wire.write(head(decided, block, exchange.connection) + decided.body):
            self._sent(exchange)
        else:
            self._watch()

    def _open(self, exchange: Exchange, decided: Decided, content: Content) -> None:
        """HEAD too: what it says is true only of a file that is there."""
        site = self._site
        if decided.length > CHUNK:
            if site.transfers >= site.limits.transfers:
                site.over_capacity(self.peer, "transfers")
                self._unopened(Unavailable("all transfers are taken"), exchange)
                return
            exchange.slot = True
            site.transfers += 1
        try:
            file = site.files.take(content)
        except RescriptumError as e:
            self._unopened(e, exchange)
            return
        if isinstance(file, OpenFile):
            self._opened(file, exchange)
            return
        self.due = min(self._until, site.tick + site.stall_ticks)
        file.addCallbacks(
            self._opened,
            lambda failure: self._unopened(failure.value, exchange),
            callbackArgs=(exchange,),
        )
        file.addErrback(self._broken, exchange)

    def _unopened(self, error: BaseException, exchange: Exchange) -> None:
        if not isinstance(error, RescriptumError):
            raise error
        if exchange is self._exchange and exchange.answer is not None:
            self._free_slot(exchange)
            self._answered(evolve(refusal(error), about=exchange.answer.about), exchange)

    def _free_slot(self, exchange: Exchange) -> None:
        if exchange.slot:
            exchange.slot = False
            self._site.transfers -= 1

    def _opened(self, file: OpenFile, exchange: Exchange) -> None:
        decided = exchange.decided
        if exchange is not self._exchange or decided is None:  # the client has left
            file.release()
            return
        if not decided.spans:
            file.release()
            self._write(exchange, decided)
            return
        self._phase = _SENDING
        self._watch()
        exchange.transfer = self._wire.transfer(
            self._rendered(decided, exchange.connection),
            file,
            decided.spans,
            self._site.workers,
            partial(self._transferred, exchange),
        )
        exchange.transfer.start()

    def _rendered(self, decided: Decided, connection: str) -> bytes:
        site = self._site
        return head(decided, site.blocks.block(decided.status, site.clock.seconds()), connection)

    # How it ends.

    def _drained(self) -> None:
        exchange = self._exchange
        if self._phase is _SENDING and exchange is not None and exchange.transfer is None:
            self._sent(exchange)

    def _transferred(self, exchange: Exchange, reason: str) -> None:
        if reason:
            self._fail(exchange, reason)
        elif exchange is self._exchange:
            self._sent(exchange)

    def _fail(self, exchange: Exchange, reason: str) -> None:
        """Half a reply cannot be taken back: the connection is dropped, never padded (W165)."""
        if exchange is self._exchange:
            self._drop_exchange(Outcome.FAILED, reason)
            self._abort()

    def _sent(self, exchange: Exchange) -> None:
        site = self._site
        self._exchange = None
        self._conclude(exchange, Outcome.SENT, "")
        if not exchange.persistent or site.closing:
            self._leave(linger=bool(len(self._incoming)))
            return
        self._phase = _READING
        self._progress = (0, 0)
        self.since = site.tick
        site.idle[self] = None
        if self._paused:
            self._paused = False
            self._wire.resume_reading()
        if self._incoming.begun:
            self._request_begins()
            self._advance()
        else:
            self.due = site.tick + site.keepalive_ticks

    def _drop_exchange(self, outcome: Outcome, reason: str) -> None:
        exchange, self._exchange = self._exchange, None
        if exchange is None:
            return
        waiting, exchange.waiting = exchange.waiting, None
        if waiting is not None:
            waiting.cancel()
        self._conclude(exchange, outcome, reason)

    def _conclude(self, exchange: Exchange, outcome: Outcome, reason: str) -> None:
        self._free_slot(exchange)
        if exchange.transfer is not None:
            exchange.transfer.stop()
        if exchange.application is not None:
            unsent = self._wire.unsent() if outcome is not Outcome.SENT else 0
            done = exchange.finished(outcome, reason, unsent, self._site.clock.seconds())
            self._report(exchange.application, done)

    def _report(self, application: Application, done: Finished) -> None:
        if application not in self._applications:
            self._applications += (application,)
        self._site.finished(application, done)

    # Deadlines, and leaving.

    def turn_away(self) -> None:
        """There is no room: say so at once, whatever it was going to ask."""
        self._dismiss(Request("GET", "/", self.peer), bare(503, "", _LATER))

    def leave(self) -> None:
        """Make room, or stop: at once if no reply is under way, after it if one is."""
        if self._phase is _READING:
            self._leave(linger=False)

    def drop(self) -> None:
        """Stop now."""
        self._drop_exchange(Outcome.STOPPED, "the server is stopping")
        self._abort()

    def expired(self) -> None:
        """:attr:`due` has come."""
        site, exchange = self._site, self._exchange
        if self._phase is _READING:
            self._reading_expired()
        elif self._phase is _Phase.LEAVING:
            self._close()
        elif exchange is None:
            self._abort()
        elif exchange.waiting is not None and not exchange.cancelled:
            # The route answers 503 in its own place, unless it does not let itself be stopped.
            exchange.cancelled = True
            self.due = site.tick + 4
            exchange.waiting.cancel()
        elif self._phase is _ROUTING or site.tick >= self._until or self._stalled():
            self._drop_exchange(Outcome.TIMED_OUT, "connection timed out")
            self._abort()
        else:
            self._watch()

    def _reading_expired(self) -> None:
        site = self._site
        if self._incoming.begun:
            late, reason = Outcome.TIMED_OUT, "connection timed out"
            site.unreadable(Finished(None, self.peer, 0, 0, 0, 0.0, late, reason=reason))
            self._abort()
        elif self._wire.waiting() > 0 and not self._stalled():
            self.due = site.tick + site.keepalive_ticks  # the last reply is still on the line
        else:
            self._leave(linger=False)

    def _watch(self) -> None:
        self.due = min(self._until, self._site.tick + max(1, self._site.stall_ticks // 4))

    def _stalled(self) -> bool:
        """Whether four looks in a row found the client to have taken nothing."""
        exchange = self._exchange
        transfer = exchange.transfer if exchange is not None else None
        progress = (transfer.sent if transfer is not None else 0, self._wire.waiting())
        self._stalls = self._stalls + 1 if progress == self._progress else 0
        self._progress = progress
        return self._stalls >= 4

    def _leave(self, *, linger: bool) -> None:
        """
        :param linger: whether the client may still be sending. Closing then would make the
            kernel throw away the reply with what was not read.
        """
        self._site.idle.pop(self, None)
        self._drop_body()
        if not linger:
            self._close()
            return
        self._phase = _Phase.LEAVING
        self.due = self._site.tick + 2
        self._wire.finish_writing()
        if self._paused:
            self._paused = False
            self._wire.resume_reading()

    def _close(self) -> None:
        self._phase = _Phase.CLOSING
        self.due = self._site.tick + self._site.close_ticks
        self._wire.end()

    def _abort(self) -> None:
        self._phase = _Phase.CLOSING
        self._site.idle.pop(self, None)
        self.due = self._site.tick + self._site.close_ticks
        self._drop_body()
        self.transport.abortConnection()


def _asks_health(request: Request) -> bool:
    return request.path == "/health" and request.method in ("GET", "HEAD")
