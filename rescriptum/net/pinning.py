"""Trust by pin: a gateway by its serving CA's key, a BMC by its own."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from ipaddress import ip_address
from pathlib import Path
from typing import Final

from attrs import field, frozen
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.x509 import (
    Certificate,
    DNSName,
    ExtendedKeyUsage,
    ExtensionNotFound,
    IPAddress,
    SubjectAlternativeName,
)
from cryptography.x509.oid import ExtendedKeyUsageOID
from OpenSSL import SSL, crypto
from service_identity import CertificateError, VerificationError
from service_identity.cryptography import (
    verify_certificate_hostname,
    verify_certificate_ip_address,
)
from twisted.internet.interfaces import IOpenSSLClientConnectionCreator
from twisted.protocols.tls import TLSMemoryBIOProtocol
from twisted.python.failure import Failure
from twisted.web.iweb import IPolicyForHTTPS
from zope.interface import implementer

from ..contract.certificates import certificate_pin, is_authority
from ..contract.pins import Pin
from ..errors import ConfigError, Unverified
from ..values import Problem, printable

#: How many pins or names of a stranger's certificates an error repeats.
_SHOWN: Final = 5
#: OpenSSL's SSL_OP_LEGACY_SERVER_CONNECT, which pyOpenSSL does not name.
_LEGACY_SERVERS: Final = 0x4


class PinMismatch(Unverified):
    """The server has another key than the pinned one."""

    code = "pin-mismatch"


class ChainInvalid(Unverified):
    """A certificate of the chain is not signed by the next, out of date, or not for servers."""

    code = "chain-invalid"


class NameMismatch(Unverified):
    """The certificate is another server's."""

    code = "name-mismatch"


class HandshakeFailed(Unverified):
    """No TLS 1.2 or later could be agreed on."""

    code = "tls-error"


Check = Callable[[SSL.Connection], None]
Clock = Callable[[], datetime]


@frozen
class ServingCA:
    """
    Holds when the chain ends in a pinned CA, with each signature and date, and names the server.

    What a server presents is what it *sent*, strangers included: only the store's verdict, with
    nothing but the pinned CA as its anchor, ties the leaf to it.

    :ivar pins: any of them: an old key and its successor.
    :ivar name: which the leaf must have, DNS or address.
    :ivar clock: tells at which time the certificates must be valid.
    """

    pins: tuple[Pin, ...]
    name: str
    clock: Clock

    def __call__(self, connection: SSL.Connection) -> None:
        try:
            self._check(connection.get_peer_cert_chain(as_cryptography=True) or [])
        except (ValueError, UnsupportedAlgorithm) as e:
            raise ChainInvalid("a certificate of the chain cannot be read") from e

    def _check(self, presented: list[Certificate]) -> None:
        if not presented:
            raise ChainInvalid("the server presents no certificate")
        leaf, others = presented[0], presented[1:]
        anchors = [each for each in others if is_authority(each) and self._pinned(each)]
        if not anchors:
            raise PinMismatch(self._other_keys(leaf, others))
        if not _may_serve(leaf):  # a store's verdict is on no purpose
            raise ChainInvalid("the certificate is not for servers")
        store = crypto.X509Store()
        store.set_flags(crypto.X509StoreFlags.PARTIAL_CHAIN)  # the pinned CA may be an intermediate
        store.set_time(self.clock())
        for each in anchors:
            store.add_cert(crypto.X509.from_cryptography(each))
        between = [crypto.X509.from_cryptography(each) for each in others if each not in anchors]
        try:
            crypto.X509StoreContext(
                store, crypto.X509.from_cryptography(leaf), between
            ).verify_certificate()
        except crypto.X509StoreContextError as e:
            raise ChainInvalid(str(e)) from e
        _check_name(leaf, self.name)

    def _pinned(self, certificate: Certificate) -> bool:
        shown = certificate_pin(certificate)
        return any(each.matches(shown) for each in self.pins)

    def _other_keys(self, leaf: Certificate, others: list[Certificate]) -> str:
        if self._pinned(leaf):
            return "the pinned key is the server's own: pin that of its CA"
        if not others:
            return "the server presents its own certificate alone: it must send its CA along"
        shown = ", ".join(str(certificate_pin(each)) for each in others[:_SHOWN])
        return f"no CA that the server presents has a pinned key; it presents {shown}"


