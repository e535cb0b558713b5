"""Tests for ``rescriptum.gateway.trust``."""

from functools import partial

from rescriptum.contract.joining import TrustBundle
from rescriptum.contract.keys import generate, public_jwk
from rescriptum.contract.refusals import Rejected
from rescriptum.contract.structure import JSON
from rescriptum.gateway.trust import set_trust, trust
from tests.gatewaycases import GatewayCase


def jwk(curve: str = "Ed25519") -> JSON:
    return JSON(public_jwk(generate("X25519" if curve == "X25519" else "Ed25519")))


class TrustTests(GatewayCase):
    def test_nobody_signs_before_somebody_says_so(self) -> None:
        self.assertEqual(self.run_(trust), TrustBundle())

    def test_what_is_said_is_what_agents_get(self) -> None:
        bundle = TrustBundle((jwk(),), (jwk(), jwk()), 2)
        self.run_(partial(set_trust, bundle=bundle))
        self.assertEqual(self.run_(trust), bundle)

    def test_what_agents_would_refuse_is_not_kept(self) -> None:
        one = jwk()
        for bundle, code in (
            (TrustBundle(({"kty": "oct"},)), "invalid-key"),
            (TrustBundle((jwk("X25519"),)), "invalid-key"),
            (TrustBundle((), (jwk("X25519"),)), "invalid-key"),
            (TrustBundle((), (one, one), 2), "invalid-message"),
            (TrustBundle((), (one,), 0), "invalid-message"),
        ):
            with self.assertRaises(Rejected) as caught:
                self.run_(partial(set_trust, bundle=bundle))
            self.assertEqual(caught.exception.code, code)
        self.assertEqual(self.run_(trust), TrustBundle())
