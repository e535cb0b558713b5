"""Tests for ``image.write``: where the image comes from, and what is said of it."""

from collections.abc import Callable, Sequence
from pathlib import Path

from attrs import define, evolve
from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.contract.ramdisk import ImageFormat, ImageWrite, RootDisk
from rescriptum.contract.refusals import Rejected
from rescriptum.contract.structure import JSON
from rescriptum.errors import Refused, Unavailable
from rescriptum.interfaces import Sink
from rescriptum.ramdisk.disks import BlockDevice
from rescriptum.ramdisk.image.store import END, Disk, DiskTrouble
from rescriptum.ramdisk.image.writing import StageFailed
from rescriptum.ramdisk.imaging import Surroundings, WriteImage
from rescriptum.ramdisk.receiving import ATTEMPTS
from rescriptum.ramdisk.tools import Ran, ToolTrouble
from tests.ramdiskcases import MemoryRunning, MemoryTools, sha256
from tests.webclient import InlineWorkers

IMAGE = (b"\xfa\x33\xc0" + bytes(509) + b"EFI PART").ljust(3 << 20, b"x")
CACHE = "http://192.0.2.1:8080/cache/t/grant"
SOURCE = "https://images.example/debian.raw"


@define
class Server:
    """One place: what each attempt does, in order; the last one again and again."""

    sink: Sink
    does: list[Callable[[Sink], None]]
    stopped: bool = False
    attempts: int = 0

    async def attempt(self) -> None:
        self.attempts += 1
        does = self.does[0] if len(self.does) == 1 else self.does.pop(0)
        does(self.sink)

    def stop(self) -> None:
        self.stopped = True


def sends(data: bytes, upto: int | None = None) -> Callable[[Sink], None]:
    """Everything that is missing, or until it breaks off."""

    def do(sink: Sink) -> None:
        sink.begin(sink.have, len(data))
        sink.write([data[sink.have : upto]])
        if upto is not None:
            raise Unavailable("the connection broke off")

    return do


def refuses(sink: Sink) -> None:
    raise Refused("the server answers 404")


def is_down(sink: Sink) -> None:
    raise Unavailable("cannot connect")


class ImagingCase(SynchronousTestCase):
    def setUp(self) -> None:
        self.path = Path(self.mktemp())
        self.path.write_bytes(b"old" * (2 << 20))
        self.device = BlockDevice("sda", str(self.path), "disk", 8 << 30, serial="S1")
        self.tools = MemoryTools()
        self.disk = Disk
        self.installed: list[BlockDevice] = []
        self.written: Callable[[BlockDevice], None] = self.installed.append
        self.places: dict[str, list[Callable[[Sink], None]]] = {}
        self.servers: list[Server] = []
        self.waits: list[float] = []
        self.context = MemoryRunning("image.write")

    async def devices(self) -> Sequence[BlockDevice]:
        return [self.device]

    def open(self, device: BlockDevice) -> Disk:
        return self.disk.open(Path(device.path))

    def pull(self, url: str, sink: Sink) -> Server:
        self.servers.append(Server(sink, self.places[url]))
        return self.servers[-1]

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)

    def every(self, seconds: float, call: Callable[[], None]) -> Callable[[], None]:
        call()
        return call  # once more at the end

    def start(self, payload: ImageWrite, cache: str = CACHE) -> Deferred[JSON]:
        around = Surroundings(
            self.devices,
            self.open,
            self.pull,
            self.sleep,
            self.every,
            self.tools,
            InlineWorkers(),
            self.written,
        )
        return Deferred.fromCoroutine(WriteImage(around, cache).run(self.context, payload))

    def payload(self, image: bytes = IMAGE) -> ImageWrite:
        return ImageWrite(sha256(image).upper(), SOURCE)

    def wrote(self, image: bytes = IMAGE) -> JSON:
        result = self.successResultOf(self.start(self.payload(image)))
        self.assertEqual(self.path.read_bytes()[: len(image)], image)
        self.assertTrue(all(each.stopped for each in self.servers))
        return result

    def failed(self, payload: ImageWrite | None = None) -> StageFailed:
        error = self.failureResultOf(self.start(payload or self.payload()), StageFailed).value
        self.assertEqual(self.path.read_bytes()[:END], bytes(END))
        self.assertEqual(self.path.read_bytes()[-END:], bytes(END))
        assert isinstance(error, StageFailed)
        self.assertEqual(self.installed, [])
        return error


