"""Tests for ``rescriptum.answers.formats.text``."""

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.answers.control import Control
from rescriptum.answers.criteria import Criterion
from rescriptum.answers.facts import Facts
from rescriptum.answers.formats.family import Value
from rescriptum.answers.formats.text import compose, read, values
from rescriptum.answers.template import Template
from rescriptum.errors import MalformedDocument


def filled(composed: bytes | Template, **facts: str) -> bytes:
    if isinstance(composed, bytes):
        return composed
    return composed.fill(Facts.of((), tuple(facts.items()))).encode("utf-8", "surrogateescape")


class ReadTests(SynchronousTestCase):
    def refuse(self, data: bytes, *words: str) -> None:
        with self.assertRaises(MalformedDocument) as caught:
            read(data)
        for word in words:
            self.assertIn(word, str(caught.exception))

    def test_lines_of_control(self) -> None:
        """Anywhere, after blanks, in either sort of comment, in any case, with any line end."""
        data = (
            b"# answer: extends debian base\r\n"
            b"d-i a/b string c\n"
            b"  // ANSWER: Members 52-54-00-12-34-56, A1 ,,\n"
            b"\t#answer:member B 2\n"
            b"# answer:  match product=R6* site=!x  site=y\n"
            b"//answer: match\tpeer=192.0.2.0/24\n"
            b"# answer: example product=R640 site=y\n"
            b"# answer: example a=b=c"
        )
        self.assertEqual(
            read(data).control,
            Control(
                "debian base",
                ("52-54-00-12-34-56", "A1", "B 2"),
                (
                    Criterion.of("product", ["R6*"]),
                    Criterion.of("site", ["!x", "y"]),
                    Criterion.of("peer", ["192.0.2.0/24"]),
                ),
                ((("product", "R640"), ("site", "y")), (("a", "b=c"),)),
            ),
        )

    def test_what_is_no_control(self) -> None:
        """Ordinary comments, the word in the middle of a line, and a line that only looks alike."""
        for data in (
            b"# an answer: extends x\n",
            b"echo '# answer: extends x'\n",
            b"## answer: x\n",
        ):
            self.assertEqual(read(data).control, Control())
            self.assertEqual(compose([data]), data)

    def test_wrong_lines_of_control_are_named(self) -> None:
        """A verb nobody knows is a slip of the pen, and claims nothing in silence otherwise."""
        self.refuse(b"a\n\n# answer: extend x\n", "line 3", "extends, member, match or example")
        self.refuse(b"# answer:\n", "line 1", "extends, member, match or example")
        self.refuse(b"a\n# answer: extends\n", "line 2: extends")
        self.refuse(b"# answer: extends a\n# answer: extends b\n", "line 2: extends", "'a'")
        self.refuse(b"\n# answer: members ,\n", "line 2: member")
        self.refuse(b"\n# answer: match\n", "line 2: match: want fact=text")
        self.refuse(b'# answer: match product="PowerEdge R640"\n', "line 1", "blanks left out")
        self.refuse(b"# answer: example =x\n", "line 1: example")
        self.refuse(b"\n\n# answer: match a=--\n", "line 3: match.a")
        self.refuse(b"# answer: match peer=rack1\n", "line 1: match.peer", "192.0.2.0/24")

    def test_addresses_want_commas(self) -> None:
        """As one member, two of them would match nothing, and nobody would be told."""
        self.refuse(b"# answer: members 52:54:00:00:00:01 52:54:00:00:00:02\n", "line 1", "commas")
        spaced = read(b"# answer: member 98 FA 9B 50 D8 10\n").control
        self.assertEqual(spaced.members, ("98 FA 9B 50 D8 10",))

    def test_messages_are_bounded(self) -> None:
        for verb in (b"x" * 9999, b"match " + b"y" * 9999, b"member 525400000001 " + b"z" * 9999):
            with self.assertRaises(MalformedDocument) as caught:
                read(b"# answer: " + verb)
            self.assertLess(len(str(caught.exception)), 300)

    def test_placeholders(self) -> None:
        """In comments too, but not in lines that are never served."""
        self.assertTrue(read(b"# {{ mac }}\n").placeholders)
        self.assertFalse(read(b"# answer: member {{ mac\n${net0/mac}\n").placeholders)

    def test_a_wrong_placeholder_is_named_by_its_line_in_the_file(self) -> None:
        self.refuse(b"#!ipxe\n# answer: extends a\n// answer: member b\n{{ mac\n", "line 4")
        self.refuse(b"# answer: extends a\r\n\r\n{{ a | b }}\r\n", "line 3")


