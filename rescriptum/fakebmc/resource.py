"""What a fake BMC's listener serves."""

from collections import deque
from collections.abc import Callable

from attrs import evolve, frozen
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater

from ..web.reply import Finished, Reply, StreamReply
from ..web.request import Request
from ..web.routing import Answer as Served
from ..web.routing import Routes
from ..web.stream import Stream
from .asking import Answer, Ask, Rude
from .respond import respond
from .state import Changed, State
from .switches import Switch

JSON = "application/json; charset=utf-8"
#: Requests that are remembered.
REMEMBERED = 2000
#: Seconds that a weak BMC thinks about each.
THINKING = 0.02

Peer = tuple[str, int]


@frozen
class Heard:
    """
    One request, as it is remembered. :ivar sessions: open after it. :ivar secret: whether it
    carried a password or a token.
    """

    method: str
    path: str
    status: int
    sessions: int
    secret: bool


class RedfishTree:
    """
    Every path of one BMC.

    :ivar state: what it is now. :ivar heard: what it was asked, the oldest first.
    :ivar most_sessions: that were ever open at once. :ivar answering: requests, at this moment.
    :ivar crowded: how often there were two of them.
    """

    routes = Routes()

    def __init__(
        self,
        state: State,
        reactor: IReactorTime,
        clock: IReactorTime,
        new_token: Callable[[], str],
        changed: Callable[[Changed], None],
        drop: Callable[[Peer], None],
    ) -> None:
        """
        :param clock: the time of the machine, where it is another than the reactor's.
        :param changed: told what happens to the machine. :param drop: closes a connection.
        """
        self.state = state
        self.heard: deque[Heard] = deque(maxlen=REMEMBERED)
        self.most_sessions = 0
        self.answering = 0
        self.crowded = 0
        self._reactor = reactor
        self._clock = clock
        self._new_token = new_token
        self._changed = changed
        self._drop = drop
        self._failed: set[Peer] = set()

    @routes.get("<path...>")
    async def read(self, request: Request, path: str) -> Served:
        """Any resource."""
        return await self._answered(request)

    @routes.post("<path...>")
    async def act(self, request: Request, path: str) -> Served:
        """Any action, and logins."""
        return await self._answered(request)

    @routes.patch("<path...>")
    async def change(self, request: Request, path: str) -> Served:
        """Any change."""
        return await self._answered(request)

    @routes.delete("<path...>")
    async def end(self, request: Request, path: str) -> Served:
        """Logouts."""
        return await self._answered(request)

    def finished(self, done: Finished) -> None:
        """What was asked is remembered already."""

    def closed(self, peer: Peer) -> None:
        """Of a connection that had a 500 nothing comes any more."""
        self._failed.discard(peer)

    async def _answered(self, request: Request) -> Served:
        self.answering += 1
        try:
            self.crowded += self.answering > 1
            if Switch.WEAK in self.state.switches:
                await deferLater(self._clock, THINKING)
            answer = self._responded(request)
            if answer.rude in (Rude.HANG, Rude.DROP):
                if answer.rude is Rude.DROP:
                    self._drop(request.peer)
                await Deferred()  # until the client leaves
        finally:
            self.answering -= 1
        return self._served(answer)

    def _responded(self, request: Request) -> Answer:
        headers = dict(request.headers)
        ask = Ask(
            request.method,
            request.path,
            headers,
            request.body,
            self._clock.seconds(),
            self._new_token(),
            self.answering,
            request.peer in self._failed,
        )
        state, answer = respond(self.state, ask)
        changes, self.state = state.changes, evolve(state, changes=())
        held = len(state.sessions)
        self.most_sessions = max(self.most_sessions, held)
        secret = "authorization" in headers or "x-auth-token" in headers or b"assword" in ask.body
        self.heard.append(Heard(ask.method, request.target, answer.status, held, secret))
        if answer.status >= 500:
            self._failed.add(request.peer)
        for each in changes:
            self._changed(each)
        return answer

    def _served(self, answer: Answer) -> Served:
        body = answer.body
        if answer.rude is Rude.CUT:

            def half(stream: Stream) -> None:
                stream.write(body[: len(body) // 2])
                self._reactor.callLater(0, stream.abort, "cut short")

            return StreamReply(JSON, half)
        return Reply(body, JSON, answer.status, answer.headers)
