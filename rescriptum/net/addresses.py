"""Which of this host's addresses a machine on the network reaches it by."""

import socket
from ipaddress import ip_address

#: TEST-NET-1: routed like any other address, used by nobody; nothing is sent there.
_ELSEWHERE = ("192.0.2.1", 9)
LOOPBACK = "127.0.0.1"


def derived_host() -> str:
    """
    :returns: the address that the default route leaves from; without a route, the first one that
        the host's name resolves to beyond this host; else loopback.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(_ELSEWHERE)
            return str(probe.getsockname()[0])
        except OSError:
            pass
    return next((each for each in host_addresses() if ":" not in each), LOOPBACK)


def host_addresses() -> tuple[str, ...]:
    """:returns: this host's addresses by its own name, without loopback and link-local ones."""
    try:
        found = socket.getaddrinfo(socket.gethostname(), None, type=socket.SOCK_DGRAM)
    except OSError:
        return ()
    texts = dict.fromkeys(str(each[4][0]).partition("%")[0] for each in found)
    addresses = [(text, ip_address(text)) for text in texts]
    return tuple(text for text, it in addresses if not it.is_loopback and not it.is_link_local)


def bracketed(host: str) -> str:
    """:returns: ``host`` as it stands in a URL (W089)."""
    return f"[{host}]" if ":" in host else host
