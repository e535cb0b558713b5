"""Tests for ``rescriptum.contract.structure``: whatever comes, a value or one refusal."""

import json
from enum import Enum
from typing import cast

from attrs import field, frozen
from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.contract.bounds import many, name, number, text
from rescriptum.contract.refusals import Rejected
from rescriptum.contract.structure import JSON, VALUES, parsed, plain, rendered, structured

from .contract_values import DOCUMENTS, KINDS, values


class Colour(Enum):
    RED = "red"


@frozen
class Inner:
    number: int = field(validator=number(1, 3))


@frozen
class Outer:
    text: str = field(validator=text(4))
    name: str = field(validator=name())
    inner: Inner
    colour: Colour = Colour.RED
    flag: bool = False
    many: tuple[Inner, ...] = field(default=(), validator=many(2))
    table: JSON = field(factory=dict)
    maybe: str | None = None
    maybe_table: JSON | None = None


GOOD: JSON = {"text": "abcd", "name": "n-1", "inner": {"number": 1}}


class StructuredTests(SynchronousTestCase):
    def refused(self, **changes: object) -> str:
        error = self.assertRaises(Rejected, structured, Outer, {**GOOD, **changes})
        self.assertEqual(error.code, "invalid-message")
        return str(error.detail)

    def test_a_message(self) -> None:
        made = structured(Outer, {**GOOD, "colour": "red", "many": [{"number": 2}], "maybe": None})
        self.assertEqual(made, Outer("abcd", "n-1", Inner(1), many=(Inner(2),)))

    def test_the_field_that_is_wrong_is_named(self) -> None:
        for field_name, value, words in (
            ("text", "abcde", "longer than 4 characters"),
            ("text", "", "empty"),
            ("text", 1, "not a text"),
            ("name", "a/b", "not a name"),
            ("name", "x" * 129, "not 1 to 128"),
            ("inner", {"number": 4}, "not between 1 and 3"),
            ("inner", {"number": True}, "not a whole number"),
            ("inner", {"number": 1.0}, "not a whole number"),
            ("inner", {"number": "1"}, "not a whole number"),
            ("inner", {"other": 1}, "other"),
            ("inner", {}, "missing"),
            ("inner", None, "inner"),
            ("colour", "blue", "none of red"),
            ("colour", ["red"], "none of red"),
            ("flag", 1, "not true or false"),
            ("many", [{"number": 1}] * 3, "more than 2"),
            ("many", {"number": 1}, "not a list"),
            ("many", "ab", "not a list"),
            ("table", [], "not an object"),
            ("maybe", 1, "maybe"),
            ("maybe_table", "x", "not an object"),
        ):
            detail = self.refused(**{field_name: value})
            self.assertIn(words, detail)
            self.assertIn(field_name, detail)

    def test_what_is_missing_or_unknown(self) -> None:
        error = self.assertRaises(Rejected, structured, Outer, {"text": "a", "more": 1})
        self.assertIn("missing: name", error.detail)
        self.assertIn("unknown: 'more'", error.detail)

    def test_another_code_where_it_is_asked_for(self) -> None:
        """Payloads of commands have one of their own."""
        error = self.assertRaises(Rejected, structured, Outer, {}, "invalid-payload")
        self.assertEqual(error.code, "invalid-payload")

    def test_a_refusal_says_no_more_than_its_bound(self) -> None:
        detail = self.refused(**{f"unknown-{each}": 1 for each in range(500)})
        self.assertLessEqual(len(detail), 300)

    @given(DOCUMENTS, st.sampled_from(KINDS))
    def test_garbage_is_refused_and_nothing_else(self, data: object, kind: type) -> None:
        try:
            structured(kind, data)
        except Rejected as e:
            self.assertEqual(e.code, "invalid-message")

    @given(st.data())
    def test_one_field_of_garbage(self, data: st.DataObject) -> None:
        """Everything else is right, and still nothing but a value or a refusal comes of it."""
        kind = data.draw(st.sampled_from([each for each in KINDS if each.__attrs_attrs__]))  # type: ignore[attr-defined]
        message = plain(data.draw(values(kind)))
        message[data.draw(st.sampled_from(sorted(message)))] = data.draw(DOCUMENTS)
        try:
            structured(kind, message)
        except Rejected as e:
            self.assertEqual(e.code, "invalid-message")


class ParsedTests(SynchronousTestCase):
    @given(DOCUMENTS)
    def test_json(self, document: object) -> None:
        self.assertEqual(parsed(rendered(document)), document)

    @given(st.binary(max_size=64))
    def test_garbage(self, data: bytes) -> None:
        try:
            parsed(data)
        except Rejected as e:
            self.assertEqual(e.code, "malformed-json")

    def test_what_is_no_json(self) -> None:
        for body in b"", b"{", b'{"a":1,"a":2}', b"NaN", b"Infinity", b"\xff", b"[" * 100_000:
            error = self.assertRaises(Rejected, parsed, body)
            self.assertEqual(error.code, "malformed-json", body[:20])

    def test_the_bound(self) -> None:
        self.assertEqual(parsed(b'"abc"', 5), "abc")
        error = self.assertRaises(Rejected, parsed, b'"abcd"', 5)
        self.assertEqual(error.code, "too-large")

    def test_values_have_a_bound_of_their_own(self) -> None:
        """Four megabytes of empty lists kept a gateway from everything else for seconds."""
        most = VALUES - 2
        self.assertEqual(len(cast(list[object], parsed(b"[0" + b",0" * most + b"]"))), most + 1)
        for each in (
            b"[0" + b",0" * (most + 1) + b"]",
            b"[" + b"{}," * VALUES + b"{}]",
            b"[" + b"[[[]]]," * (VALUES // 3) + b"0]",
            b"[" + b'"\\"",' * VALUES + b"0]",
        ):
            error = self.assertRaises(Rejected, parsed, each)
            self.assertEqual(error.code, "too-large", each[:20])

    def test_what_a_text_holds_is_no_value(self) -> None:
        for each in ("," * VALUES, '",]}' * VALUES, "\\" * VALUES + "," * VALUES):
            self.assertEqual(parsed(json.dumps([each, 1]).encode()), [each, 1])

    def test_a_text_without_an_end_is_looked_at_once(self) -> None:
        """It would take hours otherwise."""
        for each in (b'"' + b'\\"' * 1_000_000, b'"' + b"," * 3_000_000 + b"\\"):
            error = self.assertRaises(Rejected, parsed, each)
            self.assertEqual(error.code, "malformed-json")
        error = self.assertRaises(Rejected, parsed, b"," * VALUES + b'"' + b'\\"' * 1_000_000)
        self.assertEqual(error.code, "too-large")

    def test_values_are_rendered_as_they_are_read(self) -> None:
        value = Outer("abcd", "n-1", Inner(1))
        self.assertEqual(structured(Outer, json.loads(rendered(value))), value)
        self.assertNotIn(b" ", rendered(value))

    def test_a_half_of_a_character_does_not_break_a_reply(self) -> None:
        """Text that came from JSON may hold a lone surrogate; UTF-8 has no room for it."""
        self.assertEqual(rendered({"a": "\ud800"}), b'{"a":"?"}')
