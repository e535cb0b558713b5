"""Hosts that are BMCs, and every address that their names had: what requests never go to."""

import re
from collections.abc import Collection, Iterable
from functools import cached_property
from ipaddress import ip_address
from typing import Final

from attrs import field, frozen

from ..contract.bounds import many, text
from ..contract.places import HOST

#: Hosts that are remembered, and addresses of each: beyond, what was spoken to last stays.
MOST, ADDRESSES = 2048, 16

_PLACE: Final = re.compile(rf"(?P<host>{HOST})(:[0-9]{{1,5}})?", re.ASCII)


def authority(address: str) -> str:
    """
    :param address: host, or host and port.
    :returns: as it stands in a URL: an IPv6 address in brackets.
    :raises ValueError: when it is neither.
    """
    try:
        found = ip_address(address)
    except ValueError:
        host, port = host_of(address), address.rpartition(":")[2]
        if host is None or (port.isdigit() and ":" in address and not 0 < int(port) < 65536):
            raise ValueError("want HOST or HOST:PORT") from None
        return address
    return f"[{found}]" if found.version == 6 else str(found)


def host_of(address: str) -> str | None:
    """
    :param address: of a BMC: host, or host and port; or what a hosted driver calls one.
    :returns: in one spelling; None: it names no host.
    """
    try:
        return str(ip_address(address))
    except ValueError:
        found = _PLACE.fullmatch(address)
    if found is None:
        return None
    host = found["host"].strip("[]").lower().rstrip(".")
    try:
        return str(ip_address(host))
    except ValueError:
        return None if ":" in host else host or None


def host_within(address: str) -> str | None:
    """
    :param address: of a BMC, as a hosted driver has it: also a URL, or with a user or a path.
    :returns: its host, in one spelling; None: it names none.
    """
    rest = address.partition("://")[2] if "://" in address else address
    return host_of(re.split(r"[/?#]", rest.lstrip("/"), maxsplit=1)[0].rpartition("@")[2])


@frozen
class Host:
    """One host. :ivar addresses: the one seen last is the last."""

    host: str = field(validator=text(255))
    addresses: tuple[str, ...] = field(validator=many(ADDRESSES))


@frozen(slots=False)
class Hosts:
    """
    All of them. A value: each change is another one.

    :ivar hosts: the one spoken to last is the last.
    """

    hosts: tuple[Host, ...] = field(default=(), validator=many(MOST))

    @cached_property
    def known(self) -> Collection[str]:
        """Names and addresses."""
        return frozenset(text for each in self.hosts for text in (each.host, *each.addresses))

    def __contains__(self, host: object) -> bool:
        return host in self.known

    def with_(self, host: str, addresses: Iterable[str]) -> "Hosts":
        """
        :param addresses: that its name has now; those that it had stay.
        :returns: the very same where that is nothing new.
        """
        before = next((each for each in self.hosts if each.host == host), None)
        had = before.addresses if before is not None else ()
        now = dict.fromkeys(addresses)
        kept = (*(each for each in had if each not in now), *now)[-ADDRESSES:]
        if before is not None and set(kept) == set(had):
            return self
        others = tuple(each for each in self.hosts if each.host != host)
        return Hosts((*others, Host(host, kept))[-MOST:])
