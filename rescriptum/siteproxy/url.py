"""The URL of a request: read once, and what was read is what is connected to and sent."""

import re
import unicodedata
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from typing import Final
from urllib.parse import unquote_to_bytes

from attrs import frozen

from .addresses import Address
from .refusing import Denied, Rule

#: A URL without a fragment, from what may stand in one (RFC 3986, appendix A) and nothing else.
_URL: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/?]*)([^?]*)(\?.*)?", re.ASCII)
_MAY_STAND: Final = re.compile(r"(?:[A-Za-z0-9\-._~!$&'()*+,;=:@/?]|%[0-9A-Fa-f]{2})*", re.ASCII)
_PORTS: Final = {"http": 80, "https": 443}
_LABEL: Final = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?", re.ASCII)
_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*", re.ASCII)
_PORT: Final = re.compile(r"[1-9][0-9]{0,4}", re.ASCII)
_DOUBLED: Final = re.compile(r"[/\\]{2}")
_LONGEST_NAME: Final = 253
#: What BMCs have all of Redfish below (DSP0266, "URI": ``/redfish``).
_REDFISH: Final = "redfish"


@frozen
class Target:
    """
    Where a request goes.

    :ivar host: in lower case; an IPv6 address without brackets.
    :ivar literal: the address that ``host`` is; None: it is a name.
    :ivar asked: path and query, as they are sent.
    """

    scheme: str
    host: str
    literal: Address | None
    port: int
    asked: str

    @property
    def authority(self) -> str:
        """The value of ``Host``: with the port, unless it is the scheme's own."""
        host = f"[{self.host}]" if isinstance(self.literal, IPv6Address) else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        """All of it, in one spelling."""
        return f"{self.scheme}://{self.authority}{self.asked}"


def parsed(text: str) -> Target:
    """
    :raises Denied: unless ``text`` is an http or https URL that every parser reads alike, and that
        no server takes for one of Redfish.
    """
    if not text.isascii() and _authority_is_foreign(text):
        raise Denied(Rule.HOST, "the host is not in ASCII: write xn--…")
    found = _URL.fullmatch(text)
    if found is None:
        raise Denied(Rule.URL, "want http://host/path or https://host/path")
    scheme, authority, path, query = found[1].lower(), found[2], found[3], found[4] or ""
    if scheme not in _PORTS:
        raise Denied(Rule.SCHEME, f"{scheme[:20]} is neither http nor https")
    if "@" in authority:
        raise Denied(Rule.USERINFO, "credentials go into secret_headers")
    host, literal, port = _host_and_port(authority, _PORTS[scheme])
    if not _MAY_STAND.fullmatch(path + query):
        raise Denied(Rule.URL, "the path or query has a character that has to be percent-encoded")
    _check_path(path)
    return Target(scheme, host, literal, port, (path or "/") + query)


def _authority_is_foreign(text: str) -> bool:
    authority = re.split(r"[/?#\\]", text.partition("://")[2], maxsplit=1)[0]
    return not authority.isascii()


def _host_and_port(authority: str, usual: int) -> tuple[str, Address | None, int]:
    if authority.startswith("["):
        inner, bracket, rest = authority[1:].partition("]")
        if not bracket or (rest and not rest.startswith(":")):
            raise Denied(Rule.HOST, "a bracket that nothing ends")
        literal: Address | None = _ipv6(inner)
        host = str(literal)
        colon, port = rest[:1], rest[1:]
    else:
        inner, colon, port = authority.partition(":")
        host = inner.lower()
        literal = _ipv4_or_name(host)
    if not colon:
        return host, literal, usual
    if not _PORT.fullmatch(port) or int(port) > 65535:
        raise Denied(Rule.PORT, "not a number from 1 to 65535")
    return host, literal, int(port)


def _ipv6(text: str) -> IPv6Address:
    if "%" in text:
        raise Denied(Rule.ZONE, "an address with a zone is of one link")
    try:
        return IPv6Address(text)
    except AddressValueError:
        raise Denied(Rule.HOST, "what is in brackets is no IPv6 address") from None


def _ipv4_or_name(host: str) -> IPv4Address | None:
    if not host:
        raise Denied(Rule.HOST, "there is none")
    if "%" in host:
        raise Denied(Rule.HOST, "a host is written without percent-encoding")
    labels = host.split(".")
    if _NUMBER.fullmatch(labels[-1]) or (not labels[-1] and _NUMBER.fullmatch(labels[-2])):
        # What resolvers take for an address (inet_aton): short, octal, hexadecimal or one number.
        try:
            return IPv4Address(host)
        except AddressValueError:
            raise Denied(
                Rule.NUMERIC_HOST, "an IPv4 address is four decimal numbers without leading zeros"
            ) from None
    if len(host) > _LONGEST_NAME or not all(map(_LABEL.fullmatch, labels)):
        raise Denied(Rule.HOST, "a name is labels of letters, digits, '-' and '_', without an end")
    return None


def _check_path(path: str) -> None:
    """Whatever a server makes of it: decoding once or more, with or without parameters or case."""
    segments, text = [], _decoded(path)
    for each in re.split(r"[/\\]", text):
        segment = each.partition(";")[0].strip()
        if segment not in ("", "."):
            segments.append(segment)
    # What begins with two slashes begins with a host to some (RFC 3986 section 4.2).
    anywhere = ".." in segments or _DOUBLED.match(text)
    reached = segments if anywhere else segments[:1]
    if any(each.startswith(_REDFISH) for each in reached):
        raise Denied(Rule.REDFISH, "BMCs are asked by bmc.* commands alone")


def _decoded(path: str) -> str:
    """:returns: decoded as often as there is something to decode, and folded."""
    data, before = unquote_to_bytes(path), b""
    while data != before:
        before, data = data, unquote_to_bytes(data)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise Denied(Rule.URL, "what the path encodes is not UTF-8") from None
    if any(unicodedata.category(each) in ("Cc", "Cf", "Cs", "Zl", "Zp") for each in text):
        raise Denied(Rule.URL, "the path encodes a control character")
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).upper().casefold())
