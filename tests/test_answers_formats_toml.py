"""Tests for ``rescriptum.answers.formats.toml``."""

import tomllib
from collections.abc import Sequence

import tomlkit
from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.answers.facts import Facts
from rescriptum.answers.formats import plain, toml, tomllines
from rescriptum.answers.formats.tomledits import Edited
from rescriptum.answers.template import Template
from rescriptum.errors import MalformedDocument, Unfillable
from tests.tomlwriting import TREES, documents

HARD = 'a"b\'c<d>e&f \\ \\n {x} \U0001f600 é \u00a0 "'

GROUP = b"""\
# Rack 3.
members = ["a", "b"]  # by serial number

[global]
keyboard = "de"
fqdn = "x.example.org"   # of nobody
root-ssh-keys = [
  "one",  # of the one
  "two",
]

# how it is reached
[network]
source = "from-dhcp"

[disk-setup]
zfs.raid = "raid1"
filter = { A = "1", B = "2" }
"""


def served(*layers: bytes) -> str:
    data = toml.compose(layers)
    assert isinstance(data, bytes)
    return data.decode("utf-8")


def filled(layers: Sequence[bytes], **query: str) -> str:
    template = toml.compose(layers)
    assert isinstance(template, Template)
    return template.fill(Facts.of(("seg",), tuple(query.items())))


def reason(data: bytes) -> str:
    try:
        toml.read(data)
    except MalformedDocument as e:
        return str(e)
    raise AssertionError(f"{data[:80]!r} was read")


class ReadTests(SynchronousTestCase):
    def test_control(self) -> None:
        head = toml.read(b'extends = "rack"\nmatch.product = ["R6*"]\n[[examples]]\nmac = "x"\n')
        self.assertEqual(head.control.extends, "rack")
        self.assertEqual(head.control.criteria[0].label, "product")
        self.assertEqual(head.control.examples, ((("mac", "x"),),))
        self.assertFalse(head.placeholders)

    def test_placeholders_are_seen_however_they_are_written(self) -> None:
        """Not in comments, in control or in keys."""
        for value in ('"{{ mac }}"', r'"\u007b{ mac }}"', "'''\n{{ mac }}'''", "[{b = '{{ c }}'}]"):
            self.assertTrue(toml.read(f"a = {value}".encode()).placeholders, value)
        for text in ('a = "x" # {{ mac }}', 'match.a = "{{ x"', '"{{ mac }}" = 1', "# {{"):
            self.assertFalse(toml.read(text.encode()).placeholders, text)

    def test_an_error_names_its_line(self) -> None:
        for data, said in (
            (b"a = 1\nb = \n", "line 2: not TOML: invalid value"),
            (b"a = 1\nb = [\n\n", "line 2: not TOML: "),
            (b"a = 1\n[b]\n[b]\n", "line 3: not TOML: cannot declare"),
            (b"a = 1\na = 2\n", "line 2: not TOML: cannot overwrite"),
            (b"\xef\xbb\xbfa = 1", "line 1: begins with a byte order mark"),
            (b"a = 1\nb = '\xff'", "line 2: byte 0xff is not UTF-8"),
            (b"a = '\x00'", "line 1: not TOML: "),
            (b"a = " + b"9" * 5000, "line 1: not TOML: exceeds the limit"),
            (b"a = 1\n\nextends = []\n", "line 3: extends: want the name"),
            (b"a = 1\n[match]\nb = 'c'\nd = [{}]\n", "line 4: match.d: want text"),
            (b"members = [\n{}]\n", "line 1: members: want text"),
            (b"a = 1\n[[examples]]\n[[examples]]\nb = []\n", "line 4: examples.b: want text"),
            (b"[a]\nb = ['x',\n# {{ here\n'{{ mac']\n", "line 4: a.b.1: {{ without }}"),
            (b"a = '{{ no ne }}'", "line 1: a: '{{ no ne }}' is not {{ name }}"),
            (b'a = "{{ x | replace(\\":\\") }}"', "line 1: a: no filter | replace"),
            (b"a = 1\nb = {{ mac }}\n", 'a placeholder stands in quotes: "{{ mac }}"'),
            (b'b = {{ x | default("y") }}', """in quotes: '{{ x | default("y") }}'"""),
        ):
            self.assertIn(said, reason(data), data)
            self.assertRegex(reason(data), r"^line \d+: ", data)

    def test_depth_is_bounded(self) -> None:
        """A hundred tables in each other are read; more are not, however they are written."""
        deep = plain.MAX_DEPTH
        for write in (
            lambda n: b"a = " + b"[" * (n - 1) + b"]" * (n - 1),
            lambda n: b".".join([b"a"] * n) + b" = 1",
            lambda n: b"[" + b".".join([b"a"] * (n - 1)) + b"]\na = 1",
        ):
            toml.read(write(deep))
            toml.compose([b"a = 1", write(deep)])
            for levels in (deep + 1, 20_000):
                self.assertIn("nested deeper", reason(write(levels)))

    def test_a_key_of_many_parts_is_not_tried(self) -> None:
        """
        However it is written and wherever it stands: to read one of a million parts would take
        all the memory there is. Texts and comments with as many dots are no keys.
        """
        for key in (".".join(["a"] * 400_000), " . ".join(['"a\\"b"', "'c'"] * 60_000)):
            for around in ("%s = 1", "b = 1\n[[ %s ]]\n", "b = {c = 1, %s = 2}", "b = { %s=2}"):
                self.assertIn("nested deeper", reason((around % key).encode()))
        dots = ".".join(["a"] * 300)
        toml.read(f'a = "{dots}" # {dots}\n# {dots}\n'.encode())

    @settings(max_examples=300, deadline=None)
    @given(
        st.binary(max_size=60)
        | st.text(max_size=40).map(str.encode)
        | st.text("ab{}[]\"'=,.#\\u0 1\n\r-{{x", max_size=40).map(str.encode)
    )
    def test_anything_is_read_and_composed_or_malformed(self, data: bytes) -> None:
        try:
            toml.read(data)
        except MalformedDocument as e:
            self.assertRegex(str(e), r"^line \d+: ")
            return
        toml.compose([data])
        toml.compose([b"a = 1", data])
        toml.values(data)


