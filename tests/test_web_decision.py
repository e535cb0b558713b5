"""Tests for ``rescriptum.web.decision``."""

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.values import Content, Extent
from rescriptum.web.decided import Decided
from rescriptum.web.decision import Blocks, cut, decide, head
from rescriptum.web.reply import FileReply, Reply
from rescriptum.web.request import Request

PEER = ("192.0.2.7", 50000)
#: A file of 124 bytes in two pieces, inside an image.
CONTENT = Content(
    Path("/nowhere/x.iso"),
    (Extent(2048, 100), Extent(8192, 24)),
    (1, 2, 9000, 0x5),
    "application/efi",
    modified=1_700_000_000,
)
ETAG = '"2328-5-800-7c"'
FACTS = (
    ("Accept-Ranges", "bytes"),
    ("ETag", ETAG),
    ("Last-Modified", "Tue, 14 Nov 2023 22:13:20 GMT"),
)


def ask(*headers: tuple[str, str], method: str = "GET", content: Content = CONTENT) -> Decided:
    return decide(Request(method, "/x", PEER, headers), FileReply(content))


class FileTests(SynchronousTestCase):
    def test_the_whole(self) -> None:
        """The type is exactly the content's: edk2 takes no parameter on it (W152)."""
        got = ask()
        own = (("Content-Type", "application/efi"), ("Content-Length", "124"))
        self.assertEqual((got.status, got.headers), (200, own + FACTS))
        self.assertEqual((got.spans, got.length, got.size), (CONTENT.extents, 124, 124))

    def test_head_is_get_without_its_bytes(self) -> None:
        """Ranges too: what HEAD says is what a plain GET would."""
        for headers in ((), (("range", "bytes=0-1"),)):
            got = ask(*headers, method="HEAD")
            self.assertEqual((got.status, got.headers), (200, ask().headers))
            self.assertEqual((got.spans, got.length, got.size), ((), 0, 124))

    def test_a_part_over_two_extents(self) -> None:
        got = ask(("range", "bytes=98-101"))
        own = (
            ("Content-Type", "application/efi"),
            ("Content-Length", "4"),
            ("Content-Range", "bytes 98-101/124"),
        )
        self.assertEqual((got.status, got.headers), (206, own + FACTS))
        self.assertEqual(got.spans, (Extent(2146, 2), Extent(8192, 2)))

    def test_no_such_part(self) -> None:
        got = ask(("range", "bytes=u-u"))
        self.assertEqual(got.status, 416)
        self.assertEqual(dict(got.headers)["Content-Range"], "bytes */124")
        self.assertEqual(got.body, b"416 Range Not Satisfiable\n")
        self.assertEqual(dict(got.headers)["Content-Length"], "26")

    def test_not_modified_has_no_content(self) -> None:
        got = ask(("if-none-match", ETAG))
        self.assertEqual((got.status, got.headers, got.length), (304, FACTS, 0))

    def test_a_failed_precondition(self) -> None:
        for method, body in (("GET", b"412 Precondition Failed\n"), ("HEAD", b"")):
            got = ask(("if-match", '"x"'), method=method)
            self.assertEqual((got.status, got.body), (412, body))

    def test_a_digest_is_the_tag(self) -> None:
        content = Content(Path("x"), (Extent(0, 1),), (0, 0, 1, 0), digest="ab" * 32)
        self.assertIn(("ETag", f'"{"ab" * 32}"'), ask(content=content).headers)

    def test_an_empty_file(self) -> None:
        got = ask(content=Content(Path("x"), (), (0, 0, 0, 0)))
        self.assertEqual((got.status, got.spans), (200, ()))
        self.assertIn(("Content-Length", "0"), got.headers)

    @settings(max_examples=200, deadline=None)
    @given(st.lists(st.integers(0, 20), max_size=5), st.data())
    def test_any_part_of_any_extents(self, lengths: list[int], data: st.DataObject) -> None:
        """A body is never longer or shorter than its Content-Length (W185)."""
        extents: list[Extent] = []
        where: list[int] = []
        at = 100
        for length in lengths:
            extents.append(Extent(at, length))
            where += range(at, at + length)
            at += length + 7
        start = data.draw(st.integers(0, len(where)))
        length = data.draw(st.integers(0, len(where) - start))
        spans = cut(tuple(extents), start, length)
        got = [byte for span in spans for byte in range(span.offset, span.offset + span.length)]
        self.assertEqual(got, where[start : start + length])
        self.assertNotIn(0, [span.length for span in spans])


class ReplyTests(SynchronousTestCase):
    def test_bytes_in_memory(self) -> None:
        reply = Reply(b"abc", "text/x-ipxe", headers=(("Cache-Control", "no-store"), ("X", "")))
        headers = (
            ("Content-Type", "text/x-ipxe"),
            ("Content-Length", "3"),
            ("Cache-Control", "no-store"),  # and no empty value, which locks OVMF up (W155)
        )
        for method, body in (("GET", b"abc"), ("HEAD", b""), ("POST", b"abc")):
            got = decide(Request(method, "/", PEER), reply)
            self.assertEqual((got.headers, got.body, got.size), (headers, body, 3))

    def test_statuses_without_content(self) -> None:
        got = decide(Request("POST", "/", PEER), Reply(b"", status=204))
        self.assertEqual((got.headers, got.body), ((), b""))

    def test_a_header_cannot_end_early(self) -> None:
        for value in ("a\r\nSet-Cookie: b", "a\n", "\0", "ě"):
            reply = Reply(b"", headers=(("X", value),))
            self.assertRaises(ValueError, decide, Request("GET", "/", PEER), reply)


class HeadTests(SynchronousTestCase):
    def test_the_bytes(self) -> None:
        decided = Decided(206, (("A", "b"), ("C", "dé")))
        block = Blocks().block(206, 1_700_000_000.9)
        self.assertEqual(
            head(decided, block, "close"),
            b"HTTP/1.1 206 Partial Content\r\nServer: rescriptum\r\n"
            b"Date: Tue, 14 Nov 2023 22:13:20 GMT\r\nA: b\r\nC: d\xe9\r\nConnection: close\r\n\r\n",
        )
        self.assertTrue(head(decided, block, "").endswith(b"C: d\xe9\r\n\r\n"))

    def test_blocks_are_made_once_a_second(self) -> None:
        blocks = Blocks()
        first = blocks.block(200, 10.0)
        self.assertIs(blocks.block(200, 10.99), first)
        self.assertNotEqual(blocks.block(200, 11.0), first)
        self.assertNotEqual(blocks.block(404, 11.0), blocks.block(200, 11.0))
