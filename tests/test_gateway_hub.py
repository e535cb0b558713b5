"""Tests for ``rescriptum.gateway.hub``."""

import json

from hypothesis import given
from hypothesis import strategies as st
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.contract.frames import Ack, Desired, Ping, Revoke, server_frame
from rescriptum.contract.joining import Role
from rescriptum.contract.refusals import Rejected
from rescriptum.contract.specs import CacheImage, LeaseSection, NodeSpec, SiteSpec
from rescriptum.contract.structure import LONGEST_FRAME
from rescriptum.gateway.hub import QUEUE, Hub, Live, line, members
from rescriptum.testing import MemoryStream


class HubCase(SynchronousTestCase):
    def setUp(self) -> None:
        self.clock = Clock()
        self.hub = Hub(self.clock.seconds)

    def live(self, session: str = "s1", node: str = "n1", site: str = "lab") -> Live:
        made = Live(session, node, site, Role.SITE, 5.0, MemoryStream(self.clock))
        self.hub.attach(made)
        return made

    def stream(self, live: Live) -> MemoryStream:
        assert isinstance(live.stream, MemoryStream)
        return live.stream

    def said(self, live: Live) -> list[bytes]:
        """:returns: what came since this was last asked."""
        stream = self.stream(live)
        sent, stream.sent = stream.sent, []
        return sent


class FramesTests(HubCase):
    def test_frames_are_numbered_and_prove_the_newest_heartbeat(self) -> None:
        live = self.live()
        self.hub.send(live, Ping())
        self.hub.acknowledge("s1", Ack(41, 7))
        self.hub.send(live, Revoke("c1"))
        self.assertEqual(
            self.said(live),
            [
                b'{"seq":0,"type":"ping","ack":null}\n',
                b'{"seq":1,"type":"revoke","command_id":"c1","ack":{"beat":41,"epoch":7}}\n',
            ],
        )

    @given(st.integers(0, 2**53 - 1), st.booleans())
    def test_agents_read_what_is_joined(self, seq: int, proved: bool) -> None:
        spec = NodeSpec(3, SiteSpec(LeaseSection(True, 7, 15_000), (CacheImage("a" * 64, "u"),)))
        ack = b'{"beat":1,"epoch":2}' if proved else b"null"
        read = server_frame(line(seq, members(Desired(spec)), ack)[:-1])
        self.assertEqual((read.seq, read.frame), (seq, Desired(spec)))
        self.assertEqual(read.ack, Ack(1, 2) if proved else None)

    def test_each_stream_counts_its_own_frames(self) -> None:
        one, other = self.live(), self.live("s2", "n2")
        self.hub.send(other, Ping())
        for each in one, other:
            self.hub.send(each, Revoke("c1"))
        self.assertEqual([json.loads(each)["seq"] for each in self.said(other)], [0, 1])
        self.assertEqual([json.loads(each)["seq"] for each in self.said(one)], [0])

    def test_a_frame_that_no_agent_would_read_is_not_said(self) -> None:
        live = self.live()
        most = LONGEST_FRAME - len(line(0, b"", b"null"))
        self.assertEqual(len(line(0, b"x" * most, b"null")), LONGEST_FRAME)
        self.assertRaises(Rejected, line, 0, b"x" * (most + 1), b"null")
        images = tuple(CacheImage("a" * 64, "u" * 2000) for _ in range(200))
        with self.assertRaises(Rejected):
            self.hub.send(live, Desired(NodeSpec(1, SiteSpec(cache_images=images))))
        self.assertEqual((self.said(live), live.seq), ([], 0))


class SessionsTests(HubCase):
    def test_everybody_hears_something_within_each_heartbeat(self) -> None:
        quiet, busy = self.live(), self.live("s2", "n2")
        for _ in range(8):
            self.clock.advance(1)
            self.hub.send(busy, Revoke("c"))
            self.hub.tick()
        self.assertEqual(len(self.said(quiet)), 2)
        self.assertNotIn(b"ping", b"".join(self.said(busy)))

    def test_a_second_session_of_a_node_ends_the_first(self) -> None:
        first = self.live()
        second = self.live("s2")
        self.assertIn(b'"type":"close","reason":"superseded"', self.said(first)[-1])
        self.assertEqual(self.stream(first).end, "closed")
        self.clock.advance(0)
        self.assertIs(self.hub.of_node("n1"), second)
        self.assertEqual(len(self.hub), 1)

    def test_a_second_stream_of_a_session_takes_the_place_of_the_first(self) -> None:
        """It begins anew, but for what was proved; the first one says nothing of it."""
        first = self.live()
        self.hub.acknowledge("s1", Ack(41, 7))
        self.hub.send(first, Ping())
        first.told.add("c1")
        second = self.live()
        self.hub.send(second, Ping())
        self.assertEqual(len(self.said(first)), 1)
        self.assertEqual(self.stream(first).end, "closed")
        self.assertIn(b'{"seq":0,"type":"ping","ack":{"beat":41', self.said(second)[0])
        self.assertEqual(second.told, set())
        self.clock.advance(0)
        self.assertIs(self.hub.of_node("n1"), second)

    def test_an_agent_that_leaves_is_forgotten(self) -> None:
        live = self.live()
        self.stream(live).lose()
        self.clock.advance(0)
        self.assertEqual((len(self.hub), self.hub.of_node("n1")), (0, None))
        self.hub.send(live, Ping())  # whoever still has it says nothing
        self.hub.close("s1", "superseded")
        self.hub.acknowledge("s1", Ack(1, 1))
        self.assertEqual(self.said(live), [])

    def test_slow_readers_are_dropped_at_the_bound(self) -> None:
        live = self.live()
        self.stream(live).slow = True
        for _ in range(QUEUE + 1):
            self.hub.send(live, Ping())
        self.assertIsNone(self.stream(live).end)
        self.hub.send(live, Ping())
        self.assertEqual(self.stream(live).end, "slow-reader")
        self.assertEqual(len(self.hub), 0)

    def test_a_reader_that_catches_up_is_none(self) -> None:
        live = self.live()
        for _ in range(3):
            self.stream(live).slow = True
            for _ in range(QUEUE):
                self.hub.send(live, Ping())
            self.stream(live).slow = False
            self.hub.send(live, Ping())
        self.assertEqual(len(self.said(live)), 3 * (QUEUE + 1))
