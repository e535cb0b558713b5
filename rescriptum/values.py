"""Values that every room uses: addresses of machines and listeners, bytes on a disk."""

import hmac
import re
from enum import Enum
from functools import cached_property
from ipaddress import ip_address
from pathlib import Path
from typing import AnyStr, Self

from attrs import field, frozen

OCTET_STREAM = "application/octet-stream"


class StoreKind(Enum):
    """What keeps the answer set: how ``RESCRIPTUM_STORE`` and the stores themselves call it."""

    FILES = "files"
    SQLITE = "sqlite"


def printable(text: str) -> str:
    """:returns: one line for terminals and logs, whatever names and documents are written with."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)


def without_beginning(text: AnyStr, secret: AnyStr, least: int, instead: AnyStr) -> AnyStr:
    """
    :param text: that was cut somewhere, perhaps within ``secret``.
    :param least: characters of it that are worth hiding.
    :returns: the same without a beginning of ``secret`` at its end.
    """
    at = text.find(secret[:least], max(0, len(text) - len(secret) + 1))
    while at >= 0:
        if len(secret) > least and secret.startswith(text[at:]):
            return text[:at] + instead
        at = text.find(secret[:least], at + 1)
    return text


@frozen
class Problem:
    """
    Something an operator has to mend.

    :ivar source: where it is: a variable, a file and line, an image's id.
    :ivar text: what is wrong and what would be right.
    """

    source: str
    text: str

    def __str__(self) -> str:
        return printable(f"{self.source}: {self.text}")


_MAC_TEXT = re.compile(r"(?:[0-9a-f]{2}([:-]?))(?:[0-9a-f]{2}\1){4}[0-9a-f]{2}", re.I)


@frozen(order=True)
class MAC:
    """
    The hardware address of a network interface, one value for its four spellings (W080).

    :ivar bare: twelve lower-case hexadecimal digits.
    """

    bare: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """
        :raises ValueError: unless ``text`` is six octets, with colons, with hyphens or bare.
        """
        if not _MAC_TEXT.fullmatch(text):
            raise ValueError(f"not a MAC address: {text!r}")
        return cls(text.lower().replace(":", "").replace("-", ""))

    def joined(self, separator: str) -> str:
        bare = self.bare
        return separator.join((bare[:2], bare[2:4], bare[4:6], bare[6:8], bare[8:10], bare[10:]))

    def __str__(self) -> str:
        return self.joined(":")


@frozen
class Listen:
    """
    Where a listener binds.

    :ivar host: an IPv4 or IPv6 address, without brackets.
    :ivar port: 0 for any free one.
    """

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """
        :raises ValueError: unless ``text`` is ``ADDRESS:PORT`` or ``[IPv6]:PORT``.
        """
        host, colon, port = text.rpartition(":")
        if host.startswith("[") and host.endswith("]"):
            host = host[1:-1]
            v6 = True
        else:
            v6 = False
        if not colon or not port.isascii() or not port.isdigit() or int(port) > 65535:
            raise ValueError(f"not ADDRESS:PORT: {text!r}")
        try:
            address = ip_address(host)
        except ValueError:
            raise ValueError(f"not an IP address before the port: {text!r}") from None
        if (address.version == 6) != v6:
            raise ValueError(f"an IPv6 address needs brackets, an IPv4 address none: {text!r}")
        return cls(str(address), int(port))

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@frozen(eq=False, repr=False)
class Secret:
    """
    Text that nobody is shown: logs, listings and tracebacks print ``Secret(…)``.

    There is no ``==`` on what it holds: :meth:`matches` compares in constant time.
    """

    _text: str = field()

    def matches(self, presented: str) -> bool:
        """:param presented: as a stranger sent it, whatever it holds."""
        own, other = (each.encode("utf-8", "surrogatepass") for each in (self._text, presented))
        return hmac.compare_digest(own, other)

    def __len__(self) -> int:
        return len(self._text)

    def reveal(self) -> str:
        """:returns: what it holds: for whoever hands it to its owner, and for nobody's log."""
        return self._text

    def __repr__(self) -> str:
        return "Secret(…)"


@frozen
class Extent:
    """
    A run of bytes within a file.

    :ivar offset: of its first byte.
    :ivar length: in bytes.
    """

    offset: int
    length: int


@frozen
class Content:
    """
    Bytes on a disk: a whole file, or a file inside an image.

    :ivar path: the file that holds them.
    :ivar extents: which of its bytes, in order.
    :ivar version: what changes when the file is replaced (device, inode, size, mtime in ns).
    :ivar media_type: exactly what ``Content-Type`` says.
    :ivar digest: SHA-256 in hexadecimal, where one is recorded for these very bytes.
    :ivar modified: Unix time in whole seconds.
    """

    path: Path
    extents: tuple[Extent, ...]
    version: tuple[int, int, int, int]
    media_type: str = OCTET_STREAM
    digest: str | None = None
    modified: int = 0

    # Asked for with every range of an image, which is read by tens of thousands of them (W163).
    @cached_property
    def size(self) -> int:
        return sum(each.length for each in self.extents)

    @cached_property
    def etag(self) -> str:
        """Strong and quoted, as edk2 wants it (W157)."""
        if self.digest is not None:
            return f'"{self.digest}"'
        _, _, size, mtime = self.version
        at = self.extents[0].offset if self.extents else 0
        return f'"{size:x}-{mtime:x}-{at:x}-{self.size:x}"'


@frozen
class Generated:
    """
    Bytes made up on the spot: a script, a configuration for a loader.

    :ivar media_type: exactly what ``Content-Type`` says.
    """

    data: bytes
    media_type: str = "text/plain; charset=us-ascii"

    @property
    def size(self) -> int:
        return len(self.data)
