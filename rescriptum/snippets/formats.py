"""Which DHCP servers there are words for, and under which names."""

from collections.abc import Callable

from attrs import frozen

from ..errors import NotFound, Refused
from . import dnsmasq, isc, kea, mikrotik, opnsense, pfsense, powershell, unifi
from .handoff import Handoff


@frozen
class Format:
    """
    One DHCP server's words.

    :ivar bios: what it sends BIOS machines for: it can tell iPXE from firmware, or not.
    :ivar v6: whether it can also say it in DHCPv6.
    :ivar server: for people.
    """

    name: str
    server: str
    write: Callable[[Handoff], str]
    bios: str
    synonyms: tuple[str, ...] = ()
    v6: bool = False

    def render(self, handoff: Handoff) -> str:
        """
        :raises Refused: where there are no words for it: DHCPv6, mostly.
        """
        if handoff.v6 and handoff.one_loader:
            raise Refused("--one-loader is for BIOS machines, and those have no DHCPv6")
        if handoff.v6 and not self.v6:
            raise Refused(
                f"no DHCPv6 lines are known for {self.server}; "
                "give an IPv4 address with --host, or use dnsmasq, isc or kea"
            )
        return self.write(handoff)


FORMATS = (
    Format("dnsmasq", "dnsmasq", dnsmasq.render, dnsmasq.BIOS, v6=True),
    Format("isc", "ISC dhcpd", isc.render, isc.BIOS, ("dhcpd",), v6=True),
    Format("kea", "Kea", kea.render, kea.BIOS, v6=True),
    Format("powershell", "Windows Server", powershell.render, powershell.BIOS, ("windows",)),
    Format("pfsense", "pfSense", pfsense.render, pfsense.BIOS),
    Format("opnsense", "OPNsense", opnsense.render, opnsense.BIOS, v6=True),
    Format("mikrotik", "RouterOS", mikrotik.render, mikrotik.BIOS, ("routeros",)),
    Format("unifi", "UniFi", unifi.render, unifi.BIOS),
)

NAMES = tuple(name for each in FORMATS for name in (each.name, *each.synonyms))

#: Names that are understood and have no answer, each with the reason.
_REFUSED = {
    "netsh": "netsh cannot make DHCP policies, which architectures need; use powershell",
}


def resolve(name: str) -> Format:
    """
    :param name: one of ``NAMES``, in any case.
    :raises Refused: for a server that cannot do it, with the reason.
    :raises NotFound: for any other name, with those that there are.
    """
    asked = name.lower()
    if (reason := _REFUSED.get(asked)) is not None:
        raise Refused(reason)
    for each in FORMATS:
        if asked in (each.name, *each.synonyms):
            return each
    raise NotFound(f"no such format: {name}; there are {', '.join(NAMES)}")
