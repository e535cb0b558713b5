"""Tests for ``rescriptum.tftp.options``."""

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.tftp.options import OPTIONS, Caps, Negotiated, described, negotiate
from rescriptum.tftp.wire import Options


def agreed(*options: tuple[bytes, bytes], mtu: int = 1500, version: int = 4) -> Negotiated:
    return negotiate(options, 1048677, Caps(), mtu, version)


class NegotiateTests(SynchronousTestCase):
    def test_no_options_are_no_acknowledgement(self) -> None:
        """A request of 1990 gets blocks of 512 bytes and nothing else."""
        self.assertEqual(agreed(), Negotiated(512, 1, None, ()))
        self.assertIsNone(agreed().acknowledgement)

    def test_only_what_was_asked_is_acknowledged(self) -> None:
        """
        An option too many makes edk2 end it; one that nobody knows is left out, and when that
        leaves none there is no acknowledgement at all (field case B21, W103, W106).
        """
        self.assertEqual(agreed((b"blksize", b"1024")).granted, ((b"blksize", b"1024"),))
        self.assertEqual(agreed((b"tsize", b"0")).granted, ((b"tsize", b"1048677"),))
        self.assertIsNone(agreed((b"foo", b"1")).acknowledgement)
        mixed = agreed((b"foo", b"1"), (b"tsize", b"0"), (b"rollover", b"0"))
        self.assertEqual(mixed.granted, ((b"tsize", b"1048677"),))

    def test_keeps_the_order_of_the_request(self) -> None:
        """Options are acknowledged in the order in which they were asked."""
        names = [name for name, _ in agreed((b"windowsize", b"4"), (b"blksize", b"600")).granted]
        self.assertEqual(names, [b"windowsize", b"blksize"])

    def test_block_size_is_rewritten_to_what_fits(self) -> None:
        """
        Never larger than asked, than the cap, or than the path carries; refusing it instead would
        send the client down to 512 (field case B34, W112 to W114).
        """
        for asked, mtu, version, given_size in (
            (b"65464", 1500, 4, 1468),
            (b"65464", 1400, 4, 1368),
            (b"65464", 1500, 6, 1448),
            (b"1468", 65536, 4, 1468),
            (b"1432", 1500, 4, 1432),
            (b"1024", 1500, 4, 1024),
            (b"8", 1500, 4, 8),
            (b"99999", 1500, 4, 1468),
        ):
            terms = agreed((b"blksize", asked), mtu=mtu, version=version)
            self.assertEqual(terms.blksize, given_size)
            self.assertEqual(terms.granted, ((b"blksize", b"%d" % given_size),))

    def test_values_out_of_range_are_ignored(self) -> None:
        """The option is left out, which RFC 2347 makes a refusal of it alone."""
        for name, value in (
            (b"blksize", b"7"),
            (b"blksize", b"0"),
            (b"blksize", b"abc"),
            (b"blksize", b"+512"),
            (b"blksize", b""),
            (b"windowsize", b"0"),
            (b"windowsize", b"-1"),
            (b"timeout", b"0"),
            (b"timeout", b"256"),
            (b"tsize", b"many"),
        ):
            self.assertEqual(agreed((name, value)), Negotiated(), (name, value))

    def test_timeout_is_echoed(self) -> None:
        """Another value than the one asked would end it for edk2 (W109)."""
        terms = agreed((b"timeout", b"7"))
        self.assertEqual((terms.timeout, terms.granted), (7, ((b"timeout", b"7"),)))

    def test_windows_are_bounded_in_blocks_and_bytes(self) -> None:
        """64 blocks and 256 KiB at most, wherever the block size stood; never more than asked."""
        self.assertEqual(agreed((b"windowsize", b"4")).windowsize, 4)
        self.assertEqual(agreed((b"windowsize", b"65535")).windowsize, 64)
        large = Caps(blksize=65464)
        terms = negotiate(
            ((b"windowsize", b"64"), (b"blksize", b"8192")), 1, large, mtu=65536, version=4
        )
        self.assertEqual(terms.windowsize, 31)
        self.assertEqual(terms.granted[0], (b"windowsize", b"31"))
        terms = negotiate(
            ((b"blksize", b"65464"), (b"windowsize", b"64")), 1, Caps(65464, 64, 9), 70000, 4
        )
        self.assertEqual(terms.windowsize, 1)

    def test_an_option_counts_once(self) -> None:
        """RFC 2347 forbids to repeat one: the first stands."""
        terms = agreed((b"blksize", b"1024"), (b"blksize", b"600"))
        self.assertEqual(terms.granted, ((b"blksize", b"1024"),))

    @given(
        st.lists(
            st.tuples(
                st.sampled_from([*OPTIONS, b"foo", b""]),
                st.integers(-10, 100000).map(lambda each: b"%d" % each) | st.binary(max_size=8),
            ),
            max_size=8,
        ).map(tuple),
        st.integers(68, 70000),
        st.sampled_from((4, 6)),
    )
    @settings(max_examples=300, deadline=None)
    def test_never_grants_more_than_was_asked(
        self, options: Options, mtu: int, version: int
    ) -> None:
        """Whatever was asked: each option once, none new, no size enlarged, all within the caps."""
        terms = negotiate(options, 77, Caps(), mtu, version)
        names = [name for name, _ in terms.granted]
        self.assertEqual(len(names), len(set(names)))
        for name, value in terms.granted:
            asked = [int(v) for n, v in options if n == name and v.isdigit()]
            self.assertTrue(asked)
            if name in (b"blksize", b"windowsize"):
                self.assertTrue(any(int(value) <= each for each in asked))
        self.assertTrue(8 <= terms.blksize <= 1468)
        self.assertTrue(1 <= terms.windowsize <= 64)


class OptionsTests(SynchronousTestCase):
    def test_table_holds_the_options_of_the_rfcs(self) -> None:
        """RFC 2348, 2349 twice, 7440."""
        self.assertEqual(sorted(OPTIONS), [b"blksize", b"timeout", b"tsize", b"windowsize"])


class DescribedTests(SynchronousTestCase):
    def test_is_one_clean_line(self) -> None:
        """As offered, without what would break a log line, and not without end."""
        self.assertEqual(
            described(((b"blksize", b"1468"), (b"a\n", b"\0"))), "blksize=1468 a\\x0a=\\x00"
        )
        self.assertTrue(len(described(((b"n" * 400, b"v" * 400),) * 50)) < 1000)
