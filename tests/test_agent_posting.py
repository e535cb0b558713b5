"""Tests for ``rescriptum.agent.posting``: one request at a time, told until it is heard."""

from collections.abc import Coroutine, Sequence
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.agent.outbox import Outbox
from rescriptum.agent.posting import RESEND, Posting
from rescriptum.agent.reports import Reporter
from rescriptum.contract.commands import Result
from rescriptum.contract.frames import (
    Accepted,
    AgentFrame,
    Journalled,
    Release,
    ResultFrame,
    Status,
)
from rescriptum.contract.refusals import Rejected
from rescriptum.contract.reports import SectionStatus, State
from rescriptum.errors import RescriptumError, Unavailable

READY = SectionStatus("site", State.READY)


class PostingTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.clock = Clock()
        self.outbox, self.reporter = Outbox(), Reporter()
        self.sent: list[list[AgentFrame]] = []
        self.answers: list[Deferred[Accepted]] = []
        self.heard: list[str] = []
        self.posting = Posting(
            self.outbox,
            self.reporter,
            self.send,
            self.hear,
            self.clock.callLater,
            self.spawn,
            self.clock.seconds,
            lambda: 0.5,
        )

    def tearDown(self) -> None:
        self.posting.end()
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        Deferred.fromCoroutine(work)

    async def send(self, frames: Sequence[AgentFrame]) -> Accepted:
        self.sent.append(list(frames))
        answer: Deferred[Accepted] = Deferred()
        self.answers.append(answer)
        return await answer

    async def hear(self, ids: Sequence[str]) -> None:
        self.heard += ids

    def answer(self, *results: str, journalled: tuple[str, ...] = ()) -> None:
        self.answers.pop(0).callback(Accepted(None, results, (), journalled))

    def lose(self, error: RescriptumError) -> None:
        self.answers.pop(0).errback(error)

    def turn(self, seconds: float = 0) -> list[AgentFrame]:
        """:returns: what the last request says, after a turn of the reactor."""
        self.clock.advance(seconds)
        return self.sent[-1] if self.sent else []

    def test_nothing_without_a_session(self) -> None:
        """It waits."""
        self.outbox.release(1)
        self.posting.flush()
        self.assertEqual(self.turn(9), [])
        self.posting.begin()
        self.assertEqual(self.turn(), [Release(1)])
        self.posting.end()
        self.answers[0].callback(Accepted())
        self.assertEqual(len(self.sent), 1)

    def test_in_a_later_turn(self) -> None:
        """What one turn decides is told together, and not before the turn is over."""
        self.posting.begin()
        self.outbox.release(1)
        self.posting.flush()
        self.outbox.journalled("c1")
        self.posting.flush()
        self.assertEqual(self.sent, [])
        self.assertEqual(self.turn(), [Release(1), Journalled("c1")])

    def test_one_at_a_time(self) -> None:
        """What comes while a request is under way is for the next one, at once."""
        self.posting.begin()
        self.outbox.journalled("c1")
        self.turn()
        self.outbox.results([ResultFrame("c1", Result(True, "ok"), 5)])
        self.posting.flush()
        self.turn(5)
        self.assertEqual(len(self.sent), 1)
        self.answer(journalled=("c1",))
        self.assertEqual([type(each) for each in self.sent[-1]], [ResultFrame])
        self.answer("c1")
        self.assertEqual(self.heard, ["c1"])
        self.turn(60)
        self.assertEqual(len(self.sent), 2)

    def test_until_answered(self) -> None:
        """Heard and not answered for: again after a while, not at once."""
        self.posting.begin()
        self.outbox.journalled("c1")
        self.turn()
        self.answer()
        self.turn(RESEND - 1)
        self.assertEqual(len(self.sent), 1)
        self.turn(1)
        self.assertEqual(self.sent[-1], [Journalled("c1")])

    def test_not_heard(self) -> None:
        """Waits grow, a flush does not shorten them, and one that is heard ends them."""
        self.posting.begin()
        self.outbox.journalled("c1")
        self.turn()
        for wait in (0.5, 1, 2):
            self.lose(Unavailable("down"))
            self.posting.flush()
            self.turn(wait - 0.25)
            self.assertEqual(self.answers, [])
            self.turn(0.25)
            self.assertEqual(self.sent[-1], [Journalled("c1")])
        self.answer(journalled=("c1",))
        self.outbox.journalled("c2")
        self.posting.flush()
        self.assertEqual(self.turn(), [Journalled("c2")])
        self.lose(Unavailable("down"))
        self.turn(0.5)
        self.assertEqual(len(self.answers), 1)

    def test_not_understood(self) -> None:
        """One by one then; a report that is not understood is not said again."""
        self.reporter.section(READY)
        for name in ("c1", "c2"):
            self.outbox.journalled(name)
        self.posting.begin()
        self.assertEqual(len(self.turn()), 3)
        self.lose(Rejected("invalid-message"))
        self.assertEqual(self.turn(0.5), [Journalled("c1")])
        self.lose(Rejected("invalid-message"))
        self.assertEqual(self.turn(1), [Journalled("c2")])

    def test_reports(self) -> None:
        """With whatever else is told, and by themselves when they are due."""
        self.reporter.section(READY)
        self.posting.begin()
        [status] = self.turn()
        assert isinstance(status, Status)
        self.assertEqual(status.report.sections, (READY,))
        self.answer()
        self.reporter.section(SectionStatus("site", State.FAILED))
        self.posting.flush()
        self.turn(0.5)
        self.assertEqual(len(self.sent), 1)
        self.turn(0.5)
        self.assertEqual(len(self.sent), 2)
        self.answer()
        self.turn(59)
        self.assertEqual(len(self.sent), 3)

    def test_a_report_that_was_not_heard(self) -> None:
        """It is said again; in a new session all is said."""
        self.reporter.section(READY)
        self.posting.begin()
        self.turn()
        self.lose(Unavailable("down"))
        self.turn(1)
        [status] = self.sent[1]
        assert isinstance(status, Status)
        self.assertEqual(status.report.sections, (READY,))
        self.lose(Rejected("unknown-session"))
        self.posting.end()
        self.posting.begin()
        self.clock.advance(1)
        [status] = self.sent[-1]
        assert isinstance(status, Status)
        self.assertEqual(status.report.sections, (READY,))

    def test_an_old_request_holds_up_nobody(self) -> None:
        """A new session tells at once, whatever becomes of a request of the old one."""
        self.outbox.release(1)
        self.posting.begin()
        self.turn()
        self.posting.end()
        self.posting.begin()
        self.turn()
        self.assertEqual(len(self.sent), 2)
        self.lose(Unavailable("late"))
        self.answer()
        self.turn(RESEND)
        self.assertEqual(len(self.sent), 3)
