"""Tests for ``rescriptum.tftp.wire``."""

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.errors import MalformedDatagram
from rescriptum.tftp.wire import (
    KINDS,
    Acknowledgement,
    Data,
    Error,
    ErrorCode,
    OptionAcknowledgement,
    ReadRequest,
    WriteRequest,
    decode,
    digits,
    printable,
)

#: What edk2 sends first, as captured (W100).
EDK2 = b"\0\1ipxe.efi\0octet\0tsize\x000\0blksize\x001468\0windowsize\x004\0"
#: Raspberry Pi 2B (field case B23).
PI = bytes.fromhex("000166697875702e646174006f63746574007473697a65003000")

_token = st.binary(min_size=1, max_size=20).filter(lambda each: b"\0" not in each)
_pairs = st.lists(st.tuples(_token.map(bytes.lower), _token), max_size=4).map(tuple)


class DecodeTests(SynchronousTestCase):
    def test_reads_what_firmware_sends(self) -> None:
        """Captured requests come apart into name, mode and options, in the order sent."""
        self.assertEqual(
            decode(EDK2),
            ReadRequest(
                b"ipxe.efi",
                b"octet",
                ((b"tsize", b"0"), (b"blksize", b"1468"), (b"windowsize", b"4")),
            ),
        )
        self.assertEqual(decode(PI), ReadRequest(b"fixup.dat", b"octet", ((b"tsize", b"0"),)))

    def test_case_of_mode_and_option_names_does_not_matter(self) -> None:
        """They compare without regard to case, values and names of files do not (W108)."""
        self.assertEqual(
            decode(b"\0\1Boot\\BCD\0OCTET\0BlkSize\x00512\0"),
            ReadRequest(b"Boot\\BCD", b"octet", ((b"blksize", b"512"),)),
        )

    def test_lets_small_faults_pass(self) -> None:
        """
        A missing last NUL, an odd trailing token, and zeros behind the end are no reason to leave
        a machine without an answer (W117).
        """
        plain = ReadRequest(b"a", b"octet")
        self.assertEqual(decode(b"\0\1a\0octet"), plain)
        self.assertEqual(decode(b"\0\1a\0octet\0blksize\0"), plain)
        self.assertEqual(decode(b"\0\1a\0octet\0\0\0\0\0"), plain)
        self.assertEqual(
            decode(b"\0\1a\0octet\0blksize\x001024"),
            ReadRequest(b"a", b"octet", ((b"blksize", b"1024"),)),
        )

    def test_what_is_no_datagram_is_malformed(self) -> None:
        """No opcode, an unknown one, a request without name or mode, a block without number."""
        for datagram in (
            b"",
            b"\0",
            b"\0\0",
            b"\0\7",
            b"GET / HTTP/1.0",
            b"\0\1",
            b"\0\1\0octet\0",
            b"\0\1name",
            b"\0\1name\0",
            b"\0\1name\0\0",
            b"\0\3\0",
            b"\0\4",
            b"\0\5\0",
        ):
            self.assertRaises(MalformedDatagram, decode, datagram)

    @given(st.binary(max_size=80))
    @settings(max_examples=300, deadline=None)
    def test_is_total(self, datagram: bytes) -> None:
        """Whatever comes is a message or malformed, nothing else."""
        try:
            message = decode(datagram)
        except MalformedDatagram:
            return
        self.assertEqual(message.opcode, int.from_bytes(datagram[:2], "big"))

    @given(
        st.one_of(
            st.builds(ReadRequest, _token, _token.map(bytes.lower), _pairs),
            st.builds(WriteRequest, _token, _token.map(bytes.lower), _pairs),
            st.builds(Data, st.integers(0, 65535), st.binary(max_size=40)),
            st.builds(Acknowledgement, st.integers(0, 65535)),
            st.builds(Error, st.integers(0, 65535), _token | st.just(b"")),
            st.builds(OptionAcknowledgement, _pairs),
        )
    )
    @settings(max_examples=200, deadline=None)
    def test_is_the_opposite_of_encode(self, message: Data) -> None:
        """What was encoded decodes to the same value."""
        self.assertEqual(decode(message.encode()), message)

    def test_kinds_have_their_own_opcodes(self) -> None:
        """The table holds opcodes 1 to 6, each once."""
        self.assertEqual(sorted(KINDS), [1, 2, 3, 4, 5, 6])


class EncodeTests(SynchronousTestCase):
    def test_nothing_follows_the_last_option(self) -> None:
        """Four zero bytes behind it make Cisco's client refuse (field case B22)."""
        message = OptionAcknowledgement(((b"blksize", b"1468"),))
        self.assertEqual(message.encode(), bytes.fromhex("0006626c6b73697a65003134363800"))

    def test_the_text_of_an_error_ends_with_a_nul(self) -> None:
        """Also when there is no text (field case B32)."""
        self.assertEqual(Error(ErrorCode.NOT_FOUND, b"gone").encode(), b"\0\5\0\1gone\0")
        self.assertEqual(Error(0).encode(), b"\0\5\0\0\0")


class DigitsTests(SynchronousTestCase):
    def test_takes_ascii_digits_only(self) -> None:
        """Signs, blanks, underscores, other scripts' digits and long numbers are no number."""
        self.assertEqual(digits(b"1468"), 1468)
        self.assertEqual(digits(b"0"), 0)
        for text in (b"", b"+1", b"-1", b" 1", b"1_0", b"0x10", b"\xd9\xa1", b"123456"):
            self.assertIsNone(digits(text), text)


class PrintableTests(SynchronousTestCase):
    def test_leaves_no_control_character(self) -> None:
        """A name cannot forge a second log line or colour a terminal."""
        self.assertEqual(printable(b"a\r\n\x1b[31m\xff"), "a\\x0d\\x0a\\x1b[31m\\xff")

    def test_is_bounded(self) -> None:
        """A long name is cut, visibly."""
        self.assertEqual(printable(b"x" * 500, 10), "x" * 10 + "…")
