"""Where a BMC is, as people and machines write it."""

import re
from ipaddress import IPv6Address, ip_address
from typing import Final

#: A host, for patterns: an address in brackets, or a name. What resolvers fail on does not get to
#: them: an empty label, or one of more than 63 characters.
HOST: Final = (
    r"\[[0-9A-Fa-f:.]{2,45}\]"
    r"|(?=[^:]{1,254}(?::|$))[A-Za-z0-9_][A-Za-z0-9_-]{0,62}(?:\.[A-Za-z0-9_-]{1,63})*\.?"
)
_PLACE: Final = re.compile(r"(\[[^\]]*\]|[^:]*)(?::0*([0-9]+))?", re.ASCII)
#: Ports that go without saying: of Redfish, and of IPMI.
_UNSAID: Final = ("443", "623")


def place(address: str) -> str:
    """
    :param address: of a BMC: host, or host and port; or whatever a hosted driver calls one.
    :returns: the same text for each spelling of one host and port; to compare, not to connect to.
        The ports of Redfish and IPMI are left out: a machine that has both has one power.
    """
    text = address.strip().lower()
    found = _PLACE.fullmatch(text)
    host, port = (found[1], found[2] or "") if found else (text, "")
    host = host.removeprefix("[").removesuffix("]").rstrip(".")
    try:
        literal = ip_address(host)
    except ValueError:
        pass
    else:
        mapped = literal.ipv4_mapped if isinstance(literal, IPv6Address) else None
        host = str(mapped or literal)
    return host if not port or port in _UNSAID else f"{host} {port}"