class TakenBackTests(ImagingCase):
    """Of whom it was: it ends soon, as revoked, and nothing on the disk boots."""

    def setUp(self) -> None:
        super().setUp()
        self.look: Callable[[], None] = lambda: None
        self.place = f"{CACHE}/{sha256(IMAGE)}"
        self.places[SOURCE] = [sends(IMAGE)]

    def every(self, seconds: float, call: Callable[[], None]) -> Callable[[], None]:
        self.look = call
        return lambda: None

    def take_back(self, sink: Sink | None = None) -> None:
        self.context.cancelled = True
        self.look()

    def revoked(self, servers: int) -> None:
        error = self.failureResultOf(self.start(self.payload()), Rejected).value
        self.assertEqual(error.code, "revoked")
        self.assertEqual(len(self.servers), servers)
        self.assertTrue(all(each.stopped for each in self.servers))
        self.assertEqual(self.path.read_bytes()[:END], bytes(END))
        self.assertEqual(self.installed, [])

    def test_while_it_comes(self) -> None:
        """No other source is asked, nor the same one again."""

        def breaks_off(sink: Sink) -> None:
            sends(IMAGE[: 2 << 20])(sink)
            self.take_back()
            self.assertTrue(self.servers[0].stopped)
            raise Unavailable("given up")

        self.places[self.place] = [breaks_off]
        self.revoked(1)
        self.assertEqual(self.servers[0].attempts, 1)

    def test_between_two_attempts(self) -> None:
        self.places[self.place] = [is_down]

        async def sleep(seconds: float) -> None:
            self.take_back()

        self.patch(self, "sleep", sleep)
        self.revoked(1)
        self.assertEqual(self.servers[0].attempts, 1)

    def test_when_all_of_it_has_come(self) -> None:
        """What makes it boot is not written."""

        def comes(sink: Sink) -> None:
            sends(IMAGE)(sink)
            self.take_back()

        self.places[self.place] = [comes]
        self.revoked(1)

    def test_before(self) -> None:
        self.context.cancelled = True

        def every(seconds: float, call: Callable[[], None]) -> Callable[[], None]:
            call()  # at once
            return lambda: None

        self.patch(self, "every", every)
        self.places[self.place] = [sends(IMAGE)]
        self.revoked(1)
        self.assertEqual(self.servers[0].attempts, 0)


class SourcesTests(ImagingCase):
    def test_the_cache(self) -> None:
        self.places[f"{CACHE}/{sha256(IMAGE)}"] = [sends(IMAGE)]
        result = self.wrote()
        self.assertEqual(
            (result["disk"], result["serial"], result["source"], result["received"]),
            ("sda", "S1", "cache", len(IMAGE)),
        )
        self.assertEqual(result["warnings"], [])
        self.assertEqual(self.installed, [self.device])

    def test_without_a_cache(self) -> None:
        self.places[SOURCE] = [sends(IMAGE)]
        started = self.start(self.payload(), "")
        self.assertEqual(self.successResultOf(started)["source"], "source")

    def test_a_cache_that_has_it_not(self) -> None:
        """A grant that has lapsed, an image that was evicted: its source has it."""
        self.places[f"{CACHE}/{sha256(IMAGE)}"] = [refuses]
        self.places[SOURCE] = [sends(IMAGE)]
        self.assertEqual(self.wrote()["source"], "source")
        self.assertEqual(self.waits, [])

    def test_a_cache_that_is_cut_off(self) -> None:
        """In the middle: it is waited for a little, and then the source begins anew."""
        first = [sends(IMAGE, 1 << 20), is_down]
        self.places[f"{CACHE}/{sha256(IMAGE)}"] = first
        self.places[SOURCE] = [lambda sink: sends(IMAGE)(anew(sink))]
        self.assertEqual(self.wrote()["source"], "source")
        self.assertEqual(self.servers[0].attempts, 1 + ATTEMPTS)

    def test_a_link_that_breaks_off(self) -> None:
        """As often as it brings something, it is asked for the rest."""
        steps = [sends(IMAGE, each << 19) for each in (1, 2, 3, 4, 5)]
        self.places[f"{CACHE}/{sha256(IMAGE)}"] = [*steps, sends(IMAGE)]
        self.assertEqual(self.wrote()["source"], "cache")
        self.assertEqual(len(self.waits), 5)

    def test_nowhere(self) -> None:
        self.places = {f"{CACHE}/{sha256(IMAGE)}": [refuses], SOURCE: [is_down]}
        error = self.failed_to_begin()
        self.assertEqual(
            str(error), "receive: cache: the server answers 404; source: cannot connect"
        )

    def failed_to_begin(self) -> StageFailed:
        error = self.failureResultOf(self.start(self.payload()), StageFailed).value
        assert isinstance(error, StageFailed)
        return error


