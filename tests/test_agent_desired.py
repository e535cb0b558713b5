"""Tests for ``rescriptum.agent.desired``: sections converge, each on its own."""

from collections.abc import Coroutine
from typing import Any

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.agent.desired import DesiredState, SiteSection
from rescriptum.boot.lease import LeaseStatus
from rescriptum.contract.reports import SectionStatus, State
from rescriptum.contract.specs import NodeSpec
from rescriptum.errors import Unavailable


class Converger:
    """:ivar versions: that it was called with. :ivar waits: what the next calls wait for."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.versions: list[int] = []
        self.waits: list[Deferred[None]] = []
        self.error: Exception | None = None

    async def converge(self, desired: NodeSpec) -> SectionStatus:
        self.versions.append(desired.version)
        if self.waits:
            await self.waits.pop(0)
        if self.error is not None:
            raise self.error
        return SectionStatus(self.name, State.READY, f"version {desired.version}")


class DesiredStateTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.first, self.second = Converger("first"), Converger("second")
        self.told: list[SectionStatus] = []
        self.desired = DesiredState([self.first, self.second], self.spawn, self.told.append)

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        Deferred.fromCoroutine(work)

    def test_each_change(self) -> None:
        """Every section is told of every version, and says how far it is."""
        self.assertIsNone(self.desired.version)
        self.desired.look()
        self.assertEqual(self.told, [])
        self.desired.desire(NodeSpec(1))
        self.desired.desire(NodeSpec(2))
        self.assertEqual(self.first.versions, [1, 2])
        self.assertEqual(self.desired.version, 2)
        self.assertEqual(
            [(each.name, each.reason) for each in self.told[2:]],
            [("first", "version 2"), ("second", "version 2")],
        )

    def test_looks_again(self) -> None:
        """Also when nothing is desired anew."""
        self.desired.desire(NodeSpec(1))
        self.desired.look()
        self.assertEqual(self.first.versions, [1, 1])

    def test_one_at_a_time(self) -> None:
        """What changes while a section is at it is for its next turn, the newest alone."""
        wait: Deferred[None] = Deferred()
        self.first.waits.append(wait)
        for version in (1, 2, 3):
            self.desired.desire(NodeSpec(version))
        self.assertEqual(self.first.versions, [1])
        self.assertEqual(self.second.versions, [1, 2, 3])
        wait.callback(None)
        self.assertEqual(self.first.versions, [1, 3])
        self.assertEqual(self.told[-1].reason, "version 3")

    def test_one_fails(self) -> None:
        """The other one goes on; the failure is a status, and is tried again."""
        self.first.error = Unavailable("the disk is full")
        self.desired.desire(NodeSpec(1))
        self.assertEqual(
            self.told[0],
            SectionStatus("first", State.FAILED, "the disk is full", {"code": "unavailable"}),
        )
        self.assertEqual(self.told[1].state, State.READY)
        self.first.error = None
        self.desired.look()
        self.assertEqual(self.told[2].state, State.READY)

    def test_one_is_broken(self) -> None:
        """Our own fault is logged, and stays with its section."""
        self.first.error = KeyError("x")
        self.desired.desire(NodeSpec(1))
        self.assertEqual(len(self.flushLoggedErrors(KeyError)), 1)
        self.assertEqual(self.told[0].reason, "KeyError")
        self.assertEqual(self.told[1].state, State.READY)

    def test_a_long_reason(self) -> None:
        """It fits into a report."""
        self.first.error = Unavailable("x" * 5000)
        self.desired.desire(NodeSpec(1))
        self.assertEqual(len(self.told[0].reason), 2048)


class SiteSectionTests(SynchronousTestCase):
    def test_the_lease(self) -> None:
        """Active, standby, or not proved: with its epoch, and the age of the proof."""
        for lease, reason in (
            (LeaseStatus(False, 0, None), "standby"),
            (LeaseStatus(False, 3, None), "not proved"),
            (LeaseStatus(False, 3, 20_000), "not proved"),
            (LeaseStatus(True, 3, 200), ""),
        ):
            section = SiteSection(lambda lease=lease: lease)  # type: ignore[misc]
            status = self.successResultOf(Deferred.fromCoroutine(section.converge(NodeSpec(1))))
            self.assertEqual((status.name, status.reason), ("site", reason))
            self.assertEqual(
                status.detail,
                {
                    "lease": {
                        "active": lease.active,
                        "epoch": lease.epoch,
                        "heard_ms_ago": lease.heard_ms_ago,
                    },
                    "boot": "off",
                },
            )
