"""Tests for ``rescriptum.gateway.statements``."""

from twisted.trial.unittest import SynchronousTestCase

from rescriptum.contract.commands import LONGEST_CERTIFICATE, Approval, WorkerCertificate
from rescriptum.contract.jose import opened
from rescriptum.contract.keys import generate, private_jwk, public_jwk, trusted
from rescriptum.contract.refusals import Rejected
from rescriptum.contract.structure import structured
from rescriptum.gateway.statements import APPROVAL_LIFE, CERTIFICATE_LIFE, approval, certificate

ROOT, WORKER, APPROVER = generate("Ed25519"), generate("Ed25519"), generate("Ed25519")
DIGEST = "sha256:" + "0" * 64


class StatementTests(SynchronousTestCase):
    def test_a_certificate(self) -> None:
        """It names the worker's public half and the kinds, once each, and when it ends."""
        kinds = ["disk.wipe", "boot.clear", "boot.clear"]
        text = certificate(ROOT, dict(public_jwk(WORKER)), kinds, 1000)
        said = structured(WorkerCertificate, opened("worker", text, trusted(ROOT)).claims)
        self.assertEqual(said.jwk, public_jwk(WORKER))
        self.assertEqual(said.kinds, ("boot.clear", "disk.wipe"))
        self.assertEqual((said.not_before, said.not_after), (1000, 1000 + CERTIFICATE_LIFE))

    def test_certificates_that_no_agent_takes(self) -> None:
        jwk: dict[str, object] = dict(public_jwk(WORKER))
        for life in (0, -1, LONGEST_CERTIFICATE + 1):
            error = self.assertRaises(Rejected, certificate, ROOT, jwk, ["x"], 0, life)
            self.assertIn("1 to 90 days", str(error))
        certificate(ROOT, jwk, ["x"], 0, LONGEST_CERTIFICATE)
        error = self.assertRaises(Rejected, certificate, ROOT, jwk, [], 0)
        self.assertIn("no kind", str(error))

    def test_a_private_key_is_no_worker(self) -> None:
        """Whoever pastes it where the public half belongs is told, and it is not repeated."""
        jwk = private_jwk(WORKER)
        error = self.assertRaises(Rejected, certificate, ROOT, dict(jwk), ["x"], 0)
        self.assertEqual(error.code, "invalid-key")
        self.assertNotIn(jwk["d"], str(error))

    def test_an_approval(self) -> None:
        text = approval(APPROVER, "b1", [DIGEST, DIGEST], 1000)
        said = structured(Approval, opened("approval", text, trusted(APPROVER)).claims)
        self.assertEqual(said, Approval("b1", (DIGEST,), 1000 + APPROVAL_LIFE))

    def test_nothing_to_approve(self) -> None:
        self.assertRaises(Rejected, approval, APPROVER, "b1", [], 0)
