"""
The gateway's own serving CA: what agents pin, and the certificates that it signs.

A pin is a hash, so a CA that is not sent cannot be found: what is served is leaf and CA.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from typing import Final

from attrs import field, frozen
from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from ..contract.certificates import certificate_pin, is_authority

#: How long a leaf is valid, and a CA; both are replaced when two thirds of it are over.
LEAF_DAYS: Final = 90
CA_DAYS: Final = 3650
LONGEST_LEAF_DAYS: Final = 800
#: A machine without a clock takes the day when its image was built, which may be long before a
#: certificate was made. Clients of one vendor take no leaf that is valid for more than 825 days.
_CA_SINCE = datetime(2020, 1, 1, tzinfo=UTC)
_LEAF_SPAN = 824
#: Nothing of this runs before.
_BORN = datetime(2026, 1, 1, tzinfo=UTC)
_LONGEST_COMMON_NAME = 64
_PKCS8 = serialization.PrivateFormat.PKCS8


@frozen
class Served:
    """
    What a listener needs to prove who it is.

    :ivar key: of the leaf.
    :ivar chain: the leaf first, the CA last.
    """

    key: ec.EllipticCurvePrivateKey = field(repr=False)
    chain: tuple[x509.Certificate, ...]

    @classmethod
    def load(cls, pem: bytes) -> "Served":
        """:raises ValueError: unless it holds a key and its certificate."""
        key, chain = _loaded(pem)
        return cls(key, chain)

    def pem(self) -> bytes:
        """:returns: one file, key and chain, so that the two are never of different renewals."""
        return _pem(self.key, self.chain)

    def due(self, days: int = LEAF_DAYS) -> datetime:
        """:returns: when two thirds of a life of ``days`` are over."""
        return self.chain[0].not_valid_after_utc - timedelta(days=days) / 3

    def names(self) -> tuple[str, ...]:
        """:returns: of the leaf, DNS names and addresses as they were asked for."""
        try:
            found = self.chain[0].extensions.get_extension_for_class(x509.SubjectAlternativeName)
        except x509.ExtensionNotFound:
            return ()
        return tuple(str(each.value) for each in found.value)


@frozen
class Authority:
    """
    A CA for the certificates of one gateway.

    :ivar key: what agents pin is its public half: a renewed certificate keeps the pin.
    """

    key: ec.EllipticCurvePrivateKey = field(repr=False)
    certificate: x509.Certificate

    @classmethod
    def make(cls, now: datetime, key: ec.EllipticCurvePrivateKey | None = None) -> "Authority":
        """
        :param key: none for a new one.
        :raises ValueError: when the clock cannot be right.
        """
        if now < _BORN:
            raise ValueError(f"the clock says {now:%Y-%m-%d}: set it first")
        key = key or ec.generate_private_key(ec.SECP256R1())
        public = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
        name = _subject(f"rescriptum gateway CA {public.digest.hex()[:8]}")
        builder = _builder(name, name, key, _CA_SINCE, now + timedelta(days=CA_DAYS))
        certificate = (
            builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_usage(signs_certificates=True), critical=True)
            .add_extension(public, critical=False)
            .sign(key, hashes.SHA256())
        )
        return cls(key, certificate)

    @classmethod
    def load(cls, pem: bytes) -> "Authority":
        """:raises ValueError: unless it holds a key and its certificate, of a CA."""
        key, chain = _loaded(pem)
        if not is_authority(chain[0]):
            raise ValueError("the certificate is not a CA's")
        return cls(key, chain[0])

    def pem(self) -> bytes:
        """:returns: one file, key and certificate."""
        return _pem(self.key, (self.certificate,))

    @property
    def pin(self) -> str:
        """``serving_ca_spki_pin`` of the agents."""
        return certificate_pin(self.certificate).text

    def renewed(self, now: datetime) -> "Authority":
        """:returns: itself until two thirds of its life are over, then one with the same key."""
        due = self.certificate.not_valid_after_utc - timedelta(days=CA_DAYS) / 3
        return self if now < due else self.make(now, self.key)

    def issue(self, names: Sequence[str], now: datetime, days: int = LEAF_DAYS) -> Served:
        """
        :param names: DNS names in ASCII, and addresses; the first is the server's name.
        :param days: from now on, up to 800.
        :raises ValueError: for a name that a certificate cannot have, or none, or such a life.
        """
        if not 1 <= days <= LONGEST_LEAF_DAYS:
            raise ValueError(f"want 1 to {LONGEST_LEAF_DAYS} days, not {days}")
        if not names:
            raise ValueError("want a name or an address that agents know the gateway by")
        general = [_general(each) for each in names]
        key = ec.generate_private_key(ec.SECP256R1())
        subject = _subject(names[0]) if len(names[0]) <= _LONGEST_COMMON_NAME else x509.Name([])
        end = now + timedelta(days=days)
        since = end - timedelta(days=_LEAF_SPAN)
        builder = _builder(subject, self.certificate.subject, key, since, end)
        alternatives = x509.SubjectAlternativeName(general)
        purpose = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key())
        own = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
        leaf = (
            builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(signs_certificates=False), critical=True)
            .add_extension(purpose, critical=False)
            .add_extension(alternatives, critical=not list(subject))
            .add_extension(issuer, critical=False)
            .add_extension(own, critical=False)
            .sign(self.key, hashes.SHA256())
        )
        return Served(key, (leaf, self.certificate))

    def serves(
        self, served: Served, names: Sequence[str], now: datetime, days: int = LEAF_DAYS
    ) -> bool:
        """
        :returns: whether ``served`` is still what this would issue, and not due.
        :raises ValueError: for a name that a certificate cannot have.
        """
        return (
            served.chain[1:] == (self.certificate,)
            and set(served.names()) == {str(_general(each).value) for each in names}
            and served.chain[0].not_valid_before_utc <= now < served.due(days)
            and _signed(served.chain[0], self.certificate)
        )


def chain_pin(pem: bytes) -> str | None:
    """
    :param pem: a chain that an operator brings.
    :returns: the pin of the last CA in it; None where there is none, so that agents cannot pin it.
    :raises ValueError: for what is no chain in PEM.
    """
    try:
        chain = x509.load_pem_x509_certificates(pem)
        authorities = [each for each in chain[1:] if is_authority(each)]
        return certificate_pin(authorities[-1]).text if authorities else None
    except UnsupportedAlgorithm as e:
        raise ValueError("a certificate with a key of an unknown kind") from e


def _subject(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    since: datetime,
    until: datetime,
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(since)
        .not_valid_after(until)
    )


def _usage(signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _general(name: str) -> x509.DNSName | x509.IPAddress:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        pass
    if not name.isascii() or not name.isprintable() or not 0 < len(name) <= 253 or " " in name:
        raise ValueError(f"not a name in ASCII, nor an address: {name[:80]!r}")
    return x509.DNSName(name)


def _signed(certificate: x509.Certificate, issuer: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(issuer)
    except (InvalidSignature, ValueError, TypeError):
        return False
    return True


def _pem(key: ec.EllipticCurvePrivateKey, chain: Sequence[x509.Certificate]) -> bytes:
    encoding = serialization.Encoding.PEM
    private = key.private_bytes(encoding, _PKCS8, serialization.NoEncryption())
    return private + b"".join(each.public_bytes(encoding) for each in chain)


def _loaded(pem: bytes) -> tuple[ec.EllipticCurvePrivateKey, tuple[x509.Certificate, ...]]:
    try:
        key = serialization.load_pem_private_key(pem, None)
        chain = x509.load_pem_x509_certificates(pem)
    except (ValueError, TypeError, UnsupportedAlgorithm) as e:
        raise ValueError("not a private key and its certificate in PEM") from e
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise ValueError("the private key is not an ECDSA one")
    if chain[0].public_key() != key.public_key():
        raise ValueError("the certificate is for another key")
    return key, tuple(chain)
