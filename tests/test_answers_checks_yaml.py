"""Tests for ``rescriptum.answers.checks.yaml_``."""

from datetime import date

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.answers.checks.yaml_ import load, read

VALUES = (
    "yes no on off Yes NO true False ~ null 1 0x1f 017 1_000 12:30:45 1.5 .inf 7e123 7.5e+1 text "
    "2001-01-01 'yes' \"1\" [] {} [yes,1] {yes:1} = << 1e5 08 0o7 -1 +1 . - !!str|1 &a|x *a | > %x"
)


class ReadTests(SynchronousTestCase):
    def test_values(self) -> None:
        """As YAML 1.1 has them, by lines that are plain and by others."""
        text = "a: yes\nb: 'yes'\nc: 12\nd: 7e12\ne: 2001-01-01\nf: ~\ng:\nh: 017\ni: [no, 'x']\n"
        value = {"a": True, "b": "yes", "c": 12, "d": "7e12", "e": date(2001, 1, 1), "f": None}
        value |= {"g": None, "h": 15, "i": [False, "x"]}
        self.assertEqual(read(text.encode()), value)
        self.assertEqual(read(f"{text}j: &x 1\nk: *x\n".encode()), {**value, "j": 1, "k": 1})

    def test_keys_are_read_too(self) -> None:
        self.assertEqual(read(b"on: 2\n"), {True: 2})

    def test_merges(self) -> None:
        self.assertEqual(read(b"a: &x {b: 1}\nc:\n  <<: *x\n"), {"a": {"b": 1}, "c": {"b": 1}})

    def test_nothing(self) -> None:
        for text in b"", b"# x\n", b"---\n":
            self.assertIsNone(read(text))

    def test_what_is_no_yaml(self) -> None:
        for data in b"a: [", b"a: b: c", b"a: 1\na: 2\n", b"\xff\xfe\xfd", b"\x00":
            with self.assertRaises(ValueError):
                read(data)

    def test_what_it_says_is_not_repeated(self) -> None:
        """Where, and what would be right: the value may be a password."""
        not_allowed = "a value that its tag does not allow"
        for data, said in (
            (b"a: 1\nb: !secret x\n", "line 2: could not determine a constructor for the tag"),
            (b"a: !!int secret\n", not_allowed),
            (b"a: !!int ''\nb: secret\n", not_allowed),
            (b"a: !!bool secret\n", not_allowed),
            (b"a: !!float sec.ret\n", not_allowed),
            (b"a: !!timestamp secret\n", "line 1: failed to construct timestamp from"),
            (b"a: !!binary secret\n", "line 1: failed to decode base64 data"),
            (b'a: "secret\n', "line 2: found unexpected end of stream"),
            (b"a: *secret\n", "line 1: found undefined alias"),
            (b"a: secret\x01\n", "special characters are not allowed"),
            (b"a: " + b"[" * 5000, "nested too deeply"),
        ):
            with self.assertRaises(ValueError) as caught:
                read(data)
            self.assertIn(said, str(caught.exception))
            self.assertNotIn("secret", str(caught.exception))

    def test_keys_that_are_none(self) -> None:
        """The library's own check misses some of them."""
        for data in b"{[a, {b: 1}]: 2}", b"a: !!set {? [{a: 1}]}\n", b"!!omap [{{a: 1}: 2}]":
            with self.assertRaises(ValueError):
                read(data)

    @settings(max_examples=400, deadline=None)
    @given(
        st.lists(
            st.tuples(
                st.sampled_from(["a: ", "b: ", "  c: ", "- ", "  - ", "- d: ", "", "yes: ", "? "]),
                st.sampled_from(VALUES.split(" ")),
            ),
            max_size=6,
        )
    )
    def test_quickly_is_no_different(self, lines: list[tuple[str, str]]) -> None:
        """What is read by lines is what the library says."""
        text = "".join(f"{key}{value.replace('|', ' ', 1)}\n" for key, value in lines)
        try:
            wanted = load(text)
        except ValueError:
            with self.assertRaises(ValueError):
                read(text.encode())
        else:
            self.assertEqual(repr(read(text.encode())), repr(wanted))
