"""Tests for ``rescriptum.contract.jose``."""

import base64
import hashlib
import json
import warnings
from collections.abc import Callable

from cryptography.hazmat.primitives.asymmetric.ed25519 import (
    Ed25519PrivateKey,
    Ed25519PublicKey,
)
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.concatkdf import ConcatKDFHash
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given
from hypothesis import strategies as st
from joserfc import jwe, jws
from joserfc.jwk import ECKey, OctKey
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.contract.jose import (
    LONGEST,
    Opened,
    digest,
    octets,
    opened,
    seal,
    sign,
    signer,
    unseal,
)
from rescriptum.contract.keys import (
    Key,
    generate,
    load,
    private_jwk,
    public_jwk,
    public_key,
    trusted,
)
from rescriptum.contract.refusals import Rejected

KEY, OTHER, WORKER = generate("Ed25519"), generate("Ed25519"), generate("Ed25519")
SEALED, ANOTHER = generate("X25519"), generate("X25519")
CLAIMS: dict[str, object] = {"node_id": "n1", "issued_at": 900, "labels": {"rack": "ü"}}
GOOD = sign("hello", CLAIMS, KEY)
TOKEN = seal({"token": "secret", "site": "s"}, SEALED)
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
#: The order of the group: S and S + L would be two spellings of one signature (RFC 8032 5.1.7).
ORDER = 2**252 + 27742317777372353535851937790883648493


def encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode("ascii").rstrip("=")


def decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def by_hand(header: str | bytes, payload: bytes, key: Key = KEY) -> str:
    """Whatever header, truly signed."""
    data = header.encode() if isinstance(header, str) else header
    signing = f"{encoded(data)}.{encoded(payload)}"
    private = key.private_key
    assert isinstance(private, Ed25519PrivateKey)
    return f"{signing}.{encoded(private.sign(signing.encode()))}"


def header(**changes: object) -> str:
    members = {"alg": "Ed25519", "typ": "rescriptum-hello+jws", "kid": KEY.thumbprint()} | changes
    return json.dumps({name: value for name, value in members.items() if value is not None})


class Refusing(SynchronousTestCase):
    def code(self, call: Callable[[], object]) -> str:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            error: Rejected = self.assertRaises(Rejected, call)
        self.assertEqual(told, [])
        self.assertIsNone(error.__cause__)
        self.assertTrue(error.__suppress_context__ or error.__context__ is None)
        return error.code

    def refused(self, text: object, code: str, what: str = "hello") -> None:
        self.assertEqual(self.code(lambda: opened(what, text, trusted(KEY))), code, text)

    def sealed(self, text: object, code: str) -> None:
        self.assertEqual(self.code(lambda: unseal(text, SEALED)), code, text)


