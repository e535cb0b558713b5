"""Tests for ``rescriptum.web.incoming``."""

from twisted.trial.unittest import SynchronousTestCase

from rescriptum.web.head import Unreadable
from rescriptum.web.incoming import Incoming


class IncomingTests(SynchronousTestCase):
    def all_of(self, data: bytes, pieces: int = 0) -> list[tuple[str, bytes]]:
        incoming, found = Incoming(1000), []
        for at in range(0, len(data), pieces or len(data)):
            incoming.feed(data[at : at + (pieces or len(data))])
            while (request := incoming.next()) is not None:
                found.append((request[0].target, request[1]))
        self.assertFalse(incoming.begun)
        return found

    def test_requests_in_any_pieces(self) -> None:
        """Pipelined, with bodies of both kinds, with empty lines between: the same requests."""
        data = (
            b"POST /1 HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc"
            b"\r\nGET /2 HTTP/1.1\r\nHost: x\r\n\r\n"
            b"POST /3 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nd\r\n0\r\n\r\n"
            b"POST /4 HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"
        )
        expected = [("/1", b"abc"), ("/2", b""), ("/3", b"d"), ("/4", b"")]
        for pieces in (0, 1, 2, 5, 17, 64):
            self.assertEqual(self.all_of(data, pieces), expected, pieces)

    def test_a_bound_of_the_head(self) -> None:
        """Of this listener: as long as that it is taken, whole or in pieces; longer it is not."""
        shortest = b"GET / HTTP/1.1\r\nHost: x\r\nX: \r\n\r\n"
        head = shortest.replace(b"X: ", b"X: " + b"x" * (200 - len(shortest)))
        for data in (head, head[:-4]):
            incoming = Incoming(0, 200)
            incoming.feed(data)
            self.assertEqual(incoming.next() is not None, data == head)
        for data in (head.replace(b"xx", b"xxx", 1), head.replace(b"xx", b"xxxxxxx", 1)[:-4]):
            incoming = Incoming(0, 200)
            incoming.feed(data)
            with self.assertRaises(Unreadable) as caught:
                incoming.next()
            self.assertEqual(caught.exception.status, 431)
