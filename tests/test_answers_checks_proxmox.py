"""Tests for ``rescriptum.answers.checks.proxmox``, and of how findings and shapes speak."""

import re

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.answers.checks.finding import MAX_FINDINGS, Severity
from rescriptum.answers.checks.proxmox import check

GOOD = """
[global]
country = "at"
fqdn = "pve1.example.org"
keyboard = "de"
mailto = "root@example.org"
timezone = "Europe/Vienna"
root-password-hashed = "$y$j9T$x"

[network]
source = "from-dhcp"

[disk-setup]
filesystem = "zfs"
zfs.raid = "raid1"
disk-list = ["sda", "sdb"]
"""
#: What the installer's own tests accept, in the spelling of before.
UNDERSCORES = """
[global]
keyboard = "de"
country = "at"
fqdn.source = "from-dhcp"
fqdn.domain = ""
mailto = "mail@no.invalid"
timezone = "Europe/Vienna"
root_password = "12345678"
reboot_on_error = false
root_ssh_keys = []

[network]
source = "from-answer"
cidr = "10.10.10.10/24"
dns = "10.10.10.1"
gateway = "fd00::1"
filter.ID_NET_NAME_MAC = "*a0369f0ab382"
interface-name-pinning.enabled = true
interface-name-pinning.mapping."ab:cd:ef:12:34:56" = "mgmt0"

[disk-setup]
filesystem = "ext4"
filter.ID_SERIAL = "*"
filter_match = "all"
lvm.hdsize = 80.5

[first-boot]
source = "from-iso"
ordering = "fully-up"

[post-installation-webhook]
url = "http://192.0.2.10:8000/installed"
cert_fingerprint = "AA"
auth-token = "x"
"""


def found(text: str) -> list[str]:
    """:returns: each finding with its severity in front."""
    return [f"{each.severity.value} {each}" for each in check(text.encode()).findings]


