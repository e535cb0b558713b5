"""Tests for ``rescriptum.boot.names``."""

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.boot.names import MAX_NAME, MAX_SEGMENTS, segments
from rescriptum.errors import Forbidden, NotFound, Refused

#: What firmware was seen to send, and what it meant.
SPELLINGS = {
    b"ipxe-x86_64.efi": ("ipxe-x86_64.efi",),
    b"/ipxe-x86_64.efi": ("ipxe-x86_64.efi",),
    b"//ipxe-x86_64.efi": ("ipxe-x86_64.efi",),
    b"./x64//./shimx64.efi": ("x64", "shimx64.efi"),
    b"\\x64\\grubx64.efi": ("x64", "grubx64.efi"),
    b"x64\\/grubx64.efi": ("x64", "grubx64.efi"),
    b"ipxe.efi\xff": ("ipxe.efi",),
    b"ipxe.efi\xff\xff": ("ipxe.efi",),
    b"ipxe.efi\0": ("ipxe.efi",),
    b"ipxe.efi \r\n": ("ipxe.efi",),
    b"ipxe.efi\0\xff \r": ("ipxe.efi",),
    b"\\Boot\\BCD": ("Boot", "BCD"),
    b"...": ("...",),
    b"a..b": ("a..b",),
    "é.efi".encode(): ("é.efi",),
}


class SegmentsTests(SynchronousTestCase):
    def test_every_spelling_of_firmware(self) -> None:
        """
        Slashes of both kinds, repeated ones, ``.``, and what ROMs leave after the name
        (W046, W137, W138) all come to the same segments.
        """
        for name, expected in SPELLINGS.items():
            self.assertEqual(segments(name), expected, name)

    def test_leaving_the_directory_is_forbidden(self) -> None:
        """``..`` between any separators, and a NUL inside the name, are refused (W147)."""
        for name in (
            b"..",
            b"../etc/passwd",
            b"/../../etc/passwd",
            b"..\\..\\etc\\passwd",
            b"x64/..\\../etc/passwd",
            b"x64/..",
            b"..\xff",
            b"../",
            b"ipxe.efi\0/../../etc/passwd",
            b"a\0b",
        ):
            with self.assertRaises(Forbidden, msg=repr(name)):
                segments(name)

    def test_names_that_no_file_has(self) -> None:
        """Empty names, other encodings and control characters are simply not found."""
        for name in (b"", b"/", b"\\", b"./.", b"\xff", b"\xc0\xaf", b"\xe9.efi", b"a\x1b[2J"):
            with self.assertRaises(NotFound, msg=repr(name)):
                segments(name)

    def test_length_is_bounded(self) -> None:
        """One byte over the bound is refused before anything else is done with it."""
        self.assertEqual(segments(b"a" * MAX_NAME), ("a" * MAX_NAME,))
        self.assertRaises(NotFound, segments, b"a" * (MAX_NAME + 1))

    def test_depth_is_bounded(self) -> None:
        """As many segments as the bound allows, and not one more."""
        self.assertEqual(len(segments(b"a/" * MAX_SEGMENTS)), MAX_SEGMENTS)
        self.assertRaises(NotFound, segments, b"a/" * (MAX_SEGMENTS + 1))

    @settings(max_examples=300, deadline=None)
    @given(st.binary(max_size=MAX_NAME + 8) | st.text("./\\a\xff\0 ").map(str.encode))
    def test_is_total(self, name: bytes) -> None:
        """Any bytes give safe segments or a refusal, and segments are stable."""
        try:
            parts = segments(name)
        except Refused:
            return
        for part in parts:
            self.assertNotIn(part, ("", ".", ".."))
            self.assertNotIn("/", part)
            self.assertNotIn("\\", part)
            self.assertNotIn("\0", part)
        again = "/".join(parts).encode()
        if again == again.rstrip(b" "):
            self.assertEqual(segments(again), parts)
