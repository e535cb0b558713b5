"""Tests for ``rescriptum.proxydhcp.wire``."""

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.errors import MalformedDatagram
from rescriptum.proxydhcp import wire
from rescriptum.proxydhcp.wire import decode, dotted, encode_options, suboptions

from .dhcpcases import MACHINE, VECTORS, XID, packet

_values = st.lists(
    st.tuples(st.sampled_from(sorted(wire.WANTED - {wire.OVERLOAD})), st.binary(max_size=600)),
    max_size=5,
    unique_by=lambda pair: pair[0],
)


class DecodeTests(SynchronousTestCase):
    def test_reads_what_clients_send(self) -> None:
        """Every packet that was captured, by what its capture says of it."""
        kinds = {"DISCOVER": wire.DISCOVER, "REQUEST": wire.REQUEST}
        for vector in VECTORS:
            made = decode(vector.packet)
            self.assertEqual(made.operation, wire.BOOTREQUEST)
            self.assertEqual(made.kind, kinds[vector.message])
            self.assertEqual(made.options[wire.VENDOR_CLASS], vector.vendor_class.encode())
            self.assertTrue(made.ethernet)
        self.assertEqual(len(VECTORS), 54)

    def test_knows_the_fields(self) -> None:
        made = decode(packet("ff", secs=4, client="10.0.0.50", relay="10.9.0.1"))
        self.assertEqual((made.xid, made.mac.hex()), (XID, MACHINE.bare))
        self.assertEqual(dotted(made.client_address), "10.0.0.50")
        self.assertEqual(dotted(made.relay), "10.9.0.1")
        self.assertEqual((made.your_address, made.next_server), (wire.NOWHERE, wire.NOWHERE))
        self.assertEqual(made.kind, 0)

    def test_padding_has_no_length(self) -> None:
        """RFC 2132 section 3.1."""
        self.assertEqual(decode(packet("0000 35 01 01 00 5d 02 00 07 00 ff")).kind, 1)

    def test_nothing_is_behind_the_end(self) -> None:
        self.assertEqual(decode(packet("35 01 01 ff 35 01 03")).options, {53: b"\1"})

    def test_parts_of_an_option_are_joined(self) -> None:
        """RFC 3396 (W057)."""
        made = decode(packet("3c 03 505845 35 01 01 3c 06 436c69656e74 ff"))
        self.assertEqual(made.options[wire.VENDOR_CLASS], b"PXEClient")

    def test_what_is_cut_off_is_left_out(self) -> None:
        """And what came before it counts."""
        for end in ("5d", "5d02", "5d0200", "3cff5058"):
            self.assertEqual(decode(packet("35 01 01" + end)).options, {53: b"\1"}, end)
        self.assertEqual(decode(packet("35 01 01 5d 02 00 07")).options[93], b"\0\7")

    def test_options_may_be_in_other_fields(self) -> None:
        """Option 52: in ``file``, in ``sname``, or in both, in this order (RFC 3396 section 5)."""
        made = bytearray(packet("34 01 03 3c 03 505845 ff"))
        made[108:115] = bytes.fromhex("3c 04 436c6965 ff")
        made[44:49] = bytes.fromhex("3c 02 6e74 ff")
        both = decode(bytes(made))
        self.assertEqual(both.options[wire.VENDOR_CLASS], b"PXEClient")
        self.assertEqual(both.file, b"")
        made[242] = 1
        self.assertEqual(decode(bytes(made)).options[wire.VENDOR_CLASS], b"PXEClie")
        made[242] = 2
        self.assertEqual(decode(bytes(made)).options[wire.VENDOR_CLASS], b"PXEnt")

    def test_the_file_field_ends_at_its_nul(self) -> None:
        made = bytearray(packet("ff"))
        made[108:114] = b"a.efi\0"
        self.assertEqual(decode(bytes(made)).file, b"a.efi")

    def test_what_is_no_dhcp_is_malformed(self) -> None:
        for datagram in (b"", bytes(239), bytes(300), packet("ff")[:239]):
            with self.assertRaises(MalformedDatagram):
                decode(datagram)

    @given(st.one_of(st.binary(max_size=700), st.binary(max_size=400).map(packet)))
    def test_reads_anything(self, datagram: bytes) -> None:
        """Or says that it is malformed, and nothing else."""
        try:
            made = decode(datagram)
        except MalformedDatagram:
            return
        self.assertLessEqual(set(made.options), wire.WANTED)
        self.assertIsInstance((made.kind, made.ethernet, made.file, made.mac), tuple)

    @given(_values)
    def test_reads_what_it_writes(self, options: list[tuple[int, bytes]]) -> None:
        """Of any length: RFC 3396 again."""
        self.assertEqual(decode(packet(encode_options(options) + b"\xff")).options, dict(options))


class SuboptionTests(SynchronousTestCase):
    def test_reads_whole_ones(self) -> None:
        self.assertEqual(
            suboptions(bytes.fromhex("4704800000000006 0108 ff 0100")),
            {71: b"\x80\0\0\0", 6: b"\x08"},
        )
        self.assertEqual(suboptions(bytes.fromhex("060108 0a05 00")), {6: b"\x08"})

    @given(st.binary())
    def test_reads_anything(self, value: bytes) -> None:
        self.assertNotIn(0, suboptions(value))
