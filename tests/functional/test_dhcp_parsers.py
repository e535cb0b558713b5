"""The snippets before the parsers of the real DHCP servers, where Debian packages one."""

import json
import subprocess
from collections.abc import Sequence
from ipaddress import ip_address
from pathlib import Path
from shutil import which

from twisted.trial.unittest import SkipTest, SynchronousTestCase

from rescriptum.snippets.formats import resolve
from rescriptum.snippets.handoff import Handoff

SUBNET = "subnet 192.0.2.0 netmask 255.255.255.0 { range 192.0.2.100 192.0.2.200; }\n"
SUBNET6 = "subnet6 2001:db8::/64 { range6 2001:db8::100 2001:db8::200; }\n"


def snippet(format_name: str, host: str = "192.0.2.10", *, one_loader: bool = False) -> str:
    address = ip_address(host)
    shown = f"[{address}]" if address.version == 6 else str(address)
    return resolve(format_name).render(
        Handoff(
            host=address,
            media_base=f"http://{shown}:8001",
            version="1.2.3",
            one_loader=one_loader,
            missing=frozenset({"ipxe-arm64.efi"}),
        )
    )


class ParserTests(SynchronousTestCase):
    def accepted(self, text: str, *command: str, more: Sequence[str] = ()) -> bool:
        if which(command[0]) is None:
            raise SkipTest(f"no {command[0]} here")
        path = Path(self.mktemp())
        path.write_text(text, "utf-8")
        done = subprocess.run(
            [*command, str(path.resolve()), *more], capture_output=True, text=True, timeout=60
        )
        self.said = done.stdout + done.stderr
        return done.returncode == 0

    def test_dnsmasq(self) -> None:
        """dnsmasq --test takes all three forms, beside a range as an operator has it."""
        for text in (
            snippet("dnsmasq") + "dhcp-range=192.0.2.100,192.0.2.200\n",
            snippet("dnsmasq", one_loader=True),
            snippet("dnsmasq", "2001:db8::10") + "dhcp-range=2001:db8::100,2001:db8::200\n",
            snippet("dnsmasq") + snippet("dnsmasq", "2001:db8::10"),
            snippet("opnsense"),
        ):
            self.assertTrue(self.accepted(text, "dnsmasq", "--test", "-C"), self.said)
        self.assertFalse(self.accepted("dhcp-boot=tag:\n-\n", "dnsmasq", "--test", "-C"))

    def test_isc(self) -> None:
        """dhcpd -t takes the statements in its global scope, before a subnet or after it."""
        for text in (
            snippet("isc") + SUBNET,
            SUBNET + snippet("isc"),
            snippet("isc", one_loader=True) + SUBNET,
            # A site that has its own declaration of option 93 already.
            "option arch code 93 = unsigned integer 16;\n" + snippet("isc") + SUBNET,
        ):
            self.assertTrue(self.accepted(text, "dhcpd", "-t", "-4", "-cf"), self.said)
        self.assertFalse(self.accepted("filename;\n" + SUBNET, "dhcpd", "-t", "-4", "-cf"))

    def test_isc_dhcpv6(self) -> None:
        """dhcpd -6 -t likewise."""
        text = snippet("isc", "2001:db8::10") + SUBNET6
        self.assertTrue(self.accepted(text, "dhcpd", "-t", "-6", "-cf"), self.said)

    def test_kea(self) -> None:
        """kea-dhcp4 -t, which parses the expressions of the classes too."""
        for text in (snippet("kea"), snippet("kea", one_loader=True)):
            self.assertTrue(self.accepted(text, "kea-dhcp4", "-t"), self.said)
        broken = json.loads(snippet("kea"))
        broken["Dhcp4"]["client-classes"][1]["test"] = "option[93].hex = 7"
        self.assertFalse(self.accepted(json.dumps(broken), "kea-dhcp4", "-t"))

    def test_kea_dhcpv6(self) -> None:
        """kea-dhcp6 -t likewise."""
        text = snippet("kea", "2001:db8::10")
        self.assertTrue(self.accepted(text, "kea-dhcp6", "-t"), self.said)
