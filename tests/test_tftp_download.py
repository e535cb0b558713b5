"""Tests for ``rescriptum.tftp.download``."""

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.errors import Malformed, MalformedDatagram
from rescriptum.tftp.download import Download, RefusedByServer, TooLarge, Turn, Wanted
from rescriptum.tftp.wire import (
    Acknowledgement,
    Data,
    Error,
    OptionAcknowledgement,
    ReadRequest,
    decode,
)


def data(number: int, payload: bytes = bytes(512)) -> bytes:
    return Data(number, payload).encode()


def granted(**options: int) -> bytes:
    pairs = tuple((name.encode(), b"%d" % value) for name, value in options.items())
    return OptionAcknowledgement(pairs).encode()


def ack(number: int) -> Turn:
    return Turn(Acknowledgement(number).encode())


class DownloadTests(SynchronousTestCase):
    def test_without_options_it_asks_as_the_oldest_rom(self) -> None:
        """Name and mode, nothing else."""
        self.assertEqual(Download(Wanted(b"a")).last, b"\0\1a\0octet\0")

    def test_asks_for_what_it_is_told(self) -> None:
        """In the order in which firmware asks."""
        wanted = Wanted(b"a", blksize=1468, windowsize=4, tsize=True)
        self.assertEqual(
            decode(Download(wanted).last),
            ReadRequest(
                b"a",
                options=((b"tsize", b"0"), (b"blksize", b"1468"), (b"windowsize", b"4")),
            ),
        )

    def test_reads_block_by_block(self) -> None:
        """Until a short one."""
        download = Download(Wanted(b"a"))
        self.assertEqual(download.received(data(1)), ack(1))
        self.assertEqual(download.received(data(2, b"end")), Turn(ack(2).send, done=True))
        self.assertEqual(download.data, bytes(512) + b"end")
        self.assertEqual(download.options, ())

    def test_reads_windows(self) -> None:
        """It says where it is at the end of one, and once where something is missing."""
        download = Download(Wanted(b"a", windowsize=3))
        self.assertEqual(download.received(granted(windowsize=3)), ack(0))
        self.assertEqual(download.received(data(1)), Turn())
        self.assertEqual(download.received(data(3)), ack(1))
        self.assertEqual(download.received(data(4)), Turn())
        for number in (2, 3):
            self.assertEqual(download.received(data(number)), Turn())
        self.assertEqual(download.received(data(4)), ack(4))

    def test_an_old_block_is_not_answered(self) -> None:
        """Only silence is (W118)."""
        download = Download(Wanted(b"a"))
        download.received(data(1))
        self.assertEqual(download.received(data(1)), Turn())
        self.assertEqual(download.silent(), ack(1).send)

    def test_silence_repeats_the_request_until_something_came(self) -> None:
        """Then what it has."""
        download = Download(Wanted(b"a", blksize=512))
        self.assertEqual(download.silent(), download.wanted.request.encode())
        download.received(granted(blksize=512))
        self.assertEqual(download.silent(), ack(0).send)

    def test_a_repeated_option_acknowledgement_is_confirmed_again(self) -> None:
        """The first confirmation was lost."""
        download = Download(Wanted(b"a", blksize=512))
        for _ in range(2):
            self.assertEqual(download.received(granted(blksize=512)), ack(0))

    def test_the_servers_error_ends_it(self) -> None:
        """With its code and its words; it is not answered."""
        turn = Download(Wanted(b"a")).received(Error(1, b"no\nsuch file").encode())
        assert isinstance(turn.failure, RefusedByServer)
        self.assertEqual((turn.failure.number, turn.failure.text), (1, "no\\x0asuch file"))
        self.assertIsNone(turn.send)

    def test_options_that_were_not_asked_end_it(self) -> None:
        """So do larger values, and what is no number: the server hears error 8."""
        for options in ({"tsize": 5}, {"blksize": 1024}, {"blksize": 7}, {"windowsize": 0}):
            turn = Download(Wanted(b"a", blksize=600, windowsize=4)).received(granted(**options))
            self.assertIsInstance(turn.failure, Malformed)
            assert turn.send is not None
            error = decode(turn.send)
            assert isinstance(error, Error)
            self.assertEqual(error.code, 8)

    def test_what_is_too_large_ends_it(self) -> None:
        """The file past the caller's bound, a block past the agreed size: the server hears it."""
        download = Download(Wanted(b"a", limit=1000))
        download.received(data(1))
        self.assertIsInstance(download.received(data(2)).failure, TooLarge)
        turn = Download(Wanted(b"a")).received(data(1, bytes(513)))
        self.assertIsInstance(turn.failure, Malformed)
        self.assertIsNotNone(turn.send)

    def test_a_probe_takes_what_it_hears_and_ends_politely(self) -> None:
        """An error of its own, so that the server logs no failed transfer."""
        probe = Download(Wanted(b"a", blksize=1468, tsize=True), probing=True)
        turn = probe.received(granted(tsize=1048677, blksize=1432))
        self.assertTrue(turn.done)
        assert turn.send is not None
        self.assertIsInstance(decode(turn.send), Error)
        self.assertEqual((probe.size, probe.blksize), (1048677, 1432))

    def test_a_probe_without_options_knows_the_size_of_small_files_only(self) -> None:
        """What fits one block."""
        for payload, size in ((b"short", 5), (bytes(512), None)):
            probe = Download(Wanted(b"a"), probing=True)
            self.assertTrue(probe.received(data(1, payload)).done)
            self.assertEqual(probe.size, size)

    @given(st.lists(st.binary(max_size=40) | st.builds(data, st.integers(0, 9)), max_size=12))
    @settings(max_examples=200, deadline=None)
    def test_no_server_makes_it_raise(self, datagrams: list[bytes]) -> None:
        """Whatever comes is nothing, an answer, the end or a failure."""
        download = Download(Wanted(b"a", blksize=1468, windowsize=4, tsize=True))
        for datagram in datagrams:
            turn = download.received(datagram)
            if turn.done or turn.failure is not None:
                break
        else:
            self.assertTrue(len(download.data) <= download.wanted.limit)

    def test_garbage_ends_it(self) -> None:
        """From the very port of the transfer: that is no TFTP server."""
        turn = Download(Wanted(b"a")).received(b"\xff\xff")
        self.assertIsInstance(turn.failure, MalformedDatagram)
