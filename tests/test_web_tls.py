"""Tests for ``rescriptum.web.tls``."""

import contextlib
import ssl
from pathlib import Path

from OpenSSL.SSL import (
    TLS1_1_VERSION,
    TLS_CLIENT_METHOD,
    Connection,
    Context,
    Error,
    WantReadError,
)
from twisted.internet.protocol import Protocol, ServerFactory
from twisted.internet.testing import StringTransport
from twisted.protocols.tls import TLSMemoryBIOFactory, TLSMemoryBIOProtocol
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.errors import ConfigError
from rescriptum.web.tls import Certificate

from .certificates import write_certificate


class Session:
    """A TLS client in memory, and the server that it speaks to."""

    def __init__(self, certificate: Certificate, context: ssl.SSLContext) -> None:
        factory = TLSMemoryBIOFactory(certificate, False, ServerFactory.forProtocol(Protocol))
        self.server = factory.buildProtocol(None)
        assert isinstance(self.server, TLSMemoryBIOProtocol)
        self.transport = StringTransport()
        self.server.makeConnection(self.transport)
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.client = context.wrap_bio(self.incoming, self.outgoing)

    def handshake(self) -> None:
        for _ in range(4):
            with contextlib.suppress(ssl.SSLWantReadError):
                self.client.do_handshake()
            if self.outgoing.pending:
                self.server.dataReceived(self.outgoing.read())
            self.incoming.write(self.transport.value())
            self.transport.clear()


def context() -> ssl.SSLContext:
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    made.check_hostname = False
    made.verify_mode = ssl.CERT_NONE
    return made


class CertificateTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.directory = Path(self.mktemp())
        self.directory.mkdir()
        self.paths = write_certificate(self.directory)

    def shown(self, certificate: Certificate) -> bytes | None:
        session = Session(certificate, context())
        session.handshake()
        return session.client.getpeercert(binary_form=True)

    def problem(self, certificate: Path, key: Path) -> str:
        return str(self.assertRaises(ConfigError, Certificate, certificate, key))

    def test_a_renewed_certificate_is_shown_after_a_reload(self) -> None:
        certificate = Certificate(*self.paths)
        old = self.shown(certificate)
        assert old is not None
        write_certificate(self.directory)
        self.assertEqual(self.shown(certificate), old)
        certificate.reload()
        self.assertNotEqual(self.shown(certificate), old)

    def test_a_renewal_that_failed_changes_nothing(self) -> None:
        certificate = Certificate(*self.paths)
        old = self.shown(certificate)
        self.paths[1].write_text("")
        self.assertRaises(ConfigError, certificate.reload)
        self.assertEqual(self.shown(certificate), old)

    def test_what_cannot_be_used_is_named(self) -> None:
        certificate, key = self.paths
        other = write_certificate(self.directory, "other.example")[1]
        missing = self.directory / "missing"
        self.assertEqual(self.problem(missing, key), f"{missing}: No such file or directory")
        self.assertEqual(
            self.problem(certificate, missing), f"{missing}: No such file or directory"
        )
        self.assertIn("not the key of", self.problem(certificate, other))
        self.assertIn("no certificate in PEM", self.problem(key, key))
        self.assertIn("no private key in PEM", self.problem(certificate, certificate))

    def test_nothing_older_than_tls_1_2(self) -> None:
        """Not even for a client that would have nothing else."""
        session = Session(Certificate(*self.paths), context())
        session.handshake()
        self.assertEqual(session.client.version(), "TLSv1.3")
        old = Context(TLS_CLIENT_METHOD)
        old.set_cipher_list(b"ALL:@SECLEVEL=0")
        old.set_max_proto_version(TLS1_1_VERSION)
        client = Connection(old, None)
        client.set_connect_state()
        self.assertRaises(WantReadError, client.do_handshake)
        session = Session(Certificate(*self.paths), context())
        session.server.dataReceived(client.bio_read(1 << 16))
        client.bio_write(session.transport.value())
        self.assertRaises(Error, client.do_handshake)

    def test_http_2_is_not_promised(self) -> None:
        both = context()
        both.set_alpn_protocols(["h2", "http/1.1"])
        session = Session(Certificate(*self.paths), both)
        session.handshake()
        self.assertEqual(session.client.selected_alpn_protocol(), "http/1.1")
        only = context()
        only.set_alpn_protocols(["h2"])
        session = Session(Certificate(*self.paths), only)
        session.handshake()
        self.assertIsNone(session.client.selected_alpn_protocol())
