"""Tests for ``rescriptum.answers.stores.directory`` and what reads it; writing is elsewhere."""

import errno
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SkipTest, SynchronousTestCase

from rescriptum.answers.documents import MAX_DOCUMENT, Document
from rescriptum.answers.formats.table import BY_EXTENSION
from rescriptum.answers.stores.directory import AnswerDirectory
from rescriptum.answers.stores.inotify import Event, Inotify
from rescriptum.answers.stores.store import Store
from rescriptum.answers.stores.watches import Watches
from rescriptum.errors import Unavailable

from .answer_directories import DEFAULT, DirectoryCase, Kernel, group, machine
from .test_answers_stores import StoreTests

if TYPE_CHECKING:
    Case = SynchronousTestCase
else:
    Case = object


class Reading(Case):
    """What holds whether the directory is watched or not."""

    path: Path
    now: float
    directory: AnswerDirectory
    watches: Watches
    write: Callable[..., Path]
    documents: Callable[[], dict[str, Document]]
    served: Callable[[], dict[str, bytes | str]]
    problems: Callable[[], dict[str, str]]
    opened: Callable[[], list[str]]

    def test_layout(self) -> None:
        """
        Directories are machines or, in ``groups``, groups; ``default`` is nobody's. Other files,
        deeper directories and everything hidden are passed over.
        """
        self.write("m1/boot.ipxe", b"1")
        self.write("m1/README.md")
        self.write("m1/deeper/x.ks")
        self.write("m1/._boot.toml", b"AppleDouble")
        self.write(".git/x.ks")
        self.write("Default/any.KS", b"2")
        self.write("Groups/default/x.ks", b"3")
        self.write("Groups/.hidden/x.ks")
        self.write("README.md")
        self.write("m1/vendor-data", b"{}")
        listing = self.directory.listing()
        self.assertEqual(set(listing.folders), {machine("m1"), DEFAULT, group("default")})
        self.assertEqual(
            self.served(),
            {
                "m1/boot.ipxe": b"1",
                "m1/vendor-data": b"{}",
                "Default/any.KS": b"2",
                "Groups/default/x.ks": b"3",
            },
        )
        self.assertEqual(self.problems(), {})
        self.assertEqual(
            list(map(str, self.directory.keys())),
            ["default/rhel.ks", "groups/default/rhel.ks", "m1/boot.ipxe", "m1/vendor-data"],
        )

    def test_loose_documents(self) -> None:
        """What the older layout has is not served; every file is told its new path."""
        for name in ("m1.toml", "groups/g.Preseed", "groups.ks", "meta-data", "m2.meta-data"):
            self.write(name)
        (self.path / "m3.ks").symlink_to("m1.toml")
        nobody_knows = "not served: it belongs in the directory of a machine or a group"
        self.assertEqual(
            self.problems(),
            {
                "m1.toml": "not served: it belongs in m1/proxmox.toml",
                "groups/g.Preseed": "not served: it belongs in groups/g/debian.preseed",
                "groups.ks": nobody_knows,
                "meta-data": nobody_knows,
                "m3.ks": "not served: it belongs in m3/rhel.ks",
            },
        )
        self.assertEqual(self.served(), {})

    def test_a_directory_that_is_named_like_a_document(self) -> None:
        """It claims its machine's requests, with an error, unless a file does."""
        self.write("m1/x.preseed/debian.preseed")
        self.write("m2/a.preseed/x")
        self.write("m2/b.preseed", b"2")
        reason = "a directory: a document is a file"
        self.assertEqual(self.served(), {"m1/x.preseed": reason, "m2/b.preseed": b"2"})
        self.assertEqual(
            self.problems(),
            {
                "m1/x.preseed": reason,
                "m2/a.preseed": "ignored: m2/b.preseed is the preseed document here",
            },
        )

    def test_two_spellings(self) -> None:
        """The first counts, whole; the other one is a problem, and no machine."""
        for name in ("DEFAULT", "default", "Groups/g", "groups/g"):
            self.write(f"{name}/x.ks", name.encode())
        self.write("default/x.cfg")
        served = {"DEFAULT/x.ks": b"DEFAULT", "Groups/g/x.ks": b"Groups/g"}
        self.assertEqual(self.served(), served)
        self.assertEqual(
            self.problems(),
            {"default": "ignored: DEFAULT is there too", "groups": "ignored: Groups is there too"},
        )
        for name in ("DEFAULT", "Groups"):
            shutil.rmtree(self.path / name)
        self.assertEqual(set(self.served()), {"default/x.ks", "default/x.cfg", "groups/g/x.ks"})
        self.assertEqual(self.problems(), {})
        self.write("Default/x.ks", b"3")
        self.assertEqual(self.served(), {"Default/x.ks": b"3", "groups/g/x.ks": b"groups/g"})

    def test_a_link_to_a_file_is_no_spelling(self) -> None:
        self.write("default/x.ks", b"1")
        self.write("groups/g/x.ks", b"1")
        for name in ("Default", "GROUPS"):
            (self.path / name).symlink_to("default/x.ks")
        self.assertEqual(set(self.served()), {"default/x.ks", "groups/g/x.ks"})
        self.assertEqual(self.problems(), {})

    def test_a_link_that_comes_to_lead_to_a_file(self) -> None:
        """It was the spelling that counts, until then; what it leads to tells nothing of it."""
        self.write("default/x.ks", b"1")
        broken = {"default": "a symbolic link that leads nowhere"}
        target = self.path.with_name("elsewhere")
        (self.path / "Default").symlink_to(target)
        self.assertEqual(self.served(), broken)
        self.assertIn("default", self.problems())
        target.write_bytes(b"2")
        self.assertEqual(self.served(), {"default/x.ks": b"1"})
        self.assertEqual(self.problems(), {})
        target.unlink()
        self.assertEqual(self.served(), broken)

    def test_links_are_followed(self) -> None:
        """To a file and to a directory; one that leads nowhere is a broken document."""
        self.write("m1/boot.ipxe", b"1")
        (self.path / "m2").symlink_to("m1")
        self.write("m3/x.md")
        (self.path / "m3" / "x.ks").symlink_to("../m1/boot.ipxe")
        (self.path / "m3" / "x.cfg").symlink_to("nowhere")
        served = self.served()
        self.assertEqual((served["m2/boot.ipxe"], served["m3/x.ks"]), (b"1", b"1"))
        self.assertEqual(list(self.problems()), ["m3/x.cfg"])
        self.assertEqual(served["m3/x.cfg"], "unreadable: No such file or directory")

    def test_a_document_that_becomes_a_link(self) -> None:
        """It is looked at where it leads from then on, also when it leads nowhere."""
        elsewhere = Path(self.mktemp()).absolute()
        path = self.write("m1/x.ks", b"0")
        self.served()
        path.unlink()
        path.symlink_to(elsewhere)
        self.assertEqual(list(self.problems()), ["m1/x.ks"])
        for data in (b"1", b"22"):
            elsewhere.write_bytes(data)
            self.assertEqual(self.served(), {"m1/x.ks": data})
        elsewhere.unlink()
        self.assertEqual(list(self.problems()), ["m1/x.ks"])

    def test_what_is_behind_a_link_is_seen(self) -> None:
        """A target that is edited, one that is exchanged, and one that comes and goes."""
        elsewhere = Path(self.mktemp()).absolute()
        for release in ("1", "2"):
            (elsewhere / release / "m1").mkdir(parents=True)
            (elsewhere / release / "m1" / "x.ks").write_text(release)
        (elsewhere / "now").symlink_to("1")
        (self.path / "m1").symlink_to(elsewhere / "now" / "m1")
        self.write("m2/x.md")
        (self.path / "m2" / "x.ks").symlink_to(elsewhere / "1" / "m1" / "x.ks")
        self.assertEqual(self.served(), {"m1/x.ks": b"1", "m2/x.ks": b"1"})
        (elsewhere / "1" / "m1" / "x.ks").write_text("one")
        self.assertEqual(self.served(), {"m1/x.ks": b"one", "m2/x.ks": b"one"})
        (elsewhere / "now").unlink()
        reason = "a symbolic link that leads nowhere"
        self.assertEqual(self.problems(), {"m1": reason})
        (elsewhere / "now").symlink_to("2")
        self.assertEqual(self.served(), {"m1/x.ks": b"2", "m2/x.ks": b"one"})
        (self.path / "m1").unlink()
        (self.path / "m1").symlink_to(elsewhere / "1" / "m1" / "x.ks")
        self.assertEqual(self.served(), {"m2/x.ks": b"one"})
        self.assertEqual(self.problems(), {})

    def test_a_link_to_a_file_and_then_to_a_directory(self) -> None:
        """A loose document until it is a machine."""
        elsewhere = Path(self.mktemp()).absolute()
        elsewhere.write_bytes(b"1")
        (self.path / "m1.ks").symlink_to(elsewhere)
        self.assertEqual(list(self.problems()), ["m1.ks"])
        elsewhere.unlink()
        elsewhere.mkdir()
        (elsewhere / "x.ks").write_bytes(b"2")
        self.assertEqual(self.served(), {"m1.ks/x.ks": b"2"})
        self.assertEqual(self.problems(), {})

    def test_links_that_lead_nowhere(self) -> None:
        """
        A machine behind one may have any document: it gets an error, never the default. The
        others are served.
        """
        (self.path / "loop").symlink_to("loop")
        (self.path / "m1").symlink_to("unmounted")
        self.write("m2/x.ks", b"2")
        listing = self.directory.listing()
        for name in ("loop", "m1"):
            folder = listing.folders[machine(name)]
            self.assertEqual(folder.error, "a symbolic link that leads nowhere")
            self.assertEqual(set(folder.documents), set(BY_EXTENSION))
        self.assertEqual(listing.folders[machine("m2")].error, "")
        self.assertIs(self.directory.listing(), listing)
        self.assertEqual(list(map(str, self.directory.keys())), ["m2/rhel.ks"])
        (self.path / "unmounted").mkdir()
        self.assertEqual(self.directory.listing().folders[machine("m1")].error, "")

    def test_groups_that_cannot_be_read(self) -> None:
        """Their members would get somebody else's answer: nobody gets any."""
        self.write("m1/x.ks")
        (self.path / "groups").symlink_to("unmounted")
        with self.assertRaisesRegex(Unavailable, "groups: No such file"):
            self.directory.listing()
        self.write("unmounted/g/x.ks", b"1")
        self.assertEqual(self.served()["groups/g/x.ks"], b"1")
        self.write("unmounted/h/x.ks", b"2")
        self.assertEqual(self.served()["groups/h/x.ks"], b"2")
        shutil.rmtree(self.path / "unmounted")
        self.assertRaises(Unavailable, self.directory.listing)

    def test_a_directory_that_is_missing_is_empty(self) -> None:
        """And that is a problem to tell; it may come, go and come again."""
        self.write("m1/x.ks", b"1")
        self.assertEqual(self.served(), {"m1/x.ks": b"1"})
        shutil.rmtree(self.path)
        listing = self.directory.listing()
        self.assertEqual(dict(listing.folders), {})
        self.assertIs(self.directory.listing(), listing)
        text = "no such directory: no machine gets an answer"
        self.assertEqual(self.problems(), {str(self.path): text})
        self.write("m2/x.ks", b"2")
        self.assertEqual(self.served(), {"m2/x.ks": b"2"})
        self.assertEqual(self.problems(), {})

    def test_one_that_cannot_be_listed_is_not(self) -> None:
        """Machines must not be told that nothing claims them because a disk has gone."""
        self.served()
        self.path.rmdir()
        self.path.write_bytes(b"")
        with self.assertRaisesRegex(Unavailable, f"{self.path}: Not a directory"):
            self.directory.listing()
        self.path.unlink()
        self.write("m1/x.ks", b"1")
        self.assertEqual(self.served(), {"m1/x.ks": b"1"})

    def test_another_directory_in_its_place(self) -> None:
        """As some deploy: the new set beside the old one, and two renames."""
        self.write("m1/x.ks", b"1")
        self.write("groups/g/x.ks", b"1")
        self.served()
        other = Path(self.mktemp()).absolute()
        shutil.copytree(self.path, other)
        (other / "m1" / "x.ks").write_bytes(b"2")
        (other / "m2").mkdir()
        self.path.rename(self.mktemp())
        other.rename(self.path)
        self.assertEqual(self.served(), {"m1/x.ks": b"2", "groups/g/x.ks": b"1"})
        self.write("m2/x.ks", b"3")
        self.write("groups/g/x.ks", b"4")
        self.assertEqual(self.served(), {"m1/x.ks": b"2", "m2/x.ks": b"3", "groups/g/x.ks": b"4"})

    def test_what_is_no_file_is_never_opened(self) -> None:
        """A pipe would block the thread for ever."""
        self.write("m1/x.md")
        os.mkfifo(self.path / "m1" / "x.ks")
        self.assertEqual(self.problems(), {"m1/x.ks": "not a regular file"})
        self.assertIs(self.directory.listing(), self.directory.listing())

    def test_what_cannot_be_read_is_a_problem_and_the_rest_is_served(self) -> None:
        self.write("m1/x.ks", b"1").unlink()
        self.write("m2/x.ks", b"2")
        (self.path / "m1" / "x.ks").symlink_to("x.ks")  # a loop: not even root can open it
        served = self.served()
        self.assertEqual(served["m2/x.ks"], b"2")
        self.assertTrue(self.problems()["m1/x.ks"].startswith("unreadable: "))
        self.assertIs(self.directory.listing(), self.directory.listing())

    def test_a_machine_that_cannot_be_listed(self) -> None:
        """It holds its place in every format until it can."""
        self.write("m1/x.ks", b"1")
        real = os.scandir

        def failing(path: str) -> object:
            if str(path).endswith("m1"):
                raise OSError(errno.EIO, "Input/output error", path)
            return real(path)

        patch = self.patch(os, "scandir", failing)
        self.assertEqual(self.problems(), {"m1": "unreadable: Input/output error"})
        folder = self.directory.listing().folders[machine("m1")]
        self.assertEqual(set(folder.documents), set(BY_EXTENSION))
        patch.restore()
        self.assertEqual(self.served(), {"m1/x.ks": b"1"})

    def test_no_more_than_the_bound_is_read(self) -> None:
        """A disc image that somebody called ``.cfg`` does not fill the memory."""
        path = self.write("m1/x.cfg")
        with path.open("r+b") as file:
            file.truncate(MAX_DOCUMENT * 1000)
        self.assertEqual(self.problems(), {"m1/x.cfg": f"larger than {MAX_DOCUMENT} bytes"})
        path.write_bytes(b"")
        self.assertEqual(
            self.problems(), {"m1/x.cfg": "empty: want something in it, if only a comment"}
        )
        path.write_bytes(b"x" * MAX_DOCUMENT)
        self.assertEqual(self.served(), {"m1/x.cfg": b"x" * MAX_DOCUMENT})

    def test_nothing_changed_nothing_made(self) -> None:
        """The very same listing comes back, and nothing was opened for it."""
        self.write("m1/x.ks", b"1")
        self.write("groups/g/x.ks", b"1")
        first = self.directory.listing()
        opened = self.opened()
        self.assertIs(self.directory.listing(), first)
        self.assertEqual(opened, [])

    def test_only_what_changed_is_read(self) -> None:
        """A file of the same size, changed in place, even with its old time put back."""
        path = self.write("m1/x.ks", b"1")
        self.write("m2/x.ks", b"2")
        self.write("m1/y.cfg", b"y")
        before, kept = self.directory.listing(), self.documents()
        times = path.stat()
        path.write_bytes(b"3")
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        opened = self.opened()
        self.assertEqual(self.served(), {"m1/x.ks": b"3", "m2/x.ks": b"2", "m1/y.cfg": b"y"})
        self.assertEqual(opened, ["m1/x.ks"])
        after = self.directory.listing()
        self.assertIs(after.folders[machine("m2")], before.folders[machine("m2")])
        self.assertIs(self.documents()["m1/y.cfg"], kept["m1/y.cfg"])

    def test_a_file_that_only_looks_changed_is_the_same(self) -> None:
        path = self.write("m1/x.ks", b"1")
        first = self.directory.listing()
        os.utime(path, (1, 1))
        os.chmod(path, 0o600)
        self.assertIs(self.directory.listing(), first)

    def test_what_is_gone_is_gone(self) -> None:
        path = self.write("m1/x.ks", b"1")
        self.served()
        path.unlink()
        self.assertEqual(self.served(), {})
        self.assertEqual(list(self.directory.listing().folders), [machine("m1")])
        path.parent.rmdir()
        self.assertEqual(dict(self.directory.listing().folders), {})

    def test_renamed(self) -> None:
        """A machine takes another one's place; its old name is given to a new one."""
        self.write("m1/x.ks", b"1")
        self.write("m2/x.ks", b"2")
        self.served()
        shutil.rmtree(self.path / "m2")
        (self.path / "m1").rename(self.path / "m2")
        self.write("m1/x.ks", b"3")
        self.assertEqual(self.served(), {"m1/x.ks": b"3", "m2/x.ks": b"1"})
        self.write("m1/x.ks", b"4")
        self.write("m2/x.ks", b"5")
        self.assertEqual(self.served(), {"m1/x.ks": b"4", "m2/x.ks": b"5"})

    def test_a_document_with_two_names(self) -> None:
        """It can be written under the other one, which nobody watches."""
        other = Path(self.mktemp()).absolute()
        other.write_bytes(b"1")
        self.write("m1/x.md")
        os.link(other, self.path / "m1" / "x.ks")
        self.assertEqual(self.served(), {"m1/x.ks": b"1"})
        other.write_bytes(b"two")
        self.assertEqual(self.served(), {"m1/x.ks": b"two"})


