"""Tests for ``rescriptum.gateway.arbitration``."""

from functools import partial

from rescriptum.contract.joining import Role
from rescriptum.contract.specs import LeaseSection
from rescriptum.gateway.arbitration import Arbitration
from rescriptum.gateway.lease import POLL, patience
from rescriptum.gateway.stores import leases, sessions, sites
from tests.gatewaycases import NOW, SITE, GatewayCase


class ArbitrationCase(GatewayCase):
    def setUp(self) -> None:
        super().setUp()
        self.changed: list[str] = []
        self.arbitration = self.another()
        self.node()

    def another(self) -> Arbitration:
        """:returns: that of another process."""
        return Arbitration(self.database, self.clock.seconds, self.now, self.changed.append)

    def look(self, arbitration: Arbitration | None = None) -> float:
        return self.done((arbitration or self.arbitration).look(None))

    def section(self, session: str = "s1") -> LeaseSection:
        return self.arbitration.section(SITE, session)

    def beat(self, session: str = "s1") -> None:
        row = self.lease()
        work = partial(leases.record, site=SITE, epoch=row.epoch, session=session)
        self.assertTrue(self.run_(work))

    def hear(self, *names: str) -> None:
        self.run_(partial(sessions.heard, ids=names, now=int(self.now())))


class GrantTests(ArbitrationCase):
    def test_a_free_lease_goes_to_who_is_there(self) -> None:
        self.look()
        self.assertEqual((self.section(), self.lease().holder), (LeaseSection(), None))
        self.session()
        self.look()
        self.assertEqual((self.lease().holder, self.lease().epoch), ("s1", 1))

    def test_it_is_said_once_it_is_read_back(self) -> None:
        """What is committed is said, and nothing else: another process may have been quicker."""
        self.session()
        self.look()
        self.assertEqual(self.section(), LeaseSection(False, 0, None))
        self.changed.clear()
        self.look()
        self.assertEqual(self.section(), LeaseSection(True, 1, 15_000))
        self.assertEqual(self.section("s9"), LeaseSection(False, 0, None))
        self.assertEqual(self.changed, [SITE])
        [event] = self.events()
        self.assertEqual((event.kind, event.subject), ("lease.granted", SITE))
        self.assertEqual(event.data, {"epoch": 1, "node": "n1", "from": None})

    def test_beats_are_nobodys_news(self) -> None:
        self.session()
        self.look()
        self.look()
        self.changed.clear()
        self.beat()
        self.look()
        self.assertEqual(self.changed, [])

    def test_who_boots_nothing_or_is_silent_is_no_candidate(self) -> None:
        self.session(boots=False)
        self.node("n2")
        self.session("s2", "n2")
        self.clock.advance(15)
        self.hear("s1")
        self.look()
        self.assertIsNone(self.lease().holder)
        self.hear("s2")
        self.look()
        self.assertEqual(self.lease().holder, "s2")

    def test_the_next_epoch_has_the_sites_ttl(self) -> None:
        self.run_(partial(sites.set_ttl, name=SITE, ttl_ms=3000))
        self.session()
        self.look()
        self.assertEqual(self.lease().ttl_ms, 3000)

    def test_of_many_sites_some_are_looked_at(self) -> None:
        self.run_(partial(sites.create, name="office", now=NOW))
        self.node("n2", site="office")
        self.session()
        self.session("s2", "n2", site="office")
        self.done(self.arbitration.look(frozenset({"office", "nowhere"})))
        self.assertEqual((self.lease("office").holder, self.lease().holder), ("s2", None))

    def test_a_site_that_is_gone_is_forgotten(self) -> None:
        self.run_(partial(sites.create, name="office", now=NOW))
        self.look()
        self.run_(partial(sites.remove, name="office"))
        self.look()
        self.assertEqual(self.arbitration.section("office", "s1"), LeaseSection())


