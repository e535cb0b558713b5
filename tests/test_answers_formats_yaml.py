"""Tests for ``rescriptum.answers.formats.yaml``."""

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.answers.facts import Facts
from rescriptum.answers.formats import plain, yaml, yamlevents, yamllines, yamlnodes
from rescriptum.answers.formats.yamlsheet import Sheet
from rescriptum.answers.template import Template
from rescriptum.errors import MalformedDocument, Unfillable
from tests.yamlwriting import documents, load

HARD = 'a"b\'c<d>e&f \\ \\n {x} \U0001f600 é \u00a0 " #: '

GROUP = b"""\
#cloud-config
# the rack
members: [a, b]  # by serial number

autoinstall:
  version: 1   # always
  locale: de_DE.UTF-8
  identity:
    hostname: x   # of nobody
    username: 'admin'
  # disks
  storage:
    layout: {name: lvm, match: {size: largest}}
  ssh:
    install-server: yes
    mode: 0644
  packages:
  - vim
  - htop   # nice
  late-commands:
    - |
      echo one
      echo two
"""


def served(*layers: bytes) -> str:
    data = yaml.compose(layers)
    assert isinstance(data, bytes)
    return data.decode("utf-8")


def filled(layers: Sequence[bytes], **query: str) -> str:
    template = yaml.compose(layers)
    assert isinstance(template, Template)
    return template.fill(Facts.of(("seg",), tuple(query.items())))


def reason(data: bytes) -> str:
    try:
        yaml.read(data)
    except MalformedDocument as e:
        return str(e)
    raise AssertionError(f"{data[:80]!r} was read")


def shape(node: yamlnodes.Node) -> object:
    """:returns: a document's nodes as values to compare, but for where collections of lines end."""
    end = node.end
    inner: list[object] = []
    flow = isinstance(node, (yamlnodes.Items, yamlnodes.Pairs)) and node.flow
    if isinstance(node, yamlnodes.Items):
        inner, end = [shape(each) for each in node.nodes], end if flow else 0
    elif isinstance(node, yamlnodes.Pairs):
        inner, end = [(shape(k), shape(v)) for k, v in node.pairs], end if flow else 0
    style = node.style if isinstance(node, yamlnodes.Scalar) else ""
    return type(node).__name__, node.start, end, node.value, flow, style, inner


