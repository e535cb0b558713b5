"""Tests for ``rescriptum.answers.body``."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.answers.body import MAX_DEPTH, MAX_VALUES, decoded, leaves, scalars, texts
from rescriptum.errors import MalformedRequest

_trees = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=20,
)


class TextsTests(SynchronousTestCase):
    @settings(max_examples=300, deadline=None)
    @given(_trees)
    def test_every_scalar_once(self, tree: object) -> None:
        """Found without names, and under its names: the same ones; numbers as they were sent."""
        document = decoded(json.dumps(tree).encode(), True)
        named = [each.text for each in scalars(document)]
        self.assertEqual(sorted(texts(document)), sorted(named))
        self.assertEqual([text for _, text in leaves(document)], named)

    def test_numbers_as_they_were_sent(self) -> None:
        self.assertEqual(texts(decoded(b"[1.10, 1e3, true, null]", True)), ("1.10", "1e3", "true"))

    def test_bounds(self) -> None:
        """At each of them, and one beyond. What is empty takes room too, wherever it is."""
        half = MAX_VALUES // 2
        values: tuple[object, ...] = ("x", None, [], {})
        for each in values:
            texts([each] * MAX_VALUES)
            texts({"a": [each] * (half - 2), "b": [[each]] * (half // 2)})
            for document in (
                [each] * (MAX_VALUES + 1),
                {"a": [each] * (half - 2), "b": [[each]] * (half // 2), "c": each},
            ):
                with self.assertRaises(MalformedRequest):
                    texts(document)
        deep: object = "x"
        for _ in range(MAX_DEPTH):
            deep = [deep]
        self.assertEqual(texts(deep), ("x",))
        with self.assertRaises(MalformedRequest):
            texts({"a": deep})
