"""Certificates made for a test: one that nobody vouches for, and chains of every kind."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from attrs import frozen
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from OpenSSL.SSL import TLS_SERVER_METHOD, Connection, Context
from twisted.internet.interfaces import IOpenSSLServerConnectionCreator
from zope.interface import implementer

CLIENT_AUTH, SERVER_AUTH = ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH


@frozen(eq=False)
class Issued:
    """A certificate and its key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey


def issued(
    subject: str,
    issuer: Issued | None = None,
    *,
    authority: bool = False,
    path_length: int | None = None,
    usage: x509.ObjectIdentifier | None = None,
    names: Sequence[str] = (),
    days: tuple[int, int] = (-1, 1),
    key: ec.EllipticCurvePrivateKey | None = None,
) -> Issued:
    """
    :param issuer: none for a self-signed one.
    :param names: DNS names and addresses.
    :param days: of validity, from now.
    """
    key = key or ec.generate_private_key(ec.SECP256R1())
    own = _name(subject)
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(own)
        .issuer_name(issuer.certificate.subject if issuer else own)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + timedelta(days=days[0]))
        .not_valid_after(now + timedelta(days=days[1]))
        .add_extension(x509.BasicConstraints(authority, path_length), critical=True)
    )
    if usage:
        builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
    if names:
        spelt = x509.SubjectAlternativeName([_general(each) for each in names])
        builder = builder.add_extension(spelt, critical=False)
    return Issued(builder.sign(issuer.key if issuer else key, hashes.SHA256()), key)


def _name(subject: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, subject)])


def _general(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)


@implementer(IOpenSSLServerConnectionCreator)
class ChainServer:
    """Shows a chain as it is given, right or wrong."""

    def __init__(
        self, chain: Sequence[Issued], newest: int | None = None, oldest: int | None = None
    ) -> None:
        self.context = Context(TLS_SERVER_METHOD)
        if oldest is not None:
            self.context.set_min_proto_version(oldest)
            self.context.set_cipher_list(b"ALL:@SECLEVEL=0")  # else OpenSSL's policy refuses 1.1
        if newest is not None:
            self.context.set_max_proto_version(newest)
        self.context.use_privatekey(chain[0].key)
        self.context.use_certificate(chain[0].certificate)
        for each in chain[1:]:
            self.context.add_extra_chain_cert(each.certificate)

    def serverConnectionForTLS(self, tlsProtocol: object) -> Connection:
        return Connection(self.context, None)


def write_certificate(directory: Path, name: str = "boot.example") -> tuple[Path, Path]:
    """:returns: the paths of a self-signed certificate for ``name``, and of its key."""
    made = issued(name)
    certificate_path, key_path = directory / f"{name}.crt", directory / f"{name}.key"
    certificate_path.write_bytes(made.certificate.public_bytes(serialization.Encoding.PEM))
    key_path.write_bytes(
        made.key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return certificate_path, key_path
