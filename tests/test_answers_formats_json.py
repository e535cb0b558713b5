"""Tests for ``rescriptum.answers.formats.json_``."""

import json
from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.answers.facts import Facts
from rescriptum.answers.formats import json_, plain
from rescriptum.answers.template import Template
from rescriptum.errors import MalformedDocument, Unfillable

HARD = 'a"b\'c<d>e&f \\ \\n {x} \U0001f600 é \u00a0 "'

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8).filter(lambda text: "{{" not in text)
)
KEYS = st.sampled_from(["a", "b", "c", "extends", "match", 'q"\\', "", "é"])
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.dictionaries(KEYS, inner, max_size=4) | st.lists(inner, max_size=3),
    max_leaves=12,
)


def composed(*layers: bytes) -> object:
    data = json_.compose(layers)
    assert isinstance(data, bytes)
    return json.loads(data)


def filled(layers: Sequence[bytes], **query: str) -> object:
    template = json_.compose(layers)
    assert isinstance(template, Template)
    return json.loads(template.fill(Facts.of(("seg",), tuple(query.items()))))


def reason(data: bytes) -> str:
    try:
        json_.read(data)
    except MalformedDocument as e:
        return str(e)
    raise AssertionError(f"{data[:80]!r} was read")


class ReadTests(SynchronousTestCase):
    def test_control(self) -> None:
        head = json_.read(b'{"extends": "rack", "match": {"product": ["R6*"]}, "a": 1}')
        self.assertEqual(head.control.extends, "rack")
        self.assertEqual(head.control.criteria[0].label, "product")
        self.assertFalse(head.placeholders)
        self.assertFalse(json_.read(b'[{"extends": "rack"}]').control)

    def test_placeholders_are_seen_however_they_are_written(self) -> None:
        """Not in control, which is never served, and not in keys."""
        self.assertTrue(json_.read(b'{"a": ["{{ mac }}"]}').placeholders)
        self.assertTrue(json_.read(rb'{"a": "\u007b{ mac }}"}').placeholders)
        self.assertTrue(json_.read(rb'{"a": "\u007B\u007B mac }}"}').placeholders)
        self.assertFalse(json_.read(b'{"match": {"a": "{{ x"}, "{{ mac }}": 1}').placeholders)

    def test_an_error_names_its_line(self) -> None:
        for data, said in (
            (b'{\n"a": }', "line 2: not JSON: expecting value"),
            (b"", "line 1: not JSON: expecting value"),
            (b'{"a": 1}\n\n}', "line 3: not JSON: extra data"),
            (b'\xef\xbb\xbf{"a": 1}', "line 1: begins with a byte order mark"),
            (b"\xff\xfe{\x00}\x00", "line 1: begins with a byte order mark"),
            (b'{\n"a": "\xff"}', "line 2: byte 0xff is not UTF-8"),
            (b'{"a": "\x00"}', "line 1: not JSON: invalid control character"),
            (b'{"a": [1,\nNaN]}', "line 2: NaN is no JSON"),
            (b'{"a":\n-Infinity}', "line 2: -Infinity is no JSON"),
            (b'{"a":\n1e999}', "line 2: 1e999 is more than"),
            (b'{"a":\n\n' + b"9" * 5000 + b"}", "line 3: a number of 5000 digits"),
            (b'{"a": 1,\n"b": {"a": 1,\n"\\u0061": 2}}', 'line 3: "a" comes twice'),
            (b'{"a": 1,\n"b": [{"a": 1}, {"a": 2}],\n"a": 3}', 'line 3: "a" comes twice'),
            (b'{\n\n"a": "\\ud83d"}', "line 3: \\ud800 to \\udfff"),
            (b'{"k": 1,\n"extends": []}', "line 2: extends: want the name"),
            (b'{"match":\n{"a": "b",\n"product": [null]}}', "line 3: match.product: want text"),
            (b'{"a":\n["x",\n{"b": "{{ mac"}]}', "line 3: a.1.b: {{ without }}"),
            (b'{"a": "x\\ny {{ mac | no }}"}', "line 1: a: no filter | no"),
            (b'{"a":\n{{ mac }}}', 'a placeholder stands in quotes: "{{ mac }}"'),
            (b'{"a": {{ x | default("y") }}}', r'in quotes: "{{ x | default(\"y\") }}"'),
        ):
            self.assertIn(said, reason(data), data)
            self.assertRegex(reason(data), r"^line \d+: ", data)

    def test_depth_is_bounded(self) -> None:
        """A hundred lists in each other are read; one more, or a hundred thousand, are not."""
        deep = plain.MAX_DEPTH
        json_.read(b"[" * deep + b"]" * deep)
        json_.read(b"[[], []," * (deep - 1) + b"1" + b"]" * (deep - 1))
        for levels in (deep + 1, 100_000):
            self.assertIn("nested deeper", reason(b"[" * levels + b"1" + b"]" * levels))

    @settings(max_examples=300, deadline=None)
    @given(
        st.binary(max_size=60)
        | st.text(max_size=40).map(str.encode)
        | st.text('{}[]",: \\u0ae1-{{xN', max_size=40).map(str.encode)
    )
    def test_anything_is_read_and_composed_or_malformed(self, data: bytes) -> None:
        try:
            json_.read(data)
        except MalformedDocument as e:
            self.assertRegex(str(e), r"^line \d+: ")
            return
        json_.compose([data])
        json_.compose([b'{"a": 1}', data])
        json_.values(data)


