"""One request and what becomes of it."""

from attrs import define
from twisted.internet.defer import Deferred

from .decided import Decided
from .reply import Finished, Outcome, Reply
from .request import Request
from .routing import Answer, Application
from .wire import Transfer


@define
class Exchange:
    """
    :ivar started: when the request was whole.
    :ivar application: who hears of its end; None for what the listener answers by itself.
    :ivar persistent: whether the connection goes on after it.
    :ivar old: whether it came as HTTP/1.0.
    :ivar waiting: the route, while it is awaited.
    :ivar sent: bytes of a file that left at once, before there was a transfer.
    :ivar slot: whether it counts among the listener's transfers.
    :ivar cancelled: whether the route took too long: what it still returns is not for the client.
    """

    request: Request
    started: float
    persistent: bool
    old: bool
    application: Application | None = None
    answer: Answer | None = None
    decided: Decided | None = None
    waiting: Deferred[None] | None = None
    transfer: Transfer | None = None
    sent: int = 0
    slot: bool = False
    cancelled: bool = False

    @property
    def connection(self) -> str:
        """The value of the reply's ``Connection``; empty where none is needed (B35)."""
        if not self.persistent:
            return "close"
        return "keep-alive" if self.old else ""

    def finished(
        self, outcome: Outcome, reason: str, unsent: int, now: float, at: float
    ) -> Finished:
        """
        :param reason: why it ended, where the reply itself does not say.
        :param unsent: bytes of a reply in memory that did not leave.
        :param now: by the clock that it was begun by. :param at: the same moment, as Unix time.
        """
        decided, sent = self.decided, self.sent
        if self.transfer is not None:
            sent = self.transfer.sent
        elif decided is not None and decided.body:
            sent = max(0, len(decided.body) - unsent)
        answer = self.answer
        if not reason and isinstance(answer, Reply):
            reason = answer.reason
        return Finished(
            self.request,
            self.request.peer,
            decided.status if decided is not None else 0,
            sent,
            decided.size if decided is not None else 0,
            max(0.0, now - self.started),
            outcome,
            answer.about if answer is not None else None,
            reason,
            at,
        )
