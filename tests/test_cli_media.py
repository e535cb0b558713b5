"""Tests for ``rescriptum.cli.media``."""

import errno
import hashlib
import io
import json
import os
from pathlib import Path

from twisted.python.usage import UsageError
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.cli.media import AddOptions, CheckOptions, IpxeOptions, ListOptions, MediaOptions
from rescriptum.config import read
from rescriptum.errors import NotFound, Refused, Unverified

from . import isos


class Terminal(io.StringIO):
    """A stream that somebody looks at."""

    def isatty(self) -> bool:
        return True


class MediaCommandsTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.root = Path(self.mktemp())
        self.root.mkdir()
        self.iso = isos.build(self.root / "rocky-9.iso", isos.ROCKY_DVD)
        self.digest = hashlib.sha256(self.iso.read_bytes()).hexdigest()
        isos.plant(self.root / "netboot", isos.DEBIAN_NETBOOT)
        self.err = io.StringIO()

    def run_command(
        self,
        options: ListOptions | AddOptions | CheckOptions | IpxeOptions,
        *arguments: str,
        **environ: str,
    ) -> tuple[int, str]:
        """:returns: exit code and standard output."""
        options.parseOptions(list(arguments))
        variables = {
            "RESCRIPTUM_MEDIA_DIR": str(self.root),
            "RESCRIPTUM_PUBLIC_HOST": "192.0.2.1",
            **environ,
        }
        config = read({name: text for name, text in variables.items() if text}).config()
        out = io.StringIO()
        self.err = self.err if isinstance(self.err, Terminal) else io.StringIO()
        return options.perform(config, out, self.err), out.getvalue()

    def test_list(self) -> None:
        """The table on standard output, problems and notes on the other stream."""
        (self.root / "my disk.img").write_bytes(b"")
        isos.build(self.root / "debian.iso", isos.DEBIAN_NETINST)
        code, out = self.run_command(ListOptions())
        self.assertEqual(code, 0)
        self.assertEqual(
            [line.split()[:3] for line in out.splitlines()],
            [
                ["ID", "FAMILY", "ARCH"],
                ["debian", "debian", "x86_64"],
                ["netboot", "debian", "x86_64"],
                ["rocky-9", "rhel", "x86_64"],
            ],
        )
        self.assertIn("problem: my disk.img: ", self.err.getvalue())
        self.assertIn("note: debian: ", self.err.getvalue())

    def test_list_for_programs(self) -> None:
        """The same as the server's own listing."""
        code, out = self.run_command(ListOptions(), "--json")
        told = json.loads(out)
        self.assertEqual(code, 0)
        self.assertEqual([each["bootable"] for each in told["media"]], [True, True])

    def test_add(self) -> None:
        """The digest is recorded beside the image, and shown; what was recorded stays."""
        sidecar = self.root / "rocky-9.media"
        sidecar.write_text("# from the vendor's page\nversion = Mine\n")
        code, out = self.run_command(AddOptions(), "rocky-9.iso")
        self.assertEqual(code, 0)
        self.assertIn(self.digest, out)
        lines = sidecar.read_text().splitlines()
        self.assertEqual(
            lines[:3], ["# from the vendor's page", "version = Mine", f"sha256 = {self.digest}"]
        )
        self.assertIn("reading rocky-9.iso", self.err.getvalue())
        _, listed = self.run_command(ListOptions())
        self.assertIn(self.digest[:9], listed)

    def test_add_by_any_path(self) -> None:
        """The file is named as the shell completes it, or by its name alone."""
        for name in (str(self.iso), "rocky-9.iso", str(self.root / "." / "rocky-9.iso")):
            self.assertEqual(self.run_command(AddOptions(), name)[0], 0)

    def test_add_with_the_right_digest(self) -> None:
        """In either case, before or after the file."""
        for words in (
            ("rocky-9.iso", "--sha256", self.digest.upper()),
            ("--sha256", self.digest, "rocky-9.iso"),
        ):
            self.assertEqual(self.run_command(AddOptions(), *words)[0], 0)

    def test_add_with_the_wrong_digest(self) -> None:
        """Nothing is recorded."""
        with self.assertRaises(Unverified) as caught:
            self.run_command(AddOptions(), "rocky-9.iso", "--sha256", "0" * 64)
        self.assertIn(self.digest, str(caught.exception))
        self.assertFalse((self.root / "rocky-9.media").exists())

    def test_add_what_is_no_image(self) -> None:
        """Each refusal says why."""
        elsewhere = isos.build(Path(self.mktemp()).with_suffix(".iso"), isos.ALMA_BOOT)
        (self.root / "my disk.img").write_bytes(b"")
        (self.root / "x.txt").write_bytes(b"")
        for error, name, reason in (
            (NotFound, "nothing.iso", "no such file"),
            (Refused, str(elsewhere), "not in the media directory"),
            (Refused, "my disk.img", "rename it"),
            (Refused, "x.txt", ".iso and .img"),
        ):
            with self.assertRaises(error) as caught:
                self.run_command(AddOptions(), name)
            self.assertIn(reason, str(caught.exception))

    def test_add_on_a_full_disk(self) -> None:
        """What cannot be written is named, and nothing of it stays."""

        def full(fd: int) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        self.patch(os, "fsync", full)
        with self.assertRaises(Refused) as caught:
            self.run_command(AddOptions(), "rocky-9.iso")
        self.assertIn(str(self.root / "rocky-9.media"), str(caught.exception))
        self.assertEqual([each for each in self.root.iterdir() if ".media" in each.name], [])

    def test_add_on_a_terminal(self) -> None:
        """A bar is drawn there, and nothing of it on standard output."""
        self.err = Terminal()
        code, out = self.run_command(AddOptions(), "rocky-9.iso")
        self.assertEqual((code, len(out.splitlines())), (0, 1))
        self.assertNotIn("reading", self.err.getvalue())
        self.assertIn("rocky-9.iso", self.err.getvalue())

    def test_misuse(self) -> None:
        """What main tells apart from failure by the exit code."""
        for options, words in (
            (AddOptions(), ()),
            (AddOptions(), ("a.iso", "b.iso")),
            (AddOptions(), ("a.iso", "--sha256", "123")),
            (IpxeOptions(), ()),
            (MediaOptions(), ()),
            (MediaOptions(), ("nothing",)),
        ):
            self.assertRaises(UsageError, options.parseOptions, list(words))

    def test_check(self) -> None:
        """0 while every recorded image is what it was, 1 once one is not."""
        isos.build(self.root / "alma.iso", isos.ALMA_BOOT)
        self.run_command(AddOptions(), "rocky-9.iso")
        code, out = self.run_command(CheckOptions())
        self.assertEqual(code, 0)
        self.assertEqual([line.split()[0] for line in out.splitlines()], ["-", "ok"])
        with self.iso.open("r+b") as file:
            file.seek(100000)
            file.write(b"flipped")
        code, out = self.run_command(CheckOptions())
        self.assertEqual(code, 1)
        self.assertIn(f"recorded {self.digest}", out)
        code, out = self.run_command(CheckOptions(), "--json")
        told = json.loads(out)
        self.assertEqual((code, told["ok"]), (1, False))
        self.assertEqual([each["state"] for each in told["media"]], ["unrecorded", "changed"])

    def test_check_goes_on_behind_what_cannot_be_read(self) -> None:
        """One bad disk, or one image that is being copied, says nothing of the others."""
        self.run_command(AddOptions(), "rocky-9.iso")
        (self.root / "broken.iso").symlink_to("/proc/self/mem")  # a file whose reading fails
        (self.root / "broken.media").write_text(f"sha256 = {self.digest}\n")
        code, out = self.run_command(CheckOptions())
        self.assertEqual(code, 1)
        self.assertIn("UNREAD  broken: ", out)
        self.assertIn("ok      rocky-9\n", out)
        code, out = self.run_command(CheckOptions(), "--json")
        self.assertIn("unread", [each["state"] for each in json.loads(out)["media"]])

    def test_check_finds_problems(self) -> None:
        """A catalogue with a problem is not in order."""
        (self.root / "nothing.media").write_text("sha256 = 1\n")
        code, _ = self.run_command(CheckOptions())
        self.assertEqual(code, 1)
        self.assertIn("nothing.media", self.err.getvalue())

    def test_ipxe(self) -> None:
        """A document for the answer set alone on standard output."""
        code, out = self.run_command(IpxeOptions(), "rocky-9")
        self.assertEqual(code, 0)
        self.assertEqual(out.splitlines()[0::5], ["#!ipxe", "boot"])
        self.assertIn("http://192.0.2.1:8001/rocky-9/kernel initrd=initrd inst.repo=", out)
        self.assertIn("inst.ks=http://192.0.2.1:8000/rhel/${netX/mac}/ks.cfg", out)
        self.assertIn("kickstart", self.err.getvalue())
        self.assertIn("boot.ipxe", self.err.getvalue())

    def test_ipxe_without_an_answer(self) -> None:
        """The menu's form: whoever is there is asked."""
        _, out = self.run_command(
            IpxeOptions(), "rocky-9", "--interactive", RESCRIPTUM_PUBLIC_HOST="2001:db8::1"
        )
        self.assertNotIn("inst.ks", out)
        self.assertIn("kernel http://[2001:db8::1]:8001/rocky-9/kernel ", out)

    def test_ipxe_of_what_does_not_boot(self) -> None:
        """Says what would help, and what works instead."""
        isos.build(self.root / "debian.iso", isos.DEBIAN_NETINST)
        with self.assertRaises(Refused) as caught:
            self.run_command(IpxeOptions(), "debian")
        self.assertIn("netboot.tar.gz", str(caught.exception))
        self.assertIn("sanboot", str(caught.exception))
        self.assertRaises(NotFound, self.run_command, IpxeOptions(), "nothing")

    def test_no_media_directory(self) -> None:
        """Every command says so."""
        for options, words in (
            (ListOptions(), ()),
            (AddOptions(), ("x.iso",)),
            (CheckOptions(), ()),
            (IpxeOptions(), ("x",)),
        ):
            with self.assertRaises(Refused) as caught:
                self.run_command(options, *words, RESCRIPTUM_MEDIA_DIR="")
            self.assertIn("RESCRIPTUM_MEDIA_DIR", str(caught.exception))