class AnswerDirectoryTests(Reading, DirectoryCase):
    """Found by the times of files and directories."""

    def test_a_file_just_written_is_read_again(self) -> None:
        """Its times may be too coarse to tell a second writing: they are not believed yet."""
        self.write("m1/x.ks", b"1")
        self.now = time.time()
        first = self.directory.listing()
        opened = self.opened()
        for later, expected in ((1, True), (30, True), (31, False)):
            self.now = time.time() + later
            self.assertIs(self.directory.listing(), first)
            self.assertEqual("m1/x.ks" in opened, expected, later)
            self.assertEqual({".", "m1"} <= set(opened), expected, later)
            opened.clear()

    def test_where_it_is(self) -> None:
        self.assertEqual(self.directory.describe(), f"files:{self.path}")


class WatchedDirectoryTests(Reading, DirectoryCase):
    """Told by the kernel."""

    def setUp(self) -> None:
        super().setUp()
        if self.watches.open() is None:
            raise SkipTest(self.watches.trouble)

    def looked(self) -> list[str]:
        """:returns: the paths whose times are asked for from now on."""
        paths: list[str] = []
        real = os.stat

        def counting(path: str, **more: bool) -> os.stat_result:
            paths.append(os.path.relpath(path, self.path))
            return real(path, **more)

        self.patch(os, "stat", counting)
        return paths

    def test_what_is_watched_is_not_looked_at(self) -> None:
        """Only the set's directory, and what something happened to."""
        for name in ("m1", "m2", "groups/g", "groups/h", "default"):
            self.write(f"{name}/x.ks", b"1")
        self.directory.listing()
        self.assertEqual(self.watches.polled, set())
        looked = self.looked()
        self.directory.listing()
        self.assertEqual(looked, ["."])
        looked.clear()
        self.write("groups/g/x.ks", b"2")
        self.assertEqual(self.served()["groups/g/x.ks"], b"2")
        self.assertEqual(set(looked), {".", "groups/g", "groups/g/x.ks"})
        looked.clear()
        self.write("m3/x.ks", b"3")
        self.assertEqual(self.served()["m3/x.ks"], b"3")
        self.assertEqual(set(looked), {".", "m3", "m3/x.ks"})

    def test_everything_is_looked_at_on_doubt(self) -> None:
        """Once; what came without a word is found then."""
        self.write("m1/x.ks", b"1")
        self.directory.listing()
        self.write("m1/x.ks", b"2")
        self.watches.told()  # lost, that is
        self.assertEqual(self.served(), {"m1/x.ks": b"1"})
        self.watches.doubt()
        self.assertEqual(self.served(), {"m1/x.ks": b"2"})
        looked = self.looked()
        self.directory.listing()
        self.assertEqual(looked, ["."])

    def test_a_failed_reading_is_done_again(self) -> None:
        """What was told before it failed is not forgotten."""
        self.write("m1/x.ks", b"1")
        self.directory.listing()
        self.write("m1/x.ks", b"2")

        def failing(path: str) -> os.stat_result:
            raise OSError(errno.EIO, "Input/output error", path)

        patch = self.patch(os, "stat", failing)
        self.assertRaises(Unavailable, self.directory.listing)
        patch.restore()
        self.assertEqual(self.served(), {"m1/x.ks": b"2"})

    def test_what_is_polled(self) -> None:
        """Links, and files that have another name somewhere: nothing else."""
        self.write("m1/x.ks")
        self.write("m2/x.md")
        self.write("m3/x.ks")
        (self.path / "m2" / "x.ks").symlink_to("../m1/x.ks")
        self.write("m2/y.ks")
        os.link(self.path / "m3" / "x.ks", self.mktemp())
        (self.path / "m4").symlink_to("m1")
        (self.path / "m5.ks").symlink_to("m1/x.ks")
        (self.path / "groups").symlink_to("m1")
        self.directory.listing()
        self.assertEqual(self.watches.polled, {"m2", "m3", "m4", "m5.ks", "groups"})
        for name in ("m2", "m3"):
            (self.path / name / "x.ks").unlink()
        for name in ("m4", "m5.ks", "groups"):
            (self.path / name).unlink()
        self.directory.listing()
        self.assertEqual(self.watches.polled, set())

    def test_one_too_many(self) -> None:
        """What the kernel will not watch is polled, until it will."""

        class Few(Inotify):
            room = 2

            def add(self, path: str) -> int:
                if not self.room:
                    raise OSError(errno.ENOSPC, "No space left on device")
                self.room -= 1
                return super().add(path)

        few = Few()
        watches = Watches(lambda: few)
        watches.open()
        self.addCleanup(watches.close)
        self.directory = AnswerDirectory(self.path, lambda: self.now, watches)
        for at in range(4):
            self.write(f"m{at}/x.ks", b"1")
        self.directory.listing()
        self.assertEqual(watches.polled, {"m1", "m2", "m3"})
        for name in ("m0", "m3", "m4"):
            self.write(f"{name}/x.ks", b"22")
        served = {"m0": b"22", "m1": b"1", "m2": b"1", "m3": b"22", "m4": b"22"}
        served = {f"{name}/x.ks": data for name, data in served.items()}
        self.assertEqual(self.served(), served)
        self.assertEqual(watches.polled, {"m1", "m2", "m3", "m4"})
        few.room = 100
        watches.doubt()
        self.assertEqual(self.served(), served)
        self.assertEqual(watches.polled, set())

    def test_another_computers_disk(self) -> None:
        """What others do there is not told: all of it is polled, new machines too."""
        watches = Watches(local=lambda path: False)
        watches.open()
        self.addCleanup(watches.close)
        self.directory = AnswerDirectory(self.path, lambda: self.now, watches)
        self.write("m1/x.ks", b"1")
        self.write("groups/g/x.ks", b"1")
        self.served()
        self.assertEqual(watches.polled, {"", "m1", "groups", "groups/g"})
        self.write("m1/x.ks", b"22")
        self.write("m2/x.ks", b"2")
        self.write("groups/h/x.ks", b"2")
        wanted = {"m1/x.ks": b"22", "m2/x.ks": b"2", "groups/g/x.ks": b"1", "groups/h/x.ks": b"2"}
        self.assertEqual(self.served(), wanted)

    def test_what_changes_before_it_is_watched(self) -> None:
        """Between the look at its times and the watch: nobody tells of that, and it is seen."""

        class Late(Inotify):
            refusing = True

            def add(self, path: str) -> int:
                if self.refusing:
                    raise OSError(errno.ENOSPC, "No space left on device")
                (Path(path) / "new.ks").write_bytes(b"2")
                return super().add(path)

        late = Late()
        watches = Watches(lambda: late)
        watches.open()
        self.addCleanup(watches.close)
        self.directory = AnswerDirectory(self.path, lambda: self.now, watches)
        for name in ("m1", "groups"):
            self.write(f"{name}/x.md")
        self.assertEqual(self.served(), {})
        late.refusing = False
        watches.doubt()
        self.assertEqual(self.served(), {"m1/new.ks": b"2"})
        self.assertEqual(set(self.problems()), {"new.ks", "groups/new.ks"})
        self.assertEqual(watches.polled, set())

    def test_renamed_directories_stay_watched(self) -> None:
        """In whatever order they are come upon."""
        for at in range(50):
            self.write(f"a{at}/x.ks")
        self.directory.listing()
        for everything in (False, True):
            for at in range(50):
                old, new = ("b", "c") if everything else ("a", "b")
                (self.path / f"{old}{at}").rename(self.path / f"{new}{at}")
            if everything:
                self.watches.doubt()
            self.directory.listing()
            self.assertEqual(self.watches.polled, set())

    def test_a_set_behind_a_link(self) -> None:
        """The link may be moved without a word: its directory is polled, its machines too."""
        self.write("m1/x.ks", b"1")
        link = Path(self.mktemp()).absolute()
        link.symlink_to(self.path)
        self.directory = AnswerDirectory(link, lambda: self.now, self.watches)
        self.assertEqual(self.served(), {"m1/x.ks": b"1"})
        self.assertIn("", self.watches.polled)
        self.write("m2/x.ks", b"2")
        self.assertEqual(self.served(), {"m1/x.ks": b"1", "m2/x.ks": b"2"})
        other = Path(self.mktemp()).absolute()
        (other / "m1").mkdir(parents=True)
        (other / "m1" / "x.ks").write_bytes(b"3")
        link.unlink()
        link.symlink_to(other)
        self.assertEqual(self.served(), {"m1/x.ks": b"3"})


