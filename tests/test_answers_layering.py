"""Tests for what layering promises, whatever the family: chains, who wins, and what is filled."""

import json
import tomllib
from collections.abc import Callable, Sequence
from xml.sax.saxutils import escape

from attrs import frozen
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lxml import etree
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.answers.facts import Facts
from rescriptum.answers.formats import plain
from rescriptum.answers.formats.family import Family
from rescriptum.answers.formats.table import BY_EXTENSION
from rescriptum.answers.template import Template
from rescriptum.errors import Unfillable
from tests import tomlwriting, yamlwriting

Tree = dict[str, object]

TEXTS = ["x", "yes", "a\"b'c<d>e&f \\ \\n #: \U0001f600", "0644", "}} {x}"]
PLACES = [
    "{{ v }}",
    "x {{ w }}: y",
    '{{ w | default("d\'\\"<") }}',
    '{{ "{{" }} {{ v | upper }}',
    'all {{ "{{" }}',
]


def trees(texts: Sequence[str], tables: str = "ab", values: str = "ab") -> st.SearchStrategy[Tree]:
    """
    :param tables: keys that may be of tables, none of them empty.
    :param values: keys that may be of texts.
    """
    texts_of: st.SearchStrategy[object] = st.sampled_from(texts)
    leaves = st.dictionaries(st.sampled_from(values), texts_of, min_size=1)
    return st.recursive(
        leaves,
        lambda inner: st.dictionaries(st.sampled_from(tables), inner, min_size=1).flatmap(
            lambda above: leaves.map(lambda below: {**below, **above})
        ),
        max_leaves=6,
    )


@frozen
class Case:
    """
    :ivar write: draws a layout for a tree.
    :ivar load: the tree of a document.
    """

    family: Family
    write: Callable[[st.DrawFn, Tree], bytes]
    load: Callable[[bytes], object]


def toml(draw: st.DrawFn, tree: Tree) -> bytes:
    return draw(tomlwriting.documents(st.just(tree)))


def yaml(draw: st.DrawFn, tree: Tree) -> bytes:
    keyed: yamlwriting.Tree = dict(tree.items())
    return draw(yamlwriting.documents(st.just(keyed)))


def xml(draw: st.DrawFn, tree: Tree) -> bytes:
    space = draw(st.sampled_from(["", "\n  ", "<!-- {{ -->"]))

    def element(key: str, value: object) -> str:
        if not isinstance(value, dict):
            return f"<{key}>{escape(str(value))}</{key}>"
        inner = space.join(element(*each) for each in value.items())
        return f"<{key}>{space}{inner}</{key}>"

    return element("profile", tree).encode("utf-8")


def load_xml(data: bytes) -> object:
    def value(node: etree._Element) -> object:
        inner = [each for each in node if isinstance(each.tag, str)]
        return {str(each.tag): value(each) for each in inner} if inner else node.text

    return value(etree.fromstring(data))


CASES = {
    "toml": Case(BY_EXTENSION["toml"].family, toml, lambda data: tomllib.loads(data.decode())),
    "yaml": Case(BY_EXTENSION["yaml"].family, yaml, yamlwriting.load),
    "json": Case(
        BY_EXTENSION["json"].family, lambda _, tree: json.dumps(tree).encode(), json.loads
    ),
    "xml": Case(BY_EXTENSION["xml"].family, xml, load_xml),
}


def holding(case: Case, *drawn: st.SearchStrategy[Tree]) -> st.SearchStrategy[list[bytes]]:
    """:returns: documents of trees, in layouts of the family."""

    @st.composite
    def documents(draw: st.DrawFn) -> list[bytes]:
        return [case.write(draw, draw(each)) for each in drawn]

    return documents()


def composed(family: Family, *layers: bytes) -> bytes:
    data = family.compose(layers)
    assert isinstance(data, bytes)
    return data


def check(examples: int) -> Callable[[Callable[[], None]], Callable[[], None]]:
    return settings(
        max_examples=examples,
        deadline=None,
        suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
    )


class EveryFormat:
    """What is promised of layers is held in each structured format."""

    def hold_it(self, case: Case) -> None:
        raise NotImplementedError

    def test_toml(self) -> None:
        self.hold_it(CASES["toml"])

    def test_yaml(self) -> None:
        self.hold_it(CASES["yaml"])

    def test_json(self) -> None:
        self.hold_it(CASES["json"])

    def test_xml(self) -> None:
        self.hold_it(CASES["xml"])


