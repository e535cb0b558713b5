"""Tests for ``rescriptum.cli.boot``: what each command prints, where, and its exit code."""

import subprocess
import sys
from io import StringIO
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from rescriptum.boot.loaders import ONE_LOADER, SERVED, X64_LOADER
from rescriptum.cli.main import main
from rescriptum.snippets.formats import FORMATS, NAMES

ROOT = Path(__file__).resolve().parent.parent


class BootCase(SynchronousTestCase):
    def setUp(self) -> None:
        self.boot = Path(self.mktemp())
        self.boot.mkdir()
        for row in SERVED:
            (self.boot / str(row.loader)).touch()
        for name in (ONE_LOADER, "ldlinux.c32", "ipxe.lkrn"):
            (self.boot / name).touch()

    def run_boot(self, *argv: str, **environ: str) -> tuple[int, str, str]:
        settings = {"PUBLIC_HOST": "192.0.2.10", "BOOT_DIR": str(self.boot), **environ}
        out, err = StringIO(), StringIO()
        code = main(
            ["boot", *argv],
            {f"RESCRIPTUM_{name}": value for name, value in settings.items()},
            out,
            err,
        )
        return code, out.getvalue(), err.getvalue()


class SnippetTests(BootCase):
    def test_every_format(self) -> None:
        """The snippet alone on standard output; nothing to warn of, nothing on the other."""
        for name in NAMES:
            code, out, err = self.run_boot("dhcp-snippet", "--format", name)
            self.assertEqual((code, err), (0, ""), name)
            self.assertIn("192.0.2.10", out)

    def test_the_default_is_dnsmasq(self) -> None:
        self.assertEqual(
            self.run_boot("dhcp-snippet"), self.run_boot("dhcp-snippet", "-f", "dnsmasq")
        )

    def test_one_loader(self) -> None:
        for each in FORMATS:
            code, out, _ = self.run_boot("dhcp-snippet", "-f", each.name, "--one-loader")
            self.assertEqual(code, 0)
            self.assertIn(ONE_LOADER, out)
            self.assertNotIn(X64_LOADER, out)

    def test_a_missing_loader(self) -> None:
        """S47: a comment in the snippet, a warning beside it, and still a snippet."""
        (self.boot / X64_LOADER).unlink()
        code, out, err = self.run_boot("dhcp-snippet")
        self.assertEqual(code, 0)
        self.assertIn(f"# MISSING {X64_LOADER}", out)
        self.assertIn(f"warning: MISSING {X64_LOADER}", err)
        self.assertIn(f"dhcp-boot=tag:efi64,tag:!ipxe,{X64_LOADER},,192.0.2.10", out)

    def test_only_what_the_format_names_is_missed(self) -> None:
        """pxelinux is of no interest to a server that tells iPXE apart."""
        (self.boot / ONE_LOADER).unlink()
        self.assertEqual(self.run_boot("dhcp-snippet")[2], "")
        self.assertIn(ONE_LOADER, self.run_boot("dhcp-snippet", "-f", "pfsense")[2])
        self.assertIn(ONE_LOADER, self.run_boot("dhcp-snippet", "--one-loader")[2])

    def test_a_host_that_machines_cannot_reach(self) -> None:
        """A mis-declared address is the hardest failure to see later."""
        code, _, err = self.run_boot("dhcp-snippet", PUBLIC_HOST="127.0.0.1")
        self.assertEqual(code, 0)
        self.assertIn("warning: 127.0.0.1 is this machine itself", err)

    def test_a_host_that_nobody_declared(self) -> None:
        _, _, err = self.run_boot("dhcp-snippet", PUBLIC_HOST="")
        self.assertIn("guessed", err)
        _, _, err = self.run_boot("dhcp-snippet", "--host", "192.0.2.11", PUBLIC_HOST="")
        self.assertEqual(err, "")

    def test_a_name(self) -> None:
        """Firmware has no resolver to rely on (W063)."""
        code, out, err = self.run_boot("dhcp-snippet", PUBLIC_HOST="boot.example")
        self.assertEqual((code, out), (1, ""))
        self.assertIn("--host", err)
        code, out, _ = self.run_boot(
            "dhcp-snippet", "--host", "192.0.2.11", PUBLIC_HOST="boot.example"
        )
        self.assertEqual(code, 0)
        self.assertIn("http://192.0.2.11:8001/boot/", out)

    def test_ipv6(self) -> None:
        """An IPv6 address gives DHCPv6 lines, or the reason why not."""
        code, out, _ = self.run_boot("dhcp-snippet", "--host", "2001:db8::1")
        self.assertEqual(code, 0)
        self.assertIn("option6:bootfile-url,tftp://[2001:db8::1]/", out)
        code, out, err = self.run_boot("dhcp-snippet", "-f", "unifi", "--host", "2001:db8::1")
        self.assertEqual((code, out), (1, ""))
        self.assertIn("DHCPv6", err)

    def test_a_moved_media_listener(self) -> None:
        """URLs in the snippet name the port that there is."""
        _, out, _ = self.run_boot("dhcp-snippet", MEDIA_ADDR="0.0.0.0:8081")
        self.assertIn("http://192.0.2.10:8081/ipxe/bootstrap", out)

    def test_misuse(self) -> None:
        """Exit code 2: netsh with its reason, an unknown name with those that there are."""
        for argv, word in (
            (("-f", "netsh"), "policies"),
            (("-f", "bind"), "dnsmasq, isc, dhcpd"),
            (("--host", "boot.example"), "boot.example"),
        ):
            code, out, err = self.run_boot("dhcp-snippet", *argv)
            self.assertEqual((code, out), (2, ""))
            self.assertIn(word, err.splitlines()[-1])

    def test_no_boot_directory(self) -> None:
        code, out, err = self.run_boot("dhcp-snippet", BOOT_DIR="")
        self.assertEqual(code, 0)
        self.assertNotIn("MISSING", out)
        self.assertIn("RESCRIPTUM_BOOT_DIR", err)


