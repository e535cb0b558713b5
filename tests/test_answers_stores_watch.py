"""Tests for ``rescriptum.answers.stores.watches`` and ``watcher``, and for what they stand on."""

import errno
import os
import shutil
from pathlib import Path

from twisted.internet.interfaces import IReadDescriptor, IReadWriteDescriptor
from twisted.internet.task import Clock
from twisted.logger import capturedLogs
from twisted.python.failure import Failure
from twisted.trial.unittest import SkipTest, SynchronousTestCase
from zope.interface.verify import verifyObject

from rescriptum.answers.stores.filesystem import is_local
from rescriptum.answers.stores.inotify import Event, Inotify
from rescriptum.answers.stores.watcher import SETTLE, Watcher
from rescriptum.answers.stores.watches import Watches

from .answer_directories import Kernel, error

_MOST = Path("/proc/sys/fs/inotify/max_queued_events")


class WatchesTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.kernel = Kernel()
        self.remote: set[str] = set()
        self.watches = Watches(lambda: self.kernel, lambda path: path not in self.remote)
        self.watches.open()
        self.inodes = 0

    def status(self, device: int = 1) -> os.stat_result:
        """:returns: of another directory each time."""
        self.inodes += 1
        return os.stat_result((0o40755, self.inodes, device, 2, 0, 0, 4096, 0, 0, 0))

    def add(self, key: str, path: str = "", device: int = 1) -> bool:
        """:returns: whether it is watched from now on; ``polled`` says whether it is at all."""
        new = self.watches.watch(key, path or f"/{key}", self.status(device))
        self.watches.rely(key, blind=False)
        return new

    def tell(self, *events: Event) -> set[tuple[str, str]] | None:
        self.kernel.events += events
        return self.watches.told()

    def test_what_is_told(self) -> None:
        """By the keys of directories; hidden entries, and what is not watched, are left out."""
        self.add("m1")
        self.add("")
        self.assertEqual(self.tell(), set())
        self.assertEqual(
            self.tell(
                Event(1, False, "x.ks"),
                Event(1, False, "x.ks"),
                Event(1, False, ".x.ks.tmp"),
                Event(2, False, "m2"),
                Event(1, False, ""),
                Event(77, False, "y"),
            ),
            {("m1", "x.ks"), ("", "m2"), ("m1", "")},
        )

    def test_lost_events(self) -> None:
        """Everything may have changed, once; what was told beside it has no meaning."""
        self.add("m1")
        self.assertIsNone(self.tell(Event(1, False, "x"), Event(-1, False, "")))
        self.assertTrue(self.watches.overrun)
        self.assertEqual(self.tell(Event(1, False, "x")), {("m1", "x")})

    def test_a_directory_that_ended(self) -> None:
        """It is told of itself, and its number means nothing any more."""
        self.add("m1")
        self.assertEqual(self.tell(Event(1, True, "")), {("m1", "")})
        self.assertEqual(self.tell(Event(1, False, "x")), set())
        self.assertTrue(self.add("m1"))

    def test_a_directory_is_watched_once(self) -> None:
        """Another one of that name is watched instead of it."""
        status = self.status()
        self.assertTrue(self.watches.watch("m1", "/m1", status))
        self.assertFalse(self.watches.watch("m1", "/m1", status))
        self.assertTrue(self.watches.holds("m1", status))
        other = self.status()
        self.assertFalse(self.watches.holds("m1", other))
        self.assertTrue(self.watches.watch("m1", "/m1", other))
        self.assertEqual(list(self.kernel.numbers.values()), [2])

    def test_two_names_of_one_directory(self) -> None:
        """Events say the first: the second is polled, and watched when the first is gone."""
        self.assertTrue(self.add("m1", "/same"))
        self.assertFalse(self.add("m2", "/same"))
        self.assertEqual(self.watches.polled, {"m2"})
        self.assertEqual(self.tell(Event(1, False, "x")), {("m1", "x")})
        self.watches.drop("m1")
        self.assertTrue(self.add("m2", "/same"))
        self.assertEqual(self.watches.polled, set())

    def test_no_more_may_be_watched(self) -> None:
        """The rest is polled, the kernel is not asked again for each, until all is looked at."""
        self.kernel.room = 2
        for number in (errno.ENOSPC, errno.ENOMEM):
            self.kernel.refused = number
            for at in range(5):
                self.add(f"m{at}")
            self.assertEqual(self.watches.polled, {"m2", "m3", "m4"})
            self.assertEqual(self.kernel.asked[-1], "/m2")
            self.assertNotEqual(self.watches.trouble, "")
            self.watches.renew()
        self.kernel.room = 5
        for at in range(5):
            self.add(f"m{at}")
        self.assertEqual((self.watches.polled, self.watches.trouble), (set(), ""))

    def test_one_that_may_not_be_watched(self) -> None:
        """The others are; that is no shortage of anything."""
        self.kernel.refused, self.kernel.room = errno.EACCES, 0
        self.add("m1")
        self.kernel.room = 1000
        self.add("m2")
        self.assertEqual((self.watches.polled, self.watches.trouble), ({"m1"}, ""))

    def test_other_computers_disks(self) -> None:
        """Their directories are polled; a disk is asked for once, until all is looked at."""
        self.remote = {"/m1"}
        self.add("m1", device=2)
        self.add("m2", device=2)
        self.add("m3", device=3)
        self.assertEqual(self.watches.polled, {"m1", "m2"})
        self.remote = set()
        self.watches.renew()
        self.add("m1", device=2)
        self.assertEqual(self.watches.polled, {"m2"})

    def test_what_is_blind(self) -> None:
        self.add("m1")
        self.watches.rely("m1", blind=True)
        self.assertEqual(self.watches.polled, {"m1"})
        self.watches.rely("m1", blind=False)
        self.assertEqual(self.watches.polled, set())

    def test_dropped(self) -> None:
        """Watched or polled, it is neither any more."""
        self.add("m1")
        self.watches.rely("m2", blind=True)
        for key in ("m1", "m2", "m3"):
            self.watches.drop(key)
        self.assertEqual((self.kernel.numbers, self.watches.polled), ({}, set()))
        self.assertEqual(self.tell(Event(1, False, "x")), set())

    def test_doubt(self) -> None:
        """What was told until then is not told later."""
        self.add("m1")
        self.watches.doubt()
        self.assertIsNone(self.tell(Event(1, False, "x")))
        self.assertEqual(self.tell(), set())
        self.assertFalse(self.watches.overrun)

    def test_closed(self) -> None:
        """As before it was opened: nothing is watched or told, and nothing kept."""
        for watches in (self.watches, Watches(lambda: self.kernel)):
            self.add("m1")
            watches.close()
            self.assertIsNone(watches.told())
            self.assertFalse(watches.watch("m1", "/m1", self.status()))
            watches.rely("m1", blind=True)
            self.assertEqual((watches.active, watches.polled), (False, set()))
        self.assertTrue(self.kernel.closed)

    def test_opened_again(self) -> None:
        """Nothing is known of before."""
        status = self.status()
        self.watches.watch("m1", "/m1", status)
        self.watches.rely("m2", blind=True)
        self.watches.close()
        self.assertEqual(self.watches.polled, set())
        self.kernel = Kernel()
        self.watches.open()
        self.assertTrue(self.watches.watch("m1", "/m1", status))

    def test_nothing_to_watch_with(self) -> None:
        for number, text in (
            (errno.EMFILE, "fs.inotify.max_user_instances"),
            (errno.ENOSYS, "no inotify"),
            (errno.EIO, "Input/output error"),
        ):

            def fail(number: int = number) -> Kernel:
                raise error(number)

            watches = Watches(fail)
            self.assertIsNone(watches.open())
            self.assertFalse(watches.active)
            watches.renew()
            self.assertIn(text, watches.trouble)


