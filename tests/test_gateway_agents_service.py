"""Tests for ``rescriptum.gateway.agents.service``."""

from collections.abc import Callable
from functools import partial
from typing import cast

from twisted.internet.interfaces import IReactorFromThreads
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.contract.frames import Close, CommandFrame, Desired, Ping, ServerFrame, server_frame
from rescriptum.contract.joining import Role
from rescriptum.gateway.agents.service import DELIVERY, QUIET, SESSIONS, UNWELL, AgentsService
from rescriptum.gateway.hub import Hub, Live
from rescriptum.gateway.lease import patience
from rescriptum.gateway.silence import SILENT, Silence
from rescriptum.gateway.stores import leases, nodes, sessions, sites
from rescriptum.gateway.stores.notices import Notices
from rescriptum.gateway.stores.troubles import Lost
from rescriptum.testing import MemoryStream
from tests.gatewaycases import SITE, GatewayCase


class Turns(Clock):
    """A reactor whose threads are its own turns."""

    def callFromThread(self, function: Callable[..., object], *arguments: object) -> None:
        self.callLater(0, function, *arguments)


class ServiceCase(GatewayCase):
    def setUp(self) -> None:
        super().setUp()
        self.clock = self.turns = Turns()
        self.hub = Hub(self.clock.seconds)
        self.notices = Notices(self.database, cast(IReactorFromThreads, self.turns))
        self.service = AgentsService(
            self.clock, self.database, self.notices, self.hub, "p1", self.clock.seconds, self.now
        )
        self.notices.start()
        self.service.startService()
        self.clock.advance(0)
        self.node()

    def stopped(self) -> None:
        self.done(self.service.stopService())

    def live(self, session: str = "s1", node: str = "n1") -> Live:
        made = Live(session, node, SITE, Role.SITE, 5.0, MemoryStream(self.clock))
        self.hub.attach(made)
        self.service.opened(made)
        return made

    def turn(self, seconds: float = 0) -> None:
        """In steps, as time goes."""
        while seconds > 1:
            self.clock.advance(1)
            seconds -= 1
        self.clock.advance(seconds)
        self.clock.advance(0)

    def said(self, live: Live) -> list[ServerFrame]:
        """:returns: what came since this was last asked, but for pings."""
        assert isinstance(live.stream, MemoryStream)
        sent, live.stream.sent = live.stream.sent, []
        frames = [server_frame(each[:-1]).frame for each in sent]
        return [frame for frame in frames if frame != Ping()]

    def sections(self, live: Live) -> list[tuple[bool, int]]:
        found = []
        for frame in self.said(live):
            if isinstance(frame, Desired) and frame.spec.site is not None:
                found.append((frame.spec.site.lease.active, frame.spec.site.lease.epoch))
        return found


class ToldTests(ServiceCase):
    def test_a_session_is_told_of_its_lease_at_once(self) -> None:
        """Its Hello wakes the arbiter, whose grant wakes whoever speaks to it: nobody polls."""
        self.session()
        live = self.live()
        self.turn()
        self.assertEqual(self.sections(live)[-1], (True, 1))
        self.assertLess(self.clock.seconds(), 0.001)

    def test_a_command_goes_out_at_once(self) -> None:
        self.session()
        live = self.live()
        self.turn()
        self.said(live)
        row = self.command()
        self.turn()
        self.assertEqual(self.said(live), [CommandFrame(row.envelope)])

    def test_a_lost_notice_is_made_up_for(self) -> None:
        self.session()
        live = self.live()
        self.turn()
        self.said(live)
        self.done(self.notices.stop())
        self.command()
        self.run_(partial(leases.release, site=SITE, epoch=1, node="n1"))
        self.turn(DELIVERY + 1)
        kinds = {type(frame) for frame in self.said(live)}
        self.assertEqual(kinds, {CommandFrame, Desired})
        self.assertEqual(self.lease().epoch, 2)

    def test_the_lease_moves_by_patience(self) -> None:
        self.session()
        one = self.live()
        self.turn()
        self.run_(partial(leases.record, site=SITE, epoch=1, session="s1"))
        self.node("n2")
        self.session("s2", "n2")
        other = self.live("s2", "n2")
        self.turn()
        self.assertEqual(self.sections(other)[-1], (False, 0))
        for _ in range(int(patience(15) / 0.1) + 1):
            self.run_(partial(sessions.heard, ids=["s2"], now=int(self.now())))
            self.turn(0.1)
        self.assertEqual(self.sections(other), [(True, 2)])
        self.assertEqual(self.sections(one)[-1], (False, 1))

    def test_an_operators_choice_is_told_to_the_holder(self) -> None:
        self.session()
        one = self.live()
        self.turn()
        self.node("n2")
        self.session("s2", "n2")
        self.run_(partial(sites.want, name=SITE, node="n2"))
        self.turn(1)
        self.assertEqual(self.sections(one)[-1], (False, 1))

    def test_quiet_streams_are_pinged(self) -> None:
        self.session()
        live = self.live()
        self.turn()
        self.said(live)
        before = live.seq
        self.turn(5)
        self.assertEqual(live.seq, before + 1)

    def test_a_lost_connection_begins_patience_anew(self) -> None:
        """What was seen before may have been somebody else's database."""
        self.session()
        self.turn()
        self.run_(partial(leases.record, site=SITE, epoch=1, session="s1"))
        self.node("n2")
        self.session("s2", "n2")
        self.turn(10)
        self.threads.error = Lost("the connection was cut")
        self.turn(1)
        for _ in range(100):
            self.run_(partial(sessions.heard, ids=["s2"], now=int(self.now())))
            self.turn(0.1)
        self.assertEqual(self.lease().holder, "s1")


