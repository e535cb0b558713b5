"""Tests for ``rescriptum.proxydhcp.request``."""

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.proxydhcp import wire
from rescriptum.proxydhcp.request import PI, PI_VENDORS, Client, Fetches, Request, understood
from rescriptum.proxydhcp.wire import decode
from rescriptum.values import MAC

from .dhcpcases import MACHINE, VECTORS, asked, packet

#: Features of Debian's iPXE, BIOS; without HTTP; without bzImage.
FULL = bytes.fromhex("b105018086100eeb03010000130101180101")
NO_HTTP, NO_KERNEL = bytes.fromhex("130100180101"), bytes.fromhex("130101240101")


def request(options: str | bytes, mac: MAC = MACHINE) -> Request:
    made = understood(decode(packet(options, mac=mac)))
    assert made is not None
    return made


def client(number: int | bytes | None, vendor_class: bytes, *more: tuple[int, bytes]) -> Client:
    return request(asked(wire.DISCOVER, number, vendor_class, *more)).client


class ArchitectureTests(SynchronousTestCase):
    def number(self, listed: bytes | None, vendor_class: bytes = b"PXEClient") -> int:
        return client(listed, vendor_class).number

    def test_is_the_first_of_the_list_that_is_known(self) -> None:
        """B02, W026, W027."""
        self.assertEqual(self.number(b"\0\7\0\x09"), 7)
        self.assertEqual(self.number(b"\0\x99\0\x0b"), 11)
        self.assertEqual(self.number(b"\0\6\0\7"), 6)

    def test_half_a_number_is_none(self) -> None:
        self.assertEqual(self.number(b"\0\7\0"), 7)
        self.assertEqual(self.number(b"\7", b"PXEClient:Arch:00011:UNDI:003000"), 11)

    def test_is_in_the_vendor_class_else(self) -> None:
        """B03, W030, W031: in decimal."""
        self.assertEqual(self.number(None, b"PXEClient:Arch:00011:UNDI:003000"), 11)
        self.assertEqual(self.number(None, b"PXEClient:Arch:00x11:UNDI:003000"), 0)

    def test_is_a_bios_where_nobody_says(self) -> None:
        self.assertEqual(self.number(None), 0)
        self.assertEqual(self.number(b""), 0)

    def test_unknown_ones_keep_their_number(self) -> None:
        """W032: such a machine is listed all the same."""
        made = client(b"\0\x19\0\2", b"PXEClient")
        self.assertEqual((made.number, made.row, made.name), (25, None, "arch-25"))
        self.assertEqual(str(made), "architecture 25")

    def test_has_the_names_that_the_control_plane_knows(self) -> None:
        names = {
            number: client(number, vendor).name
            for number, vendor in (
                (0, b"PXEClient"),
                (7, b"PXEClient"),
                (9, b"PXEClient"),
                (11, b"PXEClient"),
                (16, b"HTTPClient"),
                (19, b"HTTPClient"),
                (6, b"PXEClient"),
            )
        }
        self.assertEqual(
            names,
            {
                0: "bios",
                7: "x86_64-efi",
                9: "x86_64-efi",
                11: "arm64-efi",
                16: "x86_64-efi-http",
                19: "arm64-efi-http",
                6: "arch-6",
            },
        )


