"""Tests for ``rescriptum.contract.keys``."""

import base64
import json

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.contract.keys import (
    Curve,
    dumped,
    generate,
    load,
    pin,
    private_jwk,
    public_jwk,
    public_key,
    public_keys,
    trusted,
)
from rescriptum.contract.pins import Pin
from rescriptum.contract.refusals import Rejected

#: RFC 8037 appendix A.1 to A.3: a key, and its thumbprint.
RFC_8037 = {
    "kty": "OKP",
    "crv": "Ed25519",
    "d": "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A",
    "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
}
RFC_8037_THUMBPRINT = "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"

PRIME = 2**255 - 19
MEMBERS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=50) | st.binary(max_size=50),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)
JWKS = st.fixed_dictionaries(
    {
        "kty": st.just("OKP") | MEMBERS,
        "crv": st.sampled_from(["Ed25519", "X25519", "Ed448", "P-256"]) | MEMBERS,
        "x": st.binary(min_size=32, max_size=32).map(
            lambda raw: base64.urlsafe_b64encode(raw).decode().rstrip("=")
        )
        | MEMBERS,
    }
)


def spelt(number: int) -> str:
    encoded = base64.urlsafe_b64encode(number.to_bytes(32, "little"))
    return encoded.decode("ascii").rstrip("=")


class KeyTests(SynchronousTestCase):
    def refused(self, jwk: object, curve: Curve = "Ed25519") -> None:
        error = self.assertRaises(Rejected, public_key, jwk, curve)
        self.assertEqual(error.code, "invalid-key")

    def test_the_key_of_the_rfc(self) -> None:
        key = load(json.dumps(RFC_8037).encode("ascii"), "Ed25519")
        self.assertEqual(key.thumbprint(), RFC_8037_THUMBPRINT)
        self.assertEqual(private_jwk(key), RFC_8037)
        self.assertEqual(list(trusted(key)), [RFC_8037_THUMBPRINT])

    def test_a_public_key_survives_the_journey(self) -> None:
        for curve in ("Ed25519", "X25519"):
            key = generate(curve)
            jwk = public_jwk(key)
            self.assertEqual(set(jwk), {"kty", "crv", "x"})
            taken = public_key(json.loads(json.dumps(jwk)), curve)
            self.assertEqual(taken.thumbprint(), key.thumbprint())
            self.assertEqual(pin(taken), pin(key))
            self.assertFalse(taken.is_private)

    def test_a_private_key_survives_its_file(self) -> None:
        for curve in ("Ed25519", "X25519"):
            key = generate(curve)
            self.assertEqual(private_jwk(load(dumped(key), curve)), private_jwk(key))

    def test_what_is_no_public_key(self) -> None:
        good = public_jwk(generate("Ed25519"))
        wrongs: tuple[object, ...] = (
            None,
            [],
            "x",
            {},
            private_jwk(generate("Ed25519")),
            {**good, "kid": "mine"},
            {**good, "alg": "none"},
            {**good, "kty": "EC"},
            {**good, "crv": "X25519"},
            {**good, "crv": ["Ed25519"]},
            {**good, "x": good["x"] + "="},
            {**good, "x": good["x"][:-1]},
            {**good, "x": good["x"] + "A"},
            {**good, "x": " " + good["x"][1:]},
            {**good, "x": "é" + good["x"][1:]},
            {**good, "x": good["x"] + "\n"},
            {**good, "x": 5},
            {**good, "x": None},
            {**good, "x": ""},
            {"kty": "oct", "k": "AAAA"},
            {"kty": "EC", "crv": "P-256", "x": "AA"},
        )
        for wrong in wrongs:
            self.refused(wrong)
        self.refused(public_jwk(generate("X25519")))
        self.refused(good, "X25519")

    def test_a_key_has_one_spelling(self) -> None:
        """The last character holds four bits of the key, and two that must be zero."""
        good = public_jwk(generate("Ed25519"))
        alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
        last = alphabet.index(good["x"][-1])
        for other in range(1, 4):
            self.refused({**good, "x": good["x"][:-1] + alphabet[last + other]})

    def test_points_that_anybody_could_sign_for(self) -> None:
        """
        Under the key of order 1 the signature of nobody holds, so such keys are none: in each
        curve, with each sign, and in spellings that leave the field.
        """
        nobody = (1).to_bytes(32, "little")
        Ed25519PublicKey.from_public_bytes(nobody).verify(nobody + bytes(32), b"anything")
        eighth = 0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826
        for point in (0, 1, PRIME - 1, PRIME, PRIME + 1, eighth, PRIME - eighth):
            for sign in (0, 1 << 255):
                self.refused({"kty": "OKP", "crv": "Ed25519", "x": spelt(point | sign)})
        montgomery = 0x57119FD0DD4E22D8868E1C58C45C44045BEF839C55B1D0B1248C50A3BC959C5F
        other = 0x00B8495F16056286FDB1329CEB8D09DA6AC49FF1FAE35616AEB8413B7C7AEBE0
        for point in (0, 1, PRIME - 1, PRIME, PRIME + 1, montgomery, other, 9 | 1 << 255):
            self.refused({"kty": "OKP", "crv": "X25519", "x": spelt(point)}, "X25519")
        public_key({"kty": "OKP", "crv": "X25519", "x": spelt(9)}, "X25519")

    @given(JWKS | MEMBERS | st.dictionaries(st.sampled_from(["kty", "crv", "x", "d"]), MEMBERS))
    def test_whatever_is_sent_is_a_key_or_refused(self, jwk: object) -> None:
        try:
            key = public_key(jwk, "Ed25519")
        except Rejected as e:
            self.assertEqual(e.code, "invalid-key")
        else:
            self.assertEqual(public_jwk(key), jwk)

    def test_each_of_many_keys_counts_once(self) -> None:
        one, two = (public_jwk(generate("Ed25519")) for _ in range(2))
        self.assertEqual(len(public_keys([one, two, dict(one)], "Ed25519")), 2)
        self.assertRaises(Rejected, public_keys, [one, {}], "Ed25519")


