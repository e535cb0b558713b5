"""TOML in every layout that its readers take for the same: what Hypothesis draws documents from."""

import json
import tomllib
from datetime import UTC, date, datetime, time

from hypothesis import strategies as st

from rescriptum.answers.formats import plain

KEYS = st.sampled_from(["a", "b", "c", "d-e", "1", "k.x", 'q"\\', "", "é", "extends"])
TEXTS = st.text(max_size=6).filter(lambda text: "{{" not in text)
SCALARS = (
    st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats()
    | TEXTS
    | st.sampled_from(
        [date(2026, 11, 30), time(1, 2, 3), datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)]
    )
)
TREES = st.dictionaries(
    KEYS,
    st.recursive(
        SCALARS,
        lambda inner: (
            st.dictionaries(KEYS, inner, max_size=3)
            | st.lists(inner, max_size=3)
            | st.lists(st.dictionaries(KEYS, inner, max_size=2), min_size=1, max_size=2)
        ),
        max_leaves=8,
    ),
    max_size=4,
)


def basic(text: str) -> str:
    """:returns: in double quotes; TOML has no pairs of surrogates."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


@st.composite
def documents(draw: st.DrawFn, trees: st.SearchStrategy[dict[str, object]] = TREES) -> bytes:
    """:returns: a tree in some layout."""
    tree = draw(trees)
    text = _Writer(draw).document(tree)
    assert plain.same(tomllib.loads(text), tree), (text, tree)
    return text.encode("utf-8")


class _Writer:
    """Asks Hypothesis at each turn."""

    def __init__(self, draw: st.DrawFn) -> None:
        self._draw = draw

    def document(self, tree: dict[str, object]) -> str:
        body, sections = self._table((), tree)
        if self._one_in(3):  # headers in any order, unless lists of tables are among them
            order = self._draw(st.permutations(sections))
            if not any("[[" in section for section in sections):
                sections = list(order)
        text = "".join([body, *sections])
        if self._one_in(4):
            text = text.replace("\n", "\r\n") if '"""' not in text and "'''" not in text else text
        if self._one_in(4):
            text = text.rstrip("\r\n")
        return text

    def _one_in(self, number: int) -> bool:
        return self._draw(st.integers(1, number)) == 1

    def _trivia(self) -> str:
        return self._draw(st.sampled_from(["", "", "", "\n", '# a [comment] = "{{\n', "  # x\n\n"]))

    def _after(self) -> str:
        return self._draw(st.sampled_from(["", "", "  ", "  # [c] '\"", " #{{"])) + "\n"

    def _table(self, path: tuple[str, ...], tree: dict[str, object]) -> tuple[str, list[str]]:
        """:returns: the lines of its own, and the tables below it with their headers."""
        body = self._trivia()
        sections: list[str] = []
        for key, value in tree.items():
            here = (*path, key)
            how = self._draw(st.sampled_from(["inline", "header", "dotted"]))
            tables = isinstance(value, list) and value and all(isinstance(e, dict) for e in value)
            if how == "header" and isinstance(value, dict):
                inner, below = self._table(here, value)
                implied = below and not inner.strip() and self._one_in(2)
                above = "" if implied else f"{self._trivia()}[{self._dotted(here)}]{self._after()}"
                sections += [above + inner, *below]
            elif how == "header" and tables:
                assert isinstance(value, list)
                text = ""
                for each in value:
                    inner, below = self._table(here, each)
                    text += f"{self._trivia()}[[{self._dotted(here)}]]{self._after()}"
                    text += inner + "".join(below)
                sections.append(text)
            elif how == "dotted" and isinstance(value, dict) and value:
                for name, each in value.items():
                    body += self._assign((key, name), each)
            else:
                body += self._assign((key,), value)
        return body, sections

    def _assign(self, keys: tuple[str, ...], value: object) -> str:
        space = self._draw(st.sampled_from(["", " ", "\t"]))
        written = self._value(value, multi_line=True)
        return f"{space}{self._dotted(keys)}{space}= {written}{self._after()}{self._trivia()}"

    def _dotted(self, keys: tuple[str, ...]) -> str:
        return self._draw(st.sampled_from([".", " . "])).join(map(self._key, keys))

    def _key(self, key: str) -> str:
        if key and key.isascii() and key.replace("-", "").isalnum() and not self._one_in(4):
            return key
        return basic(key)

    def _value(self, value: object, multi_line: bool) -> str:
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, dict):
            pairs = [f"{self._key(k)} = {self._value(v, False)}" for k, v in value.items()]
            return "{" + ", ".join(pairs) + "}"
        if isinstance(value, list):
            items = [self._value(each, multi_line) for each in value]
            if multi_line and self._one_in(2):
                lines = "".join(f"  {each}, {self._draw(COMMENTS)}\n" for each in items)
                return f"[ {self._draw(COMMENTS)}\n{lines}]"
            return "[" + ", ".join(items) + "]"
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, (date, time)):
            return value.isoformat()
        return repr(value).replace("e-0", "e-")

    def _text(self, text: str) -> str:
        how = self._draw(st.sampled_from(["basic", "literal", "long", "long literal"]))
        printable = all(each >= " " and each != "\x7f" for each in text)
        if how == "literal" and printable and "'" not in text:
            return f"'{text}'"
        if how == "long literal" and printable and "''" not in text and text[-1:] != "'":
            return f"'''\n{text}'''"
        if how == "long" and "\\" not in text:
            inner = basic(text)[1:-1].replace("\\n", "\n")
            return f'"""\n{inner}"""'
        return basic(text)


COMMENTS = st.sampled_from(["", '# ] "', "# '"])
