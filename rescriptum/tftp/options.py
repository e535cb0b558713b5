"""
What of a request's options is granted: RFC 2347 to 2349, RFC 7440.

An option out of its range is left out of the answer, which RFC 2347 makes a refusal; one that is
too large is granted smaller (W114). Nothing is ever added or enlarged (W103, W112).
"""

from collections.abc import Callable

from attrs import frozen

from .wire import DEFAULT_BLKSIZE, MIN_BLKSIZE, OptionAcknowledgement, Options, digits, printable

#: What IPv4 or IPv6, UDP and TFTP put around a block.
OVERHEAD = {4: 20 + 8 + 4, 6: 40 + 8 + 4}


@frozen
class Caps:
    """
    The most that is granted.

    :ivar blksize: in bytes; 1468 fills an Ethernet frame (W113).
    :ivar windowsize: in blocks (W111).
    :ivar window_bytes: what is sent at once at most: the rings of clients' cards are small.
    """

    blksize: int = 1468
    windowsize: int = 64
    window_bytes: int = 256 * 1024


@frozen
class Negotiated:
    """
    How a transfer will go.

    :ivar timeout: seconds between retransmissions, where the client chose them.
    :ivar granted: the options to acknowledge, in the order asked; none: no OACK at all (W106).
    """

    blksize: int = DEFAULT_BLKSIZE
    windowsize: int = 1
    timeout: int | None = None
    granted: Options = ()

    @property
    def acknowledgement(self) -> OptionAcknowledgement | None:
        return OptionAcknowledgement(self.granted) if self.granted else None

    @property
    def sized(self) -> bool:
        """Whether the client asked how large the file is."""
        return any(name == b"tsize" for name, _ in self.granted)


@frozen
class _Offer:
    """
    What can be given.

    :ivar blksize: bytes of a block at most, the path considered.
    """

    size: int
    blksize: int
    windowsize: int


def _blksize(asked: int, offer: _Offer) -> int | None:
    return min(asked, offer.blksize) if asked >= MIN_BLKSIZE else None


def _tsize(_asked: int, offer: _Offer) -> int | None:
    return offer.size  # exact: PXELINUX and UEFI allocate by it (W107)


def _timeout(asked: int, _offer: _Offer) -> int | None:
    return asked if 1 <= asked <= 255 else None  # another value ends it for edk2 (W109)


def _windowsize(asked: int, offer: _Offer) -> int | None:
    return min(asked, offer.windowsize) if asked else None


#: Every option that is understood: how many digits its value may have, and what is given for it.
OPTIONS: dict[bytes, tuple[int, Callable[[int, _Offer], int | None]]] = {
    b"blksize": (5, _blksize),
    b"tsize": (20, _tsize),
    b"timeout": (3, _timeout),
    b"windowsize": (5, _windowsize),
}


def negotiate(options: Options, size: int, caps: Caps, mtu: int, version: int) -> Negotiated:
    """
    :param size: of the file, in bytes.
    :param mtu: of the way to the client, in bytes (W113).
    :param version: of IP, 4 or 6.
    """
    fitting = max(MIN_BLKSIZE, min(caps.blksize, mtu - OVERHEAD[version]))
    offer = _Offer(size, fitting, caps.windowsize)
    granted: dict[bytes, int] = {}
    for name, value in options:
        if name not in OPTIONS or name in granted:
            continue
        longest, grant = OPTIONS[name]
        asked = digits(value, longest)
        given = None if asked is None else grant(asked, offer)
        if given is not None:
            granted[name] = given
    blksize = granted.get(b"blksize", DEFAULT_BLKSIZE)
    if b"windowsize" in granted:  # last: it depends on the block size, wherever that stood
        most = max(1, caps.window_bytes // (blksize + 4))
        granted[b"windowsize"] = min(granted[b"windowsize"], most)
    return Negotiated(
        blksize,
        granted.get(b"windowsize", 1),
        granted.get(b"timeout"),
        tuple((name, b"%d" % value) for name, value in granted.items()),
    )


def described(options: Options) -> str:
    """``blksize=1468 tsize=0``: as they came, fit for a log line."""
    return " ".join(f"{printable(name, 32)}={printable(value, 32)}" for name, value in options[:8])
