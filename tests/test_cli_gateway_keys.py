"""Tests for ``rescriptum.cli.gateway.keys``: roots, workers, approvers, offline."""

import io
import json
import stat
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from rescriptum.cli.gateway.keys import KeysOptions
from rescriptum.cli.main import main
from rescriptum.contract.commands import Approval, Command, WorkerCertificate
from rescriptum.contract.jose import digest, octets, opened
from rescriptum.contract.keys import dumped, generate, load, trusted
from rescriptum.contract.kinds import KINDS
from rescriptum.contract.structure import plain, structured


def told(number: int, state: str, **changes: object) -> dict[str, object]:
    """:returns: a command of a batch, as a gateway tells it."""
    said = Command(f"c{number}", "rd", "disk.wipe", {"mode": "quick"}, "w", "s", 0, 900)
    claims = octets(plain(said))
    return {
        "id": said.command_id,
        "digest": digest(claims),
        "claims": claims.decode(),
        "node": "rd",
        "kind": "disk.wipe",
        "state": state,
        "payload": said.payload,
        **changes,
    }


COMMANDS = [told(1, "waiting"), told(2, "done")]


class Case(SynchronousTestCase):
    def setUp(self) -> None:
        self.path = Path(self.mktemp()).absolute()
        self.path.mkdir()

    def keys(self, *arguments: str) -> tuple[int, str, str]:
        """:returns: exit code, standard output, standard error."""
        out, err = io.StringIO(), io.StringIO()
        code = main(["gateway", "keys", *arguments], {}, out, err)
        return code, out.getvalue(), err.getvalue()

    def done(self, *arguments: str) -> str:
        code, out, err = self.keys(*arguments)
        self.assertEqual((code, err), (0, ""))
        return out

    def refused(self, *arguments: str) -> str:
        code, out, err = self.keys(*arguments)
        self.assertEqual((code, out), (2, ""))
        return err

    def file(self, name: str) -> str:
        return str(self.path / name)

    def gateway(self) -> str:
        """:returns: the data directory of a gateway with a worker."""
        directory = self.path / "gateway" / "keys"
        directory.mkdir(parents=True, mode=0o700)
        file = directory / "worker.jwk"
        file.touch(0o600)
        file.write_bytes(dumped(generate("Ed25519")))
        return str(self.path / "gateway")


class NewTests(Case):
    def test_a_root(self) -> None:
        """For its owner alone, and only the public half is shown."""
        told = json.loads(self.done("new", "root", "--out", self.file("root.jwk"), "--json"))
        path = self.path / "root.jwk"
        self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o600)
        key = load(path.read_bytes(), "Ed25519")
        self.assertEqual(told["thumbprint"], key.thumbprint())
        self.assertEqual(set(told["jwk"]), {"kty", "crv", "x"})
        self.assertEqual(json.loads(self.done("show", str(path), "--json")), told)
        self.assertNotIn(json.loads(path.read_bytes())["d"], self.done("show", str(path)))

    def test_nothing_is_overwritten(self) -> None:
        self.done("new", "approver", "--out", self.file("a.jwk"))
        before = (self.path / "a.jwk").read_bytes()
        err = self.refused("new", "approver", "--out", self.file("a.jwk"))
        self.assertIn("is there already", err)
        self.assertEqual((self.path / "a.jwk").read_bytes(), before)

    def test_misused(self) -> None:
        for arguments, text in (
            (("new", "worker", "--out", "x"), "root or approver"),
            (("new", "root"), "missing: --out"),
            (("certify",), "missing: --root, --worker, --out"),
            (("certify", "--root", "r", "--worker", "w", "--out", "o", "--days", "x"), "--days"),
            (("sign", "b.json"), "missing: --key, --out"),
            ((), "which one?"),
        ):
            self.assertIn(text, self.refused(*arguments))

    def test_in_a_directory_that_is_not_there(self) -> None:
        err = self.refused("new", "root", "--out", self.file("nowhere/root.jwk"))
        self.assertIn("cannot be written: No such file or directory", err)


