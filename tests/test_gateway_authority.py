"""Tests for ``rescriptum.gateway.authority``."""

from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519
from cryptography.x509.oid import ExtendedKeyUsageOID
from hypothesis import given
from hypothesis import strategies as st
from OpenSSL import crypto
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.contract.certificates import certificate_pin
from rescriptum.gateway.authority import (
    LONGEST_LEAF_DAYS,
    Authority,
    Served,
    chain_pin,
)

from .certificates import issued

NOW = datetime(2026, 12, 1, tzinfo=UTC)
DAY = timedelta(days=1)
NAMES = ("gw.internal", "10.9.8.7", "2001:db8::1")
CA = Authority.make(NOW)
SERVED = CA.issue(NAMES, NOW)


def holds(served: Served, authority: Authority, at: datetime) -> bool:
    """What an agent makes of it: OpenSSL's verdict, with the CA alone as anchor."""
    store = crypto.X509Store()
    store.set_time(at)
    store.add_cert(crypto.X509.from_cryptography(authority.certificate))
    leaf = crypto.X509.from_cryptography(served.chain[0])
    try:
        crypto.X509StoreContext(store, leaf).verify_certificate()
    except crypto.X509StoreContextError:
        return False
    return True


class AuthorityTests(SynchronousTestCase):
    def test_what_is_served_ends_in_the_pinned_ca(self) -> None:
        leaf, ca = SERVED.chain
        self.assertEqual(certificate_pin(ca).text, CA.pin)
        self.assertEqual(leaf.issuer, ca.subject)
        self.assertTrue(holds(SERVED, CA, NOW))
        self.assertFalse(holds(SERVED, Authority.make(NOW), NOW))

    def test_the_leaf_is_for_servers_of_these_names(self) -> None:
        leaf = SERVED.chain[0]
        self.assertEqual(SERVED.names(), NAMES)
        usage = leaf.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
        self.assertEqual(list(usage), [ExtendedKeyUsageOID.SERVER_AUTH])
        self.assertFalse(leaf.extensions.get_extension_for_class(x509.BasicConstraints).value.ca)
        self.assertEqual(leaf.public_key(), SERVED.key.public_key())

    def test_the_ca_signs_no_other_ca(self) -> None:
        constraints = CA.certificate.extensions.get_extension_for_class(x509.BasicConstraints)
        self.assertTrue(constraints.critical)
        self.assertEqual((constraints.value.ca, constraints.value.path_length), (True, 0))

    def test_strict_readers_take_it_too(self) -> None:
        """cryptography's own verifier holds it to the web's profile."""
        store = x509.verification.Store([CA.certificate])
        verifier = (
            x509.verification.PolicyBuilder()
            .store(store)
            .time(NOW)
            .build_server_verifier(x509.DNSName("gw.internal"))
        )
        verifier.verify(SERVED.chain[0], [])

    def test_a_machine_that_wakes_in_the_past_takes_it(self) -> None:
        """It takes the day of its image for today: up to two years before the certificate."""
        self.assertTrue(holds(SERVED, CA, NOW - 730 * DAY))
        self.assertTrue(holds(SERVED, CA, NOW + 89 * DAY))
        self.assertFalse(holds(SERVED, CA, NOW + 91 * DAY))

    def test_no_leaf_is_valid_for_more_than_825_days(self) -> None:
        for days in (1, 90, LONGEST_LEAF_DAYS):
            leaf = CA.issue(NAMES, NOW, days).chain[0]
            span = leaf.not_valid_after_utc - leaf.not_valid_before_utc
            self.assertLess(span, 825 * DAY)
            self.assertLess(leaf.not_valid_before_utc, NOW)
            self.assertEqual(leaf.not_valid_after_utc, NOW + days * DAY)

    def test_lives_that_are_none(self) -> None:
        for days in (-1, 0, LONGEST_LEAF_DAYS + 1):
            error = self.assertRaises(ValueError, CA.issue, NAMES, NOW, days)
            self.assertIn("want 1 to 800 days", str(error))

    def test_names_that_are_none(self) -> None:
        for name in ("", "bücher.example", "a b", "a\nb", "x" * 254):
            error = self.assertRaises(ValueError, CA.issue, ["gw.internal", name], NOW)
            self.assertIn("not a name in ASCII", str(error))
        error = self.assertRaises(ValueError, CA.issue, [], NOW)
        self.assertIn("want a name", str(error))

    def test_a_long_name_is_no_common_name(self) -> None:
        """RFC 5280 bounds it by 64 characters; then the subject is empty, the names critical."""
        name = f"{'a' * 60}.{'b' * 60}.internal"
        leaf = CA.issue([name], NOW).chain[0]
        self.assertEqual(list(leaf.subject), [])
        alternatives = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName)
        self.assertTrue(alternatives.critical)

    def test_no_ca_by_a_clock_that_cannot_be_right(self) -> None:
        error = self.assertRaises(ValueError, Authority.make, datetime(1970, 1, 1, tzinfo=UTC))
        self.assertIn("the clock says 1970-01-01", str(error))


