"""A fake BMC's side of TLS, and connections that can be cut."""

from datetime import datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from OpenSSL.SSL import TLS1_1_VERSION, TLS1_VERSION, TLS_SERVER_METHOD, Connection, Context
from twisted.internet.address import IPv4Address, IPv6Address
from twisted.internet.interfaces import (
    IAddress,
    IOpenSSLServerConnectionCreator,
    ITCPTransport,
)
from twisted.protocols.policies import ProtocolWrapper, WrappingFactory
from twisted.protocols.tls import TLSMemoryBIOFactory, TLSMemoryBIOProtocol
from zope.interface import implementer

from ..contract.certificates import certificate_pin
from .switches import Switch, Switches

_DAY = timedelta(days=1)


@implementer(IOpenSSLServerConnectionCreator)
class SelfSigned:
    """
    Shows a certificate of its own that says ``localhost``, as BMCs do (W210).

    :ivar pin: of its key.
    """

    def __init__(self, switches: Switches, now: datetime) -> None:
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
        first, last = now - _DAY, now + 365 * _DAY
        if Switch.EXPIRED in switches:
            first, last = now - 30 * _DAY, now - _DAY
        elif Switch.WRONG_CLOCK in switches:
            first, last = now + _DAY, now + 30 * _DAY
        made = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(first)
            .not_valid_after(last)
            .sign(key, hashes.SHA256())
        )
        self.pin = certificate_pin(made).text
        self._context = Context(TLS_SERVER_METHOD)
        if Switch.OLD_TLS in switches:
            self._context.set_min_proto_version(TLS1_VERSION)
            self._context.set_max_proto_version(TLS1_1_VERSION)
            self._context.set_cipher_list(b"ALL:@SECLEVEL=0")  # else OpenSSL's policy refuses it
        self._context.use_privatekey(key)
        self._context.use_certificate(made)

    def serverConnectionForTLS(self, tlsProtocol: TLSMemoryBIOProtocol) -> Connection:
        return Connection(self._context, None)


class Cuttable(WrappingFactory):
    """
    Connections that can be closed from outside, by their peers.

    :ivar seen: how many there ever were.
    """

    noisy = False

    def __init__(self, wrapped: TLSMemoryBIOFactory) -> None:
        super().__init__(wrapped)
        self.seen = 0

    def buildProtocol(self, addr: IAddress | None) -> ProtocolWrapper:
        self.seen += 1
        return super().buildProtocol(addr)

    def cut(self, peer: tuple[str, int]) -> None:
        """Close one."""
        for each in self._transports():
            at = each.getPeer()
            if isinstance(at, IPv4Address | IPv6Address) and (at.host, at.port) == peer:
                each.abortConnection()

    def cut_all(self) -> None:
        """Close every one."""
        for each in self._transports():
            each.abortConnection()

    def _transports(self) -> list[ITCPTransport]:
        return [ITCPTransport(each.transport) for each in self.protocols]
