"""Tests for the verdict on a certificate: who signed it, and whether what it claims can be."""

import base64
import json
from typing import Any

from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.contract.commands import AttestedResult, Result
from rescriptum.contract.jose import sign
from rescriptum.contract.keys import Key, generate, public_jwk
from rescriptum.contract.ramdisk import WipeMode
from rescriptum.contract.structure import JSON, plain
from rescriptum.ramdisk.wipe.certificate import (
    DiskCertificate,
    Sampled,
    Try,
    document,
    leaves_out,
)
from rescriptum.ramdisk.wipe.places import Place, samples
from rescriptum.ramdisk.wipe.verdict import Expected, NoCertificate, Verdict, judged

SIZE = 1 << 30
ENDS = (Place(0, 2 << 20), Place(SIZE - (2 << 20), 2 << 20))
PLACES = len(samples(SIZE, 7, 64))
DISK = DiskCertificate(
    "sda",
    "EXAMPLE SSD",
    "S1",
    "0x1",
    SIZE,
    ("sdb",),
    "ata-enhanced-erase",
    True,
    (Try("ata-enhanced-erase", "done"),),
    Sampled(7, 64, PLACES, 0, 0),
    ENDS,
    {"hidden_sectors": 0},
    480.0,
)
QUICK = evolve(DISK, method="quick", tries=(Try("quick", "done"),), sampled=None)
FAILED = evolve(
    DISK, method="", verified=False, tries=(Try("overwrite", "EIO"),), sampled=None, zeroed=()
)


def signed(key: Key, result: Result, jwk: JSON | None = None, **changed: Any) -> str:
    """:returns: as an agent signs it."""
    said = AttestedResult("c1", "sha256:d", "n1", "boot-1", result, 1_800_000_000)
    said = evolve(said, jwk=jwk or {**public_jwk(key)}, **changed)
    return sign("result", plain(said), key)


def result(*made: DiskCertificate, mode: WipeMode = WipeMode.SECURE) -> Result:
    """:returns: as the kind has it."""
    data = document(mode, made, {"sr0": "no disk, but rom"}, [])
    if all(each.verified for each in made):
        return Result(True, "ok", "", data)
    return Result(False, "wipe-unverified", "not verified", data)


class VerdictCase(SynchronousTestCase):
    def setUp(self) -> None:
        self.key = generate("Ed25519")
        self.expected = Expected(self.key.thumbprint(), "n1")

    def judged(self, text: str) -> Verdict:
        return judged(text.encode(), self.expected)

    def refused(self, text: str | bytes) -> str:
        with self.assertRaises(NoCertificate) as caught:
            judged(text if isinstance(text, bytes) else text.encode(), self.expected)
        return str(caught.exception)