class SweepTests(ServiceCase):
    def test_a_session_that_was_superseded_elsewhere_is_over_here(self) -> None:
        """Another process took the Hello; the notice comes from there."""
        self.session()
        live = self.live()
        self.turn()
        self.session("s2")
        self.turn()
        self.assertEqual(self.said(live)[-1], Close("superseded"))
        self.assertEqual(len(self.hub), 0)

    def test_a_node_that_was_removed_is_told(self) -> None:
        self.session()
        live = self.live()
        self.turn()
        self.run_(partial(nodes.remove, node="n1", now=int(self.now())))
        self.turn()
        self.assertEqual(self.said(live)[-1], Close("unknown-node"))

    def test_a_stream_that_moved_ends_without_a_word(self) -> None:
        self.session()
        live = self.live()
        self.turn()
        self.said(live)
        self.run_(partial(sessions.attach, session="s1", process="p2", now=int(self.now())))
        self.turn(SESSIONS + 1)
        self.assertEqual(self.said(live), [])
        assert isinstance(live.stream, MemoryStream)
        self.assertEqual(live.stream.end, "closed")

    def test_a_session_that_is_not_heard_any_more_is_over(self) -> None:
        """Whatever the wall clock does meanwhile; those that are heard go on."""
        self.session()
        live = self.live()
        self.node("n2")
        self.session("s2", "n2")
        self.live("s2", "n2")
        for _ in range(12):
            self.turn(QUIET)
            self.assertIsNotNone(self.hub.of_node("n1"))
            self.run_(partial(sessions.heard, ids=["s2"], now=int(self.now()) - 10**7))
            if self.clock.seconds() + QUIET > SILENT:
                break
        self.turn(2 * QUIET)
        self.assertEqual(self.said(live)[-1], Close("unknown-session"))
        [event] = [each for each in self.events() if each.kind == "session.silent"]
        self.assertEqual((event.subject, event.site, event.data["session"]), ("n1", SITE, "s1"))
        row = self.run_(lambda connection: sessions.get(connection, "s1"))
        assert row is not None
        self.assertEqual(row.reason, "silent")
        self.assertIsNotNone(self.hub.of_node("n2"))

    def test_the_others_are_left_alone(self) -> None:
        self.session()
        live = self.live()
        self.node("n2")
        self.session("s2", "n2")
        self.turn(SESSIONS + 1)
        self.assertIs(self.hub.of_node("n1"), live)


class SilenceTests(SynchronousTestCase):
    def test_who_is_silent(self) -> None:
        silence = Silence()
        self.assertEqual(silence.observed({"s1": 5, "s2": 5}, 100.0), {})
        self.assertEqual(silence.observed({"s1": 5, "s2": 4}, 99.9 + SILENT), {})
        self.assertEqual(silence.observed({"s1": 5, "s2": 4}, 100.0 + SILENT), {"s1": 5})
        self.assertEqual(silence.observed({"s2": 4}, 100.0 + SILENT), {})
        self.assertEqual(silence.observed({"s1": 5, "s2": 9}, 100.0 + 3 * SILENT), {})


class HealthTests(ServiceCase):
    def test_without_a_database_it_is_not_well(self) -> None:
        self.assertTrue(self.service.healthy())
        self.done(self.database.close())
        self.turn(UNWELL + 1)
        self.assertFalse(self.service.healthy())
        self.done(self.database.start())
        self.turn(2)
        self.assertTrue(self.service.healthy())

    def test_nothing_is_left_behind(self) -> None:
        self.session()
        self.live()
        self.turn()
        self.stopped()
        self.assertFalse(self.service.healthy())
        self.assertEqual(self.clock.getDelayedCalls(), [])
