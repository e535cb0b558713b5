"""Cached images as values, and what stands beside each on the disk."""

import json
from pathlib import Path
from typing import Final, Self

from attrs import evolve, field, frozen

from ..errors import Malformed
from ..values import Content, Extent

#: Bytes of a sidecar that are read.
LONGEST_SIDECAR: Final = 16 * 1024
#: The largest whole number that every JSON reader agrees on: a time in ns fits for 285 years.
_LARGEST: Final = 2**63 - 1


@frozen
class CachedImage:
    """
    A file whose name is what its bytes hash to.

    :ivar digest: SHA-256 in hex.
    :ivar version: of the file, as :attr:`rescriptum.values.Content.version`.
    :ivar used: Unix time of its last use.
    :ivar url: where it came from; there may be a secret in it.
    """

    digest: str
    version: tuple[int, int, int, int]
    used: int
    url: str = field(default="", repr=False)

    @property
    def size(self) -> int:
        return self.version[2]

    def content(self, directory: Path) -> Content:
        """:returns: what is sent of it; its ETag is the digest."""
        extents = (Extent(0, self.size),) if self.size else ()
        modified = self.version[3] // 10**9
        return Content(
            directory / self.digest, extents, self.version, digest=self.digest, modified=modified
        )

    def sidecar(self) -> "Sidecar":
        return Sidecar(self.url, self.used, self.size, self.version[3])

    def used_at(self, now: int) -> Self:
        return evolve(self, used=max(now, self.used))


@frozen
class Sidecar:
    """
    What is remembered of an image.

    :ivar size: and ``modified``, in ns: of the file when its digest was found right. One that
        differs has to be verified before it is served again.
    """

    url: str = field(repr=False)
    used: int
    size: int
    modified: int

    def render(self) -> bytes:
        members = {
            "url": self.url,
            "used": self.used,
            "size": self.size,
            "modified_ns": self.modified,
        }
        return json.dumps(members, indent=1).encode("ascii") + b"\n"

    @classmethod
    def parse(cls, data: bytes) -> Self:
        """:raises Malformed: and nothing else, whatever ``data`` holds."""
        try:
            found = json.loads(data.decode("utf-8"))
        except (ValueError, RecursionError):
            raise Malformed("not JSON") from None
        if type(found) is not dict:
            raise Malformed("not an object")
        url = found.get("url")
        used, size, modified = (_number(found.get(e)) for e in ("used", "size", "modified_ns"))
        if type(url) is not str or used is None or size is None or modified is None:
            raise Malformed("url, used, size and modified_ns: a text and three whole numbers")
        return cls(url, used, size, modified)


def _number(value: object) -> int | None:
    return value if type(value) is int and 0 <= value <= _LARGEST else None