class SignatureTests(VerdictCase):
    def test_good(self) -> None:
        verdict = self.judged(signed(self.key, result(DISK)))
        self.assertEqual(verdict.problems, ())
        assert verdict.claims is not None and verdict.result is not None
        self.assertEqual(verdict.signer, self.key.thumbprint())
        self.assertEqual(verdict.claims.disks[0].paths, ("sdb",))
        self.assertEqual(verdict.result.node_id, "n1")

    def test_what_a_gateway_says(self) -> None:
        """As ``command show --json`` has it: members around it say nothing."""
        text = signed(self.key, result(DISK))
        told = json.dumps({"id": "other", "attestation": text, "result": {"ok": False}}, indent=1)
        self.assertEqual(self.judged(told).problems, ())
        self.assertEqual(self.judged(f"\n{text}\n").problems, ())

    def test_what_was_changed(self) -> None:
        """One letter of what was signed: then none of it is told."""
        header, payload, signature = signed(self.key, result(FAILED)).split(".")
        claims = base64.urlsafe_b64decode(payload + "==").replace(
            b"wipe-unverified", b"wipe-un-rified"
        )
        forged = base64.urlsafe_b64encode(claims).rstrip(b"=").decode()
        verdict = self.judged(f"{header}.{forged}.{signature}")
        self.assertEqual((verdict.claims, verdict.signer), (None, ""))
        self.assertIn(
            "the signature is not that of the key in it: bad-signature", verdict.problems[0]
        )

    def test_another_key(self) -> None:
        """Whoever makes one up has a key of their own, and says so in it."""
        other = generate("Ed25519")
        problems = self.judged(signed(other, result(DISK))).problems
        self.assertEqual(len(problems), 1)
        self.assertIn(f"{self.key.thumbprint()} is expected", problems[0])

    def test_a_key_that_did_not_sign(self) -> None:
        """They put the node's key in it, and sign by theirs."""
        text = signed(generate("Ed25519"), result(DISK), {**public_jwk(self.key)})
        verdict = self.judged(text)
        self.assertIn("the signature is not that of the key in it", verdict.problems[0])
        self.assertIsNone(verdict.claims)

    def test_what_is_no_key(self) -> None:
        jwk: JSON = {"kty": "OKP", "crv": "Ed25519", "x": "A" * 43}
        verdict = self.judged(signed(self.key, result(DISK), jwk))
        self.assertIn("invalid-key", verdict.problems[0])

    def test_another_node(self) -> None:
        problems = self.judged(signed(self.key, result(DISK), node_id="n2")).problems
        self.assertEqual(problems, ("node_id: n2, and n1 is expected",))
        told = judged(signed(self.key, result(DISK)).encode(), Expected(self.key.thumbprint()))
        self.assertEqual(told.problems, ())

    def test_nobody_vouches(self) -> None:
        """A signature by a key that came with it proves nothing."""
        (problem,) = judged(signed(self.key, result(DISK)).encode(), None).problems
        self.assertIn(f"nobody vouches for the key {self.key.thumbprint()}", problem)

    def test_what_is_none(self) -> None:
        """Each says which member is wrong, and what belongs there."""
        for text, said in (
            ("", "not signed by a node: malformed-jws"),
            ("a.b.c", "not signed by a node: malformed-jws"),
            ("{", "neither signed nor JSON"),
            ("{}", "attestation: the signed result belongs here"),
            ('{"attestation": null}', "attestation: the signed result belongs here"),
            (sign("hello", {}, self.key), "wrong-type"),
            (sign("result", {}, self.key), "missing: command_id"),
        ):
            self.assertIn(said, self.refused(text), text)

    def test_an_older_agent(self) -> None:
        said = AttestedResult("c1", "sha256:d", "n1", "boot-1", result(DISK), 1)
        text = sign("result", plain(said), self.key)
        self.assertIn("jwk: it does not say by which key", self.refused(text))

    def test_another_release(self) -> None:
        made = result(DISK)
        made.data["version"] = 2
        self.assertIn(
            "result.data.version: 2; this release reads 1", self.refused(signed(self.key, made))
        )

    def test_another_kind(self) -> None:
        text = signed(self.key, Result(False, "timeout", "after 21600 seconds"))
        self.assertIn("result.data (timeout): not that of a wipe: missing", self.refused(text))

    @given(st.binary(max_size=200))
    def test_whatever_comes(self, text: bytes) -> None:
        self.refused(text)
        self.refused(b'{"attestation": "' + text.hex().encode() + b'"}')

    def test_expected(self) -> None:
        self.assertEqual(Expected.of(b'{"id": "n1", "jkt": "t", "x": 1}'), Expected("t", "n1"))
        for text, said in (
            (b"{", "is JSON"),
            (b"[]", "jkt: "),
            (b'{"id": "n1", "jkt": ""}', "jkt: "),
            (b'{"jkt": "t"}', "id: "),
        ):
            with self.assertRaises(NoCertificate) as caught:
                Expected.of(text)
            self.assertIn(said, str(caught.exception))


