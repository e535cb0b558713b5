"""Tests for ``rescriptum.contract.sources``."""

import contextlib

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.contract.sources import LONGEST, image_url, is_digest
from rescriptum.errors import Malformed


class URLTests(SynchronousTestCase):
    def test_what_is_pulled_from(self) -> None:
        """It is asked for as it is written: a signed query counts every character."""
        for text in ("http://h/a%2fb?X=a%2Fb&y=", "https://[::1]:8443/x", "http://h:1/a//b/../c"):
            self.assertEqual(image_url(text).to_text(), text)
        self.assertEqual(image_url("HTTP://h/x#part").to_text(), "http://h/x")

    def test_what_is_not(self) -> None:
        """And what is said of it does not repeat it."""
        for text in (
            "",
            "/x",
            "//h/x",
            "http:",
            "http:///x",
            "ftp://h/secret",
            "file:///secret",
            "data:secret",
            "http://h:0/secret",
            "http://h:99999/secret",
            "http://h:abc/secret",
            "http://[::1/secret",
            "http://h/sec ret",
            "http://h/secret\r\nX: y",
            "http://h/ä",
            "http://h/" + "a" * 5000,
        ):
            error = self.assertRaises(Malformed, image_url, text)
            self.assertNotIn("secret", str(error))

    def test_as_long_as_whoever_asks_takes(self) -> None:
        """One that somebody names is shorter than one that a server sends on to."""
        text = "http://h/".ljust(LONGEST, "a")
        self.assertEqual(image_url(text, LONGEST).to_text(), text)
        said = str(self.assertRaises(Malformed, image_url, text + "a", LONGEST))
        self.assertIn(f"up to {LONGEST} characters", said)
        self.assertEqual(image_url(text + "a").to_text(), text + "a")

    @given(st.text())
    def test_whatever_a_gateway_names(self, text: str) -> None:
        with contextlib.suppress(Malformed):
            image_url(text)
        with contextlib.suppress(Malformed):
            image_url("http://" + text)


class DigestTests(SynchronousTestCase):
    def test_names(self) -> None:
        """A file is called so: nothing else is in it, not even another alphabet's digits."""
        self.assertTrue(is_digest("0f" * 32))
        for wrong in ("", "0f" * 31, "0F" * 32, "0f" * 32 + "\n", "../" + "a" * 61, "٣" * 64):
            self.assertFalse(is_digest(wrong))
