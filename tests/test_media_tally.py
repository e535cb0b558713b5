"""Tests for ``rescriptum.media.tally``."""

from twisted.trial.unittest import SynchronousTestCase

from rescriptum.boot.events import ImageSent, InitrdSent, KernelSent
from rescriptum.media import tally
from rescriptum.media.catalogue import Part
from rescriptum.media.tally import Event, Served, Tally
from rescriptum.values import MAC

PEER = ("192.0.2.7", 2070)
ISO = Served("debian", Part.IMAGE, "iso")


def added(
    tally: Tally, served: Served = ISO, status: int = 206, peer: tuple[str, int] = PEER
) -> list[Event]:
    return list(tally.add(served, peer, status, 1 << 30, 512, 0.5, "sent"))


class TallyTests(SynchronousTestCase):
    def test_whole_replies(self) -> None:
        """They are told at once, each by the event of its part."""
        counted = Tally()
        mac = MAC.parse("52:54:00:00:00:01")
        for part, kind in (
            (Part.KERNEL, KernelSent),
            (Part.INITRD, InitrdSent),
            (Part.IMAGE, ImageSent),
            (Part.FILE, ImageSent),
        ):
            [event] = added(counted, Served("x", part, "path", mac), 200)
            self.assertIs(type(event), kind)
            self.assertEqual(
                (event.mac, event.sent, event.size, event.requests, event.status),
                (mac, 512, 1 << 30, 1, 200),
            )
        self.assertEqual(counted.closed(PEER), [])

    def test_ranges_are_one_event(self) -> None:
        """W163: a CD read by thousands of ranges is one event a connection and part."""
        counted = Tally()
        mac = MAC.parse("52:54:00:00:00:01")
        for _ in range(1000):
            self.assertEqual(added(counted), [])
        self.assertEqual(added(counted, Served("debian", Part.IMAGE, "iso", mac)), [])
        self.assertEqual(added(counted, Served("debian", Part.FILE, "file/a")), [])
        first, second = counted.closed(PEER)
        self.assertEqual((first.requests, first.sent, first.seconds), (1001, 1001 * 512, 500.5))
        self.assertEqual((first.path, first.mac, second.path), ("iso", mac, "file/a"))
        self.assertEqual(counted.closed(PEER), [])

    def test_bounded(self) -> None:
        """A client that reads ranges of ever new files makes nothing grow: the oldest are told."""
        self.patch(tally, "MAX_COUNTED", 4)
        counted = Tally()
        told = 0
        for each in range(50):
            served = Served("debian", Part.FILE, f"file/{each}")
            told += len(added(counted, served, peer=("192.0.2.7", each // 3)))
        left = sum(len(counted.closed(("192.0.2.7", each))) for each in range(20))
        self.assertEqual(told + left, 50)
        self.assertLessEqual(left, 4)