class ComposeTests(SynchronousTestCase):
    def test_what_needs_nothing_is_served_as_it_is_stored(self) -> None:
        data = b'{"ignition":{"version":"3.4.0"},\r\n "n": 1.0e2}'
        self.assertEqual(json_.compose([data]), data)

    def test_layers_are_written_anew(self) -> None:
        """The lower layer's keys first, pretty, with a line end at the end."""
        self.assertEqual(
            json_.compose(
                [b'{"b": [1, 2], "a": {"x": "\xc3\xa9"}}', b'{"a": {"y": {}}, "b": [3]}']
            ),
            b'{\n  "b": [\n    3\n  ],\n  "a": {\n    "x": "\xc3\xa9",\n    "y": {}\n  }\n}\n',
        )

    def test_control_is_stripped(self) -> None:
        self.assertEqual(composed(b'{"match": {"a": "b"}, "k": {"match": 1}}'), {"k": {"match": 1}})
        self.assertEqual(composed(b'{"a": 1, "members": ["x"]}', b'{"extends": "g"}'), {"a": 1})

    def test_a_list_at_the_top(self) -> None:
        self.assertEqual(composed(b'{"a": 1}', b'["extends"]'), ["extends"])

    @settings(max_examples=200, deadline=None)
    @given(st.lists(VALUES, min_size=1, max_size=4))
    def test_the_result_is_the_merge_of_the_values(self, tops: list[object]) -> None:
        layers = [json.dumps(top).encode() for top in tops]
        self.assertTrue(plain.same(composed(*layers), plain.lay(tops)))


class FillTests(SynchronousTestCase):
    def test_texts_in_every_position(self) -> None:
        data = b'{"a": "x {{ v }} y", "b": ["{{ v }}", {"c": ["{{v}}"]}], "{{ v }}": 1}'
        self.assertEqual(
            filled([data], v=HARD),
            {"a": f"x {HARD} y", "b": [HARD, {"c": [HARD]}], "{{ v }}": 1},
        )

    def test_a_placeholder_of_a_lower_layer(self) -> None:
        """Where it is replaced nothing is asked of the request."""
        lower, higher = b'{"a": "{{ gone }}", "b": "{{ v }}"}', b'{"a": "x"}'
        self.assertEqual(filled([lower, higher], v="1"), {"a": "x", "b": "1"})
        with self.assertRaises(Unfillable):
            filled([lower], v="1")

    def test_braces_that_mean_themselves(self) -> None:
        self.assertEqual(composed(b'{"a": "{{ \\"{{\\" }} x }}"}'), {"a": "{{ x }}"})

    def test_words_that_look_like_a_stand_in(self) -> None:
        data = b'{"a": "\\u0066illed0x0x", "b": "{{ v }}", "filled1x0x": 1}'
        self.assertEqual(filled([data], v="1"), {"a": "filled0x0x", "b": "1", "filled1x0x": 1})

    @settings(max_examples=100, deadline=None)
    @given(st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp", "Cn"]), max_size=20))
    def test_any_value_round_trips(self, value: str) -> None:
        if value:
            self.assertEqual(filled([b'{"a": ["\\n{{ v }}"]}'], v=value), {"a": ["\n" + value]})


class ValuesTests(SynchronousTestCase):
    def test_paths_and_texts(self) -> None:
        data = b'{"extends": "x", "a": {"b": "{{ mac }}", "c": [1, "y"]}, "d": null, "e": true}'
        self.assertEqual(
            json_.values(data),
            [("a.b", "{{ mac }}"), ("a.c", '[1,"y"]'), ("d", "null"), ("e", "true")],
        )