class ReadTests(SynchronousTestCase):
    def test_control(self) -> None:
        """As written: a number's leading zeros are part of a serial number."""
        head = yaml.read(
            b"extends: rack\nmembers: [00123, '0x1f', yes]\nmatch: {product: R6*}\n"
            b"examples:\n- mac: 52:54:00:12:34:56\n"
        )
        self.assertEqual(head.control.extends, "rack")
        self.assertEqual(head.control.members, ("00123", "0x1f", "yes"))
        self.assertEqual(head.control.criteria[0].label, "product")
        self.assertEqual(head.control.examples, ((("mac", "52:54:00:12:34:56"),),))
        self.assertFalse(head.placeholders)
        self.assertFalse(yaml.read(b"- extends: rack\n").control)

    def test_placeholders_are_seen_however_they_are_written(self) -> None:
        """Not in comments, in control or in keys."""
        for value in (
            '"{{ mac }}"',
            "x-{{ mac }}",
            r'"\x7b{ mac }}"',
            "|\n  {{ mac }}",
            "['{{ c }}']",
        ):
            self.assertTrue(yaml.read(f"a: {value}\n".encode()).placeholders, value)
        for text in ("a: x # {{ mac }}", "match: {a: '{{ x'}", "'{{ mac }}': 1", "# {{", "{}"):
            self.assertFalse(yaml.read(text.encode()).placeholders, text)

    def test_an_error_names_its_line(self) -> None:
        for data, said in (
            (b"a: 1\nb: [\n", "line 3: not YAML: "),
            (b"a: 1\n b: 2\n", "line 2: not YAML: mapping values are not allowed here"),
            (b"a: 'x\n", "line 2: not YAML: "),
            (b"\xef\xbb\xbfa: 1", "line 1: begins with a byte order mark"),
            (b"a: 1\nb: '\xff'", "line 2: byte 0xff is not UTF-8"),
            (b"a: 1\nb: '\x00'", "line 2: not YAML: special characters are not allowed"),
            ("a: 1\nb: '\u2028'".encode(), "line 2: \\u2028 ends a line to some readers"),
            (b"a: 1\n---\nb: 1\n", "line 2: a second document begins"),
            (b"a: 1\nb:\n  c: 1\n  'c': 2\n", "line 4: c is there already"),
            (b"a: 1\n? [b]\n: 1\n", "line 2: a key that is no text"),
            (b"a: &x 1\nb:\n  *x : 1\n", "line 3: a key that is no text"),
            (b"a:\n- *x\n", "line 2: * before a name that is nothing's above: quote what is text"),
            (b"a: &x\n- *x\n", "line 2: *x is inside of what it names"),
            (
                b"a: &x 1\nb: &x 2\n",
                "line 2: & before a name that is given already: quote what is text",
            ),
            (b"a:\n- !!python/object:os.system [x]\n", "line 2: a list with the tag"),
            (b"a: !!set {b, c}\n", "line 1: a table with the tag"),
            (b"a: 1\nb: !!int '{{ c }}'\n", "line 2: what has a tag cannot be filled"),
            (b"a: &x 1\nb: {<<: *x}\n", "line 2: << wants a table"),
            (b'a: "\\ud800"\n', "line 1: half a character"),
            (b'a: "\\UFFFFFFFF"\n', "line 1: not YAML: "),
            (b"%YAML 1.3\n---\na: 1\n", "line 1: not YAML: "),
            (b"a: 1\n\nextends: []\n", "line 3: extends: want the name"),
            (b"a: 1\nmatch:\n", "line 2: match: want a table"),
            (b"a: 1\nmatch:\n  b: c\n  d: [{}]\n", "line 4: match.d: want text"),
            (b"a: 1\nb:\n- x\n- c: '{{ mac'\n", "line 4: b.1.c: {{ without }}"),
            (
                b"a:\n  b: |\n    x\n    {{ no ne }}\n",
                "line 4: a.b: '{{ no ne }}' is not {{ name }}",
            ),
            (
                b"a: 1\nmac: {{ mac }}\n",
                'line 2: a key that is no text; a placeholder stands in quotes: "{{ mac }}"',
            ),
            (b"a: [{{ mac }}]\n", 'a placeholder stands in quotes: "{{ mac }}"'),
            (b"a: {{ mac }}-x\n", 'a placeholder stands in quotes: "{{ mac }}"'),
            (b'a: {{ x | default("y") }}\n', """in quotes: '{{ x | default("y") }}'"""),
        ):
            self.assertIn(said, reason(data), data)
            self.assertRegex(reason(data), r"^line \d+: ", data)

    def test_depth_is_bounded(self) -> None:
        """A hundred lists in each other are read; one more, or ten thousand, are not."""
        deep = plain.MAX_DEPTH
        data = b"[" * deep + b"]" * deep
        yaml.read(data)
        yaml.compose([b"a: 1\n", data])
        for levels in (deep + 1, 10_000):
            self.assertIn("nested deeper", reason(b"[" * levels))
        aliases = b"".join(b"x%d: &x%d [*x%d]\n" % (n, n, n - 1) for n in range(1, deep - 1))
        yaml.read(b"x0: &x0 []\n" + aliases)
        more = b"y: [*x%d]\nz: [[*x%d]]\n" % (deep - 2, deep - 2)
        self.assertIn("nested deeper", reason(b"x0: &x0 []\n" + aliases + more))

    def test_aliases_are_bounded(self) -> None:
        """What they name is counted as often as it is named, and nothing is made of it."""
        laughs = b"a0: &a0 [1,1,1,1,1,1,1,1,1]\n" + b"".join(
            b"a%d: &a%d [%s]\n" % (n, n, b",".join([b"*a%d" % (n - 1)] * 10)) for n in range(1, 60)
        )
        self.assertIn("line 5: aliases make more than 100000 values", reason(laughs))
        fits = b"".join(laughs.splitlines(keepends=True)[:4])
        yaml.read(fits)
        self.assertIn("b: 1", served(fits, b"b: 1\n"))

    def test_nothing_is_constructed(self) -> None:
        """A tag on a scalar is kept with what is written; there is nothing else it could do."""
        data = b"a: !!python/name:os.system x\nb: !!binary aGk=\nc: !!int '1'\n"
        self.assertEqual(served(b"d: 1\n", data), "d: 1\n" + data.decode())
        self.assertEqual(
            yamlevents.written(Sheet.of(data.decode()).value),
            'a: !!python/name:os.system "x"\nb: !!binary "aGk="\nc: !!int "1"\n',
        )

    @settings(max_examples=300, deadline=None)
    @given(
        st.binary(max_size=40)
        | st.text(max_size=30).map(str.encode)
        | st.text("ab:{}[]\"'#,-|>&*!%?\\x \n\r\t-<{~1", max_size=30).map(str.encode)
    )
    def test_anything_is_read_and_composed_or_malformed(self, data: bytes) -> None:
        try:
            yaml.read(data)
        except MalformedDocument as e:
            self.assertRegex(str(e), r"^line \d+: ")
            return
        yaml.compose([data])
        yaml.compose([b"a: {b: 1}\n", data])
        yaml.compose([data, b"a:\n  b: 1\n"])
        yaml.values(data)


