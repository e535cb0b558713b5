"""Tests for ``rescriptum.cache.eviction``."""

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.cache.eviction import evicted
from rescriptum.cache.images import CachedImage


def image(letter: str, size: int, used: int) -> CachedImage:
    return CachedImage(letter * 64, (1, 1, size, 0), used)


A, B, C = image("a", 10, 300), image("b", 20, 100), image("c", 30, 200)


class EvictionTests(SynchronousTestCase):
    def test_the_least_recently_used_go_first(self) -> None:
        """And no more of them than it takes."""
        for budget, gone in ((60, ()), (59, (B,)), (40, (B,)), (39, (B, C)), (1, (B, C, A))):
            self.assertEqual(evicted([A, B, C], (), budget), gone, budget)

    def test_what_is_named_stays(self) -> None:
        """Also where that is more than there is to be."""
        self.assertEqual(evicted([A, B, C], {B.digest}, 40), (C,))
        self.assertEqual(evicted([A, B, C], {A.digest, B.digest, C.digest}, 1), ())

    def test_without_a_budget_everything_stays(self) -> None:
        self.assertEqual(evicted([A, B, C], (), 0, 1 << 60), ())

    def test_what_comes_takes_room(self) -> None:
        self.assertEqual(evicted([A, B, C], (), 70, 10), ())
        self.assertEqual(evicted([A, B, C], (), 70, 11), (B,))

    @given(
        st.lists(st.tuples(st.integers(0, 9), st.integers(0, 50), st.integers(0, 9)), max_size=8),
        st.sets(st.integers(0, 9)),
        st.integers(0, 200),
        st.integers(0, 100),
    )
    def test_for_any(
        self, made: list[tuple[int, int, int]], stay: set[int], budget: int, coming: int
    ) -> None:
        """
        Nothing that is named goes; what is left fits, or is named; and nothing went for nothing.
        """
        images = list({number: image(str(number), *rest) for number, *rest in made}.values())
        named = {str(each) * 64 for each in stay}
        gone = evicted(images, named, budget, coming)
        self.assertFalse(named.intersection(each.digest for each in gone))
        left = [each for each in images if each not in gone]
        size = sum(each.size for each in left) + coming
        if budget:
            self.assertTrue(size <= budget or all(each.digest in named for each in left))
            if gone:
                self.assertGreater(size + gone[-1].size, budget)
            self.assertEqual(list(gone), sorted(gone, key=lambda each: (each.used, each.digest)))
        else:
            self.assertEqual(gone, ())
