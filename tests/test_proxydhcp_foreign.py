"""Tests for ``rescriptum.proxydhcp.foreign``."""

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.proxydhcp import wire
from rescriptum.proxydhcp.foreign import MOST, Finding, Foreigners
from rescriptum.proxydhcp.wire import decode, encode_options

from .dhcpcases import SERVER, packet

OTHER = bytes((10, 0, 0, 2))
PXE = (wire.VENDOR_CLASS, b"PXEClient")
FILE = (wire.BOOT_FILE, b"pxelinux.0")


def offer(
    *options: tuple[int, bytes],
    server: bytes = OTHER,
    gives: bytes = bytes((10, 0, 0, 50)),
    kind: int = wire.OFFER,
    operation: int = 2,
) -> bytes:
    said = encode_options([(wire.MESSAGE_TYPE, bytes((kind,))), (wire.SERVER, server), *options])
    made = bytearray(packet(said + b"\xff", operation=operation))
    made[16:20] = gives
    return bytes(made)


class ForeignersTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.foreigners = Foreigners(SERVER.packed)

    def heard(self, datagram: bytes) -> tuple[Finding, ...]:
        return self.foreigners.heard(decode(datagram), "10.0.0.9")

    def codes(self, datagram: bytes) -> list[str]:
        return [each.code for each in self.heard(datagram)]

    def test_a_plain_dhcp_server_is_fine(self) -> None:
        self.assertEqual(self.codes(offer()), [])

    def test_a_rival_is_told_once(self) -> None:
        """W003; in option 67, in the field, or by option 60 alone."""
        for options in ((PXE, FILE), (PXE,), (FILE,)):
            self.setUp()
            rival = offer(*options, gives=bytes(4))
            self.assertEqual(self.codes(rival), ["another-proxy"])
            self.assertEqual(self.codes(rival), [])

    def test_option_60_of_a_dhcp_server_is_told(self) -> None:
        """W008: with the line to remove."""
        [finding] = self.heard(offer(PXE))
        self.assertEqual((finding.server, finding.code), ("10.0.0.2", "vendor-class"))
        self.assertIn("dhcp-option=60", finding.cure)

    def test_a_boot_file_of_a_dhcp_server_is_told(self) -> None:
        """W060; its ACK says it as well as its offer."""
        self.assertEqual(self.codes(offer(FILE, kind=wire.ACK)), ["boot-file"])
        self.assertEqual(self.codes(offer(PXE, FILE)), ["vendor-class"])
        field = bytearray(offer(server=bytes((10, 0, 0, 3))))
        field[108:112] = b"a.b\0"
        self.assertEqual(self.codes(bytes(field)), ["boot-file"])
        self.assertEqual(len(self.foreigners.findings), 3)

    def test_only_other_servers_words_count(self) -> None:
        """Not our own, not what machines ask, not a NAK."""
        self.assertEqual(self.codes(offer(PXE, server=SERVER.packed)), [])
        self.assertEqual(self.codes(offer(PXE, operation=1)), [])
        self.assertEqual(self.codes(offer(PXE, kind=6)), [])

    def test_one_without_option_54_is_known_by_its_address(self) -> None:
        [finding] = self.heard(offer(FILE, server=b""))
        self.assertEqual(finding.server, "10.0.0.9")

    def test_a_stranger_can_make_up_only_so_many(self) -> None:
        for number in range(MOST + 5):
            self.heard(offer(PXE, server=bytes((10, 1, 0, number))))
        self.assertEqual(len(self.foreigners.findings), MOST)

    @given(st.binary(max_size=300))
    def test_hears_anything(self, options: bytes) -> None:
        self.heard(packet(options, operation=2))