class LinesTests(SynchronousTestCase):
    """The quick reader sees what the library sees, or leaves it alone."""

    #: A middle dot is a blank, a pilcrow a line end.
    WRITTEN = """
        a:· b:· -· ·· ···· ¶ ¶ ¶·· ¶-· x yes 1 'q' "dq" [a,·b] {k:·v} {k:·[1,·{z:·w}]} ·#·c # on:·
        key: : ·:· ? ---¶ ~ http://x a·b·c -1 12:30 <<:· &a· *a !t· { } [ ] , " ' $x ··-· ¶····c:·
        ¶····-· % é > |¶·· |-¶···· |
    """
    PIECES = st.sampled_from(WRITTEN.split()).map(
        lambda piece: piece.replace("·", " ").replace("¶", "\n")
    )

    def _hold(self, text: str) -> None:
        quick = yamllines.parse(text)
        if quick is not None:
            self.assertEqual(shape(quick), shape(yamlevents.parse(text)), text)

    @settings(max_examples=500, deadline=None)
    @given(st.lists(PIECES, max_size=12).map("".join))
    def test_of_pieces(self, text: str) -> None:
        self._hold(text)
        self._hold(f"a: {text}")

    def test_blanks_behind_a_block(self) -> None:
        """More of them than the block has, as many, fewer; at the end and before what follows."""
        for blanks in ("", "  ", "    ", "      "):
            for rest in ("", "b: 1\n"):
                self._hold(f"a: |\n    a\n{blanks}\n{rest}")
                self._hold(f"a: |-\n    a: \n{blanks}\n{blanks}\n{rest}")

    @settings(max_examples=60, deadline=None)
    @given(documents())
    def test_of_documents(self, data: bytes) -> None:
        self._hold(data.decode("utf-8"))

    def test_what_most_documents_are(self) -> None:
        """The library is not asked for them."""
        for data in (GROUP, b'---\na: "x"\nb:\n- c: d\n  e:\n', b"", b"#cloud-config\n"):
            self.assertIsNotNone(yamllines.parse(data.decode()), data)
            self._hold(data.decode())


