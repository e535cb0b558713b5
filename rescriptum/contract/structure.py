"""Messages to values and back: every field is there, none is unknown, each is of its kind."""

import json
import re
from enum import Enum
from math import isfinite
from typing import Any, Final, TypeVar, get_args

from attrs import has
from cattrs import Converter, transform_error
from cattrs.errors import BaseValidationError, ForbiddenExtraKeysError
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn

from .refusals import Rejected

_T = TypeVar("_T")

#: A JSON document of either side, and a line of a frame stream, in bytes.
LONGEST_DOCUMENT, LONGEST_FRAME = 4 * 1024 * 1024, 256 * 1024
#: Values in a JSON document: to read many takes longer than to read long ones.
VALUES: Final = 50_000
#: What a refusal says of a message, at the most.
_SAID = 300
#: A text, or what begins as one: it always ends somewhere, so that none is looked at twice.
_TEXT: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)

JSON = dict[str, object]


def _exactly(kind: type) -> Any:
    """cattrs would make a text of a number and a number of a text: peers send what they mean."""

    def hook(value: object, _: object) -> object:
        if type(value) is not kind:
            raise ValueError(f"not {_NAMES[kind]}")
        return value

    return hook


_NAMES = {str: "a text", int: "a whole number", bool: "true or false", float: "a number"}

_converter = Converter(forbid_extra_keys=True, detailed_validation=True)
for _kind in (str, int, bool):
    _converter.register_structure_hook(_kind, _exactly(_kind))


def _enum(value: object, kind: Any) -> object:
    for each in kind:
        if type(value) is str and each.value == value:
            return each
    raise ValueError(f"none of {', '.join(str(each.value) for each in kind)}")


_converter.register_structure_hook_func(
    lambda kind: isinstance(kind, type) and issubclass(kind, Enum), _enum
)


def _table(value: object, _: object) -> object:
    if type(value) is not dict:
        raise ValueError("not an object")
    return value


_converter.register_structure_hook_func(lambda kind: kind == JSON, _table)


def _optional_table(value: object, _: object) -> object:
    return None if value is None else _table(value, None)


_converter.register_structure_hook_func(lambda kind: kind == JSON | None, _optional_table)


def _sequence(value: object, kind: Any) -> object:
    if type(value) is not list:
        raise ValueError("not a list")
    item, _ = get_args(kind)
    return tuple(_converter.structure(each, item) for each in value)


_converter.register_structure_hook_func(
    lambda kind: getattr(kind, "__origin__", None) is tuple and get_args(kind)[1:] == (...,),
    _sequence,
)
_converter.register_structure_hook_factory(
    has, lambda kind: make_dict_structure_fn(kind, _converter, _cattrs_forbid_extra_keys=True)
)
_converter.register_unstructure_hook_factory(
    has, lambda kind: make_dict_unstructure_fn(kind, _converter)
)


def structured(kind: type[_T], data: object, code: str = "invalid-message") -> _T:
    """
    :param kind: an attrs class of texts, whole numbers, booleans, enums, tuples, objects and such
        classes.
    :param data: as :func:`parsed` gives it.
    :raises Rejected: with ``code``, naming each field that is wrong.
    """
    if type(data) is not dict:
        raise Rejected(code, "not an object")
    try:
        return _converter.structure(data, kind)
    except (BaseValidationError, ForbiddenExtraKeysError, ValueError, TypeError) as e:
        raise Rejected(code, "; ".join(_said(e))[:_SAID]) from None
    except RecursionError:
        raise Rejected(code, "too deep") from None


def _said(error: BaseException) -> list[str]:
    return [
        each.replace(" @ $.", " at ").replace(" @ $", "")
        for each in transform_error(error, format_exception=_words)
    ]


def _words(error: BaseException, kind: type | None) -> str:
    if isinstance(error, ForbiddenExtraKeysError):
        return f"unknown: {', '.join(sorted(map(repr, error.extra_fields)))}"
    if isinstance(error, KeyError):
        return f"missing: {error.args[0]}"
    return str(error) if isinstance(error, ValueError) else "of the wrong kind"


def plain(value: object) -> JSON:
    """:returns: an attrs value as what JSON has, in the order of its fields."""
    made: JSON = _converter.unstructure(value)
    return made


def _once(pairs: list[tuple[str, object]]) -> JSON:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a member stands twice")
    return made


def _no_constant(text: str) -> object:
    raise ValueError(f"{text} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not isfinite(number):
        raise ValueError(f"{text} has no value, and could not be passed on")
    return number


def _values(data: bytes) -> int:
    """:returns: no fewer than a document has: what stands in texts is counted too."""
    return 1 + data.count(b",") + data.count(b"]") + data.count(b"}")


def parsed(data: bytes, longest: int = LONGEST_DOCUMENT) -> object:
    """
    :raises Rejected: ``too-large``, also for more than :data:`VALUES` values; ``malformed-json``
        for anything that is not one JSON document in UTF-8 in which each member stands once.
    """
    if len(data) > longest:
        raise Rejected("too-large", f"more than {longest} bytes")
    if _values(data) > VALUES and _values(_TEXT.sub(b"", data)) > VALUES:
        raise Rejected("too-large", f"more than {VALUES} values")
    try:
        return json.loads(
            data.decode("utf-8"),  # of bytes, json would take UTF-16 and 32 as well
            object_pairs_hook=_once,
            parse_constant=_no_constant,
            parse_float=_finite,
        )
    except (ValueError, RecursionError):
        raise Rejected("malformed-json") from None


def rendered(value: object) -> bytes:
    """:returns: JSON without blanks: of an attrs value, or of what JSON has."""
    kind = type(value)
    return json.dumps(
        plain(value) if has(kind) else value, separators=(",", ":"), ensure_ascii=False
    ).encode("utf-8", "replace")
