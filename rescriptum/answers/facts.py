"""What a request says of its machine: facts by name, and the values that identities match."""

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import NamedTuple, Self

from attrs import evolve, frozen

from ..errors import MalformedRequest
from ..values import MAC

#: Names that only the server sets; a query or body of the same name is a value and no fact.
RESERVED = frozenset({"path", "file", "segment", "machine", "group", "peer"})

#: Bounds on what a stranger's body can make us hold: scalars, nesting, characters of a fact's
#: name, and normalised characters that identities are looked for in.
MAX_SCALARS = 4096
MAX_DEPTH = 32
MAX_LABEL = 256
MAX_TEXT = 65536
#: An identity of so many characters may be a part of a value; a shorter one is the whole of it.
INSIDE = 6

#: What an interface's ``link`` says when the cable is in. Proxmox puts the interface's name there.
_LINKED = frozenset({"true", "up", "yes"})
_DROPPED = bytes(each for each in range(256) if not (each < 128 and chr(each).isalnum()))


def normalise(text: str | bytes) -> str:
    """:returns: the ASCII letters, lower-cased, and digits of ``text``; nothing else (W080)."""
    data = text.encode("ascii", "ignore") if isinstance(text, str) else text
    return data.lower().translate(None, _DROPPED).decode("ascii")


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


def _gather(value: object, label: str | None, leaf: str, depth: int, scalars: list[Scalar]) -> None:
    """:param label: of ``value``; None past ``MAX_LABEL``, and then for all below it too."""
    if depth > MAX_DEPTH:
        raise MalformedRequest(f"body nested deeper than {MAX_DEPTH}")
    if isinstance(value, dict):
        for key, each in value.items():
            name = key.lower()
            _gather(each, _joined(label, name), name[:MAX_LABEL], depth + 1, scalars)
    elif isinstance(value, list):
        for at, each in enumerate(value):
            _gather(each, _joined(label, str(at)), leaf, depth + 1, scalars)
    elif value is not None:
        text = value if isinstance(value, str) else "true" if value else "false"
        scalars.append(Scalar(label or "", leaf, text))
        if len(scalars) > MAX_SCALARS:
            raise MalformedRequest(f"body of more than {MAX_SCALARS} values")


def _joined(label: str | None, name: str) -> str | None:
    if label is None or len(label) + len(name) >= MAX_LABEL:
        return None
    return f"{label}.{name}" if label else name


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


def _decoded(body: bytes, declared_json: bool) -> object:
    """:returns: the body's JSON value, or the body itself where it is none."""
    try:
        return json.loads(body, parse_int=str, parse_float=str, parse_constant=_no_constant)
    except (ValueError, RecursionError) as e:
        if declared_json:
            raise MalformedRequest(f"body is not the JSON it says it is: {e}") from None
        return body


