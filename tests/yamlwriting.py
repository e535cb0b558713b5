"""YAML in layouts of every kind: what Hypothesis draws documents from."""

import json
from typing import NamedTuple

import yaml
from hypothesis import assume
from hypothesis import strategies as st

from rescriptum.answers.formats import plain


class Bare(NamedTuple):
    """Written without quotes: to some reader it may be a number, a date, nothing …"""

    text: str


_WORDS = """
    yes no on off y n true False 0644 0o644 0x1F 12:30:45 2026-11-30 2001-12-14t21:59:43.10-05:00 ~
    null 1.5 1e3 .inf .nan -1 +1 1_000 010 08 x some-word http://h:80/p#q a'b node[1] $6$x/y.
"""
_HARD = ["yes", "1", "", " x", "x ", "a\nb\n", "a\n\n b", "#x", "a: b", "- x", "\n", "\x85\u2028"]
WORDS = st.sampled_from([*_WORDS.split(), "two words"]).map(Bare)
TEXTS = (
    st.text(st.characters(exclude_categories=["Cs"]), max_size=6) | st.sampled_from(_HARD)
).filter(lambda text: "{{" not in text)
KEYS: st.SearchStrategy[str | Bare] = st.sampled_from(
    ["a", "b", "c", "d-e", "k.x", 'q"\\', "é", "", "extends", "1", Bare("on"), "x y"]
)
Tree = dict[str | Bare, object]
TREES: st.SearchStrategy[Tree] = st.dictionaries(
    KEYS,
    st.recursive(
        WORDS | TEXTS,
        lambda inner: st.dictionaries(KEYS, inner, max_size=3) | st.lists(inner, max_size=3),
        max_leaves=8,
    ),
    max_size=4,
)


def load(data: str | bytes) -> object:
    """:returns: as a reader of YAML 1.1 has it; this one is cloud-init's."""
    return yaml.load(data, yaml.CSafeLoader)


@st.composite
def documents(draw: st.DrawFn, trees: st.SearchStrategy[Tree] = TREES) -> bytes:
    """:returns: a tree in some layout."""
    tree = draw(trees)
    text = _Writer(draw).document(tree)
    try:  # a comment may have come into a literal block, say
        assume(plain.same(load(text) or {}, value_of(tree)))
    except yaml.YAMLError:
        assume(False)
    return text.encode("utf-8")


def value_of(tree: object) -> object:
    """:returns: what a reader of YAML 1.1 makes of a tree."""
    if isinstance(tree, dict):
        return {value_of(key): value_of(each) for key, each in tree.items()}
    if isinstance(tree, list):
        return [value_of(each) for each in tree]
    return load(tree.text) if isinstance(tree, Bare) else tree


class _Writer:
    """Asks Hypothesis at each turn."""

    def __init__(self, draw: st.DrawFn) -> None:
        self._draw = draw

    def document(self, tree: Tree) -> str:
        head = self._draw(st.sampled_from(["", "", "#cloud-config\n", "---\n", "# {{ x\n\n"]))
        if not tree:
            return head + self._draw(st.sampled_from(["", "{}\n", "# nothing\n"]))
        if self._one_in(8):
            return f"{head}{self._flow(tree)}\n"
        return head + self._block(tree, 0)

    def _one_in(self, number: int) -> bool:
        return self._draw(st.integers(1, number)) == 1

    def _after(self) -> str:
        return self._draw(st.sampled_from(["", "", "", " # c: 'x {{", "   #"])) + "\n"

    def _trivia(self, indent: int) -> str:
        text = self._draw(st.sampled_from(["", "", "", "\n", "# - x: {{\n", "  # y\n\n"]))
        return " " * indent + text if text.startswith("#") else text

    def _block(self, value: object, indent: int) -> str:
        """:returns: lines."""
        pad = " " * indent
        text = ""
        if isinstance(value, dict):
            for key, each in value.items():
                text += f"{pad}{self._key(key)}:{self._behind(each, indent, False)}"
                text += self._trivia(indent)
        else:
            assert isinstance(value, list)
            for each in value:
                nested = isinstance(each, dict) and each and self._one_in(2)
                if nested:
                    lines = self._block(each, indent + 2)
                    text += f"{pad}- {lines[indent + 2 :]}"
                else:
                    text += f"{pad}-{self._behind(each, indent, True)}"
                text += self._trivia(indent)
        return text

    def _behind(self, value: object, indent: int, item: bool) -> str:
        """:returns: what comes behind a colon or dash."""
        if isinstance(value, (dict, list)):
            if not value or self._one_in(4):
                return f" {self._flow(value)}{self._after()}"
            least = 0 if isinstance(value, list) and not item else 1
            step = self._draw(st.integers(least, 4))
            return self._after() + self._block(value, indent + step)
        if isinstance(value, Bare):
            if value.text in ("~", "null") and self._one_in(2):
                return self._after()
            return f" {value.text}{self._after()}"
        assert isinstance(value, str)
        return self._text(value, indent)

    def _text(self, text: str, indent: int) -> str:
        how = self._draw(st.sampled_from(["double", "single", "literal", "literal"]))
        lines = text.split("\n")
        printable = text.replace("\n", "").isprintable()
        if how == "single" and printable and "\n" not in text:
            inner = text.replace("'", "''")
            return f" '{inner}'{self._after()}"
        straight = printable and not any(line.isspace() for line in lines)
        if how == "literal" and straight and text.strip() and lines[0][:1] not in ("", " "):
            ends = len(text) - len(text.rstrip("\n"))
            mark = {0: "-", 1: ""}.get(ends, "+")
            step = " " * (indent + self._draw(st.integers(1, 3)))
            kept = text.rstrip("\n").split("\n")
            body = "".join(f"{step}{line}\n" if line else "\n" for line in kept)
            return f" |{mark}\n{body}" + "\n" * (ends - 1)
        return f" {double(text)}{self._after()}"

    def _key(self, key: str | Bare) -> str:
        if isinstance(key, Bare):
            return key.text
        simple = key.isascii() and key.replace("-", "").isalpha()
        return key if simple and not self._one_in(4) else double(key)

    def _flow(self, value: object) -> str:
        if isinstance(value, dict):
            return (
                "{" + ", ".join(f"{self._key(k)}: {self._flow(v)}" for k, v in value.items()) + "}"
            )
        if isinstance(value, list):
            return "[" + ", ".join(map(self._flow, value)) + "]"
        if isinstance(value, Bare):
            return value.text if "[" not in value.text else double(value.text)
        return double(str(value))


def double(text: str) -> str:
    """:returns: in double quotes; YAML has no pairs of surrogates."""
    escaped = "".join(
        character if character.isprintable() or character in "\n\t " else _code(character)
        for character in text.replace("\\", "\\\\")
    )
    return json.dumps(escaped, ensure_ascii=False).replace("\\\\", "\\")


def _code(character: str) -> str:
    return f"\\U{ord(character):08x}"
