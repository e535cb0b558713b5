"""The packet of Wake-on-LAN."""

from typing import Final

from ..values import MAC

#: Times that the address stands in it (AMD, Magic Packet Technology, 1995).
_TIMES: Final = 16


def packet(mac: MAC) -> bytes:
    """:returns: what an interface that sleeps looks for in anything that it receives."""
    return b"\xff" * 6 + bytes.fromhex(mac.bare) * _TIMES
