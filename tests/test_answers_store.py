"""Tests for ``rescriptum.answers.store``."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.logger import capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.answers.documents import MAX_DOCUMENT, AnswerSet
from rescriptum.answers.store import MAX_AGE, AnswerDirectory, AnswerStore
from rescriptum.errors import Unavailable

_T = TypeVar("_T")


class HeldWorkers:
    """Workers whose work is done when the test says so; counts what was asked of them."""

    def __init__(self) -> None:
        self.held: list[Callable[[], None]] = []
        self.asked = 0

    async def run(self, work: Callable[[], _T]) -> _T:
        self.asked += 1
        done: Deferred[_T] = Deferred()

        def perform() -> None:
            try:
                result = work()
            except Unavailable:
                done.errback()
            else:
                done.callback(result)

        self.held.append(perform)
        return await done

    def work(self) -> None:
        held, self.held = self.held, []
        for perform in held:
            perform()


class Directory(SynchronousTestCase):
    """A directory of answers to write in."""

    def setUp(self) -> None:
        self.path = Path(self.mktemp())
        self.path.mkdir()
        self.now = time.time() + 3600  # files written now look old

    def write(self, name: str, data: bytes = b"x") -> Path:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return path


class AnswerDirectoryTests(Directory):
    def setUp(self) -> None:
        super().setUp()
        self.directory = AnswerDirectory(self.path, lambda: self.now)

    def bodies(self) -> dict[str, object]:
        answers = self.directory.read()
        return {
            document.source: document.body
            for documents in (*answers.machines.values(), answers.defaults)
            for document in documents.values()
        }

    def problems(self) -> dict[str, str]:
        return {each.source: each.text for each in self.directory.read().problems}

    def test_layout(self) -> None:
        """
        Directories are machines, ``default`` is nobody's, ``groups`` is kept out; other files,
        deeper directories and everything hidden are ignored.
        """
        self.write("m1/boot.ipxe", b"1")
        self.write("m1/README.md")
        self.write("m1/deeper/x.ks")
        self.write("m1/dir.ks/x")
        self.write("m1/._boot.toml", b"AppleDouble")
        self.write(".git/x.ks")
        self.write("default/any.KS", b"2")
        self.write("groups/g/x.ks")
        self.write("README.md")
        self.assertEqual(self.bodies(), {"m1/boot.ipxe": b"1", "default/any.KS": b"2"})
        self.assertEqual(self.problems(), {})

    def test_flat_files(self) -> None:
        self.write("m1.toml")
        self.assertEqual(self.problems(), {"m1.toml": "not served: it belongs in m1/proxmox.toml"})

    def test_links_in_a_circle(self) -> None:
        """
        A machine behind a link that leads nowhere may have any document: it gets an error, never
        the default. The others are served.
        """
        (self.path / "loop").symlink_to("loop")
        (self.path / "m1").symlink_to("unmounted")
        self.write("m2/x.ks", b"2")
        machines = self.directory.read().machines
        self.assertEqual(machines["m2"]["ks"].body, b"2")
        for name in ("loop", "m1"):
            self.assertEqual({each.body for each in machines[name].values()}, {None})
            self.assertEqual(self.problems()[name], "a symbolic link that leads nowhere")

    def test_links_are_followed(self) -> None:
        """To a file and to a directory; one that leads nowhere is a broken document."""
        self.write("m1/boot.ipxe", b"1")
        (self.path / "m2").symlink_to("m1")
        self.write("m3/x.md")
        (self.path / "m3" / "x.ks").symlink_to("../m1/boot.ipxe")
        (self.path / "m3" / "x.cfg").symlink_to("nowhere")
        bodies = self.bodies()
        self.assertEqual((bodies["m2/boot.ipxe"], bodies["m3/x.ks"]), (b"1", b"1"))
        self.assertIsNone(bodies["m3/x.cfg"])
        self.assertEqual(list(self.problems()), ["m3/x.cfg"])

    def test_a_directory_that_is_missing_is_empty(self) -> None:
        """And that is a problem to tell: most often it is a name that was misspelt."""
        directory = AnswerDirectory(self.path / "none", lambda: self.now)
        self.assertEqual(directory.read().machines, {})
        [problem] = directory.read().problems
        self.assertEqual(problem.source, str(self.path / "none"))
        self.assertIn("no such directory", problem.text)

    def test_one_that_cannot_be_listed_is_not(self) -> None:
        """Machines must not be told that nothing claims them because a disk has gone."""
        directory = AnswerDirectory(self.write("file"), lambda: self.now)
        with self.assertRaises(Unavailable) as caught:
            directory.read()
        self.assertIn("Not a directory", str(caught.exception))

    def test_what_is_no_file_is_never_opened(self) -> None:
        """A pipe would block the thread for ever."""
        self.write("m1/x.md")
        os.mkfifo(self.path / "m1" / "x.ks")
        self.assertEqual(self.problems(), {"m1/x.ks": "not a regular file"})

    def test_what_cannot_be_read_is_a_problem_and_the_rest_is_served(self) -> None:
        self.write("m1/x.ks", b"1")
        self.write("m2/x.ks", b"2")
        (self.path / "m1" / "x.ks").unlink()
        (self.path / "m1" / "x.ks").symlink_to("x.ks")  # a loop: not even root can open it
        self.assertEqual(self.bodies(), {"m1/x.ks": None, "m2/x.ks": b"2"})
        self.assertTrue(self.problems()["m1/x.ks"].startswith("unreadable: "))

    def test_no_more_than_the_bound_is_read(self) -> None:
        """A disc image that somebody called ``.cfg`` does not fill the memory."""
        with self.write("m1/x.cfg").open("r+b") as file:
            file.truncate(MAX_DOCUMENT * 1000)
        self.assertEqual(self.problems(), {"m1/x.cfg": f"larger than {MAX_DOCUMENT} bytes"})

    def test_nothing_changed_nothing_made(self) -> None:
        """The very same set comes back, and no file was opened for it."""
        self.write("m1/x.ks", b"1")
        first = self.directory.read()
        os.chmod(self.path, 0o755)
        opened = []
        self.patch(os, "open", lambda *args, **kw: opened.append(args))
        self.assertIs(self.directory.read(), first)
        self.assertEqual(opened, [])

    def test_only_what_changed_is_read(self) -> None:
        """A file of the same size, changed in place, even with its old time put back."""
        path = self.write("m1/x.ks", b"1")
        self.write("m2/x.ks", b"2")
        kept = self.directory.read().machines["m2"]["ks"]
        times = path.stat()
        path.write_bytes(b"3")
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        self.assertEqual(self.bodies(), {"m1/x.ks": b"3", "m2/x.ks": b"2"})
        self.assertIs(self.directory.read().machines["m2"]["ks"], kept)

    def test_a_file_just_written_is_read_again(self) -> None:
        """Its times may be too coarse to tell a second writing: they are not believed yet."""
        self.write("m1/x.ks", b"1")
        opened = []
        real = os.open

        def counting(path: str, flags: int) -> int:
            opened.append(path)
            return real(path, flags)

        self.patch(os, "open", counting)
        for later, expected in ((0, 1), (1, 2), (30, 3), (31, 3)):
            self.now = time.time() + later
            self.directory.read()
            self.assertEqual(len(opened), expected, later)

    def test_what_is_gone_is_gone(self) -> None:
        path = self.write("m1/x.ks", b"1")
        self.bodies()
        path.unlink()
        self.assertEqual(self.bodies(), {})
        path.parent.rmdir()
        self.assertEqual(self.directory.read().machines, {})


class AnswerStoreTests(Directory):
    def setUp(self) -> None:
        super().setUp()
        self.clock, self.workers = Clock(), HeldWorkers()
        self.clock.advance(self.now)
        self.store = AnswerStore(self.path, self.workers, self.clock)
        self.write("m1/x.ks", b"1")

    def latest(self) -> Deferred[AnswerSet]:
        return Deferred.fromCoroutine(self.store.latest())

    def read(self) -> AnswerSet:
        waiting = self.latest()
        self.workers.work()
        return self.successResultOf(waiting)

    def test_nothing_is_read_before_somebody_asks(self) -> None:
        self.assertIsNone(self.store.fresh())
        self.assertEqual(self.workers.asked, 0)

    def test_a_set_is_fresh_for_a_second(self) -> None:
        """From when its reading began: a change during it may be in it or not."""
        waiting = self.latest()
        self.clock.advance(0.75)
        self.workers.work()
        answers = self.successResultOf(waiting)
        self.assertIs(self.store.fresh(), answers)
        self.clock.advance(MAX_AGE - 0.75)
        self.assertIs(self.store.fresh(), answers)
        self.clock.advance(0.01)
        self.assertIsNone(self.store.fresh())

    def test_a_clock_that_was_set_back_makes_it_old(self) -> None:
        self.read()
        self.clock.rightNow -= 3600
        self.assertIsNone(self.store.fresh())

    def test_those_that_wait_together_wait_for_one_reading(self) -> None:
        waiting = [self.latest() for _ in range(5)]
        self.workers.work()
        [answers] = {id(self.successResultOf(each)) for each in waiting}
        self.assertEqual((self.workers.asked, answers), (1, id(self.store.fresh())))

    def test_one_that_leaves_takes_nobody_with_it(self) -> None:
        """A machine that hangs up cancels its own waiting, not the reading."""
        first, second = self.latest(), self.latest()
        first.cancel()
        self.failureResultOf(first)
        self.workers.work()
        self.assertIs(self.successResultOf(second), self.store.fresh())

    def test_a_failed_reading_is_told_to_all_and_tried_again(self) -> None:
        (self.path / "m1" / "x.ks").unlink()
        (self.path / "m1").rmdir()
        self.path.rmdir()
        self.path.write_bytes(b"")
        waiting = [self.latest(), self.latest()]
        self.workers.work()
        for each in waiting:
            self.failureResultOf(each, Unavailable)
        self.assertIsNone(self.store.fresh())
        self.path.unlink()
        self.assertEqual(self.read().machines, {})

    def test_problems_are_said_when_they_appear_and_when_they_clear(self) -> None:
        """Not each second in between."""

        def said() -> list[tuple[str, str]]:
            with capturedLogs() as events:
                self.read()
            return [(each["log_level"].name, each["source"]) for each in events]

        self.assertEqual(said(), [])
        self.write("m1/y.toml", b"a =")
        self.write("m2.toml")
        self.assertEqual(said(), [("warn", "m2.toml"), ("warn", "m1/y.toml")])
        self.assertEqual(said(), [])
        self.write("m1/y.toml", b"a = 1")
        self.assertEqual(said(), [("info", "m1/y.toml")])

    def test_a_thousand_problems_are_a_few_lines(self) -> None:
        for at in range(200):
            self.write(f"m{at}.toml")
        with capturedLogs() as events:
            self.read()
        self.assertEqual((len(events), events[-1]["count"]), (51, 150))