class ClaimTests(VerdictCase):
    """What a node that lies, or is broken, cannot claim, though its signature is right."""

    def of(self, made: Result, **changed: object) -> tuple[str, ...]:
        """:returns: what is wrong when fields of its only disk say something else."""
        disks = made.data["disks"]
        assert isinstance(disks, list)
        disks[0] |= changed
        return self.judged(signed(self.key, made)).problems

    def only(self, beginning: str, made: Result, **changed: object) -> None:
        problems = self.of(made, **changed)
        self.assertEqual(len(problems), 1, problems)
        self.assertTrue(problems[0].startswith(beginning), problems)

    def test_not_verified(self) -> None:
        self.assertEqual(self.of(result(FAILED)), ("sda: not verified: EIO",))
        self.only("sda: not verified: nothing was done to it", result(evolve(FAILED, tries=())))

    def test_quick(self) -> None:
        self.assertEqual(self.of(result(QUICK, mode=WipeMode.QUICK)), ())
        self.only("sda: method: quick, and secure was asked for", result(QUICK))
        self.only("sda: method: ata-enhanced-erase, and quick", result(DISK, mode=WipeMode.QUICK))

    def test_method(self) -> None:
        self.only(
            "sda: method: 'nvme-format' is none that erases", result(DISK), method="nvme-format"
        )
        problems = self.of(result(DISK), method="", leaves_out=leaves_out(""))
        self.assertIn("sda: verified: nothing was done to it; it is not verified", problems)

    def test_leaves_out(self) -> None:
        """It says all that its method does not reach: the row of the table, word by word."""
        self.only("sda: leaves_out: ", result(DISK), leaves_out=[])
        self.only("sda: leaves_out: ", result(DISK), leaves_out=leaves_out("quick"))

    def test_tries(self) -> None:
        for tries in (
            [],
            [{"method": "quick", "outcome": "done"}],
            [{"method": "ata-enhanced-erase", "outcome": "no"}],
        ):
            self.only("sda: tries: the last one", result(DISK), tries=tries)

    def test_zeroed(self) -> None:
        half, end = 1 << 20, 2 << 20
        for zeroed, said in (
            ([], "the first place begins at 0"),
            ([[512, end], [SIZE - end, end]], "the first place begins at 0"),
            ([[0, half], [SIZE - end, end]], "the first place begins at 0"),
            ([[0, end], [SIZE - half, half]], "the last place ends"),
            ([[0, end], [SIZE - end - 512, end]], "the last place ends"),
            ([[0, end]], "the last place ends"),
            ([[0, end], [1]], "of each place"),
        ):
            self.only(f"sda: zeroed: {said}", result(DISK), zeroed=zeroed)
        small = evolve(QUICK, size=4096, zeroed=(Place(0, 4096),))
        self.assertEqual(self.of(result(small, mode=WipeMode.QUICK)), ())

    def test_more_places_than_are_named(self) -> None:
        """Of many partitions the last ones are not named."""
        places = tuple(Place(each * (4 << 20), 2 << 20) for each in range(100))
        self.assertEqual(self.of(result(evolve(DISK, zeroed=places))), ())
        self.only("sda: zeroed: the last", result(evolve(DISK, zeroed=places[:63])))

    def test_sampled(self) -> None:
        sampled = {
            "seed": 7,
            "count": 64,
            "bytes": 4096,
            "places": PLACES,
            "unmarked": 0,
            "wrong": 0,
        }
        self.assertEqual(self.of(result(DISK), sampled=sampled), ())
        self.only("sda: sampled: without it nobody", result(DISK), sampled=None)
        for changed, said in (
            ({"places": PLACES + 1}, f"seed 7 has {PLACES} places of 4096 bytes"),
            ({"count": 1}, "seed 7 has "),
            ({"bytes": 512}, "seed 7 has "),
            ({"wrong": 1}, "wrong is 0"),
            ({"unmarked": PLACES // 2 + 1}, "wrong is 0, and unmarked half"),
            ({"unmarked": -1}, "wrong is 0, and unmarked half"),
        ):
            self.only(f"sda: sampled: {said}", result(DISK), sampled={**sampled, **changed})
        self.assertEqual(self.of(result(DISK), sampled={**sampled, "unmarked": PLACES // 2}), ())
        made = result(DISK)
        made.data["disks"][0]["sampled"] |= {"count": 4097}  # type: ignore[index]
        self.refused(signed(self.key, made))

    def test_result(self) -> None:
        """Its code says the same as its disks do."""
        for ok, code, made, said in (
            (False, "wipe-unverified", DISK, "result.ok: the command failed, though"),
            (False, "revoked", FAILED, "result.code: revoked: taken back"),
            (True, "revoked", DISK, "result.code: revoked, though it succeeded"),
            (False, "ok", FAILED, "result.code: ok, though it failed"),
        ):
            told = Result(ok, code, "taken back", result(made).data)
            self.assertIn(said, self.judged(signed(self.key, told)).problems[0])

    def test_no_disk(self) -> None:
        made = Result(True, "ok", "", document(WipeMode.SECURE, [], {}, []))
        self.assertEqual(self.judged(signed(self.key, made)).problems, ("disks: none was wiped",))

    def test_many_disks(self) -> None:
        """Shortened, the table says what is not covered; those that are not listed are told."""
        for count in (90, 240, 300):
            made = [evolve(DISK, name=f"sd{each}") for each in range(count)]
            self.assertEqual(self.judged(signed(self.key, result(*made))).problems, (), count)
        problems = self.judged(signed(self.key, result(*[FAILED] * 300))).problems
        self.assertEqual(problems[-1], "not_listed: 60 disks of which nobody can tell")
        self.assertEqual(len(problems), 241)
