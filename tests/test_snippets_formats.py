"""Tests for ``rescriptum.snippets``: every format, against the whole output and the table."""

import json
import re
from ipaddress import ip_address
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from rescriptum.boot.loaders import BIOS_LOADER, FALLBACK, ONE_LOADER, SERVED, Transport
from rescriptum.errors import NotFound, Refused
from rescriptum.snippets.formats import FORMATS, NAMES, resolve
from rescriptum.snippets.handoff import Handoff

GOLDEN = Path(__file__).parent / "golden" / "snippets"
#: Those where every architecture has a line of its own that takes effect.
BY_ARCHITECTURE = ("dnsmasq", "isc", "kea", "powershell", "opnsense")


def handoff(
    host: str = "192.0.2.10", *, one_loader: bool = False, missing: frozenset[str] = frozenset()
) -> Handoff:
    address = ip_address(host)
    shown = f"[{address}]" if address.version == 6 else str(address)
    return Handoff(
        host=address,
        media_base=f"http://{shown}:8001",
        version="1.2.3",
        one_loader=one_loader,
        missing=missing,
    )


V4, V6, ONE = handoff(), handoff("2001:db8::10"), handoff(one_loader=True)


class FormatsTests(SynchronousTestCase):
    def test_names_are_unique(self) -> None:
        """A name or a synonym means one format."""
        self.assertEqual(len(set(NAMES)), len(NAMES))
        for name in NAMES:
            self.assertIn(name, (resolve(name.upper()).name, *resolve(name).synonyms))

    def test_synonyms(self) -> None:
        """Servers are known by more than one name."""
        for name, means in {
            "dhcpd": "isc",
            "windows": "powershell",
            "routeros": "mikrotik",
        }.items():
            self.assertIs(resolve(name), resolve(means))

    def test_netsh_is_refused_with_its_reason(self) -> None:
        """netsh has no policies; the text names what has."""
        error = self.assertRaises(Refused, resolve, "netsh")
        self.assertIn("powershell", str(error))

    def test_an_unknown_name_lists_the_known_ones(self) -> None:
        """All of them."""
        error = self.assertRaises(NotFound, resolve, "bind9")
        for name in NAMES:
            self.assertIn(name, str(error))

    def test_golden(self) -> None:
        """Each format's output is what was read and approved, to the byte."""
        for each in FORMATS:
            ending = "json" if each.name == "kea" else "txt"
            cases = {"": V4, "-one": ONE, **({"-v6": V6} if each.v6 else {})}
            for suffix, case in cases.items():
                expected = (GOLDEN / f"{each.name}{suffix}.{ending}").read_text("utf-8")
                self.assertEqual(each.render(case), expected, each.name + suffix)

    def test_every_served_architecture_is_told_its_loader(self) -> None:
        """Every code or vendor class, and every loader of the table, in every such format."""
        for name in BY_ARCHITECTURE:
            text = resolve(name).render(V4)
            for row in SERVED:
                self.assertIn(row.vendor_class, text, name)
                assert row.loader is not None
                self.assertIn(row.loader, text, name)

    def test_http_boot(self) -> None:
        """
        HTTPClient is said back (W061), the URL is whole (W062) and is one that we answer, in
        every format that can say it.
        """
        urls = {
            f"http://192.0.2.10:8001/boot/{row.loader}"
            for row in SERVED
            if row.transport is Transport.HTTP
        }
        for name in (*BY_ARCHITECTURE, "mikrotik"):
            text = resolve(name).render(V4)
            self.assertEqual(set(re.findall(r"http://[^\s'\",;]*/boot/[\w.-]+", text)), urls, name)
            said_back = re.findall(r"(?:HTTPClient)(?!:Arch)", text)
            self.assertEqual(len(said_back), len(urls), name)

    def test_nothing_else_is_named(self) -> None:
        """No format names a file that the table does not have (B13)."""
        known = {row.loader for row in SERVED} | {FALLBACK, ONE_LOADER}
        for each in FORMATS:
            for case in (V4, ONE, *((V6,) if each.v6 else ())):
                text = each.render(case)
                names = set(re.findall(r"[\w.-]+\.(?:efi|kpxe|pxe|0)\b(?!\.)", text))
                self.assertTrue(names - {"0.0.0.0", "192.0.2.0"} <= known, (each.name, names))

    def test_stock_ipxe_does_not_load_itself(self) -> None:
        """
        Servers that can test option 77 send iPXE to the script; the others never give BIOS
        machines a loader that would only be given itself again.
        """
        for each in FORMATS:
            text = each.render(V4)
            if "http://192.0.2.10:8001/ipxe/bootstrap" in text:
                self.assertEqual(each.bios, BIOS_LOADER)
            else:
                self.assertEqual(each.bios, ONE_LOADER)
                self.assertNotIn(BIOS_LOADER, text)

    def test_one_loader(self) -> None:
        """One file for everybody, pxelinux, and no architecture at all."""
        for each in FORMATS:
            text = each.render(ONE)
            self.assertIn(ONE_LOADER, text)
            self.assertNotIn("Arch", text)
            self.assertNotIn(".efi", text)

    def test_a_default_without_a_condition(self) -> None:
        """ROMs that send no option 93 get the fallback, from the last lines."""
        self.assertTrue(
            resolve("dnsmasq").render(V4).endswith(f"\ndhcp-boot={FALLBACK},,192.0.2.10\n")
        )
        self.assertIn(FALLBACK, resolve("isc").render(V4).rpartition("else")[2])
        document = json.loads(resolve("kea").render(V4))
        self.assertEqual(document["Dhcp4"]["boot-file-name"], FALLBACK)
        self.assertTrue(
            resolve("powershell")
            .render(V4)
            .endswith(f"\nSet-DhcpServerv4OptionValue -OptionId 67 -Value '{FALLBACK}'\n")
        )

    def test_kea_is_plain_json(self) -> None:
        """No comment in it; every class has both the field and option 67, and next-server."""
        document = json.loads(resolve("kea").render(handoff(missing=frozenset({FALLBACK}))))
        server = document["Dhcp4"]
        self.assertIn(FALLBACK, server["user-context"]["comment"][-1])
        for each in (server, *server["client-classes"]):
            data = {option["name"]: option["data"] for option in each["option-data"]}
            self.assertEqual(each["next-server"], "192.0.2.10")
            self.assertEqual(data["boot-file-name"], each["boot-file-name"])

    def test_a_missing_loader_is_a_comment(self) -> None:
        """S47: what is not on the disk is said in the snippet itself."""
        for each in FORMATS:
            missing = handoff(missing=frozenset({each.bios}))
            text = each.render(missing)
            self.assertIn(f"MISSING {each.bios}", text, each.name)
            if each.name != "kea":
                self.assertIn(f"\n# MISSING {each.bios}", text, each.name)

    def test_dhcpv6(self) -> None:
        """Formats that know it name option 59's URL in brackets (W089); the others refuse."""
        for each in FORMATS:
            if not each.v6:
                error = self.assertRaises(Refused, each.render, V6)
                self.assertIn("--host", str(error))
                continue
            text = each.render(V6)
            self.assertIn("tftp://[2001:db8::10]/ipxe-x86_64.efi", text)
            self.assertIn("http://[2001:db8::10]:8001/boot/ipxe-x86_64.efi", text)
            self.assertIn("http://[2001:db8::10]:8001/ipxe/bootstrap", text)
            self.assertRaises(Refused, each.render, handoff("::1", one_loader=True))

    def test_dnsmasq_names_dhcpv6_options_as_such(self) -> None:
        """Options without ``option6:`` do nothing in DHCPv6 (W088)."""
        for line in resolve("dnsmasq").render(V6).splitlines():
            if line.startswith(("dhcp-option", "dhcp-match")):
                self.assertIn("option6:", line)

    def test_every_format_is_in_the_guide(self) -> None:
        """docs/dhcp.md has each name and synonym."""
        guide = (Path(__file__).parent.parent / "docs" / "dhcp.md").read_text("utf-8")
        for name in (*NAMES, "netsh"):
            self.assertIn(f"`{name}`", guide)
