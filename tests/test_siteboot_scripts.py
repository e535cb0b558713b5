"""Tests for ``rescriptum.siteboot.scripts``: each situation, byte by byte."""

from twisted.trial.unittest import SynchronousTestCase

from rescriptum.boot.bootparams import BootParameters
from rescriptum.errors import Malformed
from rescriptum.siteboot import scripts
from tests.sitebootcases import DIGEST, MACHINE

URL = "http://192.0.2.1:8080"
ASKS = (
    "/boot/ipxe?mac=52:54:00:12:34:56&uuid=${uuid}&ip=${netX/ip}&arch=${buildarch}-${platform}"
    "&serial=${serial:uristring}"
)


class ScriptsTests(SynchronousTestCase):
    def test_standby(self) -> None:
        """It says so, waits and asks again three times; then the local disk is booted."""
        self.assertEqual(
            scripts.standby(URL, MACHINE, 0),
            "#!ipxe\n"
            "echo This boot server is not active.\n"
            "echo Asking again in 10 seconds, 3 more times at most.\n"
            "sleep 10\n"
            f"chain --replace {URL}{ASKS}&tries=1 || exit\n",
        )
        self.assertIn("&tries=3 || exit\n", scripts.standby(URL, MACHINE, 2))
        self.assertEqual(
            scripts.standby(URL, MACHINE, 3),
            "#!ipxe\necho This boot server is not active.\necho The local disk is booted.\nexit\n",
        )

    def test_standby_for_nobody_known(self) -> None:
        """Without a MAC and without a URL of its own: iPXE fills in both."""
        self.assertIn(
            "\nchain --replace /boot/ipxe?mac=${netX/mac}&uuid=", scripts.standby("", None, 0)
        )

    def test_no_mac(self) -> None:
        self.assertEqual(
            scripts.not_a_mac(), "#!ipxe\necho No MAC address was given that can be read.\nexit 1\n"
        )

    def test_no_entry(self) -> None:
        self.assertEqual(
            scripts.no_entry(MACHINE),
            "#!ipxe\n"
            "echo Nothing is prepared for 52:54:00:12:34:56; the local disk is booted.\n"
            "exit\n",
        )

    def test_local(self) -> None:
        self.assertEqual(scripts.local(), "#!ipxe\nexit\n")

    def test_ramdisk(self) -> None:
        """The kernel by its architecture; arguments of others, then ours in their order."""
        parameters = BootParameters(
            gateway="https://gw:8443", site="lyon", token="t", mac=str(MACHINE)
        )
        arguments = scripts.line(("console=ttyS0", "quiet  debug"), parameters)
        self.assertEqual(
            scripts.ramdisk(URL, "-arm64", arguments),
            "#!ipxe\n"
            "imgfree ||\n"
            f"kernel {URL}/boot/kernel-arm64 initrd=initrd console=ttyS0 quiet debug"
            " bc.gateway=https://gw:8443 bc.site=lyon bc.token=t bc.mac=52:54:00:12:34:56\n"
            f"initrd --name initrd {URL}/boot/initrd-arm64\n"
            "boot\n",
        )

    def test_sanboot(self) -> None:
        """A BIOS machine has the drive's number said, since its own disk is moved behind it."""
        self.assertEqual(
            scripts.sanboot(URL, "0123", DIGEST, bios=False),
            f"#!ipxe\nsanboot --no-describe {URL}/cache/t/0123/{DIGEST}\n",
        )
        self.assertEqual(
            scripts.sanboot(URL, "0123", DIGEST, bios=True),
            f"#!ipxe\nsanboot --no-describe --drive 0x80 {URL}/cache/t/0123/{DIGEST}\n",
        )

    def test_not_cached(self) -> None:
        self.assertEqual(
            scripts.not_cached(URL, MACHINE),
            "#!ipxe\n"
            "echo The image is not at this site yet.\n"
            "echo Asking again in 10 seconds.\n"
            "sleep 10\n"
            f"chain --replace {URL}{ASKS} || exit\n",
        )

    def test_words_of_others(self) -> None:
        """What people read expands nothing and ends no command; what is no word is refused."""
        self.assertEqual(scripts.failed("a ${b}\n|| shell"), "#!ipxe\necho a $ {b} shell\nexit 1\n")
        for cmdline in ("a || shell", "é", "a\x00"):
            with self.assertRaises(Malformed):
                scripts.line((cmdline,), BootParameters())

    def test_the_longest_line(self) -> None:
        """What the kernel would cut is not sent to it."""
        taken = len("initrd=initrd ")
        scripts.line(("x" * (scripts.LONGEST_LINE - taken),), BootParameters())
        with self.assertRaises(Malformed):
            scripts.line(("x" * (scripts.LONGEST_LINE - taken + 1),), BootParameters())
