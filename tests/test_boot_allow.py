"""Tests for ``rescriptum.boot.allow``."""

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.boot.allow import AllowList


class AllowListTests(SynchronousTestCase):
    def test_admits_everybody_when_empty(self) -> None:
        self.assertTrue(AllowList().admits("198.51.100.7"))

    def test_admits_members_of_its_networks(self) -> None:
        allow = AllowList.parse("10.0.0.0/8, 192.0.2.7,2001:db8::/32")
        for host in ("10.1.2.3", "192.0.2.7", "2001:db8::1", "::ffff:10.1.2.3"):
            self.assertTrue(allow.admits(host), host)
        for host in ("192.0.2.8", "2001:db9::1", "fe80::1%eth0"):
            self.assertFalse(allow.admits(host), host)

    def test_families_never_match_each_other(self) -> None:
        """``0.0.0.0/0`` is every IPv4 address and no IPv6 one."""
        self.assertFalse(AllowList.parse("0.0.0.0/0").admits("2001:db8::1"))

    def test_says_which_part_is_wrong(self) -> None:
        with self.assertRaisesRegex(ValueError, r"10\.0\.0\.1/8"):
            AllowList.parse("192.0.2.0/24,10.0.0.1/8")

    @settings(max_examples=100, deadline=None)
    @given(st.text(st.characters(exclude_characters="0123456789.:")))
    def test_refuses_what_is_no_address(self, host: str) -> None:
        self.assertFalse(AllowList.parse("0.0.0.0/0,::/0").admits(host))
