"""Tests for ``rescriptum.tftp.cache``."""

from attrs import frozen
from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.tftp.cache import Cache


class CacheTests(SynchronousTestCase):
    def filled(self, *keys: str) -> Cache[str]:
        """Three fit; each of ``keys`` is kept and not in use."""
        cache: Cache[str] = Cache(30)
        for key in keys:
            self.assertTrue(cache.reserve(10))
            cache.put(key, key.upper(), 10)
            cache.give_back(key)
        return cache

    def test_keeps_what_fits(self) -> None:
        """What was put is taken again; what was not is None."""
        cache = self.filled("a", "b", "c")
        self.assertEqual([cache.take(key) for key in "abcd"], ["A", "B", "C", None])

    def test_the_longest_unused_goes_first(self) -> None:
        """Taking something makes it young."""
        cache = self.filled("a", "b", "c")
        cache.take("a")
        cache.give_back("a")
        self.assertTrue(cache.reserve(10))
        cache.put("d", "D", 10)
        self.assertEqual([cache.take(key) for key in "abcd"], ["A", None, "C", "D"])

    def test_what_is_in_use_stays(self) -> None:
        """Nothing is evicted under a transfer: then there is no room, and nothing goes for it."""
        cache = self.filled("a", "b", "c")
        for key in "abc":
            cache.take(key)
        self.assertFalse(cache.reserve(10))
        cache.give_back("b")
        self.assertFalse(cache.reserve(20))
        self.assertEqual(cache.take("b"), "B")
        cache.give_back("b")
        self.assertTrue(cache.reserve(10))
        self.assertIsNone(cache.take("b"))

    def test_an_unused_reservation_gives_its_room_back(self) -> None:
        """A file that could not be read costs nothing."""
        cache: Cache[str] = Cache(10)
        self.assertTrue(cache.reserve(10))
        self.assertFalse(cache.reserve(1))
        cache.release(10)
        self.assertTrue(cache.reserve(10))

    def test_making_room_does_not_look_through_what_is_there(self) -> None:
        """A stranger chooses block sizes, so how many entries of small files there are."""
        hashed = 0

        @frozen(eq=False)
        class Key:
            def __hash__(self) -> int:
                nonlocal hashed
                hashed += 1
                return id(self)

        cache: Cache[str] = Cache(5000)
        for _ in range(5000):
            cache.reserve(1)
            key = Key()
            cache.put(key, "", 1)
            cache.give_back(key)
        hashed = 0
        self.assertTrue(cache.reserve(3))
        self.assertLess(hashed, 20)

    @given(st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(1, 40), st.booleans())))
    @settings(max_examples=200, deadline=None)
    def test_never_holds_more_than_its_limit(self, steps: list[tuple[str, int, bool]]) -> None:
        """Whatever is put, taken and given back in whatever order."""
        cache: Cache[str] = Cache(50)
        users: dict[str, int] = {}
        for key, weight, done in steps:
            if done and users.get(key):
                users[key] -= 1
                cache.give_back(key)
            elif cache.take(key) is not None:
                users[key] = users.get(key, 0) + 1
            elif cache.reserve(weight):
                cache.put(key, key, weight)
                users[key] = 1
            self.assertTrue(0 <= cache.held <= 50)