class SigningTests(Refusing):
    def test_what_is_signed_is_opened(self) -> None:
        self.assertEqual(
            opened("hello", GOOD, trusted(OTHER, public_key(public_jwk(KEY), "Ed25519"))),
            Opened(octets(CLAIMS), CLAIMS, KEY.thumbprint()),
        )

    def test_the_example_of_the_rfc(self) -> None:
        """The octets of a signature are those of RFC 8037 appendix A.4, by the name of RFC 9864."""
        jwk = {
            "kty": "OKP",
            "crv": "Ed25519",
            "d": "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A",
            "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
        }
        key = load(json.dumps(jwk).encode(), "Ed25519")
        text = sign("hello", {}, key)
        head, payload, signature = text.split(".")
        self.assertEqual(
            json.loads(decoded(head)),
            {
                "alg": "Ed25519",
                "typ": "rescriptum-hello+jws",
                "kid": "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k",
            },
        )
        assert isinstance(key.public_key, Ed25519PublicKey)
        key.public_key.verify(decoded(signature), f"{head}.{payload}".encode())

    def test_a_header_in_any_order(self) -> None:
        """Others write JSON in their own way."""
        members = json.loads(header())
        text = json.dumps(dict(reversed(list(members.items()))), indent=1)
        self.assertEqual(opened("hello", by_hand(text, b"{}"), trusted(KEY)).claims, {})

    def test_what_is_no_signed_text(self) -> None:
        for text in (None, 5, GOOD.encode(), ["a"], {"payload": "x"}, "A" * (LONGEST + 1)):
            self.refused(text, "malformed-jws")
        for text in ("", ".", "..", "a.b.c", GOOD[1:], f"{GOOD}.", f".{GOOD}", "A" * LONGEST):
            self.refused(text, "bad-signature")
        for text in ("[" * 60_000, encoded(b"[" * 40_000), "\udc80", "ü.e.e", json.dumps(GOOD)):
            self.refused(text, "bad-signature")

    def test_another_serialisation(self) -> None:
        flat = jws.serialize_json(
            {"protected": json.loads(header())}, b"{}", KEY, algorithms=["Ed25519"]
        )
        self.refused(json.dumps(flat), "bad-signature")

    def test_the_bound(self) -> None:
        """As much JSON as is signed is also opened; one byte more is neither."""
        room = 64 * 1024 // 4 * 3 - 1024 - len(octets({"a": ""}))
        text = sign("hello", {"a": "x" * room}, KEY)
        self.assertLessEqual(len(text), LONGEST)
        self.assertEqual(opened("hello", text, trusted(KEY)).claims, {"a": "x" * room})
        for make in (
            lambda: sign("hello", {"a": "x" * (room + 1)}, KEY),
            lambda: seal({"a": "x" * (room + 1)}, SEALED),
        ):
            self.assertEqual(self.code(make), "too-large")
        sealed = seal({"a": "x" * room}, SEALED)
        self.assertLessEqual(len(sealed), LONGEST)
        self.assertEqual(unseal(sealed, SEALED), {"a": "x" * room})

    def test_a_message_of_another_kind(self) -> None:
        """A worker's certificate is no command, whoever signed it."""
        self.refused(sign("worker", CLAIMS, KEY), "wrong-type", "command")
        self.refused(GOOD, "wrong-type", "hell")
        self.refused(TOKEN, "wrong-type")

    def test_a_header_that_is_not_ours(self) -> None:
        for text in (
            header(typ=None),
            header(typ="JWT"),
            header(typ=["rescriptum-hello+jws"]),
            header(kid=None),
            header(alg=None),
            header(b64=False, crit=["b64"]),
            header(crit=["exp"]),
            header(jwk=public_jwk(KEY)),
            header(jku="https://example.org/keys"),
            header(cty="JWT"),
            header(zip="DEF"),
            "[]",
            "5",
            "null",
            "{}",
        ):
            self.refused(by_hand(text, b"{}"), "wrong-type")

    def test_a_member_of_the_header_that_stands_twice(self) -> None:
        twice = header()[:-1] + ', "alg": "Ed25519"}'
        self.refused(by_hand(twice, b"{}"), "bad-signature")

    def test_a_header_that_is_no_json(self) -> None:
        for text in ("", "{", header() + "x", "NaN"):
            self.refused(by_hand(text, b"{}"), "bad-signature")
        self.refused(by_hand(b"\xff" + header().encode(), b"{}"), "bad-signature")
        self.refused(by_hand(header().encode("utf-16"), b"{}"), "bad-signature")

    def test_a_header_longer_than_any_of_ours(self) -> None:
        self.refused(by_hand(header() + " " * 1000, b"{}"), "bad-signature")

    def test_a_key_that_may_not_say_this(self) -> None:
        self.refused(sign("hello", CLAIMS, OTHER), "unknown-key")
        self.assertEqual(self.code(lambda: opened("hello", GOOD, {})), "unknown-key")
        kids: tuple[object, ...] = ("", 5, ["a"], {}, True)
        for kid in kids:
            self.refused(by_hand(header(kid=kid), b"{}"), "unknown-key")

    def test_another_key_under_a_trusted_name(self) -> None:
        self.refused(by_hand(header(), b"{}", OTHER), "bad-signature")

    def test_algorithms_that_are_not_the_one(self) -> None:
        raw = KEY.public_key.public_bytes(Encoding.Raw, PublicFormat.Raw)
        for name in ("none", "EdDSA", "HS256", "ES256", "Ed448", "ed25519", "", 5, ["Ed25519"]):
            self.refused(by_hand(header(alg=name), b"{}"), "bad-signature")
        unsigned = f"{encoded(header(alg='none').encode())}.{encoded(b'{}')}."
        self.refused(unsigned, "bad-signature")
        by_secret = jws.serialize_compact(
            json.loads(header(alg="HS256")), b"{}", OctKey.import_key(raw), algorithms=["HS256"]
        )
        self.refused(by_secret, "bad-signature")
        by_curve = jws.serialize_compact(
            json.loads(header(alg="ES256")), b"{}", ECKey.generate_key("P-256"), ["ES256"]
        )
        self.refused(by_curve, "bad-signature")

    def test_one_token_has_one_spelling(self) -> None:
        """Any other character, anywhere, one more or one less: another token, and not ours."""
        for at, old in enumerate(GOOD):
            new = ALPHABET[(ALPHABET.find(old) + 1) % 64]
            error = self.assertRaises(
                Rejected, opened, "hello", GOOD[:at] + new + GOOD[at + 1 :], trusted(KEY)
            )
            self.assertIn(error.code, {"bad-signature", "wrong-type", "unknown-key"})
        for extra in ("=", "==", "\n", " ", "A", ".", "\0", "+", "/", "ü"):
            self.refused(GOOD + extra, "bad-signature")
            self.refused(extra + GOOD, "bad-signature")
            for at in (5, GOOD.index("."), GOOD.rindex(".") + 1, len(GOOD) - 2):
                self.refused(GOOD[:at] + extra + GOOD[at:], "bad-signature")

    def test_the_last_bits_of_a_signature(self) -> None:
        last = ALPHABET.index(GOOD[-1])
        for other in range(last - last % 16, last - last % 16 + 16):
            if other != last:
                self.refused(GOOD[:-1] + ALPHABET[other], "bad-signature")

    def test_a_signature_plus_the_order_of_the_group(self) -> None:
        signing, _, signature = GOOD.rpartition(".")
        raw = decoded(signature)
        more = int.from_bytes(raw[32:], "little") + ORDER
        other = encoded(raw[:32] + more.to_bytes(32, "little"))
        self.refused(f"{signing}.{other}", "bad-signature")

    def test_a_signed_payload_that_is_no_json(self) -> None:
        for payload in (
            b"",
            b"{",
            b"\xff",
            b"{} {}",
            b'{"a": 1, "a": 1}',
            b'{"a": {"b": 1, "b": 2}}',
            b'{"a": NaN}',
            b'{"a": 1e400}',
            '{"a": 1}'.encode("utf-16"),
            b'\xef\xbb\xbf{"a": 1}',
            b"[" * 40_000,
        ):
            self.refused(by_hand(header(), payload), "bad-signature")

    def test_a_signed_payload_that_is_no_object(self) -> None:
        for payload in (b"[]", b"5", b'"a"', b"null", b"true"):
            self.refused(by_hand(header(), payload), "malformed-jws")

    def test_who_cannot_sign(self) -> None:
        public = public_key(public_jwk(KEY), "Ed25519")
        self.assertEqual(self.code(lambda: sign("hello", {}, public)), "invalid-key")
        self.assertEqual(self.code(lambda: sign("hello", {}, SEALED)), "invalid-key")
        text = by_hand(header(kid="x"), b"{}")
        self.assertEqual(self.code(lambda: opened("hello", text, {"x": SEALED})), "invalid-key")

    def test_what_json_cannot_say(self) -> None:
        deep: list[object] = []
        for _ in range(100_000):
            deep = [deep]
        for value in (float("nan"), float("inf"), b"bytes", object(), deep):
            self.assertEqual(self.code(lambda v=value: sign("x", {"a": v}, KEY)), "invalid-message")  # type: ignore[misc]

    def test_whose_key_to_look_for(self) -> None:
        self.assertEqual(signer(GOOD), KEY.thumbprint())
        for text in ("", "a.b.c", by_hand(header(kid=5), b"{}"), by_hand("[]", b"{}")):
            self.assertEqual(signer(text), "")

    @given(st.text() | st.text(alphabet=ALPHABET + ".=", max_size=300))
    def test_garbage(self, text: str) -> None:
        self.assertRaises(Rejected, opened, "hello", text, trusted(KEY))
        self.assertRaises(Rejected, unseal, text, SEALED)

    @given(st.binary(max_size=200), st.binary(max_size=200))
    def test_garbage_that_is_signed(self, head: bytes, payload: bytes) -> None:
        self.assertRaises(Rejected, opened, "hello", by_hand(head, payload), trusted(KEY))
        try:
            made = opened("hello", by_hand(header(), payload), trusted(KEY))
        except Rejected as e:
            self.assertIn(e.code, {"bad-signature", "malformed-jws"})
        else:
            self.assertEqual((made.payload, made.claims), (payload, json.loads(payload)))

    @given(
        st.dictionaries(
            st.text(),
            st.recursive(
                st.none() | st.booleans() | st.integers() | st.text(),
                lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner),
                max_leaves=10,
            ),
            max_size=5,
        )
    )
    def test_any_claims_survive(self, claims: dict[str, object]) -> None:
        made = opened("x", sign("x", claims, KEY), trusted(KEY))
        self.assertEqual(made.claims, claims)
        self.assertEqual(made.payload, octets(claims))
        self.assertEqual(digest(made.payload), digest(octets(claims)))


