"""
Kickstarts, preseeds, iPXE scripts and other files of lines: control in comments, layers one below
the other.

A script's first line says what it is (``#!ipxe``; ``#cloud-config``), and only there. Of layers
that have one, the highest's is the first line of the result, wherever its document comes; the
others go, so that a group may leave it out, or not.
"""

import re
from collections.abc import Sequence

from ...errors import MalformedDocument
from ..control import Control, Pairs
from ..template import OPEN, Template
from .family import Head, Value

_CONTROL = re.compile(r"^[ \t]*(?:#|//)[ \t]*answer:(.*)(?:\n|\Z)", re.IGNORECASE | re.MULTILINE)
_MAGIC = re.compile(r"(?:#!.*|#cloud-config[ \t]*)(?:\n|\Z)")
_COMMENT = re.compile(r"\s*#(?!!|cloud-config$)")
#: Two addresses without a comma between them would be one member that nothing ever matches.
_ADDRESSES = re.compile(r"(?:[0-9a-f]{2}[:-]?){5}[0-9a-f]{2}\s+\S", re.IGNORECASE)

_VERBS = "want extends, member, match or example"
#: How many characters of a wrong line an error shows.
_SHOWN = 100


def read(data: bytes) -> Head:
    text = _decode(data)
    control = _control(text) if _CONTROL.search(text) else Control()
    # Lines of control are emptied, not removed: what is wrong further down keeps its number.
    served = _CONTROL.sub("\n", text)
    if OPEN not in served:
        return Head(control, False)
    Template.parse(served)
    return Head(control, True)


def compose(layers: Sequence[bytes]) -> bytes | Template:
    text = _laid([_decode(each) for each in layers])
    return Template.parse(text) if OPEN in text else text.encode("utf-8", "surrogateescape")


def values(data: bytes) -> list[Value]:
    text = data.decode("utf-8-sig", "backslashreplace")
    lines = [line.rstrip() for line in _CONTROL.sub("", text).split("\n")]
    return [Value("", line) for line in lines if line and not _COMMENT.match(line)]


def _decode(data: bytes) -> str:
    """Bytes that are no UTF-8 survive; the mark of Windows' editors does not."""
    return data.decode("utf-8-sig", "surrogateescape")


def _laid(texts: Sequence[str]) -> str:
    if len(texts) == 1 and not _CONTROL.search(texts[0]):
        return texts[0]
    magic, bodies = "", []
    for text in texts:
        body = _CONTROL.sub("", text).replace("\r\n", "\n")
        if body and not body.endswith("\n"):
            body += "\n"
        if first := _MAGIC.match(body):
            magic, body = first[0], body[first.end() :]
        bodies.append(body)
    return "".join([magic, *bodies])


def _control(text: str) -> Control:
    extends: str | None = None
    members: list[str] = []
    match: list[tuple[str, str]] = []
    examples: list[Pairs] = []
    for found in _CONTROL.finditer(text):
        verb, rest = [*found[1].split(None, 1), "", ""][:2]
        verb, rest = verb.lower(), rest.strip()
        try:
            if verb == "extends":
                if extends is not None:
                    raise MalformedDocument(f"extends: want one group, and {extends!r} is one")
                extends = rest
                Control.of_pairs(extends, (), ())
            elif verb in ("member", "members"):
                members += _members(rest)
            elif verb == "match":
                pairs = _pairs(verb, rest)
                Control.of_pairs(None, (), pairs)
                match += pairs
            elif verb == "example":
                examples.append(tuple(_pairs(verb, rest)))
            else:
                raise MalformedDocument(f"answer: {_VERBS}, not {verb[:_SHOWN]!r}")
        except MalformedDocument as e:
            line = text.count("\n", 0, found.start()) + 1
            raise MalformedDocument(f"line {line}: {e}") from None
    return Control.of_pairs(extends, members, match, examples)


def _members(rest: str) -> list[str]:
    members = [each.strip() for each in rest.split(",") if each.strip()]
    if not members or any(_ADDRESSES.match(each) for each in members):
        raise MalformedDocument(f"member: want identities, commas between, not {rest[:_SHOWN]!r}")
    return members


def _pairs(verb: str, rest: str) -> list[tuple[str, str]]:
    pairs = [each.partition("=") for each in rest.split()]
    if not pairs or not all(label and equals for label, equals, _ in pairs):
        raise MalformedDocument(f"{verb}: want fact=text, blanks left out, not {rest[:_SHOWN]!r}")
    return [(label, value) for label, _, value in pairs]