class LayoutTests(SynchronousTestCase):
    def test_what_needs_nothing_is_served_as_it_is_stored(self) -> None:
        data = b"#cloud-config\r\na: {  b : 1}\r\n # {"
        self.assertEqual(yaml.compose([data]), data)

    def test_comments_quotes_and_layout_stay(self) -> None:
        """
        A value is put in the place of another; what is new comes behind what is there, with the
        comments above it.
        """
        machine = b"""\
#cloud-config
extends: rack
autoinstall:
    identity: {hostname: node-7}
    ssh:
        # they said
        authorized-keys:
            - "one"  # of the one
    storage:
        layout:
            name: zfs
    # for now
    timezone: UTC
    packages: [emacs]  # better
"""
        self.assertEqual(
            served(GROUP, machine),
            """\
#cloud-config
# the rack

autoinstall:
  version: 1   # always
  locale: de_DE.UTF-8
  identity:
    hostname: node-7   # of nobody
    username: 'admin'
  # disks
  storage:
    layout: {name: zfs, match: {size: largest}}
  ssh:
    install-server: yes
    mode: 0644
    # they said
    authorized-keys:
        - "one"  # of the one
  packages: [emacs]  # better
  late-commands:
    - |
      echo one
      echo two
  # for now
  timezone: UTC
""",
        )

    def test_blocks_in_the_place_of_others(self) -> None:
        """Of values, lists, tables and literal blocks by each other, wherever they stand."""
        values = ("1", "[x]", "{y: z}", "|\n_  l\n\n_   m", "\n_- x\n_- y", "\n_y:\n_ - z", "")
        for low in values:
            for high in values:
                lower = f"t:\n  a: {low}\n  b: 1\n".replace("_", " " * 4).encode()
                higher = f"t:\n   a: {high}\n".replace("_", " " * 8).encode()
                expected = plain.lay([load(lower), load(higher)])
                self.assertEqual(load(served(lower, higher)), expected, (low, high))

    def test_first_lines(self) -> None:
        """Those that cloud-init looks for are the first of the result, whose layer they are of."""
        head = "## template: jinja\n#cloud-config\n"
        for lower, higher in (
            (f"{head}a: 1\n", "b: 2\n"),
            ("a: 1\n", f"{head}b: 2\n"),
            ("#cloud-config\na: 1\n", f"{head}b: 2\n"),
            (f"{head}a: 1\n", "#cloud-config\nb: 2\n"),
            ("## template: jinja\na: 1\n", "#cloud-config\nb: 2\n"),
        ):
            self.assertEqual(served(lower.encode(), higher.encode()), f"{head}a: 1\nb: 2\n")
        self.assertEqual(served(b"#cloud-config\nextends: x\n\na: 1\n"), "#cloud-config\na: 1\n")
        self.assertEqual(served(b"a: 1\n", b"#cloud-config\nextends: x\n"), "#cloud-config\na: 1\n")

    def test_control_is_stripped(self) -> None:
        """However it is written; a table further down may be called as it likes."""
        for control in (
            "extends: x\n\n",
            "match:\n  a: b\n\n",
            "'members':\n- x\n",
            "? extends\n: x\n",
        ):
            self.assertEqual(served(f"{control}k: 1\n".encode()), "k: 1\n", control)
        self.assertEqual(served(b"t: {match: 1}\nextends: x\n"), "t: {match: 1}\n")
        self.assertEqual(load(served(b"{extends: x, a: 1}\n")), {"a": 1})
        self.assertEqual(load(served(b"b: &b {extends: x}\n<<: *b\n")), {"b": {"extends": "x"}})
        self.assertEqual(load(served(b"match: &m {v: '1'}\na: *m\n")), {"a": {"v": "1"}})

    def test_a_document_that_says_nothing(self) -> None:
        for nothing in (b"", b"# x\n", b"---\n", b"{}\n", b"extends: x\n"):
            self.assertEqual(load(served(GROUP, nothing)), load(served(GROUP)), nothing)
            self.assertEqual(load(served(nothing, b"a: 1\n")), {"a": 1}, nothing)

    def test_a_list_at_the_top(self) -> None:
        self.assertEqual(served(b"a: 1\n", b"- extends\n"), "- extends\n")
        self.assertEqual(served(b"- a\n", b"b: 1\n"), "b: 1\n")

    def test_scalars_stay_as_they_are_written(self) -> None:
        """What a reader of YAML 1.1 makes of them is what it made of the source."""
        words = "yes no on off 0644 0o644 12:30:45 2026-11-30 ~ 1_000 1e3 .inf '0644' \"yes\" 'on'"
        lines = [f"k{n}: {word}\n" for n, word in enumerate(words.split())]
        for layers in (("z: 1\n", "".join(lines)), ("".join(lines), "z: 1\n")):
            text = served(*(each.encode() for each in layers))
            for line in lines:
                self.assertIn(line, text)
        text = yamlevents.written(Sheet.of("".join(lines)).value)
        self.assertEqual(load(text), load("".join(lines)))


