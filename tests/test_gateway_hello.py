"""Tests for ``rescriptum.gateway.hello``."""

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.contract.joining import Role
from rescriptum.contract.jose import sign, signer
from rescriptum.contract.keys import generate
from rescriptum.contract.refusals import Rejected
from rescriptum.gateway.hello import Known, greeted

NOW = 1_800_000_000
KEY, OTHER = generate("Ed25519"), generate("Ed25519")
NODE = Known("node-1", "lab", Role.SITE, KEY)
NAMES = {"gateway.example", "192.0.2.1"}
HELLO = {
    "node_id": "node-1",
    "role": "site",
    "site": "lab",
    "boot_id": "b",
    "version": "1",
    "audience": "Gateway.example",
    "nonce": "n",
    "issued_at": NOW,
}


class HelloTests(SynchronousTestCase):
    def test_a_right_one(self) -> None:
        text = sign("hello", {**HELLO, "boots": True, "kinds": ["power.off"]}, KEY)
        hello = greeted(text, NODE, NAMES, NOW - 300)
        self.assertEqual((hello.nonce, hello.boots, hello.kinds), ("n", True, ("power.off",)))

    def test_each_step_refuses_by_its_code(self) -> None:
        for code, change in (
            ("key-mismatch", {"node_id": "node-2"}),
            ("wrong-site", {"site": "elsewhere"}),
            ("wrong-role", {"role": "ramdisk"}),
            ("wrong-audience", {"audience": "gateway.other"}),
            ("stale", {"issued_at": NOW - 301}),
            ("stale", {"issued_at": NOW + 301}),
            ("invalid-message", {"role": "king"}),
            ("invalid-message", {"more": 1}),
        ):
            text = sign("hello", {**HELLO, **change}, KEY)
            error = self.assertRaises(Rejected, greeted, text, NODE, NAMES, NOW)
            self.assertEqual(error.code, code)
        for code, text in (
            ("unknown-key", sign("hello", HELLO, OTHER)),
            ("wrong-type", sign("joining", HELLO, KEY)),
            ("bad-signature", sign("hello", HELLO, KEY)[:-4] + "AAAA"),
            ("malformed-jws", "x" * 70_000),
        ):
            error = self.assertRaises(Rejected, greeted, text, NODE, NAMES, NOW)
            self.assertEqual(error.code, code)

    def test_whose_key_to_look_for(self) -> None:
        self.assertEqual(signer(sign("hello", HELLO, KEY)), KEY.thumbprint())
        self.assertEqual(signer("eyJraWQiOjF9.e30.x"), "")

    @given(st.text(max_size=300))
    def test_whose_key_to_look_for_in_nonsense(self, text: str) -> None:
        self.assertEqual(signer(text), "")