class Readers:
    """The part of a reactor that calls who can be read."""

    def __init__(self) -> None:
        self.readers: list[IReadDescriptor] = []

    def addReader(self, reader: IReadDescriptor) -> None:
        if reader not in self.readers:
            self.readers.append(reader)

    def removeReader(self, reader: IReadDescriptor) -> None:
        if reader in self.readers:
            self.readers.remove(reader)

    def addWriter(self, writer: IReadWriteDescriptor) -> None:
        raise NotImplementedError

    removeWriter = addWriter

    def removeAll(self) -> list[IReadDescriptor]:
        raise NotImplementedError

    getReaders = getWriters = removeAll


class WatcherTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.kernel, self.clock, self.reactor = Kernel(), Clock(), Readers()
        self.watches = Watches(lambda: self.kernel, lambda path: True)
        self.watcher = Watcher(self.reactor, self.clock, self.watches)  # type: ignore[arg-type]
        self.told: list[float] = []

    def start(self) -> None:
        self.watcher.start(lambda: self.told.append(self.clock.seconds()))

    def test_a_crowd_is_told_once(self) -> None:
        """A moment after its first event, and not again before it was read."""
        verifyObject(IReadDescriptor, self.watcher)
        self.start()
        self.assertEqual(self.reactor.readers, [])  # nothing was read yet that could change
        self.watcher.resume()
        self.assertEqual(self.reactor.readers, [self.watcher])
        self.assertEqual(self.watcher.fileno(), 42)
        self.watcher.doRead()
        self.assertEqual((self.reactor.readers, self.told), ([], []))
        self.watcher.resume()  # who reads for another reason does not end the wait
        self.assertEqual(self.reactor.readers, [])
        self.clock.advance(SETTLE)
        self.assertEqual((self.reactor.readers, self.told), ([], [SETTLE]))
        self.watcher.resume()
        self.assertEqual(self.reactor.readers, [self.watcher])

    def test_stops_at_any_moment(self) -> None:
        """Neither a reader, a timer nor a descriptor is left."""
        for until in range(4):
            steps = [self.start, self.watcher.resume, self.watcher.doRead]
            for step in steps[:until]:
                step()
            self.watcher.stop()
            self.assertEqual((self.reactor.readers, self.clock.getDelayedCalls()), ([], []))
            self.assertEqual(self.kernel.closed, until > 0)
            self.assertEqual(self.watcher.fileno(), -1)
            self.watcher.resume()
            self.assertEqual(self.reactor.readers, [])
        self.watcher.connectionLost(Failure(Exception()))

    def test_complete(self) -> None:
        """While everything is watched."""
        self.assertFalse(self.watcher.complete)
        self.start()
        self.assertTrue(self.watcher.complete)
        self.watches.rely("m1", blind=True)
        self.assertFalse(self.watcher.complete)

    def test_doubt(self) -> None:
        self.start()
        self.watcher.doubt()
        self.assertIsNone(self.watches.told())

    def test_what_is_not_watched_is_said_once(self) -> None:
        """With what to do; and when it is mended."""
        with capturedLogs() as events:
            self.start()
            self.watches.trouble = "one"
            for trouble in ("one", "one", "", "", "two"):
                self.watches.trouble = trouble
                self.watcher.resume()
        said = [(each["log_level"].name, each.get("reason")) for each in events]
        self.assertEqual(said, [("warn", "one"), ("info", None), ("warn", "two")])

    def test_lost_events_are_said_once(self) -> None:
        self.start()
        with capturedLogs() as events:
            for _ in range(3):
                self.watches.overrun = True
                self.watcher.resume()
        [event] = events
        self.assertIn("fs.inotify.max_queued_events", event["log_format"])

    def test_without_inotify(self) -> None:
        """It is said, nothing is watched, and stopping it does no harm."""

        def none() -> Kernel:
            raise error(errno.ENOSYS)

        watcher = Watcher(self.reactor, self.clock, Watches(none))  # type: ignore[arg-type]
        with capturedLogs() as events:
            watcher.start(lambda: None)
            watcher.resume()
        [event] = events
        self.assertEqual(event["reason"], "this system has no inotify")
        self.assertEqual((watcher.complete, self.reactor.readers), (False, []))
        watcher.stop()