class AliasTests(SynchronousTestCase):
    def test_what_is_not_touched_stays(self) -> None:
        lower = b"base: &base {a: 1}  # shared\nb: *base\nc:\n  <<: *base\n  d: 1\n"
        self.assertEqual(served(lower, b"e: 1\n"), lower.decode() + "e: 1\n")

    def test_every_other_place_keeps_its_value(self) -> None:
        """Where a name would come to mean something else, the values are written out."""
        documents = (
            b"a: &x {m: 1}\nb: *x\n",
            b"a: &x\n  m: 1\n  n: [1]\nb: *x\nc:\n  <<: *x\n  k: 1\n",
            b"a: {m: 2}\n",
            b"b:\n  m: 3\n",
            b"c:\n  k: 2\n  m: 9\n",
            b"z: &x 5\ny: *x\n",
            b"z: &x 5\na:\n  q: *x\n",
            b"base: &b {k: 5, m: {p: 1}}\nc:\n  <<: *b\n  m: {q: 2}\n",
            b"c: {<<: [{k: 1}, {k: 2, l: 3}], j: 0}\n",
            b"%YAML 1.1\n---\na: 1\n",
            b"--- # x\na: {b: c}\n...\n",
            b"{a: {m: 3}, b: [1,\n 2]}\n",
            b"a: !!str 1\nb: !!binary aGk=\nc: ! x\n",
            b"a: >\n  folded\n  text\n\n  more\nb: 'multi\n  line'\nc: plain\n  multi\n",
            b"a: |+\n  x\n\n\nb: 1\n",
            b"a: |\n  x",
            b"? a\n: 1\n? b\n",
            b"a:\n    b:\n     c:\n            d: |2\n                2 deep\n              x\n",
            b"a: 1\r\nb:\r\n  c: 2\r\n",
        )
        for lower in documents:
            for higher in documents:
                expected = plain.lay([load(lower), load(higher)])
                self.assertEqual(load(served(lower, higher)), expected, (lower, higher))


class ExactnessTests(SynchronousTestCase):
    @settings(max_examples=80, deadline=None)
    @given(st.lists(documents(), min_size=1, max_size=3))
    def test_the_result_is_the_merge_of_the_values(self, layers: list[bytes]) -> None:
        """As the reader that cloud-init uses has them, before and after."""
        expected = plain.lay([load(each) or {} for each in layers])
        self.assertTrue(plain.same(load(served(*layers)) or {}, expected))

    @settings(max_examples=60, deadline=None)
    @given(documents())
    def test_what_is_written_anew(self, data: bytes) -> None:
        value = Sheet.of(data.decode("utf-8")).value
        text = yamlevents.written(value)
        self.assertTrue(plain.same(Sheet.of(text).value, value))
        self.assertTrue(plain.same(load(text), load(data) or {}))