class FileTests(SynchronousTestCase):
    """A damaged file of our own is told, and nothing of its secret."""

    def refused(self, text: bytes) -> None:
        error = self.assertRaises(Rejected, load, text, "Ed25519")
        self.assertEqual(error.code, "invalid-key")
        self.assertNotIn(RFC_8037["d"][4:12], str(error))
        self.assertIsNone(error.__cause__)

    def test_what_is_no_private_key(self) -> None:
        for wrong in (
            b"",
            b"\xff\xfe",
            b"[]",
            b"{}",
            json.dumps(RFC_8037).encode()[:-9],
            json.dumps({**RFC_8037, "d": RFC_8037["d"][:-1]}).encode(),
            json.dumps({**RFC_8037, "crv": "X25519"}).encode(),
            json.dumps(public_jwk(generate("Ed25519"))).encode(),
            b'{"d":"x",' + json.dumps(RFC_8037).encode()[1:],
            json.dumps(RFC_8037).encode() + b" " * 5000,
            b"[" * 4000,
        ):
            self.refused(wrong)

    def test_halves_of_two_keys(self) -> None:
        """Else the file says who it is, and signs as somebody else."""
        other = public_jwk(generate("Ed25519"))["x"]
        self.refused(json.dumps({**RFC_8037, "x": other}).encode())

    @given(st.binary(max_size=300))
    def test_garbage(self, text: bytes) -> None:
        self.refused(text)


class PinTests(SynchronousTestCase):
    def test_of_a_key_as_openssl_has_it(self) -> None:
        """SHA-256 over RFC 8410's prefix and the 32 bytes of the key."""
        key = load(json.dumps(RFC_8037).encode("ascii"), "Ed25519")
        raw = key.public_key.public_bytes(Encoding.Raw, PublicFormat.Raw)
        spki = bytes.fromhex("302a300506032b6570032100") + raw
        self.assertEqual(pin(key), Pin.of_spki(spki).text)
        self.assertEqual(len(pin(key)), 51)

    def test_parsing(self) -> None:
        text = pin(generate("Ed25519"))
        self.assertEqual(Pin.parse(text), Pin(text))
        self.assertEqual(Pin.parse(f" {text}\n"), Pin(text))
        self.assertEqual(str(Pin.parse(text)), text)
        self.assertTrue(Pin.parse(text).matches(Pin(text)))
        self.assertFalse(Pin.parse(text).matches(Pin.parse(pin(generate("Ed25519")))))

    def test_what_is_no_pin(self) -> None:
        text = pin(generate("Ed25519"))
        for wrong in (
            "",
            "sha256/",
            text[:-1],
            text + "=",
            text.removeprefix("sha256/"),
            text.replace("sha256/", "sha1/"),
            text.replace("sha256/", "SHA256/"),
            text.replace("sha256/", "sha256//"),
            text.replace("sha256/", "sha256:"),
            "sha256/" + "AA" * 32,
            text[:20] + " " + text[20:],
            "é" * 51,
        ):
            error = self.assertRaises(ValueError, Pin.parse, wrong)
            self.assertIn("'sha256/' and 44 characters", str(error))

    @given(st.text(max_size=60))
    def test_any_text_is_a_pin_or_refused(self, text: str) -> None:
        try:
            made = Pin.parse(text)
        except ValueError:
            return
        self.assertEqual(made.text, text.strip())
