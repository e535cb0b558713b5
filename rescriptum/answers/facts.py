"""What a request says of its machine: facts by name, and the values that identities match."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple, Self

from attrs import evolve, field, frozen

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
_SERIAL = "dmi.system.serial"
_DROPPED = bytes(each for each in range(256) if not (each < 128 and chr(each).isalnum()))
#: Stands between values that are normalised together: no normalised value has it.
_GAP = "\n"
_DROPPED_BUT_GAP = _DROPPED.replace(_GAP.encode("ascii"), b"")


def normalise(text: str | bytes) -> str:
    """:returns: the ASCII letters, lower-cased, and digits of ``text``; nothing else (W080)."""
    data = text.encode("ascii", "ignore") if isinstance(text, str) else text
    return data.lower().translate(None, _DROPPED).decode("ascii")


def _normalised(texts: Sequence[str]) -> list[str]:
    """:returns: :func:`normalise` of each of them, all at once: a request has dozens."""
    joined = _GAP.join(texts)
    if joined.count(_GAP) >= len(texts):  # in one of them, where it says nothing
        joined = _GAP.join([text.replace(_GAP, "") for text in texts])
    data = joined.encode("ascii", "ignore").lower().translate(None, _DROPPED_BUT_GAP)
    return data.decode("ascii").split(_GAP)


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


def _leaves(value: object, leaf: str, depth: int, leaves: list[Leaf]) -> None:
    """
    Append the last name of each scalar's path, lower-cased, and its text.

    :param value: a JSON object, array or scalar; ``leaf``: what it is called.
    :raises MalformedRequest: for more of them than there may be, or nested too deeply.
    """
    if depth >= MAX_DEPTH and value and isinstance(value, (dict, list)):
        raise MalformedRequest(f"body nested deeper than {MAX_DEPTH}")
    if isinstance(value, dict):
        for key, each in value.items():
            if isinstance(each, str):  # nearly all of them, and a call each is dear
                leaves.append((key.lower()[:MAX_LABEL], each))
            else:
                _leaves(each, key.lower()[:MAX_LABEL], depth + 1, leaves)
    elif isinstance(value, list):
        for each in value:
            _leaves(each, leaf, depth + 1, leaves)
    elif isinstance(value, str):
        leaves.append((leaf, value))
    elif value is not None:
        leaves.append((leaf, "true" if value else "false"))
    if len(leaves) > MAX_SCALARS:
        raise MalformedRequest(f"body of more than {MAX_SCALARS} values")


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


def _decoded(body: bytes, declared_json: bool) -> object:
    """:returns: the body's JSON value, or the body itself where it is none."""
    try:
        return _JSON.decode(body.decode(json.detect_encoding(body), "surrogatepass"))
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
    :ivar document: a JSON body, its numbers as they were sent; ``leaves``: what its scalars are
        called, and say.
    :ivar raw: a body that is no JSON, or an identity asked for directly.
    :ivar peer: the address it came from, a fact and no value: no identity is looked for in it.
    """

    segments: tuple[str, ...] = ()
    query: tuple[tuple[str, str], ...] = ()
    document: object = field(default=None, repr=False)
    leaves: tuple[Leaf, ...] = ()
    raw: bytes = b""
    peer: str = ""

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
        if not body or body.isspace():
            return cls(segments, query, peer=peer)
        document = _decoded(body, declared_json)
        if isinstance(document, bytes):
            return cls(segments, query, raw=document, peer=peer)
        leaves: list[Leaf] = []
        _leaves(document, "", 0, leaves)
        return cls(segments, query, document, tuple(leaves), peer=peer)

    def bound(self, machine: str | None, group: str | None = None) -> "Bound":
        """:returns: the same request with ``machine`` and ``group`` known."""
        return Bound(self, machine, group)

    def without(self, name: str) -> Self:
        """:returns: the same request but for what its body says under ``name``, lower-cased."""
        if not isinstance(self.document, dict):
            return self
        kept = {key: each for key, each in self.document.items() if key.lower() != name}
        leaves: list[Leaf] = []
        _leaves(kept, "", 0, leaves)
        return evolve(self, document=kept, leaves=tuple(leaves))

    @cached_property
    def body(self) -> tuple[Scalar, ...]:
        """The scalars of a JSON body, by their paths: few requests need them."""
        scalars: list[Scalar] = []
        _scalars(self.document, "", "", scalars)
        return tuple(scalars)

    @cached_property
    def values(self) -> tuple[str, ...]:
        """
        Every value, normalised and separate: path segments, query, body. Distinct, none empty,
        ``MAX_TEXT`` characters in all; what lies beyond is cut off, and what is left of a value
        that is cut is never so short that it could pass for a whole identity.
        """
        texts = [*self.segments, *(text for _, text in self.query)]
        texts += [text for _, text in self.leaves]
        values = dict.fromkeys(_normalised(texts) if texts else ())
        if self.raw:
            values[normalise(self.raw)] = None
        values.pop("", None)
        return tuple(values) if sum(map(len, values)) <= MAX_TEXT else _cut(values)

    @cached_property
    def labels(self) -> Mapping[str, tuple[str, ...]]:
        """
        Facts by name, lower-cased, each with its distinct values in order of precedence: the
        path, the query, the body; ``mac`` and ``serial`` by the table in the docs.
        """
        labels: dict[str, dict[str, None]] = {}
        for name, text in self._carried():
            labels.setdefault(name, {})[text] = None
        return {name: tuple(texts) for name, texts in labels.items()}

    def _carried(self) -> Iterator[tuple[str, str]]:
        """Every fact and value, in order of precedence."""
        if self.segments:
            yield "path", "/".join(self.segments)
            yield "file", self.segments[-1]
            yield from (("segment", each) for each in self.segments)
        if self.peer:
            yield "peer", self.peer
        for name, text in self._named():
            if name and text and name not in RESERVED:
                yield name, text

    def _named(self) -> Iterator[tuple[str, str]]:
        yield from (("mac", text) for text in self._macs())
        yield from (("serial", each.text) for each in self.body if each.label == _SERIAL)
        yield from ((name.lower()[:MAX_LABEL], text) for name, text in self.query)
        for each in self.body:
            yield each.label, each.text
            yield each.leaf, each.text

    def _macs(self) -> list[str]:
        """
        The booting interface first: what the query, the path, or a body that is nothing else
        name; then the one with link.
        """
        macs = [text for name, text in self.query if name.lower() == "mac"]
        macs += [text for text in self.segments if _mac(text) is not None]
        if self.raw and _mac(told := self.raw[:18].decode("latin-1")) is not None:
            macs.append(told)
        if any(text.lower() in _LINKED for name, text in self.leaves if name == "link"):
            linked = {
                each.label.removesuffix("link") + "mac"
                for each in self.body
                if each.leaf == "link" and each.text.lower() in _LINKED
                if each.label.endswith("link")
            }
            found = [each.text for each in self.body if each.label in linked]
            macs += found if len(found) == 1 else ()
        return macs

    @cached_property
    def mac(self) -> MAC | None:
        """The booting interface's address, where the request names one."""
        for text in self._macs():
            if (mac := _mac(text)) is not None:
                return mac
        for name, text in self.leaves:
            if name == "mac" and (mac := _mac(text)) is not None:
                return mac
        return None

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.labels)

    def texts(self, name: str) -> tuple[str, ...]:
        """:returns: the values of the fact ``name``, in any case, as ``labels`` has them."""
        name = name.lower()
        if name in RESERVED or "." in name or name.isdecimal():
            return self.labels.get(name, ())
        return tuple(dict.fromkeys(text for text in self._plainly_named(name) if text))

    def _plainly_named(self, name: str) -> Iterator[str]:
        """What no longer path and no index of a body could name: its leaves alone do."""
        if name == "mac":
            yield from self._macs()
        elif name == "serial":
            yield from (each.text for each in self.body if each.label == _SERIAL)
        yield from (text for each, text in self.query if each.lower()[:MAX_LABEL] == name)
        yield from (text for leaf, text in self.leaves if leaf == name)

    def first(self, name: str) -> str | None:
        """:returns: the value of the fact ``name``, in any case; None where it is not carried."""
        return next(iter(self.texts(name)), None)

    def normalised(self, label: str) -> tuple[str, ...]:
        """:returns: the values of the fact ``label``, letters and digits only, lower case."""
        return tuple(normalise(text) for text in self.texts(label))


@frozen
class Bound:
    """
    Facts of a request whose documents are chosen.

    :ivar machine: the machine whose document applies, if one does; ``group`` likewise.
    """

    _facts: Facts
    machine: str | None
    group: str | None

    @property
    def names(self) -> tuple[str, ...]:
        known = [name for name in ("machine", "group") if self.first(name) is not None]
        return (*known, *self._facts.names)

    def first(self, name: str) -> str | None:
        """:returns: the value of the fact ``name``, in any case; None where it is not carried."""
        match name.lower():
            case "machine":
                return self.machine
            case "group":
                return self.group
        return self._facts.first(name)


def _mac(text: str) -> MAC | None:
    if len(text) not in (12, 17):  # most texts are none, and an exception each is dear
        return None
    try:
        return MAC.parse(text)
    except ValueError:
        return None


def _cut(values: Iterable[str]) -> tuple[str, ...]:
    """:returns: as many of them as there is room for."""
    room, kept = MAX_TEXT, []
    for value in values:
        if len(value) > room:
            if room >= INSIDE:
                kept.append(value[:room])
            break
        kept.append(value)
        room -= len(value)
    return tuple(kept)
