"""Tests for ``rescriptum.web.lockout``."""

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.web.lockout import ADDRESSES, FAILURES, FIRST, LONGEST, WINDOW, Lockout

HOST = "192.0.2.7"


class LockoutTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.lockout = Lockout()

    def several(self, count: int, now: float, host: str = HOST) -> float:
        """:returns: for how long the last of so many failures at ``now`` blocks."""
        for _ in range(count):
            blocked = self.lockout.failed(host, now)
        return blocked

    def test_five_failures_in_a_minute_block_for_one(self) -> None:
        """Four do not; and the block is over when it is over."""
        self.assertEqual(self.several(FAILURES - 1, 100), 0)
        self.assertEqual(self.lockout.blocked(HOST, 100), 0)
        self.assertEqual(self.lockout.failed(HOST, 100), FIRST)
        self.assertEqual(self.lockout.blocked(HOST, 100), FIRST)
        self.assertEqual(self.lockout.blocked(HOST, 130), FIRST - 30)
        self.assertEqual(self.lockout.blocked(HOST, 100 + FIRST), 0)

    def test_failures_that_are_far_apart_do_not_add_up(self) -> None:
        """Somebody mistypes now and then, for a whole day."""
        for at in range(500):
            self.assertEqual(self.lockout.failed(HOST, at * WINDOW / (FAILURES - 1)), 0)

    def test_each_block_is_twice_as_long_up_to_fifteen_minutes(self) -> None:
        now, lengths = 0.0, []
        for _ in range(6):
            lengths.append(self.several(FAILURES, now))
            now += lengths[-1]
        self.assertEqual(lengths, [60, 120, 240, 480, LONGEST, LONGEST])

    def test_a_quiet_quarter_of_an_hour_is_a_fresh_start(self) -> None:
        self.several(FAILURES, 0)
        self.assertEqual(self.several(FAILURES, FIRST + LONGEST - 1), 2 * FIRST)
        self.assertEqual(self.several(FAILURES, 2 * FIRST + FIRST + 2 * LONGEST), FIRST)

    def test_who_has_the_token_starts_afresh(self) -> None:
        self.several(FAILURES, 0)
        self.lockout.succeeded(HOST)
        self.assertEqual((len(self.lockout), self.several(FAILURES, 100)), (0, FIRST))

    def test_others_are_not_blocked(self) -> None:
        self.several(FAILURES, 0)
        self.assertEqual(self.lockout.blocked("192.0.2.8", 0), 0)

    def test_a_network_of_ipv6_is_one_address(self) -> None:
        """A host chooses the lower half anew for every connection if it likes."""
        for at in range(FAILURES):
            self.lockout.failed(f"2001:db8::{at}", 0)
        self.assertEqual(self.lockout.blocked("2001:db8:0:0:ffff::1", 0), FIRST)
        self.assertEqual(self.lockout.blocked("2001:db8:0:1::1", 0), 0)

    def test_ipv4_is_itself_however_it_arrives(self) -> None:
        """A listener on ``::`` is told of IPv4 in IPv6's spelling, and of scopes."""
        self.several(FAILURES, 0, f"::ffff:{HOST}")
        self.assertEqual(self.lockout.blocked(HOST, 0), FIRST)
        self.several(FAILURES, 0, "fe80::1%eth0")
        self.assertEqual(self.lockout.blocked("fe80::2", 0), FIRST)

    def test_so_many_addresses_are_remembered_and_no_more(self) -> None:
        """The ones that failed longest ago are forgotten first, the blocked ones last."""
        self.several(FAILURES, 0, "blocked")
        for at in range(ADDRESSES - 1):
            self.lockout.failed(f"host {at}", 1)
        self.assertEqual(len(self.lockout), ADDRESSES)
        self.several(FAILURES - 2, 1, "host 0")
        self.several(FAILURES - 1, 1, "host 1")  # makes it the last, and blocked
        self.lockout.failed("another", 1)
        self.assertEqual(len(self.lockout), ADDRESSES)
        self.assertEqual(self.lockout.blocked("blocked", 1), FIRST - 1)
        self.assertEqual(self.lockout.failed("host 0", 1), FIRST)  # remembered: its fifth

    def test_where_all_are_blocked_the_oldest_block_is_forgotten(self) -> None:
        for at in range(ADDRESSES + 1):
            self.several(FAILURES, 0, f"host {at}")
        self.assertEqual(len(self.lockout), ADDRESSES)
        self.assertEqual(self.lockout.blocked(f"host {ADDRESSES}", 0), FIRST)

    @settings(max_examples=100, deadline=None)
    @given(st.lists(st.tuples(st.text(), st.floats(0, 50)), max_size=40))
    def test_any_host_and_time(self, failures: list[tuple[str, float]]) -> None:
        """Nothing is raised, whatever an address is called, and no block outlasts the longest."""
        lockout, now = Lockout(), 0.0
        for host, later in failures:
            now += later
            if not lockout.blocked(host, now):
                self.assertLessEqual(lockout.failed(host, now), LONGEST)
            self.assertLess(lockout.blocked(host, now), LONGEST + 1)
