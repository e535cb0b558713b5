"""A directory of answers that people edit while it is served: the kernel's events, real threads."""

import errno
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorFDSet, IReactorFromThreads
from twisted.internet.task import deferLater
from twisted.trial.unittest import SkipTest, TestCase

from rescriptum.answers.answerset import AnswerSet
from rescriptum.answers.documents import Key, Kind, Place
from rescriptum.answers.service import AnswersService
from rescriptum.answers.store import VERIFY, AnswerStore
from rescriptum.answers.stores.directory import AnswerDirectory
from rescriptum.answers.stores.inotify import Inotify
from rescriptum.answers.stores.watcher import Watcher
from rescriptum.answers.stores.watches import Watches
from rescriptum.net.workers import WorkerPool

#: Long before everything is looked at anyway: what is found by then was told.
PATIENCE = VERIFY / 2


def watching() -> list[str]:
    """:returns: the descriptors of this process that watch anything."""
    links = []
    for each in os.listdir("/proc/self/fd"):
        try:
            links.append(f"{each}: {os.readlink(f'/proc/self/fd/{each}')}")
        except FileNotFoundError:  # the one that listed them
            continue
    return sorted(each for each in links if "inotify" in each)


class Editing(TestCase):
    """What is tried with a watched directory, and with one that cannot be watched."""

    def setUp(self) -> None:
        if not Path("/proc/self/fd").exists():
            raise SkipTest("no Linux")
        self.path = Path(self.mktemp()).absolute()
        for name in ("m1", "m2", "groups/g", "default"):
            self.write(f"{name}/x.ks", b"old")
        self.before = watching()
        self.pool = WorkerPool(IReactorFromThreads(reactor), "answers", 2)
        self.pool.start()
        self.addCleanup(self.pool.stop)
        self.watches = Watches(self.make)
        self.watcher = Watcher(IReactorFDSet(reactor), reactor, self.watches)
        directory = AnswerDirectory(self.path, time.time, self.watches)
        self.store = AnswerStore(directory, self.pool, reactor, self.watcher)
        self.service = AnswersService(self.store)
        self.service.startService()

        self.addCleanup(self.stop)

    def stop(self) -> Deferred[None]:
        stopped = self.service.stopService()
        stopped.addCallback(lambda _: self.assertEqual(watching(), self.before))
        return stopped

    @staticmethod
    def make() -> Inotify:
        return Inotify()

    def write(self, name: str, data: bytes) -> Path:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return path

    async def asked(self) -> dict[str, bytes]:
        """:returns: what requests are answered from just now."""
        answers = self.store.fresh() or await self.store.latest()
        return documents(answers)

    async def until(self, wanted: Callable[[dict[str, bytes]], bool]) -> None:
        """Ask as requests do, until what they get is what is ``wanted``."""
        end = time.monotonic() + PATIENCE
        while not wanted(served := await self.asked()):
            if time.monotonic() > end:
                self.fail(f"still served: {served}")
            await deferLater(reactor, 0.01)

    async def serves(self, name: str, data: bytes | None) -> None:
        await self.until(lambda served: served.get(name) == data)


def documents(answers: AnswerSet) -> dict[str, bytes]:
    """:returns: the bytes of all of them, by where they lie."""
    return {
        document.source: document.data
        for folder in answers.listing.folders.values()
        for document in folder.documents.values()
    }


