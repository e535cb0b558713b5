"""Tests for ``rescriptum.answers.control``."""

from twisted.trial.unittest import SynchronousTestCase

from rescriptum.answers.control import Control
from rescriptum.answers.criteria import Criterion
from rescriptum.errors import MalformedDocument


class ControlTests(SynchronousTestCase):
    def test_a_structured_document_s_keys(self) -> None:
        """Numbers and booleans are their text; keys that are not ours are not looked at."""
        control = Control.of_table(
            {
                "extends": "base",
                "members": ["52:54:00:00:00:01", 4711],
                "match": {"Product": ["R6*", "!R640xd"], "sockets": 2, "uefi": True},
                "examples": [{"product": "R640", "sockets": 2}],
                "global": {"extends": 1},
            }
        )
        self.assertEqual(control.extends, "base")
        self.assertEqual(control.members, ("52:54:00:00:00:01", "4711"))
        self.assertEqual(
            control.criteria,
            (
                Criterion.of("product", ["R6*", "!R640xd"]),
                Criterion.of("sockets", ["2"]),
                Criterion.of("uefi", ["true"]),
            ),
        )
        self.assertEqual(control.examples, ((("product", "R640"), ("sockets", "2")),))

    def test_one_member_needs_no_list(self) -> None:
        self.assertEqual(Control.of_table({"members": "m1"}).members, ("m1",))

    def test_nothing_is_false(self) -> None:
        self.assertFalse(Control.of_table({"a": 1}))
        self.assertTrue(Control.of_table({"members": ["m1"]}))

    def test_words_in_lines(self) -> None:
        """A label that comes again is another pattern for it."""
        control = Control.of_pairs("base", ["a"], [("product", "R6*"), ("Product", "R7*")])
        self.assertEqual(control.criteria, (Criterion.of("product", ["R6*", "R7*"]),))
        self.assertEqual(
            control,
            Control.of_table(
                {"extends": "base", "members": ["a"], "match": {"product": ["R6*", "R7*"]}}
            ),
        )

    def test_what_is_wrong_names_its_key(self) -> None:
        for table, text in (
            ({"extends": ["a"]}, "extends: want the name of one group, not ['a']"),
            ({"extends": " "}, "extends: want the name of one group"),
            ({"members": [{}]}, "members: want text, a number, true or false, not {}"),
            ({"match": "x"}, "match: want a table of facts and patterns, not 'x'"),
            ({"match": {"a": {"b": 1}}}, "match.a: want text"),
            ({"match": {"a": []}}, "match.a: want a pattern, or a list of them"),
            ({"examples": {}}, "examples: want a list of tables"),
            ({"examples": ["x"]}, "examples: want tables of facts, not 'x'"),
            ({"examples": [{"a": [1]}]}, "examples.a: want text"),
        ):
            with self.assertRaises(MalformedDocument) as caught:
                Control.of_table(table)
            self.assertIn(text, str(caught.exception))
        with self.assertRaises(MalformedDocument):
            Control.of_pairs(" ", [], [])
