"""What a request says of its machine: facts by name, and the values that identities match."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Self

from attrs import evolve, field, frozen

from ..values import MAC
from . import body as bodies
from .body import MAX_LABEL, Leaf, Scalar

#: Names that only the server sets; a query or body of the same name is a value and no fact.
RESERVED = frozenset({"path", "file", "segment", "machine", "group", "peer"})

#: Normalised characters of one request that identities are looked for in.
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


@frozen
class Facts:
    """
    One request, as answers see it. Headers are no facts.

    :ivar segments: of the path, decoded.
    :ivar query: pairs, decoded, in the order sent.
    :ivar document: a JSON body, its numbers as they were sent; ``said``: what its scalars say.
    :ivar raw: a body that is no JSON, or an identity asked for directly.
    :ivar peer: the address it came from, a fact and no value: no identity is looked for in it.
    """

    segments: tuple[str, ...] = ()
    query: tuple[tuple[str, str], ...] = ()
    document: object = field(default=None, repr=False)
    said: tuple[str, ...] = ()
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
        document = bodies.decoded(body, declared_json)
        if isinstance(document, bytes):
            return cls(segments, query, raw=document, peer=peer)
        return cls(segments, query, document, bodies.texts(document), peer=peer)

    def bound(self, machine: str | None, group: str | None = None) -> "Bound":
        """:returns: the same request with ``machine`` and ``group`` known."""
        return Bound(self, machine, group)

    def without(self, name: str) -> Self:
        """:returns: the same request but for what its body says under ``name``, lower-cased."""
        if not isinstance(self.document, dict):
            return self
        kept = {key: each for key, each in self.document.items() if key.lower() != name}
        return evolve(self, document=kept, said=bodies.texts(kept))

    @cached_property
    def body(self) -> tuple[Scalar, ...]:
        """The scalars of a JSON body, by their paths: few requests need them."""
        return bodies.scalars(self.document)

    @cached_property
    def leaves(self) -> tuple[Leaf, ...]:
        """The same by their last names."""
        return bodies.leaves(self.document)

    @cached_property
    def values(self) -> tuple[str, ...]:
        """
        Every value, normalised and separate: path segments, query, body. Distinct, none empty,
        ``MAX_TEXT`` characters in all; what lies beyond is cut off, and what is left of a value
        that is cut is never so short that it could pass for a whole identity.
        """
        texts = [*self.segments, *[text for _, text in self.query], *self.said]
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
