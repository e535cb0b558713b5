"""Tests for ``rescriptum.agent.link``: what an agent makes of what its gateway says."""

from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from attrs import define, field
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.logger import LogLevel, capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.agent.client import Session
from rescriptum.agent.commands import Trust
from rescriptum.agent.desired import DesiredState, SiteSection
from rescriptum.agent.intake import Intake
from rescriptum.agent.journal import Journal
from rescriptum.agent.kinds import KindTable
from rescriptum.agent.link import Link
from rescriptum.agent.recording import Recording
from rescriptum.agent.runner import Runner
from rescriptum.agent.session import Course, session
from rescriptum.boot.lease import AgentLease
from rescriptum.contract.commands import Envelope
from rescriptum.contract.frames import (
    Accepted,
    Ack,
    AgentFrame,
    Close,
    CommandFrame,
    Desired,
    Heartbeat,
    Journalled,
    Ping,
    Received,
    Release,
    ResultFrame,
    Revoke,
    ServerFrame,
    Status,
)
from rescriptum.contract.joining import Role, TrustBundle
from rescriptum.contract.keys import generate
from rescriptum.contract.refusals import Rejected
from rescriptum.contract.sessions import SecretAnswer, SecretRequest, Welcome
from rescriptum.contract.specs import LeaseSection, NodeSpec, SiteSpec
from rescriptum.contract.structure import rendered
from rescriptum.errors import RescriptumError, Unavailable
from tests.agent_commands import NOW, command
from tests.agent_kinds import Echo, Slow
from tests.webclient import InlineWorkers


@define(eq=False)
class FakeStream:
    received: Callable[[Received], None]
    silence: float
    ended: Deferred[RescriptumError] = field(factory=Deferred)
    aborted: bool = False

    def abort(self) -> None:
        self.aborted = True
        if not self.ended.called:
            self.ended.callback(Unavailable("given up"))


@define(eq=False)
class FakeDoor:
    """
    :ivar posts: what was sent in which session, each with its answer to come.
    :ivar answers: whether each post is answered at once, for all that it says.
    """

    hellos: list[Deferred[Welcome]] = field(factory=list)
    posts: list[tuple[str, list[AgentFrame], Deferred[Accepted]]] = field(factory=list)
    streams: list[FakeStream] = field(factory=list)
    secrets: list[Deferred[SecretAnswer]] = field(factory=list)
    answers: bool = True

    async def hello(self, signed: str) -> Welcome:
        self.hellos.append(Deferred())
        return await self.hellos[-1]

    async def frames(
        self, session: Session, frames: Sequence[AgentFrame], seconds: float
    ) -> Accepted:
        answer: Deferred[Accepted] = Deferred()
        self.posts.append((session.name, list(frames), answer))
        if self.answers:
            answer.callback(
                Accepted(
                    None,
                    tuple(f.command_id for f in frames if isinstance(f, ResultFrame)),
                    tuple(f.epoch for f in frames if isinstance(f, Release)),
                    tuple(f.command_id for f in frames if isinstance(f, Journalled)),
                )
            )
        return await answer

    async def secret(self, session: Session, request: SecretRequest) -> SecretAnswer:
        self.secrets.append(Deferred())
        return await self.secrets[-1]

    def stream(
        self, session: Session, received: Callable[[Received], None], silence: float
    ) -> FakeStream:
        self.streams.append(FakeStream(received, silence))
        return self.streams[-1]


class LinkTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.clock, self.door, self.lease = Clock(), FakeDoor(), AgentLease(100)
        self.over = 0
        self.wall = float(NOW)
        self.link = Link(
            self.door,
            lambda: "hello",
            self.lease,
            self.clock.seconds,
            lambda: self.wall,
            self.clock.callLater,
            self.spawn,
            lambda: 0.5,
            self.ended,
        )
        journal = Journal(":memory:", NOW - 1000)
        self.addCleanup(journal.close)
        kinds = KindTable(Role.SITE, [Echo(), Slow()])
        recording = Recording(journal, InlineWorkers(), self.link.now)
        runner = Runner(self.clock, recording, kinds, "boot-1", self.link)
        intake = Intake(
            "n1",
            generate("Ed25519"),
            Trust.of(TrustBundle()),
            kinds,
            recording,
            runner,
            self.link.outbox,
            self.link.now,
            self.link.posting.flush,
        )
        section = SiteSection(lambda: self.lease.status(self.clock.seconds()))
        desired = DesiredState([section], self.spawn, self.link.stated)
        self.inputs = session(Course(self.link, self.clock.seconds, lambda: 0.5))
        self.link.wire(self.inputs, intake, desired)

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        Deferred.fromCoroutine(work)

    def ended(self) -> None:
        self.over += 1

    def begin(self, name: str = "s1") -> None:
        if not self.door.hellos:
            self.inputs.start()
        self.door.hellos[-1].callback(Welcome(name, f"token-{name}", 5000, 15000, NOW))

    def say(self, frame: ServerFrame, ack: Ack | None = None) -> None:
        self.door.streams[-1].received(Received(1, frame, ack))

    def lease_is(self, active: bool, epoch: int) -> None:
        self.say(Desired(NodeSpec(epoch, SiteSpec(LeaseSection(active, epoch, 15000)))))

    def told(self, *kinds: type[AgentFrame]) -> list[AgentFrame]:
        """:returns: of these kinds, in order, whatever request they were in."""
        return [f for _, frames, _ in self.door.posts for f in frames if isinstance(f, kinds)]

    @property
    def open(self) -> bool:
        return self.lease.is_open(self.clock.seconds())

    def activate(self, epoch: int = 1) -> None:
        self.lease_is(True, epoch)
        self.say(Ping(), Ack(self.lease.beat - 1, epoch))
        self.assertTrue(self.open)

    def test_a_session(self) -> None:
        """Its stream is opened, with the ttl as silence; heartbeats begin; a status is told."""
        self.begin()
        self.assertEqual(self.door.streams[0].silence, 15)
        self.assertEqual(self.told(Heartbeat), [Heartbeat(100)])
        self.say(Desired(NodeSpec(1, SiteSpec())))
        self.clock.advance(0)
        self.assertEqual(len(self.told(Status)), 1)
        self.assertEqual(self.link.status(), {"state": "live", "name": "s1", "trouble": ""})

    def test_no_session(self) -> None:
        """It waits and tries again, and what is wrong is known."""
        self.inputs.start()
        self.door.hellos[-1].errback(Unavailable("nobody there"))
        self.assertEqual(self.link.status()["trouble"], "no session: nobody there")
        self.assertEqual(self.link.status()["state"], "waiting")
        self.clock.advance(0.5)
        self.assertEqual(len(self.door.hellos), 2)

    def test_a_token_that_cannot_be_used(self) -> None:
        """Such a session is none."""
        self.inputs.start()
        self.door.hellos[-1].callback(Welcome("s1", "é", 5000, 15000, NOW))
        self.assertIsNone(self.link.session)
        self.assertEqual(self.door.streams, [])

    def test_the_lease(self) -> None:
        """A section opens nothing; the heartbeat that follows at once, acknowledged, does."""
        self.begin()
        self.lease_is(True, 3)
        self.assertEqual(self.told(Heartbeat), [Heartbeat(100), Heartbeat(101, 3)])
        self.assertFalse(self.open)
        self.say(Ping(), Ack(100, 3))
        self.assertFalse(self.open)
        self.say(Ping(), Ack(101, 3))
        self.assertTrue(self.open)
        self.clock.advance(14.9)
        self.assertTrue(self.open)
        self.clock.advance(0.1)
        self.assertFalse(self.open)

    def test_acknowledged_by_an_answer(self) -> None:
        """Of a request in the present session."""
        self.begin()
        self.door.answers = False
        self.lease_is(True, 3)
        self.door.posts[-1][2].callback(Accepted(Ack(101, 3)))
        self.assertTrue(self.open)

    def test_an_answer_of_an_old_session(self) -> None:
        """Proves nothing."""
        self.begin()
        self.door.answers = False
        self.lease_is(True, 3)
        _, _, answer = self.door.posts[-1]
        self.inputs.unauthorized(Rejected("unknown-session"))
        self.clock.advance(0.5)
        self.begin("s2")
        self.lease_is(True, 4)
        beat = self.lease.beat - 1
        answer.callback(Accepted(Ack(beat, 4)))
        self.assertFalse(self.open)
        self.say(Ping(), Ack(beat, 4))
        self.assertTrue(self.open)

    def test_given_up(self) -> None:
        """Closed at once; the release goes out in a later turn, and once."""
        self.begin()
        self.activate()
        self.lease_is(False, 1)
        self.assertFalse(self.open)
        self.assertEqual(self.told(Release), [])
        self.clock.advance(0)
        self.assertEqual(self.told(Release), [Release(1)])
        self.clock.advance(60)
        self.assertEqual(self.told(Release), [Release(1)])

    def test_released_in_a_later_session(self) -> None:
        """Until it is answered for, by whatever session there is."""
        self.begin()
        self.activate()
        self.door.answers = False
        self.lease_is(False, 1)
        self.clock.advance(0)
        self.inputs.unauthorized(Rejected("unknown-session"))
        self.clock.advance(0.5)
        self.door.answers = True
        self.begin("s2")
        self.clock.advance(0)
        sessions = [name for name, frames, _ in self.door.posts if Release(1) in frames]
        self.assertEqual(sessions, ["s1", "s2"])

    def test_a_new_session_gives_up(self) -> None:
        """What the old one held is released, though the fence was still open when it began."""
        self.begin()
        self.activate()
        self.inputs.unauthorized(Rejected("unknown-session"))
        self.assertTrue(self.open)
        self.clock.advance(0.5)
        self.begin("s2")
        self.assertFalse(self.open)
        self.clock.advance(0)
        self.assertEqual(self.told(Release), [Release(1)])

    def test_the_stream_is_lost(self) -> None:
        """Another one in the same session; nothing is given up."""
        self.begin()
        self.activate()
        self.door.streams[0].ended.callback(Unavailable("broke off"))
        self.assertEqual(self.link.status()["state"], "reconnecting")
        self.clock.advance(0.5)
        self.assertEqual(len(self.door.streams), 2)
        self.assertTrue(self.open)
        self.assertEqual(len(self.door.hellos), 1)

    def test_the_gateway_stops(self) -> None:
        """Its process does, and the session is in the database: nothing is given up."""
        self.begin()
        self.activate()
        self.say(Close("stopping"))
        self.assertTrue(self.door.streams[0].aborted)
        self.clock.advance(0.5)
        self.assertEqual((len(self.door.streams), len(self.door.hellos)), (2, 1))
        self.assertTrue(self.open)

    def test_superseded(self) -> None:
        """The fence is closed at once, and it is said loudly."""
        self.begin()
        self.activate()
        with capturedLogs() as events:
            self.say(Close("superseded"))
        self.assertFalse(self.open)
        self.assertTrue(self.door.streams[0].aborted)
        self.assertIn("superseded", str(self.link.status()["trouble"]))
        loud = [each for each in events if each["log_level"] is LogLevel.error]
        self.assertEqual(len(loud), 1)
        self.clock.advance(59)
        self.assertEqual(len(self.door.hellos), 1)
        self.assertEqual(len(self.told(Heartbeat)), 2)
        self.clock.advance(1)
        self.assertEqual(len(self.door.hellos), 2)

    def test_unauthorized(self) -> None:
        """On any call of the present session; what an old one's is told is old."""
        self.begin()
        self.door.answers = False
        self.clock.advance(5)
        first = self.door.posts[-1][2]
        self.clock.advance(5)
        self.door.posts[-1][2].errback(Rejected("unknown-session"))
        self.assertIsNone(self.link.session)
        self.clock.advance(0.5)
        self.begin("s2")
        first.errback(Rejected("unknown-session"))
        self.assertEqual(self.link.session, Session("s2", "token-s2"))
        self.door.streams[-1].ended.callback(Rejected("unknown-session"))
        self.assertIsNone(self.link.session)

    def test_a_heartbeat_is_not_heard(self) -> None:
        """The next one goes out in its time."""
        self.begin()
        self.door.answers = False
        self.clock.advance(5)
        self.door.posts[-1][2].errback(Unavailable("no answer in time"))
        self.assertIn("a heartbeat was not heard", str(self.link.status()["trouble"]))
        self.clock.advance(5)
        self.assertEqual(len(self.told(Heartbeat)), 3)

    def test_commands(self) -> None:
        """Taken, run, told and acknowledged; revoked ones do not begin."""
        self.begin()
        self.say(CommandFrame(Envelope(unsigned=rendered(command("c1")).decode())))
        self.clock.advance(0)
        self.assertEqual(self.told(Journalled), [Journalled("c1")])
        [result] = self.told(ResultFrame)
        self.assertEqual(result.command_id, "c1")  # type: ignore[union-attr]
        slow = Envelope(unsigned=rendered(command("c2", kind="test.slow", machine="m")).decode())
        next_ = Envelope(unsigned=rendered(command("c3", machine="m")).decode())
        for each in (slow, next_):
            self.say(CommandFrame(each))
        self.say(Revoke("c3"))
        self.clock.advance(0)
        self.assertEqual(self.told(ResultFrame)[-1].result.code, "revoked")  # type: ignore[union-attr]
        self.assertEqual(len(self.told(ResultFrame)), 2)

    def test_the_time(self) -> None:
        """The later of the wall clock and what the gateway told."""
        self.wall = 0.0
        self.assertEqual(self.link.now(), 0)
        self.begin()
        self.clock.advance(9)
        self.assertEqual(self.link.now(), NOW + 9)
        self.wall = NOW + 100.0
        self.assertEqual(self.link.now(), NOW + 100)

    def test_secrets(self) -> None:
        """Within the session that there is; where the gateway does not know it, Hello again."""
        asking = Deferred.fromCoroutine(self.link.secret(command("c1"), "bmc-7", 0))
        self.failureResultOf(asking, Unavailable)
        self.begin()
        asking = Deferred.fromCoroutine(self.link.secret(command("c1"), "bmc-7", 0))
        self.door.secrets[-1].callback(SecretAnswer("hush"))
        self.assertTrue(self.successResultOf(asking).matches("hush"))
        asking = Deferred.fromCoroutine(self.link.secret(command("c1"), "bmc-7", 0))
        self.door.secrets[-1].errback(Rejected("unknown-session"))
        self.failureResultOf(asking, Rejected)
        self.assertIsNone(self.link.session)

    def test_tokens_are_kept_for_an_epoch(self) -> None:
        """Asked for once; given up, the epoch's tokens are forgotten."""
        self.begin()
        self.lease_is(True, 3)
        request = SecretRequest("token-1", "w1", "s1", "c1", 3)
        for _ in range(2):
            asking = Deferred.fromCoroutine(self.link.credentials.kept(request))
            if not self.door.secrets[-1].called:
                self.door.secrets[-1].callback(SecretAnswer("hush"))
            self.successResultOf(asking)
        self.assertEqual((len(self.door.secrets), len(self.link.credentials)), (1, 1))
        self.lease_is(False, 3)
        self.assertEqual(len(self.link.credentials), 0)

    def test_after_a_stall(self) -> None:
        """A heartbeat at once where there is a session."""
        self.link.hurry()
        self.assertEqual(self.clock.getDelayedCalls(), [])
        self.begin()
        self.link.hurry()
        self.assertEqual(len(self.told(Heartbeat)), 2)

    def test_progress(self) -> None:
        """With the next report."""
        self.begin()
        self.link.progressed("c1", {"percent": 5})
        self.clock.advance(0)
        [status] = self.told(Status)
        self.assertEqual(status.report.progress[0].data, {"percent": 5})  # type: ignore[union-attr]

    def test_the_end(self) -> None:
        """The fence is closed, the release is told once, and nothing is left behind."""
        self.begin()
        self.activate()
        self.inputs.stop()
        self.assertFalse(self.open)
        self.assertEqual((self.told(Release), self.over), ([], 0))
        self.clock.advance(0)
        self.assertEqual((self.told(Release), self.over), ([Release(1)], 1))
        self.assertTrue(self.door.streams[0].aborted)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_an_end_that_nobody_hears(self) -> None:
        """It ends nevertheless."""
        self.begin()
        self.activate()
        self.door.answers = False
        self.inputs.stop()
        self.clock.advance(0)
        self.assertEqual(self.told(Release), [Release(1)])
        self.door.posts[-1][2].errback(Unavailable("no answer in time"))
        self.assertEqual(self.over, 1)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_an_end_without_a_session(self) -> None:
        """At once."""
        self.inputs.start()
        self.inputs.stop()
        self.assertEqual(self.over, 1)
        self.door.hellos[-1].callback(Welcome("s1", "t", 5000, 15000, NOW))
        self.assertEqual(self.door.streams, [])
        self.assertEqual(self.clock.getDelayedCalls(), [])
