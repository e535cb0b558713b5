"""Tests for ``rescriptum.tftp.packets``."""

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.tftp.packets import Packets, interleave
from rescriptum.tftp.wire import Acknowledgement, Data, decode


class PacketsTests(SynchronousTestCase):
    @given(st.binary(max_size=3000), st.integers(8, 1468))
    @settings(max_examples=200, deadline=None)
    def test_datagrams_hold_the_file_block_by_block(self, data: bytes, blksize: int) -> None:
        """Numbered from 1, all full but the last, which is always there (W122)."""
        packets = Packets(data, blksize)
        found = []
        for block in range(1, packets.blocks + 1):
            message = decode(bytes(packets.window(block, 1)))
            assert isinstance(message, Data)
            self.assertEqual(message.number, block)
            found.append(message.payload)
        self.assertEqual(b"".join(found), data)
        self.assertEqual({len(each) for each in found[:-1]} - {blksize}, set())
        self.assertTrue(len(found[-1]) < blksize)

    @given(st.binary(max_size=400), st.integers(1, 50), st.integers(1, 9))
    @settings(max_examples=200, deadline=None)
    def test_a_window_is_its_datagrams_in_a_row(self, data: bytes, first: int, count: int) -> None:
        """Also where it would go beyond the end."""
        packets = Packets(data, 8)
        singly = [bytes(packets.window(block, 1)) for block in range(first, first + count)]
        self.assertEqual(bytes(packets.window(first, count)), b"".join(singly))

    def test_lockstep_is_the_same_by_acknowledgement(self) -> None:
        """What the fast path sends for what, and that nothing follows the last block."""
        packets = Packets(bytes(range(100)), 8)
        views, asking = packets.lockstep
        self.assertEqual(len(views), packets.blocks)
        self.assertEqual(asking[-1], None)
        for sent, view in enumerate(views):
            self.assertEqual(asking[sent], Acknowledgement(sent).encode())
            self.assertEqual(view, packets.window(sent + 1, 1))

    def test_numbers_roll_over(self) -> None:
        """Modulo 65536, also where a window lies across (W121)."""
        datagrams = interleave(bytes(24), 65535, 3, 8)
        numbers = [int.from_bytes(datagrams[at + 2 : at + 4], "big") for at in (0, 12, 24)]
        self.assertEqual(numbers, [65535, 0, 1])
