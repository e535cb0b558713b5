"""The client's side of TLS towards a server whose very certificate is at hand."""

import hmac
from pathlib import Path

from OpenSSL.crypto import (
    FILETYPE_ASN1,
    FILETYPE_PEM,
    X509,
    Error,
    dump_certificate,
    load_certificate,
)
from OpenSSL.SSL import TLS1_2_VERSION, TLS_CLIENT_METHOD, VERIFY_PEER, Connection, Context
from twisted.internet.interfaces import IOpenSSLClientConnectionCreator
from twisted.protocols.tls import TLSMemoryBIOProtocol
from twisted.python.failure import Failure
from twisted.web.iweb import IPolicyForHTTPS
from zope.interface import implementer

from ..errors import ConfigError, Unverified
from ..values import Problem


@implementer(IPolicyForHTTPS, IOpenSSLClientConnectionCreator)
class Pinned:
    """
    Takes the leaf certificate of one file for itself alone: no authority, name or date matters.

    For a server that asks itself: it knows what it was configured to show.
    """

    def __init__(self, certificate: Path) -> None:
        """
        :param certificate: PEM, the leaf first.
        :raises ConfigError: when it cannot be read.
        """
        try:
            leaf = load_certificate(FILETYPE_PEM, certificate.read_bytes())
        except OSError as e:
            raise ConfigError([Problem(str(certificate), e.strerror or str(e))]) from e
        except Error as e:
            raise ConfigError([Problem(str(certificate), "no certificate in PEM")]) from e
        self._leaf = dump_certificate(FILETYPE_ASN1, leaf)

    def creatorForNetloc(self, hostname: bytes, port: int) -> "Pinned":
        return self

    def clientConnectionForTLS(self, tlsProtocol: TLSMemoryBIOProtocol) -> Connection:
        def verify(connection: Connection, shown: X509, error: int, depth: int, ok: int) -> bool:
            if depth or hmac.compare_digest(dump_certificate(FILETYPE_ASN1, shown), self._leaf):
                return True
            # So that the caller hears our reason, and not OpenSSL's.
            tlsProtocol.failVerification(
                Failure(Unverified("it shows another certificate than RESCRIPTUM_TLS_CERT"))
            )
            return True

        context = Context(TLS_CLIENT_METHOD)
        context.set_min_proto_version(TLS1_2_VERSION)
        context.set_verify(VERIFY_PEER, verify)
        return Connection(context, None)
