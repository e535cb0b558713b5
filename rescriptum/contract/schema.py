"""JSON Schemas (2020-12) of messages, made from the types that read them."""

import re
from collections.abc import Iterable, Mapping
from enum import Enum
from types import NoneType, UnionType
from typing import Any, Final, Union, get_args, get_origin, get_type_hints

from attrs import NOTHING, Attribute, Factory, has

from .bounds import NAME, TITLE, Many, Name, Number, Text, Title
from .frames import AGENT_FRAMES, SERVER_FRAMES, Ack
from .structure import JSON, plain

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
#: Of a name: what can be printed in ASCII, but for the blank and the slash.
_NAME = r"^[!-.0-~]+$"
_PLAIN: Final[dict[object, str]] = {str: "string", int: "integer", bool: "boolean"}
_IVAR = re.compile(r":ivar (\w+):\s*")
_ROLE = re.compile(r":[a-z:]+:`~?([^`]+)`")


def schema(kind: type) -> JSON:
    """
    :param kind: an attrs class of the contract.
    :returns: a document of its own: what ``structured`` takes for one.
    """
    found = definitions([kind], "#/$defs/")
    root = found.pop(kind.__name__)
    assert isinstance(root, dict)
    made = {"$schema": DIALECT, "title": kind.__name__, **root}
    return {**made, "$defs": found} if found else made


def definitions(kinds: Iterable[type], prefix: str) -> JSON:
    """
    :param prefix: of references: where the definitions will stand.
    :returns: by name: each of ``kinds``, and whatever they are made of.
    :raises ValueError: for two types of one name.
    """
    made: dict[str, object] = {}
    seen: dict[str, type] = {}
    waiting = list(kinds)
    while waiting:
        kind = waiting.pop()
        if seen.setdefault(kind.__name__, kind) is not kind:
            raise ValueError(f"two types are called {kind.__name__}")
        if kind.__name__ not in made:
            made[kind.__name__] = _definition(kind, prefix, waiting)
    return dict(sorted(made.items()))


def server_frame() -> JSON:
    """:returns: of a line of the stream that the gateway sends."""
    further: JSON = {
        "seq": {"type": "integer", "minimum": 0},
        "ack": {"anyOf": [{"$ref": "#/$defs/Ack"}, {"type": "null"}]},
    }
    return _frames("ServerFrame", SERVER_FRAMES, further, ("seq",))


def agent_frames() -> JSON:
    """:returns: of one of the frames that an agent posts in a list."""
    return _frames("AgentFrame", AGENT_FRAMES, {}, ())


def _frames(
    title: str, kinds: Mapping[str, type], further: JSON, required: tuple[str, ...]
) -> JSON:
    found = definitions([*kinds.values(), Ack], "#/$defs/")
    choices = []
    for called, kind in kinds.items():
        made = found.pop(kind.__name__)
        assert isinstance(made, dict)
        made["properties"] = {"type": {"const": called}, **further, **made["properties"]}
        made["required"] = ["type", *required, *made.get("required", ())]
        choices.append(made)
    if not further:
        del found["Ack"]
    return {"$schema": DIALECT, "title": title, "oneOf": choices, "$defs": found}


def _definition(kind: type, prefix: str, waiting: list[type]) -> JSON:
    if issubclass(kind, Enum):
        return {"type": "string", "enum": [each.value for each in kind]}
    about, said = _told(kind)
    hints = get_type_hints(kind)
    properties: JSON = {}
    required = []
    attributes: tuple[Attribute[Any], ...] = vars(kind)["__attrs_attrs__"]
    for attribute in attributes:
        made = _of(hints[attribute.name], prefix, waiting)
        _bound(made, attribute.validator)
        if attribute.name in said:
            made["description"] = said[attribute.name]
        if attribute.default is NOTHING:
            required.append(attribute.name)
        else:
            made["default"] = _default(attribute)
        properties[attribute.name] = made
    made = {"type": "object", "properties": properties, "additionalProperties": False}
    if about:
        made = {"description": about, **made}
    return {**made, "required": required} if required else made


def _of(kind: object, prefix: str, waiting: list[type]) -> dict[str, Any]:
    if kind in _PLAIN:
        return {"type": _PLAIN[kind]}
    if kind == JSON:
        return {"type": "object"}
    if get_origin(kind) in (Union, UnionType):
        members = [each for each in get_args(kind) if each is not NoneType]
        made = [_of(each, prefix, waiting) for each in members]
        if len(made) == 1 and "type" in made[0]:
            return {**made[0], "type": [made[0]["type"], "null"]}
        return {"anyOf": [*made, {"type": "null"}]}
    if get_origin(kind) is tuple:
        return {"type": "array", "items": _of(get_args(kind)[0], prefix, waiting)}
    assert isinstance(kind, type) and (has(kind) or issubclass(kind, Enum)), kind
    waiting.append(kind)
    return {"$ref": prefix + kind.__name__}


def _bound(made: dict[str, Any], validator: object) -> None:
    match validator:
        case Text(longest, empty):
            made["maxLength"] = longest
            if not empty:
                made["minLength"] = 1
        case Name():
            made.update(pattern=_NAME, minLength=1, maxLength=NAME)
        case Title():
            made.update(pattern=f"^{TITLE.pattern}$", minLength=1, maxLength=NAME)
        case Number(least, most):
            made.update(minimum=least, maximum=most)
        case Many(most):
            made["maxItems"] = most
        case _:
            assert validator is None, validator


def _default(attribute: "Attribute[Any]") -> object:
    default: Any = attribute.default
    if isinstance(default, Factory):  # type: ignore[arg-type]
        default = default.factory()
    return plain(default) if has(type(default)) else _listed(default)


def _listed(value: object) -> object:
    if isinstance(value, Enum):
        return value.value
    return list(value) if isinstance(value, tuple) else value


def _told(kind: type) -> tuple[str, dict[str, str]]:
    """:returns: what the docstring of ``kind`` says of it, and of its fields."""
    about, *rest = _IVAR.split(kind.__doc__ or "")
    return _sentence(about), {
        name: _sentence(text) for name, text in zip(rest[::2], rest[1::2], strict=True)
    }


def _sentence(text: str) -> str:
    return _ROLE.sub(r"\1", " ".join(text.split())).replace("``", "`")