def anew(sink: Sink) -> Sink:
    """From another place nothing that is here counts."""
    sink.begin(0, len(IMAGE))
    return sink


class FailureTests(ImagingCase):
    def test_another_image(self) -> None:
        """No other source is asked: what came is not what the name says."""
        self.places[f"{CACHE}/{sha256(IMAGE)}"] = [sends(IMAGE[:-1] + b"y")]
        error = self.failed()
        self.assertEqual((error.stage, error.code), ("verify", "digest-mismatch"))

    def test_a_disk_that_fails(self) -> None:
        """While it is written: no other source is asked either."""

        class Loose(Disk):
            def write(self, data: memoryview, at: int) -> None:
                if 0 < at < self.size - END:
                    raise DiskTrouble("the cable is loose")
                super().write(data, at)

        self.path.write_bytes(b"old" * (6 << 20))
        self.disk = Loose
        image = IMAGE * 3
        self.places[f"{CACHE}/{sha256(image)}"] = [sends(image)]
        error = self.failed(self.payload(image))
        self.assertEqual((error.stage, error.code), ("write", "disk-failed"))

    def test_cancelled(self) -> None:
        """It stops at once, and nothing boots."""
        waiting: Deferred[None] = Deferred()

        class Hangs(Server):
            async def attempt(self) -> None:
                self.sink.begin(0, None)
                self.sink.write([IMAGE])
                await waiting

        def pull(url: str, sink: Sink) -> Server:
            self.servers.append(Hangs(sink, []))
            return self.servers[-1]

        self.pull = pull  # type: ignore[method-assign]
        started = self.start(self.payload())
        started.cancel()
        self.failureResultOf(started)
        self.assertTrue(self.servers[0].stopped)
        self.assertEqual(self.path.read_bytes()[:END], bytes(END))

    def test_a_disk_that_cannot_be_emptied(self) -> None:
        """It says what came first, and that the disk may boot nevertheless."""

        class Dying(Disk):
            def empty_ends(self) -> None:
                if self.read(1, 0) == bytes(1):
                    raise DiskTrouble("the cable is off")
                super().empty_ends()

        self.disk = Dying
        self.places = {f"{CACHE}/{sha256(IMAGE)}": [sends(IMAGE[:-1] + b"y")]}
        error = self.failureResultOf(self.start(self.payload()), StageFailed).value
        assert isinstance(error, StageFailed)
        self.assertEqual((error.stage, error.code), ("verify", "disk-failed"))
        self.assertTrue(str(error).startswith("verify: it is "), error)
        self.assertTrue(str(error).endswith("its ends cannot be emptied: the cable is off"), error)

    def test_a_disk_that_cannot_be_remembered(self) -> None:
        """What comes after it would find no disk: it does not boot either."""

        def forgets(device: BlockDevice) -> None:
            raise OSError(28, "No space left on device")

        self.written = forgets
        self.places = {f"{CACHE}/{sha256(IMAGE)}": [sends(IMAGE)]}
        error = self.failed()
        self.assertEqual(
            str(error), "verify: cannot keep which disk has it: No space left on device"
        )

    def test_a_table_that_cannot_be_read(self) -> None:
        class Unreadable(Disk):
            def read(self, count: int, at: int) -> bytes:
                raise DiskTrouble("a bad sector")

        self.disk = Unreadable
        self.places = {f"{CACHE}/{sha256(IMAGE)}": [sends(IMAGE)]}
        self.assertEqual(str(self.failed()), "verify: a bad sector")

    def test_no_such_disk(self) -> None:
        """Nothing is asked, and nothing is touched."""
        payload = evolve(self.payload(), root_disk=RootDisk(serial="nope"))
        error = self.failureResultOf(self.start(payload), Rejected).value
        self.assertEqual(getattr(error, "code", None), "not-found")
        self.assertEqual(self.path.read_bytes()[:3], b"old")

    def test_a_format_that_cannot_be_written(self) -> None:
        payload = evolve(self.payload(), format=ImageFormat.QCOW2)
        self.failureResultOf(self.start(payload), Rejected)