@frozen
class OwnKey:
    """
    Holds when the server has this very key, whatever its certificate says: BMCs have certificates
    that expired long ago, for no name.
    """

    pin: Pin

    def __call__(self, connection: SSL.Connection) -> None:
        leaf = connection.get_peer_certificate(as_cryptography=True)
        if leaf is None:
            raise PinMismatch("the server presents no certificate")
        try:
            shown = certificate_pin(leaf)
        except (ValueError, UnsupportedAlgorithm) as e:
            raise PinMismatch("the server's key cannot be read") from e
        if not self.pin.matches(shown):
            raise PinMismatch(f"the server's key is {shown}")


@implementer(IPolicyForHTTPS, IOpenSSLClientConnectionCreator)
@frozen
class PinnedPolicy:
    """
    One rule of trust for every host: the URL's takes no part in it.

    The check runs when the handshake is done, before Twisted lets out a byte of the request.
    Use one connection pool a policy: pools tell connections apart by host and port alone.

    :ivar check: raises for a connection that is not trusted; whatever it raises, there is none.
    :ivar indicated: the name that is asked for; never an address (RFC 6066 section 3).
    :ivar legacy: whether old TLS will do.
    """

    check: Check
    indicated: str | None = field(default=None)
    legacy: bool = False

    def creatorForNetloc(self, hostname: bytes, port: int) -> "PinnedPolicy":
        return self

    def clientConnectionForTLS(self, tlsProtocol: TLSMemoryBIOProtocol) -> SSL.Connection:
        done = False

        def handshake(connection: SSL.Connection, where: int, _: int) -> None:
            nonlocal done
            try:
                if where & SSL.SSL_CB_HANDSHAKE_DONE and not done:
                    done = True  # TLS 1.3 says "done" again for every ticket
                    self.check(connection)
            except BaseException:  # noqa: BLE001 - what leaves this is printed and forgotten
                tlsProtocol.failVerification(Failure())

        context = _context(self.legacy)
        context.set_verify(SSL.VERIFY_NONE)  # OpenSSL knows no anchor of ours: the check decides
        context.set_info_callback(handshake)
        connection = SSL.Connection(context, None)
        if self.indicated is not None:
            connection.set_tlsext_host_name(self.indicated.encode("ascii"))
        return connection


@implementer(IPolicyForHTTPS, IOpenSSLClientConnectionCreator)
class SystemPolicy:
    """
    A trust store, usually the system's, and one configured name in place of the URL's host.

    Not Twisted's ``optionsForClientTLS``: in 26.10 a certificate without any ``subjectAltName``
    that a trusted CA signed passes it under every name.
    """

    def __init__(self, name: str, authorities: Path | None = None, legacy: bool = False) -> None:
        """
        :param name: which the leaf must have, DNS or address.
        :param authorities: certificates in PEM, which are trusted in place of the system's.
        :param legacy: whether old TLS will do.
        :raises ConfigError: when they cannot be read.
        """
        self._name = name
        self._context = _context(legacy)  # one: reading the store takes 10 ms
        if authorities is None:
            self._context.set_default_verify_paths()
            return
        try:
            authorities.read_bytes()
            self._context.load_verify_locations(str(authorities))
        except OSError as e:
            raise ConfigError([Problem(str(authorities), e.strerror or str(e))]) from e
        except SSL.Error as e:
            raise ConfigError([Problem(str(authorities), "no certificates in PEM")]) from e

    def creatorForNetloc(self, hostname: bytes, port: int) -> "SystemPolicy":
        return self

    def clientConnectionForTLS(self, tlsProtocol: TLSMemoryBIOProtocol) -> SSL.Connection:
        def verify(_: SSL.Connection, shown: crypto.X509, __: int, depth: int, good: int) -> bool:
            try:
                if good and depth == 0:  # the leaf comes last, when its chain has held
                    _check_name(shown.to_cryptography(), self._name)
            except BaseException:  # noqa: BLE001 - as above
                tlsProtocol.failVerification(Failure())
                return False
            return bool(good)

        connection = SSL.Connection(self._context, None)
        connection.set_verify(SSL.VERIFY_PEER | SSL.VERIFY_FAIL_IF_NO_PEER_CERT, verify)
        if not _is_address(self._name):
            connection.set_tlsext_host_name(self._name.encode("ascii"))
        return connection


