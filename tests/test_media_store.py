"""Tests for ``rescriptum.media.store``."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.logger import capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.errors import MalformedImage, NotFound, Unavailable
from rescriptum.media import store
from rescriptum.media.catalogue import Catalogue
from rescriptum.media.probing import Probe, Scan
from rescriptum.media.store import FRESH, STALE, MediaStore
from rescriptum.values import Problem

from . import isos
from .descriptors import without_descriptors

_T = TypeVar("_T")


class HeldWorkers:
    """Workers whose pieces of work wait until they are told to go on."""

    def __init__(self) -> None:
        self.held: list[Deferred[None]] = []
        self.holding = False
        self.done = 0
        self.error: Exception | None = None

    async def run(self, work: Callable[[], _T]) -> _T:
        if self.error is not None:
            raise self.error
        if self.holding:
            waiting: Deferred[None] = Deferred()
            self.held.append(waiting)
            await waiting
        self.done += 1
        return work()

    def go_on(self) -> None:
        held, self.held = self.held, []
        for each in held:
            each.callback(None)


class MediaStoreTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.root = Path(self.mktemp())
        self.root.mkdir()
        isos.build(self.root / "rocky.iso", isos.ROCKY_DVD)
        self.clock = Clock()
        self.workers = HeldWorkers()
        self.store = MediaStore(self.root, self.workers, self.clock.seconds)

    def asked(self) -> Deferred[Catalogue]:
        return Deferred.fromCoroutine(self.store.catalogue())

    def ids(self) -> list[str]:
        return [each.id for each in self.successResultOf(self.asked()).entries]

    def test_the_catalogue(self) -> None:
        """Asked for once, it is complete; asked again within a second, nothing is read."""
        self.assertEqual(self.ids(), ["rocky"])
        done = self.workers.done
        self.clock.advance(FRESH)
        self.assertEqual(self.ids(), ["rocky"])
        self.assertEqual(self.workers.done, done)

    def test_images_are_looked_into_once(self) -> None:
        """The directory is listed again; the image is remembered until it changes."""
        self.ids()
        done = self.workers.done
        self.clock.advance(FRESH + 1)
        self.ids()
        self.assertEqual(self.workers.done, done + 1)
        self.clock.advance(FRESH + 1)
        os.utime(self.root / "rocky.iso", ns=(1, 1))
        self.ids()
        self.assertEqual(self.workers.done, done + 3)

    def test_images_come_and_go(self) -> None:
        """Without a restart."""
        self.ids()
        isos.build(self.root / "alma.iso", isos.ALMA_BOOT)
        (self.root / "rocky.iso").unlink()
        self.clock.advance(FRESH + 1)
        self.assertEqual(self.ids(), ["alma"])
        self.assertEqual(len(self.store._probes), 1)

    def test_new_images_are_pending(self) -> None:
        """A listing does not wait for them; the catalogue does."""
        self.workers.holding = True
        catalogue = self.asked()
        listed = Deferred.fromCoroutine(self.store.listed())
        self.assertNoResult(listed)
        self.workers.go_on()
        self.assertEqual(self.successResultOf(listed).pending, frozenset(["rocky"]))
        self.assertNoResult(catalogue)
        self.workers.go_on()
        self.assertEqual(self.successResultOf(catalogue).pending, frozenset())

    def test_images_that_somebody_waits_for(self) -> None:
        """They are looked into before the others, and waited for no longer than that."""
        for name in ("a", "b", "z"):
            isos.build(self.root / f"{name}.iso", isos.ALMA_BOOT)
        self.workers.holding = True
        everything = self.asked()
        self.workers.go_on()  # listed; now a is looked into
        wanted = Deferred.fromCoroutine(self.store.looked_into("z"))
        self.workers.go_on()
        self.assertNoResult(wanted)
        self.workers.go_on()
        self.assertEqual(self.successResultOf(wanted).pending, frozenset(["b", "rocky"]))
        self.assertNoResult(everything)
        self.workers.go_on()
        self.workers.go_on()
        self.assertEqual(len(self.successResultOf(everything).entries), 4)

    def test_all_wait_for_one_listing(self) -> None:
        """However many ask at once; who leaves does not take it from the others."""
        self.workers.holding = True
        waiting = [self.asked() for _ in range(50)]
        self.assertEqual(len(self.workers.held), 1)
        waiting[0].addErrback(lambda failure: None)
        waiting[0].cancel()
        self.workers.go_on()
        self.workers.go_on()
        for each in waiting[1:]:
            self.assertEqual(len(self.successResultOf(each).entries), 1)

    def test_at_once(self) -> None:
        """
        A fresh catalogue is given without waiting; one a little older too, while it is renewed;
        an old one is not.
        """
        self.assertIsNone(self.store.at_once())
        self.ids()
        self.assertIsNotNone(self.store.at_once())
        self.workers.holding = True
        self.clock.advance((FRESH + STALE) / 2)
        self.assertIsNotNone(self.store.at_once())
        self.assertEqual(len(self.workers.held), 1)
        self.assertIsNotNone(self.store.at_once())
        self.assertEqual(len(self.workers.held), 1)
        self.clock.advance(STALE)
        self.assertIsNone(self.store.at_once())

    def test_workers_that_have_too_much_to_do(self) -> None:
        """Whoever waits is told to come again, and the next one is served."""
        self.workers.error = Unavailable("busy")
        self.failureResultOf(self.asked(), Unavailable)
        self.workers.error = None
        self.assertEqual(self.ids(), ["rocky"])

    def test_our_own_faults(self) -> None:
        """They are logged once, and whoever waits is not left waiting."""
        self.workers.error = ZeroDivisionError()
        self.failureResultOf(self.asked(), Unavailable)
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)

    def test_problems_are_told_once(self) -> None:
        """When they appear, and when they are gone; not every second."""
        (self.root / "my disk.iso").write_bytes(b"x")
        with capturedLogs() as events:
            for _ in range(3):
                self.clock.advance(FRESH + 1)
                self.ids()
            (self.root / "my disk.iso").unlink()
            for _ in range(2):
                self.clock.advance(FRESH + 1)
                self.ids()
        levels = [event["log_level"].name for event in events if "problem" in event]
        self.assertEqual(levels, ["warn", "info"])

    def test_a_thousand_problems_are_compared_in_no_time(self) -> None:
        """Each with few others: this is done in the reactor, every second."""
        compared = 0

        class Counted(Problem):
            def __eq__(self, other: object) -> bool:
                nonlocal compared
                compared += 1
                return super().__eq__(other)

            __hash__ = Problem.__hash__

        def found(directory: Path) -> Scan:
            return Scan((), tuple(Counted(f"bad{n}", "not an image") for n in range(1000)))

        self.patch(store, "scan", found)
        for _ in range(2):
            self.ids()
            self.clock.advance(FRESH + 1)
        self.assertLess(compared, 5000)

    def test_a_directory_that_cannot_be_listed_for_a_moment(self) -> None:
        """Images stay what they were, with the problem beside them: 404 would end a boot."""
        self.ids()
        with capturedLogs():
            without_descriptors(self)
            self.clock.advance(FRESH + 1)
            self.assertEqual(self.ids(), ["rocky"])
        self.assertEqual(len(self.store.current.problems), 1)

    def test_a_directory_that_is_gone(self) -> None:
        """That is no matter of a moment."""
        self.ids()
        self.root.rename(self.mktemp())
        self.clock.advance(FRESH + 1)
        self.assertEqual(self.ids(), [])

    def test_a_disk_that_failed_is_tried_again(self) -> None:
        """An image that could not be read is looked into anew, though it did not change."""
        looks = [Probe(problems=("cannot be read",), fleeting=True), Probe("rhel")]
        self.patch(store, "look_into", lambda seen: looks.pop(0))
        for family in ("unknown", "rhel", "rhel"):
            medium = self.successResultOf(self.asked()).find("rocky")
            assert medium is not None
            self.assertEqual(medium.family, family)
            self.clock.advance(FRESH + 1)


class FilesTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.root = Path(self.mktemp())
        self.root.mkdir()
        isos.build(self.root / "debian.iso", isos.DEBIAN_NETINST)
        isos.plant(self.root / "debian", isos.DEBIAN_NETBOOT)
        isos.plant(self.root / "tree", isos.DEBIAN_NETBOOT)
        isos.build(self.root / "rocky.iso", isos.ROCKY_DVD)
        self.workers = HeldWorkers()
        self.store = MediaStore(self.root, self.workers, Clock().seconds)
        self.catalogue = self.successResultOf(Deferred.fromCoroutine(self.store.catalogue()))

    def found(self, name: str, path: str) -> int:
        medium = self.catalogue.find(name)
        assert medium is not None
        content = self.successResultOf(Deferred.fromCoroutine(self.store.file(medium, path)))
        return content.size

    def missing(self, name: str, path: str) -> None:
        medium = self.catalogue.find(name)
        assert medium is not None
        self.failureResultOf(Deferred.fromCoroutine(self.store.file(medium, path)), NotFound)

    def test_inside_images_and_trees(self) -> None:
        """Also beside an image; the image's own come first."""
        self.assertEqual(self.found("rocky", "images/install.img"), 5004)
        self.assertEqual(self.found("tree", "PXELINUX.0"), 42430)
        self.assertEqual(self.found("debian", "install.amd/vmlinuz"), 4096)
        self.assertEqual(self.found("debian", "debian-installer/amd64/bootnetx64.efi"), 1002)
        for name in ("rocky", "tree", "debian"):
            self.missing(name, "nothing")
            self.missing(name, "../rocky.iso")

    def test_remembered(self) -> None:
        """A file that was found, and one that is not there, are known without asking the disk."""
        medium = self.catalogue.find("rocky")
        assert medium is not None
        self.assertIsNone(self.store.remembered(medium, "images/install.img"))
        self.found("rocky", "images/install.img")
        self.missing("rocky", "images/updates.img")
        content = self.store.remembered(medium, "images/install.img")
        assert content is not None
        self.assertEqual(content.size, 5004)
        self.assertRaises(NotFound, self.store.remembered, medium, "images/updates.img")

    def test_trees_are_not_remembered(self) -> None:
        """Their files change without the catalogue's knowledge."""
        self.found("tree", "version.info")
        for name in ("tree", "debian"):
            medium = self.catalogue.find(name)
            assert medium is not None
            self.missing(name, "new")
            self.assertIsNone(self.store.remembered(medium, "new"))
        (self.root / "tree" / "new").write_bytes(b"x")
        self.assertEqual(self.found("tree", "new"), 1)

    def test_bounded(self) -> None:
        """A client that asks for ever new names makes nothing grow."""
        self.patch(store, "MAX_FILES", 5)
        self.patch(store, "MAX_DISCS", 1)
        for each in range(20):
            self.missing("rocky", f"nothing-{each}")
            self.missing("debian", f"nothing-{each}")
        self.missing("rocky", "x" * 600)
        self.assertEqual((len(self.store._files), len(self.store._discs)), (5, 1))

    def test_contradictions(self) -> None:
        """An image that goes wrong on the way to a file: that is what is said."""
        path = self.root / "rocky.iso"
        medium = self.catalogue.find("rocky")
        assert medium is not None and medium.image is not None
        data = bytearray(path.read_bytes())
        extent = medium.image.extents[0]
        self.assertEqual(extent.length, len(data))
        data[20 * 2048 :] = b"\xff" * (len(data) - 20 * 2048)
        path.write_bytes(data)
        os.utime(path, ns=(medium.image.version[3],) * 2)
        self.failureResultOf(Deferred.fromCoroutine(self.store.file(medium, "a/b")), MalformedImage)
