"""Tests for ``rescriptum.gateway.delivery`` and ``rescriptum.gateway.desired``."""

from functools import partial

from rescriptum.contract.commands import Result
from rescriptum.contract.frames import CommandFrame, Desired, Revoke, ServerFrame, server_frame
from rescriptum.contract.joining import Role
from rescriptum.contract.specs import CacheImage, LeaseSection, NodeSpec, SiteSpec
from rescriptum.gateway.delivery import Delivery, Spokesman
from rescriptum.gateway.hub import Hub, Live
from rescriptum.gateway.records import CommandState, Image
from rescriptum.gateway.stores import commands, images, nodes
from rescriptum.testing import MemoryStream
from tests.gatewaycases import NOW, SITE, GatewayCase


class StreamCase(GatewayCase):
    def setUp(self) -> None:
        super().setUp()
        self.hub = Hub(self.clock.seconds)
        self.node()

    def live(self, session: str = "s1", node: str = "n1", role: Role = Role.SITE) -> Live:
        made = Live(session, node, SITE, role, 5.0, MemoryStream(self.clock))
        self.hub.attach(made)
        return made

    def said(self, live: Live) -> list[ServerFrame]:
        """:returns: what came since this was last asked."""
        assert isinstance(live.stream, MemoryStream)
        sent, live.stream.sent = live.stream.sent, []
        return [server_frame(each[:-1]).frame for each in sent]


class DeliveryTests(StreamCase):
    def setUp(self) -> None:
        super().setUp()
        self.delivery = Delivery(self.database, self.hub, self.now)

    def look(self, *names: str) -> None:
        self.done(self.delivery.look(frozenset(names) if names else None))

    def test_a_command_is_sent_once_to_a_stream(self) -> None:
        row = self.command()
        live = self.live()
        self.look("n1")
        self.assertEqual(self.said(live), [CommandFrame(row.envelope)])
        self.assertIs(self.state(), CommandState.DELIVERED)
        self.look()
        self.assertEqual(self.said(live), [])

    def test_it_is_sent_again_until_it_is_journalled(self) -> None:
        row = self.command()
        self.live()
        self.look()
        live = self.live()
        self.look()
        self.assertEqual(self.said(live), [CommandFrame(row.envelope)])
        self.run_(partial(commands.journalled, command="c1", node="n1", now=NOW))
        live = self.live("s2")
        self.look()
        self.assertEqual(self.said(live), [])

    def test_commands_come_in_their_order_to_whom_they_are_for(self) -> None:
        self.node("n2")
        for name, node in (("c2", "n1"), ("c3", "n2"), ("c1", "n1")):
            self.command(name, node)
            self.clock.advance(1)
        live, other = self.live(), self.live("s2", "n2")
        self.look("n1", "n9")
        self.assertEqual(len(self.said(live)), 2)
        self.assertEqual(self.said(other), [])
        self.look()
        self.assertEqual(len(self.said(other)), 1)
        self.assertEqual(live.told, {"c1", "c2"})

    def test_nobody_here_means_nothing_is_delivered(self) -> None:
        self.command()
        self.look()
        self.look("n1")
        self.assertIs(self.state(), CommandState.QUEUED)

    def test_what_waits_for_approval_is_not_sent(self) -> None:
        self.command(state=CommandState.WAITING)
        live = self.live()
        self.look()
        self.assertEqual(self.said(live), [])

    def test_what_was_taken_back_is_told_once_to_a_stream(self) -> None:
        self.command()
        live = self.live()
        self.look()
        self.said(live)
        self.assertTrue(self.run_(partial(commands.revoke, command="c1", now=NOW)))
        self.look("n1")
        self.look("n1")
        self.assertEqual(self.said(live), [Revoke("c1")])
        live = self.live()
        self.look("n1")
        self.assertEqual(self.said(live), [Revoke("c1")])
        answer = Result(False, "revoked")
        self.run_(partial(commands.finished, command="c1", node="n1", result=answer, now=NOW))
        live = self.live()
        self.look("n1")
        self.assertEqual(self.said(live), [])

    def test_what_nobody_took_in_its_time_is_over(self) -> None:
        self.command()
        self.clock.advance(600)
        live = self.live()
        self.look()
        self.assertIs(self.state(), CommandState.EXPIRED)
        self.assertEqual(self.said(live), [])
        [event] = self.events()
        self.assertEqual((event.kind, event.subject), ("command.expired", "c1"))


class SpokesmanTests(StreamCase):
    def setUp(self) -> None:
        super().setUp()
        self.section = LeaseSection()
        self.spokesman = Spokesman(self.database, self.hub, lambda site, session: self.section)

    def look(self, *names: str) -> None:
        self.done(self.spokesman.look(frozenset(names) if names else None))

    def test_a_new_stream_is_told_everything(self) -> None:
        live = self.live()
        self.look("n1")
        self.assertEqual(self.said(live), [Desired(NodeSpec(1, SiteSpec()))])
        self.look()
        self.assertEqual(self.said(live), [])

    def test_what_changes_is_told_with_a_greater_version(self) -> None:
        image = Image("i1", "a" * 64, "https://images.example/i1", sites=(SITE,))
        live = self.live()
        self.look()
        self.section = LeaseSection(True, 1, 15_000)
        self.look(SITE)
        self.run_(partial(images.create, image=image, now=NOW))
        self.look(SITE)
        cached = (CacheImage("a" * 64, "https://images.example/i1"),)
        self.assertEqual(
            self.said(live),
            [
                Desired(NodeSpec(1, SiteSpec())),
                Desired(NodeSpec(2, SiteSpec(self.section))),
                Desired(NodeSpec(3, SiteSpec(self.section, cached))),
            ],
        )
        live = self.live("s2")
        self.look("n1")
        self.assertEqual(self.said(live), [Desired(NodeSpec(4, SiteSpec(self.section, cached)))])

    def test_others_than_site_agents_are_to_have_nothing(self) -> None:
        self.node("n2", Role.RAMDISK)
        live = self.live("s2", "n2", Role.RAMDISK)
        self.look()
        self.assertEqual(self.said(live), [Desired(NodeSpec(1, None))])

    def test_whom_it_does_not_concern_is_not_asked_about(self) -> None:
        live = self.live()
        self.look("office", "n7")
        self.assertEqual(self.said(live), [])

    def test_what_no_frame_can_hold_is_not_tried_again_and_again(self) -> None:
        long = "https://images.example/" + "x" * 2000
        for number in range(140):
            image = Image(f"i{number}", f"{number:064x}", long, sites=(SITE,))
            self.run_(partial(images.create, image=image, now=NOW))
        live = self.live()
        self.look()
        self.look()
        self.assertEqual(self.said(live), [])
        self.assertEqual(self.run_(partial(nodes.get, node="n1")).desired_version, 1)
