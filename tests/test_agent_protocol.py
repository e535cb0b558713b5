"""Tests for ``rescriptum.agent.protocol``."""

import json

from hypothesis import given
from hypothesis import strategies as st
from twisted.internet.error import ConnectionLost
from twisted.internet.task import Clock
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase
from twisted.web.client import ResponseDone

from rescriptum.agent.protocol import FrameReader
from rescriptum.contract.frames import Ack, Close, Ping, Received
from rescriptum.contract.refusals import Rejected
from rescriptum.contract.structure import LONGEST_FRAME
from rescriptum.errors import RescriptumError, Unavailable


def line(seq: int, kind: str = "ping", ack: object = None, **fields: object) -> bytes:
    return json.dumps({"seq": seq, "type": kind, **fields, "ack": ack}).encode() + b"\n"


class Reading:
    """A reader, what it read, and how it ended."""

    def __init__(self, silence: float = 15) -> None:
        self.clock = Clock()
        self.frames: list[Received] = []
        self.ends: list[RescriptumError] = []
        self.reader = FrameReader(self.clock, self.took, silence)
        self.reader.ended.addCallback(self.ends.append)
        self.reader.connectionMade()

    def took(self, frame: Received) -> None:
        self.frames.append(frame)
        if isinstance(frame.frame, Close):
            self.reader.close(Unavailable(frame.frame.reason))

    @property
    def code(self) -> str:
        [end] = self.ends
        return end.code


class FrameReaderTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.reading = Reading()
        self.reader = self.reading.reader

    def tearDown(self) -> None:
        self.reader.close(Unavailable("over"))
        self.assertEqual(self.reading.clock.getDelayedCalls(), [])
        self.assertEqual(len(self.reading.ends), 1)

    def test_frames(self) -> None:
        """Each line is a frame, with what it proves."""
        self.reader.dataReceived(line(1) + line(2, ack={"beat": 7, "epoch": 3}))
        self.assertEqual(
            self.reading.frames, [Received(1, Ping(), None), Received(2, Ping(), Ack(7, 3))]
        )
        self.assertEqual(self.reading.ends, [])

    def test_byte_by_byte(self) -> None:
        """How the bytes are cut says nothing."""
        for byte in line(1) + line(2):
            self.reader.dataReceived(bytes([byte]))
        self.assertEqual([each.seq for each in self.reading.frames], [1, 2])

    def test_half_a_frame_is_none(self) -> None:
        """What is not ended by a newline when the stream breaks off was never a frame."""
        self.reader.dataReceived(line(1)[:-1])
        self.reader.connectionLost(Failure(ConnectionLost()))
        self.assertEqual(self.reading.frames, [])
        self.assertEqual(self.reading.code, "unavailable")

    def test_the_end_of_the_answer(self) -> None:
        """An answer that just ends has ended the stream too."""
        self.reader.connectionLost(Failure(ResponseDone()))
        self.assertIn("ended the stream", str(self.reading.ends[0]))

    def test_not_a_frame(self) -> None:
        """What cannot be read ends the stream; nothing behind it is taken."""
        for wrong in (b"\n", b"[]\n", line(2, "dance"), b"\xff\n", line(2, ack=5), b"{\n"):
            reading = Reading()
            reading.reader.dataReceived(line(1) + wrong + line(3))
            self.assertEqual([each.seq for each in reading.frames], [1])
            self.assertIn(reading.code, ("invalid-message", "malformed-json"), wrong)

    def test_frames_are_counted(self) -> None:
        """One that is missing, or comes twice, ends the stream."""
        for second in (1, 3, 0):
            reading = Reading()
            reading.reader.dataReceived(line(1) + line(second))
            self.assertEqual(len(reading.frames), 1)
            self.assertEqual(reading.code, "invalid-message")

    def test_the_longest_frame(self) -> None:
        """A line at the bound is a frame; one byte more is not, ended or not, in any pieces."""
        room = LONGEST_FRAME - len(line(1)) + 1
        fitting = line(1)[:-1] + b" " * room + b"\n"
        self.reader.dataReceived(fitting)
        self.assertEqual(len(self.reading.frames), 1)
        longer = fitting[:-1] + b" "
        for data in ([longer], [longer + b"\n"], [longer[:9], longer[9:]], [longer[:-1], b" \n"]):
            reading = Reading()
            for each in data:
                reading.reader.dataReceived(each)
            self.assertEqual(reading.frames, [])
            self.assertEqual(reading.code, "too-large")

    def test_silence(self) -> None:
        """Only whole frames are heard: a drip of bytes does not keep a stream alive."""
        self.reader.dataReceived(line(1))
        self.reading.clock.advance(14)
        self.reader.dataReceived(line(2))
        self.reading.clock.advance(14)
        self.reader.dataReceived(b"{")
        self.assertEqual(self.reading.ends, [])
        self.reading.clock.advance(1)
        self.assertIn("15 seconds", str(self.reading.ends[0]))

    def test_deaf(self) -> None:
        """Once it is closed, by a frame or from outside, nothing is heard any more."""
        self.reader.dataReceived(line(1, "close", reason="stopping") + line(2))
        self.reader.dataReceived(line(2))
        self.reader.connectionLost(Failure(ConnectionLost()))
        self.assertEqual(len(self.reading.frames), 1)
        self.assertEqual(str(self.reading.ends[0]), "stopping")

    def test_closed_before_it_began(self) -> None:
        """No timer is left of a stream that was given up before its answer came."""
        reader = FrameReader(self.reading.clock, self.reading.took, 15)
        reader.close(Unavailable("cancelled"))
        reader.connectionMade()
        self.assertEqual(len(self.reading.clock.getDelayedCalls()), 1)  # the other one's

    @given(st.lists(st.binary()), st.booleans())
    def test_any_bytes(self, pieces: list[bytes], valid: bool) -> None:
        """Whatever comes, nothing is raised, and nothing is kept beyond the bound."""
        reading = Reading()
        if valid:
            reading.reader.dataReceived(line(1))
        for each in pieces:
            reading.reader.dataReceived(each)
        reading.reader.connectionLost(Failure(ConnectionLost()))
        [end] = reading.ends
        self.assertIsInstance(end, Unavailable | Rejected)

    @given(st.lists(st.integers(0, 400), max_size=12))
    def test_any_cut(self, cuts: list[int]) -> None:
        """The same frames, wherever the network cuts them."""
        whole = b"".join(line(seq, ack={"beat": seq, "epoch": 1}) for seq in range(6))
        reading, at = Reading(), 0
        for cut in sorted(cuts):
            reading.reader.dataReceived(whole[at:cut])
            at = max(at, cut)
        reading.reader.dataReceived(whole[at:])
        self.assertEqual([each.seq for each in reading.frames], list(range(6)))
        self.assertEqual(reading.ends, [])
