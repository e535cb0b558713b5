"""Whether a client is still there: asked of the kernel, since one that was cut off says nothing."""

import socket
from contextlib import suppress
from typing import Final

#: Seconds without a sign of life after which a client is gone.
SILENCE: Final = 20
#: Seconds between two questions, where nothing else is under way.
_BETWEEN: Final = 5
#: Linux has all of them; where one is missing, the kernel keeps to its own patience there.
_IDLE: int | None = getattr(socket, "TCP_KEEPIDLE", None)
_INTERVAL: int | None = getattr(socket, "TCP_KEEPINTVL", None)
_UNCONFIRMED: int | None = getattr(socket, "TCP_USER_TIMEOUT", None)


def watch(transport: object, watched: bool) -> None:
    """
    Have the kernel reset a connection whose client confirms nothing for :data:`SILENCE` seconds.

    :param transport: of a TCP socket, or of TLS over one; of any other nothing is asked.
    :param watched: False: as patient as any connection again.
    """
    found = getattr(transport, "socket", None)  # TLS passes on what it does not have itself
    if not isinstance(found, socket.socket):
        return
    options = [(_UNCONFIRMED, SILENCE * 1000 if watched else 0)]
    if watched:
        options += [(_IDLE, SILENCE), (_INTERVAL, _BETWEEN)]
    with suppress(OSError):  # it has just gone, and the transport is about to be told
        found.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, watched)
        for option, value in options:
            if option is not None:
                found.setsockopt(socket.IPPROTO_TCP, option, value)
