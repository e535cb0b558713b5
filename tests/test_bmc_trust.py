"""Tests for ``rescriptum.bmc.trust``; its handshakes are in ``tests.functional``."""

from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase
from twisted.web.iweb import IPolicyForHTTPS
from zope.interface.verify import verifyObject

from rescriptum.bmc.redfish.client import policy_of
from rescriptum.bmc.trust import Trust, Vouching
from rescriptum.contract.certificates import certificate_pin
from rescriptum.errors import ConfigError
from rescriptum.net.pinning import SystemPolicy

from .certificates import issued, write_certificate

PIN = certificate_pin(issued("bmc").certificate).text


class TrustTests(SynchronousTestCase):
    def setUp(self) -> None:
        directory = Path(self.mktemp())
        directory.mkdir()
        self.authority, _ = write_certificate(directory)

    def each(self) -> tuple[Trust, ...]:
        return (Trust.by_pin(PIN), Trust.by_authority(self.authority), Trust.of_anybody())

    def test_each_is_one_thing(self) -> None:
        """No pin next to an authority, and nothing where nobody vouches."""
        pin, authority, anybody = self.each()
        self.assertEqual((str(pin.pin), pin.authority), (PIN, None))
        self.assertEqual((authority.pin, authority.authority), (None, self.authority))
        self.assertEqual((anybody.pin, anybody.authority), (None, None))
        self.assertEqual([each.vouching for each in self.each()], list(Vouching))

    def test_a_pin_that_is_none(self) -> None:
        for text in ("", "sha256/x", PIN[:-1], "sha256//" + PIN[7:]):
            self.assertRaises(ValueError, Trust.by_pin, text)

    def test_old_tls_is_never_the_default(self) -> None:
        for each in self.each():
            self.assertFalse(each.legacy)
            self.assertTrue(each.with_legacy_tls().legacy)
            self.assertEqual(each.with_legacy_tls().vouching, each.vouching)

    def test_each_has_a_policy(self) -> None:
        for each in (*self.each(), Trust.by_authority()):
            for trust in (each, each.with_legacy_tls()):
                policy = policy_of(trust, "bmc.example")
                verifyObject(IPolicyForHTTPS, policy)

    def test_authorities_that_cannot_be_read(self) -> None:
        """The file, and what is wrong with it."""
        gone = self.authority.with_name("gone.pem")
        empty = self.authority.with_name("empty.pem")
        empty.write_text("")
        for path, said in ((gone, "No such file"), (empty, "no certificates in PEM")):
            error = self.assertRaises(ConfigError, SystemPolicy, "bmc.example", path)
            [problem] = error.problems
            self.assertEqual(problem.source, str(path))
            self.assertIn(said, problem.text)
