"""Which addresses may be connected to: private ones, by whatever form they are written in."""

from collections.abc import Iterator
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
)
from typing import Final, TypeAlias

from .refusing import Rule

Address: TypeAlias = IPv4Address | IPv6Address
Network: TypeAlias = IPv4Network | IPv6Network

#: RFC 1918, RFC 6598 (CGNAT) and RFC 4193 (unique-local): written down, as ``is_private`` of the
#: standard library has documentation, benchmarks and more, and changes with Python.
_PRIVATE: Final = (
    IPv4Network("10.0.0.0/8"),
    IPv4Network("172.16.0.0/12"),
    IPv4Network("192.168.0.0/16"),
    IPv4Network("100.64.0.0/10"),
    IPv6Network("fc00::/7"),
)
#: The prefix of RFC 6052 section 2.1. Networks may have others: those cannot be told apart, and are
#: private or public as they are.
_NAT64: Final = IPv6Network("64:ff9b::/96")


def parsed(text: str) -> Address | None:
    """:returns: None: it is none, or has a zone."""
    if "%" in text:
        return None
    try:
        return plain(ip_address(text))
    except ValueError:
        return None


def plain(address: Address) -> Address:
    """:returns: the IPv4 address that an IPv4-mapped one is: a socket connects to the same."""
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address


def forms(address: Address) -> tuple[Address, ...]:
    """
    :returns: itself, and every IPv4 address that is in it by NAT64 (RFC 6052), 6to4 (RFC 3056) or
        Teredo (RFC 4380: the server and the client).
    """
    address = plain(address)
    if isinstance(address, IPv4Address):
        return (address,)
    embedded: list[Address] = []
    if address in _NAT64:
        embedded.append(IPv4Address(int(address) & 0xFFFFFFFF))
    if address.sixtofour is not None:
        embedded.append(address.sixtofour)
    embedded += address.teredo or ()
    return (address, *embedded)


def spellings(address: Address) -> Iterator[str]:
    """:returns: each of its forms as the standard library writes it, mapped ones included."""
    for form in forms(address):
        yield str(form)
        if isinstance(form, IPv4Address):
            yield f"::ffff:{form}"  # from Python 3.13 on; before:
            yield f"::ffff:{int(form) >> 16:x}:{int(form) & 0xFFFF:x}"


def wrong(address: Address) -> Rule | None:
    """:returns: the rule that forbids to connect to it; None: it is private."""
    itself, *embedded = forms(address)
    for each in embedded or [itself]:
        rule = _wrong(each)
        if rule is not None:
            return rule
    return None


def _wrong(address: Address) -> Rule | None:
    if address.is_unspecified:
        return Rule.UNSPECIFIED
    if address.is_loopback:
        return Rule.LOOPBACK
    if address.is_link_local:
        return Rule.LINK_LOCAL
    if address.is_multicast:
        return Rule.MULTICAST
    if any(address in each for each in _PRIVATE):
        return None
    return Rule.PUBLIC


def inside(address: Address, networks: tuple[Network, ...]) -> bool:
    """:returns: whether any of its forms is in any of ``networks``, mapped ones included."""
    return any(form in each for form in forms(address) for each in map(_plain_network, networks))


def _plain_network(network: Network) -> Network:
    if isinstance(network, IPv6Network) and network.prefixlen >= 96:
        mapped = network.network_address.ipv4_mapped
        if mapped is not None:
            return IPv4Network((mapped, network.prefixlen - 96))
    return network