class LayoutTests(SynchronousTestCase):
    def test_what_needs_nothing_is_served_as_it_is_stored(self) -> None:
        data = b"# x\r\n[a]\n  b=1 # {"
        self.assertEqual(toml.compose([data]), data)

    def test_comments_and_layout_of_the_lower_layer_stay(self) -> None:
        """
        A value is put in the place of another; a new key goes behind the others of its table, a
        new table to the end; the comments of what is new come along.
        """
        machine = b"""\
extends = "rack-3"
[global]
fqdn = "y.example.org"
# they said
timezone = "UTC"  # for now
[network]
source = 'from-answer'  # static
[first-boot]
# by us
source = "from-iso"
"""
        self.assertEqual(
            served(GROUP, machine),
            """\
# Rack 3.

[global]
keyboard = "de"
fqdn = "y.example.org"   # of nobody
root-ssh-keys = [
  "one",  # of the one
  "two",
]
# they said
timezone = "UTC"  # for now

# how it is reached
[network]
source = 'from-answer'  # static

[disk-setup]
zfs.raid = "raid1"
filter = { A = "1", B = "2" }

[first-boot]
# by us
source = "from-iso"
""",
        )

    def test_inline_dotted_and_header_tables_interoperate(self) -> None:
        """Whichever way either layer writes a table."""
        result = served(
            GROUP,
            b"network = { source = 'x', dns = 'y' }\n"
            b"global.root-ssh-keys = []\n"
            b"[disk-setup.zfs]\nashift = 12\n"
            b"[disk-setup.filter]\nB = '3'\nC = '4'\n",
        )
        self.assertEqual(
            tomllib.loads(result),
            {
                "global": {"keyboard": "de", "fqdn": "x.example.org", "root-ssh-keys": []},
                "network": {"source": "x", "dns": "y"},
                "disk-setup": {
                    "zfs": {"raid": "raid1", "ashift": 12},
                    "filter": {"A": "1", "B": "3", "C": "4"},
                },
            },
        )
        for comment in ("# Rack 3.", "# of nobody", "# how it is reached"):
            self.assertIn(comment, result)

    def test_lists_of_tables_are_lists(self) -> None:
        """They replace and are replaced as a whole, with the tables below them."""
        lower = b"[[disk]]\na = 1\n[disk.x]\nb = 2\n[[disk]]\nc = 3\n[other]\nd = 4 # kept\n"
        for higher, disks in (
            (b"[[disk]]\ne = 5\n", [{"e": 5}]),
            (b"disk = []\n", []),
            (b"[disk]\ne = 5\n", {"e": 5}),
            (b"disk.x.f = 6\n", {"x": {"f": 6}}),
        ):
            result = served(lower, higher)
            self.assertEqual(tomllib.loads(result), {"disk": disks, "other": {"d": 4}}, higher)
            self.assertIn("# kept", result)
            self.assertEqual(
                tomllib.loads(served(higher, lower))["disk"],
                [{"a": 1, "x": {"b": 2}}, {"c": 3}],
                higher,
            )

    def test_what_no_layout_fits_is_written_anew(self) -> None:
        """An inline table cannot be added to by headers: values come before comments."""
        result = served(b"a = { b = 1 }  # lost\n", b"[[a.c]]\nd = 2\n")
        self.assertEqual(tomllib.loads(result), {"a": {"b": 1, "c": [{"d": 2}]}})

    def test_control_is_stripped(self) -> None:
        """However it is written; a table further down may be called as it likes."""
        for control in (
            "extends = 'x'\n\n",
            "match.product = 'x'\n",
            "match = { product = 'x' }\n",
            '"\\u006datch".product = "x"\n',
        ):
            self.assertEqual(served(f"{control}k = 1\n".encode()), "k = 1\n", control)
        self.assertEqual(
            served(b"[t]\nmatch = 1\n[match]\na = 'b'\n[[examples]]\na = 'b'\n[u]\n"),
            "[t]\nmatch = 1\n[u]\n",
        )
        self.assertEqual(served(b"a = 1\nmembers = ['x']\n", b"extends = 'g'\n"), "a = 1\n")

    def test_a_bare_value_after_a_header_only_document(self) -> None:
        """What is assigned at the top stays at the top."""
        self.assertEqual(served(b"[a]\nb = 1\n", b"c = 2"), "c = 2\n\n[a]\nb = 1\n")


