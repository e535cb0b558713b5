"""Values of the contract's types, made by Hypothesis from the types themselves."""

from enum import Enum
from types import NoneType, UnionType
from typing import Any, Final, Union, get_args, get_origin, get_type_hints

from attrs import fields
from hypothesis import strategies as st

from rescriptum.contract import commands, frames, joining, reports, sessions, specs
from rescriptum.contract.bounds import LARGEST, NAME, Many, Name, Number, Text
from rescriptum.contract.structure import JSON

#: Every message, and every part of one.
KINDS: Final[tuple[type, ...]] = tuple(
    value
    for module in (joining, sessions, commands, reports, specs, frames)
    for value in vars(module).values()
    if isinstance(value, type)
    and value.__module__ == module.__name__
    and hasattr(value, "__attrs_attrs__")
)

_NAMES = st.text(st.characters(min_codepoint=33, max_codepoint=126, exclude_characters="/"),
                 min_size=1, max_size=NAME)  # fmt: skip
_SCALARS = st.none() | st.booleans() | st.integers(-LARGEST, LARGEST) | st.text(max_size=8)
#: Anything that JSON can say.
DOCUMENTS: Final = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=6,
)
_TABLES = st.dictionaries(st.text(max_size=8), _SCALARS, max_size=3)


def values(kind: type) -> st.SearchStrategy[Any]:
    """:returns: values of an attrs class, each field within its bounds."""
    hints = get_type_hints(kind)
    return st.builds(
        kind, **{each.name: _of(hints[each.name], each.validator) for each in fields(kind)}
    )


def _of(kind: Any, validator: object) -> st.SearchStrategy[Any]:
    if kind == JSON:
        return _TABLES
    if get_origin(kind) in (Union, UnionType):
        return st.one_of(
            *(st.none() if each is NoneType else _of(each, validator) for each in get_args(kind))
        )
    if get_origin(kind) is tuple:
        most = validator.most if isinstance(validator, Many) else 3
        return st.lists(_of(get_args(kind)[0], None), max_size=min(3, most)).map(tuple)
    if kind is str:
        return _texts(validator)
    if kind is int:
        least, most = (
            (validator.least, validator.most) if isinstance(validator, Number) else (0, LARGEST)
        )
        return st.integers(least, most)
    if kind is bool:
        return st.booleans()
    return st.sampled_from(kind) if issubclass(kind, Enum) else values(kind)


def _texts(validator: object) -> st.SearchStrategy[str]:
    if isinstance(validator, Name):
        return _NAMES
    least = 1 if isinstance(validator, Text) and not validator.empty else 0
    longest = validator.longest if isinstance(validator, Text) else 20
    return st.text(st.characters(exclude_categories=["Cs"]), min_size=least,
                   max_size=min(longest, 20))  # fmt: skip
