"""Tests for what a machine's neighbours say, and for its inventory as a whole."""

import json
import socket
from collections.abc import Sequence
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IReactorFDSet, IReadDescriptor, IWriteDescriptor
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase
from zope.interface import implementer

from rescriptum.contract.structure import JSON, rendered
from rescriptum.errors import Malformed, RescriptumError
from rescriptum.ramdisk.disks import BlockDevice
from rescriptum.ramdisk.hardware.client import FRAMES, Listening
from rescriptum.ramdisk.hardware.inventory import FITS, MOST, Nic, inventory, permanent
from rescriptum.ramdisk.hardware.lldp import GROUPS, LONGEST, TEXT, Neighbour, parsed
from rescriptum.ramdisk.hardware.lldp import MOST as MOST_ELEMENTS
from rescriptum.ramdisk.hardware.store import KernelFiles
from rescriptum.ramdisk.hardware.survey import Survey
from rescriptum.ramdisk.tools import Ran, ToolTrouble
from tests.ramdiskcases import MemoryTools
from tests.webclient import InlineWorkers


def element(kind: int, value: bytes) -> bytes:
    return (kind << 9 | len(value)).to_bytes(2, "big") + value


HEAD = GROUPS[0] + bytes.fromhex("0c1122334455") + b"\x88\xcc"
CHASSIS = element(1, b"\x04" + bytes.fromhex("0c1122334455"))
PORT = element(2, b"\x05Ethernet1/7")
TTL = element(3, b"\0\x78")
END = element(0, b"")
FRAME = (
    HEAD
    + CHASSIS
    + PORT
    + TTL
    + element(4, b"to rack 4")
    + element(5, b"leaf-3\0")
    + element(6, b"NX-OS\n9.3")
    + element(7, b"\0\x14\0\x14")
    + element(8, b"\x05\x01\x0a\0\0\x09\x02\0\0\0\x01\0")
    + element(127, b"\x00\x80\xc2\x01\x00\x65")
    + element(127, b"\x00\x12\x0f\x01\x03")
    + END
)


class LLDPTests(SynchronousTestCase):
    def test_all_of_it(self) -> None:
        self.assertEqual(
            parsed(FRAME + bytes(40)),
            Neighbour(
                "0c:11:22:33:44:55",
                "Ethernet1/7",
                "to rack 4",
                "leaf-3",
                "NX-OS 9.3",
                101,
                "10.0.0.9",
            ),
        )

    def test_identities(self) -> None:
        """A MAC, an address, a name; what is none of them is shown as it is."""
        for kind, value, shown in (
            (2, b"\x03\x0c\x11\x22\x33\x44\x55", "0c:11:22:33:44:55"),
            (2, b"\x04\x01\x0a\0\0\x01", "10.0.0.1"),
            (2, b"\x07eth0", "eth0"),
            (2, b"\x04\x06\x0a\0", "060a00"),
            (2, b"\x03short", "short"),
        ):
            self.assertEqual(parsed(HEAD + CHASSIS + element(kind, value) + TTL + END).port, shown)
        six = element(1, b"\x05\x02" + bytes(15) + b"\x01")
        self.assertEqual(parsed(HEAD + six + PORT + TTL + END).chassis, "::1")

    def test_what_is_none(self) -> None:
        """Also one without an end, one that ends early, and one that says goodbye."""
        for frame in (
            b"",
            HEAD,
            b"\xff" * 6 + FRAME[6:],
            FRAME[:12] + b"\x08\x00" + FRAME[14:],
            HEAD + CHASSIS + PORT + TTL,
            HEAD + CHASSIS + PORT + TTL + b"\x0c\xffabc",
            HEAD + CHASSIS + PORT + element(3, b"\0\0") + END,
            HEAD + CHASSIS + PORT + element(3, b"\x01") + END,
            HEAD + PORT + CHASSIS + TTL + END,
            HEAD + CHASSIS + TTL + END,
            HEAD + element(1, b"\x04") + PORT + TTL + END,
            FRAME + bytes(LONGEST),
        ):
            self.assertRaises(Malformed, parsed, frame)

    def test_bounds(self) -> None:
        """Elements are counted, and texts are cut."""
        begun = HEAD + CHASSIS + PORT + TTL
        parsed(begun + element(9, b"") * (MOST_ELEMENTS - 4) + END)
        self.assertRaises(Malformed, parsed, begun + element(9, b"") * (MOST_ELEMENTS - 3) + END)
        self.assertEqual(parsed(begun + element(5, b"x" * 500) + END).system, "x" * TEXT)

    @given(st.binary())
    def test_whatever_comes(self, data: bytes) -> None:
        for frame in (data, HEAD + data, HEAD + CHASSIS + PORT + TTL + data + END):
            try:
                made = parsed(frame)
            except Malformed:
                continue
            self.assertTrue(all(str(each).isprintable() for each in made.document.values()))


