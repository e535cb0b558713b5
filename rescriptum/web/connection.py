"""One client's connection: requests in, replies out, one at a time and in order."""

from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Final

from attrs import evolve
from twisted.internet.interfaces import ITCPTransport
from twisted.internet.protocol import Protocol, connectionDone
from twisted.logger import Logger
from twisted.python.failure import Failure

from ..errors import RescriptumError, Unavailable
from ..values import Content
from .again import Again
from .chunked import CODING, ChunkedStream
from .decided import Decided
from .decision import cut, decide, head
from .exchange import Exchange
from .files import OpenFile
from .head import Head, Unreadable
from .intake import Intake
from .patience import Patience
from .reply import FileReply, Finished, Outcome, Reply, StreamReply
from .request import Request
from .routing import Answer, Application, bare, perform, refusal
from .sendfile import CHUNK, chunk_for
from .wire import Wire, wire

if TYPE_CHECKING:
    from .site import Site

_HEALTHY: Final = Reply(b"OK\n")
_FOREIGN: Final = bare(403, "the address is not on the allow-list")
_LATER: Final = (("Retry-After", "5"),)
_TOO_LATE: Final = bare(503, "took too long", _LATER)


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

    :ivar patience: when :meth:`expired` is called.
    """

    transport: ITCPTransport
    _log = Logger()

    def __init__(self, site: "Site", peer: tuple[str, int]) -> None:
        self.peer = peer
        self.patience = Patience(site)
        self._site = site
        self._phase = _READING
        self._exchange: Exchange | None = None
        self._applications: tuple[Application, ...] = ()
        self._admitted = site.admits(peer)
        self._last: Again | None = None

    # What the transport calls.

    def connectionMade(self) -> None:
        self._wire: Wire = wire(self.transport, self._drained)
        self._intake = Intake(
            self._site, self._wire, self.patience, self._begin, self._refuse, self._likewise
        )
        self._site.made(self)

    def dataReceived(self, data: bytes) -> None:
        self._intake.received(data)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        self._phase = _Phase.CLOSING
        self._drop_exchange(Outcome.STOPPED, "the client left")
        self._intake.drop()
        self._site.lost(self)
        for application in self._applications:
            self._site.closed(application, self.peer)

    # Answering.

    def _refuse(self, error: Unreadable, given: Head | None) -> None:
        """Say so, and end the connection: where the next request begins is not known."""
        site = self._site
        method, target = (given.method, given.target) if given else ("GET", "/")
        request = Request(method, target, self.peer, given.headers if given else ())
        reply = bare(error.status, str(error), _LATER if error.status == 503 else ())
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
            self._report(site.router.locate(request)[0], done)

    def _dismiss(self, request: Request, reply: Reply) -> int:
        """:returns: bytes of the body of the connection's last reply."""
        decided = decide(request, reply)
        self._wire.write(self._rendered(decided, "close") + decided.body)
        self._leave(linger=True)
        return decided.length

    def _begin(self, given: Head, body: bytes) -> None:
        site = self._site
        self._phase = _ROUTING
        self._intake.busy = True
        site.idle.pop(self, None)
        request = Request(given.method, given.target, self.peer, given.headers, body)
        persistent = given.persistent and not site.closing
        exchange = Exchange(request, site.clock.seconds(), persistent, given.old)
        self._exchange = exchange
        located = site.router.locate(request)
        if not self._admitted:
            exchange.application = located[0]
            self._answered(_FOREIGN, exchange)
        elif request.target.startswith("/health") and _asks_health(request):
            self._answered(_HEALTHY, exchange)
        else:
            exchange.application = located[0]
            result = perform(located, request)
            if isinstance(result, (FileReply, Reply)):  # a Deferred would be told slowly
                self._answered(result, exchange)
                return
            if isinstance(result, StreamReply):
                self._stream(result, exchange)
                return
            self.patience.answer()
            exchange.waiting = result.addCallback(self._routed, exchange)
            exchange.waiting.addErrback(self._broken, exchange)

    def _likewise(self, head: bytes) -> bool:
        """Another range of what was asked for last, in the same words: see :mod:`.again`."""
        site, last = self._site, self._last
        if last is None or last.tick != site.tick or site.closing:
            return False
        decided = last.decided(head)
        if decided is None:
            return False
        self._phase = _ROUTING
        self._intake.busy = True
        site.idle.pop(self, None)
        exchange = Exchange(last.request, site.clock.seconds(), True, False, last.application)
        self._exchange = exchange
        exchange.answer, exchange.decided = last.answer, decided
        self._open(exchange, decided, last.answer.content)
        return True

    def _routed(self, answer: Answer, exchange: Exchange) -> None:
        if exchange is self._exchange and not exchange.cancelled:
            exchange.waiting = None
            if isinstance(answer, StreamReply):
                self._stream(answer, exchange)
            else:
                self._answered(answer, exchange)

    def _broken(self, failure: Failure, exchange: Exchange) -> None:
        self._log.failure("A reply could not be sent", failure)
        self._fail(exchange, "see the log")

    def _answered(self, answer: Answer, exchange: Exchange) -> None:
        try:
            decided = decide(exchange.request, answer)
        except ValueError:
            self._log.failure("A route's reply cannot be sent")
            answer = bare(500, "see the log")
            decided = decide(exchange.request, answer)
        exchange.answer, exchange.decided = answer, decided
        if isinstance(answer, FileReply):
            self._last = None
            if answer.steady and decided.status == 206 and exchange.application is not None:
                asked, tick = self._intake.head, self._site.tick
                known = exchange.request, exchange.application, answer, decided
                self._last = Again.of(asked, *known, tick)
            self._open(exchange, decided, answer.content)
        else:
            self._write(exchange, decided)

    def _write(self, exchange: Exchange, decided: Decided) -> None:
        self._phase = _SENDING
        site = self._site
        block = site.blocks.block(decided.status, site.now())
        if self._wire.write(head(decided, block, exchange.connection) + decided.body):
            self._sent(exchange)
        else:
            self.patience.sending()

    def _stream(self, reply: StreamReply, exchange: Exchange) -> None:
        site, request, framed = self._site, exchange.request, not exchange.old
        if request.method != "HEAD" and (problem := site.no_stream(self.peer)):
            self._answered(evolve(refusal(problem), about=reply.about), exchange)
            return
        try:
            decided = decide(request, reply)
        except ValueError:
            self._log.failure("A route's reply cannot be sent")
            self._answered(bare(500, "see the log"), exchange)
            return
        if framed:
            decided = evolve(decided, headers=(*decided.headers, CODING))
        else:
            exchange.persistent = False  # it ends as the connection does
        exchange.answer, exchange.decided = reply, decided
        if request.method == "HEAD":
            self._write(exchange, decided)
            return
        self._phase = _SENDING
        done = partial(self._streamed, exchange)
        stream = ChunkedStream(site, self._wire, self.patience, reply.room, framed, done)
        exchange.transfer = stream
        stream.begin(self._rendered(decided, exchange.connection))
        try:
            reply.opened(stream)
        except Exception:  # noqa: BLE001 - half a reply cannot be taken back
            self._log.failure("A stream could not be opened")
            stream.abort("see the log")

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
        self.patience.answer()
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
            self._answered(evolve(refusal(error), about=exchange.answer.about), exchange)

    def _opened(self, file: OpenFile, exchange: Exchange) -> None:
        decided = exchange.decided
        if exchange is not self._exchange or decided is None:  # the client has left
            file.release()
            return
        fence = exchange.answer.fence if isinstance(exchange.answer, FileReply) else None
        if fence is not None and not fence.is_open():
            file.release()
            self._unopened(Unavailable("the boot lease is not held"), exchange)
            return
        if not decided.spans:
            file.release()
            self._write(exchange, decided)
            if fence is not None:
                fence.sent()
            return
        self._phase = _SENDING
        site, spans, length = self._site, decided.spans, decided.length
        block = site.blocks.block(decided.status, site.now())
        chunk = chunk_for(site.transfers) if exchange.slot else CHUNK
        lines = head(decided, block, exchange.connection)
        exchange.sent = sent = self._wire.begin(lines, file.fd, spans, chunk)
        if fence is not None:
            fence.sent()
        if sent == length:
            file.release()
            self._sent(exchange)
            return
        self.patience.sending()
        done = partial(self._transferred, exchange)
        rest = cut(spans, sent, length - sent) if sent else spans
        exchange.transfer = self._wire.transfer(file, rest, site.workers, done, chunk, sent)
        exchange.transfer.start()

    def _rendered(self, decided: Decided, connection: str) -> bytes:
        site = self._site
        return head(decided, site.blocks.block(decided.status, site.now()), connection)

    # How it ends.

    def _drained(self) -> None:
        exchange = self._exchange
        if self._phase is not _SENDING or exchange is None:
            return
        if exchange.transfer is None:
            self._sent(exchange)
        elif isinstance(exchange.transfer, ChunkedStream):
            exchange.transfer.drained()

    def _transferred(self, exchange: Exchange, reason: str) -> None:
        if reason:
            self._fail(exchange, reason)
        elif exchange is self._exchange:
            self._sent(exchange)

    def _streamed(self, exchange: Exchange, reason: str) -> None:
        """This is within a call of whoever wrote it: the next request waits for the next turn."""
        self._intake.hold()
        self._transferred(exchange, reason)

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
            self._leave(linger=self._intake.begun)
            return
        self._phase = _READING
        self.patience.idle()
        site.idle[self] = None
        self._intake.resume()

    def _drop_exchange(self, outcome: Outcome, reason: str) -> None:
        exchange, self._exchange = self._exchange, None
        if exchange is None:
            return
        waiting, exchange.waiting = exchange.waiting, None
        if waiting is not None:
            waiting.cancel()
        self._conclude(exchange, outcome, reason)

    def _conclude(self, exchange: Exchange, outcome: Outcome, reason: str) -> None:
        if exchange.slot:
            self._site.transfers -= 1
        if exchange.transfer is not None and outcome is not Outcome.SENT:
            exchange.transfer.stop()
        if exchange.application is not None:
            unsent = self._wire.unsent() if outcome is not Outcome.SENT else 0
            site = self._site
            done = exchange.finished(outcome, reason, unsent, site.clock.seconds(), site.now())
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
        """Make room, or stop: at once if no reply is under way, after it if one is that ends."""
        exchange = self._exchange
        if self._phase is _READING:
            self._leave(linger=False)
        elif exchange is not None and isinstance(exchange.transfer, ChunkedStream):
            exchange.transfer.stopping()

    def drop(self) -> None:
        """Stop now."""
        self._drop_exchange(Outcome.STOPPED, "the server is stopping")
        self._abort()

    def expired(self) -> None:
        """The time for what it waited for is over."""
        exchange, patience = self._exchange, self.patience
        if self._phase is _READING:
            self._reading_expired()
        elif self._phase is _Phase.LEAVING:
            self._close()
        elif exchange is None:
            self._abort()
        elif exchange.waiting is not None:
            waiting, exchange.waiting = exchange.waiting, None
            exchange.cancelled = True
            waiting.cancel()
            self._answered(_TOO_LATE, exchange)
        elif self._phase is _ROUTING or patience.over or self._stalled():
            self._drop_exchange(Outcome.TIMED_OUT, "connection timed out")
            self._abort()
        else:
            patience.sending()

    def _reading_expired(self) -> None:
        if self._intake.begun:
            late, reason = Outcome.TIMED_OUT, "connection timed out"
            self._site.unreadable(Finished(None, self.peer, 0, 0, 0, 0.0, late, reason=reason))
            self._abort()
        elif self._wire.waiting() > 0 and not self._stalled():
            self.patience.soon(self._site.schedule.keepalive)  # the last reply is on the line
        else:
            self._leave(linger=False)

    def _stalled(self) -> bool:
        transfer = self._exchange.transfer if self._exchange is not None else None
        sent = transfer.sent if transfer is not None else 0
        return self.patience.stalled(sent, self._wire.waiting())

    def _leave(self, *, linger: bool) -> None:
        """
        :param linger: whether the client may still be sending. Closing then would make the
            kernel throw away the reply with what was not read.
        """
        self._site.idle.pop(self, None)
        self._intake.drop()
        if not linger:
            self._close()
            return
        self._phase = _Phase.LEAVING
        self.patience.soon(self._site.schedule.linger)
        self._wire.finish_writing()

    def _close(self) -> None:
        self._phase = _Phase.CLOSING
        self.patience.soon(self._site.schedule.close)
        self._wire.end()

    def _abort(self) -> None:
        self._phase = _Phase.CLOSING
        self._site.idle.pop(self, None)
        self.patience.soon(self._site.schedule.close)
        self._intake.drop()
        self.transport.abortConnection()


def _asks_health(request: Request) -> bool:
    return request.path == "/health" and request.method in ("GET", "HEAD")
