"""Tests for ``rescriptum.net.pinning``: what needs no handshake."""

from OpenSSL.SSL import Error
from twisted.internet.error import ConnectionRefusedError
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase
from twisted.web.client import RequestTransmissionFailed, ResponseFailed, ResponseNeverReceived
from twisted.web.iweb import IPolicyForHTTPS
from zope.interface.verify import verifyObject

from rescriptum.contract.certificates import certificate_pin
from rescriptum.errors import Unverified
from rescriptum.net.pinning import (
    ChainInvalid,
    HandshakeFailed,
    NameMismatch,
    PinMismatch,
    bmc_policy,
    gateway_policy,
    why,
)

from .certificates import issued

CA = issued("ca", authority=True)
PIN = certificate_pin(CA.certificate).text


class PolicyTests(SynchronousTestCase):
    def test_policies_are_policies(self) -> None:
        for policy in (
            gateway_policy([PIN], "gw.internal"),
            gateway_policy([], "gw.internal"),
            gateway_policy([PIN], "2001:db8::1"),
            bmc_policy(PIN),
        ):
            verifyObject(IPolicyForHTTPS, policy)
            creator = policy.creatorForNetloc(b"elsewhere", 443)
            self.assertIs(creator, policy.creatorForNetloc(b"here", 8443))

    def test_a_pin_that_is_none_is_told_at_once(self) -> None:
        for make in (
            lambda: gateway_policy(["sha256/x"], "gw.internal"),
            lambda: gateway_policy([PIN, ""], "gw.internal"),
            lambda: bmc_policy(PIN[:-1]),
        ):
            error = self.assertRaises(ValueError, make)
            self.assertIn("'sha256/' and 44 characters", str(error))

    def test_a_name_that_is_none_is_told_at_once(self) -> None:
        for name in ("", "bücher.example"):
            for pins in ([], [PIN]):
                error = self.assertRaises(ValueError, gateway_policy, pins, name)
                self.assertIn("ASCII", str(error))

    def test_a_renewed_certificate_keeps_its_pin(self) -> None:
        again = issued("renewed", authority=True, key=CA.key)
        self.assertEqual(certificate_pin(again.certificate).text, PIN)

    def test_errors_have_their_codes(self) -> None:
        codes = set()
        for kind in (PinMismatch, ChainInvalid, NameMismatch, HandshakeFailed):
            self.assertTrue(issubclass(kind, Unverified))
            codes.add(kind.code)
        self.assertEqual(codes, {"pin-mismatch", "chain-invalid", "name-mismatch", "tls-error"})


class WhyTests(SynchronousTestCase):
    """A client wraps what went wrong, each kind of request in its own way."""

    def test_what_is_wrapped_is_dug_out(self) -> None:
        error = PinMismatch("another key")
        for wrapper in (ResponseNeverReceived, RequestTransmissionFailed, ResponseFailed):
            wrapped = wrapper([Failure(error)])
            self.assertIs(why(wrapped), error)
            self.assertIs(why(Failure(wrapped)), error)
            self.assertIs(why(ResponseFailed([Failure(wrapped)])), error)

    def test_what_is_not_wrapped_is_itself(self) -> None:
        for error in (PinMismatch("x"), ConnectionRefusedError(), ResponseFailed([])):
            self.assertIs(why(error), error)
            self.assertIs(why(Failure(error)), error)

    def test_what_openssl_says(self) -> None:
        for said, code, text in (
            ([("SSL routines", "", "unsupported protocol")], "tls-error", "unsupported protocol"),
            ([("SSL routines", "", "certificate verify failed")], "chain-invalid", "verify failed"),
            ([], "tls-error", "ended the handshake"),
        ):
            error = why(ResponseNeverReceived([Failure(Error(said))]))
            self.assertEqual(getattr(error, "code", None), code)
            self.assertIn(text, str(error))
        self.assertEqual(getattr(why(Error()), "code", None), "tls-error")
        self.assertEqual(str(why(Error(-1, "Unexpected EOF"))), "Unexpected EOF")