class SilentTests(DirectoryCase):
    """A kernel that tells what the test says."""

    def setUp(self) -> None:
        super().setUp()
        self.kernel = Kernel()
        self.watches = Watches(lambda: self.kernel, lambda path: True)
        self.watches.open()
        self.directory = AnswerDirectory(self.path, lambda: self.now, self.watches)
        self.write("m1/x.ks", b"1")
        self.write("groups/g/x.ks", b"1")
        self.directory.listing()

    def test_a_disk_that_is_mounted_over_the_set(self) -> None:
        """Nothing is told of that, and it is another directory."""
        self.path.rename(self.mktemp())
        self.write("m1/x.ks", b"2")
        self.assertEqual(self.served(), {"m1/x.ks": b"2"})

    def test_a_disk_that_is_unmounted(self) -> None:
        """The directory that it was mounted on is all that is told."""
        for name in ("groups", "m1", "."):
            self.write("groups/g/x.ks", name.encode())
            self.write("m1/x.ks", name.encode())
            path = str(self.path if name == "." else self.path / name)
            self.kernel.events.append(Event(self.kernel.numbers[path], True, ""))
            if name == "m1":
                self.assertEqual(self.served()["m1/x.ks"], name.encode())
            else:
                served = {"m1/x.ks": name.encode(), "groups/g/x.ks": name.encode()}
                self.assertEqual(self.served(), served)
            self.assertEqual(self.watches.polled, set())


