"""What a switch says of itself and of the port that a cable ends in: IEEE 802.1AB."""

from collections.abc import Iterator
from ipaddress import ip_address
from typing import Final

from attrs import frozen

from ...contract.structure import JSON
from ...errors import Malformed
from ...values import MAC

#: Where it is sent to: by the nearest bridge, by the nearest that is no relay, by the nearest one
#: that a customer sees (802.1AB table 7-1).
GROUPS: Final = tuple(bytes.fromhex(f"0180c20000{last}") for last in ("0e", "03", "00"))
ETHERTYPE: Final = 0x88CC
#: Bytes of a frame; TLVs that are looked at; characters of one text.
LONGEST, MOST, TEXT = 1600, 128, 96
_HEAD: Final = 14
_CHASSIS, _PORT, _TTL, _PORT_DESCRIPTION, _SYSTEM, _DESCRIPTION, _ADDRESS = 1, 2, 3, 4, 5, 6, 8
_ORGANISATION: Final = 127
#: 802.1: the VLAN of frames without a tag (annex D.2.1).
_PORT_VLAN: Final = b"\x00\x80\xc2\x01"
#: Kinds of an identity, in a chassis and in a port: a MAC, an address (tables 8-2 and 8-3).
_MACS: Final = {_CHASSIS: 4, _PORT: 3}
_NETWORKS: Final = {_CHASSIS: 5, _PORT: 4}


@frozen
class Neighbour:
    """
    :ivar chassis: of the switch, and ``port``: its identities. :ivar vlan: 0: it says none.
    :ivar address: by which it is managed.
    """

    chassis: str
    port: str
    port_description: str = ""
    system: str = ""
    description: str = ""
    vlan: int = 0
    address: str = ""

    @property
    def document(self) -> JSON:
        """As it travels."""
        return {
            "chassis": self.chassis,
            "port": self.port,
            "port_description": self.port_description,
            "system": self.system,
            "description": self.description,
            "vlan": self.vlan,
            "address": self.address,
        }


def parsed(frame: bytes) -> Neighbour:
    """
    :param frame: as it comes from the wire.
    :raises Malformed: for any other frame; also for one by which a neighbour says goodbye.
    """
    if len(frame) < _HEAD or len(frame) > LONGEST or frame[:6] not in GROUPS:
        raise Malformed("not an LLDP frame")
    if int.from_bytes(frame[12:14], "big") != ETHERTYPE:
        raise Malformed("not an LLDP frame")
    said: dict[int, bytes] = {}
    vlan = 0
    order = []
    for kind, value in _elements(frame[_HEAD:]):
        order.append(kind)
        if kind == _ORGANISATION:
            if value.startswith(_PORT_VLAN) and len(value) == 6:
                vlan = int.from_bytes(value[4:], "big")
        else:
            said.setdefault(kind, value)
    if order[:3] != [_CHASSIS, _PORT, _TTL] or len(said[_TTL]) < 2:
        raise Malformed("an LLDP frame without what each has to say first")
    if said[_TTL][:2] == b"\0\0":
        raise Malformed("an LLDP frame of a neighbour that goes")
    return Neighbour(
        _identity(_CHASSIS, said[_CHASSIS]),
        _identity(_PORT, said[_PORT]),
        _text(said.get(_PORT_DESCRIPTION, b"")),
        _text(said.get(_SYSTEM, b"")),
        _text(said.get(_DESCRIPTION, b"")),
        vlan,
        _managed(said.get(_ADDRESS, b"")),
    )


def _elements(data: bytes) -> Iterator[tuple[int, bytes]]:
    """:raises Malformed: for one that ends behind the frame, or too many of them."""
    at = 0
    for _ in range(MOST):
        head = int.from_bytes(data[at : at + 2], "big")
        kind, length = head >> 9, head & 0x1FF
        if len(data) < at + 2 + length or len(data) < at + 2:
            raise Malformed("an LLDP frame that ends early")
        if kind == 0:
            return
        yield kind, data[at + 2 : at + 2 + length]
        at += 2 + length
    raise Malformed("an LLDP frame of too many parts")


def _identity(of: int, value: bytes) -> str:
    if len(value) < 2:
        raise Malformed("an LLDP frame without an identity")
    kind, rest = value[0], value[1:]
    if kind == _MACS[of] and len(rest) == 6:
        return str(MAC.parse(rest.hex(":")))
    if kind == _NETWORKS[of]:
        return _network(rest) or rest.hex()[:TEXT]
    return _text(rest)


def _managed(value: bytes) -> str:
    """A length, which counts the family, and the address (section 8.5.9)."""
    return _network(value[1 : 1 + value[0]]) if value else ""


def _network(value: bytes) -> str:
    """:param value: the family of an address, by IANA, and the address; empty for another one."""
    if (value[:1], len(value)) not in ((b"\x01", 5), (b"\x02", 17)):
        return ""
    return str(ip_address(value[1:]))


def _text(value: bytes) -> str:
    shown = value.decode("utf-8", "replace").strip("\0")
    return "".join(each if each.isprintable() else " " for each in shown).strip()[:TEXT]
