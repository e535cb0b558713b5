"""The server as an operator starts it, and clients that mean no good: the next one is answered."""

import json
from collections.abc import Callable
from typing import TypeVar

from rescriptum.answers.body import MAX_DEPTH, MAX_VALUES

from ..webclient import RawClient, Told
from .test_serve import MAC, ServeCase

_T = TypeVar("_T")
MIB = 1 << 20
JSON = "Content-Type: application/json"


#: A machine whose document needs nothing of its request.
SERIAL = "7XK1P93"


def request(method: str, *lines: str, target: str = "/ks") -> bytes:
    return "\r\n".join((f"{method} {target} HTTP/1.1", "Host: x", *lines, "", "")).encode()


def post(body: bytes, *lines: str) -> bytes:
    return request("POST", f"Content-Length: {len(body)}", *lines) + body


class AbuseTests(ServeCase):
    """Each test ends by asking as a machine does: the answer is right, and nothing was logged
    as our own mistake."""

    def setUp(self) -> None:
        super().setUp()
        (self.here / "answers" / SERIAL).mkdir()
        (self.here / "answers" / SERIAL / "rhel.ks").write_text("text\n")

    def started(self, **changes: str) -> None:
        self.server = self.serve(**changes)
        self.server.wait_for("answers listens on")

    def play(self, script: Callable[[RawClient], _T]) -> _T:
        """What ``script`` returns; then a machine asks."""
        with RawClient(self.answers) as client:
            result = script(client)
            self.still_answers()
        return result

    def still_answers(self) -> None:
        with RawClient(self.answers) as client:
            client.send(request("GET", target=f"/ipxe/boot?mac={MAC}"))
            told = client.reply()
        self.assertEqual((told.status, told.body), (200, f"#!ipxe\necho {MAC}\n".encode()))
        self.assertNotIn("Traceback", self.server.text)

    def told(self, data: bytes) -> tuple[int, bool]:
        """:returns: the status, and whether the connection was ended."""

        def script(client: RawClient) -> Told:
            client.send(data)
            return client.reply()

        told = self.play(script)
        return told.status, told.header("Connection") == "close"

    def test_bodies_over_their_bound(self) -> None:
        """
        A length of more than 1 MiB is refused before a byte of the body was sent; chunks are as
        soon as they are too many; just 1 MiB is looked at.
        """
        self.started()
        self.assertEqual(self.told(request("POST", f"Content-Length: {MIB + 1}")), (413, True))
        chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
        head = request("POST", "Transfer-Encoding: chunked")
        self.assertEqual(self.told(head + chunk * 16 + b"1\r\n"), (413, True))
        self.assertEqual(self.told(head + chunk * 16 + b"0\r\n\r\n"), (404, False))
        self.assertEqual(self.told(post(SERIAL.encode().ljust(MIB, b"."))), (200, False))
        self.server.wait_for(r"POST /ks body=0 413 a body of more than 1048576 bytes")

    def test_bodies_that_are_not_what_they_say(self) -> None:
        """400 for what is sent as JSON and is none, is too deep or too much; bytes are bytes."""
        self.started()
        deep = b"[" * MAX_DEPTH + b"1" + b"]" * MAX_DEPTH
        many = json.dumps([SERIAL, *range(MAX_VALUES - 1)]).encode()
        for body, status in (
            (deep, 404),
            (b"[" + deep + b"]", 400),
            (b"[" * 500_000, 400),
            (many, 200),
            (many[:-1] + b",0]", 400),
            (b'{"serial": "' + SERIAL.encode() + b'\xff"}', 400),
            (b'{"serial": "' + SERIAL.encode() + b'"', 400),
            (b'{"mac": "\\ud800 ' + SERIAL.encode() + b'"}', 200),
        ):
            self.assertEqual(self.told(post(body, JSON)), (status, False), body[:40])
        self.assertEqual(self.told(post(b"\xff\xfe\x00" + SERIAL.encode() + b"\xc3")), (200, False))
        self.assertEqual(self.told(post(b"[" * 500_000)), (404, False))

    def test_methods_that_are_none(self) -> None:
        self.started()
        for method in ("BREW", "OPTIONS", "PUT", "get"):
            self.assertEqual(self.told(request(method)), (405, False), method)
        self.assertEqual(self.told(request("TRACE", "Content-Length: 5") + b"12345"), (405, False))

    def test_requests_that_end_in_the_middle(self) -> None:
        """In the request line, the headers, a counted body and a chunk: nobody is told anything."""
        self.started()
        for data in (
            b"GET /k",
            request("GET")[:-2],
            post(b"x" * 1000)[:-1],
            request("POST", "Transfer-Encoding: chunked") + b"5\r\n123",
        ):
            with RawClient(self.answers) as client:
                client.send(data)
            self.still_answers()

    def test_clients_that_are_slow(self) -> None:
        """
        Bytes that drip keep no connection open: what is not whole when its time is over is cut,
        head or body, and the log says so.
        """
        self.started(RESCRIPTUM_TIMEOUT_SECS="1")
        for begun in (b"GET / HTTP/1.1\r\nX: ", request("POST", "Content-Length: 1000")):

            def drip(client: RawClient, begun: bytes = begun) -> bytes:
                client.socket.settimeout(0.05)
                client.send(begun)
                for _ in range(999):
                    try:
                        client.send(b"x")
                        return client.socket.recv(1)
                    except TimeoutError:
                        continue
                    except ConnectionError:
                        return b""
                raise AssertionError("all of it was taken")

            self.assertEqual(self.play(drip), b"")
        self.server.wait_for("connection timed out")

    def test_a_thousand_half_open_connections(self) -> None:
        """Silent, or in the middle of a body: they wait, and machines are answered."""
        self.started()
        for number in range(1000):
            client = RawClient(self.answers)
            self.addCleanup(client.__exit__)
            if number % 2:
                client.send(request("POST", "Content-Length: 9") + b"1")
        for _ in range(20):
            self.still_answers()