def gateway_policy(
    pins: Sequence[str],
    server_name: str,
    *,
    not_before: datetime | None = None,
    clock: Clock = lambda: datetime.now(UTC),
) -> IPolicyForHTTPS:
    """
    :param pins: of serving CAs; with none, the system's trust store decides.
    :param server_name: which the certificate must have: DNS, in ASCII, or an address.
    :param not_before: it is not earlier than this, whatever the clock says: when the image of a
        machine was built that may wake in 1970. For pinned CAs.
    :param clock: the time, in UTC.
    :raises ValueError: for a pin or a name that is none.
    """
    if not server_name.isascii() or not server_name:
        raise ValueError("a server's name is written in ASCII (xn--… for others)")
    if not pins:
        return SystemPolicy(server_name)

    def now() -> datetime:
        return clock() if not_before is None else max(clock(), not_before)

    check = ServingCA(tuple(Pin.parse(each) for each in pins), server_name, now)
    return PinnedPolicy(check, None if _is_address(server_name) else server_name)


def bmc_policy(pin: str, legacy: bool = False) -> IPolicyForHTTPS:
    """
    :param legacy: whether old TLS will do.
    :raises ValueError: for a pin that is none.
    """
    return PinnedPolicy(OwnKey(Pin.parse(pin)), legacy=legacy)


def unverified_policy(legacy: bool = False) -> IPolicyForHTTPS:
    """:returns: what takes whoever answers: only for who was told so by name."""
    return PinnedPolicy(_anybody, legacy=legacy)


def _anybody(_: SSL.Connection) -> None:
    """It is whoever it is."""


def _context(legacy: bool) -> SSL.Context:
    context = SSL.Context(SSL.TLS_CLIENT_METHOD)
    context.set_session_cache_mode(SSL.SESS_CACHE_OFF)  # a resumed session shows no chain
    if legacy:  # TLS 1.0, RSA key exchange, DH of 1024 bits, no RFC 5746 (W209)
        context.set_min_proto_version(SSL.TLS1_VERSION)
        context.set_cipher_list(b"ALL:!aNULL:!eNULL:@SECLEVEL=0")
        context.set_options(_LEGACY_SERVERS)
    else:
        context.set_min_proto_version(SSL.TLS1_2_VERSION)
    return context


def why(failure: Failure | Exception) -> Exception:
    """
    Dig out what ended a request: a client wraps it, in one error for a GET and another for a POST.

    :returns: an error of this module for whatever is wrong with the server's TLS.
    """
    error = failure.value if isinstance(failure, Failure) else failure
    while reasons := getattr(error, "reasons", None):
        error = reasons[0].value
    if not isinstance(error, Exception):
        return HandshakeFailed(repr(error))
    if isinstance(error, SSL.Error):
        said = _said(error)
        kind = ChainInvalid if "certificate verify failed" in said else HandshakeFailed
        return kind(said or "the server ended the handshake")
    return error


def _said(error: SSL.Error) -> str:
    """OpenSSL's queue of errors, or what a system call said."""
    first, *rest = error.args or ([],)
    reasons = [each[-1] for each in first] if isinstance(first, list) else rest
    return ", ".join(map(str, reasons))


def _may_serve(leaf: Certificate) -> bool:
    try:
        usages = leaf.extensions.get_extension_for_class(ExtendedKeyUsage).value
    except ExtensionNotFound:
        return True
    anything = ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE
    return ExtendedKeyUsageOID.SERVER_AUTH in usages or anything in usages


def _check_name(leaf: Certificate, name: str) -> None:
    try:
        if _is_address(name):
            verify_certificate_ip_address(leaf, name)
        else:
            verify_certificate_hostname(leaf, name)
    except (VerificationError, CertificateError, ValueError) as e:
        raise NameMismatch(f"the certificate is for {_names(leaf)}, not {name}") from e


def _names(leaf: Certificate) -> str:
    try:
        names = leaf.extensions.get_extension_for_class(SubjectAlternativeName).value
    except ExtensionNotFound:
        return "no name (a common name does not count)"
    found = [*names.get_values_for_type(DNSName), *names.get_values_for_type(IPAddress)]
    return printable(", ".join(map(str, found[:_SHOWN])))


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