@implementer(IReactorFDSet)
class MemoryReaders:
    """Who wants to read."""

    def __init__(self) -> None:
        self.readers: list[IReadDescriptor] = []

    def addReader(self, reader: IReadDescriptor) -> None:
        self.readers.append(reader)

    def removeReader(self, reader: IReadDescriptor) -> None:
        self.readers.remove(reader)

    def addWriter(self, writer: IWriteDescriptor) -> None:
        raise NotImplementedError

    def removeWriter(self, writer: IWriteDescriptor) -> None:
        raise NotImplementedError

    def removeAll(self) -> list[IReadDescriptor | IWriteDescriptor]:
        raise NotImplementedError

    def getReaders(self) -> list[IReadDescriptor]:
        return self.readers

    def getWriters(self) -> list[IWriteDescriptor]:
        return []


class ListeningTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.readers, self.clock = MemoryReaders(), Clock()
        self.wires: dict[str, socket.socket] = {}

    def open(self, interface: str) -> socket.socket:
        if interface == "gone":
            raise OSError(19, "No such device")
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        ours.setblocking(False)
        self.addCleanup(theirs.close)
        self.wires[interface] = theirs
        return ours

    def listen(self, *interfaces: str) -> Deferred[tuple[dict[str, Neighbour], list[str]]]:
        listening = Listening(self.readers, self.clock, self.open)
        return Deferred.fromCoroutine(listening.heard(interfaces, 35))

    def turn(self) -> None:
        for each in list(self.readers.readers):
            each.doRead()

    def test_until_everybody_has_spoken(self) -> None:
        """Whatever else comes meanwhile."""
        done = self.listen("a", "b")
        self.wires["a"].send(b"no such thing")
        self.wires["a"].send(FRAME)
        self.turn()
        self.turn()
        self.assertNoResult(done)
        self.wires["b"].send(FRAME)
        self.turn()
        found, warnings = self.successResultOf(done)
        self.assertEqual((sorted(found), warnings), (["a", "b"], []))
        self.assert_nothing_left()

    def assert_nothing_left(self) -> None:
        self.assertEqual(self.readers.readers, [])
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_silence(self) -> None:
        """Not for ever."""
        done = self.listen("a")
        self.clock.advance(35)
        self.assertEqual(self.successResultOf(done), ({}, []))
        self.assert_nothing_left()

    def test_nonsense_without_end(self) -> None:
        done = self.listen("a")
        for _ in range(FRAMES - 1):
            self.wires["a"].send(b"x")
            self.turn()
        self.assertNoResult(done)
        self.wires["a"].send(b"x")
        self.turn()
        self.assertEqual(self.successResultOf(done), ({}, []))
        self.assert_nothing_left()

    def test_one_that_cannot_be_listened_to(self) -> None:
        self.assertEqual(
            self.successResultOf(self.listen("gone")),
            ({}, ["gone: no neighbours: No such device"]),
        )
        self.assertEqual(self.successResultOf(self.listen()), ({}, []))
        self.assert_nothing_left()

    def test_cancelled(self) -> None:
        done = self.listen("a")
        done.cancel()
        self.failureResultOf(done, CancelledError)
        self.assert_nothing_left()


