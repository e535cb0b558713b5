"""Tests for ``rescriptum.snippets.handoff``."""

from ipaddress import ip_address

from twisted.trial.unittest import SynchronousTestCase

from rescriptum.boot.loaders import (
    BIOS_LOADER,
    ONE_LOADER,
    ONE_LOADER_PARTS,
    SERVED,
    X64_LOADER,
    Transport,
)
from rescriptum.snippets.handoff import BRANCHES, HTTP_CLASS_V6, Handoff, doubts

V4 = Handoff(host=ip_address("192.0.2.10"), media_base="http://192.0.2.10:8001", version="1.2.3")
V6 = Handoff(
    host=ip_address("2001:db8::10"), media_base="http://[2001:db8::10]:8001", version="1.2.3"
)


class BranchesTests(SynchronousTestCase):
    def test_every_served_row_is_in_one_branch(self) -> None:
        """Branches are the table's served rows by tag: none lost, none twice, one loader each."""
        codes = [code for branch in BRANCHES for code in branch.codes]
        self.assertEqual(sorted(codes), sorted(row.code for row in SERVED))
        self.assertEqual(len({branch.tag for branch in BRANCHES}), len(BRANCHES))
        for branch in BRANCHES:
            for row in SERVED:
                if row.tag == branch.tag:
                    self.assertEqual((branch.loader, branch.transport), (row.loader, row.transport))

    def test_x64_is_both_seven_and_nine(self) -> None:
        """Firmware sends either for x64 (W028)."""
        [x64] = [each for each in BRANCHES if each.tag == "efi64"]
        self.assertEqual(x64.codes, (7, 9))
        self.assertEqual(x64.vendor_classes, ("PXEClient:Arch:00007", "PXEClient:Arch:00009"))


class HandoffTests(SynchronousTestCase):
    def test_boot_files(self) -> None:
        """A name over TFTP, a whole URL over HTTP (W062) and in DHCPv6, brackets included."""
        for branch in BRANCHES:
            if branch.transport is Transport.HTTP:
                self.assertEqual(
                    V4.boot_file(branch), f"http://192.0.2.10:8001/boot/{branch.loader}"
                )
                self.assertEqual(
                    V6.boot_file(branch), f"http://[2001:db8::10]:8001/boot/{branch.loader}"
                )
            else:
                self.assertEqual(V4.boot_file(branch), branch.loader)
                self.assertEqual(V6.boot_file(branch), f"tftp://[2001:db8::10]/{branch.loader}")

    def test_no_bios_speaks_dhcpv6(self) -> None:
        """DHCPv6 has every branch but BIOS."""
        self.assertEqual(
            [each.tag for each in V6.branches],
            [each.tag for each in BRANCHES if each.tag != "bios"],
        )

    def test_named_files(self) -> None:
        """What machines ask for by a format: all of pxelinux's chain where BIOS goes that way."""
        self.assertEqual(V4.named(BIOS_LOADER)[0], BIOS_LOADER)
        self.assertNotIn(ONE_LOADER, V4.named(BIOS_LOADER))
        chain = (ONE_LOADER, *ONE_LOADER_PARTS)
        self.assertEqual(V4.named(ONE_LOADER)[:3], chain)
        self.assertIn(X64_LOADER, V4.named(ONE_LOADER))
        one = Handoff(host=V4.host, media_base=V4.media_base, version="1.2.3", one_loader=True)
        self.assertEqual(one.named(BIOS_LOADER), chain)
        self.assertNotIn(BIOS_LOADER, V6.named(BIOS_LOADER))

    def test_a_missing_loader_is_said(self) -> None:
        """The heading names what machines will be sent for in vain (S47), and nothing else."""
        handoff = Handoff(
            host=V4.host,
            media_base=V4.media_base,
            version="1.2.3",
            missing=frozenset({X64_LOADER, ONE_LOADER}),
        )
        [text] = handoff.absent(BIOS_LOADER)
        self.assertIn(X64_LOADER, text)
        self.assertIn(text, handoff.heading(BIOS_LOADER))
        self.assertEqual(len(handoff.absent(ONE_LOADER)), 2)

    def test_dhcpv6_vendor_class(self) -> None:
        """Enterprise 343, then one counted string, as edk2 looks for it."""
        self.assertEqual(HTTP_CLASS_V6, b"\0\0\x01\x57\0\x0aHTTPClient")


class DoubtsTests(SynchronousTestCase):
    def test_addresses_that_machines_cannot_reach(self) -> None:
        """Each gets one sentence that says why and what to set."""
        for host, why in {
            "127.0.0.1": "itself",
            "::1": "itself",
            "0.0.0.0": "no address",
            "::": "no address",
            "169.254.1.2": "one cable",
            "fe80::1": "one cable",
            "224.0.0.1": "group",
            "240.0.0.1": "reserved",
        }.items():
            found = doubts(ip_address(host), derived=False)
            self.assertTrue(any(why in each for each in found), (host, found))
            self.assertTrue(all("RESCRIPTUM_PUBLIC_HOST" in each for each in found))

    def test_ordinary_addresses(self) -> None:
        """Private and public ones are beyond doubt, unless nobody configured them."""
        for host in ("192.168.1.5", "10.0.0.1", "8.8.8.8", "fd00::1", "2a00::1"):
            self.assertEqual(doubts(ip_address(host), derived=False), [])
            [text] = doubts(ip_address(host), derived=True)
            self.assertIn("guessed", text)
