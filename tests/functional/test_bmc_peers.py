"""Our drivers against BMCs that others wrote: sushy-tools' emulator, and OpenIPMI's simulator."""

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, cast

from hyperlink import DecodedURL
from twisted.internet import reactor as global_reactor
from twisted.internet.interfaces import IReactorTime
from twisted.internet.tcp import Port
from twisted.trial.unittest import TestCase
from twisted.web.resource import Resource
from twisted.web.server import Site
from twisted.web.static import Data

from rescriptum.bmc.driver import Asked, Credential, Driver
from rescriptum.bmc.ipmi.client import IpmiTool
from rescriptum.bmc.ipmi.driver import IpmiDriver
from rescriptum.bmc.redfish.driver import RedfishDriver
from rescriptum.bmc.trust import Trust
from rescriptum.contract.bmc import (
    OPERATIONS,
    BmcRefusal,
    BootTarget,
    InsertMedia,
    Nothing,
    PowerAction,
    SetOverride,
    SetPower,
)
from rescriptum.fakebmc.protocol import SelfSigned
from rescriptum.fakebmc.switches import Switches
from rescriptum.net.processes import Reactor
from rescriptum.values import Secret

from ..bmccases import ROTATING
from ..bmcpeers import MAC, PASSWORD, USER, UUID, Emulator, Simulator
from ..processes import free_port

CREDENTIAL: Final = Credential(USER, Secret(PASSWORD))
NEW: Final = Credential(USER, Secret("Peer2Secret"))


class Cases(TestCase):
    """A directory of its own for each peer, and the code and the data of each operation."""

    driver: Driver

    def directory(self) -> Path:
        here = Path(self.mktemp()).absolute()
        here.mkdir(parents=True)
        return here

    async def done(self, name: str, args: object = Nothing()) -> dict[str, object]:
        """:returns: the data of what was done."""
        asked = Asked(OPERATIONS[name], args, CREDENTIAL, seconds=60)
        return await self.driver.run(asked)

    async def refused(
        self,
        name: str,
        args: object = Nothing(),
        credential: Credential = CREDENTIAL,
        driver: Driver | None = None,
    ) -> str:
        """:returns: the code; no text has a password."""
        asked = Asked(OPERATIONS[name], args, credential, NEW, seconds=60)
        with self.assertRaises(BmcRefusal) as raised:
            await (driver or self.driver).run(asked)
        for secret in (PASSWORD, NEW.password.reveal()):
            self.assertNotIn(secret, str(raised.exception))
        return str(raised.exception.code)


