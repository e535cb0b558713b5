"""One read as the client sees it, sans-IO: what ``boot check`` and the tests ask a server with."""

from attrs import define, field, frozen

from ..errors import Malformed, MalformedDatagram, Refused, RescriptumError
from .wire import (
    DEFAULT_BLKSIZE,
    MAX_BLKSIZE,
    MIN_BLKSIZE,
    Acknowledgement,
    Data,
    Error,
    ErrorCode,
    OptionAcknowledgement,
    Options,
    ReadRequest,
    decode,
    digits,
    printable,
)


class RefusedByServer(Refused):
    """
    The server answered with an error of its own.

    :ivar number: TFTP's code for it: 1 is *file not found*.
    :ivar text: its words, printable ASCII.
    """

    code = "refused-by-server"

    def __init__(self, number: int, text: str) -> None:
        super().__init__(f"TFTP error {number}: {text}")
        self.number = number
        self.text = text


class TooLarge(Refused):
    """The file is larger than the caller wants to have."""

    code = "too-large"


@frozen
class Wanted:
    """
    What to ask for.

    :ivar blksize: None: not asked, so 512.
    :ivar windowsize: None: not asked, so 1.
    :ivar tsize: whether to ask for the size.
    :ivar limit: bytes at most.
    """

    name: bytes
    blksize: int | None = None
    windowsize: int | None = None
    tsize: bool = False
    limit: int = 1 << 26

    @property
    def request(self) -> ReadRequest:
        asked: list[tuple[bytes, bytes]] = []
        if self.tsize:
            asked.append((b"tsize", b"0"))
        if self.blksize is not None:
            asked.append((b"blksize", b"%d" % self.blksize))
        if self.windowsize is not None:
            asked.append((b"windowsize", b"%d" % self.windowsize))
        return ReadRequest(self.name, options=tuple(asked))


@frozen
class Turn:
    """
    What to do after a datagram; all of it may be nothing.

    :ivar send: to the server's transfer port.
    :ivar done: all is there.
    :ivar failure: it ends without; what there is to send goes out first.
    """

    send: bytes | None = None
    done: bool = False
    failure: RescriptumError | None = None


@define
class Download:
    """
    The state of one read.

    :ivar options: what the server granted; None before it said.
    :ivar size: what it says of the file's length; None where it does not.
    :ivar last: the datagram to repeat when there is silence.
    """

    wanted: Wanted
    probing: bool = False
    options: Options | None = None
    size: int | None = None
    blksize: int = DEFAULT_BLKSIZE
    windowsize: int = 1
    last: bytes = field(init=False)
    _parts: list[bytes] = field(factory=list, init=False)
    _length: int = field(default=0, init=False)
    _blocks: int = field(default=0, init=False)
    _since: int = field(default=0, init=False)  # blocks since the last acknowledgement
    _gap: bool = field(default=False, init=False)

    def __attrs_post_init__(self) -> None:
        self.last = self.wanted.request.encode()

    @property
    def data(self) -> bytes:
        return b"".join(self._parts)

    @property
    def started(self) -> bool:
        """Whether the server has answered."""
        return self.options is not None

    def received(self, datagram: bytes) -> Turn:
        """What came from the server's transfer port."""
        try:
            message = decode(datagram)
            if isinstance(message, Error):
                text = printable(message.text)
                return Turn(failure=RefusedByServer(message.code, text))
            if isinstance(message, OptionAcknowledgement):
                return self._granted(message)
            if isinstance(message, Data):
                return self._block(message)
        except MalformedDatagram as e:
            return self._broken(ErrorCode.ILLEGAL_OPERATION, e)
        return Turn()

    def _granted(self, message: OptionAcknowledgement) -> Turn:
        if self.started:
            return Turn(self.last) if self._blocks == 0 else Turn()
        asked = dict(self.wanted.request.options)
        for name, value in message.options:
            number = digits(value, 20)
            if name not in asked or number is None:
                return self._bad_option(name, value)
            if name == b"tsize":
                self.size = number
            elif not (MIN_BLKSIZE if name == b"blksize" else 1) <= number <= int(asked[name]):
                return self._bad_option(name, value)
            elif name == b"blksize":
                self.blksize = min(number, MAX_BLKSIZE)
            else:
                self.windowsize = number
        self.options = message.options
        if self.probing:
            # As edk2 ends its probe (W100).
            return Turn(Error(ErrorCode.OPTION_REFUSED, b"size probe").encode(), done=True)
        return self._acknowledge()

    def _block(self, message: Data) -> Turn:
        if not self.started:
            self.options = ()
        if len(message.payload) > self.blksize:
            error = Malformed(f"a block of {len(message.payload)} bytes, {self.blksize} agreed")
            return self._broken(ErrorCode.ILLEGAL_OPERATION, error)
        last = len(message.payload) < self.blksize
        if self.probing:
            self.size = len(message.payload) if last and message.number == 1 else None
            return Turn(Error(ErrorCode.UNDEFINED, b"probe").encode(), done=True)
        ahead = (message.number - self._blocks) & 0xFFFF
        if ahead != 1:
            # Out of order: say once where we are (RFC 7440 section 4); an old one, never.
            if self._gap or not 1 < ahead < 0x8000:
                return Turn()
            self._gap = True
            return self._acknowledge()
        self._gap = False
        self._length += len(message.payload)
        if self._length > self.wanted.limit:
            large = TooLarge(f"more than {self.wanted.limit} bytes")
            return self._broken(ErrorCode.DISK_FULL, large)
        self._parts.append(message.payload)
        self._blocks += 1
        self._since += 1
        if last:
            return Turn(self._acknowledge().send, done=True)
        return self._acknowledge() if self._since >= self.windowsize else Turn()

    def silent(self) -> bytes:
        """:returns: what to send when nothing came for a while."""
        self._gap = False
        return self._acknowledge().send or self.last if self.started else self.last

    def _acknowledge(self) -> Turn:
        self._since = 0
        self.last = Acknowledgement(self._blocks & 0xFFFF).encode()
        return Turn(self.last)

    def _bad_option(self, name: bytes, value: bytes) -> Turn:
        error = Malformed(f"option {printable(name, 32)}={printable(value, 32)} was not asked so")
        return self._broken(ErrorCode.OPTION_REFUSED, error)

    def _broken(self, code: ErrorCode, error: RescriptumError) -> Turn:
        return Turn(Error(code, str(error).encode("ascii", "replace")).encode(), failure=error)
