"""Tests for ``rescriptum.gateway.signer``."""

from functools import partial

from rescriptum.contract.joining import TrustBundle
from rescriptum.contract.keys import generate, public_jwk, trusted
from rescriptum.contract.refusals import Rejected
from rescriptum.contract.structure import JSON
from rescriptum.gateway.signer import Signer
from rescriptum.gateway.signing import Worker
from rescriptum.gateway.statements import certificate
from rescriptum.gateway.trust import set_trust
from rescriptum.testing import MemoryWorkers
from tests.gatewaycases import GatewayCase


class SignerTests(GatewayCase):
    def setUp(self) -> None:
        super().setUp()
        self.found: Worker | None = None
        self.asked: list[TrustBundle] = []
        self.signer = Signer(self.database, MemoryWorkers(), self.read)

    def read(self, bundle: TrustBundle) -> Worker | None:
        self.asked.append(bundle)
        if bundle.command_roots and self.found is None:
            raise Rejected("unsigned", "there is no certificate")
        return self.found

    def look(self) -> None:
        self.done(self.signer.look(None))

    def refused(self, detail: str = "the worker's certificate is not read yet") -> None:
        with self.assertRaises(Rejected) as caught:
            self.signer.worker()
        self.assertEqual(str(caught.exception), f"unsigned: {detail}")

    def test_nothing_is_sent_before_it_is_known_who_signs(self) -> None:
        """Else the first commands after a restart would travel unsigned, and be refused."""
        self.refused()
        self.look()
        self.assertIsNone(self.signer.worker())

    def test_a_certificate_is_taken_up_when_it_is_there(self) -> None:
        self.look()
        root, key = generate("Ed25519"), generate("Ed25519")
        bundle = TrustBundle((JSON(public_jwk(root)),))
        self.run_(partial(set_trust, bundle=bundle))
        with self.assertRaises(Rejected):
            self.look()
        self.refused("there is no certificate")
        text = certificate(root, JSON(public_jwk(key)), ["power.off"], 1)
        self.found = Worker.certified(key, text, trusted(root))
        self.look()
        self.assertIs(self.signer.worker(), self.found)
        self.assertEqual(self.asked[-1], bundle)