class FillTests(SynchronousTestCase):
    def test_texts_in_every_position(self) -> None:
        """And nothing else: comments and keys are left as they are."""
        data = b"""\
# {{ comment
'{{ v }}': x {{ v }} y # {{ v }}
a: [ "{{ v }}", '{{v}}',  # {{ v }}
  {b: '{{ v }}', "{{ v }}": "\\x7b{ v }}" } ]
c:
- >
  folded
  {{ v }}
- |
  {{ v }}
- |2-
    x {{ v }}
- &name "{{ v }}"
- *name
- !!str x{{ v }}
"""
        text = filled([data], v=HARD)
        self.assertEqual(
            load(text),
            {
                "{{ v }}": f"x {HARD} y",
                "a": [HARD, HARD, {"b": HARD, "{{ v }}": HARD}],
                "c": [f"folded {HARD}\n", f"{HARD}\n", f"  x {HARD}", HARD, HARD, f"x{HARD}"],
            },
        )
        self.assertEqual(text.count("# {{ v }}\n"), 2)
        self.assertTrue(text.startswith("# {{ comment\n"))

    def test_literal_blocks_stay_where_that_is_safe(self) -> None:
        """Not where a value would be all of a line, or what its indentation is read from."""
        data = b"a: |\n  echo {{ v }}  # {{ v }}\n  more\nb: 1\n"
        for value in (HARD, "  x  ", "#", "- x"):
            text = filled([data], v=value)
            self.assertEqual(text, f"a: |\n  echo {value}  # {value}\n  more\nb: 1\n")
            self.assertEqual(load(text), {"a": f"echo {value}  # {value}\nmore\n", "b": 1})
        for block in ("{{ v }}\n  x", "x\n  {{ v }}", "x\n\n    {{ v }}\n  y"):
            lines = block.replace("\n  ", "\n") + "\n"
            for value in ("  x", "x", " "):
                text = filled([f"a: |\n  {block}\nb: 1\n".encode()], v=value)
                self.assertEqual(load(text)["a"], lines.replace("{{ v }}", value))  # type: ignore[index]

    def test_a_placeholder_of_a_lower_layer(self) -> None:
        """Where it is replaced nothing is asked of the request."""
        lower, higher = b"a: '{{ gone }}'\nb: '{{ v }}'\n", b"a: x\n"
        self.assertEqual(filled([lower, higher], v="1"), 'a: x\nb: "1"\n')
        with self.assertRaises(Unfillable):
            filled([lower], v="1")

    def test_placeholders_in_what_is_written_anew(self) -> None:
        layers = [b"a: &x {b: '{{ v }}'}\nc: *x\n", b"a: {d: 1, e: '{{ v }}\n\n z'}\n"]
        self.assertEqual(
            load(filled(layers, v=HARD)),
            {"a": {"b": HARD, "d": 1, "e": f"{HARD}\nz"}, "c": {"b": HARD}},
        )

    def test_braces_that_mean_themselves(self) -> None:
        self.assertEqual(served(b"a: '{{ \"{{\" }} x }}'\n"), 'a: "{{ x }}"\n')

    @settings(max_examples=100, deadline=None)
    @given(st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp", "Cn"]), max_size=20))
    def test_any_value_round_trips(self, value: str) -> None:
        if value:
            text = filled([b'a: "\\t{{ v }}\\x85\\u2028"\nb: |\n  x{{ v }}\n'], v=value)
            self.assertEqual(load(text), {"a": f"\t{value}\x85\u2028", "b": f"x{value}\n"})


class ValuesTests(SynchronousTestCase):
    def test_paths_and_texts(self) -> None:
        """As written, not as some reader takes them."""
        data = b"""\
#cloud-config
extends: x
a:
  b: "{{ mac }}"
  c.d: [1, {e: "y", f: yes}, ~]
0644: 0644
g:
h: {}
"""
        self.assertEqual(
            yaml.values(data),
            [
                ("a.b", "{{ mac }}"),
                ('a."c.d"', '[1,{"e":"y","f":yes},null]'),
                ("0644", "0644"),
                ("g", "null"),
                ("h", "{}"),
            ],
        )
        self.assertEqual(yaml.values(b"# nothing\n"), [])