class ComposeTests(SynchronousTestCase):
    def test_layers_follow_each_other(self) -> None:
        """A line end between them, LF everywhere, and one at the end."""
        self.assertEqual(compose([b"a\r\nb", b"c\n\n", b"", b"d"]), b"a\nb\nc\n\nd\n")

    def test_control_is_not_served(self) -> None:
        data = b"a\n # answer: extends b\nc # answer: extends b\n// answer: member d"
        self.assertEqual(compose([data]), b"a\nc # answer: extends b\n")
        self.assertEqual(compose([b"# answer: extends b\r\na\r\nb"]), b"a\nb\n")
        self.assertEqual(compose([b"# answer: extends b"]), b"")

    def test_a_single_document_that_is_only_filled_keeps_its_line_ends(self) -> None:
        self.assertEqual(filled(compose([b"a\r\n{{ x }}"]), x="1"), b"a\r\n1")

    def test_sections_of_a_kickstart_are_untouched(self) -> None:
        group = b"%packages\n@core\n%end\n%post\n#!/bin/sh\ntrue\n%end\n"
        machine = b"%include /tmp/disks\nnetwork --hostname=a\n"
        self.assertEqual(compose([group, machine]), group + machine)

    def test_the_first_line_of_a_script_comes_once_and_first(self) -> None:
        """
        iPXE runs what begins with ``#!ipxe``; further down it is a comment that nobody meant.
        Above a group without one, the machine's is what makes a script of the result.
        """
        for group, machine in (
            (b"#!ipxe\necho a\n", b"#!ipxe \necho b\n"),
            (b"echo a\n", b"#!ipxe\necho b\n"),
            (b"#!ipxe\necho a", b"echo b"),
            (b"# answer: extends x\n#!ipxe\necho a\n", b"// answer: extends y\n#!ipxe\necho b"),
            (b"#cloud-config\necho a", b"#!ipxe\necho b"),
        ):
            result = compose([group, machine])
            assert isinstance(result, bytes)
            first, rest = result.split(b"\n", 1)
            self.assertEqual((first.rstrip(), rest), (b"#!ipxe", b"echo a\necho b\n"))
        self.assertEqual(
            compose([b"#cloud-config\na: 1\n", b"b: 2\n"]), b"#cloud-config\na: 1\nb: 2\n"
        )
        self.assertEqual(compose([b"a\n#!ipxe\n", b"b\n"]), b"a\n#!ipxe\nb\n")

    def test_bytes_that_are_no_utf_8_survive(self) -> None:
        group, machine = b"caf\xe9 {{ x }}\n", b"\xff\x00\xfe\n"
        self.assertEqual(
            filled(compose([group, machine]), x="é"), b"caf\xe9 \xc3\xa9\n\xff\x00\xfe\n"
        )
        self.assertEqual(compose([b"\xe9\n", machine]), b"\xe9\n" + machine)

    def test_the_mark_of_an_editor_is_no_text(self) -> None:
        """A byte order mark would hide a first line of control, and stand in the middle."""
        mark = b"\xef\xbb\xbf"
        data = mark + b"# answer: extends a\nb\n"
        self.assertEqual(read(data).control.extends, "a")
        self.assertEqual(compose([mark + b"a\n", data]), b"a\nb\n")

    def test_a_value_is_written_as_it_is(self) -> None:
        value = "a\"b'c<d>e&f ${x} \\"
        self.assertEqual(
            filled(compose([b"# {{ x }}\n", b"{{ x }}"]), x=value), f"# {value}\n{value}\n".encode()
        )

    def test_a_group_layered_twice_is_layered_once(self) -> None:
        """What is composed along a chain can be composed on."""
        layers = [b"#!ipxe\n# answer: member a\na\r\n", b"# answer: extends x\nb", b"#!ipxe\nc"]
        whole = compose(layers)
        under, over = compose(layers[:2]), compose(layers[1:])
        assert isinstance(under, bytes) and isinstance(over, bytes)
        self.assertEqual(compose([under, layers[2]]), whole)
        self.assertEqual(compose([layers[0], over]), whole)

    @settings(max_examples=300, deadline=None)
    @given(
        st.lists(
            st.lists(
                st.sampled_from(
                    [
                        b"a",
                        b"",
                        b"#!ipxe",
                        b"# answer: extends x",
                        b"//answer: member m",
                        b"\xff",
                        b"{{ x }}",
                    ]
                ),
                max_size=4,
            ),
            min_size=1,
            max_size=3,
        ),
        st.sampled_from([b"\n", b"\r\n"]),
    )
    def test_every_served_line_is_there_in_order(
        self, layers: list[list[bytes]], end: bytes
    ) -> None:
        """Nothing is lost, nothing of control is left, whatever the line ends and the layers."""
        result = filled(compose([end.join(each) for each in layers]), x="1").replace(b"\r\n", b"\n")
        expected = [
            line.replace(b"{{ x }}", b"1")
            for each in layers
            for line in each
            if not line.startswith((b"#", b"//")) and line
        ]
        lines = [line for line in result.split(b"\n") if line]
        self.assertEqual([line for line in lines if line != b"#!ipxe"], expected)
        self.assertNotIn(b"answer:", result)


class TotalityTests(SynchronousTestCase):
    @settings(max_examples=300, deadline=None)
    @given(
        st.binary(max_size=80)
        | st.text('# answer:extndmbrch=,\n\r\t{} "|/', max_size=80).map(str.encode)
    )
    def test_anything_is_read_or_malformed(self, data: bytes) -> None:
        """With a line; and what is read is composed."""
        try:
            head = read(data)
        except MalformedDocument as e:
            self.assertRegex(str(e), r"^line \d+: ")
            return
        composed = compose([data])
        self.assertEqual(isinstance(composed, Template), head.placeholders)
        values(data)


class ValuesTests(SynchronousTestCase):
    def test_lines(self) -> None:
        """As they stand, placeholders with them, but no comments; what cannot be shown is spelt."""
        data = b"#!ipxe\n# answer: extends a\n# c\r\n\n  d {{ x }}\xff # e \n\t#f\n#cloud-config\n"
        lines = ["#!ipxe", "  d {{ x }}\\xff # e", "#cloud-config"]
        self.assertEqual(values(data), [Value("", line) for line in lines])