class ChainTests(Refusing):
    """A root's certificate brings a worker's key, and that key signs commands: nothing else."""

    def certificate(self, key: Key = KEY) -> str:
        return sign("worker", {"jwk": public_jwk(WORKER), "kinds": ["wipe"]}, key)

    def command(self, certificate: str, command: str) -> Opened:
        said = opened("worker", certificate, trusted(KEY)).claims
        return opened("command", command, trusted(public_key(said["jwk"], "Ed25519")))

    def test_a_chain_that_holds(self) -> None:
        made = self.command(self.certificate(), sign("command", {"kind": "wipe"}, WORKER))
        self.assertEqual(made.claims, {"kind": "wipe"})

    def test_chains_that_do_not(self) -> None:
        good, signed = self.certificate(), sign("command", {"kind": "wipe"}, WORKER)
        unkeyed = sign("worker", {"jwk": private_jwk(WORKER)}, KEY)
        for certificate, command, code in (
            (self.certificate(OTHER), signed, "unknown-key"),
            (self.certificate(WORKER), signed, "unknown-key"),
            (good, sign("command", {}, OTHER), "unknown-key"),
            (good, sign("command", {}, KEY), "unknown-key"),
            (good, sign("worker", {}, WORKER), "wrong-type"),
            (good, good, "wrong-type"),
            (sign("approval", {}, KEY), signed, "wrong-type"),
            (signed, signed, "wrong-type"),
            (unkeyed, signed, "invalid-key"),
        ):
            self.assertEqual(self.code(lambda a=certificate, b=command: self.command(a, b)), code)  # type: ignore[misc]


