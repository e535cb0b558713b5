"""Tests for ``rescriptum.web.again``."""

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.values import Content, Extent
from rescriptum.web.again import Again
from rescriptum.web.decided import rendered
from rescriptum.web.decision import decide
from rescriptum.web.head import parse
from rescriptum.web.reply import FileReply, Finished
from rescriptum.web.request import Request
from rescriptum.web.routing import Routes

PEER = ("192.0.2.7", 50000)
SIZE = 5000
CONTENT = Content(Path("image.iso"), (Extent(2048, SIZE),), (1, 2, SIZE, 4), modified=1_700_000_000)
REPLY = FileReply(CONTENT, headers=(("X-Part", "inside"),), steady=True)
NUMBERS = st.integers(0, 2 * SIZE) | st.integers(0, 10**18 - 1)


class Nothing:
    routes = Routes()

    def finished(self, done: Finished) -> None:
        """Nobody listens."""

    def closed(self, peer: tuple[str, int]) -> None:
        """Nobody listens."""


def head(first: int, last: int, *further: str, name: str = "Range") -> bytes:
    lines = ["GET /x/iso HTTP/1.1", "Host: a", f"{name}: bytes={first}-{last}", *further]
    return "".join(f"{line}\r\n" for line in [*lines, ""]).encode("ascii")


def asked(data: bytes) -> Request:
    given = parse(data)
    return Request(given.method, given.target, PEER, given.headers)


def again(data: bytes, reply: FileReply = REPLY) -> Again | None:
    request = asked(data)
    return Again.of(data, request, Nothing(), reply, decide(request, reply), 7)


class AgainTests(SynchronousTestCase):
    @settings(max_examples=300, deadline=None)
    @given(NUMBERS, NUMBERS)
    def test_says_what_the_long_way_says(self, first: int, last: int) -> None:
        """Status, every header in its order and every byte; or it leaves the answer to that."""
        known = again(head(0, 9, "User-Agent: iPXE"))
        assert known is not None
        data = head(first, last, "User-Agent: iPXE")
        expected = decide(asked(data), REPLY)
        found = known.decided(data)
        if expected.status != 206:
            self.assertIsNone(found)
            return
        assert found is not None
        self.assertEqual(
            (found.status, found.lines, found.spans, found.size, found.content, found.length),
            (206, rendered(expected.headers), expected.spans, SIZE, CONTENT, expected.length),
        )

    def test_leaves_other_words_to_the_long_way(self) -> None:
        known = again(head(0, 9))
        assert known is not None
        for data in (
            head(0, 9, "Connection: close"),
            head(0, 9).replace(b"/x/", b"/y/"),
            head(0, 9).replace(b"GET", b"HEAD"),
            head(0, 9).replace(b"0-9", b"0-"),
            head(0, 9).replace(b"0-9", b"-9"),
            head(0, 9).replace(b"0-9", b"0-1,4-5"),
            head(0, 9).replace(b"0-9", b"+1-9"),
            head(0, 9).replace(b"0-9", b"0-9999999999999999999"),
            head(0, 9) + head(1, 2),
            head(0, 9)[:-1],
            head(0, 9) + b"x",
            b"",
        ):
            self.assertIsNone(known.decided(data), data)

    @settings(max_examples=200, deadline=None)
    @given(st.binary())
    def test_any_bytes_are_decided(self, data: bytes) -> None:
        known = again(head(0, 9))
        assert known is not None
        known.decided(data)

    def test_is_nothing_for_what_it_cannot_repeat(self) -> None:
        """Two requests in one piece, a head whose range is not two numbers, a file in pieces."""
        self.assertIsNone(again(head(0, 9).replace(b"0-9", b"10-")))
        pieces = FileReply(Content(Path("x"), (Extent(0, 100), Extent(300, 50)), (1, 2, 3, 4)))
        self.assertIsNone(again(head(0, 9), pieces))
        request = asked(head(0, 9))
        decided = decide(request, REPLY)
        self.assertIsNone(Again.of(head(0, 9) * 2, request, Nothing(), REPLY, decided, 0))
        self.assertIsNone(Again.of(b"", request, Nothing(), REPLY, decided, 0))

    def test_keeps_the_conditions_that_held(self) -> None:
        """If-Range is among the words: the same words, about the same file, hold again."""
        held = head(0, 9, f"If-Range: {CONTENT.etag}")
        known = again(held)
        assert known is not None
        self.assertIsNotNone(known.decided(head(3, 4, f"If-Range: {CONTENT.etag}")))
        self.assertIsNone(known.decided(head(3, 4, 'If-Range: "other"')))
