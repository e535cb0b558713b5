"""Tests for ``rescriptum.cache.responses``."""

import contextlib
from collections.abc import Callable

from hyperlink import URL
from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.cache.responses import Changed, Known, moved, opened, shown
from rescriptum.errors import Refused, RescriptumError, Unavailable

TAG = '"abc"'
HALF = Known(500, TAG, 1000)
REST = {"content-range": "bytes 500-999/1000", "content-length": "500", "etag": TAG}
TEXT = st.text(st.characters(max_codepoint=255), max_size=40)


def header(values: dict[str, str]) -> Callable[[str], str | None]:
    return values.get


class OpenedTests(SynchronousTestCase):
    def test_a_whole_image(self) -> None:
        """Its length and its tag, where it says them."""
        said = {"content-length": "1000", "etag": TAG}
        self.assertEqual(opened(200, header(said), Known()), Known(0, TAG, 1000))
        self.assertEqual(opened(200, header({}), Known()), Known(0, "", None))

    def test_the_rest(self) -> None:
        self.assertEqual(opened(206, header(REST), HALF), HALF)
        self.assertEqual(opened(206, header({**REST, "etag": ""}), Known(500, TAG)), HALF)

    def test_what_is_asked_for(self) -> None:
        """The rest alone, where the server can tell that the image is still the same."""
        self.assertEqual(HALF.asks, (("Range", "bytes=500-"), ("If-Range", TAG)))
        for each in (Known(), Known(500), Known(0, TAG)):
            self.assertEqual(each.asks, ())

    def test_an_image_that_has_changed_begins_anew(self) -> None:
        self.assertEqual(
            opened(200, header({"etag": '"b"', "content-length": "7"}), HALF), Known(0, '"b"', 7)
        )

    def test_a_weak_tag_is_none(self) -> None:
        """It says that an image means the same, not that it is the same."""
        for tag in ('W/"abc"', "abc", '"', '"a"b"', '"a\r\nX: y"', '"' + "a" * 300 + '"'):
            self.assertEqual(opened(200, header({"etag": tag}), Known()).etag, "", tag)

    def test_a_rest_that_does_not_fit(self) -> None:
        """It is thrown away, and the whole is asked for."""
        for wrong in (
            {"content-range": "bytes 0-999/1000"},
            {"content-range": "bytes 500-998/1000"},
            {"content-range": "bytes 500-1000/1001"},
            {"content-range": "bytes 500-999/*"},
            {"content-range": ""},
            {"content-length": "499"},
            {"etag": '"other"'},
        ):
            self.assertRaises(Changed, opened, 206, header({**REST, **wrong}), HALF)
        self.assertRaises(Changed, opened, 416, header({}), HALF)

    def test_statuses(self) -> None:
        for status in (500, 502, 503, 504, 429, 408):
            self.assertRaises(Unavailable, opened, status, header({}), Known())
        # A rest that was not asked for is of no use either.
        for status in (204, 206, 304, 400, 401, 403, 404, 410, 416):
            error = self.assertRaises(Refused, opened, status, header({}), Known())
            self.assertIn(str(status), str(error))

    @given(st.integers(100, 999), st.dictionaries(st.sampled_from(sorted(REST)), TEXT))
    def test_whatever_a_server_says(self, status: int, said: dict[str, str]) -> None:
        for known in (Known(), HALF):
            with contextlib.suppress(RescriptumError):
                after = opened(status, header(said), known)
                self.assertIn(after.have, (0, known.have))


class ShownTests(SynchronousTestCase):
    def test_what_logs_show(self) -> None:
        url = URL.from_text("https://user:secret@h/images/a.raw?X-Signature=secret")
        self.assertEqual(shown(url), "https://h/images/a.raw")


class MovedTests(SynchronousTestCase):
    here = URL.from_text("https://user:secret@h/a/b")

    def test_where_to(self) -> None:
        """Another host, too, and from HTTPS to HTTP: the digest vouches for the bytes."""
        for status in (301, 302, 303, 307, 308):
            there = moved(status, header({"location": "http://cdn/x?y#z"}), self.here)
            assert there is not None
            self.assertEqual(there.to_text(), "http://cdn/x?y")
        self.assertIsNone(moved(200, header({"location": "http://cdn/x"}), self.here))

    def test_without_a_users_name(self) -> None:
        """That of the first host, or one that the redirect brings along."""
        for location in ("../c", "https://other:pass@h/c"):
            there = moved(302, header({"location": location}), self.here)
            assert there is not None
            self.assertEqual((there.to_text(True), there.userinfo), ("https://h/c", ""))

    def test_nowhere_else(self) -> None:
        for location in ("file:///etc/passwd", "ftp://h/x", "http://h:abc/", "http://h/ ä", "0:"):
            self.assertRaises(Refused, moved, 302, header({"location": location}), self.here)

    @given(TEXT)
    def test_whatever_a_server_says(self, location: str) -> None:
        with contextlib.suppress(Refused):
            there = moved(302, header({"location": location}), self.here)
            assert there is not None
            self.assertIn(there.scheme, ("http", "https"))