class SettledTests(ImagingCase):
    def test_a_guid_table(self) -> None:
        """W290: its copy goes to where the disk ends, and then the kernel reads it."""
        image = bytearray(IMAGE)
        image[4096 : 4096 + 8] = b"EFI PART"  # the sector of a file
        data = bytes(image)
        self.places[f"{CACHE}/{sha256(data)}"] = [sends(data)]
        self.wrote(data)
        path = str(self.path)
        self.assertEqual(
            self.tools.asked,
            [
                ("sgdisk", "--move-second-header", path),
                ("blockdev", "--rereadpt", path),
                ("udevadm", "settle"),
            ],
        )

    def test_a_table_that_is_in_use(self) -> None:
        """udev looks at it for a moment."""
        busy = [Ran(("blockdev",), 1, stderr="Device or resource busy")] * 2
        self.tools.answers[("blockdev",)] = lambda: busy.pop() if busy else Ran(("blockdev",), 0)
        self.places[f"{CACHE}/{sha256(IMAGE)}"] = [sends(IMAGE)]
        self.assertEqual(self.wrote()["warnings"], [])
        self.assertEqual(len(self.waits), 2)

    def test_what_goes_wrong(self) -> None:
        """It is said, and the image is there nevertheless."""
        self.tools.answers[("blockdev",)] = Ran(("blockdev",), 1, stderr="x\nbusy\n")
        self.places[f"{CACHE}/{sha256(IMAGE)}"] = [sends(IMAGE)]
        self.assertEqual(self.wrote()["warnings"], ["blockdev: busy"])

    def test_tools_that_are_not_there(self) -> None:
        """Or do not end: no failure, since the image is there and boots."""

        def missing() -> Ran:
            raise ToolTrouble("there is no sgdisk here")

        image = bytearray(IMAGE)
        image[4096 : 4096 + 8] = b"EFI PART"
        self.tools.answers[("sgdisk",)] = missing
        self.places[f"{CACHE}/{sha256(bytes(image))}"] = [sends(bytes(image))]
        self.assertEqual(self.wrote(bytes(image))["warnings"], ["there is no sgdisk here"])


class ProgressTests(ImagingCase):
    def test_what_is_said(self) -> None:
        self.places[f"{CACHE}/{sha256(IMAGE)}"] = [sends(IMAGE)]
        self.context.clock.advance(5)
        self.wrote()
        first, last = self.context.said
        self.assertEqual((first["done"], first["total"], first["disk"]), (0, None, "sda"))
        self.assertEqual((last["done"], last["total"]), (len(IMAGE), len(IMAGE)))
        self.assertEqual((first["seconds_left"], last["seconds_left"]), (0, 0))

    def looked(self, sink: Sink) -> None:
        """Ten seconds later, somebody looks how far it has come."""
        self.context.clock.advance(10)
        self.looks[-1]()

    def test_how_long_it_takes(self) -> None:
        """By the pace of the stored bytes; a source that begins anew has a pace of its own."""
        self.looks: list[Callable[[], None]] = []

        def every(seconds: float, call: Callable[[], None]) -> Callable[[], None]:
            self.looks.append(call)
            return lambda: None

        self.every = every  # type: ignore[method-assign]
        third = len(IMAGE) // 3

        def slow(sink: Sink) -> None:
            sink.begin(sink.have, len(IMAGE))
            sink.write([IMAGE[:third]])
            self.looked(sink)
            raise Refused("the server answers 404")

        def quick(sink: Sink) -> None:
            anew(sink)
            self.looks[-1]()
            sink.write([IMAGE[: 2 * third]])
            self.looked(sink)
            sink.write([IMAGE[2 * third :]])

        def endless(sink: Sink) -> None:
            sink.begin(0, None)
            sink.write([IMAGE])
            self.looked(sink)

        self.places = {f"{CACHE}/{sha256(IMAGE)}": [slow], SOURCE: [quick]}
        self.wrote()
        self.places = {f"{CACHE}/{sha256(IMAGE)}": [endless]}
        self.wrote()
        self.assertEqual([each["seconds_left"] for each in self.context.said], [20, 0, 5, 0])
