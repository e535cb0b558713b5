"""Tests for ``rescriptum.agent.intake``: what becomes of each command that arrives."""

from collections.abc import Callable
from typing import TypeVar

from attrs import evolve
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.agent.commands import Trust
from rescriptum.agent.intake import Intake
from rescriptum.agent.journal import Journal, State
from rescriptum.agent.kinds import KindTable
from rescriptum.agent.outbox import Outbox
from rescriptum.agent.recording import Recording
from rescriptum.agent.runner import Runner
from rescriptum.contract.commands import Command, Envelope, Result
from rescriptum.contract.frames import AgentFrame, Journalled, Refused, ResultFrame
from rescriptum.contract.joining import Role, TrustBundle
from rescriptum.contract.keys import generate
from rescriptum.contract.structure import rendered
from rescriptum.errors import Unavailable
from tests.agent_commands import NOW, command
from tests.agent_kinds import Echo, FakeSurroundings, Slow

_T = TypeVar("_T")


def envelope(of: Command) -> Envelope:
    return Envelope(unsigned=rendered(of).decode())


class LateWorkers:
    """
    Work is done when the test says so.

    :ivar holds: whether it waits; :ivar waiting: for each to go on. :ivar full: nothing is done.
    """

    def __init__(self) -> None:
        self.holds = self.full = False
        self.waiting: list[Deferred[None]] = []

    def go(self, which: int = 0) -> None:
        """One of those that wait goes on."""
        self.waiting.pop(which).callback(None)

    async def run(self, work: Callable[[], _T]) -> _T:
        if self.full:
            raise Unavailable("too much is waiting")
        if self.holds:
            turn: Deferred[None] = Deferred()
            self.waiting.append(turn)
            await turn
        return work()


class IntakeTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.journal = Journal(":memory:", NOW - 1000)
        self.addCleanup(self.journal.close)
        self.workers = LateWorkers()
        self.kinds = KindTable(Role.SITE, [Echo(), Slow()])
        self.recording = Recording(self.journal, self.workers, lambda: NOW)
        self.runner = Runner(Clock(), self.recording, self.kinds, "boot-1", FakeSurroundings())
        self.outbox = Outbox()
        self.told = 0
        self.intake = Intake(
            "n1",
            generate("Ed25519"),
            Trust.of(TrustBundle()),
            self.kinds,
            self.recording,
            self.runner,
            self.outbox,
            lambda: NOW,
            self.tell,
        )

    def tell(self) -> None:
        self.told += 1

    def take(self, of: Command | Envelope) -> list[AgentFrame]:
        """:returns: what the gateway is told."""
        given = envelope(of) if isinstance(of, Command) else of
        self.successResultOf(Deferred.fromCoroutine(self.intake.take(given)))
        return self.outbox.batch()

    def test_taken(self) -> None:
        """It is in the journal before the gateway hears of it, and runs."""
        self.assertEqual(self.take(command("c1")), [Journalled("c1")])
        entry = self.journal.find("c1")
        assert entry is not None
        self.assertEqual(entry.octets, rendered(command("c1")))
        self.assertEqual((entry.state, self.told), (State.DONE, 1))

    def test_refused(self) -> None:
        """Each with its id and code, and nothing in the journal."""
        for given, command_id, code in (
            (command("c1", kind="test.none"), "c1", "unknown-kind"),
            (evolve(command("c2"), node_id="n2"), "c2", "wrong-node"),
            (command("c3", nothing="of it"), "c3", "invalid-payload"),
            (Envelope(unsigned="{"), "", "malformed-json"),
            (Envelope(signed="a.b.c", certificate="a.b.c"), "", "bad-signature"),
        ):
            [frame] = self.take(given)
            assert isinstance(frame, Refused)
            self.assertEqual((frame.command_id, frame.code), (command_id, code))
            self.assertIsNone(self.journal.find(command_id))
            self.outbox = self.intake.outbox = Outbox()

    def test_again(self) -> None:
        """What is done is told again; what runs is said to be in the journal; none runs twice."""
        self.take(command("c1"))
        self.take(command("c2", kind="test.slow"))
        self.outbox = self.intake.outbox = Outbox()
        self.take(command("c1", kind="test.slow"))
        [journalled, result] = self.take(command("c2"))
        self.assertEqual(journalled, Journalled("c2"))
        assert isinstance(result, ResultFrame)
        told = Result(True, "ok", "", {"text": ""})
        self.assertEqual((result.command_id, result.result), ("c1", told))

    def test_twice_at_once(self) -> None:
        """The second one says nothing until the first one is written down."""
        self.workers.holds = True
        both = [Deferred.fromCoroutine(self.intake.take(envelope(command("c1")))) for _ in range(2)]
        self.workers.go()  # it is not in the journal, says the first one: and writes it
        self.workers.go()  # nor, says the second, and finds that the runner has it
        self.workers.holds = False
        self.workers.go(1)  # it is still not in the journal
        self.successResultOf(both[1])
        self.assertEqual(self.outbox.batch(), [])
        self.workers.go()
        self.successResultOf(both[0])
        self.assertEqual(self.outbox.batch(), [Journalled("c1")])

    def test_revoked_meanwhile(self) -> None:
        """A revocation that comes while the journal is asked counts."""
        self.workers.holds = True
        taking = Deferred.fromCoroutine(self.intake.take(envelope(command("c1"))))
        self.intake.revoke("c1")
        self.intake.revoke("c9")
        self.workers.holds = False
        self.workers.go()
        self.successResultOf(taking)
        [frame] = self.outbox.batch()
        assert isinstance(frame, Refused)
        self.assertEqual(frame.code, "revoked")
        self.assertIsNone(self.journal.find("c1"))

    def test_revoked_before_it_began(self) -> None:
        """The runner knows it by then."""
        for name in ("c1", "c2"):
            self.take(command(name, kind="test.slow", machine="m"))
        self.intake.revoke("c2")
        entry = self.journal.find("c2")
        assert entry is not None
        assert entry.result is not None
        self.assertEqual(entry.result.code, "revoked")

    def test_no_journal(self) -> None:
        """What cannot be written down is refused."""
        self.workers.full = True
        [frame] = self.take(command("c1"))
        assert isinstance(frame, Refused)
        self.assertEqual(frame.code, "journal-unavailable")

    def test_what_the_gateway_has_missed(self) -> None:
        """Results that are in the journal, until they are acknowledged there."""
        self.take(command("c1"))
        self.outbox = self.intake.outbox = Outbox()
        self.successResultOf(Deferred.fromCoroutine(self.intake.refill()))
        [frame] = self.outbox.batch()
        assert isinstance(frame, ResultFrame)
        self.journal.acknowledge(["c1"])
        self.outbox = self.intake.outbox = Outbox()
        self.successResultOf(Deferred.fromCoroutine(self.intake.refill()))
        self.assertEqual(self.outbox.batch(), [])

    def test_what_is_never_acknowledged_stands_in_nobodys_way(self) -> None:
        """A gateway that knows nothing of old commands still hears of new ones."""

        def told() -> set[str]:
            self.successResultOf(Deferred.fromCoroutine(self.intake.refill()))
            return {
                each.command_id for each in self.outbox.batch() if isinstance(each, ResultFrame)
            }

        old = {f"c{number}" for number in range(40)}
        for each in sorted(old):
            self.take(command(each))
        self.outbox = self.intake.outbox = Outbox()
        self.assertEqual(told(), old)
        self.assertEqual(told(), old)
        self.take(command("new"))
        self.outbox = self.intake.outbox = Outbox()
        self.assertEqual(told() | told(), {*old, "new"})
