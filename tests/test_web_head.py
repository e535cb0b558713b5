"""Tests for ``rescriptum.web.head``."""

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.web.head import CHUNKED, Head, Unreadable, check_beginning, parse

IPXE = (
    b"GET /deb-12/kernel HTTP/1.1\r\nConnection: keep-alive\r\nUser-Agent: iPXE/1.21.1\r\n"
    b"Host: 192.0.2.1:8001\r\n\r\n"
)
#: What heads are made of, to be put together wrongly.
WORDS = [
    *(b"GET ", b"/ ", b"HTTP/1.", b"1", b"0", b"\r\n", b"\n", b" ", b":", b"\xff", b"Host: x"),
    *(b"Content-Length: ", b"Transfer-Encoding: chunked"),
]


def head(*lines: str, first: str = "GET / HTTP/1.1", host: bool = True) -> Head:
    lines = (first, *(("Host: x",) if host else ()), *lines, "", "")
    return parse("\r\n".join(lines).encode("latin-1"))


class HeadTests(SynchronousTestCase):
    def refused(self, status: int, data: bytes) -> None:
        error = self.assertRaises(Unreadable, parse, data)
        self.assertEqual(error.status, status, data[:60])

    def test_what_ipxe_sends(self) -> None:
        self.assertEqual(
            parse(IPXE),
            Head(
                "GET",
                "/deb-12/kernel",
                (
                    ("connection", "keep-alive"),
                    ("user-agent", "iPXE/1.21.1"),
                    ("host", "192.0.2.1:8001"),
                ),
            ),
        )

    def test_who_keeps_the_connection(self) -> None:
        for first, line, persistent in (
            ("GET / HTTP/1.1", "Accept: */*", True),
            ("GET / HTTP/1.1", "Connection: close", False),
            ("GET / HTTP/1.1", "Connection: Upgrade, Close", False),
            ("GET / HTTP/1.0", "Accept: */*", False),
            ("GET / HTTP/1.0", "Connection: Keep-Alive", True),
        ):
            self.assertEqual(head(line, first=first).persistent, persistent, (first, line))

    def test_old_clients_name_no_host(self) -> None:
        self.assertTrue(head(first="GET / HTTP/1.0", host=False).old)

    def test_absolute_targets(self) -> None:
        """A proxy's form of the same path; the authority in it means nothing here."""
        for target, path in (
            ("http://x:8001/a?b", "/a?b"),
            ("HTTP://x", "/"),
            ("http://x?b", "/?b"),
            ("/http://x/a", "/http://x/a"),
        ):
            self.assertEqual(head(first=f"GET {target} HTTP/1.1").target, path)

    def test_lengths(self) -> None:
        self.assertEqual(head("Content-Length: 12").length, 12)
        self.assertEqual(head("Transfer-Encoding: Chunked").length, CHUNKED)
        self.assertTrue(head("Content-Length: 1", "Expect: 100-Continue").expects)
        self.assertFalse(head("Content-Length: 0", "Expect: 100-continue").expects)

    def test_framing_that_can_be_read_in_two_ways(self) -> None:
        """How requests are smuggled past a proxy: RFC 9112 section 6.3."""
        for lines in (
            "Content-Length: 1\r\nContent-Length: 1",
            "Content-Length: 1, 1",
            "Content-Length: +1",
            "Content-Length: 1_0",
            "Content-Length: -1",
            "Content-Length: 0x1",
            "Content-Length:",
            "Content-Length: 99999999999999999999",
            "Content-Length: ١",
            "Content-Length: 1\r\nTransfer-Encoding: chunked",
            "Transfer-Encoding: chunked\r\nContent-Length: 1",
            "Host: y",
            "X: y\r\n folded",
            "Content-Length : 1",
            "X\0: y",
            "X: \0",
            "X: \x7f",
            "X: a\rb",
            "X: a\nY: b",
            ": y",
            "no colon",
        ):
            self.refused(400, f"GET / HTTP/1.1\r\nHost: x\r\n{lines}\r\n\r\n".encode())
        self.refused(400, b"GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n")
        for coding in ("gzip, chunked", "gzip", "xchunked", ""):
            data = f"GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: {coding}\r\n\r\n"
            self.refused(501, data.encode())

    def test_what_is_no_request(self) -> None:
        for line in (
            b"GET /",
            b"GET  / HTTP/1.1",
            b"GET / HTTP/1.1 ",
            b"GET /a b HTTP/1.1",
            b"GET /\xff HTTP/1.1",
            b"GET / http/1.1",
            b"G@T / HTTP/1.1",
            b"GET x HTTP/1.1",
            b"CONNECT x:1 HTTP/1.1",
            b"\x16\x03\x01",
        ):
            self.refused(400, line + b"\r\nHost: x\r\n\r\n")
        self.refused(400, b"GET / HTTP/1.1\r\n\r\n")
        self.refused(505, b"PRI * HTTP/2.0\r\n\r\n")
        self.refused(501, b"A" * 33 + b" / HTTP/1.1\r\nHost: x\r\n\r\n")
        self.refused(417, b"GET / HTTP/1.1\r\nHost: x\r\nExpect: cake\r\n\r\n")

    def test_bounds(self) -> None:
        first = b"GET /%b HTTP/1.1\r\nHost: x\r\n"
        parse(first % (b"a" * 8000) + b"\r\n")
        self.refused(414, first % (b"a" * 8192) + b"\r\n")
        parse(first % b"" + b"A: b\r\n" * 99 + b"\r\n")
        self.refused(431, first % b"" + b"A: b\r\n" * 100 + b"\r\n")
        self.refused(431, first % b"" + b"A: " + b"b" * (16 << 10) + b"\r\n\r\n")

    @settings(max_examples=300, deadline=None)
    @given(
        st.one_of(
            st.binary(max_size=300),
            st.lists(
                st.sampled_from(WORDS),
                max_size=20,
            ).map(b"".join),
        )
    )
    def test_any_bytes(self, data: bytes) -> None:
        """Nothing but the one exception; a head that parses began as one."""
        try:
            check_beginning(data)
            begins = True
        except Unreadable:
            begins = False
        try:
            parse(data)
        except Unreadable:
            return
        self.assertTrue(begins)


class BeginningTests(SynchronousTestCase):
    def test_every_prefix_of_a_request_is_waited_for(self) -> None:
        for end in range(1, len(IPXE)):
            check_beginning(IPXE[:end])

    def test_what_can_be_no_request_is_refused_at_once(self) -> None:
        for data, status in (
            (b"\x16\x03\x01\x02\x00", 400),
            (b"\xff", 400),
            (b"G\0T", 400),
            (b"A" * 40, 400),
            (b"GET / HTTP/1.1\nHost: x\n\n", 400),
            (b"GET /" + b"a" * 9000, 414),
            (b"GET / HTTP/1.1\r\nA: " + b"b" * 17000, 431),
        ):
            error = self.assertRaises(Unreadable, check_beginning, data)
            self.assertEqual(error.status, status, data[:20])
