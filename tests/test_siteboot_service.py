"""Tests for ``rescriptum.siteboot.service`` and ``section``: listeners that come and go."""

from collections.abc import Callable
from pathlib import Path

from attrs import define, field
from twisted.application.service import IService, Service
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.logger import capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.boot.lease import LeaseStatus
from rescriptum.contract.reports import Discovered, SectionStatus, State
from rescriptum.contract.specs import CacheImage, NodeSpec, SiteSpec
from rescriptum.contract.structure import JSON
from rescriptum.errors import ConfigError, NotFound, RescriptumError, Unavailable
from rescriptum.siteboot.section import BootSection, PartState, PartStatus
from rescriptum.siteboot.service import LOOK, BootServer, Part
from rescriptum.siteboot.watched import FINDINGS, MACHINES, Foreign, Learnt, shown
from rescriptum.values import Problem
from tests.sitebootcases import DIGEST, MACHINE, NOW, OTHER, Server, entry

LISTENING = PartStatus(PartState.LISTENING)
TAKEN = OSError(98, "Address already in use")


class Listener(Service):
    """:ivar error: of its start. :ivar stopping: fires when its transfers have ended."""

    def __init__(self, error: Exception | None) -> None:
        self.error = error
        self.stopping: Deferred[None] | None = None

    def privilegedStartService(self) -> None:
        if self.error is not None:
            raise self.error

    def stopService(self) -> Deferred[None] | None:
        super().stopService()
        return self.stopping


@define
class Made:
    """A part's listeners. :ivar missing: what its check says."""

    errors: list[Exception | None] = field(factory=list)
    missing: RescriptumError | None = None
    made: list[Listener] = field(factory=list)

    def make(self) -> IService:
        self.made.append(Listener(self.errors.pop(0) if self.errors else None))
        return self.made[-1]

    async def check(self) -> None:
        if self.missing is not None:
            raise self.missing


class ServerTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.clock = Clock()
        self.http, self.tftp = Made(), Made()
        self.told: list[bool] = []
        self.reports: list[float] = []
        self.opened = 0
        parts = [
            Part("http", self.http.make, self.http.check, essential=True),
            Part("tftp", self.tftp.make),
        ]
        self.server = BootServer(
            self.clock,
            parts,
            self._open,
            self.told.append,
            lambda: 10.0 - self.clock.seconds() if self.clock.seconds() < 10 else 0.0,
            lambda: self.reports.append(self.clock.seconds()),
        )

    def _open(self) -> None:
        self.opened += 1
        self.assertEqual((self.http.made, self.tftp.made), ([], []))

    def start(self) -> None:
        self.server.privilegedStartService()
        self.server.startService()

    def states(self) -> list[str]:
        return [each.state.value for each in self.server.status.values()]

    def test_all_is_well(self) -> None:
        """Files first; then it listens; nothing is made anew; nothing is left."""
        self.start()
        self.assertEqual((self.opened, self.told, self.states()), (1, [True], ["listening"] * 2))
        self.clock.pump([LOOK] * 3)
        self.assertEqual((len(self.http.made), self.told), (1, [True]))
        self.successResultOf(self.server.stopService())
        self.assertFalse(self.http.made[0].running or self.tftp.made[0].running)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_a_part_fails(self) -> None:
        """It is said once, and tried every thirty seconds; the others go on."""
        self.tftp.errors = [TAKEN, TAKEN, None]
        with capturedLogs() as events:
            self.start()
            self.clock.advance(LOOK)
        said = [each for each in events if "boot server stopped" in each["log_format"]]
        self.assertEqual([(e["part"], e["reason"]) for e in said], [("tftp", TAKEN.strerror)])
        self.assertEqual(self.states(), ["listening", "failed"])
        self.assertTrue(self.server.serves)
        self.clock.advance(LOOK)
        self.assertEqual(self.states(), ["listening"] * 2)
        self.assertEqual(self.told, [True, True])

    def test_http_fails(self) -> None:
        """Then no machine can be served; once it can, that is told."""
        self.http.errors = [ConfigError([Problem("boot", "cannot listen")]), None]
        self.start()
        self.assertEqual(self.told, [False])
        self.clock.advance(LOOK)
        self.assertEqual(self.told, [False, True])

    def test_a_file_is_gone(self) -> None:
        """It is told before the listener goes; when the file is back, a new one listens."""
        self.start()
        self.http.missing = NotFound("[boot] kernel: gone")
        self.http.made[0].stopping = Deferred()
        self.clock.advance(LOOK)
        self.assertEqual(self.told[-1], False)
        self.assertEqual(self.states(), ["failed", "listening"])
        self.clock.advance(LOOK)
        self.http.made[0].stopping.callback(None)
        self.http.missing = None
        self.clock.advance(LOOK)
        self.assertEqual((len(self.http.made), self.told[-1]), (2, True))

    def test_stopped_while_it_looks(self) -> None:
        """It waits for that, and for what a listener still sends."""
        self.start()
        self.http.missing = NotFound("gone")
        self.http.made[0].stopping = Deferred()
        self.tftp.made[0].stopping = Deferred()
        self.clock.advance(LOOK)
        stopping = self.server.stopService()
        self.assertNoResult(stopping)
        self.http.made[0].stopping.callback(None)
        self.assertNoResult(stopping)
        self.tftp.made[0].stopping.callback(None)
        self.successResultOf(stopping)
        self.assertEqual(len(self.http.made), 1)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_discovered_machines(self) -> None:
        """Are reported together, as soon as they may be; not after the end."""
        self.start()
        for _ in range(300):
            self.server.found()
        self.clock.advance(9)
        self.assertEqual(self.reports, [])
        self.clock.advance(1)
        self.assertEqual(self.reports, [10.0])
        self.server.found()
        self.successResultOf(self.server.stopService())
        self.server.found()
        self.assertEqual(self.clock.getDelayedCalls(), [])