class TakeTests(ArbitrationCase):
    def setUp(self) -> None:
        super().setUp()
        self.session()
        self.look()
        self.beat()
        self.node("n2")
        self.session("s2", "n2")
        self.look()

    def wait(self, seconds: float) -> None:
        """Looking each second, while the other one is there."""
        end = self.clock.seconds() + seconds
        while self.clock.seconds() < end:
            self.hear("s2")
            step = min(self.look(), end - self.clock.seconds())
            self.clock.advance(step or 0.001)
        self.hear("s2")

    def test_a_silent_holder_has_its_time(self) -> None:
        self.wait(patience(15) - 0.01)
        self.look()
        self.assertEqual(self.lease().holder, "s1")
        self.wait(0.02)
        self.look()
        self.assertEqual((self.lease().holder, self.lease().epoch), ("s2", 2))
        self.assertEqual(self.events()[-1].data, {"epoch": 2, "node": "n2", "from": "n1"})

    def test_each_beat_begins_it_anew(self) -> None:
        self.wait(10)
        self.beat()
        self.wait(patience(15) - 0.01)
        self.look()
        self.assertEqual(self.lease().holder, "s1")

    def test_another_process_has_waited_for_nothing(self) -> None:
        self.wait(10)
        other = self.another()
        self.look(other)
        self.clock.advance(patience(15) - 10)
        self.hear("s2")
        self.look(other)
        self.assertEqual(self.lease().holder, "s1")
        self.look()
        self.assertEqual(self.lease().holder, "s2")

    def test_a_beat_is_as_young_as_the_answer_that_has_it(self) -> None:
        """Another one may have been recorded while the answer was under way."""
        self.clock.advance(1)
        self.beat()
        self.hear("s2")
        self.threads.slowly = lambda: self.clock.advance(5)
        self.look()
        self.threads.slowly = lambda: None
        self.wait(patience(15) - 0.01)
        self.look()
        self.assertEqual(self.lease().holder, "s1")
        self.wait(0.02)
        self.look()
        self.assertEqual(self.lease().holder, "s2")

    def test_a_lost_connection_begins_it_anew(self) -> None:
        self.wait(10)
        self.arbitration.forget()
        self.wait(10)
        self.look()
        self.assertEqual(self.lease().holder, "s1")

    def test_an_epoch_that_proves_nothing_goes_soon(self) -> None:
        self.run_(partial(leases.release, site=SITE, epoch=1, node="n1"))
        self.run_(partial(sessions.end, session="s1", reason="unknown-node", now=NOW))
        self.session("s1b", "n1")
        self.look()
        first = self.lease().holder
        self.assertIn(first, ("s2", "s1b"))
        self.look()
        self.clock.advance(3)
        self.hear("s2", "s1b")
        self.look()
        self.assertNotEqual(self.lease().holder, first)

    def test_it_looks_again_when_time_is_up(self) -> None:
        self.clock.advance(15.5)
        self.hear("s2")
        self.assertAlmostEqual(self.look(), patience(15) - 15.5)
        self.assertEqual(self.look(self.another()), POLL)


class MoveTests(ArbitrationCase):
    def test_the_wanted_node_gets_it_when_the_holder_lets_go(self) -> None:
        self.session()
        self.look()
        self.beat()
        self.node("n2", Role.SITE)
        self.run_(partial(sites.want, name=SITE, node="n2"))
        self.look()
        self.assertEqual(self.section(), LeaseSection(True, 1, 15_000))
        self.session("s2", "n2")
        self.look()
        self.assertEqual(self.section(), LeaseSection(False, 1, None))
        self.assertEqual(self.lease().holder, "s1")
        self.run_(partial(leases.release, site=SITE, epoch=1, node="n1"))
        self.look()
        self.look()
        self.assertEqual(self.section("s2"), LeaseSection(True, 2, 15_000))
        self.assertEqual(self.section(), LeaseSection(False, 1, None))

    def test_what_is_said_is_a_state(self) -> None:
        """A process that crashed after the commit, or that comes new, says the same."""
        self.session()
        self.look()
        other = self.another()
        self.look(other)
        self.assertEqual(other.section(SITE, "s1"), LeaseSection(True, 1, 15_000))

    def test_two_processes_at_once_grant_one_epoch(self) -> None:
        self.session()
        other = self.another()
        self.look()
        self.look(other)
        self.look()
        self.assertEqual(self.lease().epoch, 1)
        self.assertEqual(len(self.events()), 1)
