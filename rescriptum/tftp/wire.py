"""TFTP datagrams as values: RFC 1350, and RFC 2347 for options."""

import struct
from enum import IntEnum
from itertools import chain
from typing import ClassVar, Self

from attrs import frozen

from ..errors import MalformedDatagram

#: RFC 2348.
MIN_BLKSIZE, DEFAULT_BLKSIZE, MAX_BLKSIZE = 8, 512, 65464

Options = tuple[tuple[bytes, bytes], ...]


class ErrorCode(IntEnum):
    """RFC 1350 appendix I, RFC 2347 section 5."""

    UNDEFINED = 0
    NOT_FOUND = 1
    ACCESS_VIOLATION = 2
    DISK_FULL = 3
    ILLEGAL_OPERATION = 4
    UNKNOWN_TRANSFER = 5
    FILE_EXISTS = 6
    NO_SUCH_USER = 7
    OPTION_REFUSED = 8


@frozen
class _Request:
    """
    A client names a file.

    :ivar mode: lower-cased: it compares without regard to case (W108).
    :ivar options: ``(name, value)`` pairs in the order sent, names lower-cased.
    """

    opcode: ClassVar[int]

    filename: bytes
    mode: bytes = b"octet"
    options: Options = ()

    @classmethod
    def decode(cls, body: bytes) -> Self:
        """
        A missing last NUL, an odd trailing token and padding are let pass (W117).

        :raises MalformedDatagram: unless there are a name and a mode.
        """
        fields = _strings(body)
        if len(fields) < 2 or not fields[0] or not fields[1]:
            raise MalformedDatagram(f"request of {len(body)} bytes without name or mode")
        filename, mode, *rest = fields
        return cls(filename, mode.lower(), _pairs(rest))

    def encode(self) -> bytes:
        fields = (self.filename, self.mode, *chain(*self.options))
        return struct.pack("!H", self.opcode) + b"".join(each + b"\0" for each in fields)


@frozen
class ReadRequest(_Request):
    """The client wants to have the file."""

    opcode = 1


@frozen
class WriteRequest(_Request):
    """The client wants to replace the file."""

    opcode = 2


@frozen
class Data:
    """
    One block of the file.

    :ivar number: modulo 65536.
    :ivar payload: shorter than a block only in the last one.
    """

    opcode: ClassVar[int] = 3

    number: int
    payload: bytes = b""

    @classmethod
    def decode(cls, body: bytes) -> Self:
        """
        :raises MalformedDatagram: when there is no number.
        """
        return cls(_number(body), body[2:])

    def encode(self) -> bytes:
        return struct.pack("!HH", self.opcode, self.number) + self.payload


@frozen
class Acknowledgement:
    """
    All blocks up to this one have arrived.

    :ivar number: modulo 65536; 0 also acknowledges the options.
    """

    opcode: ClassVar[int] = 4

    number: int

    @classmethod
    def decode(cls, body: bytes) -> Self:
        """
        :raises MalformedDatagram: when there is no number.
        """
        return cls(_number(body))

    def encode(self) -> bytes:
        return struct.pack("!HH", self.opcode, self.number)


@frozen
class Error:
    """
    The transfer is over; nobody answers this (W127).

    :ivar code: one of :class:`ErrorCode`, or what else a peer made up.
    """

    opcode: ClassVar[int] = 5

    code: int
    text: bytes = b""

    @classmethod
    def decode(cls, body: bytes) -> Self:
        """
        :raises MalformedDatagram: when there is no code.
        """
        return cls(_number(body), body[2:].split(b"\0", 1)[0])

    def encode(self) -> bytes:
        # The NUL is not optional: iPXE prints garbage without (W128).
        return struct.pack("!HH", self.opcode, self.code) + self.text + b"\0"


@frozen
class OptionAcknowledgement:
    """
    What the server accepts of what was asked (RFC 2347).

    :ivar options: as in the request, never one that was not asked (W103).
    """

    opcode: ClassVar[int] = 6

    options: Options

    @classmethod
    def decode(cls, body: bytes) -> Self:
        return cls(_pairs(_strings(body)))

    def encode(self) -> bytes:
        # Nothing follows the last NUL: Cisco's client refuses four zero bytes (W104).
        return struct.pack("!H", self.opcode) + b"".join(
            each + b"\0" for each in chain(*self.options)
        )


Message = ReadRequest | WriteRequest | Data | Acknowledgement | Error | OptionAcknowledgement

KINDS: dict[
    int, type[ReadRequest | WriteRequest | Data | Acknowledgement | Error | OptionAcknowledgement]
] = {
    kind.opcode: kind
    for kind in (ReadRequest, WriteRequest, Data, Acknowledgement, Error, OptionAcknowledgement)
}


def decode(datagram: bytes) -> Message:
    """
    :raises MalformedDatagram: and nothing else, whatever ``datagram`` holds.
    """
    kind = KINDS.get(int.from_bytes(datagram[:2], "big")) if len(datagram) > 1 else None
    if kind is None:
        raise MalformedDatagram(f"opcode {datagram[:2].hex() or 'missing'}, {len(datagram)} bytes")
    return kind.decode(datagram[2:])


def digits(text: bytes, longest: int = 5) -> int | None:
    """:returns: the number, or None unless ``text`` is a few ASCII digits and nothing else."""
    if not 0 < len(text) <= longest or not text.isdigit():
        return None
    return int(text)


def printable(text: bytes, longest: int = 128) -> str:
    """What a stranger wrote, fit for a log line: ASCII without control characters, bounded."""
    shown = text[:longest].decode("ascii", "backslashreplace")
    if not shown.isprintable():
        shown = "".join(each if each.isprintable() else f"\\x{ord(each):02x}" for each in shown)
    return shown + "…" * (len(text) > longest)


def _strings(body: bytes) -> list[bytes]:
    *strings, unfinished = body.split(b"\0")
    return [*strings, unfinished] if unfinished else strings


def _pairs(fields: list[bytes]) -> Options:
    pairs = zip(fields[::2], fields[1::2], strict=False)
    return tuple((name.lower(), value) for name, value in pairs if name)


def _number(body: bytes) -> int:
    if len(body) < 2:
        raise MalformedDatagram(f"no number in {len(body)} bytes")
    return int.from_bytes(body[:2], "big")
