"""What a request carries in its body: JSON values under their names, or bytes that are one."""

import json
from typing import NamedTuple

from ..errors import MalformedRequest

#: Bounds on what a stranger's body can make us hold: values, lists and objects and null among
#: them; nesting; characters of a name.
MAX_VALUES = 4096
MAX_DEPTH = 32
MAX_LABEL = 256


class Scalar(NamedTuple):
    """
    One value of a JSON body; a tuple, for a body has dozens and each request makes them.

    :ivar label: its dotted path, lower-cased; empty when longer than ``MAX_LABEL``.
    :ivar leaf: the last name on that path; array indexes are none.
    :ivar text: the value; numbers as they were sent.
    """

    label: str
    leaf: str
    text: str


Leaf = tuple[str, str]


def texts(document: object) -> tuple[str, ...]:
    """
    :param document: a JSON value.
    :returns: its scalars, those of outer objects first. All that most requests need: names and
        paths are made where they are asked for.
    :raises MalformedRequest: for more values than there may be, or nested too deeply.
    """
    found: list[str] = []
    level: list[list[object]] = [[document]]
    depth = seen = -1  # the document itself is none of its values
    while level:
        if depth >= MAX_DEPTH:
            raise MalformedRequest(f"body nested deeper than {MAX_DEPTH}")
        below: list[list[object]] = []
        for values in level:
            seen += len(values)
            if seen > MAX_VALUES:
                raise MalformedRequest(f"body of more than {MAX_VALUES} values")
            for each in values:
                if isinstance(each, str):
                    found.append(each)
                elif isinstance(each, dict):
                    below.append(list(each.values()))
                elif isinstance(each, list):
                    below.append(each)
                elif each is not None:
                    found.append("true" if each else "false")
        level = [each for each in below if each]
        depth += 1
    return tuple(found)


def leaves(document: object) -> tuple[Leaf, ...]:
    """:returns: the last name of each scalar's path, lower-cased, and its text, in order."""
    return tuple([(each.leaf, each.text) for each in scalars(document)])


def scalars(document: object) -> tuple[Scalar, ...]:
    """:param document: one that :func:`texts` let through."""
    found: list[Scalar] = []
    _scalars(document, "", "", found)
    return tuple(found)


def _scalars(value: object, label: str | None, leaf: str, scalars: list[Scalar]) -> None:
    """:param label: of ``value``; None past ``MAX_LABEL``, and then for all below it too."""
    if isinstance(value, dict):
        for key, each in value.items():
            name = key.lower()
            path = _joined(label, name)
            if isinstance(each, str):
                scalars.append(Scalar(path or "", name[:MAX_LABEL], each))
            else:
                _scalars(each, path, name[:MAX_LABEL], scalars)
    elif isinstance(value, list):
        for at, each in enumerate(value):
            _scalars(each, _joined(label, str(at)), leaf, scalars)
    elif value is not None:
        text = value if isinstance(value, str) else "true" if value else "false"
        scalars.append(Scalar(label or "", leaf, text))


def _joined(label: str | None, name: str) -> str | None:
    if label is None or len(label) + len(name) >= MAX_LABEL:
        return None
    return f"{label}.{name}" if label else name


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


_JSON = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=_no_constant)


def decoded(body: bytes, declared_json: bool) -> object:
    """:returns: the body's JSON value, or the body itself where it is none."""
    try:
        return _JSON.decode(body.decode(json.detect_encoding(body), "surrogatepass"))
    except (ValueError, RecursionError) as e:
        if declared_json:
            raise MalformedRequest(f"body is not the JSON it says it is: {e}") from None
        return body
