"""Tests for ``rescriptum.web.ranges``."""

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.web.ranges import Selection, select

ETAG = '"7c-5"'
MODIFIED = 1_700_000_000
DATE = "Tue, 14 Nov 2023 22:13:20 GMT"
EARLIER = "Tue, 14 Nov 2023 22:13:19 GMT"
WHOLE = Selection(200, 0, 124)


def ask(*headers: tuple[str, str], size: int = 124, method: str = "GET") -> Selection:
    return select(method, headers, size, ETAG, MODIFIED)


class RangeTests(SynchronousTestCase):
    def test_single_ranges(self) -> None:
        """B38 and W184: ends are included, suffixes count from the end, ends are clamped."""
        for spec, start, length in (
            ("0-10", 0, 11),
            ("0-0", 0, 1),
            ("-10", 114, 10),
            ("-500", 0, 124),
            ("5-", 5, 119),
            ("123-", 123, 1),
            ("100-9999999999999999999999999", 100, 24),
            ("-9999999999999999999999999", 0, 124),
            ("00000000000000000000005-6", 5, 2),
        ):
            self.assertEqual(ask(("range", f"bytes={spec}")), Selection(206, start, length), spec)

    def test_ranges_that_cannot_be(self) -> None:
        """Also those that broken loaders send (W164): an error at once, never the whole image."""
        for spec in (
            "124-",
            "100-5",
            "-0",
            "-",
            "u-u",
            "-2147483648--2147483137",
            "1_0-2_0",
            "+1-2",
            "٣-٤",
            "9999999999999999999999999-",
            "0-5 x",
        ):
            self.assertEqual(ask(("range", f"bytes={spec}")), Selection(416), spec)

    def test_an_empty_file_has_no_ranges(self) -> None:
        for spec in ("0-", "-1", "0-0"):
            self.assertEqual(ask(("range", f"bytes={spec}"), size=0), Selection(416))

    def test_the_whole_where_a_range_is_not_understood(self) -> None:
        """Several ranges are answered with the whole, however they overlap (W182)."""
        for value in (
            "bytes=0-1,5-6",
            "lines=1-2",
            "bytes=abc",
            "bytes",
            "",
            "bytes=" + "0-," * 400,
        ):
            self.assertEqual(ask(("range", value)), WHOLE, value)
        self.assertEqual(ask(("range", "bytes=0-1"), ("range", "bytes=3-4")), WHOLE)

    def test_head_has_no_ranges(self) -> None:
        """RFC 9110 section 14.2, and firmware that wants the whole length (W150)."""
        self.assertEqual(ask(("range", "bytes=0-1"), method="HEAD"), WHOLE)

    def test_a_changed_file_is_not_spliced(self) -> None:
        """W181: ``If-Range`` of another file gets the whole."""
        part = Selection(206, 0, 2)
        for validator, expected in (
            (ETAG, part),
            (DATE, part),
            ('"other"', WHOLE),
            (f"W/{ETAG}", WHOLE),
            (EARLIER, WHOLE),
            ("nonsense", WHOLE),
        ):
            got = ask(("range", "bytes=0-1"), ("if-range", validator))
            self.assertEqual(got, expected, validator)


class ConditionTests(SynchronousTestCase):
    def test_what_the_client_has_already(self) -> None:
        for name, value, status in (
            ("if-none-match", ETAG, 304),
            ("if-none-match", f'"x", W/{ETAG}', 304),
            ("if-none-match", "*", 304),
            ("if-none-match", '"x"', 200),
            ("if-modified-since", DATE, 304),
            ("if-modified-since", EARLIER, 200),
            ("if-modified-since", "yesterday", 200),
        ):
            self.assertEqual(ask((name, value)).status, status, (name, value))

    def test_a_tag_outweighs_a_date(self) -> None:
        got = ask(("if-none-match", '"x"'), ("if-modified-since", DATE))
        self.assertEqual(got, WHOLE)

    def test_resuming_only_the_same_file(self) -> None:
        """How edk2 resumes (W157): Range with ``If-Match`` or ``If-Unmodified-Since``."""
        for name, value, status in (
            ("if-match", ETAG, 206),
            ("if-match", "*", 206),
            ("if-match", f"W/{ETAG}", 412),
            ("if-match", '"x"', 412),
            ("if-unmodified-since", DATE, 206),
            ("if-unmodified-since", EARLIER, 412),
        ):
            got = ask((name, value), ("range", "bytes=3-"))
            self.assertEqual(got.status, status, (name, value))

    def test_a_date_says_nothing_of_a_file_without_one(self) -> None:
        for name in ("if-modified-since", "if-unmodified-since"):
            self.assertEqual(select("GET", [(name, DATE)], 9, ETAG, 0).status, 200)

    @settings(max_examples=200, deadline=None)
    @given(
        st.lists(
            st.tuples(
                st.sampled_from(
                    ["range", "if-range", "if-match", "if-none-match", "if-modified-since"]
                ),
                st.one_of(
                    st.text(max_size=30),
                    st.from_regex(r"\Abytes=[0-9]{0,30}-[0-9]{0,30}\Z"),
                    st.just(ETAG),
                    st.just(DATE),
                ),
            ),
            max_size=4,
        ),
        st.integers(0, 1 << 40),
    )
    def test_any_headers(self, headers: list[tuple[str, str]], size: int) -> None:
        """Never an exception, never a byte that the file does not have (W186)."""
        got = select("GET", headers, size, ETAG, MODIFIED)
        self.assertIn(got.status, (200, 206, 304, 412, 416))
        self.assertLessEqual(got.start + got.length, size)
        if got.status == 206:
            self.assertGreater(got.length, 0)