class EditedTests(Editing):
    async def test_a_document_is_edited(self) -> None:
        """In its place, and by a new file that is renamed over it, again and again."""
        await self.serves("m1/x.ks", b"old")
        for at in range(3):
            self.write("m1/x.ks", b"in place %d" % at)
            await self.serves("m1/x.ks", b"in place %d" % at)
            self.write("m1/.x.ks.new", b"over %d" % at).rename(self.path / "m1" / "x.ks")
            await self.serves("m1/x.ks", b"over %d" % at)

    async def test_machines_come_and_go(self) -> None:
        """A new one, a document more in it, another name for it, one document less, and none."""
        await self.serves("m1/x.ks", b"old")
        self.write("m3/x.ks", b"new")
        await self.serves("m3/x.ks", b"new")
        self.write("m3/y.cfg", b"more")
        await self.serves("m3/y.cfg", b"more")
        (self.path / "m3").rename(self.path / "m4")
        await self.until(lambda served: "m3/x.ks" not in served and "m4/x.ks" in served)
        (self.path / "m4" / "y.cfg").unlink()
        await self.serves("m4/y.cfg", None)
        shutil.rmtree(self.path / "m4")
        await self.serves("m4/x.ks", None)

    async def test_groups_and_defaults(self) -> None:
        """Edited, made, and removed with the directory that holds them all."""
        await self.serves("groups/g/x.ks", b"old")
        self.write("groups/g/x.ks", b"new")
        self.write("default/x.ks", b"new")
        await self.serves("groups/g/x.ks", b"new")
        await self.serves("default/x.ks", b"new")
        self.write("groups/h/x.ks", b"another")
        await self.serves("groups/h/x.ks", b"another")
        shutil.rmtree(self.path / "groups")
        await self.until(lambda served: not any("groups" in each for each in served))
        self.write("groups/g/x.ks", b"again")
        await self.serves("groups/g/x.ks", b"again")

    async def test_a_document_that_is_a_link(self) -> None:
        """What it leads to is edited where nobody watches."""
        elsewhere = Path(self.mktemp()).absolute()
        elsewhere.write_bytes(b"1")
        (self.path / "m1" / "y.cfg").symlink_to(elsewhere)
        await self.serves("m1/y.cfg", b"1")
        elsewhere.write_bytes(b"2")
        await self.serves("m1/y.cfg", b"2")
        elsewhere.with_name("new").write_bytes(b"3")
        elsewhere.with_name("new").rename(elsewhere)
        await self.serves("m1/y.cfg", b"3")

    async def test_many_at_once(self) -> None:
        """As when a repository is checked out: nothing is missed between two readings."""
        await self.serves("m1/x.ks", b"old")
        for at in range(300):
            self.write(f"n{at}/x.ks", b"first")
            self.write(f"n{at // 2}/x.ks", b"second")
        wanted = {f"n{at}/x.ks": b"second" if at < 150 else b"first" for at in range(300)}
        await self.until(lambda served: wanted.items() <= served.items())

    async def test_the_set_goes_and_comes(self) -> None:
        """Another one takes its place."""
        await self.serves("m1/x.ks", b"old")
        self.path.rename(self.mktemp())
        await self.until(lambda served: not served)
        self.write("m9/x.ks", b"new")
        await self.serves("m9/x.ks", b"new")
        self.write("m9/x.ks", b"newer")
        await self.serves("m9/x.ks", b"newer")

    async def test_a_change_of_ours(self) -> None:
        """Is in the set when it returns, with what somebody else did before it."""
        await self.serves("m1/x.ks", b"old")
        self.write("m2/x.ks", b"theirs")
        key = Key(Place(Kind.MACHINE, "m1"), "ks")
        await self.store.change(lambda store: store.put(key, b"ours"))
        answers = self.store.fresh()
        assert answers is not None
        served = documents(answers)
        self.assertEqual((served["m1/x.ks"], served["m2/x.ks"]), (b"ours", b"theirs"))


class WatchedTests(EditedTests):
    async def test_nobody_looks_at_what_is_watched(self) -> None:
        """The set does not age, and is the same object for as long as nothing happens."""
        answers = self.store.fresh() or await self.store.latest()
        self.assertTrue(self.watcher.complete)
        self.assertEqual(len(watching()), len(self.before) + 1)
        await deferLater(reactor, 0.2)
        self.assertIs(self.store.fresh(), answers)


class UnwatchedTests(EditedTests):
    """No inotify to be had: the same, by times."""

    @staticmethod
    def make() -> Inotify:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    async def test_nothing_is_watched(self) -> None:
        await self.asked()
        self.assertFalse(self.watcher.complete)
        self.assertEqual(watching(), self.before)


del EditedTests