class ProxmoxTests(SynchronousTestCase):
    def test_both_spellings_are_fine(self) -> None:
        for text in (GOOD, UNDERSCORES):
            checked = check(text.encode())
            self.assertEqual(checked.kind, "Proxmox answer file")
            self.assertEqual(found(text), [])

    def test_other_toml_is_nobodys(self) -> None:
        for text in ("", "title = 'x'\n[owner]\nname = 'y'\n"):
            self.assertEqual((check(text.encode()).kind, found(text)), ("", []))

    def test_mistakes(self) -> None:
        """Each names where it is and what would be right."""
        for written, instead, said in (
            ('fqdn = "pve1.example.org"', "", "problem global: fqdn is missing"),
            (
                'fqdn = "pve1.example.org"',
                'fqdn = "pve1"',
                "problem global.fqdn: want a host name with its domain, as pve1.example.org, "
                "not 'pve1'",
            ),
            ('"at"', '"AT"', "problem global.country: want two small letters, as at, not 'AT'"),
            ('"at"', "43", "problem global.country: want text, not a whole number"),
            (
                '"de"',
                '"en_us"',
                "problem global.keyboard: want de, de-ch, dk, en-gb, en-us, es, fi, fr, fr-be, "
                "fr-ca, fr-ch, hu or another of 25, not 'en_us'; did you mean en-us?",
            ),
            (
                'mailto = "',
                'mail-to = "',
                "warning global.mail-to: unknown key; did you mean mailto?",
            ),
            (
                '"$y$j9T$x"',
                '"secret"',
                "problem global.root-password-hashed: want a hash, as mkpasswd prints it: it "
                "begins with $",
            ),
            (
                "root-password-hashed = ",
                'root-password = "1234567"\n#',
                "problem global.root-password: want 8 characters or more",
            ),
            (
                "root-password-hashed = ",
                'root-password = "12345678"\nroot-password-hashed = ',
                "problem global: want root-password or root-password-hashed, not both",
            ),
            (
                "root-password-hashed = ",
                "# ",
                "problem global: root-password or root-password-hashed is missing",
            ),
            (
                "timezone = ",
                "reboot_on_error = true\nreboot-on-error = true\ntimezone = ",
                "problem global.reboot-on-error: it is there in both spellings",
            ),
            ("[network]", "[netwrok]", "problem network is missing"),
            ("[network]", "[netwrok]", "warning netwrok: unknown key; did you mean network?"),
            (
                'source = "from-dhcp"',
                "",
                'warning network: source is missing: newer installers want source = "from-dhcp"',
            ),
            (
                'source = "from-dhcp"',
                'source = "from-dhcp"\ncidr = "10.0.0.1/8"',
                'problem network.cidr: cidr is only for source = "from-answer"',
            ),
            (
                'source = "from-dhcp"',
                'source = "from-answer"\ncidr = "10.0.0.1"\ndns = "x"',
                "problem network.cidr: want an address and its mask, as 192.0.2.10/24, "
                "not '10.0.0.1'",
            ),
            (
                'source = "from-dhcp"',
                'source = "from-answer"\ncidr = "10.0.0.1/8"\ndns = "x"',
                "problem network.dns: want an address, as 192.0.2.1, not 'x'",
            ),
            (
                'source = "from-dhcp"',
                'source = "from-answer"',
                "problem network: gateway is missing: the source is from-answer",
            ),
            (
                '"zfs"',
                '"ext3"',
                "problem disk-setup.filesystem: want ext4, xfs, zfs or btrfs, not 'ext3'; "
                "did you mean ext4?",
            ),
            ('"zfs"', '"xfs"', "problem disk-setup.disk-list: want one disk for xfs"),
            ('"zfs"', '"xfs"', "problem disk-setup.zfs: not for filesystem xfs"),
            ("zfs.raid", "zfs.copies = 2\n#", "problem disk-setup: zfs.raid is missing"),
            (
                '["sda", "sdb"]',
                "[]",
                "problem disk-setup: disk-list or filter is missing: which disks?",
            ),
            (
                '"sdb"]',
                '"sdb"]\nfilter.X = "*"',
                "problem disk-setup: want disk-list or filter, not both",
            ),
            ('"sdb"]', '"sda"]', "problem disk-setup.disk-list: a disk is there twice"),
            ('"sdb"]', "2]", "problem disk-setup.disk-list[1]: want text, not a whole number"),
            (
                "[network]",
                '[first-boot]\nsource = "from-url"\n[network]',
                "problem first-boot: url is missing: the source is from-url",
            ),
            (
                "[network]",
                "[post-installation-webhook]\n[network]",
                "problem post-installation-webhook: url is missing",
            ),
        ):
            self.assertIn(written, GOOD)
            self.assertIn(said, found(GOOD.replace(written, instead)))

    def test_values_of_any_type(self) -> None:
        """Whatever stands for a text or a table: it is found, and nothing is raised."""
        for text in GOOD, UNDERSCORES:
            for written in re.findall(r" = (.+)", text):
                for instead in ("[[]]", "2001-01-01"):
                    wrong = text.replace(f" = {written}", f" = {instead}")
                    self.assertNotEqual(found(wrong), [], wrong)
            for section in re.findall(r"(?m)^\[(.+)\]$", text):
                wrong = f"{section} = 5\n" + text.replace(f"[{section}]", "[nothing]")
                self.assertIn(f"problem {section}: want a table, not a whole number", found(wrong))

    def test_what_is_no_toml(self) -> None:
        [said] = found("[global]\nfqdn =\n")
        self.assertTrue(said.startswith("problem not TOML: Invalid value (at line 2"), said)

    def test_findings_are_bounded(self) -> None:
        many = GOOD + "".join(f"k{at} = 1\n" for at in range(MAX_FINDINGS * 2))
        self.assertEqual(len(found(many)), MAX_FINDINGS)

    @settings(max_examples=200, deadline=None)
    @given(
        st.binary(max_size=60), st.sampled_from(["", "[global]\n", "global = ", "[disk-setup]\n"])
    )
    def test_anything_is_checked(self, data: bytes, before: str) -> None:
        """Whatever it is: findings, and no exception."""
        for each in check(before.encode() + data).findings:
            self.assertIsInstance(each.severity, Severity)
