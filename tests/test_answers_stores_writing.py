"""Tests for ``rescriptum.answers.stores.writing``, and for what its directory makes of it."""

import errno
import os
import shutil
from pathlib import Path

from twisted.trial.unittest import SkipTest

from rescriptum.answers.documents import MAX_DOCUMENT, Key
from rescriptum.errors import NotFound, Refused, Unavailable

from .answer_directories import DEFAULT, DirectoryCase, group, machine


class WritingTests(DirectoryCase):
    def setUp(self) -> None:
        super().setUp()
        self.key = Key(machine("m1"), "ks")
        self.to = Key(machine("installed-m1"), "ks")

    def names(self, directory: str = ".") -> list[str]:
        return sorted(os.listdir(self.path / directory))

    def mode(self, name: str) -> int:
        return (self.path / name).stat().st_mode & 0o777

    def test_what_is_made(self) -> None:
        """Nobody but its owner and group reads it: it holds passwords."""
        self.addCleanup(os.umask, os.umask(0))
        self.directory.put(self.key, b"1")
        self.directory.put(Key(group("g"), "toml"), b"a = 1")
        self.directory.put(Key(DEFAULT, "meta-data"), b"a: 1")
        self.assertEqual(
            sorted(self.served()), ["default/meta-data", "groups/g/proxmox.toml", "m1/rhel.ks"]
        )
        for name in ("m1", "groups", "groups/g", "default"):
            self.assertEqual(self.mode(name), 0o750, name)
        self.assertEqual(self.mode("m1/rhel.ks"), 0o640)

    def test_over_another(self) -> None:
        """Under the name that it has, with its mode; the umask has no say."""
        self.write("m1/My own.KS", b"1").chmod(0o664)
        self.addCleanup(os.umask, os.umask(0o077))
        self.directory.put(self.key, b"2")
        self.assertEqual((self.names("m1"), self.mode("m1/My own.KS")), (["My own.KS"], 0o664))
        self.assertEqual(self.directory.get(self.key), b"2")

    def test_into_the_directory_that_is_served(self) -> None:
        """However it is spelled."""
        self.write("GROUPS/g/x.md")
        self.write("Default/x.md")
        self.directory.put(Key(group("g"), "ks"), b"1")
        self.directory.put(Key(DEFAULT, "ks"), b"2")
        self.assertEqual(self.served(), {"GROUPS/g/rhel.ks": b"1", "Default/rhel.ks": b"2"})
        self.directory.delete(Key(group("g"), "ks"))
        self.assertEqual(self.names(), ["Default", "GROUPS"])

    def test_what_root_makes_is_not_roots(self) -> None:
        """It belongs to whom the directory does, or the file that it replaces."""
        if os.geteuid() != 0:
            raise SkipTest("only root can try")
        os.chown(self.path, 12, 13)
        self.directory.put(self.key, b"1")
        for name in ("m1", "m1/rhel.ks"):
            status = (self.path / name).stat()
            self.assertEqual((status.st_uid, status.st_gid), (12, 13), name)
        os.chown(self.path / "m1" / "rhel.ks", 14, 15)
        self.directory.put(self.key, b"2")
        status = (self.path / "m1" / "rhel.ks").stat()
        self.assertEqual((status.st_uid, status.st_gid), (14, 15))

    def test_a_write_that_fails_leaves_nothing(self) -> None:
        """Neither a part of a file, nor a directory; what was there still is."""
        self.directory.put(Key(machine("m2"), "ks"), b"old")

        def full(*args: object) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        for function in ("fsync", "replace"):
            patch = self.patch(os, function, full)
            for key in (self.key, Key(machine("m2"), "ks"), Key(group("g"), "ks")):
                with self.assertRaisesRegex(Unavailable, "No space left on device"):
                    self.directory.put(key, b"new")
            patch.restore()
            self.assertEqual((self.names(), self.names("m2")), (["m2"], ["rhel.ks"]))
            self.assertEqual(self.directory.get(Key(machine("m2"), "ks")), b"old")

    def test_nothing_is_seen_until_it_is_whole(self) -> None:
        """The file has another, hidden name until its bytes are on the disk."""
        seen: list[tuple[str, dict[str, bytes | str]]] = []
        real = os.fsync

        def watching(descriptor: int) -> None:
            target = os.readlink(f"/proc/self/fd/{descriptor}")
            seen.append((os.path.relpath(target, self.path), self.served()))
            real(descriptor)

        self.patch(os, "fsync", watching)
        self.directory.put(self.key, b"1")
        [made, whole, named] = seen
        self.assertEqual(made, (".", {}))
        self.assertEqual(whole[1], {})
        self.assertTrue(whole[0].startswith("m1/.rhel.ks."), whole)
        self.assertEqual(named, ("m1", {"m1/rhel.ks": b"1"}))

    def test_links_out_of_the_set_are_not_written_through(self) -> None:
        """Nor is what is behind them removed or moved, whichever part of the path is the link."""
        outside = Path(self.mktemp()).absolute()
        (outside / "g").mkdir(parents=True)
        (outside / "x.ks").write_bytes(b"1")
        (outside / "g" / "x.ks").write_bytes(b"1")
        for link, key in (
            ("m1", self.key),
            ("default", Key(DEFAULT, "ks")),
            ("groups", Key(group("g"), "ks")),
        ):
            (self.path / link).symlink_to(outside)
            other = Key(machine("m9"), "ks")
            for change in (
                lambda key=key: self.directory.put(key, b"2"),
                lambda key=key: self.directory.delete(key),
                lambda key=key, other=other: self.directory.move(key, other),
            ):
                with self.assertRaisesRegex(Refused, "symbolic link out of the answer set"):
                    change()
            self.directory.put(other, b"3")
            with self.assertRaisesRegex(Refused, "symbolic link out of the answer set"):
                self.directory.move(other, Key(key.place, "cfg"))
            self.assertEqual(self.directory.get(key), b"1")
        self.assertEqual(sorted(os.listdir(outside)), ["g", "x.ks"])
        (self.path / "m2").symlink_to(".")
        (self.path / "m3").symlink_to(outside / "unmounted")
        for name in ("m2", "m3"):
            with self.assertRaises(Refused):
                self.directory.put(Key(machine(name), "ks"), b"2")

    def test_links_within_the_set(self) -> None:
        """One machine by two names is written by either; its directory stays while both are."""
        self.write("m1/x.ks", b"1")
        (self.path / "m2").symlink_to("m1")
        other = Key(machine("m2"), "ks")
        self.directory.put(other, b"2")
        self.assertEqual(self.directory.get(self.key), b"2")
        with self.assertRaises(Refused):
            self.directory.move(self.key, other)
        self.assertEqual(self.directory.get(self.key), b"2")
        self.directory.delete(other)
        self.assertEqual((self.names(), self.names("m1")), (["m1", "m2"], []))

    def test_a_document_that_is_a_link(self) -> None:
        """The link is replaced or removed, and what it leads to is left alone."""
        shared = self.write("m9/x.ks", b"1")
        self.write("m1/x.md")
        for change in (
            lambda: self.directory.put(self.key, b"2"),
            lambda: self.directory.delete(self.key),
        ):
            (self.path / "m1" / "x.ks").unlink(missing_ok=True)
            (self.path / "m1" / "x.ks").symlink_to("../m9/x.ks")
            change()
            self.assertEqual(shared.read_bytes(), b"1")
            self.assertFalse((self.path / "m1" / "x.ks").is_symlink())

    def test_a_link_is_moved_where_it_leads_the_same_way(self) -> None:
        self.write("m9/x.ks", b"1")
        for target in ("../m9/x.ks", str(self.path / "m9" / "x.ks")):
            (self.path / "m1").mkdir()
            (self.path / "m1" / "x.ks").symlink_to(target)
            self.directory.move(self.key, self.to)
            self.assertEqual(os.readlink(self.path / "installed-m1" / "x.ks"), target)
            self.directory.move(self.to, self.key)
            shutil.rmtree(self.path / "m1")
        (self.path / "m1").mkdir()
        (self.path / "m1" / "x.ks").symlink_to("../m9/x.ks")
        with self.assertRaisesRegex(Refused, "would lead elsewhere"):
            self.directory.move(self.key, Key(group("g"), "ks"))
        self.assertEqual(self.names(), ["m1", "m9"])

    def test_at_no_moment_is_it_in_neither_place(self) -> None:
        """As a power failure would find it, before and after each call to the system."""
        moments: list[set[str]] = []

        def seen(name: str, able: bool = True) -> None:
            real = getattr(os, name)

            def call(*args: object, **more: object) -> None:
                moments.append(set(self.served()))
                if not able:
                    raise OSError(errno.EPERM, "Operation not permitted")
                real(*args, **more)
                moments.append(set(self.served()))

            self.patch(os, name, call)

        for linking in (True, False):
            self.write("m1/x.ks", b"1")
            moments.clear()
            seen("link", linking)
            for name in ("rename", "unlink", "rmdir"):
                seen(name)
            self.directory.move(self.key, self.to)
            self.assertEqual(moments[0], {"m1/x.ks"})
            self.assertEqual(moments[-1], {"installed-m1/x.ks"})
            self.assertNotIn(set(), moments)
            self.assertEqual(self.names(), ["installed-m1"])
            shutil.rmtree(self.path / "installed-m1")

    def test_a_move_over_a_document(self) -> None:
        """Is refused, under whatever name that lies, where files can have two names and not."""
        self.write("m1/x.ks", b"1")
        for name in ("installed-m1/x.ks", "installed-m1/y.KS"):
            self.write(name, b"2")
            with self.assertRaisesRegex(Refused, "there is installed-m1/rhel.ks already"):
                self.directory.move(self.key, self.to)
            self.assertEqual(self.served(), {"m1/x.ks": b"1", name: b"2"})
            shutil.rmtree(self.path / "installed-m1")
        self.write("installed-m1/x.ks/a directory")

        def unable(*args: object, **more: object) -> None:
            raise OSError(errno.EPERM, "Operation not permitted")

        for _ in range(2):
            with self.assertRaisesRegex(Refused, "there is installed-m1/rhel.ks already"):
                self.directory.move(self.key, self.to)
            self.patch(os, "link", unable)

    def test_a_move_that_a_power_failure_ended(self) -> None:
        """Is completed by the next one: the machine must not install itself for ever."""
        self.write("m1/x.ks", b"1")
        self.write("installed-m1/README")
        os.link(self.path / "m1" / "x.ks", self.path / "installed-m1" / "x.ks")
        self.directory.move(self.key, self.to)
        self.assertEqual(self.served(), {"installed-m1/x.ks": b"1"})
        self.assertEqual(self.names(), ["installed-m1"])

    def test_documents_that_are_ignored(self) -> None:
        """
        They are moved along, since the machine would get them then; for the same reason the one
        that is served is not removed from beside them.
        """
        self.write("m1/a.ks", b"1")
        self.write("m1/b.ks", b"2")
        other = Key(machine("m2"), "cfg")
        for change in (
            lambda: self.directory.delete(self.key),
            lambda: self.directory.move(self.key, other),
        ):
            with self.assertRaisesRegex(Refused, "m1: b.ks beside a.ks would be served"):
                change()
        self.directory.put(self.key, b"3")
        real, moments = os.unlink, []

        def seen(path: str) -> None:
            moments.append(set(self.served()))
            real(path)

        self.patch(os, "unlink", seen)
        self.directory.move(self.key, self.to)
        for served in moments:
            self.assertEqual(served & {"m1/a.ks", "m1/b.ks"}, {"m1/a.ks"})
        self.assertEqual(len(moments), 2)
        self.assertEqual(self.names(), ["installed-m1"])
        self.assertEqual(self.served(), {"installed-m1/a.ks": b"3"})
        self.assertEqual((self.path / "installed-m1" / "b.ks").read_bytes(), b"2")

    def test_a_directory_stays_while_there_is_something_in_it(self) -> None:
        self.write("m1/x.ks", b"1")
        self.write("m1/.hidden")
        self.directory.delete(self.key)
        self.assertEqual(self.names("m1"), [".hidden"])

    def test_get(self) -> None:
        """What cannot be had is not missing."""
        os.mkfifo(self.write("m1/x.md").with_name("x.ks"))
        with self.assertRaisesRegex(Unavailable, "m1/x.ks: not a regular file"):
            self.directory.get(self.key)
        (self.path / "m1" / "x.ks").unlink()
        with self.assertRaisesRegex(NotFound, "there is no m1/rhel.ks"):
            self.directory.get(self.key)
        self.write("m1/x.ks", b"x" * (MAX_DOCUMENT + 1))
        with self.assertRaisesRegex(Unavailable, "m1/rhel.ks: larger than 1048576 bytes"):
            self.directory.get(self.key)
        (self.path / "m1" / "x.ks").unlink()
        (self.path / "m1" / "x.ks").mkdir()
        self.assertRaises(NotFound, self.directory.get, self.key)
