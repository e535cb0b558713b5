"""Tests for ``rescriptum.roles.bmc``: the way to a BMC that a command takes."""

import json
import os
from pathlib import Path
from typing import cast

from attrs import frozen
from hyperlink import DecodedURL
from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.logger import capturedLogs
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.agent.character import Character
from rescriptum.agent.config import AgentConfig, SiteConfig
from rescriptum.agent.kinds import Context, KindTable
from rescriptum.bmc.driver import Asked
from rescriptum.bmc.kinds import NAMES
from rescriptum.contract.bmc import OPERATIONS, BmcRefusal, Nothing
from rescriptum.contract.commands import Command
from rescriptum.contract.joining import Role
from rescriptum.contract.structure import JSON
from rescriptum.net.processes import Reactor
from rescriptum.roles.bmc import GRACE, BmcService, Timed
from rescriptum.testing import MemoryWorkers

DIGEST = "ab" * 32


class Silent:
    """Satisfies :class:`rescriptum.agent.kinds.Surroundings`, as far as it is asked."""

    def progressed(self, command_id: str, data: JSON) -> None:
        """Nobody is told."""


@frozen
class Hanging:
    """A driver that never ends. :ivar over: whether it was ended."""

    over: list[bool]

    async def run(self, asked: Asked) -> dict[str, object]:
        try:
            await Deferred[None]()
        finally:
            self.over.append(True)
        return {}


class WaysTests(SynchronousTestCase):
    def setUp(self) -> None:
        here = Path(os.path.abspath(self.mktemp()))
        drivers, data = here / "drivers", here / "data"
        for each in (here, drivers, data):
            each.mkdir(mode=0o755)
        manifest = {"id": "acme", "version": "1", "concerns": ["firmware"], "protocol": 1}
        for path, text, mode in (
            (drivers / "acme", "#!/bin/false\n", 0o755),
            (drivers / "acme.json", json.dumps(manifest), 0o644),
            (drivers / "bad.json", "{}", 0o644),
        ):
            path.write_text(text)
            path.chmod(mode)
        self.program = drivers / "acme"
        agent = AgentConfig(DecodedURL.from_text("https://gw"), "gw", "lab", data)
        self.service = BmcService(
            SiteConfig(agent, drivers_dir=drivers),
            cast(Reactor, reactor),
            MemoryWorkers(),
            lambda: None,
        )
        with capturedLogs() as self.events:
            self.service.startService()
        self.own = self.service.character(Character(Role.SITE, (), lambda lease: ()))

    def run_(self, operation: str, args: JSON, **more: object) -> str:
        """:returns: the outcome's code and detail, of what is over at once."""
        kind = OPERATIONS[operation].kind
        payload: JSON = {"operation": operation, "address": "slot 3", "args": args, **more}
        command = Command("c1", "n1", kind, payload, "w1", "s1", 0, 60)
        table = KindTable(Role.SITE, self.own.kinds)
        context = Context(command, Silent())  # type: ignore[arg-type]
        results: list[object] = []
        running = table.find(kind).run(context, table.payload(command))
        Deferred.fromCoroutine(running).addBoth(results.append)
        [outcome] = results
        assert isinstance(outcome, dict), outcome
        return f"{outcome['code']}: {outcome['detail']}"

    def test_what_an_agent_has(self) -> None:
        """All six kinds, and the manifests of drivers that can be run; others are told of."""
        self.assertEqual([each.name for each in self.own.kinds], list(NAMES))
        self.assertEqual([each["id"] for each in self.own.drivers()], ["acme"])
        self.assertIn("bad.json: missing: id", str([each.get("problem") for each in self.events]))

    def test_drivers_that_are_not_there(self) -> None:
        """Not hosted, or hosted and for something else."""
        on: JSON = {"action": "on"}
        told = self.run_("power.setPower", on, driver="other")
        self.assertEqual(told, "unsupported-driver: other is not hosted here")
        told = self.run_("power.setPower", on, driver="acme")
        self.assertEqual(told, "unsupported-driver: acme does not do power")

    def test_redfish_that_cannot_be(self) -> None:
        """Options, a pin that is none, an address that is none: nothing is asked."""
        for more in (
            {"options": {"x": 1}, "address": "bmc"},
            {"pin": "sha256/x", "address": "bmc"},
            {"address": "user@bmc"},
            {"address": "bmc/redfish"},
            {"driver": "redfish"},
        ):
            self.assertIn("invalid-config", self.run_("power.getPower", {}, **more), more)

    def test_firmware_without_a_cache(self) -> None:
        """It cannot be verified."""
        args: JSON = {"sha256": DIGEST, "url": "https://vendor/x"}
        told = self.run_("firmware.update", args, driver="acme")
        self.assertEqual(told, "image-unverified: this site agent has no [boot] url")

    def test_a_program_that_others_may_write_by_now(self) -> None:
        """Is not run."""
        self.program.chmod(0o777)
        told = self.run_("firmware.list", {}, driver="acme")
        self.assertTrue(told.startswith("unsupported-driver: acme: the program can be"), told)


class TimedTests(SynchronousTestCase):
    def test_a_driver_that_hangs(self) -> None:
        """Costs its operation a bounded time, and is ended."""
        clock, over, learnt = Clock(), list[bool](), list[bool]()
        timed = Timed(clock, Hanging(over), lambda: learnt.append(True))
        results: list[object] = []
        asked = Asked(OPERATIONS["power.getPower"], Nothing(), seconds=60)
        Deferred.fromCoroutine(timed.run(asked)).addBoth(results.append)
        clock.advance(60 + GRACE - 1)
        self.assertEqual(results, [])
        clock.advance(1)
        [failure] = results
        assert isinstance(failure, Failure)
        assert isinstance(failure.value, BmcRefusal)
        self.assertEqual(failure.value.code, "timeout")
        self.assertEqual((over, learnt), ([True], [True]))
        self.assertEqual(clock.getDelayedCalls(), [])
