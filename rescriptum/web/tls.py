"""A listener's certificate: read from files, and read again when they are renewed."""

from pathlib import Path

from cryptography.hazmat.primitives.serialization import load_pem_private_key
from OpenSSL.SSL import (
    NO_OVERLAPPING_PROTOCOLS,
    TLS1_2_VERSION,
    TLS_SERVER_METHOD,
    Connection,
    Context,
    Error,
)
from twisted.internet.interfaces import IOpenSSLServerConnectionCreator
from twisted.protocols.tls import TLSMemoryBIOProtocol
from zope.interface import implementer

from ..errors import ConfigError
from ..values import Problem


@implementer(IOpenSSLServerConnectionCreator)
class Certificate:
    """
    What a TLS listener shows, TLS 1.2 and newer.

    iPXE before 2026 has RSA only (W174), and firmware wants to know the CA beforehand (W161).
    """

    def __init__(self, certificate: Path, key: Path) -> None:
        """
        :param certificate: PEM, the leaf first and the chain below it.
        :param key: PEM, without a passphrase.
        :raises ConfigError: when the two cannot be used.
        """
        self._certificate = certificate
        self._key = key
        self._context = self._load()

    def reload(self) -> None:
        """
        Read both files again; connections that exist keep what they were opened with.

        :raises ConfigError: when the new ones cannot be used: the old ones stay.
        """
        self._context = self._load()

    def _load(self) -> Context:
        context = Context(TLS_SERVER_METHOD)
        context.set_min_proto_version(TLS1_2_VERSION)
        context.set_alpn_select_callback(_http_1)
        problem = "no certificate in PEM, or one that OpenSSL does not take"
        source = self._certificate
        try:
            self._certificate.read_bytes()  # an OSError says more than OpenSSL does
            context.use_certificate_chain_file(str(self._certificate))
            source, problem = self._key, "no private key in PEM, or one with a passphrase"
            # OpenSSL would ask for a passphrase at the terminal; this refuses one.
            load_pem_private_key(self._key.read_bytes(), None)
            problem = f"not the key of {self._certificate}"
            context.use_privatekey_file(str(self._key))
            context.check_privatekey()
        except OSError as e:
            raise ConfigError([Problem(str(source), e.strerror or str(e))]) from e
        except (Error, TypeError, ValueError) as e:
            raise ConfigError([Problem(str(source), problem)]) from e
        return context

    def serverConnectionForTLS(self, tlsProtocol: TLSMemoryBIOProtocol) -> Connection:
        return Connection(self._context, None)


def _http_1(connection: Connection, offered: list[bytes]) -> bytes:
    if b"http/1.1" in offered:
        return b"http/1.1"
    return NO_OVERLAPPING_PROTOCOLS  # type: ignore[return-value]  # pyOpenSSL hides its type
