"""The power of a machine by Wake-on-LAN."""

import os
import socket
from typing import Final

from ...bmc.driver import Asked
from ...contract.bmc import BmcRefusal, PowerAction, PowerState, SetPower
from ...power.controllers import Wake
from ...power.magic import packet

#: Nobody says whether one arrived.
_COPIES: Final = 3


class WakeDriver:
    """Satisfies :class:`rescriptum.bmc.driver.Driver`."""

    def __init__(self, wake: Wake) -> None:
        self._wake = wake

    async def run(self, asked: Asked) -> dict[str, object]:
        """:raises BmcRefusal: for everything but power on, and when nothing can be sent."""
        if asked.args != SetPower(PowerAction.ON):
            raise BmcRefusal("unsupported-operation", "Wake-on-LAN powers on, and nothing else")
        wake = self._wake
        try:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
                sender.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
                if wake.interface:
                    name = wake.interface.encode()
                    sender.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, name)
                for _ in range(_COPIES):
                    sender.sendto(packet(wake.mac), (wake.broadcast, wake.port))
        except OSError as e:
            where = f" by {wake.interface}" if wake.interface else ""
            why = os.strerror(e.errno) if e.errno else str(e)
            raise BmcRefusal("unreachable", f"{wake.broadcast}{where}: {why}") from None
        return {"power": PowerState.UNKNOWN.value}