class ChainTests(EveryFormat, SynchronousTestCase):
    """
    A chain of groups is laid from the lowest up, so what is kept of its lower part is as good as
    the part itself.
    """

    def hold_it(self, case: Case) -> None:
        some = trees(TEXTS)

        @check(40)
        @given(holding(case, some, some, some))
        def hold(layers: list[bytes]) -> None:
            first, second, third = layers
            whole = composed(case.family, first, second, third)
            below = composed(case.family, composed(case.family, first, second), third)
            self.assertEqual(case.load(whole), case.load(below))
            expected = plain.lay([case.load(each) for each in layers])
            self.assertEqual(case.load(whole), expected)

        hold()

    def test_text(self) -> None:
        """Lines below lines; nothing is ever replaced."""
        family = BY_EXTENSION["preseed"].family
        lines = st.lists(st.sampled_from(["a", "b c", "", "# answer: extends x"])).map(
            lambda each: "\n".join(each).encode()
        )

        @check(40)
        @given(lines, lines, lines)
        def hold(first: bytes, second: bytes, third: bytes) -> None:
            whole = composed(family, first, second, third)
            self.assertEqual(
                composed(family, composed(family, first, second), third).rstrip(b"\n"),
                whole.rstrip(b"\n"),
            )
            self.assertEqual(
                composed(family, first, composed(family, second, third)).rstrip(b"\n"),
                whole.rstrip(b"\n"),
            )

        hold()


class AssociativityTests(EveryFormat, SynchronousTestCase):
    """
    Layers may be taken together from either end where no key is a table in one and something else
    in another. Where one is, they cannot: a text ``k`` over ``{k: {x}}`` replaces the table, and
    ``{k: {y}}`` over that is ``{k: {y}}``. But the upper two taken first are ``{k: {y}}`` too,
    which over ``{k: {x}}`` is ``{k: {x, y}}``. A chain is always laid from its lowest layer.
    """

    def hold_it(self, case: Case) -> None:
        some = trees(TEXTS, tables="pq", values="ab")

        @check(40)
        @given(holding(case, some, some, some))
        def hold(layers: list[bytes]) -> None:
            first, second, third = layers
            above = composed(case.family, first, composed(case.family, second, third))
            whole = composed(case.family, first, second, third)
            self.assertEqual(case.load(above), case.load(whole))

        hold()

    def test_a_clash(self) -> None:
        """The example from above, so that nobody takes the property for more than it is."""
        compose = CASES["json"].family.compose
        first, second, third = b'{"k": {"x": 1}}', b'{"k": 2}', b'{"k": {"y": 3}}'
        upper = compose([second, third])
        assert isinstance(upper, bytes)
        self.assertEqual(json.loads(composed_json(first, second, third)), {"k": {"y": 3}})
        self.assertEqual(json.loads(composed_json(first, upper)), {"k": {"x": 1, "y": 3}})


def composed_json(*layers: bytes) -> bytes:
    return composed(CASES["json"].family, *layers)


class MachineTests(EveryFormat, SynchronousTestCase):
    """What the machine's own document says is in the result, whatever is below."""

    def hold_it(self, case: Case) -> None:
        some = trees(TEXTS)

        @check(40)
        @given(holding(case, some, some, some))
        def hold(layers: list[bytes]) -> None:
            result = case.load(composed(case.family, *layers))
            self.assertTrue(wins(result, case.load(layers[-1])))

        def wins(result: object, machine: object) -> bool:
            if not isinstance(machine, dict):
                return result == machine
            assert isinstance(result, dict)
            return all(wins(result[key], each) for key, each in machine.items())

        hold()

    def test_text(self) -> None:
        """Its lines are the last, which is what counts to a line-oriented installer."""
        result = composed(BY_EXTENSION["preseed"].family, b"a 1\nb 1\n", b"a 2\n")
        self.assertEqual(result, b"a 1\nb 1\na 2\n")


class FillingTests(EveryFormat, SynchronousTestCase):
    """A document is filled, as a whole, or not served: never a placeholder, never half a text."""

    def hold_it(self, case: Case) -> None:
        some = trees([*TEXTS, *PLACES])
        facts = st.dictionaries(st.sampled_from("vw"), st.sampled_from(TEXTS))

        @check(60)
        @given(holding(case, some, some), facts)
        def hold(layers: list[bytes], query: dict[str, str]) -> None:
            carried = Facts.of((), tuple(query.items()))
            merged = plain.lay([case.load(each) for each in layers])
            try:
                expected = plain.replaced(merged, lambda text: Template.parse(text).fill(carried))
            except Unfillable:
                expected = None
            result = case.family.compose(layers)
            if isinstance(result, bytes):
                self.assertEqual(case.load(result), expected)
                return
            try:
                self.assertEqual(case.load(result.fill(carried).encode("utf-8")), expected)
            except Unfillable:
                self.assertIsNone(expected)

        hold()
