"""THE rule of ``site.httpProxy``: which requests a site agent makes, and where they connect to."""

import re
from collections.abc import Collection, Sequence
from typing import Final

from attrs import frozen

from ..contract.proxying import HttpProxyRequest
from ..contract.specs import ProxyTarget
from . import addresses, url
from .addresses import Address, Network
from .refusing import Denied, Rule
from .url import Target

METHODS: Final = ("GET", "POST", "PUT", "DELETE")
#: Addresses of one name: each of them is judged.
MOST_ADDRESSES: Final = 64
_TOKEN: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}", re.ASCII)
_VALUE: Final = re.compile(r"(?:[!-~](?:[ \t!-~]*[!-~])?)?", re.ASCII)
#: What the connection says of itself (RFC 9110 section 7.6.1), and what would say where the request
#: goes, or what it asks, a second time.
_OWN: Final = frozenset(
    (
        *("host", "connection", "keep-alive", "te", "trailer", "trailers", "transfer-encoding"),
        *("upgrade", "content-length", "expect", "http2-settings", "proxy-connection"),
        *("proxy-authenticate", "proxy-authorization"),
        *("x-original-url", "x-rewrite-url", "x-original-uri", "x-forwarded-host"),
        *("x-forwarded-prefix", "x-http-method", "x-http-method-override", "x-method-override"),
    )
)


@frozen
class Lookup:
    """All is well so far, and it depends on what a name resolves to. :ivar host: the name."""

    host: str


@frozen
class Allowed:
    """
    A request that is made.

    :ivar address: to connect to: the first that was judged.
    """

    target: Target
    method: str
    address: Address


def check(
    request: HttpProxyRequest,
    spec: Sequence[ProxyTarget],
    known_bmcs: Collection[str],
    bmc_networks: tuple[Network, ...],
    resolved_addresses: Sequence[str] | None = None,
) -> Allowed | Lookup:
    """
    :param spec: what the gateway says may be reached.
    :param known_bmcs: hosts of BMCs that this agent has spoken to: names in lower case, addresses
        as the standard library writes them.
    :param resolved_addresses: of the name; None: it was not looked up yet.
    :raises Denied: by the first rule that is broken. Where no lookup is needed to know, none was
        asked for.
    """
    listed = _listed(request.target_node_id, spec)
    method = request.method or "GET"
    if method not in METHODS:
        raise Denied(Rule.METHOD, f"want one of {', '.join(METHODS)}")
    for header in request.headers:
        _check_name(header.name)
        check_value(header.name, header.value)
    for secret in request.secret_headers:
        _check_name(secret.name)
    target = url.parsed(request.url)
    if target.host in known_bmcs:
        raise Denied(Rule.BMC, "the host is a BMC")
    if target.literal is not None:
        found = [addresses.plain(target.literal)]
    elif resolved_addresses is None:
        return Lookup(target.host)
    else:
        found = _found(resolved_addresses)
    for address in found:
        _check_address(address, known_bmcs, bmc_networks)
    if target.host not in listed:
        values = {addresses.parsed(text) for text in listed}
        if not values.issuperset(found):
            raise Denied(Rule.TARGET, f"{target.host} is no address of {request.target_node_id}")
    return Allowed(target, method, found[0])


def _check_name(name: str) -> None:
    """:raises Denied: for the name of a header that is none, or not the request's to say."""
    if not _TOKEN.fullmatch(name):
        raise Denied(Rule.HEADER, "the name of a header is letters, digits and '-'")
    if name.lower() in _OWN:
        raise Denied(Rule.HEADER, f"{name} is not to be set")


def check_value(name: str, value: str) -> None:
    """:raises Denied: for one that is not visible ASCII, or that would begin another line."""
    if not _VALUE.fullmatch(value):
        raise Denied(Rule.HEADER, f"the value of {name} is not one line of visible ASCII")


def _listed(node: str, spec: Sequence[ProxyTarget]) -> frozenset[str]:
    listed = {text.lower() for each in spec if each.node_id == node for text in each.addresses}
    if not listed:
        raise Denied(Rule.TARGET, f"the gateway lists no address of {node}")
    return frozenset(listed)


def _found(resolved: Sequence[str]) -> list[Address]:
    found = []
    for text in resolved:
        address = addresses.parsed(text)
        if address is None:
            raise Denied(Rule.RESOLVED, "the name has an address that is of one link alone")
        found.append(address)
    if not found:
        raise Denied(Rule.RESOLVED, "the name has no address")
    if len(found) > MOST_ADDRESSES:
        raise Denied(Rule.RESOLVED, f"the name has more than {MOST_ADDRESSES} addresses")
    return found


def _check_address(
    address: Address, known_bmcs: Collection[str], networks: tuple[Network, ...]
) -> None:
    rule = addresses.wrong(address)
    if rule is not None:
        raise Denied(rule, f"{address} is not to be connected to")
    if any(each in known_bmcs for each in addresses.spellings(address)):
        raise Denied(Rule.BMC, f"{address} is a BMC")
    if addresses.inside(address, networks):
        raise Denied(Rule.BMC, f"{address} is inside bmc_networks")
