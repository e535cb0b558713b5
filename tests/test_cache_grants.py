"""Tests for ``rescriptum.cache.grants``."""

from hashlib import sha256
from itertools import count

from attrs import define
from hypothesis import given
from hypothesis import strategies as st
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.cache.grants import BOOT, FIRMWARE, MOST, EpochFence, Grants
from rescriptum.errors import Refused, Unavailable
from rescriptum.values import MAC

MACHINE, OTHER = MAC("525400000001"), MAC("525400000002")
IMAGE = "ab" * 32


@define
class SetFence:
    """Satisfies :class:`rescriptum.interfaces.Fence`, as the test says."""

    epoch: int = 7
    opened: bool = True
    told: int = 0

    def is_open(self) -> bool:
        return self.opened

    def sent(self) -> None:
        self.told += 1


class GrantsCase(SynchronousTestCase):
    def setUp(self) -> None:
        self.clock, self.fence = Clock(), SetFence()
        self.grants = self.fresh()

    def fresh(self) -> Grants:
        numbers = count(1)
        return Grants(self.fence, lambda: next(numbers).to_bytes(16, "big"), self.clock.seconds)

    def refused(self, token: str) -> str:
        return str(self.assertRaises(Refused, self.grants.redeem_boot, token))


class BootGrantTests(GrantsCase):
    def test_the_token_is_random(self) -> None:
        """Whatever 128 bits it was made of, and nothing else: as a path writes it."""
        self.assertEqual(self.grants.boot(MACHINE).token, "0" * 31 + "1")

    def test_it_lapses_with_its_entry(self) -> None:
        """On time, not a moment later; and stays so."""
        token = self.grants.boot(MACHINE, 90.0).token
        self.clock.advance(89.75)
        self.assertEqual(self.grants.redeem_boot(token).mac, MACHINE)
        self.clock.advance(0.25)
        self.assertIn("has lapsed", self.refused(token))
        self.assertIn("no such grant", self.refused(token))

    def test_it_lapses_after_six_hours(self) -> None:
        """Where the entry does not lapse."""
        token = self.grants.boot(MACHINE).token
        self.clock.advance(BOOT - 1)
        self.grants.redeem_boot(token)
        self.clock.advance(1)
        self.refused(token)
        self.assertEqual(BOOT, 6 * 3600)

    def test_only_with_the_fence_open(self) -> None:
        """Closed, it may open again: the machine is to wait."""
        token = self.grants.boot(MACHINE).token
        self.fence.opened = False
        self.assertRaises(Unavailable, self.grants.redeem_boot, token)
        self.fence.opened = True
        self.grants.redeem_boot(token)

    def test_only_under_its_epoch(self) -> None:
        token = self.grants.boot(MACHINE).token
        for epoch in (6, 8, 0):
            self.fence.epoch = epoch
            self.assertIn("of epoch 7", self.refused(token))
        self.assertNotEqual(self.grants.boot(MACHINE).token, token)

    def test_a_restart_forgets_it(self) -> None:
        """And another table that made the same number of grants has none of this one's."""
        token = self.grants.boot(MACHINE).token
        self.grants = self.fresh()
        self.assertIn("no such grant", self.refused(token))

    def test_a_machine_that_asks_again(self) -> None:
        """It has the same token, for longer: nobody who asks in its name ends its boot."""
        first = self.grants.boot(MACHINE, 100.0)
        self.clock.advance(60)
        again = self.grants.boot(MACHINE, 100.0)
        self.assertEqual((again.token, again.lapses), (first.token, 160.0))
        self.assertEqual(len(self.grants), 1)
        self.assertNotEqual(self.grants.boot(OTHER).token, first.token)

    def test_withdrawn(self) -> None:
        """That machine's alone."""
        token, other = self.grants.boot(MACHINE).token, self.grants.boot(OTHER).token
        self.grants.withdraw(MACHINE)
        self.grants.withdraw(MACHINE)
        self.refused(token)
        self.grants.redeem_boot(other)

    def test_there_are_so_many(self) -> None:
        """Of one more, the one that would lapse first is gone; lapsed ones go before it."""
        tokens = [
            self.grants.boot(MAC(f"{number:012x}"), 100.0 + number).token for number in range(MOST)
        ]
        one_more = self.grants.boot(MACHINE, 50.0).token
        self.assertEqual(len(self.grants), MOST)
        self.refused(tokens[0])
        for each in (tokens[1], one_more):
            self.grants.redeem_boot(each)
        self.clock.advance(110)
        self.grants.boot(OTHER, 100.0)
        self.assertEqual(len(self.grants), MOST - 10)
        self.grants.redeem_boot(tokens[11])

    def test_what_logs_call_it(self) -> None:
        """The first digits of the token's digest; and nothing prints the token."""
        for grant in (self.grants.boot(MACHINE), self.grants.firmware(IMAGE)):
            self.assertEqual(grant.name, sha256(grant.token.encode()).hexdigest()[:8])
            self.assertNotIn(grant.token, repr(grant))

    @given(st.text(max_size=80))
    def test_whatever_a_stranger_sends(self, token: str) -> None:
        self.setUp()
        self.grants.boot(MACHINE)
        for each in (token, token + "\ud800", "1" * 100_000):
            self.refused(each)
            self.assertRaises(Refused, self.grants.redeem_firmware, each, IMAGE)


class FirmwareGrantTests(GrantsCase):
    def test_one_image_for_two_hours(self) -> None:
        """Whatever becomes of the boot lease."""
        token = self.grants.firmware(IMAGE).token
        self.fence.epoch, self.fence.opened = 0, False
        self.assertEqual(self.grants.redeem_firmware(token, IMAGE).digest, IMAGE)
        self.assertRaises(Refused, self.grants.redeem_firmware, token, "cd" * 32)
        self.clock.advance(FIRMWARE - 1)
        self.grants.redeem_firmware(token, IMAGE)
        self.clock.advance(1)
        self.assertRaises(Refused, self.grants.redeem_firmware, token, IMAGE)
        self.assertEqual(FIRMWARE, 2 * 3600)

    def test_each_sort_opens_its_own_door(self) -> None:
        boot, firmware = self.grants.boot(MACHINE).token, self.grants.firmware(IMAGE).token
        self.refused(firmware)
        self.assertRaises(Refused, self.grants.redeem_firmware, boot, IMAGE)

    def test_images_that_are_granted(self) -> None:
        """For as long as they are."""
        self.grants.firmware(IMAGE)
        self.assertEqual(self.grants.digests, {IMAGE})
        self.clock.advance(FIRMWARE)
        self.assertEqual(self.grants.digests, frozenset())

    def test_there_are_so_many(self) -> None:
        for _ in range(MOST + 5):
            self.grants.firmware(IMAGE)
        self.assertEqual(len(self.grants), MOST)


class EpochFenceTests(SynchronousTestCase):
    def test_open_under_one_epoch(self) -> None:
        inner = SetFence()
        fence = EpochFence(7, inner)
        self.assertTrue(fence.is_open())
        inner.opened = False
        self.assertFalse(fence.is_open())
        inner.opened, inner.epoch = True, 8
        self.assertFalse(fence.is_open())
        fence.sent()
        self.assertEqual(inner.told, 1)