#: Entries that random changes are made to; some are reserved, hidden, documents, or loose.
PLACES = ("m1", "m2", "default", "Default", "groups", "groups/g", "groups/h", ".m", "m3.ks")
FILES = ("x.ks", "y.ks", "z.toml", "README", ".x.ks", "meta-data")


class ChangesTests(DirectoryCase):
    """Whatever is done to a directory, who followed it sees what a newcomer sees."""

    def seen(self, directory: AnswerDirectory) -> object:
        try:
            listing = directory.listing()
        except Unavailable:
            return "unavailable"
        folders = {
            place: (folder.error, [(d.source, d.data, d.error) for d in folder.found])
            for place, folder in listing.folders.items()
        }
        return folders, listing.problems

    def change(self, data: st.DataObject, root: Path) -> None:
        place = root / data.draw(st.sampled_from(PLACES))
        other = root / data.draw(st.sampled_from(PLACES))
        file = place / data.draw(st.sampled_from(FILES))
        text = data.draw(st.sampled_from([b"", b"1", b"a = ", b"{{ x }}"]))
        action = data.draw(
            st.sampled_from(
                [
                    "mkdir",
                    "write",
                    "replace",
                    "unlink",
                    "rmtree",
                    "rename",
                    "link",
                    "links",
                    "loose",
                ]
            )
        )
        try:
            if action == "mkdir":
                place.mkdir()
            elif action == "write":
                file.write_bytes(text)
            elif action == "replace":
                root.with_name("new").write_bytes(text)
                root.with_name("new").rename(file)
            elif action == "unlink":
                file.unlink()
            elif action == "rmtree":
                place.unlink() if place.is_symlink() else shutil.rmtree(place)
            elif action == "rename":
                place.rename(other)
            elif action == "link":
                place.symlink_to(other)
            elif action == "links":
                file.symlink_to(other / file.name)
            else:
                place.write_bytes(text)
        except OSError:
            pass  # there is nothing, or something else, of that name

    def check(self, data: st.DataObject, watched: bool) -> None:
        root = Path(self.mktemp()).absolute() / "answers"
        root.mkdir(parents=True)
        watches = Watches()
        if watched:
            watches.open()
        try:
            directory = AnswerDirectory(root, time.time, watches)
            for _ in range(data.draw(st.integers(1, 5))):
                for _ in range(data.draw(st.integers(0, 6))):
                    self.change(data, root)
                newcomer = AnswerDirectory(root, time.time)
                self.assertEqual(self.seen(directory), self.seen(newcomer))
        finally:
            watches.close()
            shutil.rmtree(root.parent)

    @settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow], deadline=None)
    @given(st.data())
    def test_by_times(self, data: st.DataObject) -> None:
        self.check(data, watched=False)

    @settings(max_examples=120, suppress_health_check=[HealthCheck.too_slow], deadline=None)
    @given(st.data())
    def test_watched(self, data: st.DataObject) -> None:
        self.check(data, watched=True)


class WatchedStoreTests(StoreTests, SynchronousTestCase):
    """What every store does, while the kernel tells of what another program does."""

    def opened(self, path: Path) -> Store:
        watches = Watches()
        if watches.open() is None:
            raise SkipTest(watches.trouble)
        self.addCleanup(watches.close)
        return AnswerDirectory(path, time.time, watches)


del StoreTests
