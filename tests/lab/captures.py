"""What crossed the bridge: enough of pcap, DHCP, TFTP and HTTP to say who asked for what."""

import re
import struct
from collections.abc import Iterator
from pathlib import Path

from attrs import field, frozen

DISCOVER, OFFER, REQUEST, ACK = 1, 2, 3, 5


def _dotted(data: bytes) -> str:
    return ".".join(map(str, data))


def _text(data: bytes) -> str:
    return data.split(b"\0", 1)[0].decode("ascii", "replace")


@frozen
class DHCPMessage:
    """
    :ivar at: when it was captured: Unix time.
    :ivar sender: its address, ``0.0.0.0`` of a client without one.
    :ivar kind: option 53.
    :ivar mac: of the client, with colons; ``xid`` of its question.
    :ivar relay: ``giaddr``; ``next_server`` ``siaddr``.
    :ivar file: the BOOTP field beside option 67.
    """

    at: float
    sender: str
    kind: int
    mac: str
    xid: int
    relay: str
    next_server: str
    file: str
    options: dict[int, bytes] = field(eq=False)

    def option(self, code: int) -> str:
        return _text(self.options.get(code, b""))


@frozen
class TFTPRequest:
    """
    :ivar options: as the client sent them, ``blksize=1468 …``.
    """

    client: str
    server: str
    name: str
    options: str


@frozen
class HTTPRequest:
    """One request line, where a segment begins with it."""

    client: str
    server: str
    method: str
    target: str
    agent: str


Message = DHCPMessage | TFTPRequest | HTTPRequest

_REQUEST = re.compile(rb"(GET|HEAD|POST) (\S+) HTTP/1\.[01]\r\n")
_AGENT = re.compile(rb"\r\nuser-agent: *([^\r]*)", re.I)


def dhcp_options(data: bytes) -> dict[int, bytes]:
    """:returns: options by code, the parts of one joined (RFC 3396)."""
    options: dict[int, bytes] = {}
    at = 0
    while at < len(data) and data[at] != 255:
        if data[at] == 0:
            at += 1
            continue
        if at + 1 >= len(data):
            break
        code, length = data[at], data[at + 1]
        options[code] = options.get(code, b"") + data[at + 2 : at + 2 + length]
        at += 2 + length
    return options


def dhcp_message(sender: str, data: bytes, at: float = 0.0) -> DHCPMessage:
    """:param data: of a datagram to or from port 67 or 4011, at least 240 bytes."""
    options = dhcp_options(data[240:])
    return DHCPMessage(
        at,
        sender,
        options.get(53, b"\0")[0],
        data[28:34].hex(":"),
        int.from_bytes(data[4:8], "big"),
        _dotted(data[24:28]),
        _dotted(data[20:24]),
        _text(data[108:236]),
        options,
    )


def _frames(path: Path) -> Iterator[tuple[float, bytes]]:
    data = path.read_bytes()
    order = "<" if data[:4] == b"\xd4\xc3\xb2\xa1" else ">"
    at = 24
    while at + 16 <= len(data):
        seconds, microseconds, length = struct.unpack_from(order + "III", data, at)
        # The last frame of a capture that is still written may be cut off.
        yield seconds + microseconds / 1e6, data[at + 16 : at + 16 + length]
        at += 16 + length


def messages(path: Path) -> list[Message]:
    """:returns: the DHCP messages, TFTP requests and HTTP requests of a capture, in order."""
    return [found for at, frame in _frames(path) if (found := _message(at, frame)) is not None]


def _message(at: float, frame: bytes) -> Message | None:
    if frame[12:14] != b"\x08\x00" or len(frame) < 34:
        return None
    packet = frame[14 : 14 + int.from_bytes(frame[16:18], "big")]
    client, server = _dotted(packet[12:16]), _dotted(packet[16:20])
    payload = packet[(packet[0] & 15) * 4 :]
    if packet[9] == 17:
        return _datagram(at, client, server, payload)
    if packet[9] == 6 and len(payload) >= 20:
        body = payload[(payload[12] >> 4) * 4 :]
        if (found := _REQUEST.match(body)) is not None:
            agent = _AGENT.search(body)
            return HTTPRequest(
                client,
                server,
                found[1].decode(),
                found[2].decode("ascii", "replace"),
                agent[1].decode("ascii", "replace") if agent else "",
            )
    return None


def _datagram(at: float, client: str, server: str, payload: bytes) -> Message | None:
    if len(payload) < 8:
        return None
    ports, data = struct.unpack("!HH", payload[:4]), payload[8:]
    if (67 in ports or 4011 in ports) and len(data) >= 240:
        return dhcp_message(client, data, at)
    if ports[1] == 69 and data[:2] == b"\0\1":
        words = [each.decode("ascii", "replace") for each in data[2:].split(b"\0")[:-1]]
        options = zip(words[2::2], words[3::2], strict=False)
        return TFTPRequest(
            client, server, words[0], " ".join(f"{key}={value}" for key, value in options)
        )
    return None
