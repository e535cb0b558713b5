"""Tests for ``rescriptum.cli.loaders``."""

import errno
import hashlib
import json
import os
from io import StringIO
from pathlib import Path

from twisted.python.usage import UsageError
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.boot.loaders import SERVED
from rescriptum.cli.loaders import InstallOptions, ListOptions, LoadersOptions, manifest
from rescriptum.config import Reading, read
from rescriptum.errors import ConfigError, Refused

UNDIONLY = "ipxe-undionly.kpxe"


class LoadersTestCase(SynchronousTestCase):
    def setUp(self) -> None:
        self.root = Path(self.mktemp())
        self.boot = Path(self.mktemp())
        self.root.mkdir()
        self.boot.mkdir()
        self.out, self.err = StringIO(), StringIO()

    def reading(self) -> Reading:
        return read({"RESCRIPTUM_BOOT_DIR": str(self.boot)}, None)

    def package_file(self, relative: str, data: bytes) -> None:
        path = self.root / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    def whole_system(self) -> None:
        for source in manifest().sources:
            self.package_file(source.files[0], f"bytes of {source.name}".encode())

    def install(self, *argv: str) -> int:
        self.out, self.err = StringIO(), StringIO()
        options = InstallOptions()
        options.parseOptions(["--root", str(self.root), *argv])
        return options.perform_reading(self.reading(), self.out, self.err)

    def list(self, *argv: str) -> int:
        self.out, self.err = StringIO(), StringIO()
        options = ListOptions()
        options.parseOptions(argv)
        return options.perform_reading(self.reading(), self.out, self.err)


class InstallTests(LoadersTestCase):
    def test_copies_every_loader_of_the_table_and_records_it(self) -> None:
        """Afterwards ``list`` finds nothing missing and nothing changed."""
        self.whole_system()
        self.assertEqual(self.install(), 0, self.err.getvalue())
        for row in SERVED:
            assert row.loader is not None
            data = f"bytes of {row.loader}".encode()
            self.assertEqual((self.boot / row.loader).read_bytes(), data)
        sums = (self.boot / "SHA256SUMS").read_text()
        self.assertIn(f"{hashlib.sha256(data).hexdigest()}  {row.loader}\n", sums)
        self.assertEqual([each for each in self.boot.iterdir() if each.name.startswith(".")], [])
        self.assertEqual(self.list(), 0, self.out.getvalue())

    def test_leaves_out_what_goes_only_into_images(self) -> None:
        self.whole_system()
        self.install()
        self.assertFalse((self.boot / "isolinux.bin").exists())
        self.assertFalse((self.boot / "shimx64.efi").exists())

    def test_says_which_package_to_install(self) -> None:
        """An empty system lacks everything: the exit code and a remedy a file say so."""
        self.assertEqual(self.install(), 1)
        self.assertIn(f"warning: {UNDIONLY}: apt-get install ipxe\n", self.err.getvalue())
        self.assertIn("pxelinux.0: apt-get install pxelinux\n", self.err.getvalue())
        self.assertIn(f"error: {UNDIONLY} is missing", self.err.getvalue())

    def test_a_package_that_is_too_old_is_not_called_missing(self) -> None:
        """Debian 12's ipxe has no file for ARM64; installing it again would not help."""
        self.package_file("usr/lib/ipxe/undionly.kpxe", b"old")
        self.package_file("boot/ipxe.efi", b"old too")
        self.assertEqual(self.install(), 1)
        self.assertIn("ipxe-arm64.efi: the package ipxe that is installed", self.err.getvalue())
        self.assertEqual((self.boot / "ipxe-x86_64.efi").read_bytes(), b"old too")

    def test_keeps_a_file_that_somebody_put_there(self) -> None:
        self.whole_system()
        (self.boot / UNDIONLY).write_bytes(b"my own build")
        self.assertEqual(self.install(), 0)
        self.assertIn(f"{UNDIONLY}: kept the one that is there", self.out.getvalue())
        self.assertEqual((self.boot / UNDIONLY).read_bytes(), b"my own build")
        self.assertNotIn(UNDIONLY, (self.boot / "SHA256SUMS").read_text())

    def test_replaces_it_where_that_is_asked(self) -> None:
        self.whole_system()
        (self.boot / UNDIONLY).write_bytes(b"my own build")
        self.assertEqual(self.install("--replace"), 0)
        self.assertEqual((self.boot / UNDIONLY).read_bytes(), f"bytes of {UNDIONLY}".encode())

    def test_mends_a_file_that_was_cut_off(self) -> None:
        """It is not what SHA256SUMS promised: there is nothing to keep."""
        self.whole_system()
        self.install()
        (self.boot / UNDIONLY).write_bytes(b"bytes")
        self.assertEqual(self.install(), 0)
        self.assertEqual((self.boot / UNDIONLY).read_bytes(), f"bytes of {UNDIONLY}".encode())

    def test_a_second_run_changes_nothing(self) -> None:
        self.whole_system()
        self.install()
        before = {each.name: each.stat().st_ino for each in self.boot.iterdir()}
        before.pop("SHA256SUMS")
        self.install()
        after = {each.name: each.stat().st_ino for each in self.boot.iterdir()}
        self.assertEqual(before, {name: after[name] for name in before})

    def test_keeps_lines_of_the_sums_that_are_of_other_files(self) -> None:
        self.whole_system()
        (self.boot / "SHA256SUMS").write_text(f"{'d' * 64}  ipxe.iso\n")
        self.install()
        self.assertIn(f"{'d' * 64}  ipxe.iso\n", (self.boot / "SHA256SUMS").read_text())

    def test_makes_the_directory(self) -> None:
        """The configured one too: without it the server would not start."""
        self.whole_system()
        out = self.boot / "new" / "boot"
        self.assertEqual(self.install("--out", str(out)), 0)
        self.assertTrue((out / UNDIONLY).is_file())
        self.boot = self.boot / "configured"
        self.assertEqual(self.install(), 0)
        self.assertTrue((self.boot / UNDIONLY).is_file())

    def test_a_configuration_that_cannot_be_read_names_no_directory(self) -> None:
        options = InstallOptions()
        options.parseOptions(["--root", str(self.root)])
        broken = read({"RESCRIPTUM_ENV_FILE": str(self.root / "none")}, None)
        with self.assertRaises(ConfigError):
            options.perform_reading(broken, self.out, self.err)

    def test_a_full_disk_is_an_error_with_the_name(self) -> None:
        """And the part that was written does not stay on it."""
        self.whole_system()

        def full(fd: int) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        self.patch(os, "fsync", full)
        with self.assertRaises(Refused) as caught:
            self.install()
        self.assertIn(str(self.boot), str(caught.exception))
        self.assertEqual(list(self.boot.iterdir()), [])

    def test_a_directory_that_cannot_be_written_is_an_error_with_its_name(self) -> None:
        blocked = self.boot / "file"
        blocked.write_text("")
        with self.assertRaises(Refused) as caught:
            self.install("--out", str(blocked))
        self.assertIn(str(blocked), str(caught.exception))