class ScriptTests(BootCase):
    def test_bootstrap(self) -> None:
        """What the media listener serves: the interface that booted, not the first (S48)."""
        code, out, err = self.run_boot("bootstrap")
        self.assertEqual((code, err), (0, ""))
        self.assertTrue(out.startswith("#!ipxe\n"))
        self.assertIn("netX/mac", out)
        self.assertIn("http://192.0.2.10:8000/ipxe/boot", out)

    def test_menu(self) -> None:
        """The images that are there now."""
        media = Path(self.mktemp())
        (media / "tree").mkdir(parents=True)
        (media / "tree" / "linux").write_bytes(b"x")
        (media / "tree" / "initrd.gz").write_bytes(b"x")
        code, out, _ = self.run_boot("menu", MEDIA_DIR=str(media))
        self.assertEqual(code, 0)
        self.assertIn("image-tree", out)
        self.assertNotIn("console --picture", out)

    def test_the_menus_logo(self) -> None:
        """A picture in the boot directory is shown."""
        (self.boot / "logo.png").touch()
        self.assertIn("/boot/logo.png", self.run_boot("menu")[1])


class CheckTests(BootCase):
    def test_no_boot_directory(self) -> None:
        """Nothing was walked: that is no yes."""
        program = "from rescriptum.cli.main import run; run()"
        for argv, boots in ((), "RESCRIPTUM_BOOT_DIR is not set"), (("--json",), '"boots": false'):
            # A process of its own: a reactor runs once.
            done = subprocess.run(
                [sys.executable, "-c", program, "boot", "check", *argv],
                env={"RESCRIPTUM_PUBLIC_HOST": "127.0.0.1", "PYTHONPATH": str(ROOT)},
                capture_output=True,
                text=True,
                timeout=60,
            )
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn(boots, done.stdout)

    def test_misuse(self) -> None:
        """What is no MAC address is a usage error."""
        code, _, err = self.run_boot("check", "--mac", "52:54")
        self.assertEqual(code, 2)
        self.assertIn("52:54", err)

    def test_a_command_is_needed(self) -> None:
        code, _, err = self.run_boot()
        self.assertEqual(code, 2)
        self.assertIn("dhcp-snippet", err)