class ExactnessTests(SynchronousTestCase):
    @settings(max_examples=100, deadline=None)
    @given(documents())
    def test_lines_are_the_document(self, data: bytes) -> None:
        """Joined they are what was read, and each value is where its path says."""
        text = data.decode("utf-8")
        tables = tomllines.parse(text)
        top = tomllib.loads(text)
        joined = "".join(
            table.header
            + "".join(
                line if isinstance(line, str) else line.before + line.value + line.after
                for line in table.lines
            )
            for table in tables
        )
        self.assertEqual(joined, text if text.endswith("\n") or not text else text + "\n")
        for table in tables:
            if any(table.path[: len(each.path)] == each.path for each in tables if each.array):
                continue
            for line in table.lines:
                if isinstance(line, tomllines.Assignment):
                    value: object = top
                    for key in line.path:
                        assert isinstance(value, dict)
                        value = value[key]
                    self.assertTrue(plain.same(tomllib.loads(f"v = {line.value}")["v"], value))

    @settings(max_examples=80, deadline=None)
    @given(st.lists(documents(), min_size=1, max_size=4))
    def test_the_result_is_the_merge_of_the_values(self, layers: list[bytes]) -> None:
        expected = plain.lay([tomllib.loads(each.decode("utf-8")) for each in layers])
        self.assertTrue(plain.same(tomllib.loads(served(*layers)), expected))

    @settings(max_examples=100, deadline=None)
    @given(documents(), documents())
    def test_certain_edits_are_right(self, lower: bytes, higher: bytes) -> None:
        """Those whose result is not read again."""
        edited = Edited(tomllines.parse(lower.decode("utf-8")))
        edited.lay(tomllines.parse(higher.decode("utf-8")))
        if edited.certain:
            text = "".join(str(part) for table in edited.tables for part in table.parts)
            both = [tomllib.loads(each.decode("utf-8")) for each in (lower, higher)]
            self.assertTrue(plain.same(tomllib.loads(text), plain.merge(*both)))

    def test_which_edits_are_certain(self) -> None:
        """Those that most machines' documents make of a group's."""
        lower = tomllines.parse("x = 1\n[a]\nb = 1\n[c.d]\n")
        for higher, certain in (
            ("a.b = [2]\n", True),
            ("[a]\ne = 2\n", True),
            ("[e.f]\ng = 2\n[h]\n", True),
            ("[c]\ne = 2\n", False),
            ("[a.e]\n", False),
            ("a = 1\n", False),
            ("[x]\ny = 1\n", False),
            ("[[e]]\n", False),
        ):
            edited = Edited(lower)
            edited.lay(tomllines.parse(higher))
            self.assertEqual(edited.certain, certain, higher)

    @settings(max_examples=50, deadline=None)
    @given(TREES)
    def test_the_library_writes_what_it_is_given(self, tree: dict[str, object]) -> None:
        """Where there is no layout to keep."""
        self.assertTrue(plain.same(tomllib.loads(tomlkit.dumps(tree)), tree))