class ListTests(LoadersTestCase):
    def test_an_empty_directory_misses_the_whole_table(self) -> None:
        self.assertEqual(self.list(), 1)
        for row in SERVED:
            self.assertIn(f"MISSING    {row.loader}: ", self.out.getvalue())

    def test_a_changed_file_is_told_by_the_sums(self) -> None:
        self.whole_system()
        self.install()
        with (self.boot / UNDIONLY).open("ab") as file:
            file.write(b"!")
        self.assertEqual(self.list(), 1)
        self.assertIn(f"CHANGED    {UNDIONLY}: ", self.out.getvalue())

    def test_json_says_the_same(self) -> None:
        self.assertEqual(self.list("--json"), 1)
        document = json.loads(self.out.getvalue())
        self.assertFalse(document["complete"])
        [entry] = [each for each in document["loaders"] if each["name"] == UNDIONLY]
        self.assertEqual(
            {key: entry[key] for key in ("standing", "required", "clients", "sha256")},
            {"standing": "missing", "required": True, "clients": "BIOS", "sha256": None},
        )

    def test_a_missing_directory_is_an_error_with_its_name(self) -> None:
        missing = self.boot / "none"
        with self.assertRaises(Refused) as caught:
            self.list("--dir", str(missing))
        self.assertIn(str(missing), str(caught.exception))

    def test_without_a_directory_anywhere_it_asks_for_one(self) -> None:
        options = ListOptions()
        options.parseOptions([])
        with self.assertRaises(Refused) as caught:
            options.perform_reading(read({}, None), self.out, self.err)
        self.assertIn("RESCRIPTUM_BOOT_DIR", str(caught.exception))


class GroupTests(SynchronousTestCase):
    def test_alone_it_means_nothing(self) -> None:
        self.assertRaises(UsageError, LoadersOptions().parseOptions, [])