class CertifyTests(Case):
    def setUp(self) -> None:
        super().setUp()
        self.data = self.gateway()
        self.done("new", "root", "--out", self.file("root.jwk"))
        (self.path / "worker.json").write_text(
            self.done("worker", "--data-dir", self.data, "--json")
        )
        self.root = load((self.path / "root.jwk").read_bytes(), "Ed25519")

    def certify(self, *further: str, worker: str = "worker.json") -> tuple[int, str, str]:
        return self.keys(
            "certify", "--root", self.file("root.jwk"), "--worker", self.file(worker),
            "--out", self.file("cert.jws"), *further,
        )  # fmt: skip

    def said(self) -> WorkerCertificate:
        text = (self.path / "cert.jws").read_text().strip()
        return structured(WorkerCertificate, opened("worker", text, trusted(self.root)).claims)

    def test_all_the_way_to_the_gateway(self) -> None:
        code, out, err = self.certify("--days", "7")
        self.assertEqual((code, err), (0, ""))
        self.assertIn(f"valid for 7 days, for {len(KINDS)} kinds", out)
        said = self.said()
        self.assertEqual(said.not_after - said.not_before, 7 * 86_400)
        self.assertEqual(set(said.kinds), set(KINDS))
        self.done("install", self.file("cert.jws"), "--data-dir", self.data)
        installed = self.path / "gateway" / "keys" / "worker-certificate.jws"
        self.assertEqual(installed.read_bytes(), (self.path / "cert.jws").read_bytes())

    def test_some_kinds(self) -> None:
        self.certify("--kinds", "bmc.power,boot.clear")
        self.assertEqual(self.said().kinds, ("bmc.power", "boot.clear"))

    def test_what_cannot_be(self) -> None:
        for further, text in (
            (("--days", "0"), "1 to 90 days"),
            (("--days", "91"), "1 to 90 days"),
            (("--kinds", "disk.wipe,disk.wash"), "no such kind: disk.wash; there are boot."),
        ):
            code, _, err = self.certify(*further)
            self.assertEqual(code, 2)
            self.assertIn(text, err)
        self.assertFalse((self.path / "cert.jws").exists())

    def test_files_that_are_none(self) -> None:
        """It is said which one, and nothing of what is in it."""
        (self.path / "x").write_text("not JSON: hunter2")
        code, _, err = self.certify(worker="x")
        self.assertEqual((code, err), (2, f"error: {self.file('x')}: no public key: not JSON\n"))
        code, _, err = self.certify(worker="nothing")
        self.assertIn("cannot be read: No such file or directory", err)
        (self.path / "root.jwk").chmod(0o644)
        code, _, err = self.certify()
        self.assertIn("others may read it (mode 0644)", err)

    def test_another_gateways_certificate(self) -> None:
        other = self.gateway_at("other")
        self.certify()
        err = self.refused("install", self.file("cert.jws"), "--data-dir", other)
        self.assertIn("certifies the worker of another gateway", err)

    def gateway_at(self, name: str) -> str:
        (self.path / "gateway").rename(self.path / "kept")
        made = Path(self.gateway()).rename(self.path / name)
        (self.path / "kept").rename(self.path / "gateway")
        return str(made)

    def test_no_certificate(self) -> None:
        (self.path / "x").write_text("a.b.c")
        err = self.refused("install", self.file("x"), "--data-dir", self.data)
        self.assertIn("malformed-jws", err)

    def test_no_gateway(self) -> None:
        err = self.refused("worker", "--data-dir", self.file("nowhere"))
        self.assertIn("there is no such file", err)


class SignTests(Case):
    def setUp(self) -> None:
        super().setUp()
        self.done("new", "approver", "--out", self.file("a.jwk"))
        self.key = load((self.path / "a.jwk").read_bytes(), "Ed25519")

    def sign(self, batch: object) -> tuple[int, str, str]:
        (self.path / "batch.json").write_text(json.dumps(batch))
        return self.keys(
            "sign", self.file("batch.json"), "--key", self.file("a.jwk"),
            "--out", self.file("approval.jws"),
        )  # fmt: skip

    def test_what_waits_is_approved(self) -> None:
        """Whoever signs sees what it would do."""
        code, out, err = self.sign({"id": "b1", "commands": COMMANDS})
        self.assertEqual((code, err), (0, ""))
        self.assertIn('disk.wipe on rd: {"mode": "quick"}', out)
        text = (self.path / "approval.jws").read_text().strip()
        said = structured(Approval, opened("approval", text, trusted(self.key)).claims)
        self.assertEqual((said.batch, said.command_digests), ("b1", (COMMANDS[0]["digest"],)))

    def test_a_gateway_that_lies(self) -> None:
        """What is signed is what was read: the text of the digest, and nothing else."""
        harmless = told(1, "waiting", kind="inventory.collect", payload={})
        code, out, _ = self.sign({"id": "b1", "commands": [harmless]})
        self.assertEqual(code, 0)
        self.assertIn('disk.wipe on rd: {"mode": "quick"}', out)
        (self.path / "approval.jws").unlink()
        for claims in (told(3, "waiting")["claims"], "", None, "{}"):
            code, out, err = self.sign(
                {"id": "b1", "commands": [told(1, "waiting", claims=claims)]}
            )
            self.assertEqual((code, out), (2, ""))
            self.assertIn("another text than the digest is of", err)
        self.assertFalse((self.path / "approval.jws").exists())
        code, _, err = self.sign(
            {"id": "b1", "commands": [told(1, "waiting", claims="{}", digest=digest(b"{}"))]}
        )
        self.assertIn("no command: invalid-message", err)

    def test_nothing_waits(self) -> None:
        code, _, err = self.sign({"id": "b1", "commands": COMMANDS[1:]})
        self.assertEqual(code, 2)
        self.assertIn("nothing to approve", err)

    def test_no_batch(self) -> None:
        batches: tuple[object, ...] = ({"id": "b1"}, [], {"id": "b1", "commands": 5})
        for batch in batches:
            self.assertIn("not a batch", self.sign(batch)[2])


class GroupTests(SynchronousTestCase):
    def test_each_has_a_synopsis_and_help(self) -> None:
        for name, _, options, summary in KeysOptions.subCommands:
            assert isinstance(options, type)
            self.assertIn(f"gateway keys {name}", options.synopsis)  # type: ignore[attr-defined]
            self.assertTrue(options.longdesc)  # type: ignore[attr-defined]
            self.assertTrue(str(summary).endswith("."))