class SealingTests(Refusing):
    def by_hand(self, plain: bytes = b"{}", key: Key = SEALED, **changes: object) -> str:
        members = {
            "alg": "ECDH-ES",
            "enc": "A256GCM",
            "typ": "rescriptum-token+jwe",
            "kid": SEALED.thumbprint(),
        } | changes
        kept = {name: value for name, value in members.items() if value is not None}
        allowed = ["ECDH-ES", "ECDH-ES+A256KW", "A256GCM", "A128GCM", "DEF"]
        return jwe.encrypt_compact(kept, plain, key, algorithms=allowed)

    def test_what_is_sealed_is_unsealed(self) -> None:
        self.assertEqual(unseal(TOKEN, SEALED), {"token": "secret", "site": "s"})
        self.assertNotEqual(TOKEN, seal({"token": "secret", "site": "s"}, SEALED))
        self.assertNotIn("secret", str(decoded(TOKEN.split(".")[3])))

    def test_what_is_no_sealed_text(self) -> None:
        for text in (None, 5, TOKEN.encode(), "A" * (LONGEST + 1)):
            self.sealed(text, "malformed-jwe")
        for text in ("", "....", "a.b.c.d.e", TOKEN[1:], f"{TOKEN}.", f".{TOKEN}", "A" * LONGEST):
            self.sealed(text, "bad-token")

    def test_another_key(self) -> None:
        self.sealed(seal({}, ANOTHER), "bad-token")
        self.sealed(self.by_hand(kid=ANOTHER.thumbprint()), "bad-token")
        self.sealed(self.by_hand(key=ANOTHER), "bad-token")

    def test_a_header_that_is_not_ours(self) -> None:
        self.sealed(GOOD, "wrong-type")
        for made in (
            self.by_hand(typ=None),
            self.by_hand(typ="JWT"),
            self.by_hand(kid=None),
            self.by_hand(zip="DEF"),
            self.by_hand(apu="QWxpY2U"),
            self.by_hand(cty="JWT"),
        ):
            self.sealed(made, "wrong-type")

    def test_algorithms_that_are_not_the_one(self) -> None:
        self.sealed(self.by_hand(alg="ECDH-ES+A256KW"), "bad-token")
        self.sealed(self.by_hand(enc="A128GCM"), "bad-token")

    def test_a_member_of_the_header_that_stands_twice(self) -> None:
        head, rest = TOKEN.split(".", 1)
        twice = encoded(decoded(head)[:-1] + b',"alg":"ECDH-ES"}')
        self.sealed(f"{twice}.{rest}", "bad-token")

    def test_a_point_that_makes_a_known_secret(self) -> None:
        head, rest = TOKEN.split(".", 1)
        for x in (encoded(bytes(32)), encoded((1).to_bytes(32, "little")), "AA", 5, None):
            members = json.loads(decoded(head))
            members["epk"] = {"kty": "OKP", "crv": "X25519", "x": x}
            self.sealed(f"{encoded(json.dumps(members).encode())}.{rest}", "bad-token")
        others: tuple[object, ...] = (None, "x", [], public_jwk(KEY), private_jwk(ANOTHER), {})
        for epk in others:
            members["epk"] = epk
            self.sealed(f"{encoded(json.dumps(members).encode())}.{rest}", "bad-token")

    def with_epk(self, ephemeral: Key, epk: dict[str, str]) -> str:
        """RFC 7518 section 4.6, by hand: truly sealed, whatever the header says of the key."""
        members = json.loads(decoded(TOKEN.split(".")[0])) | {"epk": epk}
        head = encoded(json.dumps(members).encode())
        info = b"\0\0\0\x07A256GCM" + bytes(8) + (256).to_bytes(4, "big")
        shared = ephemeral.exchange_derive_key(SEALED)
        secret = ConcatKDFHash(SHA256(), 32, info).derive(shared)
        both = AESGCM(secret).encrypt(bytes(12), b"{}", head.encode())
        return f"{head}..{encoded(bytes(12))}.{encoded(both[:-16])}.{encoded(both[-16:])}"

    def test_the_sender_s_key_is_just_a_key(self) -> None:
        ephemeral = generate("X25519")
        jwk = public_jwk(ephemeral)
        self.assertEqual(unseal(self.with_epk(ephemeral, jwk), SEALED), {})
        for wrong in (
            {**jwk, "kid": "x"},
            private_jwk(ephemeral),
            {**jwk, "x": encoded(decoded(jwk["x"])[:31] + bytes([decoded(jwk["x"])[31] | 128]))},
        ):
            self.sealed(self.with_epk(ephemeral, wrong), "bad-token")

    def test_one_token_has_one_spelling(self) -> None:
        for at, old in enumerate(TOKEN):
            new = ALPHABET[(ALPHABET.find(old) + 1) % 64]
            error = self.assertRaises(Rejected, unseal, TOKEN[:at] + new + TOKEN[at + 1 :], SEALED)
            self.assertIn(error.code, {"bad-token", "wrong-type"})
        for extra in ("=", "\n", " ", "A", "AAAA", ".", "\0"):
            self.sealed(TOKEN + extra, "bad-token")
            at = TOKEN.index(".") + 1  # the key that is not there
            self.sealed(TOKEN[:at] + extra + TOKEN[at:], "bad-token")

    def test_sealed_but_no_object(self) -> None:
        for plain in (b"", b"[]", b"5", b"{", b'{"a":1,"a":1}', b"\xff", b"[" * 30_000):
            self.sealed(self.by_hand(plain), "bad-token")

    def test_who_cannot_be_sealed_to(self) -> None:
        self.assertEqual(self.code(lambda: seal({}, KEY)), "invalid-key")
        self.assertEqual(self.code(lambda: unseal(TOKEN, KEY)), "invalid-key")
        public = public_key(public_jwk(SEALED), "X25519")
        self.assertEqual(self.code(lambda: unseal(TOKEN, public)), "bad-token")


class DigestTests(SynchronousTestCase):
    def test_of_the_octets(self) -> None:
        self.assertEqual(digest(b"{}"), "sha256:" + hashlib.sha256(b"{}").hexdigest())
        self.assertEqual(len(digest(b"")), 71)
