"""Tests for ``rescriptum.answers.formats.plain``."""

import math

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.answers.formats import plain
from rescriptum.errors import MalformedDocument

KEYS = st.sampled_from("abcd")
SCALARS = st.none() | st.booleans() | st.integers(-2, 2) | st.floats() | st.text(max_size=3)
VALUES = st.recursive(
    SCALARS | st.lists(SCALARS, max_size=3),
    lambda inner: st.dictionaries(KEYS, inner, max_size=4) | st.lists(inner, max_size=2),
    max_leaves=12,
)
TABLES = st.dictionaries(KEYS, VALUES, max_size=4)


class MergeTests(SynchronousTestCase):
    def test_tables_key_by_key_and_all_else_is_replaced(self) -> None:
        lower = {"a": {"x": 1, "y": {"p": 1}}, "list": [1, 2, 3], "t": {"k": 1}, "s": "low"}
        higher = {"a": {"y": {"q": 2}, "z": 3}, "list": [4], "t": "text", "s": {"k": "high"}}
        self.assertEqual(
            plain.merge(lower, higher),
            {
                "a": {"x": 1, "y": {"p": 1, "q": 2}, "z": 3},
                "list": [4],
                "t": "text",
                "s": {"k": "high"},
            },
        )

    def test_tables_in_lists_are_not_merged(self) -> None:
        self.assertEqual(plain.merge({"a": [{"x": 1}]}, {"a": [{"y": 2}]}), {"a": [{"y": 2}]})

    def test_the_layers_are_left_as_they_were(self) -> None:
        lower = {"a": {"x": 1}}
        plain.merge(lower, {"a": {"y": 2}})
        self.assertEqual(lower, {"a": {"x": 1}})

    @given(TABLES, TABLES)
    def test_the_higher_layer_wins_wherever_it_says_something(
        self, lower: dict[str, object], higher: dict[str, object]
    ) -> None:
        """Each of its values is in the result; what it does not name is the lower layer's."""

        def wins(result: object, above: object) -> bool:
            if not isinstance(above, dict):
                return plain.same(result, above)
            assert isinstance(result, dict)
            return all(wins(result[key], above[key]) for key in above)

        merged = plain.merge(lower, higher)
        self.assertTrue(wins(merged, higher))
        assert isinstance(merged, dict)
        for key in lower.keys() - higher.keys():
            self.assertTrue(plain.same(merged[key], lower[key]))
        self.assertEqual(merged.keys(), lower.keys() | higher.keys())

    def test_order_is_the_lower_layers_and_then_what_is_new(self) -> None:
        merged = plain.merge({"b": 1, "a": 2}, {"c": 3, "a": 4})
        assert isinstance(merged, dict)
        self.assertEqual(list(merged), ["b", "a", "c"])


class ServedTests(SynchronousTestCase):
    def test_control_is_neither_served_nor_merged(self) -> None:
        """At the top; a table further down may be called as it likes."""
        layers = [
            {"extends": "x", "members": [], "match": {"a": "b"}, "examples": [], "k": 1},
            {"match": {"c": "d"}, "t": {"match": 1}},
        ]
        self.assertEqual(plain.lay(layers), {"k": 1, "t": {"match": 1}})

    def test_a_top_that_is_no_table_has_no_control_and_is_replaced(self) -> None:
        self.assertEqual(plain.lay([["match"], {"extends": "x", "a": 1}]), {"a": 1})
        self.assertEqual(plain.lay([{"a": 1}, ["extends"]]), ["extends"])


class SameTests(SynchronousTestCase):
    def test_what_python_takes_for_equal(self) -> None:
        for one, other in ((1, 1.0), (1, True), (0.0, -0.0), ("1", 1), ({"a": 1}, {"a": True})):
            self.assertFalse(plain.same(one, other), (one, other))
        self.assertTrue(plain.same({"a": [math.nan]}, {"a": [float("nan")]}))
        self.assertTrue(plain.same({"a": 1, "b": 2}, {"b": 2, "a": 1}))
        self.assertFalse(plain.same({"a": 1}, {"b": 1}))
        self.assertFalse(plain.same([1], [1, 2]))

    @given(VALUES)
    def test_a_value_is_itself(self, value: object) -> None:
        self.assertTrue(plain.same(value, value))


class WalkTests(SynchronousTestCase):
    def test_texts_in_order_but_no_keys(self) -> None:
        top = {"a": ["x", {"key": "y"}], "b": {"c": "z"}, "d": 1}
        self.assertEqual(
            list(plain.texts(top)),
            [(("a", "0"), "x"), (("a", "1", "key"), "y"), (("b", "c"), "z")],
        )

    def test_depth_is_bounded(self) -> None:
        """A hundred tables in each other are walked, one more is refused, and none recursed."""
        value: object = "deep"
        for _ in range(plain.MAX_DEPTH):
            value = {"a": value}
        self.assertEqual(len(list(plain.texts(value))), 1)
        for deeper in ([value], [value] * 1):
            with self.assertRaises(MalformedDocument):
                list(plain.texts(deeper))
        for _ in range(100_000):
            value = [value]
        with self.assertRaises(MalformedDocument):
            list(plain.texts(value))

    def test_leaves(self) -> None:
        """A list is one value, and so is a table with nothing in it; control is left out."""
        top = {"extends": "x", "a": {"b": 1, "c.d": {"e": [1, {}]}}, "t": {}, "": 2}
        self.assertEqual(
            plain.leaves(top, repr),
            [("a.b", "1"), ('a."c.d".e', "[1, {}]"), ("t", "{}"), ('""', "2")],
        )
        self.assertEqual(plain.leaves(["a"], repr), [("", "['a']")])
        self.assertEqual(plain.leaves({}, repr), [])