@frozen
class Facts:
    """
    One request, as answers see it. Headers are no facts.

    :ivar segments: of the path, decoded.
    :ivar query: pairs, decoded, in the order sent.
    :ivar body: the scalars of a JSON body.
    :ivar raw: a body that is no JSON, or an identity asked for directly.
    :ivar peer: the address it came from, a fact and no value: no identity is looked for in it.
    :ivar machine: the machine whose document applies, once that is known; ``group`` likewise.
    """

    segments: tuple[str, ...] = ()
    query: tuple[tuple[str, str], ...] = ()
    body: tuple[Scalar, ...] = ()
    raw: bytes = b""
    peer: str = ""
    machine: str | None = None
    group: str | None = None

    @classmethod
    def of(
        cls,
        segments: tuple[str, ...],
        query: tuple[tuple[str, str], ...] = (),
        body: bytes = b"",
        declared_json: bool = False,
        peer: str = "",
    ) -> Self:
        """
        :param declared_json: whether the client said that its body is JSON.
        :raises MalformedRequest: for a body that is not what it says, or past the bounds.
        """
        value = _decoded(body, declared_json) if body.strip() else b""
        if isinstance(value, bytes):
            return cls(segments, query, raw=value, peer=peer)
        scalars: list[Scalar] = []
        _gather(value, "", "", 0, scalars)
        return cls(segments, query, tuple(scalars), peer=peer)

    def bound(self, machine: str | None, group: str | None = None) -> Self:
        """:returns: the same request with ``machine`` and ``group`` known."""
        return evolve(self, machine=machine, group=group)

    @cached_property
    def values(self) -> tuple[str, ...]:
        """
        Every value, normalised and separate: path segments, query, body. Distinct, none empty,
        ``MAX_TEXT`` characters in all; what lies beyond is cut off, and what is left of a value
        that is cut is never so short that it could pass for a whole identity.
        """
        room = MAX_TEXT
        values: dict[str, None] = {}
        for text in self._texts():
            value = normalise(text)
            if value in values or not value:
                continue
            if len(value) > room:
                if room >= INSIDE:
                    values[value[:room]] = None
                break
            values[value] = None
            room -= len(value)
        return tuple(values)

    def _texts(self) -> Iterator[str | bytes]:
        yield from self.segments
        yield from (value for _, value in self.query)
        yield from (scalar.text for scalar in self.body)
        yield self.raw

    @cached_property
    def labels(self) -> Mapping[str, tuple[str, ...]]:
        """
        Facts by name, lower-cased, each with its distinct values in order of precedence: the
        path, the query, the body; ``mac`` and ``serial`` by the table in the docs.
        """
        labels: dict[str, dict[str, None]] = {}
        if self.segments:
            labels["path"] = {"/".join(self.segments): None}
            labels["file"] = {self.segments[-1]: None}
            labels["segment"] = dict.fromkeys(self.segments)
        for name, bound in ("machine", self.machine), ("group", self.group):
            if bound is not None:
                labels[name] = {bound: None}
        if self.peer:
            labels["peer"] = {self.peer: None}
        for name, text in self._named():
            if name and text and name not in RESERVED:
                labels.setdefault(name, {})[text] = None
        return {name: tuple(texts) for name, texts in labels.items()}

    def _named(self) -> Iterator[tuple[str, str]]:
        yield from (("mac", text) for text in self._macs())
        yield from (
            ("serial", each.text) for each in self.body if each.label == "dmi.system.serial"
        )
        yield from ((name.lower()[:MAX_LABEL], text) for name, text in self.query)
        for each in self.body:
            yield each.label, each.text
            yield each.leaf, each.text

    def _macs(self) -> Iterator[str]:
        """
        The booting interface first: what the query, the path, or a body that is nothing else
        name; then the one with link.
        """
        yield from (text for name, text in self.query if name.lower() == "mac")
        told = (*self.segments, self.raw[:18].decode("latin-1"))
        yield from (text for text in told if _mac(text) is not None)
        linked = {
            each.label.removesuffix("link") + "mac"
            for each in self.body
            if each.label.endswith("link") and each.leaf == "link" and each.text.lower() in _LINKED
        }
        macs = [each.text for each in self.body if each.label in linked]
        if len(macs) == 1:
            yield from macs

    @cached_property
    def mac(self) -> MAC | None:
        """The booting interface's address, where the request names one."""
        leaves = (each.text for each in self.body if each.leaf == "mac")
        return _first_mac((*self._macs(), *leaves))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.labels)

    def first(self, name: str) -> str | None:
        """:returns: the value of the fact ``name``, in any case; None where it is not carried."""
        texts = self.labels.get(name.lower())
        return texts[0] if texts else None

    def normalised(self, label: str) -> tuple[str, ...]:
        """:returns: the values of the fact ``label``, letters and digits only, lower case."""
        return tuple(normalise(text) for text in self.labels.get(label.lower(), ()))


def _mac(text: str) -> MAC | None:
    if len(text) not in (12, 17):  # most texts are none, and an exception each is dear
        return None
    try:
        return MAC.parse(text)
    except ValueError:
        return None


def _first_mac(texts: Iterable[str]) -> MAC | None:
    return next((mac for text in texts if (mac := _mac(text)) is not None), None)
