"""Tests for ``rescriptum.web.body``."""

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.web.body import MAX_LINE, Body, TooLarge
from rescriptum.web.head import CHUNKED, Unreadable


def read(data: bytes, limit: int = 100, pieces: int = 0) -> tuple[bytes, bytes]:
    body = Body(CHUNKED, limit)
    rest = b""
    for at in range(0, len(data), pieces or len(data)):
        piece = data[at : at + (pieces or len(data))]
        if body.complete:
            rest += piece
        else:
            body.feed(piece)
            rest += body.rest
    if not body.complete:
        raise EOFError
    return bytes(body.data), rest


class BodyTests(SynchronousTestCase):
    def test_chunks(self) -> None:
        """Extensions and trailers are read past; what follows is left."""
        data = b"5;x=y\r\nhello\r\n0006 \r\n world\r\n0\r\nX-Digest: 1\r\n\r\nGET /"
        for pieces in (0, 1, 2, 3, 7):
            self.assertEqual(read(data, pieces=pieces), (b"hello world", b"GET /"))

    def test_chunks_that_are_none(self) -> None:
        for data in (
            b"x\r\n",
            b"\r\n",
            b"-1\r\n",
            b"+1\r\na\r\n",
            b"0x1\r\na\r\n",
            b"1_0\r\n",
            b"123456789\r\n",
            b"1\r\nab\r\n",
            b"1\nA\n0\n\n" + b" " * 300,
            b"1;" + b"x" * MAX_LINE + b"\r\n",
            b"0\r\nfoo\r\n\r\n",
            b"0\r\n" + b"A: b\r\n" * 700,
        ):
            for pieces in (0, 1):
                error = self.assertRaises(Unreadable, read, data, pieces=pieces)
                self.assertEqual(error.status, 400, data[:20])

    def test_bounds(self) -> None:
        """A declared length is refused from the header, a chunk from its size."""
        self.assertEqual(read(b"64\r\n" + b"a" * 100 + b"\r\n0\r\n\r\n")[0], b"a" * 100)
        self.assertRaises(TooLarge, read, b"65\r\n")
        self.assertRaises(TooLarge, read, b"32\r\n" + b"a" * 50 + b"\r\n33\r\n")
        self.assertRaises(TooLarge, read, b"ffffffff\r\n")
        self.assertEqual(self.assertRaises(TooLarge, Body, 101, 100).status, 413)

    @settings(max_examples=200, deadline=None)
    @given(st.lists(st.binary(min_size=1, max_size=40), max_size=5), st.integers(1, 50))
    def test_any_chunks_in_any_pieces(self, chunks: list[bytes], pieces: int) -> None:
        data = b"".join(b"%x\r\n%b\r\n" % (len(each), each) for each in chunks) + b"0\r\n\r\nrest"
        self.assertEqual(read(data, 1000, pieces), (b"".join(chunks), b"rest"))

    @settings(max_examples=200, deadline=None)
    @given(st.binary(max_size=200), st.integers(1, 50))
    def test_any_bytes(self, data: bytes, pieces: int) -> None:
        try:
            body, _ = read(b"3" + data, pieces=pieces)
        except (Unreadable, EOFError):
            return
        self.assertLessEqual(len(body), 100)