class EmulatorTests(Cases):
    """Redfish over TLS, with basic authentication: it knows no sessions and no accounts."""

    def setUp(self) -> None:
        self.peer = Emulator(self.directory())
        self.addCleanup(self.peer.stop)
        self.driver = self.by(Trust.by_pin(self.peer.pin))

    def by(self, trust: Trust) -> RedfishDriver:
        url = DecodedURL.from_text(self.peer.url)
        return RedfishDriver(IReactorTime(global_reactor), url, trust)

    def image(self) -> str:
        """:returns: the URL of something that the emulator can fetch."""
        root = Resource()
        root.putChild(b"tiny.iso", Data(b"an image", "application/octet-stream"))
        port = Port(0, Site(root), interface="127.0.0.1", reactor=global_reactor)
        port.startListening()
        self.addCleanup(port.stopListening)
        return f"http://127.0.0.1:{port.getHost().port}/tiny.iso"

    async def test_power(self) -> None:
        """Its machines take a second; a PowerCycle it lists and does not know, or does not list."""
        self.assertEqual(await self.done("power.getPower"), {"power": "off"})
        on, off = SetPower(PowerAction.ON), SetPower(PowerAction.OFF)
        self.assertEqual((await self.done("power.setPower", on))["power"], "on")
        self.assertEqual((await self.done("power.setPower", on))["done"], [])
        await self.done("power.setPower", SetPower(PowerAction.RESET))
        self.assertEqual((await self.done("power.setPower", on))["power"], "on")
        cycled = await self.done("power.setPower", SetPower(PowerAction.CYCLE))
        self.assertEqual((cycled["done"], cycled["degraded"]), (["ForceOff", "On"], True))
        soft = await self.done("power.setPower", SetPower(PowerAction.SOFT_OFF))
        self.assertEqual(soft["power"], "off")
        self.assertEqual((await self.done("power.setPower", off))["done"], [])
        self.assertEqual(
            await self.refused("power.setPower", SetPower(PowerAction.NMI)), "unsupported-operation"
        )

    async def test_boot_override(self) -> None:
        """It reports Continuous, whatever it is told; the outcome says what it reports."""
        for target in (BootTarget.PXE, BootTarget.HDD, BootTarget.CD):
            read = await self.done("boot.setOverride", SetOverride(target, uefi=True))
            self.assertEqual((read["target"], read["once"]), (target.value, False))
            self.assertEqual(await self.done("boot.getOverride"), read)
        bios = await self.done("boot.setOverride", SetOverride(BootTarget.PXE, uefi=False))
        self.assertIs(bios["uefi"], False)

    async def test_media(self) -> None:
        """The emulator fetches the image itself; what it cannot fetch is a failure."""
        url = self.image()
        self.assertIs((await self.done("media.insert", InsertMedia(url)))["inserted"], True)
        self.assertIs((await self.done("media.eject"))["inserted"], False)
        nowhere = InsertMedia(f"http://127.0.0.1:{free_port()}/none.iso")
        self.assertEqual(await self.refused("media.insert", nowhere), "failed")

    async def test_inventory(self) -> None:
        """What a machine that is none can have."""
        found = await self.done("inventory.get")
        self.assertEqual(found["uuid"], UUID)
        self.assertIn(MAC, str(found["nics"]).lower())
        self.assertEqual(await self.done("firmware.list"), {"firmware": []})

    async def test_what_it_does_not_have(self) -> None:
        """A log, accounts, and a BMC that could be reset."""
        for name in ("management.getSelLog", "management.reset"):
            self.assertEqual(await self.refused(name), "unsupported-operation")
        rotating = await self.refused("management.rotateCredential", ROTATING)
        self.assertEqual(rotating, "unsupported-operation")

    async def test_who_is_let_in(self) -> None:
        """By key and by password."""
        self.assertEqual(await self.refused("power.getPower", credential=NEW), "auth-failed")
        other = self.by(Trust.by_pin(SelfSigned(Switches(), datetime.now(UTC)).pin))
        self.assertEqual(await self.refused("power.getPower", driver=other), "pin-mismatch")


class SimulatorTests(Cases):
    """IPMI 2.0 over lanplus, by ipmitool."""

    def setUp(self) -> None:
        self.peer = Simulator(self.directory())
        self.addCleanup(self.peer.stop)
        tool = IpmiTool(cast(Reactor, global_reactor), os.environ.get("PATH", os.defpath))
        self.driver = IpmiDriver(self.peer.address, tool)

    async def test_power(self) -> None:
        """The machine is told."""
        self.assertEqual(await self.done("power.getPower"), {"power": "off"})
        for action, power in (
            (PowerAction.ON, "1"),
            (PowerAction.RESET, "1"),
            (PowerAction.OFF, "0"),
        ):
            await self.done("power.setPower", SetPower(action))
            self.assertEqual(self.peer.told("power"), power)
        self.assertEqual(await self.done("power.getPower"), {"power": "off"})

    async def test_boot_override(self) -> None:
        """The machine is told this too."""
        for target, told in ((BootTarget.PXE, "pxe"), (BootTarget.HDD, "default")):
            await self.done("boot.setOverride", SetOverride(target))
            self.assertEqual(self.peer.told("boot"), told)

    async def test_what_it_is_and_was(self) -> None:
        """Its own versions, and the one line of its log."""
        self.assertEqual((await self.done("inventory.get"))["ipmi_version"], "2.0")
        entries = (await self.done("management.getSelLog"))["entries"]
        self.assertIn("Temperature", str(entries))
        await self.done("management.reset")

    async def test_a_new_password(self) -> None:
        """Holds at once, and the old one no more."""
        asked = Asked(
            OPERATIONS["management.rotateCredential"], ROTATING, CREDENTIAL, NEW, seconds=60
        )
        self.assertEqual(await self.driver.run(asked), {"verified": True})
        self.assertEqual(await self.refused("power.getPower"), "auth-failed")
        status = Asked(OPERATIONS["power.getPower"], Nothing(), NEW, seconds=60)
        self.assertEqual(await self.driver.run(status), {"power": "off"})

    async def test_what_ipmi_does_not_have(self) -> None:
        """Virtual media and firmware."""
        for name in ("media.eject", "firmware.list"):
            self.assertEqual(await self.refused(name), "unsupported-operation")