@define
class Reported:
    """Satisfies :class:`rescriptum.siteboot.section.Reporting`."""

    machines: list[tuple[Discovered, ...]] = field(factory=list)
    inventories: list[JSON] = field(factory=list)

    def found(self, machines: tuple[Discovered, ...]) -> None:
        self.machines.append(machines)

    def inventory(self, found: JSON) -> None:
        self.inventories.append(found)


@define
class Cache:
    """Satisfies :class:`rescriptum.siteboot.section.Cache`."""

    error: RescriptumError | None = None
    wanted: tuple[CacheImage, ...] = ()

    async def converge(self, images: object) -> tuple[State, str, JSON]:
        if self.error is not None:
            raise self.error
        self.wanted = tuple(images)  # type: ignore[arg-type]
        return State.CONVERGING, "", {"pulling": 1}

    def inventory(self) -> JSON:
        return {"images": []}


class SectionTests(SynchronousTestCase):
    def setUp(self) -> None:
        here = Path(self.mktemp())
        here.mkdir()
        self.server, self.cache, self.reported = Server(here), Cache(), Reported()
        self.parts = {"http": LISTENING}
        self.lease, self.clock = LeaseStatus(True, 7, 100), Clock()

    def section(
        self, cache: Cache | None = None, dhcp: Callable[[], JSON] | None = None
    ) -> BootSection:
        return BootSection(
            lambda: self.lease,
            lambda: self.parts,
            self.server.kept,
            cache,
            self.reported,
            lambda: NOW,
            self.clock.seconds,
            dhcp,
        )

    def status(self, section: BootSection, *images: CacheImage) -> SectionStatus:
        spec = NodeSpec(1, SiteSpec(cache_images=images))
        return self.successResultOf(Deferred.fromCoroutine(section.converge(spec)))

    def test_what_it_says(self) -> None:
        image = CacheImage(DIGEST, "http://192.0.2.9/i")
        status = self.status(self.section(self.cache), image)
        off, listening = ({"state": state, "reason": ""} for state in ("off", "listening"))
        self.assertEqual((status.name, status.state, status.reason), ("site", State.CONVERGING, ""))
        self.assertEqual(
            status.detail,
            {
                "lease": {"active": True, "epoch": 7, "heard_ms_ago": 100},
                "boot": {"http": listening, "tftp": off, "dhcp": off},
                "dhcp": None,
                "cache": {"pulling": 1},
                "discovered": 0,
            },
        )
        self.assertEqual(self.cache.wanted, (image,))
        self.assertEqual(self.reported.inventories, [{"images": []}])

    def test_what_proxy_dhcp_knows(self) -> None:
        """As it is when it is asked, and no more of it than a report can carry."""
        learnt = [Learnt(str(MACHINE), "efi64", "bounce")] * MACHINES
        foreign = [Foreign("192.0.2.9", "boot-file", "does", "remove it")] * FINDINGS
        detail = self.status(self.section(dhcp=lambda: shown(learnt, foreign))).detail["dhcp"]
        assert isinstance(detail, dict)
        machine = {"mac": str(MACHINE), "architecture": "efi64", "strategy": "bounce"}
        server = {"server": "192.0.2.9", "code": "boot-file", "reason": "does", "cure": "remove it"}
        self.assertEqual(detail["learnt"], [machine] * MACHINES)
        self.assertEqual(detail["foreign"], [server] * FINDINGS)
        last = Foreign("192.0.2.10", "another-proxy", "", "")
        learnt.append(Learnt(str(OTHER), "", "bounce"))
        detail = shown(learnt, [*foreign, last])
        for key, most in (("learnt", MACHINES), ("foreign", FINDINGS)):
            rows = detail[key]
            assert isinstance(rows, list)
            self.assertEqual((len(rows), detail[f"{key}_of"]), (most, most + 1))
        self.assertEqual(detail["foreign"][-1]["server"], "192.0.2.10")  # type: ignore[index]

    def test_what_is_wrong(self) -> None:
        """A listener, the cache, or the lease: each in words."""
        self.parts["tftp"] = PartStatus(PartState.FAILED, "in use")
        self.cache.error = Unavailable("the disk is gone")
        status = self.status(self.section(self.cache))
        self.assertEqual(status.state, State.FAILED)
        self.assertEqual(status.reason, "tftp: in use; cache: the disk is gone")
        self.assertEqual(status.detail["cache"], {"code": "unavailable"})
        del self.parts["tftp"]
        for epoch, reason in ((0, "standby"), (7, "not proved")):
            self.lease = LeaseStatus(False, epoch, None)
            status = self.status(self.section())
            self.assertEqual((status.state, status.reason), (State.READY, reason))
            self.assertIsNone(status.detail["cache"])

    def test_lapsed_entries(self) -> None:
        """They are gone."""
        self.server.kept.entries.put(entry(epoch=6))
        self.server.kept.entries.put(entry(mac=OTHER))
        self.status(self.section())
        self.assertEqual([each.mac for each in self.server.kept.entries], [OTHER])

    def test_discovered_machines(self) -> None:
        """Told for a new one's sake each thirty seconds at most; the others as often."""
        section = self.section()
        self.status(section)
        self.assertEqual(self.reported.machines, [])
        discovered = self.server.kept.discovered
        discovered.fetched(MACHINE, "", "x86_64-efi", "192.0.2.7", NOW - 2)
        self.status(section)
        machine = Discovered(str(MACHINE), "", "x86_64-efi", "192.0.2.7", 2000)
        self.assertEqual(self.reported.machines, [(machine,)])
        discovered.fetched(OTHER, "", "", "192.0.2.8", NOW)
        self.clock.advance(29)
        self.status(section)
        self.assertEqual(len(self.reported.machines), 1)
        self.clock.advance(1)
        self.status(section)
        self.assertEqual(len(self.reported.machines[-1]), 2)
        self.status(section)
        self.assertEqual(len(self.reported.machines), 2)
        discovered.drop(MACHINE)
        discovered.drop(OTHER)
        self.clock.advance(30)
        self.status(section)
        self.assertEqual(self.reported.machines[-1], ())