class InotifyTests(SynchronousTestCase):
    """The kernel's own."""

    def setUp(self) -> None:
        try:
            self.inotify = Inotify()
        except OSError as e:
            raise SkipTest(str(e)) from None
        self.addCleanup(self.inotify.close)
        self.path = Path(self.mktemp()).absolute()
        (self.path / "deep").mkdir(parents=True)
        self.watch = self.inotify.add(str(self.path))

    def told(self) -> list[str]:
        """:returns: the names of entries of which anything was told."""
        events = self.inotify.read()
        self.assertEqual({each.watch for each in events} - {self.watch}, set())
        return list(dict.fromkeys(each.name for each in events))

    def test_what_happens_in_a_directory(self) -> None:
        """Each way of changing an entry is told by its name, whatever bytes that has."""
        odd = os.fsdecode(b"\xff n")
        (self.path / "x").write_bytes(b"1")
        (self.path / odd).symlink_to("x")
        self.assertEqual(self.told(), ["x", odd])
        for change in (
            lambda: (self.path / "x").write_bytes(b"2"),
            lambda: (self.path / "x").chmod(0o600),
            lambda: os.utime(self.path / "x", (1, 1)),
        ):
            change()
            self.assertEqual(self.told(), ["x"])
        (self.path / "x").rename(self.path / "y")
        self.assertEqual(self.told(), ["x", "y"])
        (self.path / "new").mkdir()
        (self.path / "y").unlink()
        self.assertEqual(self.told(), ["new", "y"])
        self.assertEqual(self.told(), [])

    def test_reading_is_no_change(self) -> None:
        (self.path / "x").write_bytes(b"1")
        self.told()
        (self.path / "x").read_bytes()
        list(self.path.iterdir())
        self.assertEqual(self.told(), [])

    def test_a_file_is_no_document_until_it_is_closed(self) -> None:
        (self.path / "x").write_bytes(b"1")
        self.told()
        with (self.path / "x").open("r+b") as file:
            file.write(b"2")
            file.flush()
            self.assertEqual(self.told(), [])
        self.assertEqual(self.told(), ["x"])

    def test_the_directory_itself(self) -> None:
        """It is moved, then removed: that ends its number."""
        other = self.path.with_name("other")
        self.path.rename(other)
        self.assertEqual([each.name for each in self.inotify.read()], [""])
        shutil.rmtree(other)
        self.assertTrue(self.inotify.read()[-1].ended)
        self.inotify.remove(self.watch)  # of no consequence

    def test_removed(self) -> None:
        self.inotify.remove(self.watch)
        (self.path / "x").write_bytes(b"1")
        self.assertEqual([(each.ended, each.name) for each in self.inotify.read()], [(True, "")])

    def test_only_directories(self) -> None:
        """And two paths to one of them have one number."""
        (self.path / "x").write_bytes(b"1")
        with self.assertRaises(NotADirectoryError):
            self.inotify.add(str(self.path / "x"))
        with self.assertRaises(FileNotFoundError):
            self.inotify.add(str(self.path / "none"))
        (self.path / "link").symlink_to("deep")
        first, second = (self.inotify.add(str(self.path / each)) for each in ("deep", "link"))
        self.assertEqual(first, second)

    def test_more_at_once_than_the_kernel_keeps(self) -> None:
        """It says that it does not; nothing else does."""
        most = int(_MOST.read_text())
        if most > 1_000_000:
            raise SkipTest("the kernel keeps more than can be made quickly")
        names = [self.path / "x", self.path / "y"]
        for each in names:
            each.write_bytes(b"")
        for at in range(most + 1):
            os.utime(names[at % 2])  # equal ones in a row are one
        self.assertEqual(self.inotify.read()[-1], Event(-1, False, ""))
        names[0].write_bytes(b"1")
        self.assertEqual(self.told(), ["x"])

    def test_leaves_no_descriptor(self) -> None:
        before = sorted(os.listdir("/proc/self/fd"))
        other = Inotify()
        other.add(str(self.path))
        self.assertFalse(os.get_inheritable(other.fileno()))
        other.close()
        self.assertEqual(sorted(os.listdir("/proc/self/fd")), before)


class FilesystemTests(SynchronousTestCase):
    def test_disks_of_this_computer(self) -> None:
        """Which has one for tests; what the kernel makes up itself is none, nor what is missing."""
        if not Path("/proc/self").exists():
            raise SkipTest("no Linux")
        self.assertFalse(is_local("/proc"))
        self.assertFalse(is_local("/nowhere"))
        if Path("/dev/shm").is_mount():
            self.assertTrue(is_local("/dev/shm"))
