"""Redfish documents: JSON from a stranger, which can do no more than be refused."""

import json
import re
import zlib
from collections.abc import Mapping
from typing import Final
from urllib.parse import quote

from attrs import frozen

from ...contract.bmc import BmcRefusal
from ...values import printable

Document = Mapping[str, object]

#: Bytes of an answer, also once it is unpacked.
LONGEST: Final = 4 * 1024 * 1024
#: Members of a collection that are looked at, and characters of a path or a text out of a document.
MEMBERS, LONGEST_PATH, LONGEST_TEXT = 256, 2048, 512
_AUTHORITY: Final = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*:)?//[^/?#]*")
_LIFTED: Final = "/%:?=&,;@!$'()*+~"


def decoded(body: bytes) -> Document:
    """
    :returns: the object; an empty one for no body at all.
    :raises BmcRefusal: ``bad-response``, and nothing else, whatever ``body`` holds.
    """
    if not body.strip():
        return {}
    try:
        found = json.loads(body)
    except (ValueError, RecursionError) as e:  # UnicodeDecodeError is a ValueError
        raise BmcRefusal("bad-response", "its answer is no JSON") from e
    if not isinstance(found, dict):
        raise BmcRefusal("bad-response", "its answer is JSON, but no object")
    return found


def unpacked(body: bytes, encoding: str) -> bytes:
    """
    :param encoding: the answer's Content-Encoding (W207).
    :raises BmcRefusal: ``bad-response``.
    """
    if encoding.strip().lower() in ("", "identity"):
        return body
    if encoding.strip().lower() not in ("gzip", "x-gzip"):
        raise BmcRefusal("bad-response", "its answer is packed in a way that was not asked for")
    unpacking = zlib.decompressobj(16 + zlib.MAX_WBITS)
    try:
        made = unpacking.decompress(body, LONGEST + 1)
    except zlib.error as e:
        raise BmcRefusal("bad-response", "its answer does not unpack") from e
    if len(made) > LONGEST or not unpacking.eof:
        raise BmcRefusal("bad-response", f"its answer is longer than {LONGEST} bytes, or broken")
    return made


def inner(document: object, *names: str) -> Document:
    """:returns: the object within it, name by name; an empty one where there is none."""
    for name in names:
        document = document.get(name) if isinstance(document, Mapping) else None
    return document if isinstance(document, Mapping) else {}


def text(document: Document, name: str) -> str:
    """:returns: a text, without the space around it, on one line; empty for anything else."""
    found = document.get(name)
    return printable(found.strip()[:LONGEST_TEXT]) if isinstance(found, str) else ""


def number(document: Document, name: str) -> int | float | None:
    """:returns: a number that is one in any JSON reader."""
    found = document.get(name)
    if isinstance(found, bool) or not isinstance(found, int | float):
        return None
    return found if abs(found) <= 2**53 else None


def texts(document: Document, name: str) -> tuple[str, ...] | None:
    """:returns: of a list; None where there is none."""
    found = document.get(name)
    if not isinstance(found, list):
        return None
    return tuple(printable(each[:LONGEST_TEXT]) for each in found[:MEMBERS] if _is_text(each))


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def path_of(url: object) -> str:
    """
    :param url: absolute or not: a BMC may call itself by a name of its own, which leads nowhere or
        elsewhere (W241).
    :returns: its path alone; empty when it has none that could be asked for.
    """
    if not isinstance(url, str) or len(url) > LONGEST_PATH:
        return ""
    path = _AUTHORITY.sub("", url.strip(), count=1).partition("#")[0]
    if not path.startswith("/") or path.startswith("//") or not path.isprintable():
        return ""
    try:
        return quote(path, safe=_LIFTED)
    except UnicodeEncodeError:
        return ""


def link(document: object, *names: str) -> str:
    """:returns: where the object by these names says that it is; empty when it does not."""
    return path_of(inner(document, *names).get("@odata.id"))


@frozen
class Member:
    """
    One of a collection.

    :ivar document: as much of it as the collection shows: often no more than its path.
    """

    path: str
    document: Document

    @property
    def name(self) -> str:
        return self.path.rstrip("/").rpartition("/")[2]


def members(document: Document, name: str = "Members") -> tuple[Member, ...]:
    """
    :returns: :data:`MEMBERS` at the most, each once: of a list, of an object that should have been
        one, or of either within ``Links`` (W200, W201).
    """
    found = document.get(name)
    if found is None:
        found = inner(document, "Links").get(name)
    if isinstance(found, Mapping):
        found = [found] if "@odata.id" in found else list(found.values())
    made: dict[str, Member] = {}
    for each in found[:MEMBERS] if isinstance(found, list) else ():
        holder: Document = {"@odata.id": each} if isinstance(each, str) else inner(each)
        path = link(holder)
        if path:
            made.setdefault(path, Member(path, holder))
    return tuple(made.values())


def joined(base: str, *names: str) -> str:
    """:returns: a path below ``base``."""
    return "/".join((base.rstrip("/"), *names))