class InventoryTests(SynchronousTestCase):
    def test_permanent_addresses(self) -> None:
        """A machine is known by those, too."""
        nics = [Nic("eth0", "02:00:00:00:00:01"), Nic("eth1", "02:00:00:00:00:02")]
        said = [{"ifname": "eth0", "permaddr": "52:54:00:12:34:56"}, {"ifname": "eth1"}]
        one, other = permanent(json.dumps(said).encode(), nics)
        self.assertEqual(one.macs, ("02:00:00:00:00:01", "52:54:00:12:34:56"))
        self.assertEqual(one.document["permanent_mac"], "52:54:00:12:34:56")
        self.assertEqual(other, nics[1])
        self.assertEqual(other.document["permanent_mac"], "02:00:00:00:00:02")

    @given(st.one_of(st.binary(), st.just(b"[1]"), st.just(b'[{"ifname": [], "permaddr": 3}]')))
    def test_whatever_ip_says(self, output: bytes) -> None:
        nics = (Nic("eth0", ""),)
        self.assertEqual(permanent(output, nics), nics)

    def test_too_much_of_everything(self) -> None:
        """It fits where it has to; what is not all there is named. MACs stay: they decide."""
        nic = Nic("e" * 15, "52:54:00:12:34:56", "d" * 99, "s" * 99, neighbour=parsed(FRAME))
        devices = [
            BlockDevice(f"sd{each}", "/", "disk", 1, serial=f"{each:0128}", model="m" * 128)
            for each in range(MOST)
        ]
        gpus: list[JSON] = [{"slot": "s" * 128, "id": "i" * 128}] * MOST
        warnings = ["\u00e9" * 128] * MOST
        made = inventory({}, b"", b"", [nic] * MOST, devices, gpus, b"", warnings)
        self.assertLessEqual(len(rendered(made)), FITS)
        self.assertEqual(made["macs"], ["52:54:00:12:34:56"] * MOST)
        self.assertIn("nics", str(made["cut"]))
        little = inventory({}, b"", b"", [nic], devices[:1], [], b"", [])
        self.assertNotIn("cut", little)


class SurveyTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.root = Path(self.mktemp())
        for name, carrier in (("eth0", b"1\n"), ("eth1", b"0\n")):
            here = self.root / "sys/class/net" / name
            (here / "device").mkdir(parents=True)
            (here / "carrier").write_bytes(carrier)
            (here / "address").write_bytes(b"52:54:00:12:34:56\n")
        self.tools = MemoryTools()
        self.asked: list[tuple[list[str], float]] = []

    async def devices(self) -> Sequence[BlockDevice]:
        raise RescriptumError("lsblk: no such thing")

    async def heard(
        self, interfaces: Sequence[str], seconds: float
    ) -> tuple[dict[str, Neighbour], list[str]]:
        self.asked.append((list(interfaces), seconds))
        return {"eth0": parsed(FRAME)}, ["eth9: no neighbours"]

    def taken(self, listening: float = 0.0) -> JSON:
        survey = Survey(
            KernelFiles(self.root), self.devices, self.tools, InlineWorkers(), self.heard
        )
        return self.successResultOf(Deferred.fromCoroutine(survey.taken(listening)))

    def test_what_does_not_tell(self) -> None:
        """It is a warning each; the rest is there."""

        def missing() -> Ran:
            raise ToolTrouble("there is no ip here")

        self.tools.answers["ip",] = missing
        self.tools.answers["ipmitool",] = Ran(("ipmitool",), 1, stderr="Invalid channel\n")
        (self.root / "dev").mkdir()
        (self.root / "dev/ipmi0").touch()
        made = self.taken()
        self.assertEqual(
            made["warnings"],
            ["lsblk: no such thing", "ipmitool: Invalid channel", "there is no ip here"],
        )
        self.assertEqual(made["macs"], ["52:54:00:12:34:56"] * 2)

    def test_neighbours(self) -> None:
        """Where there is a link, and only when somebody wants to wait for them."""
        self.taken()
        self.assertEqual(self.asked, [])
        made = self.taken(35.0)
        self.assertEqual(self.asked, [(["eth0"], 35.0)])
        nics = made["nics"]
        assert isinstance(nics, list)
        self.assertEqual(nics[0]["neighbour"]["system"], "leaf-3")
        self.assertIsNone(nics[1]["neighbour"])
        self.assertIn("eth9: no neighbours", str(made["warnings"]))