class RenewalTests(SynchronousTestCase):
    def test_a_leaf_is_replaced_when_two_thirds_are_over(self) -> None:
        due = NOW + 60 * DAY
        self.assertEqual(SERVED.due(), due)
        self.assertTrue(CA.serves(SERVED, NAMES, NOW))
        self.assertTrue(CA.serves(SERVED, NAMES, due - timedelta(seconds=1)))
        self.assertFalse(CA.serves(SERVED, NAMES, due))

    def test_a_configured_life(self) -> None:
        served = CA.issue(NAMES, NOW, 9)
        self.assertTrue(CA.serves(served, NAMES, NOW + 5 * DAY, 9))
        self.assertFalse(CA.serves(served, NAMES, NOW + 6 * DAY, 9))

    def test_a_leaf_is_replaced_when_its_names_change(self) -> None:
        self.assertTrue(CA.serves(SERVED, tuple(reversed(NAMES)), NOW))
        self.assertTrue(CA.serves(SERVED, (*NAMES[:2], "2001:0db8::0001"), NOW))
        self.assertFalse(CA.serves(SERVED, NAMES[:2], NOW))
        self.assertFalse(CA.serves(SERVED, (*NAMES, "other.internal"), NOW))

    def test_a_leaf_of_another_ca_is_replaced(self) -> None:
        other = Authority.make(NOW)
        self.assertFalse(other.serves(SERVED, NAMES, NOW))
        pretended = Served(SERVED.key, (SERVED.chain[0], other.certificate))
        self.assertFalse(other.serves(pretended, NAMES, NOW))
        self.assertFalse(CA.serves(Served(SERVED.key, SERVED.chain[:1]), NAMES, NOW))

    def test_a_leaf_of_the_future_is_replaced(self) -> None:
        """The clock was wrong when it was made, or is now."""
        self.assertFalse(CA.serves(SERVED, NAMES, NOW - 1000 * DAY))

    def test_a_renewed_ca_keeps_its_pin(self) -> None:
        due = CA.certificate.not_valid_after_utc - timedelta(days=3650) / 3
        self.assertIs(CA.renewed(due - timedelta(seconds=1)), CA)
        renewed = CA.renewed(due)
        self.assertEqual(renewed.pin, CA.pin)
        self.assertGreater(
            renewed.certificate.not_valid_after_utc, CA.certificate.not_valid_after_utc
        )
        self.assertFalse(renewed.serves(SERVED, NAMES, NOW))
        self.assertTrue(holds(SERVED, renewed, NOW))


class FileTests(SynchronousTestCase):
    def test_they_survive_their_files(self) -> None:
        ca, served = Authority.load(CA.pem()), Served.load(SERVED.pem())
        self.assertEqual((ca.pem(), served.pem()), (CA.pem(), SERVED.pem()))
        self.assertTrue(ca.serves(served, NAMES, NOW))

    def test_files_that_are_none(self) -> None:
        key = CA.pem().partition(b"-----BEGIN CERT")[0]
        certificate = CA.pem()[len(key) :]
        other = Authority.make(NOW).pem().partition(b"-----BEGIN CERT")[0]
        edwards = ed25519.Ed25519PrivateKey.generate().private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        locked = CA.key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(b"passphrase"),
        )
        for pem, said in (
            (b"", "in PEM"),
            (b"\xff", "in PEM"),
            (key, "in PEM"),
            (certificate, "in PEM"),
            (CA.pem()[:-100], "in PEM"),
            (CA.pem()[40:], "in PEM"),
            (locked + certificate, "in PEM"),
            (other + certificate, "another key"),
            (edwards + certificate, "ECDSA"),
        ):
            for load in (Authority.load, Served.load):
                error = self.assertRaises(ValueError, load, pem)
                self.assertIn(said, str(error))
        error = self.assertRaises(ValueError, Authority.load, SERVED.pem())
        self.assertIn("not a CA's", str(error))

    @given(st.binary(max_size=200))
    def test_garbage(self, text: bytes) -> None:
        self.assertRaises(ValueError, Served.load, text)
        self.assertRaises(ValueError, chain_pin, text)

    def test_keys_are_not_shown(self) -> None:
        self.assertNotIn("key=", repr(CA) + repr(SERVED))


class ChainTests(SynchronousTestCase):
    """The certificate that an operator brings: what its agents have to pin."""

    def pem(self, *chain: x509.Certificate) -> bytes:
        return b"".join(each.public_bytes(serialization.Encoding.PEM) for each in chain)

    def test_the_last_ca(self) -> None:
        root = issued("root", authority=True)
        between = issued("between", root, authority=True)
        leaf = issued("leaf", between, names=["gw.internal"])
        chain = [each.certificate for each in (leaf, between, root)]
        self.assertEqual(chain_pin(self.pem(*chain)), certificate_pin(root.certificate).text)
        self.assertEqual(chain_pin(self.pem(*chain[:2])), certificate_pin(between.certificate).text)

    def test_no_ca_to_pin(self) -> None:
        alone = issued("gw", names=["gw.internal"], authority=True)
        self.assertIsNone(chain_pin(self.pem(alone.certificate)))
        self.assertRaises(ValueError, chain_pin, b"")
