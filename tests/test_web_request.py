"""Tests for ``rescriptum.web.request``."""

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.web.request import Request

PEER = ("192.0.2.7", 50000)


def request(target: str) -> Request:
    return Request("GET", target, PEER, (("a", "1"), ("b", "2"), ("a", "3")))


class RequestTests(SynchronousTestCase):
    def test_segments(self) -> None:
        """Decoded once, however installers joined them; ``..`` is for who walks a tree."""
        for target, segments in (
            ("/", ()),
            ("", ()),
            ("/a/b?c/d", ("a", "b")),
            ("//a/./b//", ("a", "b")),
            ("/a/../b", ("a", "..", "b")),
            ("/%2e%2E/%2f/%2525", ("..", "/", "%25")),
            ("/%zz/a+b", ("%zz", "a+b")),
            ("/%c3%a9/%ff", ("é", "\udcff")),
        ):
            self.assertEqual(request(target).segments, segments, target)

    def test_query(self) -> None:
        for target, query in (
            ("/", ()),
            ("/?", ()),
            ("/?a=1&b=&c&a=2", (("a", "1"), ("b", ""), ("c", ""), ("a", "2"))),
            ("/?a=1+2%2B3&%61=?", (("a", "1 2+3"), ("a", "?"))),
            ("/?a=%zz&=x&&", (("a", "%zz"), ("", "x"))),
        ):
            self.assertEqual(request(target).query, query, target)

    def test_headers(self) -> None:
        self.assertEqual(request("/").header("a"), "1")
        self.assertIsNone(request("/").header("c"))

    @settings(max_examples=200, deadline=None)
    @given(st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=60))
    def test_any_target(self, target: str) -> None:
        """Whatever a head may carry has segments and a query."""
        asked = request("/" + target)
        self.assertNotIn("", asked.segments)
        self.assertIsInstance(asked.query, tuple)