class FillTests(SynchronousTestCase):
    def test_texts_in_every_position(self) -> None:
        """And nothing else: comments and keys are left as they are."""
        data = b"""\
# {{ comment
"{{ v }}" = 'x {{ v }} y' # {{ v }}
a = [ # {{ v }}
  '{{ v }}', "{{v}}", '''
{{ v }}''', \"""
{{ v }} \\
  z\""", { b = "{{ v }}", "{{ v }}" = 1 } ]
[[t]]
c.d = "\\u007b{ v }}"
"""
        text = filled([data], v=HARD)
        self.assertEqual(
            tomllib.loads(text),
            {
                "{{ v }}": f"x {HARD} y",
                "a": [HARD, HARD, HARD, f"{HARD} z", {"b": HARD, "{{ v }}": 1}],
                "t": [{"c": {"d": HARD}}],
            },
        )
        self.assertEqual(text.count("# {{ v }}\n"), 2)
        self.assertTrue(text.startswith("# {{ comment\n"))

    def test_a_placeholder_of_a_lower_layer(self) -> None:
        """Where it is replaced nothing is asked of the request."""
        lower, higher = b"a = '{{ gone }}'\nb = '{{ v }}'\n", b"a = 'x'\n"
        self.assertEqual(filled([lower, higher], v="1"), "a = 'x'\nb = \"1\"\n")
        with self.assertRaises(Unfillable):
            filled([lower], v="1")

    def test_placeholders_in_what_is_written_anew(self) -> None:
        layers = [b"a = { b = '{{ v }}' }\nfilled0x0x = 1", b"[[a.c]]\nd = '{{ v }}'\n"]
        self.assertEqual(
            tomllib.loads(filled(layers, v=HARD)),
            {"a": {"b": HARD, "c": [{"d": HARD}]}, "filled0x0x": 1},
        )
        layers = [b"a = { b = '{{ v }}' }\n", b"a = { c = 'x' }\n"]
        self.assertEqual(tomllib.loads(filled(layers, v=HARD)), {"a": {"b": HARD, "c": "x"}})

    def test_braces_that_mean_themselves(self) -> None:
        self.assertEqual(served(b"a = '{{ \"{{\" }} x }}'\n"), 'a = "{{ x }}"\n')

    @settings(max_examples=100, deadline=None)
    @given(st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp", "Cn"]), max_size=20))
    def test_any_value_round_trips(self, value: str) -> None:
        if value:
            self.assertEqual(
                tomllib.loads(filled([b'a = "\\t{{ v }}"'], v=value))["a"], "\t" + value
            )


class ValuesTests(SynchronousTestCase):
    def test_paths_and_texts(self) -> None:
        data = b"""\
extends = "x"
a.b = "{{ mac }}"
c = [1, { d = "y" }]
e = 2026-11-30
f = 1.0
[g]
"""
        self.assertEqual(
            toml.values(data),
            [
                ("a.b", "{{ mac }}"),
                ("c", '[1,{"d":"y"}]'),
                ("e", "2026-11-30"),
                ("f", "1.0"),
                ("g", "{}"),
            ],
        )