class ClientTests(SynchronousTestCase):
    def test_ipxe_says_so_bare_or_counted(self) -> None:
        """W035, W036: its vendor class is a ROM's."""
        for value in (b"iPXE", b"\4iPXE", b"\3foo\4iPXE"):
            made = client(7, b"PXEClient", (wire.USER_CLASS, value))
            self.assertEqual((made.fetches, made.ipxe), (Fetches.SCRIPT, True), value)
        for value in (b"", b"ipxe", b"iPXE2", b"\5iPXE", b"\4gPXE", b"\4", b"\0" * 9):
            self.assertFalse(client(7, b"PXEClient", (wire.USER_CLASS, value)).ipxe, value)

    def test_ipxe_without_what_our_scripts_need_is_sent_for_another(self) -> None:
        """W037, W039: HTTP, and the format of a kernel: bzImage on BIOS, its own on UEFI."""
        ipxe = (wire.USER_CLASS, b"iPXE")
        for number, features, fetches in (
            (0, FULL, Fetches.SCRIPT),
            (0, NO_HTTP, Fetches.IPXE),
            (0, NO_KERNEL, Fetches.IPXE),
            (7, NO_KERNEL, Fetches.SCRIPT),
            (7, FULL, Fetches.IPXE),
        ):
            made = client(number, b"PXEClient", ipxe, (wire.IPXE, features))
            self.assertEqual(made.fetches, fetches, (number, features))
            self.assertTrue(made.ipxe)

    def test_others_are_no_clients_of_ours(self) -> None:
        """Apple's BSDP (W075), a DHCP client, InfiniBand (W083), an answer."""
        for options in (asked(1, 0, b"AAPLBSDPC/i386"), asked(1, None, b"udhcp 1.36"), b"\xff"):
            self.assertIsNone(understood(decode(packet(options))))
        self.assertIsNone(understood(decode(packet(asked(), operation=2))))
        infiniband = bytearray(packet(asked()))
        infiniband[1:3] = 32, 0
        self.assertIsNone(understood(decode(bytes(infiniband))))

    def test_a_raspberry_pi_is_told_by_its_vendor(self) -> None:
        """W068: its ROM says that it is a BIOS PC; with UEFI or iPXE it is like any other."""
        for vendor in PI_VENDORS:
            mac = MAC(vendor.hex() + "000001")
            rom = request(asked(1, 0, b"PXEClient:Arch:00000:UNDI:002001"), mac).client
            self.assertEqual((rom.pi, rom.number, rom.name), (True, PI, "arch-41"))
            uefi = request(asked(1, 11, b"PXEClient:Arch:00011:UNDI:003000"), mac).client
            self.assertEqual((uefi.pi, uefi.name), (False, "arm64-efi"))
            ipxe = request(asked(1, 11, None, (wire.USER_CLASS, b"iPXE")), mac).client
            self.assertEqual((ipxe.pi, ipxe.fetches), (False, Fetches.SCRIPT))

    def test_captured_ones_are_what_they_are(self) -> None:
        """Every packet there is of real clients; what installers and ramdisks ask is not for us."""
        for vector in VECTORS:
            made = understood(decode(vector.packet))
            if vector.architecture is None:
                self.assertIsNone(made, vector.name)
                continue
            assert made is not None
            self.assertEqual(made.client.number, vector.architecture)
            fetches = Fetches.NAME
            if vector.client == "iPXE":
                fetches = Fetches.SCRIPT
            elif vector.vendor_class.startswith("HTTPClient"):
                fetches = Fetches.URL
            self.assertEqual(made.client.fetches, fetches, vector.name)
            self.assertEqual(made.uuid, "11111111-2222-3333-4444-555555555555")


class MachineIdTests(SynchronousTestCase):
    OCTETS = bytes(range(16))

    def said(self, value: bytes, *more: tuple[int, bytes]) -> Request:
        return request(asked(1, 7, None, (wire.MACHINE_ID, value), *more))

    def test_only_sane_ones_are_said_back(self) -> None:
        """B06, W033."""
        self.assertEqual(self.said(b"\0" + self.OCTETS).machine_id, b"\0" + self.OCTETS)
        for value in (b"", self.OCTETS, b"\1" + self.OCTETS, b"\0" + self.OCTETS + b"\0"):
            made = self.said(value)
            self.assertEqual((made.machine_id, made.uuid), (b"", ""), value)

    def test_firmware_and_ipxe_mean_one_uuid(self) -> None:
        """Both say it as SMBIOS has it (W078)."""
        for more in ((), ((wire.USER_CLASS, b"iPXE"),)):
            made = self.said(b"\0" + self.OCTETS, *more)
            self.assertEqual(made.uuid, "03020100-0504-0706-0809-0a0b0c0d0e0f")


class GarbageTests(SynchronousTestCase):
    @given(
        st.dictionaries(st.sampled_from(sorted(wire.WANTED)), st.binary(max_size=80), max_size=8)
    )
    def test_understands_anything(self, options: dict[int, bytes]) -> None:
        """Whatever is in the options: a request, or none."""
        said = {**options, wire.VENDOR_CLASS: b"PXEClient" + options.get(wire.VENDOR_CLASS, b"")}
        made = understood(decode(packet(wire.encode_options(said.items()) + b"\xff")))
        if made is not None:
            self.assertTrue(str(made.client) and made.client.name)
            self.assertIn(len(made.uuid), (0, 36))
