"""
A request that was kept: what its two files are called and say, so that it can be asked again.

``NAME.body`` holds the body as it came, ``NAME.meta`` the rest, a ``key: value`` a line.
"""

import re
from datetime import UTC, datetime
from typing import Self

from attrs import frozen

from ..errors import MalformedRequest
from ..values import printable

BODY, META = ".body", ".meta"
_NAME = re.compile(r"[0-9]{8}T[0-9]{6}Z-[0-9A-Za-z.-]+-([0-9]{4,9})")
_NOT_IN_A_NAME = re.compile(r"[^0-9A-Za-z.]+")
_TARGET = re.compile(r"/[!-~]*")
_METHOD = re.compile(r"[!-~]{1,32}")
_MEDIA_TYPE = re.compile(r"[ -~]{1,128}")


@frozen
class Captured:
    """
    One request and what became of it.

    :ivar time: Unix time, in whole seconds.
    :ivar peer: address and port of who asked.
    :ivar target: path and query as sent, undecoded.
    :ivar media_type: what the body was said to be; empty where nothing was said.
    :ivar size: of the body, in bytes.
    :ivar outcome: what the log says of it: ``200 format=toml machine=… group=…``, or ``404``.
    """

    time: int
    peer: tuple[str, int]
    method: str
    target: str
    media_type: str
    size: int
    outcome: str

    def name(self, number: int) -> str:
        """:returns: of its two files, without ``.body`` or ``.meta``."""
        stamp = datetime.fromtimestamp(self.time, UTC).strftime("%Y%m%dT%H%M%SZ")
        return f"{stamp}-{_NOT_IN_A_NAME.sub('-', self.peer[0]) or '-'}-{number:04}"

    def meta(self) -> str:
        """:returns: what ``.meta`` says; :meth:`parse` reads it."""
        host, port = self.peer
        moment = datetime.fromtimestamp(self.time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        lines = [
            f"time: {moment}",
            f"peer: [{host}]:{port}" if ":" in host else f"peer: {host}:{port}",
            f"request: {self.method} {self.target}",
            f"body-bytes: {self.size}",
            f"outcome: {printable(self.outcome)}",
        ]
        if _MEDIA_TYPE.fullmatch(self.media_type):
            lines.insert(3, f"content-type: {self.media_type}")
        return "".join(f"{each}\n" for each in lines)

    @classmethod
    def parse(cls, text: str) -> Self:
        """
        :param text: of a ``.meta``; keys that are none of ours are not looked at.
        :raises MalformedRequest: naming the key and what would be right.
        """
        lines = [line.partition(":") for line in text.splitlines() if line.strip()]
        said = {key.strip(): value.strip() for key, _, value in lines}
        method, _, target = _wanted(said, "request", "METHOD /PATH?QUERY").partition(" ")
        if not (_METHOD.fullmatch(method) and _TARGET.fullmatch(target)):
            raise MalformedRequest(f"request: want METHOD /PATH?QUERY, not {said['request']!r}")
        host, colon, port = _wanted(said, "peer", "ADDRESS:PORT").rpartition(":")
        if not colon or not _number(port):
            raise MalformedRequest(f"peer: want ADDRESS:PORT, not {said['peer']!r}")
        size, moment = said.get("body-bytes", "0"), said.get("time", "1970-01-01T00:00:00Z")
        if not _number(size):
            raise MalformedRequest(f"body-bytes: want a number, not {size!r}")
        try:
            time = int(datetime.strptime(moment, "%Y-%m-%dT%H:%M:%S%z").timestamp())
        except ValueError:
            raise MalformedRequest(
                f"time: want a time as 2026-11-30T13:40:02Z, not {moment!r}"
            ) from None
        peer = host.removeprefix("[").removesuffix("]"), int(port)
        media_type, outcome = said.get("content-type", ""), said.get("outcome", "")
        return cls(time, peer, method, target, media_type, int(size), outcome)


def number_of(filename: str) -> int | None:
    """:returns: of the capture whose body a file is; None for any other file."""
    match = _NAME.fullmatch(filename.removesuffix(BODY)) if filename.endswith(BODY) else None
    return int(match[1]) if match is not None else None


def _wanted(said: dict[str, str], key: str, what: str) -> str:
    if key not in said:
        raise MalformedRequest(f"{key}: missing; want {what}")
    return said[key]


def _number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 12
